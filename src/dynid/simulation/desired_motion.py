"""What a simulated robot follows: a trajectory, repeated, with a lead-in and unlogged rounds to settle before it."""

import math
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, ShapeError
from dynid.excitation import Moves
from dynid.robot import Robot

SAME_PLACE = 1e-3
"""Largest distance [rad or m], and speed, by which a robot may start off its trajectory."""

MOST_NUMBERS = 2e8
"""Most numbers, three for each tick and joint, that a reference may have: more do not fit in memory."""


@dataclass(frozen=True, eq=False)
class Repeated:
    """A trajectory several times over: one that ends where it begins.

    Attributes:
        once: The trajectory.
        periods: How many times.
    """

    once: Moves
    periods: int

    def __post_init__(self) -> None:
        ends = self.once.states(np.array([0.0, self.once.duration]))
        gap = max(float(np.abs(values[1] - values[0]).max()) for values in ends[:2])
        if self.periods < 1 or (self.periods > 1 and gap > 1e-3):
            raise InvalidRequestError(
                f"{self.periods} periods cannot be made of a trajectory whose end is {gap:.3g} rad or rad/s away from "
                "its beginning; use one period, or a periodic trajectory"
            )

    @property
    def duration(self) -> float:
        """How long it takes [s]."""
        return self.once.duration * self.periods

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at times [s], each of shape (samples, nv)."""
        within = np.mod(times, self.once.duration)
        # The very end is the end of the last period, which may differ a little from its beginning.
        return self.once.states(np.where(np.asarray(times) >= self.duration, self.once.duration, within))


def check_limits(trajectory: Moves, robot: Robot, rate: float = 200.0) -> None:
    """Refuse a trajectory that leaves the robot's limits of position, velocity or acceleration.

    Raises:
        InvalidRequestError: If it does; names the joint, the time and the limit.
    """
    times = np.linspace(0.0, trajectory.duration, max(2, math.ceil(trajectory.duration * rate) + 1))
    q, v, a = trajectory.states(times)
    for joint in robot.independent_joints:
        limits, k = joint.limits, joint.v.start
        checks = []
        if limits.lower < limits.upper:
            checks += [("position", q[:, k], limits.upper), ("negative position", -q[:, k], -limits.lower)]
        if limits.velocity > 0.0:
            checks.append(("speed", np.abs(v[:, k]), limits.velocity))
        if limits.acceleration > 0.0:
            checks.append(("acceleration", np.abs(a[:, k]), limits.acceleration))
        for what, values, limit in checks:
            worst = int(np.argmax(values))
            if values[worst] > limit + 1e-6 * max(1.0, abs(limit)):
                raise InvalidRequestError(
                    f"the trajectory leaves the limits of joint '{joint.name}': at {times[worst]:.3g} s its {what} is "
                    f"{values[worst]:.4g}, and the limit is {limit:.4g}; use a smaller or slower one"
                )


@dataclass(frozen=True, eq=False)
class Reference:
    """States to follow at every tick.

    Attributes:
        states: Positions, velocities and accelerations, shape (3, ticks, nv).
        lead: Ticks of the lead-in, which come first.
        settling: Ticks after it that are followed but not logged.
        rate: Ticks per second [Hz].
    """

    states: Array
    lead: int
    settling: int
    rate: float

    @property
    def first(self) -> int:
        """The first tick that is logged, at time zero."""
        return self.lead + self.settling

    def in_words(self, tick: int) -> str:
        """When a tick is."""
        if tick < self.lead:
            return f"{tick / self.rate:.3f} s into the lead-in"
        if tick < self.first:
            return f"{(tick - self.lead) / self.rate:.3f} s into the settling time"
        return f"{(tick - self.first) / self.rate:.3f} s"


def reference_of(
    robot: Robot,
    trajectory: Moves,
    rate: float,
    start: Array | None = None,
    lead_in: float = 0.0,
    settling: float = 0.0,
) -> Reference:
    """States to follow at every tick, from rest at `start`.

    Args:
        robot: The robot.
        trajectory: What to follow.
        rate: Ticks per second [Hz].
        start: Where the robot starts [rad or m], shape (nv,); where the trajectory, or the lead-in, does when None.
        lead_in: Seconds to come to the trajectory.
        settling: Seconds before time zero in which a periodic trajectory is followed, but not logged.

    Raises:
        InvalidRequestError: If the trajectory starts elsewhere or in motion and there is no lead-in, or there are more
            ticks than memory holds.
        ShapeError: If the start or the trajectory is not one for this robot.
    """
    count, lead, before = round(trajectory.duration * rate), round(lead_in * rate), math.ceil(settling * rate - 1e-6)
    if count < 1:
        raise InvalidRequestError(f"a trajectory of {trajectory.duration:g} s has no tick at {rate:g} Hz")
    if 3.0 * (count + lead + before) * robot.nv > MOST_NUMBERS:
        raise InvalidRequestError(
            f"{(count + lead + before) / rate:.4g} s at {rate:g} Hz are {count + lead + before} ticks of {robot.nv} "
            f"joints, and at most {MOST_NUMBERS / 3.0 / robot.nv:.0f} can be simulated; lower the rate"
        )
    if start is not None and np.shape(start) != (robot.nv,):
        raise ShapeError("the start", f"({robot.nv},), a position for each joint", np.shape(start))
    # The first tick is where the trajectory begins, whether or not a period is a whole number of ticks.
    times = np.maximum(np.arange(-before, count) / rate, -settling)
    followed = np.stack(trajectory.states(times))
    if followed.shape[2] != robot.nv:
        raise ShapeError("positions of the trajectory", f"(samples, {robot.nv})", followed[0].shape)
    robot.states(*followed)
    q, v, a = followed[:, 0]
    begin = np.array(start, dtype=float) if start is not None else q - 0.5 * lead / rate * v
    if lead:
        followed = np.concatenate([_quintic(begin, q, v, a, lead / rate, lead), followed], axis=1)
    else:
        _check_start(robot, begin, q, v)
        followed[0, 0] = begin
    return Reference(followed, lead, before, rate)


def _check_start(robot: Robot, begin: Array, q: Array, v: Array) -> None:
    for joint in robot.independent_joints:
        k = joint.v.start
        if abs(begin[k] - q[k]) > SAME_PLACE:
            raise InvalidRequestError(
                f"the trajectory starts elsewhere than the robot: joint '{joint.name}' at {q[k]:.4g} instead of "
                f"{begin[k]:.4g}; begin where the robot is, or give a lead-in of some seconds"
            )
        if abs(v[k]) > SAME_PLACE:
            raise InvalidRequestError(
                f"the trajectory starts in motion: joint '{joint.name}' at {v[k]:.4g} rad/s (or m/s), and robots start "
                "at rest; give a lead-in of some seconds"
            )


def _quintic(begin: Array, q: Array, v: Array, a: Array, seconds: float, ticks: int) -> Array:
    """States of the polynomial of degree five from rest at `begin` to the state q, v, a; shape (3, ticks, nv)."""
    from scipy.interpolate import BPoly

    zero = np.zeros_like(q)
    spline = BPoly.from_derivatives([0.0, seconds], np.array([[begin, zero, zero], [q, v, a]]))
    t = np.arange(ticks) * (seconds / ticks)
    return np.stack([spline(t), spline(t, nu=1), spline(t, nu=2)])
