"""Moments of truncated normal distributions: SciPy's in one dimension, those of accepted draws in several."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import truncnorm

from dynid.estimation.bodies.truncated_normal import truncated_moments


@pytest.mark.parametrize("mean", [-40.0, -6.0, -1.0, 0.0, 2.0, 9.0])
def test_one_condition_is_scipys(mean: float) -> None:
    found, variance = truncated_moments(np.array([0.5 * mean]), np.array([[0.25]]), np.array([[3.0]]))
    expected = truncnorm(-mean, np.inf, loc=0.5 * mean, scale=0.5)
    assert found[0] == pytest.approx(expected.mean(), rel=1e-2, abs=1e-6)
    assert variance[0, 0] == pytest.approx(expected.var(), rel=2e-2)


def test_several_conditions_are_those_of_accepted_draws() -> None:
    rng = np.random.default_rng(0)
    B = rng.normal(size=(4, 4))
    V, mean, rows = B @ B.T + 0.3 * np.eye(4), 0.3 * rng.normal(size=4), rng.normal(size=(3, 4))
    draws = rng.multivariate_normal(mean, V, 400_000)
    accepted = draws[(draws @ rows.T >= 0.0).all(axis=1)]
    assert len(accepted) > 5000
    found, covariance = truncated_moments(mean, V, rows)
    sizes = np.sqrt(np.diag(V))
    assert np.abs((found - accepted.mean(axis=0)) / sizes).max() < 0.05
    assert np.abs((covariance - np.cov(accepted.T)) / np.outer(sizes, sizes)).max() < 0.05


def test_no_condition_changes_nothing() -> None:
    mean, V = truncated_moments(np.ones(2), np.eye(2), np.zeros((0, 2)))
    assert mean.tolist() == [1.0, 1.0]
    assert V.tolist() == np.eye(2).tolist()
