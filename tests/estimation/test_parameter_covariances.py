"""Covariances of physically consistent parameters: of a parabola they are exact, and data never widen the prior."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from dynid import DynamicModel, Log, Result, identify, load_robot
from dynid.estimation import parameter_covariances, physics_of
from dynid.estimation.physical.physical_estimate import problem_of, weighed
from dynid.model.terms import Viscous

ROBOT = load_robot("builtin:two_link")


@cache
def result(kind: str, known: bool = True) -> Result:
    model = DynamicModel(ROBOT, [Viscous()])
    t = np.arange(0.0, 8.0, 0.01)
    q = np.stack([np.sin(1.7 * t) + 0.3 * np.sin(4 * t), np.cos(2.3 * t)], axis=1)
    v = np.gradient(q, t, axis=0)
    p = np.nan_to_num(model.reference) + np.array([name.startswith("fv") for name in model.names])
    torque = model.inverse_dynamics(q, v, np.gradient(v, t, axis=0), p)
    torque += 0.05 * torque.std(axis=0) * np.random.default_rng(0).normal(size=q.shape)
    masses = {"m1": float(p[0])} if known else {}
    physical = {"prior": kind} | ({} if kind == "none" else {"weight": 5.0})
    return identify(ROBOT, Log(time=t, position=q, torque=torque), ["viscous"], known=masses, physical=physical)


def covariances(found: Result) -> tuple[np.ndarray, np.ndarray]:
    physics = physics_of(found.task.physical, found.model)
    p = found.standard_parameters(physical=True)
    ((after, before),) = parameter_covariances(found.rows, found.base, physics, [p], {}, np.zeros(len(p)))
    return after, before


@pytest.mark.parametrize("kind", ["logdet", "euclidean", "pullback", "none"])
def test_data_only_take_away_from_the_prior_and_known_parameters_stay(kind: str) -> None:
    after, before = covariances(result(kind))
    sizes = np.sqrt(np.diag(before)).clip(1e-9)
    difference = (before - after) / np.outer(sizes, sizes)
    assert np.linalg.eigvalsh(0.5 * (difference + difference.T)).min() > -1e-6
    assert np.sqrt(after[0, 0]) < 1e-2 * result(kind).standard_parameters(physical=True)[0]


def test_a_euclidean_prior_is_a_parabola_of_which_the_covariance_is_the_inverse() -> None:
    found = result("euclidean")
    after, _ = covariances(found)
    physics = physics_of(found.task.physical, found.model)
    problem = problem_of(weighed(found.rows, found.base), found.base, physics)
    A, _ = problem.squares()
    rows = [item.rows @ problem.to_parameters for item in problem.constraints if item.label.startswith("known")]
    N = np.linalg.svd(np.concatenate(rows))[2][len(rows) :].T  # what known parameters leave free
    C = problem.to_parameters @ N
    expected = C @ np.linalg.inv(N.T @ A.T @ A @ N) @ C.T
    sizes = np.sqrt(np.diag(expected)).clip(1e-6)
    assert np.abs((after - expected) / np.outer(sizes, sizes))[1:, 1:].max() < 1e-3


def test_a_heavier_prior_makes_parameters_surer() -> None:
    found = result("logdet")
    physics = physics_of(found.task.physical, found.model)
    p = found.standard_parameters(physical=True)
    stds = []
    for weight in (1.0, 100.0):
        heavier = replace(physics, prior=replace(physics.prior, weight=weight))
        ((after, _),) = parameter_covariances(found.rows, found.base, heavier, [p], {}, np.zeros(len(p)))
        stds.append(np.sqrt(np.diag(after)))
    assert (stds[1] <= stds[0] + 1e-12).all()
    assert (stds[1] < 0.5 * stds[0]).any()


def test_errors_about_links_that_scatter_have_this_covariance() -> None:
    """Estimates of drawn truths that scatter about the file with s P^-1, with noise of the data, by brute force."""
    found = result("euclidean", known=False)
    physics = physics_of(found.task.physical, found.model)
    p = found.standard_parameters(physical=True)
    factor = weighed(found.rows, found.base)
    problem = problem_of(factor, found.base, physics)
    A, C = problem.squares()[0], problem.to_parameters
    D, P = (part.T @ part for part in (A[: len(factor.R)], A[len(factor.R) :]))
    both = np.linalg.inv(D + P)
    rng, s = np.random.default_rng(0), 9.0
    truth = rng.multivariate_normal(np.zeros(len(P)), s * np.linalg.pinv(P, hermitian=True), 20_000)
    data = truth @ D + rng.normal(size=(20_000, len(factor.R))) @ A[: len(factor.R)]  # D times least squares
    drawn = (data @ both - truth) @ C.T
    step = np.ones(len(P)) / np.sqrt(P.sum() / (s * np.trace(both @ D)))  # a change of which s is what it shows
    ((after, _),) = parameter_covariances(found.rows, found.base, physics, [p], {}, C @ step)
    assert np.diag(after) == pytest.approx(drawn.var(axis=0), rel=0.05, abs=1e-12)
