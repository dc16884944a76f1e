"""From samples to factors, in one pass and with bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

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
    rows = RowFactors(model)
    rows.add_all(rows_of(rows, samples))
    return rows.factors()


def rows_of(rows: RowFactors, samples: Iterable[Chunk], block: int | None = None) -> Iterator[list[Array]]:
    """Rows `[W | torque]` of samples that count, weighed, a chunk of bounded size (or a block) at a time."""
    for chunk in rechunked((checked(rows.model, chunk) for chunk in samples), block or rows.samples_a_chunk):
        yield _rows_that_count(rows.matrices(chunk), chunk)  # no name for them here: the next chunk needs the memory


def _rows_that_count(matrices: list[Array], chunk: Chunk) -> list[Array]:
    if chunk.weight is not None:
        matrices = [matrix * chunk.weight[:, row, None] for row, matrix in enumerate(matrices)]
    if chunk.keep is not None:
        matrices = [matrix[chunk.keep[:, row]] for row, matrix in enumerate(matrices)]
    return matrices


class FactorSums:
    """The factors of a log so far, one for each of some rows.

    Args:
        model: The model.
        bases: Independent columns of each row.
        form: What the rows are: see `Factors`.
    """

    def __init__(self, model: DynamicModel, bases: Sequence[RowBasis], form: str = "torque") -> None:
        self.model = model
        self.bases = tuple(bases)
        self.form = form
        self._running = [_Running(basis) for basis in bases]

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows."""
        return tuple(basis.joint for basis in self.bases)

    def add_all(self, chunks: Iterable[Sequence[Array]]) -> None:
        """Add matrices `[W | y]`, one for each row, each in a thread; they may be overwritten."""
        with single_threaded_blas():
            for matrices in chunks:
                parallel(lambda pair: pair[0].add(pair[1]), zip(self._running, matrices, strict=True))
                del matrices

    def predictors(self, parameters: Array) -> list[Array]:
        """For each row the values b with `W b` = y, of standard parameters, shape (parameters,)."""
        position = {name: k for k, name in enumerate(self.model.names)}
        return [basis.regrouping @ parameters[[position[name] for name in basis.names]] for basis in self.bases]

    def factors(self) -> Factors:
        """The factors over all standard parameters."""
        joints = {row.basis.joint: row.factor() for row in self._running}
        return Factors(self.model.names, joints, self.form)


class RowFactors(FactorSums):
    """The factors of a log so far, one for each observed row of the dynamics."""

    def __init__(self, model: DynamicModel) -> None:
        super().__init__(model, row_bases(model))
        self._layout = model.layout([basis.columns for basis in self.bases], spare=1)

    @property
    def samples_a_chunk(self) -> int:
        """Number of samples that are worked on at a time."""
        widths = [len(basis.columns) for basis in self.bases]
        return max(CHUNK_BYTES // (8 * max(sum(widths), 1)), 32 * max(widths), 1000)

    def matrices(self, chunk: Chunk) -> list[Array]:
        """For each observed row `[W | torque]` of its independent columns, shape (samples, base + 1)."""
        matrices = self._layout.evaluate(chunk.q, chunk.v, chunk.a, chunk.temperature)[self.model.rows]
        for row, matrix in enumerate(matrices):
            matrix[:, -1] = chunk.torque[:, row]
        return matrices


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
