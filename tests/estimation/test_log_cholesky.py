"""Free numbers of bodies: every choice is possible, and the way there and back is exact."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid.errors import InvalidRequestError
from dynid.estimation.physical.log_cholesky import from_log_cholesky, jacobian, to_log_cholesky
from dynid.robot import inertia
from tests.strategies import random_inertia

seeds = st.integers(0, 2**32 - 1)


@given(seeds)
def test_every_choice_of_numbers_is_a_possible_body(seed: int) -> None:
    p = from_log_cholesky(np.random.default_rng(seed).normal(size=10))
    assert p[0] > 0.0
    assert inertia.is_physical(p, tolerance=0.0)


@given(seeds)
def test_bodies_go_to_numbers_and_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = random_inertia(rng)
    assert np.allclose(from_log_cholesky(to_log_cholesky(p)), p, rtol=1e-12, atol=1e-12 * np.abs(p).max())
    theta = rng.normal(size=10)
    p = from_log_cholesky(theta)
    # Rounding of p moves theta by as much as the condition number of the pseudo-inertia says: up to 1e9 here. Over
    # 20 000 seeds the largest error was 0.9 times this product.
    rounding = np.finfo(float).eps * np.linalg.cond(inertia.to_pseudo_inertia(p))
    assert np.abs(to_log_cholesky(p) - theta).max() <= 5.0 * rounding


@given(seeds)
def test_the_jacobian_is_that_of_finite_differences(seed: int) -> None:
    theta = np.random.default_rng(seed).normal(size=10)
    step = 1e-6
    differences = [
        (from_log_cholesky(theta + step * unit) - from_log_cholesky(theta - step * unit)) / (2 * step)
        for unit in np.eye(10)
    ]
    assert np.allclose(jacobian(theta), np.transpose(differences), rtol=1e-7, atol=1e-7 * np.abs(differences).max())


@given(seeds)
def test_pinocchio_means_the_same_by_its_log_cholesky_numbers(seed: int) -> None:
    theta = np.random.default_rng(seed).normal(size=10)
    theirs = pin.LogCholeskyParameters(theta).toDynamicParameters()
    assert np.allclose(from_log_cholesky(theta), theirs, rtol=1e-12, atol=1e-12)


def test_an_impossible_body_has_no_numbers() -> None:
    with pytest.raises(InvalidRequestError, match="positive definite"):
        to_log_cholesky(inertia.from_mass_com_inertia(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0])))
