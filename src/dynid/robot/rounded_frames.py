"""Right angles that a robot file rounds (`rpy="1.5708 0 0"`), and the exact ones that are meant.

An axis that is tilted by 4e-6 rad from the vertical makes a column of the observation matrix that no motion excites and
no sensor measures, but that is not zero: condition numbers of 1e6 and motor inertias of -500 kg m^2 come of it.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.robot.robot import Robot


@dataclass(frozen=True)
class FrameThresholds:
    """Which angles of a robot file are right ones that were rounded."""

    rounding: float = 1e-5
    """Largest difference [rad] from a multiple of a quarter turn that is taken as rounding: 3.1416 is 7e-6 off, and
    frames are made and calibrated to 1e-4 rad at best. Shown by `tests/robot/test_rounded_frames.py`: base parameters
    of random robots whose angles have five digits or more are those of exact ones."""

    noticed: float = 1e-10
    """Smallest difference [rad] that is reported: below, the numerical rank does not see it. By judgement: the
    tolerance of `RankThresholds`."""


THRESHOLDS = FrameThresholds()


@dataclass
class Frames:
    """Reads the frames of one robot file, with right angles made exact unless it is asked to keep them.

    Attributes:
        exact: Whether to take all numbers as they are.
        rounded: The largest difference [rad] in a joint's frame that was taken as rounding, by the joint's name.
    """

    exact: bool = False
    rounded: dict[str, float] = field(default_factory=dict)

    def angle(self, angle: float, joint: str) -> float:
        """An angle [rad], or the multiple of a quarter turn that is within rounding of it.

        >>> Frames().angle(1.5708, "elbow") == math.pi / 2, Frames(exact=True).angle(1.5708, "elbow")
        (True, 1.5708)
        """
        right = round(angle / (math.pi / 2)) * (math.pi / 2) if math.isfinite(angle) else angle
        off = abs(angle - right)
        if self.exact or not 0.0 < off <= THRESHOLDS.rounding:
            return angle
        self._note(joint, off)
        return right

    def rotation(self, R: Array, joint: str) -> Array:
        """A rotation (3, 3), or the nearest one whose elements are zero where these are within rounding of it.

        Zeros of a rotation are its right angles between axes. The nearest rotation is found by turns: zeros are set,
        and axes made orthonormal again.
        """
        small = np.abs(R) <= THRESHOLDS.rounding
        if self.exact or not np.any(R[small]):
            return R
        self._note(joint, float(np.abs(R[small]).max()))
        for _ in range(20):
            U, _, V = np.linalg.svd(np.where(small, 0.0, R))
            R = U @ V
            if not np.abs(R[small]).max() > 1e-15:
                break
        R = np.where(small, 0.0, R)
        return np.where(np.abs(np.abs(R) - 1.0) < 1e-9, np.sign(R), R)

    def axis(self, axis: Array, joint: str) -> Array:
        """A unit vector (3,), or the nearest one whose elements are zero where these are within rounding of it."""
        small = np.abs(axis) <= THRESHOLDS.rounding
        if self.exact or not np.any(axis[small]):
            return axis
        self._note(joint, float(np.abs(axis[small]).max()))
        right = np.where(small, 0.0, axis)
        return right / np.linalg.norm(right)

    def _note(self, joint: str, off: float) -> None:
        if off >= THRESHOLDS.noticed:
            self.rounded[joint] = max(off, self.rounded.get(joint, 0.0))

    def findings(self) -> tuple[Finding, ...]:
        """A note on the joints whose frames were rounded in the file."""
        if not self.rounded:
            return ()
        largest = max(self.rounded.values())
        return (Finding.of("frames-rounded", "frames", joints=list(self.rounded), largest=largest),)


def notes_on_frames(robot: Robot) -> tuple[Finding, ...]:
    """What was noticed about the frames of a robot's file when it was read."""
    return tuple(finding for finding in robot.description.findings if finding.code == "frames-rounded")
