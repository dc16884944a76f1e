"""Where a standing robot begins and ends: its feet in place, its centre of mass above them."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.excitation.balance.moving_coordinates import MovingCoordinates
from dynid.excitation.balance.standing_limits import StandingLimits
from dynid.excitation.balance.standing_pool import StandingPool

_LOWER = (0.0, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15)
"""How much lower than in the standing posture the base may be, relative to the length of the legs: straight ones
bend."""

_BENT = 0.02
"""Legs are bent above this singular value of their Jacobian [m]: the way a knee bends is clear then."""

_RANGE = 0.05
"""Distance of joints from the ends of their ranges that is looked for, relative to half of these."""

_GUESSES = 12
"""Random postures of the legs from which each is tried, beside the standing one."""


def home_of(limits: StandingLimits, moving: MovingCoordinates, rng: np.random.Generator) -> Array:
    """The standing posture with feet in place and in balance, as nearly as can be, shape (nq,).

    Args:
        limits: The limits; distances between bodies do not count.
        moving: Which coordinates may move to keep the balance.
        rng: The source of randomness.

    Raises:
        InvalidRequestError: If the legs do not reach the ground.
    """
    stance = limits.stance
    posture = np.array(stance.posture)
    length = StandingPool(limits, moving, posture).leg_length
    for part in _LOWER:
        tried = np.tile(posture, (_GUESSES + 1, 1))
        tried[:, 2] -= part * length
        low, high = limits.ranges
        for foot in stance.feet:
            joints = foot.leg - 6
            inner = 0.2 * (high - low)[joints]
            drawn = rng.uniform(low[joints] + inner, high[joints] - inner, (_GUESSES, len(joints)))
            tried[1:, 7 + joints] = 0.5 * (posture[7 + joints] + drawn)
        closed, good = limits.legs.closed(tried)
        slack = np.where(good, limits.range_slack(closed), -np.inf)
        slack = np.where(limits.legs.bend(closed) >= _BENT, slack, slack - _RANGE)
        if slack[0] >= _RANGE:
            return _steadied(limits, moving, closed[0])
        if slack.max() >= _RANGE or (part == _LOWER[-1] and slack.max() >= 0.0):
            return _steadied(limits, moving, closed[np.argmax(slack)])
        if stance.is_single:
            return _steadied(limits, moving, closed[0])
    feet = ", ".join(f"'{foot.body}'" for foot in stance.feet)
    raise InvalidRequestError(
        f"the legs of '{stance.robot.name}' do not reach {feet} where these stand: state other places in "
        "[excitation.balance] place, or the joints of a posture in which it stands in posture"
    )


def _steadied(limits: StandingLimits, moving: MovingCoordinates, q: Array) -> Array:
    """A posture with its centre of mass above the middle of the polygon, where it is not above the polygon at all."""
    polygon = limits.stance.polygon
    if polygon is None or limits.balance_slack(limits.wrench.wrench(q[None]))[0] >= limits.reserve:
        return q
    moved = StandingPool(limits, moving, q).steadied_to(q[None], polygon.inner_circle[0][None])
    return moved[0] if len(moved) else q
