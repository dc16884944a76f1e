"""The experiment file: what it means, and where it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynid.experiment.experiment import Experiment
from dynid.experiment.reading import ExperimentError, read_experiment
from dynid.files import line_of

GOOD = """
robot = "builtin:ur5"
terms = ["viscous", "coulomb"]

[drive]
ratios = [101, 101, 101, 101, 101, 101]
torques = "motor"

[[log]]
position = { file = "q.csv", columns = "q_*", unit = "rad" }
torque = { file = "${LOGS}/tau.csv" }
rate = 125

[processing]
lowpass = 10.0
decimate = [10, 10]
"""


@pytest.fixture
def read(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("LOGS", "/data/logs")

    def reading(text: str) -> Experiment:
        path = tmp_path / "experiment.toml"
        path.write_text(text)
        return read_experiment(path)

    return reading


def test_an_experiment_is_typed_frozen_and_has_whole_paths(read, tmp_path: Path) -> None:
    experiment = read(GOOD)
    assert experiment.robot == "builtin:ur5"
    assert experiment.log[0].position.file == str(tmp_path / "q.csv")
    assert experiment.log[0].torque.file == "/data/logs/tau.csv"
    assert experiment.drive.ratios == (101,) * 6
    assert experiment.processing.decimate == (10, 10)
    assert experiment.estimation.method == "wls"
    with pytest.raises(ValueError, match="frozen"):
        experiment.robot = "other"  # type: ignore[misc]


def test_a_robot_file_is_relative_to_the_experiment(read, tmp_path: Path) -> None:
    assert read(GOOD.replace("builtin:ur5", "robots/arm.urdf")).robot == str(tmp_path / "robots" / "arm.urdf")


WRONG = {
    "no toml": (GOOD + "[[log", "not valid TOML"),
    "unknown key": (
        GOOD + "lowpas = 3\n",
        r"line 17: there is no key 'lowpas' in \[processing\]; did you mean 'lowpass'",
    ),
    "unknown key at the top": ("robt = 1\n" + GOOD, "line 1: there is no key 'robt'; did you mean 'robot'"),
    "unknown key in a quantity": (
        GOOD.replace("unit = ", "unti = "),
        r"line 10: .*key 'unti' in .*did you mean 'unit'",
    ),
    "missing robot": (GOOD.replace('robot = "builtin:ur5"', ""), "the key 'robot' is missing"),
    "no logs": (GOOD[: GOOD.index("[[log]]")], "the key 'log' is missing"),
    "missing torque": (GOOD.replace("torque = {", "velocity = {"), "line 9: .*a log needs 'torque', or"),
    "wrong number": (GOOD.replace("lowpass = 10.0", "lowpass = -1"), "line 15: the key 'processing.lowpass' is -1"),
    "text for a number": (GOOD.replace("lowpass = 10.0", 'lowpass = "ten"'), "line 15: .*'ten'"),
    "nan": (GOOD.replace("lowpass = 10.0", "lowpass = nan"), "line 15: .*nan.*finite"),
    "wrong word": (GOOD.replace('torques = "motor"', 'torques = "engine"'), "line 7: .*'engine'.*'motor' or 'joint'"),
    "time and rate": (GOOD.replace("rate = 125", 'rate = 125\ntime = { file = "t.csv" }'), "either 'time' or 'rate'"),
    "no time": (GOOD.replace("rate = 125", ""), "either 'time' or 'rate'"),
    "a matrix that is none": (
        GOOD.replace('torques = "motor"', 'torques = "motor"\nmatrix = [[1.0], [1.0, 2.0]]').replace(
            "ratios", "#ratios"
        ),
        "must be square",
    ),
    "two ways to thin out": (GOOD + "rate = 50.0\n", "'decimate' or by 'rate'"),
    "unset variable": (GOOD.replace("${LOGS}", "${NO_SUCH}"), "line 11: .*environment variable that is not set"),
}


@pytest.mark.parametrize("case", WRONG, ids=list(WRONG))
def test_a_wrong_experiment_gives_an_error_that_names_the_line_and_the_key(case: str, read) -> None:
    text, message = WRONG[case]
    with pytest.raises(ExperimentError, match=message):
        read(text)


def test_missing_and_unreadable_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="cannot be read"):
        read_experiment(tmp_path / "nothing.toml")
    path = tmp_path / "experiment.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ExperimentError, match="UTF-8"):
        read_experiment(path)


def test_lines_are_found_in_tables_arrays_and_dotted_keys() -> None:
    text = "a = 1\nb.c = 2\n\n[d]\ne = 3\n[[f]]\ng = 1\n[[f]]\n# g = 0\ng = 2\nh = { i = 1 }\n"
    assert line_of(text, ("a",)) == 1
    assert line_of(text, ("b", "c")) == 2
    assert line_of(text, ("d", "e")) == 5
    assert line_of(text, ("f", 0, "g")) == 7
    assert line_of(text, ("f", 1, "g")) == 10
    assert line_of(text, ("f", 1, "h", "i")) == 11
    assert line_of(text, ("f", 1, "missing")) == 8
    assert line_of(text, ("nowhere",)) is None
