"""Random postures of a standing robot within all limits.

Free coordinates are drawn, legs follow, and the centre of mass is then moved above a random point of the support
polygon by the coordinates that keep the balance: without that, hardly any random posture would stand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Flags, Indices
from dynid.errors import DynidError
from dynid.excitation.balance.moving_coordinates import MovingCoordinates
from dynid.excitation.balance.standing_limits import StandingLimits
from dynid.excitation.balance.tree_motion import centre_jacobian, centre_of_mass, frames_of

_AT_A_TIME = 400
"""Postures that are drawn together."""

_ROUNDS = 60
"""How often, at most."""

_FEWEST_POSTURES = 10
"""Fewer postures than this are nothing to choose from."""

_HOPELESS = 6000
"""Where none of so many random postures keeps all limits, no further ones are tried."""

_RARE, _RARE_AFTER = 0.03, 4000
"""Where fewer than this part of so many random postures keep all limits, others are looked for near those that do."""

_GROWTH = 0.35
"""How far from these, as a part of the ranges."""

_CORRECTIONS = 5
"""Newton steps that move the centre of mass."""

_SHRINKINGS = 3
"""How often a posture that the legs do not reach is drawn nearer to the standing posture, by half."""


@dataclass(frozen=True)
class PoolThresholds:
    """How far random postures are from the standing one."""

    sideways: float = 0.12
    """Largest way of the base along the ground, relative to the length of the legs. By judgement."""

    downwards: float = 0.3
    """Largest way of the base downwards, likewise. By judgement: knees then bend by about a right angle."""

    upwards: float = 0.03
    """Largest way of the base upwards, likewise: legs are nearly straight when robots stand. By judgement."""

    tilt: float = 0.35
    """Largest rotation of the base about each axis [rad]. By judgement: ankles and hips of humanoids allow about as
    much."""

    range_part: float = 0.95
    """Part of the joints' ranges that is drawn from. By judgement."""


THRESHOLDS = PoolThresholds()


class NoBalanceError(DynidError):
    """Hardly any posture is in balance within the limits."""


@dataclass(frozen=True, eq=False)
class StandingPool:
    """Where random postures come from.

    Attributes:
        limits: The limits.
        moving: Which coordinates move.
        home: The standing posture with the feet in place, shape (nq,).
    """

    limits: StandingLimits
    moving: MovingCoordinates
    home: Array

    def drawn(self, count: int, rng: np.random.Generator, is_over: Callable[[], bool] = lambda: False) -> Array:
        """So many postures within all limits, or fewer where they are rare or time is over, shape (postures, nq).

        Raises:
            NoBalanceError: If so few are found that nothing can be chosen.
        """
        found, tried = np.zeros((0, len(self.home))), 0
        for _ in range(_ROUNDS):
            if tried >= _RARE_AFTER and _FEWEST_POSTURES <= len(found) < _RARE * tried:
                fresh, _ = self.near(found[rng.integers(len(found), size=_AT_A_TIME)], _GROWTH, rng)
            else:
                q = self._closed(self._random(rng))
                q, _ = self._steadied(q, np.arange(len(q)), np.inf, rng)
                fresh, tried = q[self.limits.allows_at_rest(q)], tried + _AT_A_TIME
            found = np.concatenate([found, fresh])
            is_hopeless = not len(found) and tried >= _HOPELESS
            if len(found) >= count or is_hopeless or (is_over() and len(found) >= _FEWEST_POSTURES):
                break
        if len(found) < min(count, _FEWEST_POSTURES):
            q = self._closed(self._random(rng))
            reached, (q, _) = len(q), self._steadied(q, np.arange(len(q)), np.inf, rng)
            kept = ", ".join(f"{part:.0%} keep {what}" for what, part in self.limits.shares_at_rest(q).items())
            raise NoBalanceError(
                f"only {len(found)} of {tried} random postures of '{self.limits.robot.name}' are in balance within all "
                f"limits (legs reach {reached / _AT_A_TIME:.0%}; of these, {kept or 'none balance'}); allow a "
                "smaller margin or clearance, more joints in [excitation.balance] balance, or another posture"
            )
        return found[:count]

    def near(self, q: Array, size: float, rng: np.random.Generator) -> tuple[Array, Indices]:
        """Postures within all limits near others, by random steps of a part of what coordinates may move.

        Args:
            q: The others, shape (postures, nq).
            size: The part.
            rng: The source of randomness.

        Returns:
            The postures, and for each the index of the one that it is near to.
        """
        moved = self._moved(q, size * rng.normal(size=(len(q), len(self._widths))) * self._widths)
        low, high = self.limits.ranges
        moved[:, 7:] = np.clip(moved[:, 7:], low, high)
        moved, good = self.limits.legs.closed(moved)
        moved, which = self._steadied(moved[good], np.flatnonzero(good), self.limits.reserve, rng)
        allowed = self.limits.allows_at_rest(moved)
        return moved[allowed], which[allowed]

    def nearest_home(self, q: Array, count: int) -> Array:
        """Those of some postures whose joints are nearest to those of the standing posture, (count, nq)."""
        low, high = self.limits.ranges
        away = np.linalg.norm((q[:, 7:] - self.home[7:]) / np.maximum(high - low, 1e-6), axis=1)
        return np.asarray(q[np.argsort(away)[:count]])

    @cached_property
    def _widths(self) -> Array:
        """Half of what each drawn coordinate may move [m, rad], shape (drawn,)."""
        length = self.leg_length
        base = np.array(
            [THRESHOLDS.sideways * length] * 2 + [0.5 * THRESHOLDS.downwards * length] + [THRESHOLDS.tilt] * 3
        )
        low, high = self.limits.ranges
        return np.concatenate([base, np.minimum((high - low) / 2, np.pi)])[self.moving.drawn]

    @cached_property
    def leg_length(self) -> float:
        """Distance of the base from the feet [m]."""
        heights = [self.home[:3] - foot.target[:3, 3] for foot in self.limits.stance.feet]
        return float(np.mean(np.linalg.norm(heights, axis=1)))

    @cached_property
    def _standing_leg(self) -> Indices:
        """Indices of the joints between a single foot and the base."""
        robot = self.limits.robot
        joints = (robot.joints[k] for k in robot.chain(self.limits.stance.feet[0].link))
        return np.array(sorted({one.v.start - 6 for one in joints if one.kind.nv == 1}), dtype=np.intp)

    def _random(self, rng: np.random.Generator) -> Array:
        """Postures with random drawn coordinates; legs are as in the standing posture."""
        q = np.tile(self.home, (_AT_A_TIME, 1))
        low, high = self.limits.ranges
        middle, half = (low + high) / 2, np.minimum(THRESHOLDS.range_part * (high - low) / 2, np.pi)
        if self.limits.stance.is_single:  # the joints below the base tilt all of it
            leg = self._standing_leg
            middle, half = middle.copy(), half.copy()
            middle[leg] = np.clip(self.home[7 + leg], middle[leg] - half[leg], middle[leg] + half[leg])
            half[leg] = np.minimum(half[leg] - np.abs(middle[leg] - (low + high)[leg] / 2), THRESHOLDS.tilt)
        joints = self.moving.drawn[self.moving.drawn >= 6] - 6
        q[:, 7 + joints] = rng.uniform(
            middle[joints] - half[joints], middle[joints] + half[joints], (_AT_A_TIME, len(joints))
        )
        if (self.moving.drawn < 6).any():
            length = self.leg_length
            reach = np.array([THRESHOLDS.sideways, THRESHOLDS.sideways, THRESHOLDS.downwards]) * length
            step = rng.uniform(-reach, reach * [1.0, 1.0, THRESHOLDS.upwards / THRESHOLDS.downwards], (_AT_A_TIME, 3))
            turn = rng.uniform(-THRESHOLDS.tilt, THRESHOLDS.tilt, (_AT_A_TIME, 3))
            q = moved_base(q, step, turn)
        return q

    def _closed(self, q: Array) -> Array:
        """Those postures that the legs reach, drawn nearer to the standing posture where need be."""
        legs = self.limits.legs
        found = np.zeros((0, q.shape[1]))
        for _ in range(_SHRINKINGS + 1):
            closed, good = legs.closed(q)
            good &= self.limits.range_slack(closed) >= 0.0
            found = np.concatenate([found, closed[good]])
            q = q[~good]
            if not len(q) or not self.moving.base_moves:
                break
            q = towards(self.home, q, 0.5)
        return found

    def _steadied(self, q: Array, which: Indices, enough: float, rng: np.random.Generator) -> tuple[Array, Indices]:
        """Postures, with their indices, of which those are moved whose centre of mass is not enough [m] in the polygon.

        It is moved above a random point.
        """
        polygon = self.limits.stance.polygon
        if polygon is None or not len(self.moving.balancing) or not len(q):
            return q, which
        need = self.limits.margin + self.limits.reserve
        target = polygon.inside(min(need * 1.05, 0.5 * (need + polygon.inner_radius)), len(q), rng)
        centre = centre_of_mass(self.limits.robot, self._frames(q))
        moves = polygon.clearance(centre[:, :2]) - self.limits.margin < enough
        target = np.where(moves[:, None], target, centre[:, :2])
        for _ in range(_CORRECTIONS):
            if not len(q):
                break
            q, good = self._corrected(q, target)
            q, which, target = q[good], which[good], target[good]
        return q, which

    def steadied_to(self, q: Array, target: Array) -> Array:
        """Postures with their centres of mass above points on the ground [m], (postures, 2); those that reach them."""
        for _ in range(4 * _CORRECTIONS):
            if not len(q):
                break
            q, good = self._corrected(q, target)
            q, target = q[good], target[good]
        return q

    def _frames(self, q: Array) -> dict[int, tuple[Array, Array]]:
        return frames_of(self.limits.robot, range(len(self.limits.robot.joints)), q)

    def _corrected(self, q: Array, target: Array) -> tuple[Array, Flags]:
        """One step of the centre of mass towards points, by the smallest change of the balancing coordinates."""
        legs, frames = self.limits.legs, self._frames(q)
        error = target - centre_of_mass(self.limits.robot, frames)[:, :2]
        J = legs.reduced(frames, centre_jacobian(self.limits.robot, frames)[:, :2])
        A = J[:, :, np.searchsorted(legs.free, self.moving.balancing)] * self._weights
        normal = A @ np.swapaxes(A, 1, 2) + 1e-8 * np.eye(2)
        step = (np.swapaxes(A, 1, 2) @ np.linalg.solve(normal, error[:, :, None]))[:, :, 0] * self._weights
        step *= np.minimum(1.0, 0.3 / np.maximum(np.abs(step).max(axis=1), 1e-12))[:, None]
        return legs.closed(self._moved(q, step, self.moving.balancing))

    @cached_property
    def _weights(self) -> Array:
        """Balancing coordinates move in the ratio of these: joints by their ranges, the base rather than turning it."""
        low, high = self.limits.ranges
        of_base = [1.0, 1.0, 0.3, 0.2, 0.2, 0.2]
        return np.concatenate([of_base, np.minimum(high - low, np.pi) / np.pi])[self.moving.balancing]

    def _moved(self, q: Array, step: Array, columns: Indices | None = None) -> Array:
        """Postures moved along columns of velocities."""
        columns = self.moving.drawn if columns is None else columns
        whole = np.zeros((len(q), self.limits.robot.nv))
        whole[:, columns] = step
        found = moved_base(q, whole[:, :3], whole[:, 3:6])
        found[:, 7:] += whole[:, 6:]
        return found


def moved_base(q: Array, step: Array, turn: Array) -> Array:
    """Postures with the base moved [m] and turned by rotation vectors [rad], both along its own axes."""
    from scipy.spatial.transform import Rotation

    found = q.copy()
    now = Rotation.from_quat(q[:, 3:7])
    found[:, :3] += now.apply(step)
    found[:, 3:7] = (now * Rotation.from_rotvec(turn)).as_quat()
    return found


def towards(home: Array, q: Array, part: float) -> Array:
    """Postures whose base is nearer to that of another by a part of the way; joints stay."""
    from scipy.spatial.transform import Rotation

    found = q.copy()
    found[:, :3] += part * (home[:3] - q[:, :3])
    turn = (Rotation.from_quat(q[:, 3:7]).inv() * Rotation.from_quat(home[3:7])).as_rotvec()
    found[:, 3:7] = (Rotation.from_quat(q[:, 3:7]) * Rotation.from_rotvec(part * turn)).as_quat()
    return found
