"""Motions from files: a trajectory or a log, with what it asks of the robot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.errors import FileProblemError, InvalidRequestError
from dynid.logs.readers.source import RecordingError
from dynid.logs.tables import read_columns
from dynid.model.dynamic_model import DynamicModel
from dynid.robot.joints import JointKind
from dynid.robot.robot import Robot


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


def read_motion(path: Path, robot: Robot) -> Motion:
    """Read a trajectory or a log with columns `t`, `q_*`, and where they are there `v_*`, `a_*` and `tau_*`.

    After the underscore stand the joints' names, or numbers in their order.

    Raises:
        RecordingError: If the time or positions are missing, or there are not as many as joints.
        InvalidRequestError: If the robot has joints of several degrees of freedom.
    """
    if any(joint.kind.nv > 1 for joint in robot.joints):
        raise InvalidRequestError(f"'{robot.name}' has joints of several degrees of freedom, which cannot be shown yet")
    time = read_columns(path, columns="t", count=1)[:, 0]
    if not (np.diff(time) > 0).all():
        raise FileProblemError(path, "time must advance from row to row; cut the file where it does not")
    q = _quantity(path, "q", robot)
    v, a, torque = (_optional(path, letter, robot) for letter in ("v", "a", "tau"))
    if len(time) < 3:
        raise FileProblemError(path, f"a motion needs at least 3 rows, and there are {len(time)}")
    v = np.gradient(q, time, axis=0) if v is None else v
    measured = torque is not None
    if torque is None:
        a = np.gradient(v, time, axis=0) if a is None else a
        torque = DynamicModel(robot).inverse_dynamics(q, v, a)
    return Motion(time - time[0], q, v, torque, measured)


def _quantity(path: Path, letter: str, robot: Robot) -> Array:
    joints = robot.independent_joints
    for columns in ([f"{letter}_{joint.name}" for joint in joints], [f"{letter}_{joint.number}" for joint in joints]):
        try:
            return read_columns(path, columns=columns, count=robot.nv)
        except RecordingError as error:
            if "there is no column" not in error.problem:
                raise
    return read_columns(path, columns=f"{letter}_*", count=robot.nv)


def _optional(path: Path, letter: str, robot: Robot) -> Array | None:
    try:
        return _quantity(path, letter, robot)
    except RecordingError as error:
        if "there is no column" not in error.problem:
            raise
        return None


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
