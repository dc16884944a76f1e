"""What an experiment will tell, before it is made: expected deviations of the base parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.model.base_parameters import BaseParameters

_RANK = 1e-12
"""Eigenvalues below this, relative to the largest and with columns of one length, tell nothing."""
_SMALLEST_COLUMN = 1e-20
"""Squares of columns below this, relative to the largest, are rounding."""
_NOTICEABLE = 1e-6
"""Squares of components on such eigenvectors above this are no rounding."""


@dataclass(frozen=True)
class Expectation:
    """How sure an experiment will be of a base parameter.

    Attributes:
        name: The base parameter.
        expression: What it stands for.
        unit: Its unit.
        value: The robot file's value; None where the file does not say.
        std: Expected standard deviation; infinite where nothing excites it.
    """

    name: str
    expression: str
    unit: str
    value: float | None
    std: float

    @property
    def is_excited(self) -> bool:
        """Whether the experiment tells it at all."""
        return math.isfinite(self.std)

    @property
    def relative_percent(self) -> float | None:
        """Deviation relative to the value [%]; None where there is no value, it is zero, or nothing excites it."""
        return 100.0 * self.std / abs(self.value) if self.value and self.is_excited else None

    def to_dict(self) -> dict[str, object]:
        """Give it as plain data for JSON."""
        return {
            "name": self.name,
            "expression": self.expression,
            "unit": self.unit,
            "value": self.value,
            "std": self.std if self.is_excited else None,
            "relative_std_percent": self.relative_percent,
        }


def expected_stds(base: BaseParameters, information: Array) -> tuple[Expectation, ...]:
    """The deviations of least squares whose information is `W^T W`, with rows in units of their noise.

    The noise of all samples is taken as independent (equations 1.14 and 1.15 of the Figaro thesis, with sigma squared).

    Args:
        base: The base parameters.
        information: M, shape (base, base), without scales of columns.
    """
    variances = _variances(information)
    values = reference_values(base)
    return tuple(
        Expectation(name, expression, unit, value, float(np.sqrt(variance)))
        for name, expression, unit, value, variance in zip(
            base.names, base.expressions, base.units, values, variances, strict=True
        )
    )


def _variances(information: Array) -> Array:
    """Variances of all parameters, shape (base,); infinite where the null space of M takes part in one."""
    squares = np.diag(information)
    lengths = np.sqrt(np.maximum(squares, max(_SMALLEST_COLUMN * float(squares.max()), 1e-300)))
    values, U = np.linalg.eigh(information / np.outer(lengths, lengths))
    told = values > _RANK * max(float(values[-1]), 0.0)
    variances = (U[:, told] ** 2 / values[told]).sum(axis=1) / lengths**2
    unknown = (U[:, ~told] ** 2).sum(axis=1) > _NOTICEABLE
    return np.where(unknown, np.inf, variances)


def reference_values(base: BaseParameters) -> Sequence[float | None]:
    """The robot file's base parameters; None where the file does not say."""
    values = base.to_base(base.model.reference)
    return [float(value) if np.isfinite(value) else None for value in values]
