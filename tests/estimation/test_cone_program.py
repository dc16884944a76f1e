"""Small convex programs: the same optimum as CVXPY's, or an error."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynid.estimation.physical.cone_program import Cone, ConeKind, InfeasibleError, minimise, stacked

cp: Any = importlib.import_module("cvxpy")  # its types are no help
seeds = st.integers(0, 2**32 - 1)


@given(seeds)
def test_stacking_keeps_inner_products(seed: int) -> None:
    A, B = (M + M.T for M in np.random.default_rng(seed).normal(size=(2, 5, 5)))
    assert stacked(A) @ stacked(B) == pytest.approx(np.sum(A * B))


@given(seeds)
@settings(max_examples=15)
def test_the_optimum_is_cvxpys(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, c, cost = rng.normal(size=(8, 6)), rng.normal(size=8), 0.1 * rng.normal(size=6)
    basis = stacked(np.array([M + M.T for M in rng.normal(size=(6, 3, 3))]))
    offset = stacked(4.0 * np.eye(3))
    x = minimise(
        A,
        c,
        cost,
        [
            Cone(ConeKind.SEMIDEFINITE, basis.T, offset),
            Cone(ConeKind.NONNEGATIVE, np.eye(6)[:2], np.full(2, 0.05)),
            Cone(ConeKind.ZERO, np.ones((1, 6)), np.array([-0.5])),
        ],
    )
    y = cp.Variable(6)
    vector = offset + basis.T @ y
    order = [(i, j) for j in range(3) for i in range(j + 1)]
    elements = {ij: vector[k] / (1.0 if ij[0] == ij[1] else np.sqrt(2.0)) for k, ij in enumerate(order)}
    matrix = cp.bmat([[elements[min(i, j), max(i, j)] for j in range(3)] for i in range(3)])
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(A @ y - c) + cost @ y), [matrix >> 0, y[:2] >= -0.05, cp.sum(y) == 0.5]
    )
    problem.solve(solver=cp.CLARABEL)
    assert np.sum((A @ x - c) ** 2) + cost @ x == pytest.approx(problem.value, abs=2e-4)
    assert np.allclose(x, y.value, atol=0.02)


def test_conditions_that_exclude_each_other_are_an_error() -> None:
    above, below = (Cone(ConeKind.NONNEGATIVE, sign * np.eye(1), np.array([-1.0])) for sign in (1.0, -1.0))
    with pytest.raises(InfeasibleError):
        minimise(np.eye(1), np.zeros(1), np.zeros(1), [above, below])
