"""Moves from posture to posture with the feet on the ground, each as fast as all limits allow.

Free coordinates move along straight lines, the base along a straight line and about one axis, and legs follow; the way
s goes from 0 to 1 by the polynomial of degree five that starts and ends at rest. For a time T of the move, velocities
are `v / T`, accelerations `a / T^2` with v and a for a time of 1, and so wrench and torques are `w0 + w1 / T^2`. Every
limit at every sample is then a quadratic inequality in 1 / T, and the fastest move has a closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Flags
from dynid.excitation.balance.closed_legs import ClosedLegs
from dynid.excitation.balance.standing_limits import THRESHOLDS as RESERVES
from dynid.excitation.balance.standing_limits import StandingLimits

_AT_A_TIME = 4000
"""Samples that are in memory at a time."""


@dataclass(frozen=True)
class MoveThresholds:
    """How fast moves may be."""

    speed_part: float = 0.97
    """Part of the largest speed that a move is run with, for limits between samples. By judgement; motions are checked
    at 1 kHz."""

    shortest: float = 0.4
    """Shortest time [s] of a move: no controller follows faster ones well. By judgement; not calibrated."""

    longest: float = 12.0
    """Moves that take longer [s] are left out: they hardly move. By judgement; not calibrated."""

    normal_part: float = 0.3
    """Smallest normal force of the ground relative to the weight, so that soles stay on the ground. By judgement; not
    calibrated."""


THRESHOLDS = MoveThresholds()


@dataclass(frozen=True, eq=False)
class WayStates:
    """States on the way of moves that take a time of 1 s each.

    Attributes:
        q: Positions, shape (samples, nq).
        v: Velocities, shape (samples, nv).
        a: Accelerations, shape (samples, nv).
        reached: Whether the legs reach, shape (samples,).
    """

    q: Array
    v: Array
    a: Array
    reached: Flags


def profile(u: Array) -> tuple[Array, Array, Array]:
    """The way from 0 to 1 in a time of 1, from rest to rest, and its first two derivatives; all of shape (samples,)."""
    s = u**3 * (10.0 + u * (6.0 * u - 15.0))
    return s, 30.0 * u**2 * (1.0 - u) ** 2, 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u)


def on_the_way(legs: ClosedLegs, begin: Array, end: Array, u: Array) -> WayStates:
    """States at times u, from 0 to 1, of moves between postures, row by row.

    Args:
        legs: The robot on its feet.
        begin: Where each row's move starts, feet in place, shape (samples, nq).
        end: Where it ends, shape (samples, nq).
        u: Times relative to those of the moves, shape (samples,).
    """
    parts = [slice(k, k + _AT_A_TIME) for k in range(0, max(len(u), 1), _AT_A_TIME)]
    found = [_on_the_way(legs, begin[part], end[part], u[part]) for part in parts]
    return WayStates(*(np.concatenate([getattr(one, key) for one in found]) for key in ("q", "v", "a", "reached")))


def _on_the_way(legs: ClosedLegs, begin: Array, end: Array, u: Array) -> WayStates:
    from scipy.spatial.transform import Rotation

    s, s1, s2 = (part[:, None] for part in profile(u))
    q = begin + s * (end - begin)
    rate, bend = np.zeros((2, len(u), legs.stance.robot.nv))
    rate[:, 6:] = end[:, 7:] - begin[:, 7:]
    if not legs.stance.is_single:
        first = Rotation.from_quat(begin[:, 3:7])
        turn = (first.inv() * Rotation.from_quat(end[:, 3:7])).as_rotvec()
        now = first * Rotation.from_rotvec(s * turn)
        q[:, 3:7] = now.as_quat()
        rate[:, :3], rate[:, 3:6] = now.inv().apply(end[:, :3] - begin[:, :3]), turn
        bend[:, :3] = -np.cross(turn, rate[:, :3])
    q, reached = legs.closed(q)
    v, a = legs.follow(q, s1 * rate, s1**2 * bend + s2 * rate)
    return WayStates(q, v, a, reached)


@dataclass(frozen=True, eq=False)
class Moves:
    """Moves between pairs of postures.

    Attributes:
        states: Their states for a time of 1 s, move by move, shape (moves * samples, ...).
        samples: Number of samples of each.
        times: The shortest time [s] of each within all limits; infinite where there is none, shape (moves,).
    """

    states: WayStates
    samples: int
    times: Array


def moves_between(limits: StandingLimits, begin: Array, end: Array, samples: int) -> Moves:
    """Moves between postures, and how fast they may be.

    Args:
        limits: The limits.
        begin: Where each starts, shape (moves, nq).
        end: Where each ends.
        samples: How many samples of each are looked at, ends left out.
    """
    u: Array = (np.arange(samples, dtype=np.float64) + 1.0) / (samples + 1.0)
    starts, ends = (np.repeat(part, samples, axis=0) for part in (begin, end))
    states = on_the_way(limits.legs, starts, ends, np.tile(u, len(begin)))
    good = states.reached & (limits.range_slack(states.q) >= 0.0)
    reached = good.reshape(-1, samples).all(axis=1)
    fastest = np.zeros(len(u) * len(begin))
    rows = np.repeat(reached, samples)
    if rows.any():
        part = WayStates(states.q[rows], states.v[rows], states.a[rows], states.reached[rows])
        fastest[rows] = fastest_rates(limits, part)
    rates = fastest.reshape(-1, samples).min(axis=1) * THRESHOLDS.speed_part
    with np.errstate(divide="ignore"):
        times = np.maximum(1.0 / rates, THRESHOLDS.shortest)
    times[times > THRESHOLDS.longest] = np.inf
    return Moves(states, samples, _kept_apart(limits, states.q, samples, times))


def _kept_apart(limits: StandingLimits, q: Array, samples: int, times: Array) -> Array:
    """Times of moves, infinite where bodies come too near."""
    rows = np.flatnonzero(np.repeat(np.isfinite(times), samples))
    clear = np.ones(len(q), dtype=bool)
    clear[rows] = limits.apart(q[rows], limits.clearance + 0.5 * RESERVES.clearance_reserve)
    return np.where(clear.reshape(-1, samples).all(axis=1), times, np.inf)


def fastest_rates(limits: StandingLimits, states: WayStates) -> Array:
    """The largest 1 / T [1/s] at which each sample keeps all limits; zero where it does not at rest, (samples,)."""
    at_rest, torques_at_rest = limits.wrench.torques(states.q)
    wrench, torques = limits.wrench.torques(states.q, states.v, states.a)
    damping = (limits.wrench.damping * states.v)[:, 6:]  # grows with the speed, all else with its square
    bends, per_square = torques - damping - torques_at_rest, wrench - at_rest
    drag = np.abs(damping)  # either way round: a move and its way back take the same time
    still = np.zeros((len(at_rest), 1))
    joints = limits.joints
    rates = [np.full(len(at_rest), np.inf)]
    for sign in (1.0, -1.0):
        room = limits.efforts[joints] - sign * torques_at_rest[:, joints]
        rates.append(largest_rate(sign * bends[:, joints], drag[:, joints], -room).min(axis=1))
    ground = limits.ground_rows
    rates.append(largest_rate(per_square @ ground.T, still, at_rest @ ground.T).min(axis=1, initial=np.inf))
    low = -at_rest[:, 2] * (1.0 - THRESHOLDS.normal_part)
    rates.append(largest_rate(-per_square[:, 2], 0.0 * low, low))
    speeds = np.abs(states.v[:, 6 + joints])
    bounds = np.array([(limits.limits[k].velocity, limits.limits[k].acceleration) for k in joints]).T
    with np.errstate(divide="ignore"):
        rates.append((bounds[0] / speeds).min(axis=1))
        rates.append(np.sqrt(bounds[1] / np.abs(states.a[:, 6 + joints])).min(axis=1))
    return np.minimum.reduce(rates)


def largest_rate(a: Array, b: Array, c: Array) -> Array:
    """The largest x up to which a x^2 + b x + c <= 0 for all smaller x >= 0; zero where c > 0; element by element."""
    is_open, c = np.isneginf(c), np.where(np.isneginf(c), -1.0, c)
    root = b**2 - 4.0 * a * c
    below = b + np.sqrt(np.maximum(root, 0.0))
    is_bounded = (root >= 0.0) & (below > 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = np.where(is_bounded, -2.0 * c / np.where(is_bounded, below, 1.0), np.inf)
    return np.where(is_open, np.inf, np.where(c > 0.0, 0.0, found))
