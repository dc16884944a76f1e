"""Vector autoregressions make errors white, beside generalised least squares with the whole covariance of errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

from dynid.arrays import Array
from dynid.estimation.autoregression import (
    Autoregression,
    autocovariances,
    autoregression,
    lost_autocovariances,
)

A = np.array([[[0.5, 0.1], [-0.2, 0.6]], [[-0.3, 0.0], [0.1, 0.1]]])
V = np.array([[1.0, -0.8], [-0.8, 2.0]])


def exact_autocovariances(most: int) -> Array:
    """Those of the autoregression A, V, by the Lyapunov equation of its companion form."""
    F = np.block([[A[0], A[1]], [np.eye(2), np.zeros((2, 2))]])
    Q = np.zeros((4, 4))
    Q[:2, :2] = V
    P, found = solve_discrete_lyapunov(F, Q), []
    for _ in range(most + 1):
        found.append(P[:2, :2].T)  # mean of x_n x_{n+k}'
        P = F @ P
    return np.array(found)


def drawn(samples: int, rng: np.random.Generator) -> Array:
    x, u = np.zeros((samples + 200, 2)), rng.multivariate_normal(np.zeros(2), V, samples + 200)
    for n in range(2, len(x)):
        x[n] = A[0] @ x[n - 1] + A[1] @ x[n - 2] + u[n]
    return x[200:]


def test_exact_autocovariances_give_the_coefficients() -> None:
    found = autoregression(exact_autocovariances(5), 100_000, (2,))
    np.testing.assert_allclose(found.coefficients, A, atol=1e-12)
    np.testing.assert_allclose(found.covariance, V, atol=1e-12)


def test_the_order_is_found_and_rows_become_white() -> None:
    rng = np.random.default_rng(0)
    x = drawn(20_000, rng)
    found = autoregression(autocovariances([x[:12_000], x[12_000:]]), len(x))
    assert found.order == 2
    np.testing.assert_allclose(found.coefficients, A, atol=0.03)
    white = found.whitened(x)
    covariances = autocovariances([white], 5)
    np.testing.assert_allclose(covariances[0], np.eye(2), atol=0.03)
    np.testing.assert_allclose(covariances[1:], 0.0, atol=0.03)


def test_white_errors_need_no_order() -> None:
    x = np.random.default_rng(1).multivariate_normal(np.zeros(2), 1e-8 * V, 5000)
    assert autoregression(autocovariances([x]), len(x)).order == 0
    x[::7] = np.nan
    np.testing.assert_allclose(autocovariances([x])[0], 1e-8 * V, rtol=0.1)


def test_whitened_rows_give_generalised_least_squares() -> None:
    samples, rng = 400, np.random.default_rng(2)
    covariances = exact_autocovariances(samples)
    whole = np.zeros((samples, 2, samples, 2))
    for n in range(samples):
        for k in range(samples):
            whole[n, :, k] = covariances[k - n] if k >= n else covariances[n - k].T
    S, y = rng.normal(size=(samples, 2, 3)).cumsum(axis=0), drawn(samples, rng)
    inverse = np.linalg.inv(whole.reshape(2 * samples, -1))
    W = S.reshape(-1, 3)
    wanted = np.linalg.inv(W.T @ inverse @ W)
    model = Autoregression(A, V)
    white, right = model.whitened(S).reshape(-1, 3), model.whitened(y).reshape(-1)
    np.testing.assert_allclose(np.linalg.inv(white.T @ white), wanted, rtol=0.05)
    found = np.linalg.lstsq(white, right, rcond=None)[0]
    stds = np.sqrt(np.diag(wanted))
    np.testing.assert_allclose(found / stds, wanted @ W.T @ inverse @ y.ravel() / stds, atol=0.2)


def test_what_a_fit_takes_off_is_added_again() -> None:
    samples, rng = 200, np.random.default_rng(3)
    S = np.stack([np.cos(np.outer(np.arange(samples), 0.05 * np.arange(1, 13)))] * 2, axis=1) * [[[1.0], [0.5]]]
    W = S.reshape(-1, 12)
    root = np.linalg.inv(np.linalg.qr(W)[1])
    found = []
    for _ in range(300):
        y = rng.normal(size=(samples, 2))
        x = np.linalg.lstsq(W, y.ravel(), rcond=None)[0]
        found.append(autocovariances([y - S @ x], 3))
    mended = np.mean(found, axis=0) + lost_autocovariances([(S, root)], 3)
    assert np.abs(np.mean(found, axis=0)[1:]).max() > 0.03  # of white errors
    wanted = np.zeros((4, 2, 2))
    wanted[0] = np.eye(2)
    np.testing.assert_allclose(mended, wanted, atol=0.015)


@pytest.mark.parametrize("signal", [np.zeros((50, 2)), np.outer(np.arange(50.0), [1.0, 2.0])])
def test_signals_without_noise_are_taken_as_they_are(signal: Array) -> None:
    found = autoregression(autocovariances([signal]), len(signal))
    assert np.isfinite(found.whitened(signal)).all()
