"""Validation on logs that were not used: objects in memory, log files and experiment files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dynid
from dynid import Result
from dynid.errors import InvalidRequestError
from dynid.findings import has
from dynid.identification.answers import Answer
from dynid.identification.result import ResultError
from tests.practice_logs import EXPERIMENT, LOGS, MODEL, PROCESSING, in_memory, log


@pytest.fixture(scope="module")
def result() -> Result:
    return dynid.identify(MODEL.robot, in_memory(log()), MODEL.terms, processing=PROCESSING)


def test_unseen_logs_in_memory_are_predicted(result: Result) -> None:
    found = result.validate(in_memory(log(seed=7)))
    assert found.relative_error < 0.02
    assert [joint.name for joint in found.joints] == list(MODEL.row_names)
    assert all(joint.r2 > 0.99 and joint.rows > 1000 for joint in found.joints)
    assert found.physical is not None
    assert found.physical.relative_error < 0.02
    assert found.samples == 4000 - 2 * 5
    assert found.simulation is None


def test_logs_in_memory_log_files_and_experiments_are_the_same(write, tmp_path: Path) -> None:
    result = dynid.identify(write())
    pl.DataFrame(log(seed=7)).write_csv(tmp_path / "other.csv")
    (tmp_path / "other.toml").write_text(EXPERIMENT.replace("log.csv", "other.csv"))
    ways = [in_memory(log(seed=7)), tmp_path / "other.csv", str(tmp_path / "other.csv"), tmp_path / "other.toml"]
    first, *others = (dynid.validate(result, way) for way in ways)
    assert first.relative_error < 0.02
    for other in others:
        assert other.relative_error == pytest.approx(first.relative_error, rel=1e-9)
        assert [joint.rmse for joint in other.joints] == pytest.approx([joint.rmse for joint in first.joints], rel=1e-9)


def test_several_logs_count_together(result: Result) -> None:
    logs = [in_memory(log(seed=seed)) for seed in (7, 8)]
    both, parts = result.validate(*logs), [result.validate(one) for one in logs]
    assert both.samples == sum(part.samples for part in parts)
    squares = sum(part.joints[0].rmse ** 2 * part.joints[0].rows for part in parts)
    assert both.joints[0].rmse == pytest.approx(np.sqrt(squares / both.joints[0].rows), rel=1e-9)


def test_a_log_of_another_robot_is_predicted_badly(result: Result) -> None:
    columns = log(seed=7)
    columns["tau_2"] = columns["tau_2"] + 5.0
    found = result.validate(in_memory(columns))
    good, bad = found.joints
    assert good.relative_error < 0.02
    assert bad.relative_error > 0.3
    assert bad.rmse == pytest.approx(5.0, rel=0.02)


def test_filters_that_differ_from_the_results_are_said(write, tmp_path: Path) -> None:
    result = dynid.identify(write())
    pl.DataFrame(log(seed=7)).write_csv(tmp_path / "other.csv")
    path = tmp_path / "other.toml"
    for more, code in (("", "filters-alike"), ("lowpass = 5.0\n", "filters-differ")):
        path.write_text(EXPERIMENT.replace("log.csv", "other.csv") + more)
        (finding,) = [one for one in result.validate(path).findings if one.code.startswith("filters-")]
        assert finding.code == code


def test_json_keeps_its_keys(result: Result) -> None:
    data = json.loads(json.dumps(result.validate(in_memory(log(seed=7))).to_dict(), allow_nan=False))
    promised = {"relative_error", "joints", "findings", "samples", "physical_relative_error", "physical_joints"}
    assert promised | {"all_rows", "rows", "row_selection", "verdict"} <= set(data)
    assert {"relative_error", "physical_relative_error", "rows", "joints"} <= set(data["all_rows"])
    assert data["verdict"]["answer"] == "yes"
    assert {"name", "rmse", "nrmse", "r2"} <= set(data["joints"][0])


def test_currents_without_torque_constants_are_refused(write, tmp_path: Path) -> None:
    result = dynid.identify(write())
    text = (tmp_path / "experiment.toml").read_text().replace('columns = "tau_*"', 'columns = "tau_*", unit = "A"')
    (tmp_path / "amperes.toml").write_text(text)
    with pytest.raises(InvalidRequestError, match="torque_constants"):
        result.validate(tmp_path / "amperes.toml")


@pytest.mark.parametrize("processing", [{}, {"decimate": [4]}])
def test_errors_of_all_rows_stand_beside_those_of_moving_joints(processing: dict[str, object]) -> None:
    """Where a joint is slow, its torque sticks: rows that the threshold drops are predicted far worse."""
    settings = {**PROCESSING, "velocity_threshold": 0.3, **processing}
    result = dynid.identify(MODEL.robot, in_memory(log()), MODEL.terms, processing=settings)
    columns = log(seed=7)
    speed = np.abs(np.gradient(columns["q_2"], columns["t"]))
    columns["tau_2"] = np.where(speed < 0.25, columns["tau_2"] + 4.0, columns["tau_2"])
    found = result.validate(in_memory(columns))
    moving, every = found.joints[1], found.all_rows.joints[1]
    samples = -(-(4000 - 2 * 5) // 4) if processing else 4000 - 2 * 5
    assert every.rows == samples
    assert moving.rows < every.rows
    assert every.relative_error > 2.0 * moving.relative_error
    assert found.rows == sum(joint.rows for joint in found.joints)
    assert str(found.rows) in found.row_selection
    assert str(found.all_rows.rows) in found.row_selection
    assert found.physical_all_rows is not None


def test_all_rows_are_the_rows_where_nothing_is_dropped() -> None:
    result = dynid.identify(MODEL.robot, in_memory(log()), MODEL.terms, processing={"trim": 5, "automatic": False})
    found = result.validate(in_memory(log(seed=7)))
    assert found.all_rows.joints == found.joints
    assert found.rows == 2 * (4000 - 2 * 5)


def test_a_held_out_log_makes_a_result_trusted_and_its_own_log_does_not(write, tmp_path: Path) -> None:
    result = dynid.identify(write())
    assert result.verdict.answer is Answer.FITS
    pl.DataFrame(log(seed=7)).write_csv(tmp_path / "other.csv")
    assert result.validate(tmp_path / "other.csv").verdict.answer is Answer.YES
    for own in (tmp_path / "log.csv", tmp_path / "experiment.toml"):
        found = result.validate(own)
        assert has(found.findings, "log-not-held-out")
        assert found.verdict.answer is Answer.FITS
        assert found.unseen is None
    halves = [EXPERIMENT.replace("[[log]]", f"[[log]]\nrows = {rows}") for rows in ("[0, 2000]", "[2000, 4000]")]
    for name, text in zip(("first.toml", "second.toml"), halves, strict=True):
        (tmp_path / name).write_text(text)
    trained = dynid.identify(tmp_path / "first.toml")
    assert trained.validate(tmp_path / "second.toml").verdict.answer is Answer.YES
    assert trained.validate(tmp_path / "experiment.toml").verdict.answer is Answer.FITS


def test_a_log_in_memory_that_was_used_validates_nothing(result: Result) -> None:
    assert result.validate(in_memory(log())).verdict.answer is Answer.FITS
    assert result.validate(in_memory(log(seed=7))).verdict.answer is Answer.YES


def test_held_out_torques_that_are_predicted_badly_are_in_the_headline(result: Result) -> None:
    columns = log(seed=7)
    for k in (1, 2):
        columns[f"tau_{k}"] = 1.6 * columns[f"tau_{k}"]
    verdict = result.validate(in_memory(columns)).verdict
    assert verdict.answer is Answer.CARE
    assert verdict.uses[1].answer is Answer.NO
    assert "37" in verdict.headline


def test_an_error_of_the_held_out_log_itself_is_named_beside_its_error(result: Result) -> None:
    columns = log(seed=7)
    columns["tau_2"] = 0.0 * columns["tau_2"] + 3.0
    found = result.validate(in_memory(columns))
    assert has(found.findings, "torque-constant")
    assert "'joint_2'" in found.verdict.headline
    assert found.verdict.answer is not Answer.YES


@pytest.fixture
def beside_a_robot_file(write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a robot file, its experiment, a saved result and a held-out log, seen from the folder above."""
    folder = tmp_path / "arm"
    folder.mkdir()
    dynid.convert("builtin:two_link", folder / "arm.urdf")
    of_file = EXPERIMENT.replace("builtin:two_link", "arm.urdf")
    (folder / "arm.toml").write_text(of_file)
    (folder / "other.toml").write_text(of_file.replace("log.csv", "other.csv"))
    pl.DataFrame(log()).write_csv(folder / "log.csv")
    pl.DataFrame(log(seed=7)).write_csv(folder / "other.csv")
    dynid.identify(folder / "arm.toml").save(folder / "result")
    monkeypatch.chdir(tmp_path)
    return folder


def test_robots_are_compared_by_what_they_are_and_not_by_their_paths(beside_a_robot_file: Path) -> None:
    whole = dynid.validate(beside_a_robot_file / "result", beside_a_robot_file / "other.toml")
    assert dynid.validate("arm/result", "arm/other.toml").to_dict() == whole.to_dict()
    assert dynid.identify("arm/other.toml", add_to="arm/result").record.logs == 2
    text = (beside_a_robot_file / "arm.urdf").read_text()
    (beside_a_robot_file / "copy.urdf").write_text(text.replace("robot name=", "robot   name="))
    (beside_a_robot_file / "copy.toml").write_text(
        EXPERIMENT.replace("builtin:two_link", "copy.urdf").replace("log.csv", "other.csv")
    )
    assert dynid.validate("arm/result", "arm/copy.toml").relative_error == pytest.approx(whole.relative_error, rel=1e-9)


def test_a_file_of_logs_alone_or_with_other_terms_validates(beside_a_robot_file: Path) -> None:
    whole = dynid.validate("arm/result", "arm/other.toml")
    alone = LOGS.replace("log.csv", "other.csv")
    other_terms = (EXPERIMENT + "[known]\nfv1 = 0.5\n").replace('"viscous", "coulomb"', '"viscous"')
    for text in (alone, other_terms.replace("builtin:two_link", "arm.urdf").replace("log.csv", "other.csv")):
        (beside_a_robot_file / "held_out.toml").write_text(text)
        found = dynid.validate("arm/result", "arm/held_out.toml")
        assert found.relative_error == pytest.approx(whole.relative_error, rel=1e-9)


def test_a_file_of_logs_alone_is_added_to_a_result_that_can_be_saved(beside_a_robot_file: Path) -> None:
    (beside_a_robot_file / "more.toml").write_text(LOGS.replace("log.csv", "other.csv"))
    both, alone = (dynid.identify(f"arm/{name}.toml", add_to="arm/result") for name in ("other", "more"))
    assert alone.values == pytest.approx(both.values, rel=1e-9)
    alone.save("elsewhere")
    again = dynid.load_result("elsewhere")
    assert again.values == pytest.approx(alone.values, rel=1e-12)
    for name in ("more", "arm"):  # the log that was added, and the one that it was added to
        with pytest.raises(ResultError, match="count twice"):
            dynid.identify(f"arm/{name}.toml", add_to="elsewhere")
        assert has(again.validate(f"arm/{name}.toml").findings, "log-not-held-out")


def test_a_file_of_another_robot_or_mounting_is_refused(beside_a_robot_file: Path) -> None:
    for change, key in (
        ('robot = "builtin:ur5"', "robot"),
        ('robot = "arm.urdf"\ngravity = [0, 0, 9.81]', "gravity"),
    ):
        text = EXPERIMENT.replace('robot = "builtin:two_link"', change).replace("log.csv", "other.csv")
        (beside_a_robot_file / "wrong.toml").write_text(text)
        with pytest.raises(ResultError, match=f"another robot than the result: '{key}' differs"):
            dynid.validate("arm/result", "arm/wrong.toml")


def test_a_log_file_of_a_result_from_memory_is_read_by_its_names(result: Result, tmp_path: Path) -> None:
    pl.DataFrame(log(seed=7)).write_csv(tmp_path / "other.csv")
    found = result.validate(tmp_path / "other.csv")
    assert found.relative_error == pytest.approx(result.validate(in_memory(log(seed=7))).relative_error, rel=1e-6)
