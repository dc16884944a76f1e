"""Errors of several signals that last and go together, made white: vector autoregressions.

    x_n = A_1 x_{n-1} + ... + A_p x_{n-p} + u_n,    u_n white, with a covariance of its own

The coefficients solve the Yule-Walker equations of autocovariances (Luetkepohl, New Introduction to Multiple Time
Series Analysis, 2005, section 3.3.4), and the order p is that of the smallest Bayesian information criterion. Residuals
of a fit are smaller than errors, most of all where the signals that were fitted have their power: what the fit takes
off autocovariances is added to them again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array

ORDERS = (0, 1, 2, 3, 5, 8, 12, 20)
"""Orders to choose from."""

SMALLEST_VARIANCE = 1e-12
"""Part of the largest variance that no signal's is taken to be below."""


@dataclass(frozen=True, eq=False)
class Autoregression:
    """A vector autoregression of m signals.

    Attributes:
        coefficients: A_1, A_2, ..., shape (order, m, m).
        covariance: That of u, shape (m, m).
    """

    coefficients: Array
    covariance: Array

    @property
    def order(self) -> int:
        """The order p."""
        return len(self.coefficients)

    def whitened(self, rows: Array) -> Array:
        """Rows whose errors are white, with unit variance: of shape (samples - order, m, ...) of (samples, m, ...)."""
        count = max(len(rows) - self.order, 0)
        left = rows[self.order :].copy()
        for k, A in enumerate(self.coefficients, start=1):
            left -= _times(A, rows[self.order - k :][:count])
        return _times(np.asarray(np.linalg.inv(np.linalg.cholesky(self.covariance)), dtype=float), left)


def _times(A: Array, rows: Array) -> Array:
    """Each row multiplied by A, shape (m, m); rows have shape (samples, m, ...)."""
    return (A @ rows.reshape(*rows.shape[:2], -1)).reshape(rows.shape)


def autocovariances(stretches: Sequence[Array], most: int = ORDERS[-1]) -> Array:
    """Mean of x_n x_{n+k}' for lags k = 0, 1, ..., `most`, shape (most + 1, m, m).

    Args:
        stretches: Signals, each of shape (samples, m); NaN where there was none.
        most: The largest lag.
    """
    found, count = 0.0, 0
    for rows in stretches:
        good = np.asarray(np.isfinite(rows).all(axis=1))
        x = np.where(good[:, None], rows, 0.0)
        found += np.array([x[: len(x) - k].T @ x[k:] for k in range(most + 1)])
        count += int(good.sum())
    return np.asarray(found / max(count, 1), dtype=float)


def lost_autocovariances(stretches: Sequence[tuple[Array, Array]], most: int = ORDERS[-1]) -> Array:
    """What a fit takes off the autocovariances of residuals, to first order; shape (most + 1, m, m).

    Args:
        stretches: Rows S, each of shape (samples, m, unknowns), and a root L of the unknowns' covariance L L'.
        most: The largest lag.
    """
    found, count = 0.0, 0
    for S, L in stretches:
        good = np.asarray(np.isfinite(S).all(axis=(1, 2)))
        P = np.where(good[:, None, None], S, 0.0) @ L
        flat, m = P.reshape(len(P), -1), P.shape[1]
        lags = [_products(flat, k, m) for k in range(most + 1)]
        found += np.array(lags)
        count += int(good.sum())
    return np.asarray(found / max(count, 1), dtype=float)


def _products(flat: Array, lag: int, m: int) -> Array:
    """Sum of P_n P_{n+lag}', where rows are P_n of shape (m, unknowns), flat."""
    early, late = (x.reshape(len(x), m, -1) for x in (flat[: len(flat) - lag], flat[lag:]))
    return np.array([[np.vdot(early[:, i], late[:, j]) for j in range(m)] for i in range(m)], dtype=float)


def autoregression(covariances: Array, samples: int, orders: Sequence[int] = ORDERS) -> Autoregression:
    """The vector autoregression of autocovariances with the best order.

    Args:
        covariances: Autocovariances at lags 0, 1, ..., shape (lags, m, m).
        samples: Of how many samples they are.
        orders: Orders to choose from; those that have too few lags or samples do not count.
    """
    sizes = np.diag(covariances[0])
    scale = np.sqrt(np.maximum(sizes, SMALLEST_VARIANCE * sizes.max() or 1.0))
    scaled, m = covariances / np.outer(scale, scale), len(scale)
    best, least = None, math.inf
    for order in orders:
        if order >= len(covariances) or (order * m * m > 0.1 * samples and order):
            continue
        A, V = _yule_walker(scaled, order)
        sign, size = np.linalg.slogdet(V)
        criterion = samples * size + m * m * order * math.log(max(samples, 2))
        if sign > 0.0 and np.linalg.eigvalsh(V)[0] > SMALLEST_VARIANCE and criterion < least:
            best, least = (A, V), criterion
    A, V = best if best is not None else (np.zeros((0, m, m)), np.eye(m))
    return Autoregression(A * np.divide.outer(scale, scale), V * np.outer(scale, scale))


def _yule_walker(covariances: Array, order: int) -> tuple[Array, Array]:
    """Coefficients, shape (order, m, m), and the covariance of what is left, shape (m, m)."""
    m = covariances.shape[1]
    if order == 0:
        return np.zeros((0, m, m)), covariances[0]

    def at(lag: int) -> Array:  # mean of x_n x_{n-lag}'
        return covariances[lag].T if lag >= 0 else covariances[-lag]

    lags = range(1, order + 1)
    T = np.block([[at(other - lag) for other in lags] for lag in lags])
    right = np.concatenate([at(lag) for lag in lags], axis=1)
    A = np.linalg.lstsq(T.T, right.T, rcond=None)[0].T.reshape(m, order, m).transpose(1, 0, 2)
    V = covariances[0] - sum(A[k - 1] @ covariances[k] for k in lags)
    return np.asarray(A, dtype=float), np.asarray(0.5 * (V + V.T), dtype=float)
