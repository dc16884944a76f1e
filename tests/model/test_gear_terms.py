"""Friction of loaded gears as terms: the implicit torque, its columns, and identification from measured torques."""

from __future__ import annotations

import numpy as np
import pytest

import dynid
from dynid import DynamicModel
from dynid.model.terms import DirectionalFriction, GearFriction, QuadraticFriction

VALUES = {"fs1": 1.0, "fs2": 0.5, "fst1": 0.4, "fst2": 0.2, "km1": 0.03, "ke1": 0.08, "km2": 0.03, "ke2": 0.07}
VALUES |= {"kms1": 0.05, "kes1": 0.05, "kms2": 0.05, "kes2": 0.05, "qm1": 2e-3, "qe1": 3e-3, "fv1": 1.0, "fv2": 0.8}


def model_and_values() -> tuple[DynamicModel, np.ndarray]:
    model = DynamicModel("builtin:two_link", ["viscous", "quadratic_friction"]).at_nonlinear({"vs1": 0.3, "vs2": 0.4})
    p = np.nan_to_num(model.reference)
    p[20:] = [VALUES.get(name, 0.0) for name in model.names[20:]]
    return model.with_values(dict(zip(model.names, p.tolist(), strict=True))), p


def test_the_torque_solves_its_own_equation() -> None:
    model, p = model_and_values()
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-1.0, 1.0, (3, 200, 2))
    tau = (model.regressor(q, v, a) @ p).T
    plain = DynamicModel("builtin:two_link")
    b = plain.inverse_dynamics(q, v)
    for j, vs in enumerate((0.3, 0.4)):
        n = j + 1
        near = np.exp(-((v[:, j] / vs) ** 2))
        km, ke, kms, kes = (VALUES[f"{key}{n}"] for key in ("km", "ke", "kms", "kes"))
        square = np.where(
            np.abs(tau[:, j]) > np.abs(b[:, j]),
            VALUES.get(f"qe{n}", 0.0) * b[:, j] ** 2,
            VALUES.get(f"qm{n}", 0.0) * tau[:, j] ** 2,
        ) * (tau[:, j] * b[:, j] > 0.0)
        rest = VALUES[f"fst{n}"] + np.abs(kms * tau[:, j] + kes * b[:, j]) + square
        level = VALUES[f"fs{n}"] + np.abs(km * tau[:, j] + ke * b[:, j]) + near * rest
        wanted = plain.inverse_dynamics(q, v, a)[:, j] + VALUES[f"fv{n}"] * v[:, j] + np.sign(v[:, j]) * level
        np.testing.assert_allclose(tau[:, j], wanted, rtol=1e-9, atol=1e-9)


def test_slopes_over_stribeck_velocities_are_central_differences() -> None:
    term = DirectionalFriction(nonlinear={"vs1": 0.3, "vs2": 0.4})
    robot = DynamicModel("builtin:two_link").robot
    rng = np.random.default_rng(1)
    q, v, a = rng.uniform(-1.0, 1.0, (3, 50, 2))
    high, low = (term.at_nonlinear({"vs1": 0.3 + e, "vs2": 0.4 + e}).columns(robot, q, v, a) for e in (1e-6, -1e-6))
    found = np.zeros_like(high)
    for row, column, _, values in term.nonlinear_slopes(robot, q, v, a):
        found[row, :, column] += values
    np.testing.assert_allclose(found, (high - low) / 2e-6, atol=1e-6)


def test_driven_and_back_driven_gears_differ() -> None:
    term = QuadraticFriction()
    v, tau, b = np.ones(2), np.array([2.0, 1.0]), np.array([1.0, 2.0])  # the motor drives, or is driven back
    values = {"km": 0.1, "ke": 0.2}
    _, _, km, ke, _, _, qm, qe = term.features_at(v, tau, b, values, np.array([1e9]))
    assert km.tolist() == [2.0, 1.0]
    assert ke.tolist() == [1.0, 2.0]
    assert (qm.tolist(), qe.tolist()) == ([0.0, 1.0], [1.0, 0.0])


@pytest.mark.parametrize("name", ["load_friction", "load_stribeck", "directional_friction", "quadratic_friction"])
def test_terms_have_names_and_columns_that_are_independent(name: str) -> None:
    model = DynamicModel("builtin:two_link", [name])
    assert isinstance(model.terms[0], GearFriction)
    base = dynid.find_base_parameters(model)
    for parameter in model.parameters[20:]:
        assert parameter.name in base.names


def test_measured_torques_show_the_load_of_gears(log_of_gears: dynid.Log) -> None:
    result = dynid.identify("builtin:two_link", log_of_gears, terms=["viscous", "load_friction"])
    found = {row.name: row for row in result.record.parameters}
    for name, true in {"kl1": 0.06, "kl2": 0.05, "fs1": 1.0, "fs2": 0.5}.items():
        assert found[name].value == pytest.approx(true, rel=0.05)
    tau = result.predict(log_of_gears.position[:3], np.zeros((3, 2)) + 0.5, np.zeros((3, 2)))
    assert np.isfinite(tau).all()


@pytest.fixture(scope="module")
def log_of_gears() -> dynid.Log:
    t = np.arange(0.0, 12.0, 0.005)
    w = 2.0 * np.pi / 12.0
    q = np.column_stack(
        [
            1.2 * np.sin(2 * w * t) + 0.4 * np.cos(5 * w * t) - 0.4,
            1.5 * np.sin(3 * w * t) + 0.3 * np.cos(7 * w * t) - 0.3,
        ]
    )
    v, a = np.gradient(q, t, axis=0), np.gradient(np.gradient(q, t, axis=0), t, axis=0)
    model = DynamicModel("builtin:two_link", ["viscous", "load_friction"])
    values = {"fs1": 1.0, "fs2": 0.5, "kl1": 0.06, "kl2": 0.05, "fv1": 1.0, "fv2": 0.8}
    p = np.nan_to_num(model.reference)
    p[20:] = [values[name] for name in model.names[20:]]
    known = model.with_values(dict(zip(model.names, p.tolist(), strict=True)))
    tau = (known.regressor(q, v, a) @ p).T
    return dynid.Log(time=t, position=q, torque=tau + np.random.default_rng(3).normal(0.0, 0.01, tau.shape))
