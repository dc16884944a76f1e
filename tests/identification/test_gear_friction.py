"""Friction of loaded gears is identified from the commands of a servo, against a simulation with nothing of dynid."""

from __future__ import annotations

import pytest

import dynid
from dynid import DynidError
from tests.servo_truth import MODELS, ServoPendulum, servo_log

LAW = {"delay": 0.0, "law": "continuous", "bias": False}
M5 = MODELS["M5"]
TRUTH = ServoPendulum(friction=M5.friction, offset=0.01)


@pytest.fixture(scope="module")
def log() -> dynid.Log:
    return servo_log(TRUTH, 1, counts=0, seconds=20.0)


@pytest.fixture(scope="module")
def result(log: dynid.Log) -> dynid.Result:
    return dynid.identify(TRUTH.robot, log, terms=["armature", *M5.terms, "offset"], control=LAW)


def test_the_sides_of_a_loaded_gear_and_the_stribeck_velocity_are_found(result: dynid.Result) -> None:
    commands = result.record.commands
    assert commands is not None
    found = {row.name: row.value for row in commands.parameters}
    for key in ("km", "ke", "kms", "kes", "vs", "fv"):
        assert found[f"{key}1"] == pytest.approx(TRUTH.friction[key], rel=0.1), key
    assert commands.rollout.rmse < 3e-4


def test_results_with_a_stribeck_velocity_roll_out_as_they_did(result: dynid.Result, tmp_path) -> None:
    other = servo_log(TRUTH, 2, counts=0, seconds=10.0)
    seen = result.validate(other).rollout
    assert seen is not None
    assert seen.rmse < 1e-3
    assert {one.name: one.value for one in result.model.nonlinear} == pytest.approx({"vs1": 0.3}, rel=0.1)


def test_known_stribeck_velocities_are_not_fitted_away(log: dynid.Log) -> None:
    terms = ["armature", "viscous", "load_stribeck", "offset"]
    found = dynid.identify(TRUTH.robot, log, terms=terms, known={"vs1": 0.2}, control={**LAW, "output_error": False})
    assert found.record.commands is not None
    assert "vs1" not in [row.name for row in found.record.commands.parameters]
    assert found.model.nonlinear[0].value == 0.2


def test_nonlinear_friction_without_slopes_of_rollouts_is_refused(log: dynid.Log) -> None:
    with pytest.raises(DynidError, match="measured torques"):
        dynid.identify(TRUTH.robot, log, terms=["viscous", "sigmoid"], control=LAW)


def test_friction_that_grows_with_a_known_load_needs_commands(log: dynid.Log) -> None:
    load = dynid.Load.of_numbers(0.5, (0.0, 0.0, -0.15))
    measured = dynid.Log(time=log.time, position=log.position, torque=log.torque, load=load)
    with pytest.raises(DynidError, match="'directional_friction' is friction that grows with it"):
        dynid.identify(TRUTH.robot, measured, terms=["armature", *M5.terms, "offset"])
    with pytest.raises(DynidError, match="'load_coulomb' is friction"):
        dynid.identify(TRUTH.robot, measured, terms=["viscous", "load_coulomb"])
