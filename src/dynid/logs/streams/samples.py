"""One sample of a stream, what it must have for a robot, and the reasons for which one is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from dynid.arrays import Array
from dynid.logs.log import LONGEST_STRETCH, POSE_COLUMNS, WRENCH_COLUMNS
from dynid.robot import LARGEST_NUMBER

REASONS = {
    "too-long": "more bytes than a packet may have",
    "unknown-format": "neither a JSON object nor the binary format",
    "not-json": "a JSON object that is damaged",
    "wrong-length": "more or fewer bytes than its header says",
    "missing-key": "a quantity that the robot needs is missing",
    "unknown-key": "a quantity or contact that is not known",
    "wrong-count": "another number of values than the robot has joints",
    "not-a-number": "a value that is no finite number",
    "not-a-pose": "a quaternion that is not of unit length",
    "wrong-token": "no token, or another one",
    "damaged-line": "a line that has no values where they should be",
}
"""Why packets and lines are ignored, by the kind under which they are counted."""


class MalformedSampleError(ValueError):
    """A packet or a line is none that the robot can have sent; it is counted and ignored.

    Attributes:
        kind: Why: a key of `REASONS`.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(REASONS[kind])
        self.kind = kind


@dataclass(frozen=True, eq=False)
class Sample:
    """What was measured at a moment, in SI units.

    Attributes:
        time: Time stamp [s] of the sender.
        position: Positions of the joints [rad or m], shape (positions,).
        torque: Torques of the joints [N m or N], shape (torques,); None where none were measured.
        velocity: Velocities of the joints [rad/s or m/s], shape (torques,); None where they were not measured.
        base_pose: Pose of a floating base: x, y, z [m] and a quaternion (x, y, z, w), shape (7,); None without one.
        wrenches: Wrench [N, N m] of each contact by its body, shape (6,).
    """

    time: float
    position: Array
    torque: Array | None = None
    velocity: Array | None = None
    base_pose: Array | None = None
    wrenches: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class SampleForm:
    """What each sample of a robot must have.

    Attributes:
        positions: How many positions of joints.
        torques: How many torques of joints.
        contacts: Bodies whose wrenches are measured, in the order of the binary format.
        needs_pose: Whether the pose of the base must be there.
        needs_torque: Whether torques must be there; a body on force plates has none.
        silent: Places of torques that no drive measures: where they are no numbers, zeros take their place.
    """

    positions: int
    torques: int
    contacts: tuple[str, ...] = ()
    needs_pose: bool = False
    needs_torque: bool = True
    silent: tuple[int, ...] = ()

    def checked(self, sample: Sample) -> Sample:
        """A sample, if it is one of this form.

        Raises:
            MalformedSampleError: If it is none.
        """
        sample = self._without_silent(sample)
        widths = (
            ("position", self.positions),
            ("torque", self.torques),
            ("velocity", self.torques),
            ("base_pose", POSE_COLUMNS),
        )
        needed = {"position", *(["torque"] if self.needs_torque else []), *(["base_pose"] if self.needs_pose else [])}
        for name, width in widths:
            values = getattr(sample, name)
            if values is None and name in needed:
                raise MalformedSampleError("missing-key")
            _require_numbers(values, width)
        for body in self.contacts:
            if body not in sample.wrenches:
                raise MalformedSampleError("missing-key")
        for body, wrench in sample.wrenches.items():
            if body not in self.contacts:
                raise MalformedSampleError("unknown-key")
            _require_numbers(wrench, WRENCH_COLUMNS)
        if not abs(sample.time) <= LARGEST_NUMBER:
            raise MalformedSampleError("not-a-number")
        pose = sample.base_pose
        if pose is not None and not abs(float(np.linalg.norm(pose[3:])) - 1.0) <= LONGEST_STRETCH:
            raise MalformedSampleError("not-a-pose")
        return sample

    def _without_silent(self, sample: Sample) -> Sample:
        """A sample with numbers for all torques that nothing measures, where it has as many as it should."""
        torque, places = sample.torque, list(self.silent)
        if not places or torque is None or torque.shape != (self.torques,) or np.isfinite(torque[places]).all():
            return sample
        torque = torque.copy()
        torque[places] = np.nan_to_num(torque[places], posinf=0.0, neginf=0.0)
        return replace(sample, torque=torque)


def _require_numbers(values: Array | None, width: int) -> None:
    if values is None:
        return
    if values.shape != (width,):
        raise MalformedSampleError("wrong-count")
    if not (np.abs(values) <= LARGEST_NUMBER).all():  # NaN compares as false
        raise MalformedSampleError("not-a-number")
