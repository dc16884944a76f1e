"""Nonlinear parameters by variable projection: against the truth, and against scipy over all parameters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares

from dynid import DynamicModel, find_base_parameters, load_robot
from dynid.estimation.factors.accumulation import factorise
from dynid.estimation.least_squares import ordinary_least_squares
from dynid.estimation.nonlinear.nonlinear_fit import doubtful_nonlinear
from dynid.estimation.nonlinear.variable_projection import fit_nonlinear
from dynid.model.chunks import Chunk
from dynid.model.linearisation import linearised, with_nonlinear_columns
from dynid.model.terms import Coulomb, LoadCoulomb, Offset, Sigmoid, Stribeck, Term, Viscous, ViscousTemperature
from tests import friction_study


def log_of(model: DynamicModel, p: np.ndarray, noise: float = 0.01, samples: int = 2000, speed: float = 1.0) -> Chunk:
    """Samples of sums of sines, with torques of the model and noise."""
    rng = np.random.default_rng(5)
    t = np.linspace(0.0, 20.0, samples)[:, None]
    w, size = rng.uniform(0.5, 3.0, (2, 5, model.robot.nv))
    w = speed * w
    q = np.sum(0.2 * size * np.sin(w * t[:, None]), axis=1)
    v, a = (np.sum(0.2 * size * x, axis=1) for x in (w * np.cos(w * t[:, None]), -(w**2) * np.sin(w * t[:, None])))
    temperature = np.linspace(20.0, 45.0, samples)[:, None] * np.ones(model.robot.nv)
    bound = DynamicModel(model.robot, [term.with_temperature(temperature) for term in model.terms])
    torque = bound.inverse_dynamics(q, v, a, p)
    return Chunk(q, v, a, torque + noise * rng.normal(size=torque.shape), temperature=temperature)


CASES: list[tuple[list[Term], dict[str, float]]] = [
    ([Viscous(), Stribeck(), Offset()], {"fv": 0.5, "fs": 1.0, "fst": 0.8, "vs": 0.08, "off": 0.1}),
    ([Viscous(), Sigmoid(), Offset()], {"fv": 0.3, "fsig": 2.0, "ksig": 14.0, "vsig": 0.05, "off": 0.1}),
    ([ViscousTemperature(), Coulomb(), Offset()], {"fv": 1.3, "kT": 0.03, "fs": 0.5, "off": 0.1}),
    ([Viscous(), Coulomb(), LoadCoulomb()], {"fv": 0.3, "fs": 0.5, "fl": 0.1}),
]


@pytest.mark.parametrize(("terms", "truth"), CASES, ids=["stribeck", "sigmoid", "temperature", "load"])
def test_nonlinear_parameters_are_found_within_three_percent(terms: list[Term], truth: dict[str, float]) -> None:
    robot = load_robot("builtin:spatial_3r")
    model = DynamicModel(robot, terms)
    values = {name: truth.get(name.rstrip("123"), 0.0) for name in (*model.names, *(s.name for s in model.nonlinear))}
    p = np.concatenate([robot.parameters, [values[name] for name in model.names[len(robot.parameters) :]]])
    true = model.at_nonlinear({s.name: values[s.name] for s in model.nonlinear}).with_links(robot.parameters)
    fit = fit_nonlinear(find_base_parameters(model), lambda trial: [factorise(trial, [log_of(true, p)])])
    assert fit.converged
    assert fit.passes < 20
    for name, value in (*fit.nonlinear.items(), *fit.parameters.items()):
        if name.rstrip("123") in truth:
            assert value == pytest.approx(values[name], rel=0.03)
    assert doubtful_nonlinear(fit) == ()


def test_the_optimum_and_its_covariance_are_those_of_least_squares_over_all_parameters() -> None:
    robot = load_robot("builtin:pendulum")
    model = DynamicModel(robot, [Viscous(), Sigmoid(), Offset()])
    base = find_base_parameters(model)
    p = np.concatenate([robot.parameters, [0.3, 2.0, 0.2]])
    log = log_of(model.at_nonlinear({"ksig1": 9.0, "vsig1": 0.1}), p, noise=0.05, samples=500)
    fit = fit_nonlinear(base, lambda trial: [factorise(trial, [log])], method="ols")

    def errors(x: np.ndarray) -> np.ndarray:
        trial = model.at_nonlinear({"ksig1": x[0], "vsig1": x[1]})
        return (trial.inverse_dynamics(log.q, log.v, log.a, base.to_standard(x[2:])) - log.torque).ravel()

    start = [fit.parameters[name] for name in base.names]
    whole = least_squares(errors, [5.0, 0.0, *start], xtol=1e-14, ftol=1e-14, gtol=1e-14, x_scale="jac")
    found = np.array([*fit.nonlinear.values(), *(fit.parameters[name] for name in base.names)])
    assert np.sum(errors(found) ** 2) == pytest.approx(2.0 * whole.cost, rel=1e-8)
    variance = 2.0 * whole.cost / (500 - len(found))
    stds = np.sqrt(variance * np.diag(np.linalg.inv(whole.jac.T @ whole.jac)))
    assert np.all(np.abs(found - whole.x) < 1e-2 * stds)
    linear = linearised(fit.model, fit.free, fit.parameters)
    estimate = ordinary_least_squares(factorise(linear, [log]), with_nonlinear_columns(base, linear))
    np.testing.assert_allclose(estimate.stds, [*stds[2:], *stds[:2]], rtol=1e-3)
    np.testing.assert_allclose(list(fit.stds.values()), stds[:2], rtol=1e-3)


def test_a_stribeck_velocity_below_all_speeds_is_doubtful() -> None:
    robot = load_robot("builtin:pendulum")
    model = DynamicModel(robot, [Viscous(), Stribeck()])
    log = log_of(model.at_nonlinear({"vs1": 0.01}), np.concatenate([robot.parameters, [0.3, 1.0, 0.5]]))
    fast = Chunk(log.q, log.v, log.a, log.torque, np.abs(log.v) > 0.2)
    fit = fit_nonlinear(find_base_parameters(model), lambda trial: [factorise(trial, [fast])])
    assert doubtful_nonlinear(fit) == ("vs1",)


def test_held_nonlinear_parameters_stay() -> None:
    robot = load_robot("builtin:spatial_3r")
    model = DynamicModel(robot, [Viscous(), Stribeck()]).at_nonlinear({"vs2": 0.3})
    p = np.concatenate([robot.parameters, [0.3] * 3, [1.0, 0.5] * 3])
    fit = fit_nonlinear(
        find_base_parameters(model), lambda trial: [factorise(trial, [log_of(model, p)])], held=("vs2",)
    )
    assert fit.free == ("vs1", "vs3")
    assert next(s.value for s in fit.model.nonlinear if s.name == "vs2") == 0.3


@pytest.mark.parametrize("case", [friction_study.stribeck, friction_study.sigmoid], ids=["stribeck", "sigmoid"])
def test_friction_of_a_simulated_ur5_is_found_within_three_percent_at_the_noise_of_the_thesis(case) -> None:
    recovery = friction_study.recover(*case())
    symbols = {name.rstrip("0123456789") for name in recovery.truth}
    assert max(recovery.error(symbol) for symbol in symbols) < 0.03
