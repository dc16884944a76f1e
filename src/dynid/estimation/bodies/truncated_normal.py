"""Moments of a normal distribution of which conditions cut off a part, by expectation propagation.

Each condition is replaced by the normal factor that gives the same mean and variance beside the others (Cunningham,
Hennig and Lacoste-Julien, "Gaussian probabilities and expectation propagation", 2011). Of one condition it is exact.
"""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array

MOST_SWEEPS = 50
"""Sweeps over all conditions after which the moments are taken as they are."""

SETTLED = 1e-8
"""Change of the moments in a sweep, in standard deviations, below which they have settled."""

JITTER = 1e-9
"""Added to variances of conditions, in parts, so that two that are alike can be told apart."""


def truncated_moments(mean: Array, covariance: Array, rows: Array) -> tuple[Array, Array]:
    """Mean and covariance of x where `rows @ x >= 0`.

    Args:
        mean: Of x before, shape (n,).
        covariance: Of x before, shape (n, n).
        rows: Shape (conditions, n).

    >>> mean, covariance = truncated_moments(np.zeros(1), np.eye(1), np.eye(1))
    >>> round(float(mean[0] ** 2), 4), round(float(covariance[0, 0]), 4)  # 2 / pi and 1 - 2 / pi
    (0.6366, 0.3634)
    """
    if not len(rows):
        return mean, covariance
    sizes = np.sqrt(np.einsum("ki,ij,kj->k", rows, covariance, rows))
    A = rows / sizes[:, None]
    across = covariance @ A.T
    G = A @ across + JITTER * np.eye(len(A))
    u, S = _orthant_moments(A @ mean, G)
    gain = np.linalg.solve(G, across.T).T
    return mean + gain @ (u - A @ mean), covariance - gain @ (G - S) @ gain.T


def _orthant_moments(mean: Array, covariance: Array) -> tuple[Array, Array]:
    """Mean and covariance of u >= 0, of unit variances before."""
    information = np.asarray(np.linalg.inv(covariance), dtype=float)
    precision, shift = np.zeros(len(mean)), np.zeros(len(mean))
    S, m = covariance, mean
    for _ in range(MOST_SWEEPS):
        before = m
        for k in range(len(mean)):
            rest = 1.0 / S[k, k] - precision[k]
            if rest <= 0.0:
                continue
            centre = (m[k] / S[k, k] - shift[k]) / rest
            first, second = _half_line(centre, 1.0 / rest)
            precision[k], shift[k] = 1.0 / second - rest, first / second - centre * rest
            S = np.asarray(np.linalg.inv(information + np.diag(precision)), dtype=float)
            m = S @ (information @ mean + shift)
        if np.abs(m - before).max() < SETTLED:
            break
    return m, S


def _half_line(mean: float, variance: float) -> tuple[float, float]:
    """Mean and variance of a normal variable that is not negative."""
    from scipy.special import log_ndtr

    size = np.sqrt(variance)
    z = mean / size
    if z < -30.0:  # all but exponential
        return size / -z, (size / z) ** 2
    slope = float(np.exp(-0.5 * z * z - log_ndtr(z)) / np.sqrt(2.0 * np.pi))
    return mean + size * slope, max(variance * (1.0 - slope * (z + slope)), 1e-12 * variance)
