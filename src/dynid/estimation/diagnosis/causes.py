"""Causes of errors, and how samples or the robot look once a cause is mended."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.estimation.diagnosis.bench_samples import Samples
from dynid.robot import Joint, Robot, rotation_about

Mended = tuple[Samples, Robot]


@dataclass(frozen=True)
class Cause:
    """A mistake in a log, a robot file or a model that would explain errors.

    Attributes:
        kind: One of the keys of `cause_findings.CODES`.
        joint: The joint that it is about; empty where it is about all.
        amounts: How much of it: relative, or in [rad], [m] or [s]; empty where there is no how much.
        other: Another joint that it is about, or joints, or an axis.
    """

    kind: str
    joint: str = ""
    amounts: tuple[float, ...] = ()
    other: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is, whatever its amount."""
        return self.kind, self.joint, self.other

    @property
    def size(self) -> float:
        """Norm of its amounts."""
        return float(np.linalg.norm(self.amounts))


def mended(cause: Cause, samples: Samples, robot: Robot, stds: Array) -> Mended:
    """Samples and robot without a cause.

    Args:
        cause: The cause; not a missing term, which is a matter of the model.
        samples: Samples with it.
        robot: The robot with it.
        stds: Standard deviations of the torques' errors, shape (rows,).
    """
    return MENDED[cause.kind](cause, samples, robot, stds)


def _later(cause: Cause, samples: Samples, robot: Robot, _: Array) -> Mended:
    delays = np.full(samples.torque.shape[1], cause.amounts[0])
    if cause.joint:
        delays[np.arange(len(delays)) != robot.joint(cause.joint).v.start] = 0.0
    return samples.later(delays), robot


def _faster(cause: Cause, samples: Samples, robot: Robot, _: Array) -> Mended:
    return samples.at_speed(1.0 + cause.amounts[0]), robot


def _rescaled(cause: Cause, samples: Samples, robot: Robot, _: Array) -> Mended:
    factor = 1.0 + cause.amounts[0]
    if not cause.joint:
        for joint in robot.independent_joints:
            samples = samples.scaled(joint, factor) if joint.kind.is_angular else samples
        return samples, robot
    joint = robot.joint(cause.joint)
    if cause.kind != "torque scale":
        samples = samples.scaled(joint, factor)
    if cause.kind != "position scale":
        samples = samples.with_torque(joint.v.start, 1.0 / factor)
    return samples, robot


def _rezeroed(cause: Cause, samples: Samples, robot: Robot, _: Array) -> Mended:
    joint = robot.joint(cause.joint)
    return samples.moved(joint, cause.amounts[0]), robot


def _placed(cause: Cause, samples: Samples, robot: Robot, _: Array) -> Mended:
    joint = robot.joint(cause.joint)
    axes = placement_axes(joint, cause.kind)
    return samples, placed(robot, joint, cause.kind, np.asarray(cause.amounts) @ axes)


def _turned(cause: Cause, samples: Samples, robot: Robot, _: Array) -> Mended:
    return samples, replace(robot, gravity=rotation(np.asarray(cause.amounts) @ level_axes(robot)) @ robot.gravity)


def _pulled(cause: Cause, samples: Samples, robot: Robot, _: Array) -> Mended:
    return samples, replace(robot, gravity=np.asarray(cause.amounts))


def _flipped(cause: Cause, samples: Samples, robot: Robot, _: Array) -> Mended:
    joint = robot.joint(cause.joint)
    if cause.kind != "torque sign":
        samples = samples.scaled(joint, -1.0)
    if cause.kind != "position sign":
        samples = samples.with_torque(joint.v.start, -1.0)
    return samples, robot


def _swapped(cause: Cause, samples: Samples, robot: Robot, stds: Array) -> Mended:
    joint = robot.joint(cause.joint)
    other = robot.joint(cause.other)
    if cause.kind != "torques swapped":
        samples = samples.with_positions_swapped(joint, other)
    if cause.kind != "positions swapped":
        samples = samples.with_torques_swapped(joint.v.start, other.v.start, stds)
    return samples, robot


MENDED: dict[str, Callable[[Cause, Samples, Robot, Array], Mended]] = {
    "delay": _later,
    "time scale": _faster,
    "gravity": _turned,
    "gravity axis": _pulled,
    "gear ratio": _rescaled,
    "position scale": _rescaled,
    "torque scale": _rescaled,
    "zero": _rezeroed,
    "place": _placed,
    "tilt": _placed,
    "torque sign": _flipped,
    "position sign": _flipped,
    "joint flipped": _flipped,
    "torques swapped": _swapped,
    "positions swapped": _swapped,
    "joints swapped": _swapped,
}
"""How each kind of cause is mended."""


def rotation(turn: Array) -> Array:
    """The rotation about a vector, by its length [rad], shape (3, 3)."""
    angle = float(np.linalg.norm(turn))
    return rotation_about(turn / angle, np.array([angle]))[0] if angle else np.eye(3)


def level_axes(robot: Robot) -> Array:
    """Two axes across gravity, shape (2, 3)."""
    return _across(robot.gravity)


def placement_axes(joint: Joint, kind: str) -> Array:
    """Along or about which a joint may be misplaced, in the link that carries it, shape (k, 3).

    A turn about its own axis is another zero of its positions.
    """
    if kind == "place" or joint.kind.nv != 1:
        return np.eye(3)
    return _across(joint.placement[:3, :3] @ joint.axis)


def _across(direction: Array) -> Array:
    """Two unit vectors across a direction, along axes of the frame where possible, shape (2, 3)."""
    size = float(np.linalg.norm(direction))
    along = direction / size if size else np.array([0.0, 0.0, 1.0])
    first = np.eye(3)[int(np.argmin(np.abs(along)))]
    first = first - (first @ along) * along
    first /= np.linalg.norm(first)
    return np.stack([first, np.asarray(np.cross(along, first), dtype=float)])


def placed(robot: Robot, joint: Joint, kind: str, move: Array) -> Robot:
    """The robot with a joint moved [m], or turned about its origin [rad], in the link that carries it."""
    placement = joint.placement.copy()
    if kind == "place":
        placement[:3, 3] += move
    else:
        placement[:3, :3] = rotation(move) @ placement[:3, :3]
    joints = [replace(one, placement=placement) if one.name == joint.name else one for one in robot.joints]
    return replace(robot, joints=tuple(joints))
