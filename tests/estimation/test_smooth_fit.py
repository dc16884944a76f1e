"""Newton's method finds what the cone program finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dynid import DynamicModel, find_base_parameters, load_robot
from dynid.estimation.physical import constraints as conditions
from dynid.estimation.physical.physical_estimate import Physics, problem_of, weighed
from dynid.estimation.physical.references import references
from dynid.estimation.physical.semidefinite import LinkPrior, PriorKind, Problem, fit
from dynid.estimation.physical.smooth_fit import SmoothFit
from dynid.model.terms import Armature, Coulomb, Coupling, Offset, Stribeck, Viscous
from tests.physical_problems import data, objective

ROBOT = load_robot("builtin:ur5")


def solved(problem: Problem, weight: float) -> np.ndarray:
    """Standard parameters by Newton's method."""
    smooth = SmoothFit.of(problem)
    A = problem.factor.R @ problem.base.regrouping @ smooth.C
    return smooth.C @ smooth.start(A.T @ A, A.T @ problem.factor.z, weight)


@pytest.mark.parametrize("kind", [PriorKind.LOG_DET, PriorKind.EUCLIDEAN, PriorKind.PULLBACK])
@pytest.mark.parametrize("weight", [1.0, 100.0, 10_000.0])
def test_the_optimum_is_the_cone_programs(kind: PriorKind, weight: float) -> None:
    model = DynamicModel(ROBOT, [Viscous(), Stribeck(), Armature(), Offset()])
    base = find_base_parameters(model)
    p = np.nan_to_num(model.reference)
    p[60:] = np.random.default_rng(0).uniform(0.2, 1.0, len(p) - 60)
    logs = [data(model, p, 500, 0.05, np.random.default_rng(1))]
    wrong = tuple(replace(r, parameters=1.5 * r.parameters) for r in references(ROBOT))
    problem = problem_of(weighed(logs, base), base, Physics(wrong, LinkPrior(kind, weight)))
    by_cones, by_newton = objective(problem, fit(problem)), objective(problem, solved(problem, weight))
    # The slight barrier on 24 parameters of terms, and on links with the Euclidean prior, is all that differs.
    assert by_newton == pytest.approx(by_cones, abs=0.5, rel=1e-3)


def test_coupled_motors_and_known_values_are_kept() -> None:
    model = DynamicModel(load_robot("builtin:tx40"), [Viscous(), Coulomb(), Armature(), Coupling("joint_5", "joint_6")])
    base = replace(find_base_parameters(model), known={})
    p = np.nan_to_num(model.reference)
    for k, name in enumerate(model.names):
        p[k] = {"fv": 1.0, "fs": 1.0, "Ia": 0.5, "Iam": 0.1, "fvm": 0.2, "fsm": 0.2}.get(
            name.rstrip("0123456789"), p[k]
        )
    logs = [data(model, p, 300, 0.05, np.random.default_rng(1))]
    stated = tuple(conditions.known(model, {"Ia1": 0.5}))
    physics = Physics(references(model.robot), LinkPrior(), stated)
    found = dict(zip(model.names, solved(problem_of(weighed(logs, base), base, physics), 1.0), strict=True))
    assert found["Ia1"] == pytest.approx(0.5, abs=1e-4)
    assert found["Ia5"] * found["Ia6"] > found["Iam6"] ** 2
    assert all(found[f"{symbol}{k}"] > 0.0 for symbol in ("fv", "fs", "Ia") for k in range(1, 7))
