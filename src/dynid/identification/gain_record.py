"""The gains of drives, with their uncertainties, as an object for users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array, finite_or_none
from dynid.findings import Finding


@dataclass(frozen=True, eq=False)
class Gains:
    """Drive gains: joint or motor torque per unit of current.

    Attributes:
        robot: Name of the robot.
        joints: Names of the joints whose drives they are, in the order of all arrays.
        units: Units of the gains: "N m/A" or "N/A".
        values: The gains; NaN where the logs do not determine them.
        std: Their standard deviations; NaN likewise.
        relative_std: Standard deviations relative to the gains, also of gains that are too uncertain to be stated;
            infinite where nothing determines them.
        determined: Which are determined.
        lower: Lower ends of confidence intervals.
        upper: Upper ends.
        confidence: Of the intervals.
        covariance: Covariance of the gains, shape (joints, joints); NaN where undetermined.
        physical: Gains that go with physically consistent links; None where these were not fitted.
        total_mass: Mass of these links [kg].
        stated: Torque constants that were stated; None where there are none.
        method: How they were estimated.
        friction: Whether friction of joints could differ where a load is carried.
        loads: What was found of parameters of each load that are not known, by load and name.
        pairs: Names of logs without and with a load that are of one motion.
        errors: Root mean square error of each joint's current [A].
        findings: What was noticed.
    """

    robot: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    values: Array
    std: Array
    relative_std: Array
    determined: NDArray[np.bool_]
    lower: Array
    upper: Array
    confidence: float
    covariance: Array
    physical: Array | None
    total_mass: float | None
    stated: Array | None
    method: str
    friction: str
    loads: Mapping[str, Mapping[str, float]]
    pairs: tuple[tuple[str, str], ...]
    errors: Array
    findings: tuple[Finding, ...] = field(default=())

    @property
    def torque_constants(self) -> tuple[float | None, ...]:
        """For `[drive] torque_constants`: the gains, and stated constants where they are undetermined, or None."""
        stated = np.full(len(self.values), np.nan) if self.stated is None else self.stated
        chosen = np.where(self.determined, self.values, stated)
        return tuple(float(f"{x:.5g}") if np.isfinite(x) else None for x in chosen)

    @property
    def relative_covariance(self) -> Array:
        """Covariance of the gains relative to them, shape (joints, joints); NaN where undetermined."""
        return self.covariance / np.outer(self.values, self.values)

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {
            "robot": self.robot,
            "method": self.method,
            "friction": self.friction,
            "confidence": self.confidence,
            "gains": self.rows(),
            "torque_constants": list(self.torque_constants),
            "physical_total_mass": self.total_mass,
            "loads": {name: dict(values) for name, values in self.loads.items()},
            "pairs": [list(pair) for pair in self.pairs],
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def rows(self) -> list[dict[str, Any]]:
        """A row for each joint."""
        columns: dict[str, Sequence[float] | Array] = {
            "value": self.values,
            "std": self.std,
            "relative_std_percent": 100.0 * self.relative_std,
            "lower": self.lower,
            "upper": self.upper,
            "physical": np.full(len(self.values), np.nan) if self.physical is None else self.physical,
            "stated": np.full(len(self.values), np.nan) if self.stated is None else self.stated,
            "rms_error": self.errors,
        }
        return [
            {
                "joint": joint,
                "unit": self.units[k],
                "determined": bool(self.determined[k]),
                **{name: finite_or_none(float(column[k])) for name, column in columns.items()},
            }
            for k, joint in enumerate(self.joints)
        ]

    def to_frame(self) -> Any:
        """The rows as a Polars data frame."""
        import polars as pl

        return pl.DataFrame(self.rows())

    def __repr__(self) -> str:
        known = ", ".join(
            f"{joint} {value:.4g}" for joint, value in zip(self.joints, self.values, strict=True) if np.isfinite(value)
        )
        lost = [joint for joint, own in zip(self.joints, self.determined, strict=True) if not own]
        return f"Gains({known}{'; undetermined: ' + ', '.join(lost) if lost else ''})"
