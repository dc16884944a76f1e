"""Columns with known noise: least squares on what is predicted of them without it is not biased."""

from __future__ import annotations

import numpy as np
import pytest

from dynid.arrays import Array
from dynid.estimation.factors.noisy_columns import ColumnNoise

TRUTH = np.array([2.0, -1.0, 0.5])
STD = np.array([0.0, 0.2, 0.4])
"""Noise of each column."""


def estimates(rng: np.random.Generator, rows: int = 4000) -> tuple[Array, Array, Array]:
    """Plain least squares, those on predicted columns, and the standard deviations of these."""
    clean = rng.normal(size=(rows, 3)) @ np.array([[1.0, 0.5, 0.2], [0.0, 1.0, 0.7], [0.0, 0.0, 1.0]])
    W = clean + STD * rng.normal(size=clean.shape)
    y = clean @ TRUTH + 0.2 * rng.normal(size=rows)
    columns = ColumnNoise.of(W.T @ W, rows * np.diag(STD**2))
    better = W @ columns.prediction
    found = np.linalg.lstsq(better, y, rcond=None)[0]
    noise = (np.sum((y - better @ found) ** 2) + columns.unexplained(W.T @ y)) / (rows - 3)
    plain = np.linalg.lstsq(W, y, rcond=None)[0]
    stds = np.sqrt(noise * np.diag(np.linalg.inv(better.T @ better)))
    return np.asarray(plain, dtype=float), np.asarray(found, dtype=float), stds


def test_the_bias_is_gone_and_standard_deviations_hold() -> None:
    draws = [estimates(np.random.default_rng(seed)) for seed in range(300)]
    plain, found, stds = (np.array(each) for each in zip(*draws, strict=True))
    assert abs(plain.mean(axis=0) - TRUTH).max() > 0.05
    errors = (found - TRUTH) / stds
    np.testing.assert_allclose(errors.mean(axis=0), 0.0, atol=0.25)
    np.testing.assert_allclose(errors.std(axis=0), 1.0, atol=0.15)


def test_columns_without_noise_stay_as_they_are() -> None:
    W = np.random.default_rng(0).normal(size=(50, 4))
    np.testing.assert_allclose(ColumnNoise.of(W.T @ W, np.zeros((4, 4))).prediction, np.eye(4), atol=1e-12)


def test_columns_of_nothing_but_noise_and_empty_ones_stay_finite() -> None:
    W = np.random.default_rng(0).normal(size=(50, 3))
    W[:, 1] = 0.0
    found = ColumnNoise.of(W.T @ W, 2.0 * W.T @ W).prediction
    assert np.isfinite(found).all()
    assert np.linalg.norm(W @ found) == pytest.approx(0.05 * np.linalg.norm(W), rel=1e-6)
