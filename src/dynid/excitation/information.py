"""The information matrix of a base regressor, with exact gradients, and the standard deviations that it promises."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array
from dynid.excitation.criteria import Criterion
from dynid.model import BaseParameters, RowLayout, Slopes, layout_slopes, stacked_rows

_SMALLEST_EIGENVALUE = 1e-12
"""Eigenvalues below this, relative to the largest and with columns of one length, are zero."""

_SMALLEST_COLUMN = 1e-20
"""Squares of columns below this, relative to the largest, are rounding."""

_NOTICEABLE_COMPONENT = 1e-6
"""Squares of components on such eigenvectors above this are no rounding."""


@dataclass(frozen=True, eq=False)
class Information:
    """The information `M = R0^T R0 + sum_s (W_s Z)^T (W_s Z)` of base parameters.

    Attributes:
        base: The base parameters.
        scales: Z: what each column is multiplied with, such as a priori standard deviations or magnitudes of
            the parameters (equation 1.13 of the Figaro thesis), shape (base,).
        row_weights: What each joint's rows are multiplied with, shape (rows,).
        known: R0: what is known already, as a factor whose columns are scaled like W's, shape (k, base).
        smoothing: Signs of velocities are smooth below this speed [rad/s or m/s]; zero for signs as they are.
    """

    base: BaseParameters
    scales: Array
    row_weights: Array
    known: Array
    smoothing: float = 0.0

    @cached_property
    def _layout(self) -> RowLayout:
        model = self.base.model
        terms = [term.smoothed(self.smoothing) if self.smoothing else term for term in model.terms]
        return RowLayout.of(model.robot, terms, [self.base.columns] * model.robot.nv)

    def regressor(self, q: Array, v: Array, a: Array) -> Array:
        """The weighted rows of W Z, shape (joints, samples, base)."""
        W = stacked_rows(self._layout.evaluate(q, v, a))
        return W if self._is_plain else W * self.scales * self.row_weights[:, None, None]

    @cached_property
    def _is_plain(self) -> bool:
        return bool((self.scales == 1.0).all() and (self.row_weights == 1.0).all())

    def matrix(self, q: Array, v: Array, a: Array, weight: float = 1.0) -> Array:
        """The information of samples, each counted `weight` times, shape (base, base)."""
        return self._sum(self.regressor(q, v, a), weight)

    def _sum(self, W: Array, weight: float) -> Array:
        rows = W.reshape(-1, W.shape[-1])
        M = weight * (rows.T @ rows)
        return M + self.known.T @ self.known if len(self.known) else M

    def value(self, criterion: Criterion, q: Array, v: Array, a: Array, weight: float = 1.0) -> float:
        """A criterion's value for samples that count `weight` times each."""
        return value_of(criterion, self.matrix(q, v, a, weight))

    def slopes(self, criterion: Criterion, q: Array, v: Array, a: Array, weight: float = 1.0) -> tuple[float, Slopes]:
        """The value, and its slopes over positions, velocities and accelerations, each of shape (samples, nv)."""
        W = self.regressor(q, v, a)
        eigenvalues, U = np.linalg.eigh(self._sum(W, weight))
        value, over = criterion.evaluate(eigenvalues)
        over_M = (U * over) @ U.T
        G = (W.reshape(-1, W.shape[-1]) @ (2.0 * weight * over_M)).reshape(W.shape)
        if not self._is_plain:
            G = G * self.scales * self.row_weights[:, None, None]
        return value, layout_slopes(self._layout, q, v, a, list(G))


def value_of(criterion: Criterion, matrix: Array) -> float:
    """A criterion's value for an information matrix."""
    return criterion.evaluate(np.linalg.eigvalsh(matrix).astype(float))[0]


def condition_number(matrix: Array) -> float:
    """Condition number of W from its information matrix W^T W."""
    eigenvalues = np.linalg.eigvalsh(matrix)
    return float(np.sqrt(eigenvalues[-1] / eigenvalues[0])) if eigenvalues[0] > 0.0 else float("inf")


def known_factor(parts: Sequence[Array], width: int) -> Array:
    """One factor of several, shape (k, width) with k <= width."""
    rows = np.concatenate([np.zeros((0, width)), *parts])
    return np.asarray(np.linalg.qr(rows, mode="r")) if len(rows) > width else rows


@dataclass(frozen=True)
class Expectation:
    """The standard deviation of a base parameter that an experiment promises.

    Attributes:
        name: The base parameter.
        expression: What it stands for.
        unit: Its unit.
        owner: The own name of the link or joint that it is named after.
        value: The robot file's value; None where the file does not say.
        std: Expected standard deviation; infinite where nothing excites it.
    """

    name: str
    expression: str
    unit: str
    owner: str
    value: float | None
    std: float

    @property
    def is_excited(self) -> bool:
        """Whether the experiment excites it at all."""
        return math.isfinite(self.std)

    @property
    def relative_percent(self) -> float | None:
        """Standard deviation relative to the value [%]; None where the value is missing or zero, or not excited."""
        return 100.0 * self.std / abs(self.value) if self.value and self.is_excited else None

    def to_dict(self) -> dict[str, object]:
        """Give it as plain data for JSON."""
        std = self.std if self.is_excited else None
        return {**vars(self), "std": std, "relative_std_percent": self.relative_percent}


def expected_stds(base: BaseParameters, information: Array) -> tuple[Expectation, ...]:
    """The standard deviations of least squares whose information is `W^T W`, with rows in units of their noise.

    The noise of all samples is taken as independent (equations 1.14 and 1.15 of the Figaro thesis, with sigma squared).

    Args:
        base: The base parameters.
        information: M, shape (base, base), without scales of columns.
    """
    spread = variances(information)
    values = reference_values(base)
    return tuple(
        Expectation(name, expression, unit, owner, value, float(np.sqrt(variance)))
        for name, expression, unit, owner, value, variance in zip(
            base.names, base.expressions, base.units, base.owners, values, spread, strict=True
        )
    )


def variances(information: Array) -> Array:
    """Variances of all parameters, shape (base,); infinite where the null space of M takes part in one."""
    squares = np.diag(information)
    lengths = np.sqrt(np.maximum(squares, max(_SMALLEST_COLUMN * float(squares.max()), 1e-300)))
    values, U = np.linalg.eigh(information / np.outer(lengths, lengths))
    excited = values > _SMALLEST_EIGENVALUE * max(float(values[-1]), 0.0)
    variances = (U[:, excited] ** 2 / values[excited]).sum(axis=1) / lengths**2
    unknown = (U[:, ~excited] ** 2).sum(axis=1) > _NOTICEABLE_COMPONENT
    return np.where(unknown, np.inf, variances)


def reference_values(base: BaseParameters) -> Sequence[float | None]:
    """The robot file's base parameters; None where the file does not say."""
    values = base.to_base(base.model.reference)
    return [float(value) if np.isfinite(value) else None for value in values]
