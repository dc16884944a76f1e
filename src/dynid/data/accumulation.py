"""From samples to factors, in one pass and with bounded memory."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dynid.arrays import Array
from dynid.data.chunks import Chunk, checked, rechunked
from dynid.data.factors import Factor, Factors
from dynid.data.reduction import reduced
from dynid.data.row_bases import RowBasis, row_bases
from dynid.model.dynamic_model import DynamicModel
from dynid.threads import parallel, single_threaded_blas

CHUNK_BYTES = 16_000_000
"""Size of the matrices of one chunk: small enough for the last cache, large enough for BLAS."""


def factorise(model: DynamicModel, samples: Iterable[Chunk]) -> Factors:
    """Reduce a log to one triangular factor for each observed row.

    Args:
        model: The model.
        samples: Chunks of any size; they are passed over once.

    Returns:
        The factors of `[W | torque]` over all standard parameters.
    """
    bases = row_bases(model)
    layout = model.layout([basis.columns for basis in bases], spare=1)
    running = [_Running(basis) for basis in bases]
    with single_threaded_blas():
        for chunk in rechunked((checked(model, chunk) for chunk in samples), _samples_a_chunk(bases)):
            _add(running, chunk, layout.evaluate(chunk.q, chunk.v, chunk.a)[model.rows])
    return Factors(model.names, {row.basis.joint: row.factor() for row in running})


def _add(running: list[_Running], chunk: Chunk, matrices: list[Array]) -> None:
    """Add a chunk to all rows, each row in a thread."""

    def add(row: int) -> None:
        rows = matrices[row]
        rows[:, -1] = chunk.torque[:, row]
        if chunk.weight is not None:
            rows *= chunk.weight[:, row, None]
        running[row].add(rows if chunk.keep is None else rows[chunk.keep[:, row]])

    parallel(add, range(len(running)))


def _samples_a_chunk(bases: tuple[RowBasis, ...]) -> int:
    width = sum(len(basis.columns) for basis in bases)
    most = max(len(basis.columns) for basis in bases)
    return max(CHUNK_BYTES // (8 * max(width, 1)), 32 * most, 1000)


class _Running:
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
