"""A trajectory or a log to look at: its states, and how much of the robot's limits they use."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.excitation.trajectories import Trajectory
from dynid.excitation.trajectory_files import Followable, as_motion, read_trajectory
from dynid.excitation.trajectory_formats import samples
from dynid.model.dynamic_model import DynamicModel
from dynid.robot.joints import JointKind
from dynid.robot.robot import Robot

RATE = 125.0
"""Sampling rate [Hz] at which coefficients are shown."""


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion of a robot.

    Attributes:
        time: Time [s] since its start, ascending, shape (samples,).
        q: Positions, shape (samples, nq).
        v: Velocities, shape (samples, nv).
        torque: Torques [N m or N], shape (samples, nv): measured ones, or those that the robot's file says it needs.
        measured: Whether the torques were measured.
    """

    time: Array
    q: Array
    v: Array
    torque: Array
    measured: bool

    def index_at(self, time: float) -> int:
        """The last sample that is not later than a time [s]."""
        return int(np.clip(np.searchsorted(self.time, time, side="right") - 1, 0, len(self.time) - 1))


@dataclass(frozen=True)
class Gauge:
    """How much of a limit a motion uses.

    Attributes:
        joint: The joint.
        what: "position", "velocity" or "torque".
        value: The value [rad, m, rad/s, m/s, N m or N].
        share: Share of the limit that it uses; above 1 is beyond it, and NaN where none is stated.
    """

    joint: str
    what: str
    value: float
    share: float


def motion_to_show(motion: Followable, robot: Robot) -> Motion:
    """The motion of a trajectory or a log: a file, read without strictness, or anything that can be followed.

    Raises:
        FileProblemError: If the time or positions are missing, or there are not as many as joints.
        InvalidRequestError: If the robot has joints of several degrees of freedom.
    """
    if any(joint.kind.nv > 1 for joint in robot.joints):
        raise InvalidRequestError(f"'{robot.name}' has joints of several degrees of freedom, which cannot be shown yet")
    is_file = isinstance(motion, str | os.PathLike)
    found = read_trajectory(motion, robot, strict=False) if is_file else as_motion(motion, robot)
    if not isinstance(found, Trajectory):
        found = Trajectory(*samples(found, RATE))
    if len(found) < 3:
        raise InvalidRequestError(f"a motion to look at needs at least 3 samples, and there are {len(found)}")
    v = np.gradient(found.q, found.t, axis=0) if found.v is None else found.v
    torque = found.torque
    if torque is None:
        a = np.gradient(v, found.t, axis=0) if found.a is None else found.a
        torque = DynamicModel(robot).inverse_dynamics(found.q, v, a)
    return Motion(found.t - found.t[0], found.q, v, torque, found.torque is not None)


def gauges(robot: Robot, motion: Motion, index: int) -> list[Gauge]:
    """How much of each limit a sample uses: positions from the middle of their range, the others from zero."""
    found = []
    for joint in robot.independent_joints:
        limits, row = joint.limits, joint.v.start
        q, v, tau = float(motion.q[index, row]), float(motion.v[index, row]), float(motion.torque[index, row])
        middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * (limits.upper - limits.lower)
        bounded = joint.kind is not JointKind.CONTINUOUS and np.isfinite(half) and half > 0.0
        found += [
            Gauge(joint.name, "position", q, abs(q - middle) / half if bounded else np.nan),
            Gauge(joint.name, "velocity", v, _share(v, limits.velocity)),
            Gauge(joint.name, "torque", tau, _share(tau, limits.effort)),
        ]
    return found


def _share(value: float, limit: float) -> float:
    return abs(value) / limit if np.isfinite(limit) and limit > 0.0 else np.nan
