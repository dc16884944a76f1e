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
from tests.practice_logs import EXPERIMENT, MODEL, PROCESSING, in_memory, log


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


def test_a_log_file_needs_the_layout_of_an_experiment(result: Result, tmp_path: Path) -> None:
    pl.DataFrame(log(seed=7)).write_csv(tmp_path / "other.csv")
    with pytest.raises(InvalidRequestError, match=r"dynid\.read_log"):
        result.validate(tmp_path / "other.csv")


def test_json_keeps_its_keys(result: Result) -> None:
    data = json.loads(json.dumps(result.validate(in_memory(log(seed=7))).to_dict(), allow_nan=False))
    promised = {"relative_error", "joints", "findings", "samples", "physical_relative_error", "physical_joints"}
    assert promised <= set(data)
    assert {"name", "rmse", "nrmse", "r2"} <= set(data["joints"][0])


def test_currents_without_torque_constants_are_refused(write, tmp_path: Path) -> None:
    result = dynid.identify(write())
    text = (tmp_path / "experiment.toml").read_text().replace('columns = "tau_*"', 'columns = "tau_*", unit = "A"')
    (tmp_path / "amperes.toml").write_text(text)
    with pytest.raises(InvalidRequestError, match="torque_constants"):
        result.validate(tmp_path / "amperes.toml")
