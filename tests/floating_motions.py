"""Motions of standing robots: feet stay where they are, the centre of mass follows a slow path above them.

The base turns and goes up and down, all joints but those of the legs swing or take postures. The base is then shifted
until the centre of mass by the robot's *file* is where it is to be, and the legs follow by inverse kinematics. That
is what a user without a design could do; nothing here looks for the motion that identifies best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from dynid import DynamicModel
from dynid.arrays import Array
from dynid.model.dynamic_model import Observed
from dynid.robot import Joint
from tests.floating_kinematics import Frame, centre_of_mass, leg, poses, with_feet_at
from tests.floating_robots import LeggedRobot

KNOTS = 50.0
"""Rate of the knots of a motion [Hz]."""

SHIFTS = 6
"""Shifts of the base towards the wanted centre of mass."""

ON_ONE_FOOT = 0.3
"""Motion of the centre of mass on one foot, in parts of that on all."""

SHRINKS = 20
"""Times that a motion is made smaller by a tenth, until legs reach and nothing leaves its limits."""


@dataclass(frozen=True, eq=False)
class StandingMotion:
    """A motion on feet that rest.

    Attributes:
        legged: The robot.
        t: Times of the knots [s], shape (knots,).
        q: Positions at the knots, shape (knots, nq).
        feet: Poses in the world of what rests, (4, 4) each: feet, or the base where it is held.
        holds: Times within which the robot holds a posture [s], shape (postures, 2).
    """

    legged: LeggedRobot
    t: Array
    q: Array
    feet: dict[str, Array]
    holds: Array

    @cached_property
    def _spline(self) -> CubicSpline:
        """The base's place, its turn from home as a rotation vector, and the joints, over time."""
        turn = Rotation.from_quat(self.q[:, 3:7]) * Rotation.from_quat(self.legged.standing[3:7]).inv()
        return CubicSpline(self.t, np.hstack([self.q[:, :3], turn.as_rotvec(), self.q[:, 7:]]), bc_type="clamped")

    def joints(self, times: Array, order: int = 0) -> Array:
        """Positions of the joints, or a derivative, shape (samples, joints)."""
        return self._spline(times, order)[:, 6:]

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations; those of the base by differences."""
        h = 1e-3

        def turned(at: Array) -> Rotation:
            return Rotation.from_rotvec(self._spline(at)[:, 3:6]) * Rotation.from_quat(self.legged.standing[3:7])

        def twist(at: Array) -> Array:
            linear = turned(at).inv().apply(self._spline(at, 1)[:, :3])
            return np.hstack([linear, (turned(at - h).inv() * turned(at + h)).as_rotvec() / (2.0 * h)])

        q = np.hstack([self._spline(times)[:, :3], turned(times).as_quat(), self.joints(times)])
        v = np.hstack([twist(times), self.joints(times, 1)])
        a = np.hstack([(twist(times + h) - twist(times - h)) / (2.0 * h), self.joints(times, 2)])
        return q, v, a

    def zero_moment_points(self, parameters: Array, times: Array) -> Array:
        """Zero-moment points on the ground [m], shape (samples, 2)."""
        q, v, a = self.states(times)
        model = DynamicModel(self.legged.robot, (), Observed.WRENCH_MOVING)
        wrench = (model.regressor(q, v, a) @ parameters).T
        turn = Rotation.from_quat(q[:, 3:7])
        force = turn.apply(wrench[:, :3])
        torque = turn.apply(wrench[:, 3:]) + np.cross(q[:, :3], force)
        return np.stack([-torque[:, 1], torque[:, 0]], axis=1) / force[:, 2:]

    def margin(self, parameters: Array, times: Array) -> float:
        """Least distance of the zero-moment point to the edge of the feet's support polygon [m]."""
        corners = np.transpose(_corners(self.legged))
        hull = ConvexHull(np.vstack([(T @ corners).T[:, :2] for T in self.feet.values()]))
        points = self.zero_moment_points(parameters, times)
        return float(-(points @ hull.equations[:, :2].T + hull.equations[:, 2]).max())


def based(legged: LeggedRobot, joints: Array, foot: str, target: Array) -> Array:
    """Positions of joints with the base where a foot puts it that rests at a pose."""
    q = np.hstack([np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], (len(joints), 1)), joints])
    T = target @ np.linalg.inv(Frame.of(legged.robot, foot).pose(poses(legged.robot, q)))
    q[:, :3], q[:, 3:7] = T[:, :3, 3], Rotation.from_matrix(T[:, :3, :3]).as_quat()
    return q


def feet_at_home(legged: LeggedRobot, feet: Sequence[str]) -> dict[str, Array]:
    """Poses of feet at home, level on the ground."""
    of_all = poses(legged.robot, legged.standing[None])
    found = {}
    for body in feet:
        T = Frame.of(legged.robot, body).pose(of_all)[0]
        yaw = np.arctan2(T[1, 0], T[0, 0])
        level = np.eye(4)
        level[:3, :3] = Rotation.from_euler("z", yaw).as_matrix()
        level[:2, 3] = T[:2, 3]
        found[body] = level
    return found


def swinging(
    legged: LeggedRobot, seconds: float, seed: int, on: Sequence[str] = (), fastest: float = 0.5
) -> StandingMotion:
    """Sums of three sines of each joint and of the base, from rest to rest.

    Args:
        legged: The robot.
        seconds: Length [s].
        seed: Number of the draw.
        on: Feet that rest; all when empty. The legs of the others are lifted, and swing.
        fastest: Highest frequency [Hz].
    """
    rng = np.random.default_rng((seed, 11, *map(legged.feet.index, on)))
    t = np.arange(round(seconds * KNOTS) + 1) / KNOTS
    path = _sines(t, 6 + len(legged.robot.joints) - 1, fastest, rng)
    return _fitting(legged, t, path, np.empty((0, 2)), feet_at_home(legged, on or legged.feet))


def leg_by_leg(legged: LeggedRobot, seconds: float, seed: int, fastest: float = 1.5) -> StandingMotion:
    """Sums of three sines of the joints of one leg after the other, `seconds` [s] each, while the base is held."""
    rng = np.random.default_rng((seed, 15))
    robot, each = legged.robot, round(seconds * KNOTS)
    t = np.arange(each * len(legged.feet) + 1) / KNOTS
    path = np.zeros((len(t), 6 + len(robot.joints) - 1))
    for k, body in enumerate(legged.feet):
        own, rows = [5 + i for i in leg(robot, Frame.of(robot, body))], slice(each * k, each * (k + 1) + 1)
        path[rows, own] = _sines(t[rows] - t[rows.start], len(own), fastest, rng)
    held = poses(robot, legged.standing[None])[0, 0]
    return _fitting(legged, t, path, np.empty((0, 2)), {robot.links[0].name: held})


def along(legged: LeggedRobot, t: Array, q: Array, on: Sequence[str], holds: Array | None = None) -> StandingMotion:
    """A motion that was designed elsewhere, on feet that rest.

    Args:
        legged: The robot.
        t: Times [s], shape (knots,), close enough that cubic splines follow the motion between them.
        q: Positions at these times, shape (knots, nq).
        on: Feet that rest, where they are at the first of them.
        holds: Times within which postures are held [s], shape (postures, 2).
    """
    of_all = poses(legged.robot, q[:1])
    rest = {body: Frame.of(legged.robot, body).pose(of_all)[0] for body in on}
    return StandingMotion(legged, t, q, rest, np.empty((0, 2)) if holds is None else holds)


def _sines(t: Array, count: int, fastest: float, rng: np.random.Generator) -> Array:
    """Sums of three sines within -1 and 1, which fade in and out, shape (samples, count)."""
    frequencies = rng.uniform(0.1 * fastest, fastest, (3, count))
    sines = np.sin(2.0 * np.pi * frequencies[:, None] * t[:, None] + rng.uniform(0.0, 2.0 * np.pi, (3, 1, count)))
    amplitudes = rng.uniform(0.5, 1.0, (3, 1, count))
    path = (amplitudes * sines).sum(axis=0) / amplitudes.sum(axis=0)
    ends = np.clip(np.minimum(t, t[-1] - t) / 2.0, 0.0, 1.0)
    return path * (ends**3 * (10.0 - 15.0 * ends + 6.0 * ends**2))[:, None]


def postures(legged: LeggedRobot, count: int, seed: int, hold: float = 2.0, move: float = 2.0) -> StandingMotion:
    """Random postures that are held, and rest-to-rest motions between them, from home to home."""
    rng = np.random.default_rng((seed, 12))
    width = 6 + len(legged.robot.joints) - 1
    places = np.vstack([np.zeros(width), rng.uniform(-1.0, 1.0, (count, width)), np.zeros(width)])
    t = np.arange(round(((count + 1) * move + count * hold) * KNOTS) + 1) / KNOTS
    begins = np.arange(count + 1) * (move + hold)
    index = np.clip(np.searchsorted(begins, t, side="right") - 1, 0, count)
    share = np.clip((t - begins[index]) / move, 0.0, 1.0)
    share = (share**3 * (10.0 - 15.0 * share + 6.0 * share**2))[:, None]
    path = (1.0 - share) * places[index] + share * places[index + 1]
    holds = np.array([[begin + move, begin + move + hold] for begin in begins[:-1]])
    return _fitting(legged, t, path, holds, feet_at_home(legged, legged.feet))


def _fitting(legged: LeggedRobot, t: Array, path: Array, holds: Array, rest: dict[str, Array]) -> StandingMotion:
    """A motion along paths from -1 to 1 of the base and the joints, as large as legs and limits allow."""
    for step in range(SHRINKS + 1):
        q, error = _balanced(legged, 0.9**step * path, rest)
        if error < 1e-9 and _within_limits(legged, q) and _clearance(legged, q, rest) > 0.0:
            return StandingMotion(legged, t, q, rest, holds)
    raise RuntimeError(f"{legged.name}: no motion of that kind within reach")


def _balanced(legged: LeggedRobot, path: Array, rest: dict[str, Array]) -> tuple[Array, float]:
    """Positions along paths, with the centre of mass where the paths of x and y say, and what legs miss."""
    robot, home, size = legged.robot, legged.standing, np.array(legged.pelvis)
    q = np.tile(home, (len(path), 1))
    resting = {i for body in rest for i in leg(robot, Frame.of(robot, body))}
    lifted = {i for body in legged.feet for i in leg(robot, Frame.of(robot, body))} - resting
    for i, joint in enumerate(robot.joints[1:], start=1):
        if i not in resting:
            place = home[joint.q] + (legged.lift.get(joint.name, 0.0) if i in lifted else 0.0)
            reach = legged.leg_reach if i in lifted else legged.reach
            q[:, joint.q] = _within(joint, place, path[:, 5 + i], reach)[:, None]
    if not resting:  # the base itself is held
        return q, 0.0
    turn = Rotation.from_euler("xyz", path[:, 3:6] * size[3:]) * Rotation.from_quat(home[3:7])
    q[:, 3:7] = turn.as_quat()
    q[:, 2] -= size[2] * (0.5 + 0.5 * path[:, 2])  # knees that bend further than at home never lock
    middle = np.mean([(T @ _centre(legged))[:2] for T in rest.values()], axis=0)
    wanted = middle + path[:, :2] * size[:2] * (1.0 if len(rest) > 1 else ON_ONE_FOOT)
    error = 0.0
    for _ in range(SHIFTS):
        q[:, :2] += wanted - centre_of_mass(robot, robot.parameters, q)[:, :2]
        q, error = with_feet_at(robot, q, rest, legged.is_pointed)
        if error > 1e-9:
            break
    return q, error


def _clearance(legged: LeggedRobot, q: Array, rest: dict[str, Array]) -> float:
    """Least height of the corners of lifted soles above the ground [m]."""
    of_all, heights = poses(legged.robot, q), [np.inf]
    for body in legged.feet:
        if body not in rest and legged.robot.links[0].name not in rest:
            T = Frame.of(legged.robot, body).pose(of_all)
            heights.append(float((T @ np.transpose(_corners(legged)))[:, 2].min()))
    return min(heights)


def _corners(legged: LeggedRobot) -> list[tuple[float, float, float, float]]:
    """Corners of a sole in its frame, as homogeneous coordinates."""
    low_x, low_y, high_x, high_y = legged.sole
    return [(x, y, 0.0, 1.0) for x in (low_x, high_x) for y in (low_y, high_y)]


def _centre(legged: LeggedRobot) -> Array:
    return np.mean(_corners(legged), axis=0)


def _within(joint: Joint, home: Array, path: Array, reach: float) -> Array:
    """Positions of a joint: home plus up to `reach` along the path, within 90 % of its range and 80 % of its speed."""
    low, high = joint.limits.lower, joint.limits.upper
    margin = 0.05 * (high - low)
    low, high = max(low + margin, float(home[0]) - reach), min(high - margin, float(home[0]) + reach)
    speed = 0.5 * (high - low) * KNOTS * float(np.abs(np.diff(path)).max())
    return 0.5 * (low + high) + 0.5 * (high - low) * min(1.0, 0.8 * joint.limits.velocity / speed) * path


def _within_limits(legged: LeggedRobot, q: Array) -> bool:
    """Whether all joints are within their ranges."""
    own = [(q[:, j.q], j.limits) for j in legged.robot.joints[1:]]
    return all(limits.lower <= values.min() and values.max() <= limits.upper for values, limits in own)
