"""From rows to factors, in one pass and with bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.factors import Factor, Factors
from dynid.estimation.factors.reduction import reduced
from dynid.model.chunks import Chunk
from dynid.model.dynamic_model import DynamicModel
from dynid.model.formulations.row_bases import RowBasis
from dynid.model.formulations.torque_rows import Rows, TorqueRows
from dynid.threads import parallel, single_threaded_blas


def factorise(model: DynamicModel, samples: Iterable[Chunk]) -> Factors:
    """Reduce a log to one triangular factor for each observed row.

    Args:
        model: The model.
        samples: Chunks of any size; they are passed over once.

    Returns:
        The factors of `[W | torque]` over all standard parameters.
    """
    rows = TorqueRows(model)
    return factors_of(rows, rows.of(samples))


def factors_of(rows: Rows, chunks: Iterable[Sequence[Array]]) -> Factors:
    """The factors, over all standard parameters, of matrices `[W | y]`.

    Args:
        rows: What the matrices are rows of.
        chunks: One matrix for each row, a chunk at a time; they may be overwritten.
    """
    sums = [_Sum(basis) for basis in rows.bases]
    with single_threaded_blas():
        for matrices in chunks:
            parallel(lambda pair: pair[0].add(pair[1]), zip(sums, matrices, strict=True))
            del matrices
    return Factors(rows.model.names, {each.basis.joint: each.factor() for each in sums}, rows.form)


class _Sum:
    """The factor of one row so far, in its independent columns."""

    def __init__(self, basis: RowBasis) -> None:
        n = len(basis.columns)
        self.basis = basis
        self.rows = np.zeros((0, n + 1))  # [R | z]
        self.squares = 0.0
        self.count = 0

    def add(self, rows: Array) -> None:
        """Add rows `[W | y]` of independent columns, shape (rows, base + 1); they may be overwritten."""
        n = rows.shape[1] - 1
        self.count += len(rows)
        R, z, squares = reduced(rows)
        stacked = np.concatenate([self.rows, np.column_stack([R, z])])
        triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
        self.rows = triangle[:n]
        self.squares += squares + float(np.sum(triangle[n:, n] ** 2))

    def factor(self) -> Factor:
        """The factor over all parameters that act on the row."""
        n = len(self.basis.columns)
        R = self.rows[:, :n] @ self.basis.regrouping
        return Factor(self.basis.names, R, self.rows[:, n], self.squares, self.count)
