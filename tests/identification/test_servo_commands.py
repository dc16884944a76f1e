"""Identification of a servo on a pendulum from its commands, against a simulation that has nothing of dynid in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynid
from dynid import Result, Servo
from tests.servo_truth import ServoPendulum, servo_log

TRUTH = ServoPendulum(friction={"fs": 0.08, "fv": 0.03}, offset=0.02)
LAW = {"delay": 0.0, "law": "continuous", "bias": False}

EXPERIMENT = """
robot = "pendulum.urdf"
terms = ["armature", "viscous", "coulomb", "offset"]
[[log]]
time = {{ file = "log.csv", columns = "t" }}
position = {{ file = "log.csv", columns = ["q_1"] }}
position_command = {{ file = "log.csv", columns = ["q_command_1"] }}
[control]
delay = 0.0
law = "continuous"
{more}
[control.servo]
voltage = 12.0
stall_torque = {stall}
no_load_speed = 8.0
kp = 5.0
max_duty = 0.95
"""


@pytest.fixture(scope="module")
def logs() -> list[dynid.Log]:
    return [servo_log(TRUTH, seed, seconds=15.0) for seed in (1, 2)]


@pytest.fixture(scope="module")
def result(logs: list[dynid.Log]) -> Result:
    return dynid.identify(TRUTH.robot, logs[0], control=LAW)


def values(result: Result) -> dict[str, float]:
    assert result.record.commands is not None
    return {row.name: row.value for row in result.record.commands.parameters}


def test_friction_and_armature_of_a_servo_are_found(result: Result, logs: list[dynid.Log]) -> None:
    found = values(result)
    assert found["Ia1"] == pytest.approx(0.012, rel=0.02)
    assert found["fs1"] == pytest.approx(0.08, rel=0.05)
    assert found["fv1"] == pytest.approx(0.03, rel=0.05)
    seen = result.validate(logs[1]).rollout
    assert seen is not None
    assert seen.rmse < 6e-4  # counts of 1.5 mrad are 0.44 mrad


def test_what_motions_of_servos_cannot_separate_is_said_with_figures(result: Result) -> None:
    finding = next(finding for finding in result.findings if finding.code == "servo-confounded")
    assert finding.values["sum"] == pytest.approx(0.75 + 0.03, rel=0.01)
    assert finding.values["stall"] == pytest.approx(6.0 * 0.95)


def test_known_links_weigh_the_stall_torque(logs: list[dynid.Log]) -> None:
    true: dict[str, Any] = dict(TRUTH.servo.law(1))
    law = {key: value * (1.0 if key == "back_emf" else 0.7) for key, value in true.items()}
    wrong, other = (replace(log, torque=None, **law) for log in logs)
    result = dynid.identify(TRUTH.robot, wrong, control={**LAW, "gains": "scale"})
    found = result.record.commands
    assert found is not None
    assert found.gain_scales is not None
    assert found.gain_scales[0] == pytest.approx(1.0 / 0.7, rel=0.02)
    assert found.effort_limit is not None
    assert found.effort_limit[0] == pytest.approx(5.7, rel=0.02)
    rmse = result.validate(other).rollout
    assert rmse is not None
    assert rmse.rmse < 6e-4


def test_experiments_state_servos(result: Result, logs: list[dynid.Log], tmp_path: Path) -> None:
    (tmp_path / "pendulum.urdf").write_text(TRUTH.urdf, encoding="utf-8")
    logs[0].to_frame().write_csv(tmp_path / "log.csv")
    experiment = tmp_path / "servo.toml"
    experiment.write_text(EXPERIMENT.format(more="", stall=6.0), encoding="utf-8")
    found = dynid.identify(experiment)
    assert values(found) == pytest.approx(values(result), rel=1e-6)
    experiment.write_text(EXPERIMENT.format(more='gains = "scale"', stall=4.0), encoding="utf-8")
    scaled = dynid.identify(experiment)
    assert scaled.record.commands is not None
    assert scaled.record.commands.gain_scales is not None
    scaled.save(tmp_path / "result")
    again = dynid.load_result(tmp_path / "result")
    law = Servo(voltage=12.0, stall_torque=4.0, no_load_speed=8.0, kp=5.0, max_duty=0.95).law(1)
    other = replace(logs[1], torque=None, **law)
    assert again.validate(other).rollout == scaled.validate(other).rollout


def test_simulators_get_back_emf_as_damping(result: Result) -> None:
    from dynid.identification import joint_models

    joint = joint_models(result)[0]
    assert joint.viscous is not None
    assert joint.kp is not None
    assert joint.effort_limit is not None
    assert joint.viscous.value == pytest.approx(0.75 + values(result)["fv1"])
    assert (joint.kp.value, joint.effort_limit.value) == pytest.approx((30.0, 5.7))
    np.testing.assert_allclose(values(result)["fv1"], 0.03, rtol=0.05)


def test_rollouts_carry_the_load_of_each_log(logs: list[dynid.Log]) -> None:
    heavy = [servo_log(TRUTH, seed, seconds=15.0, added=0.5) for seed in (3, 4)]
    result = dynid.identify(TRUTH.robot, [logs[0], heavy[0]], control=LAW)
    found = values(result)
    assert found["Ia1"] == pytest.approx(0.012, rel=0.02)
    assert found["fs1"] == pytest.approx(0.08, rel=0.05)
    for log in (logs[1], heavy[1]):
        seen = result.validate(log).rollout
        assert seen is not None
        assert seen.rmse < 6e-4
    unsaid = result.validate(replace(heavy[1], load=None)).rollout
    assert unsaid is not None
    assert unsaid.rmse > 5e-3
    with pytest.raises(dynid.DynidError, match="'weight', which is not known"):
        dynid.identify(TRUTH.robot, replace(heavy[0], load="weight"), control=LAW)


def test_experiments_state_the_load_of_a_log_with_commands(tmp_path: Path) -> None:
    (tmp_path / "pendulum.urdf").write_text(TRUTH.urdf, encoding="utf-8")
    servo_log(TRUTH, 3, seconds=15.0, added=0.5).to_frame().write_csv(tmp_path / "log.csv")
    load = '[[load]]\nname = "weight"\nmass = 0.5\ncenter_of_mass = [0.0, 0.0, -0.15]\n'
    text = EXPERIMENT.format(more="", stall=6.0).replace("[control]", f'load = "weight"\n{load}[control]')
    (tmp_path / "servo.toml").write_text(text, encoding="utf-8")
    assert values(dynid.identify(tmp_path / "servo.toml"))["fs1"] == pytest.approx(0.08, rel=0.05)
