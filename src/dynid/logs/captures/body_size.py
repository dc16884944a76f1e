"""Weight and size of a body in a capture, beside those of the robot's file."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dynid.findings import Finding
from dynid.logs.captures import Capture, resampled, size_ratio
from dynid.robot import Robot


@dataclass(frozen=True)
class BodySizeThresholds:
    """When the body of a capture is said to be another than that of the robot's file."""

    mass: float = 0.07
    """Part by which the mean vertical force differs from the weight of the file: a meal and shoes are 3 %.
    By judgement."""

    length: float = 0.07
    """Part by which distances of markers differ from those of the file, in the median: markers are off by less.
    By judgement."""

    stands: float = 0.5
    """Share of the samples in which the plates must carry somebody for a mean force to be a weight. By judgement."""

    loaded: float = 0.3
    """Vertical force, in weights of the file, from which they do. By judgement."""


THRESHOLDS = BodySizeThresholds()


def findings_on_size(robot: Robot, capture: Capture) -> Iterator[Finding]:
    """Findings on a body that is heavier or larger than the robot's file has it.

    Args:
        robot: The robot.
        capture: The capture, with its labels and its unit put right.
    """
    ratio = size_ratio(robot, capture)
    if np.isfinite(ratio) and abs(ratio - 1.0) > THRESHOLDS.length:
        yield Finding.of("capture-size-differs", "markers", ratio=ratio)
    strength = float(np.linalg.norm(robot.gravity))
    if not capture.plates or not strength:
        return
    upward = np.sum([resampled(plate, capture.time)[:, :3] @ plate.pose[2, :3] for plate in capture.plates], axis=0)
    mass = float(sum(robot.links[i].parameters[0] for i in robot.solid_links))
    on_plates = np.isfinite(upward) & (upward > THRESHOLDS.loaded * mass * strength)
    if np.mean(on_plates) < THRESHOLDS.stands or not mass:
        return
    seen = float(np.median(upward[on_plates])) / strength
    if abs(seen / mass - 1.0) > THRESHOLDS.mass:
        yield Finding.of("capture-mass-differs", "force plates", seen=seen, mass=mass)
