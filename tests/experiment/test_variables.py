"""Environment variables: expanded in paths and nowhere else, and their values are shown and written nowhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

import dynid
from dynid.errors import DynidError, as_written
from dynid.experiment.reading import ExperimentError, read_experiment
from dynid.files import expanded_path
from dynid.findings import Finding
from tests.commands import run
from tests.practice_logs import EXPERIMENT, LOGS, log

SECRET = "hunter2zq"
ROBOT = 'robot = "builtin:two_link"'


@pytest.fixture
def data(tmp_path: Path, monkeypatch) -> Path:
    """A folder whose name is a secret, with two logs and a robot; `${DATA}` and `${SECRET}` are set."""
    folder = tmp_path / SECRET / "logs"
    folder.mkdir(parents=True)
    monkeypatch.setenv("DATA", str(folder))
    monkeypatch.setenv("SECRET", SECRET)
    for name, seed in (("one.csv", 0), ("two.csv", 1)):
        pl.DataFrame(log(seed, seconds=3.0)).write_csv(folder / name)
    dynid.convert("builtin:two_link", folder / "arm.urdf")
    return folder


def written(folder: Path, text: str, **changes: str) -> Path:
    """An experiment whose paths use `${DATA}`, with some texts replaced."""
    text = text.replace("log.csv", "${DATA}/one.csv").replace("builtin:two_link", "${DATA}/arm.urdf")
    for old, new in changes.items():
        text = text.replace(old, new)
    path = folder / "experiment.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('columns = "q_*"', 'columns = "${SECRET}"'),
        ('columns = "tau_*"', 'columns = ["${SECRET}", "$SECRET"]'),
        ("[[log]]", '[[log]]\nname = "${SECRET}"\nweight = -1'),
        ('terms = ["viscous", "coulomb"]', 'terms = ["${SECRET}"]'),
        (ROBOT, ROBOT + '\nknown = { "${SECRET}" = 1.0 }'),
        (ROBOT, ROBOT + '\nlock = { "${SECRET}" = 1.0 }'),
        ("trim = 5", 'trim = "${SECRET}"'),
        ("trim = 5", '"${SECRET}" = 5'),
    ],
    ids=["columns", "list", "name", "terms", "known", "lock", "value", "key"],
)
def test_other_values_are_not_expanded(data: Path, tmp_path: Path, old: str, new: str) -> None:
    path = written(tmp_path, EXPERIMENT.replace(old, new))
    status, output, error = run("identify", path, "--out", tmp_path / "result")
    assert status == 2
    assert "SECRET" in error or "weight" in error
    assert SECRET not in output + error


@pytest.mark.parametrize(
    ("old", "shown"),
    [
        ("one.csv", "${DATA}/missing.csv: there is no such file"),
        ("arm.urdf", "${DATA}/missing.csv: there is no such file"),
        ("q_*", "${DATA}/one.csv: there is no column 'missing.csv'"),
    ],
)
def test_errors_show_paths_as_they_are_written(data: Path, tmp_path: Path, old: str, shown: str) -> None:
    path = written(tmp_path, EXPERIMENT, **{old: "missing.csv"})
    _, _, error = run("identify", path, "--out", tmp_path / "result")
    assert shown in error
    assert SECRET not in error


def test_results_hold_no_value_and_work_where_the_variable_is_another(data: Path, tmp_path: Path, monkeypatch) -> None:
    result, more, moved = tmp_path / "result", tmp_path / "more", tmp_path / "moved"
    path = written(tmp_path, EXPERIMENT)
    logs = tmp_path / "logs.toml"
    logs.write_text(LOGS.replace("log.csv", "${DATA}/two.csv"))
    shown = [run("identify", path, "--out", result, "--full"), run("identify", logs, "--add-to", result, "--out", more)]
    shown += [run("report", more), run("validate", result, logs, "--json")]
    assert [status for status, _, _ in shown] == [0] * 4
    assert SECRET not in "".join(output + error for _, output, error in shown)
    for folder in (result, more):
        assert all(SECRET.encode() not in file.read_bytes() for file in folder.rglob("*"))
    shutil.copytree(data, moved)
    shutil.rmtree(data)
    monkeypatch.setenv("DATA", str(moved))
    assert dynid.load_result(more).task.earlier[0].position.path == moved / "one.csv"  # type: ignore[union-attr]


def test_relative_values_are_relative_to_the_experiment(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("PART", "deep/er")
    path = tmp_path / "experiment.toml"
    path.write_text(EXPERIMENT.replace("log.csv", "a/${PART}/log.csv"))
    source = read_experiment(path).log[0].position.path
    assert source == tmp_path / "a/deep/er/log.csv"
    assert str(DynidError(f"{source}: gone")) == f"{tmp_path}/a/${{PART}}/log.csv: gone"


def test_findings_show_paths_as_they_are_written(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("DATA", str(tmp_path / SECRET))
    file = expanded_path("${DATA}/mesh.stl", tmp_path)
    finding = Finding.of("meshes-missing", f"file {file}", file=[file, (file, 1)])
    assert finding.subject == "file ${DATA}/mesh.stl"
    assert finding.values["file"] == ["${DATA}/mesh.stl", ("${DATA}/mesh.stl", 1)]


def test_words_of_messages_are_no_values(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("WORD", "column")
    assert expanded_path("$WORD", Path()) == "column"
    assert as_written("there is no column 'q'") == "there is no column 'q'"


def test_addresses_hold_no_variables(tmp_path: Path, monkeypatch) -> None:
    """A value in an address would leave this machine."""
    monkeypatch.setenv("SECRET", SECRET)
    path = tmp_path / "experiment.toml"
    path.write_text(EXPERIMENT.replace("log.csv", "https://example.org/${SECRET}/log.csv"))
    with pytest.raises(ExperimentError, match="in an address, where none is expanded"):
        read_experiment(path)
