"""Rows to a triangle, as accurate as Householder QR where it matters, and several times as fast.

A Gram matrix costs much less than a QR factorisation, but squares the condition number. So its columns are scaled to
unit length, and its Cholesky factor is taken as it is only where their condition c is small: its error is about
c^2 eps. Where c is larger, the rows are divided by that factor, which makes them nearly orthonormal, and their Gram
matrix gives the rest of the triangle. Where c is far too large, as for a robot at rest, Householder QR does the work.
What of y stays unexplained is computed from its residual, and not as a difference of large numbers.
"""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.model.kernels.kernel import kernel_for

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
