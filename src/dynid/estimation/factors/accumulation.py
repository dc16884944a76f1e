"""From rows to factors, in one pass and with bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.factors import Factor, Factors
from dynid.estimation.factors.triangular_division import divided
from dynid.machine import parallel, single_threaded_blas
from dynid.model import Chunk, DynamicModel, RowBasis, Rows, TorqueRows


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
    return _sums(rows, chunks).factors()


def blocks_of(rows: Rows, chunks: Iterable[Sequence[Array]], joined: int = 1) -> tuple[Factors, Blocks]:
    """The same factors, and those of every block of so many chunks, in one pass; arguments as `factors_of`."""
    sums = _sums(rows, chunks, joined)
    return sums.factors(), Blocks(rows, tuple(tuple(each.blocks) for each in sums.each))


@dataclass(frozen=True, eq=False)
class Blocks:
    """Triangles of blocks of time, in the independent columns of each row.

    Attributes:
        rows: What the blocks are rows of.
        joints: For each row of the equations and each block `[R | z]`, shape (k, base + 1), the squares that are left,
            and the number of rows.
    """

    rows: Rows
    joints: tuple[tuple[tuple[Array, float, int], ...], ...]

    def __len__(self) -> int:
        """Number of blocks."""
        return len(self.joints[0])

    @staticmethod
    def joined(parts: Sequence[Blocks]) -> Blocks:
        """Blocks one after the other."""
        joints = zip(*(part.joints for part in parts), strict=True)
        return Blocks(parts[0].rows, tuple(tuple(block for part in own for block in part) for own in joints))

    def factors(self, first: int, last: int) -> Factors:
        """The factors of the blocks from first to before last, over all standard parameters."""
        sums = [_Sum(basis) for basis in self.rows.bases]

        def include(pair: tuple[_Sum, Sequence[tuple[Array, float, int]]]) -> None:
            for triangle, squares, count in pair[1][first:last]:
                pair[0].include(triangle, squares, count)

        with single_threaded_blas():
            parallel(include, zip(sums, self.joints, strict=True))
            return _Sums(self.rows, sums).factors()


@dataclass(frozen=True, eq=False)
class _Sums:
    """The factors of all rows so far."""

    rows: Rows
    each: Sequence[_Sum]

    def factors(self) -> Factors:
        """The factors over all standard parameters."""
        joints = {each.basis.joint: each.factor() for each in self.each}
        return Factors(self.rows.model.names, joints, self.rows.form)


def _sums(rows: Rows, chunks: Iterable[Sequence[Array]], joined: int = 0) -> _Sums:
    """Pass over chunks; the triangles of every `joined` of them are kept, too."""
    sums = [_Sum(basis, joined) for basis in rows.bases]
    with single_threaded_blas():
        for matrices in chunks:
            do = parallel if sum(map(len, matrices)) >= WORTH_THREADS else _in_turn
            do(lambda pair: pair[0].add(pair[1]), zip(sums, matrices, strict=True))
            del matrices  # the next chunk needs the memory
    return _Sums(rows, sums)


def _in_turn(work: Callable[[tuple[_Sum, Array]], None], pairs: Iterable[tuple[_Sum, Array]]) -> list[None]:
    return [work(pair) for pair in pairs]


WORTH_THREADS = 1000
"""Rows of a chunk from which on threads save more than they cost."""

WAITING_ROWS = 8
"""Rows that wait to be made a triangle together, for each column: one large decomposition is faster than many small."""


class _Sum:
    """The factor of one row so far, in its independent columns.

    Args:
        basis: The row's independent columns.
        joined: How many chunks make a block whose triangle is kept; none are kept when zero.
    """

    def __init__(self, basis: RowBasis, joined: int = 0) -> None:
        n = len(basis.columns)
        self.basis = basis
        self.blocks: list[tuple[Array, float, int]] = []
        self._joined = joined
        self._chunks = 0
        self._triangle = np.zeros((0, n + 1))  # [R | z]
        self._squares = 0.0
        self._count = 0
        self._waiting: list[Array] = []

    def add(self, rows: Array) -> None:
        """Add rows `[W | y]` of independent columns, shape (rows, base + 1); they may be overwritten."""
        count, squares = len(rows), 0.0
        if count > rows.shape[1]:
            R, z, squares = reduced(rows)
            rows = np.column_stack([R, z])
        self.include(rows, squares, count)
        if self._joined:
            self._keep(rows, squares, count)

    def include(self, rows: Array, squares: float, count: int) -> None:
        """Include rows that are few already, the squares that were left of them, and how many they were."""
        self._waiting.append(rows)
        self._squares += squares
        self._count += count
        if sum(map(len, self._waiting)) > WAITING_ROWS * rows.shape[1]:
            self._merge()

    def _merge(self) -> None:
        self._triangle, squares = _stacked([self._triangle, *self._waiting])
        self._squares += squares
        self._waiting = []

    def _keep(self, rows: Array, squares: float, count: int) -> None:
        """Make rows a block, or part of one."""
        if self._chunks % self._joined == 0:
            self.blocks.append((rows, squares, count))
        else:
            before, left, number = self.blocks[-1]
            triangle, more = _stacked([before, rows])
            self.blocks[-1] = triangle, left + squares + more, number + count
        self._chunks += 1

    def factor(self) -> Factor:
        """The factor over all parameters that act on the row."""
        self._merge()
        n = len(self.basis.columns)
        R = self._triangle[:, :n] @ self.basis.regrouping
        return Factor(self.basis.names, R, self._triangle[:, n], self._squares, self._count)


def _stacked(rows: Sequence[Array]) -> tuple[Array, float]:
    """The triangle `[R | z]` of rows `[W | y]`, and the squares that are left."""
    n = rows[0].shape[1] - 1
    triangle = np.asarray(np.linalg.qr(np.concatenate(rows), mode="r"))
    return triangle[:n], float(np.sum(triangle[n:, n] ** 2))


ONE_PASS = 400.0
"""Up to this condition (in the 1-norm) of columns of unit length one Gram matrix keeps 11 digits."""

TWO_PASSES = 1e6
"""Up to this condition a second one keeps them all; above it only Householder QR is safe."""


def reduced(rows: Array) -> tuple[Array, Array, float]:
    """Triangular factor of rows `[W | y]`: `|W x - y|^2 = |R x - z|^2 + squares`.

    Args:
        rows: The rows, shape (rows, n + 1), C-ordered; may be overwritten.

    Returns:
        R, shape (k, n), z, shape (k,), and the sum of squares that is left.
    """
    n = rows.shape[1] - 1
    U, condition, moments = _cholesky(rows)
    if U is None or condition > TWO_PASSES:
        return _by_householder(rows)
    R = U
    if condition > ONE_PASS:
        rows = divided(rows, U)
        U, condition, moments = _cholesky(rows)
        if U is None or condition > ONE_PASS:  # rounding has won: cannot happen below TWO_PASSES
            triangle, z, squares = _by_householder(rows)
            return triangle @ R, z, squares
        R = U @ R
    W, y = rows[:, :n], rows[:, n]
    z = _solve_transposed(U, moments)
    left = y - W @ _solve(U, z)
    correction = _solve_transposed(U, left @ W)
    return R, z + correction, max(0.0, float(left @ left - correction @ correction))


def _cholesky(rows: Array) -> tuple[Array | None, float, Array]:
    """Upper Cholesky factor of W'W, the condition of W with columns of unit length, and W'y.

    Where there is no such factor, None and an infinite condition.
    """
    from scipy.linalg import lapack

    n = rows.shape[1] - 1
    gram = rows.T @ rows
    G, moments = gram[:n, :n], gram[:n, n]
    lengths = np.sqrt(np.diag(G))
    if not len(rows) or not lengths.all():
        return None, np.inf, moments
    U, failed = lapack.dpotrf(G / lengths / lengths[:, None])  # pyright: ignore[reportAttributeAccessIssue]
    if failed:
        return None, np.inf, moments
    reciprocal, _ = lapack.dtrcon(U)  # pyright: ignore[reportAttributeAccessIssue]
    return U * lengths, np.inf if reciprocal == 0.0 else 1.0 / reciprocal, moments


def _by_householder(rows: Array) -> tuple[Array, Array, float]:
    n = rows.shape[1] - 1
    triangle = np.asarray(np.linalg.qr(rows, mode="r"))
    return triangle[:n, :n], triangle[:n, n], float(np.sum(triangle[n:, n] ** 2))


def _solve(U: Array, b: Array) -> Array:
    from scipy.linalg import solve_triangular

    return solve_triangular(U, b, check_finite=False)


def _solve_transposed(U: Array, b: Array) -> Array:
    from scipy.linalg import solve_triangular

    return solve_triangular(U, b, trans=1, check_finite=False)
