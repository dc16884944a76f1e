"""Logs read from Python: columns as stated, or guessed as `init` does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dynid import load_robot
from dynid.errors import InvalidRequestError
from dynid.experiment.first.first_experiment import init
from dynid.experiment.log_files import read_log
from dynid.experiment.reading import read_experiment
from dynid.findings import has

T = np.arange(200) / 100
Q = np.column_stack([np.sin(T), np.cos(T)])
TAU = np.column_stack([3 * np.sin(T), 5 * np.cos(T)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    columns = {"t": T, "q_1": Q[:, 0], "q_2": Q[:, 1], "tau_1": TAU[:, 0], "tau_2": TAU[:, 1], "warm": 293.15 + T}
    pl.DataFrame(columns).write_csv(tmp_path / "run.csv")
    return tmp_path / "run.csv"


@pytest.mark.parametrize("robot", ["builtin:two_link", load_robot("builtin:two_link")])
def test_columns_are_guessed_where_only_the_robot_is_given(path: Path, robot) -> None:
    log = read_log(str(path), robot)
    for found, expected in ((log.time, T), (log.position, Q), (log.torque, TAU)):
        assert np.array_equal(found, expected)
    assert log.velocity is None
    assert log.name == "run.csv"
    assert has(log.findings, "columns-guessed")


def test_stated_columns_and_units_need_no_robot(path: Path) -> None:
    units = {"position": "deg", "temperature": "K"}
    log = read_log(path, position=["q_1", "q_2"], torque="tau_*", time="t", temperature="warm", units=units)
    assert np.allclose(log.position, np.radians(Q))
    assert log.temperature is not None
    assert np.allclose(log.temperature[:, 0], 20.0 - 0.0 + (T), atol=1e-9)
    other = read_log(path, position={"columns": "q_1", "unit": "mm"}, torque="tau_1", rate=100.0, rows=(10, 20))
    assert np.allclose(other.position, 1e-3 * Q[10:20, :1])
    assert repr(other) == "Log 'run.csv': 10 samples in 0.09 s (100 Hz), 1 joint"


def test_what_is_missing_is_asked_for(path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="or neither and the robot"):
        read_log(path, "builtin:two_link", position="q_*")
    with pytest.raises(InvalidRequestError, match="or neither and the robot"):
        read_log(path)
    with pytest.raises(InvalidRequestError, match="log: a log needs either 'time' or 'rate'"):
        read_log(path, position="q_*", torque="tau_*")


def test_a_first_experiment_is_saved_where_it_is_wanted(path: Path, tmp_path: Path) -> None:
    made = init("builtin:two_link", str(path))
    (tmp_path / "deep").mkdir()
    saved = made.save(str(tmp_path / "deep" / "first.toml"))
    assert 'file = "../run.csv"' in saved.read_text()
    assert Path(read_experiment(str(saved)).log[0].position.file).resolve() == path
    assert made.experiment.log[0].position.columns == ("q_1", "q_2")
    assert has(made.findings, "log-sampling")
