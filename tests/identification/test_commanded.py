"""Robots without torque sensors: joint parameters from commands and positions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dynid
from dynid.errors import InvalidRequestError
from dynid.identification.command_checks import lag_of_commands
from dynid.identification.result import Result
from tests.commanded_logs import Controller, Study, commanded_log, multisine, study
from tests.commanded_robots import slider
from tests.datasets import example, needs_logs

REGRESSION = {"output_error": False}


@pytest.fixture(scope="module")
def truth() -> Study:
    return study(slider(), Controller(), seed=1, logs=3, seconds=5.0)


@pytest.fixture(scope="module")
def result(truth: Study, tmp_path_factory: pytest.TempPathFactory) -> Result:
    file = tmp_path_factory.mktemp("robot") / "slider.xml"
    file.write_text(truth.robot.text, encoding="utf-8")
    return dynid.identify(file, truth.logs[:2], control={"law": "continuous"})


def codes(result: Result) -> set[str]:
    return {finding.code for finding in result.findings}


def changed(study: Study, change: Callable[[dynid.Log], dynid.Log]) -> Result:
    logs = [change(log) for log in study.logs[:1]]
    return dynid.identify(study.robot.robot, logs, control=REGRESSION)


def test_the_truth_comes_back_with_its_delay_and_biases(truth: Study, result: Result) -> None:
    found = result.record.commands
    assert found is not None
    bars = {"Ia": 0.03, "fv": 0.05, "fs": 0.05}
    for row in found.parameters:
        if row.name[:2] in bars:
            assert row.value == pytest.approx(truth.truth[row.name], rel=bars[row.name[:2]])
        if row.name.startswith("bias") and row.state == "determined":
            assert row.value == pytest.approx(truth.truth[row.name], abs=1e-3)
    assert found.delay == pytest.approx(truth.delay, abs=3e-4)
    assert found.rollout.rmse < 0.3 * (found.rollout.robot_file or 0.0)
    assert {row.name: row.value for row in result.parameters}["Ia1"] == found["Ia1"].value


def test_unseen_logs_are_rolled_out_and_a_saved_result_does_the_same(
    truth: Study, result: Result, tmp_path: Path
) -> None:
    seen = result.validate(truth.logs[2])
    assert seen.rollout is not None
    assert seen.rollout.rmse < 5e-4
    assert [joint.name for joint in seen.rollout.joints] == ["rail", "swing", "elbow"]
    data = seen.to_dict()["rollout"]
    assert data["rmse"] == seen.rollout.rmse
    assert set(data["joints"][0]) >= {"name", "rmse", "robot_file", "command"}
    result.save(tmp_path / "result")
    again = dynid.load_result(tmp_path / "result").validate(truth.logs[2])
    assert again.rollout == seen.rollout


def test_gains_in_other_units_are_suspected(truth: Study) -> None:
    found = changed(truth, lambda log: replace(log, torque=None, kp=log.commands.kp * 100, kd=log.commands.kd * 100))
    finding = next(finding for finding in found.findings if finding.code == "gains-in-other-units")
    assert finding.values["power"] == pytest.approx(0.01)
    assert found.verdict.answer.value == "no"


def test_a_scale_of_the_gains_is_estimated(truth: Study) -> None:
    logs = [replace(log, torque=None, kp=log.commands.kp * 1.25, kd=log.commands.kd * 1.25) for log in truth.logs[:1]]
    control = {"gains": "scale", "law": "continuous", "bias": False}
    found = dynid.identify(truth.robot.robot, logs, control=control).record.commands
    assert found is not None
    assert found.gain_scales is not None
    np.testing.assert_allclose(found.gain_scales[1:], 0.8, rtol=0.05)


def test_unknown_gains_are_found_and_viscous_friction_has_those_on_velocities(truth: Study) -> None:
    logs = [replace(log, torque=None, kp=1.0, kd=None) for log in truth.logs[:1]]
    control = {"gains": "scale", "kp": "unknown", "law": "continuous"}
    result = dynid.identify(truth.robot.robot, logs, control=control)
    found = result.record.commands
    assert found is not None
    np.testing.assert_allclose(found.kp, truth.robot.kp, rtol=0.05)
    assert found["fv2"].value == pytest.approx(truth.truth["fv2"] + truth.robot.kd[1], rel=0.05)
    assert "kd-missing" in codes(result)


def test_logs_with_gaps_are_rolled_out_in_stretches(truth: Study) -> None:
    log = truth.logs[0]
    keep = np.ones(len(log), dtype=bool)
    keep[400:520] = False
    result = dynid.identify(truth.robot.robot, log.at(keep), control={"law": "continuous"})
    found = result.record.commands
    assert found is not None
    assert found.delay == pytest.approx(truth.delay, abs=3e-4)
    assert found["fs2"].value == pytest.approx(truth.truth["fs2"], rel=0.05)
    assert "time-gaps" in codes(result)


def test_known_friction_is_not_fitted_away(truth: Study) -> None:
    known = {"fs2": truth.truth["fs2"]}
    found = dynid.identify(truth.robot.robot, truth.logs[:1], known=known, control=REGRESSION).record.commands
    assert found is not None
    assert "fs2" not in [row.name for row in found.parameters]
    assert found["fv2"].value == pytest.approx(truth.truth["fv2"], rel=0.1)


def test_logs_that_are_too_short_are_refused(truth: Study) -> None:
    with pytest.raises(InvalidRequestError, match="100 samples"):
        dynid.identify(truth.robot.robot, truth.logs[0][:60])


def test_commands_that_are_shifted_in_the_log_are_said(truth: Study) -> None:
    log = truth.logs[0]
    assert 0.0 < lag_of_commands(log) < 0.2
    moved = replace(log, torque=None, position_command=np.roll(log.commands.position, 60, axis=0))
    assert lag_of_commands(moved) < -0.05
    assert "commands-shifted" in codes(changed(truth, lambda _: moved))


def test_commands_that_never_move_are_refused(truth: Study) -> None:
    with pytest.raises(InvalidRequestError, match="no commanded position ever changes"):
        changed(truth, lambda log: replace(log, torque=None, position_command=np.zeros_like(log.position)))


def test_one_command_that_never_moves_is_named(truth: Study) -> None:
    def still(log: dynid.Log) -> dynid.Log:
        wanted = np.array(log.commands.position)
        wanted[:, 0] = 0.0
        return replace(log, torque=None, position_command=wanted)

    assert "command-constant" in codes(changed(truth, still))


def test_a_weight_that_the_model_lacks_is_taken_for_a_contact(truth: Study) -> None:
    lift = np.array([0.0, 12.0, 9.0])
    found = changed(truth, lambda log: replace(log, torque=None, torque_command=np.zeros_like(log.position) + lift))
    assert "contact-missing" in codes(found)


def test_a_log_with_other_friction_is_named(truth: Study) -> None:
    joints = truth.robot.joints
    worn = replace(truth.robot, joints=replace(joints, coulomb=joints.coulomb * np.array([1.0, 1.2, 1.0])))
    other = commanded_log(worn, Controller(), multisine(worn, 77), 5.0, "worn")
    control = {"law": "continuous", "bias": True}
    found = dynid.identify(truth.robot.robot, [*truth.logs[:2], other], control=control)
    disagreeing = [finding for finding in found.findings if finding.code == "log-disagrees"]
    assert [(finding.values["log"], finding.values["parameter"]) for finding in disagreeing] == [("worn", "fs2")]
    assert disagreeing[0].values["value"] == pytest.approx(worn.joints.coulomb[1], rel=0.02)


def test_held_commands_are_recognised(result: Result) -> None:
    held = next(finding for finding in result.findings if finding.code == "commands-held")
    assert held.values["rate"] == pytest.approx(50.0, rel=0.05)


def test_logs_without_gains_or_torques_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="kp"):
        dynid.Log(time=np.arange(2.0), position=np.zeros(2), position_command=np.ones(2))
    with pytest.raises(InvalidRequestError, match="torque, or position_command"):
        dynid.Log(time=np.arange(2.0), position=np.zeros(2))


@pytest.mark.parametrize(
    ("control", "words"),
    [
        ({"kp": "unknown"}, "gains = 'scale'"),
        ({"law": "continuous", "rate": 100.0}, "rate"),
        ({"speed": 1}, "speed"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(truth: Study, control: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidRequestError, match=words):
        dynid.identify(truth.robot.robot, truth.logs[:1], control=control)


def test_measured_torques_and_commands_are_not_mixed(truth: Study) -> None:
    measured = replace(truth.logs[0], is_commanded=False)
    with pytest.raises(InvalidRequestError, match="identify them apart"):
        dynid.identify(truth.robot.robot, [measured, truth.logs[1]])


@needs_logs
def test_held_out_logs_of_the_go2_are_rolled_out_within_their_bars(tmp_path: Path) -> None:
    experiment = tmp_path / "go2.toml"
    text = example("go2").read_text(encoding="utf-8")  # two of its eight logs, for the time it takes
    experiment.write_text(text.replace("[0-7]", "[34]") + '\n[control]\nlaw = "continuous"\n', encoding="utf-8")
    found = dynid.identify(experiment)
    seen = found.validate(example("go2_validation"))
    assert seen.rollout is not None
    assert seen.rollout.rmse < 2.5e-3  # published values: 5.7 mrad; with all eight logs 2.3
    traded = next(finding for finding in found.findings if finding.code == "delay-confounded")
    assert traded.values["armature_slope"] < 0.0 > traded.values["viscous_slope"]
