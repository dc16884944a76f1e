"""Data and objectives for tests of physically consistent fits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dynid import DynamicModel
from dynid.arrays import Array
from dynid.estimation.factors.accumulation import factorise
from dynid.estimation.factors.factors import Factors
from dynid.estimation.physical.semidefinite import PriorKind, Problem
from dynid.model.chunks import Chunk
from dynid.model.sampling import random_states
from dynid.robot import inertia


def data(model: DynamicModel, p: Array, samples: int, noise: float, rng: np.random.Generator) -> Factors:
    """Factors of random states with torques of parameters p, and white noise in parts of each joint's torque."""
    q, v, a = random_states(model, samples, rng)
    torque = model.inverse_dynamics(q, v, a, p)
    torque += noise * np.sqrt((torque**2).mean(axis=0)) * rng.normal(size=torque.shape)
    return factorise(model, [Chunk(q, v, a, torque)])


def objective(problem: Problem, p: Array) -> float:
    """The objective that the module states, without its tie-breakers."""
    value = float(np.sum((problem.factor.R @ problem.base.regrouping @ p - problem.factor.z) ** 2))
    for k, reference in enumerate(problem.references):
        J, J0 = (inertia.to_pseudo_inertia(x) for x in (p[10 * k : 10 * k + 10], reference.parameters))
        X = np.linalg.solve(J0, J)
        if problem.prior.kind is PriorKind.LOG_DET:
            value += problem.prior.weight * (np.trace(X) - np.log(np.linalg.det(X)) - 4.0)
        if problem.prior.kind is PriorKind.PULLBACK:
            value += problem.prior.weight * 0.5 * np.trace((X - np.eye(4)) @ (X - np.eye(4)))
        if problem.prior.kind is PriorKind.EUCLIDEAN:
            r = np.sqrt(np.trace(J0[:3, :3]) / J0[3, 3])
            scale = J0[3, 3] * np.array([1.0] + [r] * 3 + [r**2] * 6)
            value += problem.prior.weight * np.sum(((p[10 * k : 10 * k + 10] - reference.parameters) / scale) ** 2)
    if problem.prior.kind is not PriorKind.NONE:
        for k, e, weight in stated_terms(problem):
            value += weight * (p[k] - e) ** 2
    return value


def stated_terms(problem: Problem) -> Iterator[tuple[int, float, float]]:
    """Terms' parameters that the file states: which, its value, and the weight of the squared distance from it."""
    by_data = problem.base.to_standard(problem.factor.solve())
    for k in range(10 * len(problem.references), len(by_data)):
        e = float(problem.base.reference[k])
        if np.isfinite(e) and e != 0.0:
            yield k, e, min(problem.prior.weight, 1.0) / max(abs(e), abs(by_data[k])) ** 2
