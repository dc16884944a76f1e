"""From rows to factors, in one pass and with bounded memory."""

from collections.abc import Iterable, Sequence

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.factors import Factor, Factors
from dynid.model import Chunk, DynamicModel, RowBasis, Rows, TorqueRows, kernel_for
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
        rows = _divided(rows, U)
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


def _divided(rows: Array, P: Array) -> Array:
    """Rows `[W P^-1 | y]` for an upper triangle P, in the same memory."""
    compiled = kernel_for(len(rows))
    if compiled is not None:
        compiled.divide(rows, np.ascontiguousarray(P))
        return rows
    from scipy.linalg import solve_triangular

    rows[:, :-1] = solve_triangular(P, rows[:, :-1].T, trans=1, check_finite=False).T
    return rows


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
