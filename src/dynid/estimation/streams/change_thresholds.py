"""When a change while data stream in raises an alarm."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dynid.errors import InvalidRequestError


@dataclass(frozen=True)
class ChangeThresholds:
    """When a change raises an alarm.

    By judgement where a field does not state otherwise. Simulated draws are those of `benchmarks/stream_changes.py`:
    noise, errors of two correlation times, ripple over positions and Stribeck friction that the model does not have.
    """

    learning: float = 30.0
    """Motion [s] that is watched before alarms are raised, of each joint for its friction. Calibrated with `factor`."""

    uncertain: float = 0.5
    """Standard deviation of torques that the parameters' uncertainty leaves, in parts of that of errors, above which
    watching does not begin after `learning`; in proportion more later, since nothing is noticed meanwhile. Root mean
    square over states that were seen, recombined. Calibrated on a Panda and a UR5 in motion between points, whose first
    30 s have few postures, and on smooth motions of 20 s of the real UR10e, for which 0.4 is too small."""

    windows: tuple[float, ...] = (0.4, 4.0)
    """Time constants [s] of the sliding windows: the short one is for payloads, which show within a second, the long
    one for friction, which shows at several speeds only."""

    factor: float = 6.0
    """How many times the largest explained squares of the time of learning raise an alarm. Calibrated on 4.4 hours of
    simulated motion of a Panda and a UR5, and of a Panda, a UR10 and a UR10e with errors of the spectra that their real
    logs have: 4 raises six false alarms, 5 two, and one on 14 s of the real UR10; 6 none in 16 hours."""

    lowest: float = 20.0
    """Explained squares, in variances of a sample, below which nothing is a change: white errors hardly reach it."""

    moving: float = 0.01
    """Speed [rad/s or m/s] from which on a joint counts as moving."""

    slow: float = 0.05
    """Speed [rad/s or m/s] below which a joint's dry friction may take any value up to its level: its row counts
    less. Calibrated on the UR10e's motion between points, whose stops raised an alarm without it."""

    least_mass: float = 0.015
    """Payload, as a part of the robot's mass, below which there is no alarm."""

    part_of_payload: float = 0.2
    """Part of a payload that was picked up which adds to that: it is not known better at once."""

    least_friction: float = 0.15
    """Change of friction, relative, below which there is no alarm: temperature alone changes it by more in a day."""

    confirming: float = 0.3
    """Time [s] for which a level has to be exceeded, so that a collision or a spike is no change."""

    settling: float = 1.5
    """Time [s] after an alarm that decides on its cause."""

    settling_friction: float = 6.0
    """The same where friction is the most likely cause: it shows at several speeds only."""

    cautious: float = 10.0
    """Time [s] after a settled alarm in which what is normal with the change is learned: friction raises no alarm."""

    caution: float = 3.0
    """How many times more it takes a payload to raise an alarm meanwhile."""

    explained: float = 0.4
    """Share of what is unusual that a hypothesis has to explain, or the cause is unknown."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            numbers = value if isinstance(value, tuple) else (value,)
            if not numbers or not all(math.isfinite(number) and number > 0.0 for number in numbers):
                raise InvalidRequestError(f"{name} of change thresholds must be positive, not {value}")


THRESHOLDS = ChangeThresholds()
