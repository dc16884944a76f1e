"""The load that was identified: mass, centre of mass and inertia with standard deviations, and what was noticed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dynid.arrays import Array, finite_or_none
from dynid.estimation.payloads.load_body import NUMBERS, UNITS, KnownComparison, LoadBody
from dynid.findings import Finding
from dynid.robot import INERTIA_BASIS, Load

ROBOT_WORDS = {
    "result": "the saved result",
    "logs": "logs without the load, estimated together with it",
    "sensor": "nothing: the force-torque sensor measures the load alone",
}
"""What the robot is known by."""


@dataclass(frozen=True, eq=False, repr=False)
class Payload:
    """A load that was identified.

    Numbers are those of the physically consistent load, in the frame of `body`; standard deviations are those of the
    data alone, with what is left open of the robot and with errors that last.

    Attributes:
        body: Name of the body whose frame its numbers are in.
        estimate: Its ten numbers with their covariance.
        robot: What the robot is known by: "result", "logs" (without the load), or "sensor" where it does not matter.
        changes: Parameters of friction and offsets that differ between logs with and without the load.
        joints: Root mean square of the residual of each joint in logs with the load [N m or N]; of the six channels of
            a sensor.
        samples: Number of samples with the load.
        known: The load beside what it is known to be, where it is.
        bias: Bias of a force-torque sensor [N, N m], shape (6,), with its standard deviations, and its drift [1/s].
        findings: What was noticed.
        name: Its name.
        confidence: Of the intervals.
    """

    body: str
    estimate: LoadBody
    robot: Literal["result", "logs", "sensor"]
    changes: tuple[str, ...]
    joints: Mapping[str, float]
    samples: int
    known: KnownComparison | None
    findings: tuple[Finding, ...]
    name: str = ""
    bias: Mapping[str, Any] | None = None
    confidence: float = 0.95

    @property
    def mass(self) -> float:
        """Mass [kg]."""
        return float(self.estimate.numbers[0])

    @property
    def mass_std(self) -> float:
        """Standard deviation of the mass [kg]."""
        return float(self.estimate.stds[0])

    @property
    def center_of_mass(self) -> Array:
        """Centre of mass in the frame of `body` [m], shape (3,)."""
        return self.estimate.numbers[1:4]

    @property
    def center_of_mass_std(self) -> Array:
        """Standard deviations of the centre of mass [m], shape (3,)."""
        return self.estimate.stds[1:4]

    @property
    def inertia(self) -> Array:
        """Inertia about the centre of mass, along the axes of `body` [kg m^2], shape (3, 3)."""
        return np.tensordot(self.estimate.numbers[4:], INERTIA_BASIS, axes=1)

    @property
    def inertia_std(self) -> Array:
        """Standard deviations of the inertia [kg m^2], shape (3, 3)."""
        places = np.tensordot(np.arange(6.0), INERTIA_BASIS, axes=1).astype(int)
        return self.estimate.stds[4:][places]

    @property
    def parameters(self) -> Array:
        """The ten parameters about the frame of `body`: m, m c, and the inertia about its origin, shape (10,)."""
        return self.estimate.parameters

    @property
    def covariance(self) -> Array:
        """Covariance of the ten parameters, shape (10, 10)."""
        return self.estimate.covariance

    @property
    def load(self) -> Load:
        """The load, to be added to a robot or a result."""
        return self.estimate.load(self.body)

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Numbers that the data do not determine, by name: mass, x, y, z, Ixx, ..."""
        return self.estimate.open

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Confidence intervals of mass, centre of mass and inertia, by name."""
        lower, upper = self.estimate.intervals(self.confidence)
        return {name: (float(a), float(b)) for name, a, b in zip(NUMBERS, lower, upper, strict=True)}

    def rows(self) -> list[dict[str, Any]]:
        """Mass, centre of mass and inertia with their uncertainties, one row each."""
        lower, upper = self.estimate.intervals(self.confidence)
        return [
            {
                "name": name,
                "unit": unit,
                "value": float(self.estimate.numbers[k]),
                "std": finite_or_none(float(self.estimate.stds[k])),
                "lower": finite_or_none(float(lower[k])),
                "upper": finite_or_none(float(upper[k])),
                "by_data": float(self.estimate.numbers_by_data[k]),
                "determined": name not in self.undetermined,
            }
            for k, (name, unit) in enumerate(zip(NUMBERS, UNITS, strict=True))
        ]

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        estimate = self.estimate
        data: dict[str, Any] = {
            "name": self.name,
            "body": self.body,
            "mass": self.mass,
            "mass_std": finite_or_none(self.mass_std),
            "center_of_mass": estimate.numbers[1:4].tolist(),
            "center_of_mass_std": [finite_or_none(float(x)) for x in estimate.stds[1:4]],
            "inertia": estimate.numbers[4:].tolist(),
            "inertia_std": [finite_or_none(float(x)) for x in estimate.stds[4:]],
            "confidence": self.confidence,
            "numbers": self.rows(),
            "parameters": self.parameters.tolist(),
            "parameters_by_data": estimate.by_data.tolist(),
            "covariance": self.covariance.tolist(),
            "undetermined": list(self.undetermined),
            "robot": self.robot,
            "changes": list(self.changes),
            "joints": [{"name": name, "rmse": rmse} for name, rmse in self.joints.items()],
            "samples": self.samples,
            "known": None if self.known is None else self.known.to_dict(),
            "findings": [finding.to_dict() for finding in self.findings],
        }
        return data if self.bias is None else {**data, "bias": dict(self.bias)}

    def __repr__(self) -> str:
        x, y, z = self.center_of_mass
        std = f" ± {self.mass_std:.2g}" if np.isfinite(self.mass_std) else ""
        known = "" if self.known is None else ", as stated" if self.known.agrees else ", not as stated"
        title = f" '{self.name}'" if self.name else ""
        return (
            f"Payload{title} on '{self.body}': {self.mass:.4g}{std} kg at ({x:.4f}, {y:.4f}, {z:.4f}) m{known}, "
            f"{len(self.findings)} findings"
        )

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{row['name']}</td><td>{row['value']:.5g}</td><td>{_std(row['std'])}</td><td>{row['unit']}</td></tr>"
            for row in self.rows()
        )
        notes = "".join(f"<li>{escape(str(finding))}</li>" for finding in self.findings)
        head = "<tr><th>number</th><th>value</th><th>std</th><th>unit</th></tr>"
        return f"<p>{escape(repr(self))}</p><table>{head}{rows}</table><ul>{notes}</ul>"


def _std(value: float | None) -> str:
    return "open" if value is None else f"{value:.2g}"
