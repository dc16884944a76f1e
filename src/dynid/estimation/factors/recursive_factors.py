"""Factors that grow by a sample at a time, with forgetting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.factors.factors import Factor, Factors
from dynid.model import RowBasis

MOST_ROTATED = 24
"""Samples up to which rotations are faster than one decomposition of all rows."""

SURELY_NORMAL = 40.0
"""Logarithm of the weight after which entries of triangles are looked over for numbers so small that they are slow."""

SMALLEST_PART = 1e-60
"""Entries below this are zero: forgetting alone makes such, of directions that nothing has moved in for long."""


class RecursiveFactors:
    """One triangle `[R z; 0 r]` for each observed row, over its independent columns: square-root information.

    `|W x - y|^2 = |R x - z|^2 + r^2` for all rows so far, with the weights that forgetting leaves them.

    Args:
        names: All standard parameters of the model.
        bases: Independent columns of each row.
        counted: Which rows count, shape (rows,); all when None. Those of others must come as zeros.

    Attributes:
        counts: Sum of the weights of the rows of each triangle, shape (rows,): their number, where nothing is
            forgotten.
    """

    def __init__(
        self, names: Sequence[str], bases: Sequence[RowBasis], counted: NDArray[np.bool_] | None = None
    ) -> None:
        self.names = tuple(names)
        self.bases = tuple(bases)
        self.sizes = np.array([len(basis.columns) + 1 for basis in bases], dtype=np.int64)
        self.at = np.cumsum([0, *self.sizes[:-1] ** 2], dtype=np.int64)
        self.buffer = np.zeros(int(np.sum(self.sizes**2)))
        self.counts = np.zeros(len(bases))
        self._counted = np.ones(len(bases)) if counted is None else counted.astype(float)
        self._faded = 0.0
        from dynid.estimation.factors.triangle_update import include_rows

        self._include = include_rows
        scratch = np.zeros_like(self.buffer), np.zeros(int(self.sizes.sum()))
        include_rows(scratch[0], self.at, self.sizes, np.cumsum([0, *self.sizes[:-1]]), scratch[1], 1.0)  # compile now

    def clear(self) -> None:
        """Forget all rows."""
        self.buffer.fill(0.0)
        self.counts.fill(0.0)

    def include(self, rows: Array, starts: np.ndarray, fading: float) -> None:
        """Include one sample.

        Args:
            rows: Rows `[W | y]` of independent columns, one after the other; they are overwritten.
            starts: Where each begins.
            fading: What the logarithm of the weights of squared errors of earlier samples falls by; zero for none.
        """
        self._include(self.buffer, self.at, self.sizes, starts, rows, np.exp(-0.5 * fading))
        self._count(1.0, fading)

    def include_block(self, matrices: Sequence[Array], fadings: Array) -> None:
        """Include several samples.

        Args:
            matrices: For each row `[W | y]`, shape (samples, its columns + 1); they are not changed.
            fadings: What the logarithm of the weights falls by before each sample, shape (samples,).
        """
        ages = fadings.sum() - np.cumsum(fadings)
        weights, before = np.exp(-0.5 * ages), float(np.exp(-0.5 * fadings.sum()))
        for row, rows in enumerate(matrices):
            stacked = np.concatenate([before * self.triangle(row), weights[:, None] * rows])
            R = np.asarray(np.linalg.qr(stacked, mode="r"))
            self.triangle(row)[:] = np.where(np.diag(R) < 0.0, -1.0, 1.0)[:, None] * R
        self._count(float(np.sum(weights**2)), float(fadings.sum()))

    def _count(self, more: float, fading: float) -> None:
        self.counts *= np.exp(-fading)
        self.counts += more * self._counted
        self._faded += fading
        if self._faded > SURELY_NORMAL:
            self.buffer[np.abs(self.buffer) < SMALLEST_PART] = 0.0
            self._faded = 0.0

    def triangle(self, row: int) -> Array:
        """One triangle `[R z; 0 r]`, shape (columns + 1, columns + 1), in place."""
        n, first = self.sizes[row], self.at[row]
        return self.buffer[first : first + n * n].reshape(n, n)

    def merge(self, factors: Factors) -> None:
        """Add what factors of the same model hold, such as those of earlier logs.

        Raises:
            InvalidRequestError: If they are of another model.
        """
        joints = tuple(basis.joint for basis in self.bases)
        if factors.names != self.names or tuple(factors.joints) != joints or factors.form != "torque":
            raise InvalidRequestError(
                "factors of another model cannot be merged into a stream: joints, parameters or the form of rows differ"
            )
        for row, basis in enumerate(self.bases):
            other = factors.joints[basis.joint]
            own = [other.names.index(basis.names[k]) for k in self._positions(row)]
            n = len(own)
            rows = np.zeros((len(other.z) + 1, n + 1))
            rows[:-1, :n], rows[:-1, n], rows[-1, n] = other.R[:, own], other.z, np.sqrt(other.squares)
            R = np.asarray(np.linalg.qr(np.concatenate([self.triangle(row), rows]), mode="r"))
            self.triangle(row)[:] = np.where(np.diag(R) < 0.0, -1.0, 1.0)[:, None] * R
            self.counts[row] += other.rows

    def _positions(self, row: int) -> list[int]:
        """Positions of the independent columns among the names of a row."""
        basis = self.bases[row]
        return [basis.names.index(self.names[k]) for k in basis.columns]

    def factors(self) -> Factors:
        """The factors over all standard parameters, as those of a log; rows are counted by their weights, rounded."""
        joints = {}
        for row, basis in enumerate(self.bases):
            T = self.triangle(row)
            n = len(T) - 1
            R = T[:n, :n] @ basis.regrouping
            count = int(np.round(self.counts[row]))
            joints[basis.joint] = Factor(basis.names, R, T[:n, n].copy(), float(T[n, n] ** 2), count)
        return Factors(self.names, joints)
