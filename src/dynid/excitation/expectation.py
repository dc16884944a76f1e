"""What an experiment will tell, before it is made: expected deviations of the base parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.model.base_parameters import BaseParameters


@dataclass(frozen=True)
class Expectation:
    """How sure an experiment will be of a base parameter.

    Attributes:
        name: The base parameter.
        expression: What it stands for.
        unit: Its unit.
        value: The robot file's value; None where the file does not say.
        deviation: Expected standard deviation.
    """

    name: str
    expression: str
    unit: str
    value: float | None
    deviation: float

    @property
    def relative_percent(self) -> float | None:
        """Deviation relative to the value [%]; None where there is no value or it is zero."""
        return None if not self.value else 100.0 * self.deviation / abs(self.value)

    def to_dict(self) -> dict[str, object]:
        """Give it as plain data for JSON."""
        return {
            "name": self.name,
            "expression": self.expression,
            "unit": self.unit,
            "value": self.value,
            "std": self.deviation,
            "relative_std_percent": self.relative_percent,
        }


def expected_deviations(base: BaseParameters, information: Array) -> tuple[Expectation, ...]:
    """The deviations of least squares whose information is `W^T W`, with rows in units of their noise.

    The noise of all samples is taken as independent (equations 1.14 and 1.15 of the Figaro thesis, with sigma squared).

    Args:
        base: The base parameters.
        information: M, shape (base, base), without scales of columns.
    """
    variances = np.diag(np.linalg.pinv(information, hermitian=True))
    values = reference_values(base)
    return tuple(
        Expectation(name, expression, unit, value, float(np.sqrt(max(variance, 0.0))))
        for name, expression, unit, value, variance in zip(
            base.names, base.expressions, base.units, values, variances, strict=True
        )
    )


def reference_values(base: BaseParameters) -> Sequence[float | None]:
    """The robot file's base parameters; None where the file does not say."""
    values = base.to_base(base.model.reference)
    return [float(value) if np.isfinite(value) else None for value in values]
