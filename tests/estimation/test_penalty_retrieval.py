"""Growing penalties: exact where the truth meets all conditions, and these hold whatever they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import dynid
from dynid import DynamicModel, find_base_parameters, load_robot
from dynid.errors import DynidError, InvalidRequestError, UnknownNameError
from dynid.estimation.factors.factors import Factor
from dynid.estimation.physical.parameter_retrieval import (
    RetrievalLimits,
    factor_of_coefficients,
    penalty_problem,
    retrieval,
)
from dynid.estimation.physical.penalty_retrieval import Search, _Penalised
from dynid.estimation.physical.physical_links import physics_of
from dynid.estimation.settings import PhysicalSettings
from dynid.robot import inertia
from dynid.robot.assembly import assemble
from dynid.robot.description import Description
from tests.references import is_possible_body
from tests.seed_arms import CASES, retrieved
from tests.strategies import SINGLE, descriptions

ARM = find_base_parameters(DynamicModel(load_robot("builtin:spatial_3r"), ["viscous", "coulomb"]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_errors_of_the_seeds_coefficients_are_below_the_seeds(case: object) -> None:
    error, torques, is_met, _ = retrieved(case, Search(starts=1))  # type: ignore[arg-type]
    assert is_met
    assert error < min(case[-1], 1e-6)  # type: ignore[index]  # Pennese and Vulcano 2020, chapters 2.4 and 3.4
    assert torques < 1e-6


@given(descriptions((*SINGLE,), max_joints=3))
@settings(max_examples=5)
def test_residuals_have_exact_slopes(description: Description) -> None:
    rng = np.random.default_rng(0)
    model = DynamicModel(assemble(description), ["viscous", "offset"])
    base = find_base_parameters(model)
    factor = Factor.of(base.names, rng.normal(size=(60, len(base))), rng.normal(size=60))
    physics = physics_of(PhysicalSettings(total_mass=(0.1, 0.2)), model)
    limits = RetrievalLimits(conditions={"product": lambda u: u["fv1"] * u["off1"] - 0.1})
    problem = penalty_problem(factor, base, physics, limits)
    squares = _Penalised(problem, 3.0, np.full(len(problem.equalities), 0.1))
    x = rng.uniform(0.2, 0.8, len(problem.variables.free))
    step, units = 1e-6, np.eye(len(x))
    by_differences = [(squares.residuals(x + step * e) - squares.residuals(x - step * e)) / (2 * step) for e in units]
    slopes = squares.jacobian(x)
    np.testing.assert_allclose(slopes, np.transpose(by_differences), atol=1e-6 * np.abs(slopes).max())


def test_variables_are_masses_centres_of_mass_and_inertias_about_them() -> None:
    problem = penalty_problem(
        Factor.of(ARM.names, np.eye(len(ARM)), np.zeros(len(ARM))), ARM, physics_of(PhysicalSettings(), ARM.model)
    )
    p = np.concatenate([ARM.model.robot.parameters, np.ones(6)])
    u = problem.variables.variables(p)
    np.testing.assert_allclose(problem.variables.standard(u), p, atol=1e-12)
    m, c, J = inertia.to_mass_com_inertia(p[10:20])
    np.testing.assert_allclose(u[10:14], [m, *c], atol=1e-12)
    np.testing.assert_allclose(inertia.inertia_matrix(u[10:20]), J, atol=1e-12)


@pytest.mark.parametrize("search", ["starts", "annealing", "evolution", "hopping"])
def test_a_condition_that_is_not_convex_holds(search: str) -> None:
    """The mass is either below 1 kg or above 4 kg, and the truth of 2.5 kg at 0.2 m is in between."""
    base = find_base_parameters(DynamicModel(load_robot("builtin:pendulum")))
    fixed = {"c[xy]1": 0.0, "cz1": -0.2, "J*": 0.0, "Jxx1": 0.3, "Jyy1": 0.3, "Jzz1": 0.1}
    conditions = {"light or heavy": lambda u: (u["m1"] - 1.0) * (u["m1"] - 4.0)}
    limits = RetrievalLimits({"m1": (0.1, 10.0)}, fixed, conditions)
    how = Search(kind=search, starts=3 if search == "starts" else 1, evaluations=100)  # type: ignore[arg-type]
    factor = factor_of_coefficients(base, {"mx1": 0.0, "mz1": -0.5, "Iyy1": 0.4})
    found = retrieval(factor, base, physics_of(PhysicalSettings(), base.model), limits, how)
    assert found.is_met
    assert min(abs(found.values["m1"] - 1.0), abs(found.values["m1"] - 4.0)) < 1e-3
    assert found.conditions["light or heavy"] >= 0.0


def test_noisy_coefficients_give_possible_links_near_them() -> None:
    rng = np.random.default_rng(2)
    p = np.concatenate([ARM.model.robot.parameters, [0.1] * 6])
    std = 0.02 * np.abs(ARM.to_base(p)) + 1e-3
    b = ARM.to_base(p) + std * rng.normal(size=len(ARM))
    stated = PhysicalSettings(total_mass=(11.0, 12.0))
    found = dynid.retrieve_parameters(ARM, b, np.diag(std**2), physical=stated, starts=1)
    assert found.is_met
    assert "all conditions hold" in repr(found)
    assert all(is_possible_body(found.parameters[k : k + 10]) for k in (0, 10, 20))
    assert 11.0 <= sum(found.values[f"m{k}"] for k in (1, 2, 3)) <= 12.0
    assert np.sum(((found.coefficients - b) / std) ** 2) < 3.0 * len(ARM)
    assert found.rounds[0].penalty == 0.0
    assert found.to_dict()["is_met"] is True


def test_a_result_is_fitted_through_its_torques_by_call_and_by_setting() -> None:
    robot = load_robot("builtin:two_link")
    t = np.arange(0.0, 10.0, 0.02)
    q = np.stack([np.sin(1.1 * t) + 0.3 * np.sin(3 * t), np.cos(1.7 * t)], axis=1)
    v = np.gradient(q, t, axis=0)
    tau = DynamicModel(robot).inverse_dynamics(q, v, np.gradient(v, t, axis=0))
    log = dynid.Log(time=t, position=q, torque=tau + 0.05 * np.random.default_rng(0).normal(size=tau.shape))
    fixed = {"cy*": 0.0, "Jxy*": 0.0, "Jyz*": 0.0}
    result = dynid.identify(
        robot, log, physical={"penalty": {"fixed": fixed, "starts": 1}}, estimation={"bootstrap": False}
    )
    assert result.physical is not None
    assert result.physical.relative_error < 1.01 * result.relative_error
    found = dynid.retrieve_parameters(result, fixed=fixed, starts=1)
    assert found.is_met
    assert found.error < 0.02
    with pytest.raises(InvalidRequestError, match="torques of its own"):
        dynid.retrieve_parameters(result, found.coefficients)


def test_conditions_that_cannot_hold_are_named() -> None:
    factor = factor_of_coefficients(ARM, ARM.to_base(np.concatenate([ARM.model.robot.parameters, [0.1] * 6])))
    limits = RetrievalLimits(bounds={"m?": (0.1, 1.0)}, conditions={"heavy": lambda u: u["m1"] - 5.0})
    found = retrieval(factor, ARM, physics_of(PhysicalSettings(), ARM.model), limits, Search(starts=1, rounds=4))
    assert not found.is_met
    assert found.conditions["heavy"] < 0.0


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"bounds": {"m9": (0.0, 1.0)}}, UnknownNameError),
        ({"bounds": {"m1": (2.0, 1.0)}}, InvalidRequestError),
        ({"bounds": {"m1": (-1.0, 1.0)}}, InvalidRequestError),
        ({"bounds": {"m?": (1.0, 2.0)}, "fixed": {"m1": 5.0}}, InvalidRequestError),
        ({"search": "everywhere"}, InvalidRequestError),
        ({"starts": 0}, InvalidRequestError),
        ({"physical": {"total_mas": 3.0}}, InvalidRequestError),
        ({"conditions": {"unknown": lambda u: u["m9"]}}, UnknownNameError),
        ({"conditions": {"nan": lambda _: np.nan}}, InvalidRequestError),
        ({"coefficients": None}, InvalidRequestError),
        ({"coefficients": {"mx9": 1.0}}, UnknownNameError),
        ({"coefficients": [1.0]}, InvalidRequestError),
        ({"covariance": -np.eye(len(ARM))}, InvalidRequestError),
    ],
)
def test_mistakes_are_refused(options: dict[str, object], error: type[DynidError]) -> None:
    with pytest.raises(error):
        dynid.retrieve_parameters(ARM, **{"coefficients": np.zeros(len(ARM)), **options})  # type: ignore[arg-type]
