"""What a motion tells: the information matrix of its base regressor, with exact slopes over the motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array
from dynid.excitation.criteria import Criterion
from dynid.model.base_parameters import BaseParameters
from dynid.model.kernels.adjoint import Slopes, layout_slopes
from dynid.model.kernels.kernel import stacked_rows
from dynid.model.kernels.row_layout import RowLayout


@dataclass(frozen=True, eq=False)
class Information:
    """The information `M = R0^T R0 + sum_s (W_s Z)^T (W_s Z)` of base parameters.

    Attributes:
        base: The base parameters.
        scales: Z: what each column is multiplied with, such as a priori deviations or magnitudes of the parameters
            (equation 1.13 of the Figaro thesis), shape (base,).
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
        if not (self._is_plain):
            W = W * self.scales * self.row_weights[:, None, None]
        return W

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
