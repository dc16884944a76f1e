"""Trajectories for a simulated robot to follow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, ShapeError
from dynid.robot.robot import Robot


class Trajectory(Protocol):
    """Something to follow: states at any time from 0 to its duration [s]."""

    @property
    def duration(self) -> float:
        """How long it takes [s]."""
        ...

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at times [s], each of shape (samples, nv)."""
        ...


@dataclass(frozen=True, eq=False)
class TableTrajectory:
    """States at given times, and splines between them.

    Where velocities and accelerations are given, pieces of degree five meet them; else the positions' spline of degree
    five (less for few rows) gives them.

    Attributes:
        time: Times [s], increasing, shape (samples,).
        q: Positions [rad or m], shape (samples, nv).
        v: Velocities, shape (samples, nv); None where they are not known.
        a: Accelerations, shape (samples, nv); None where they are not known.
    """

    time: Array
    q: Array
    v: Array | None = None
    a: Array | None = None

    def __post_init__(self) -> None:
        if len(self.time) < 2 or not (np.diff(self.time) > 0.0).all():
            late = np.flatnonzero(np.diff(self.time) <= 0.0)
            found = f"row {late[0] + 2} is not later than the one before" if len(late) else f"it has {len(self.time)}"
            raise InvalidRequestError(f"a trajectory needs two rows or more, with increasing times; {found}")
        for what, values in (("positions", self.q), ("velocities", self.v), ("accelerations", self.a)):
            if values is not None and (np.ndim(values) != 2 or len(values) != len(self.time)):
                raise ShapeError(f"{what} of a trajectory", f"({len(self.time)}, joints)", np.shape(values))

    @property
    def duration(self) -> float:
        """How long it takes [s]."""
        return float(self.time[-1] - self.time[0])

    @cached_property
    def _spline(self) -> object:
        from scipy.interpolate import BPoly, make_interp_spline

        if self.v is not None and self.a is not None:
            return BPoly.from_derivatives(self.time, np.stack([self.q, self.v, self.a], axis=1))
        degree = min(5, len(self.time) - 1)
        return make_interp_spline(self.time, self.q, k=degree - 1 + degree % 2)

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at times [s], each of shape (samples, nv)."""
        t = np.clip(self.time[0] + np.asarray(times), self.time[0], self.time[-1])
        spline = self._spline
        q, v, a = (np.asarray(spline(t, nu=k) if k else spline(t)) for k in range(3))  # type: ignore[operator]
        return q, v, a


@dataclass(frozen=True, eq=False)
class Repeated:
    """A trajectory several times over: one that ends where it begins.

    Attributes:
        once: The trajectory.
        periods: How many times.
    """

    once: Trajectory
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


def check_limits(trajectory: Trajectory, robot: Robot, rate: float = 200.0) -> None:
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
