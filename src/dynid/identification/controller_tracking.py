"""Tracking errors of simulated controllers, as values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.simulation import Controller


@dataclass(frozen=True, eq=False)
class ControllerTracking:
    """How a simulated controller tracks a motion.

    Attributes:
        name: "identified" or "robot_file" for computed torque with these models, "feedback" without a model.
        rms: Root mean square of each joint's tracking error [rad or m], shape (nv,); NaN where the robot was lost.
        peak: Largest tracking error of each joint [rad or m], shape (nv,); NaN where the robot was lost.
        saturated: Share of the time that each joint's torque is at its limit, shape (nv,).
        error: Position less motion over time [rad or m], shape (samples, nv); empty where the robot was lost.
        lost: Why the simulated robot did not follow; empty where it did.
    """

    name: str
    rms: Array
    peak: Array
    saturated: Array
    error: Array
    lost: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Tracking:
    """Tracking errors of simulated controllers on the motion of a log.

    Attributes:
        robot: The robot.
        joints: Names of the joints.
        units: Unit of each joint's position: "rad" or "m".
        log: What the log is called whose motion is tracked.
        plant: What is simulated: "held-out log" or "held-out stretches" for the identified model with the torques that
            it leaves unexplained there, "truth" for a known one.
        links: Whether the model is that of the physically consistent links, else of the base parameters.
        controller: Bandwidth, damping and rate, and whether torques are limited.
        start: Where the motion begins, since the first sample of the log [s].
        time: Times since then [s], shape (samples,).
        controllers: The controllers: "identified", "robot_file" where the file states inertia, "feedback".
        findings: What was noticed.
    """

    robot: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    log: str
    plant: str
    links: bool
    controller: Controller
    start: float
    time: Array
    controllers: tuple[ControllerTracking, ...]
    findings: tuple[Finding, ...]

    def __getitem__(self, name: str) -> ControllerTracking:
        """The controller of a name."""
        return next(one for one in self.controllers if one.name == name)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the controllers."""
        return tuple(one.name for one in self.controllers)

    @property
    def seconds(self) -> float:
        """How long the motion is [s]."""
        return float(self.time[-1])

    @property
    def gains(self) -> tuple[float, float]:
        """Gains on errors of position [1/s^2] and of velocity [1/s], before the mass matrix."""
        stiffness, damping = self.controller.gains(np.ones(len(self.joints)))
        return float(stiffness[0]), float(damping[0])

    def ratios(self, name: str) -> Array:
        """How many times larger RMS errors are than with the identified model, for each joint, shape (nv,).

        Args:
            name: The controller: "robot_file" or "feedback".
        """
        return np.asarray(self[name].rms / self["identified"].rms)

    def ratio(self, name: str) -> float | None:
        """The same of all joints, by the geometric mean; None without such a controller, or where a robot was lost."""
        if name not in self.names or any(self[one].lost for one in (name, "identified")):
            return None
        return float(np.exp(np.mean(np.log(self.ratios(name)))))

    def to_dict(self) -> dict[str, Any]:
        """Everything but the samples, as plain data for JSON."""
        return {
            "robot": self.robot,
            "log": self.log,
            "plant": self.plant,
            "parameters": "physical" if self.links else "base",
            "bandwidth": self.controller.bandwidth,
            "damping": self.controller.damping,
            "gains": {"position": self.gains[0], "velocity": self.gains[1]},
            "rate": self.controller.rate,
            "effort_limits": self.controller.saturates,
            "start": self.start,
            "seconds": self.seconds,
            "file_over_identified": self.ratio("robot_file"),
            "feedback_over_identified": self.ratio("feedback"),
            "joints": [
                {"name": name, "unit": unit}
                | {one.name: {"rms": _known(one.rms[k]), "peak": _known(one.peak[k])} for one in self.controllers}
                for k, (name, unit) in enumerate(zip(self.joints, self.units, strict=True))
            ],
            "lost": {one.name: one.lost for one in self.controllers if one.lost},
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def __repr__(self) -> str:
        ratio = self.ratio("robot_file")
        gain = "" if ratio is None else f", tracking errors with the robot file's model {ratio:.3g} times as large"
        return f"Tracking('{self.robot}' on {self.seconds:.3g} s of '{self.log}'{gain})"


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
