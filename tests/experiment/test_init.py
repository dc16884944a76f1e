"""A first experiment: what columns are is told by their names and numbers, said, and runs as it is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dynid.errors import DynidError
from dynid.experiment.first.first_experiment import init
from dynid.experiment.reading import ExperimentError, read_experiment
from dynid.identification.pipeline import identify
from tests.bag_files import joint_states, write_bag
from tests.commands import run
from tests.practice_logs import log

STATE = "sensor_msgs/msg/JointState"


def renamed(**names: str) -> dict[str, np.ndarray]:
    return {names.get(key, key): values for key, values in log().items()}


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npz"])
def test_a_first_experiment_runs_as_it_is(ending: str, tmp_path: Path) -> None:
    path, columns = tmp_path / f"log{ending}", log()
    if ending == ".npz":
        np.savez(path, **columns)  # pyright: ignore[reportArgumentType]
    else:
        frame = pl.DataFrame(columns)
        frame.write_csv(path) if ending == ".csv" else frame.write_parquet(path)
    out = tmp_path / "first.toml"
    status, shown, error = run("init", "builtin:two_link", path, "--out", out)
    assert status == 0, error
    assert "4000 samples in 20 s, 200 Hz" in shown.replace("\n", " ")
    found = identify(out)
    assert found.relative_error < 0.01
    assert run("init", "builtin:two_link", path, "--out", out)[0] == 2  # never over a file
    status, shown, _ = run("init", "builtin:two_link", path, "--out", out, "--force", "--json")
    assert status == 0
    assert json.loads(shown)["joints"] == ["joint_1", "joint_2"]


def test_units_are_guessed_and_said(tmp_path: Path) -> None:
    columns = log()
    columns["t"] = 1e6 * columns["t"]
    for k in (1, 2):
        columns[f"q_{k}"] = np.degrees(columns[f"q_{k}"])
    pl.DataFrame(columns).write_csv(tmp_path / "log.csv")
    made = init("builtin:two_link", tmp_path / "log.csv", folder=tmp_path)
    assert 'unit = "us"' in made.text
    assert 'unit = "deg"' in made.text
    assert any("taken as degrees" in guess for guess in made.guesses)
    (tmp_path / "first.toml").write_text(made.text)
    assert identify(tmp_path / "first.toml").relative_error < 0.01


def test_joints_are_matched_by_name_before_order(tmp_path: Path) -> None:
    columns = renamed(q_1="joint_1 position", q_2="joint_2 position", tau_1="joint_1 current", tau_2="joint_2 current")
    pl.DataFrame(columns).select(sorted(columns, reverse=True)).write_csv(tmp_path / "log.csv")
    made = init("builtin:two_link", tmp_path / "log.csv", folder=tmp_path)
    assert 'columns = ["joint_1 position", "joint_2 position"]' in made.text
    assert 'columns = ["joint_1 current", "joint_2 current"], unit = "A"' in made.text
    (tmp_path / "first.toml").write_text(made.text)
    found = identify(tmp_path / "first.toml")
    assert found.record.drive_signs == (1, 1)


def test_joints_that_the_log_does_not_have_are_held(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 20.0, 0.01)
    names = [f"joint_{k}" for k in (2, 3, 4)]
    q = np.sin(np.multiply.outer(t, rng.uniform(1, 3, 3)))
    path = write_bag(tmp_path / "run", "mcap", {"/joint_states": (STATE, joint_states("mcap", names, t, q, 5.0 * q))})
    made = init("builtin:panda", path, folder=tmp_path)
    assert made.joints == tuple(names)
    assert made.locked == ("joint_1", "joint_5", "joint_6", "joint_7")
    (tmp_path / "first.toml").write_text(made.text)
    assert set(read_experiment(tmp_path / "first.toml").lock) == set(made.locked)


def test_a_table_without_names_is_taken_by_its_width(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "log.txt", np.column_stack(list(log().values())))
    made = init("builtin:two_link", tmp_path / "log.txt", folder=tmp_path)
    assert made.experiment.log[0].torques.columns == (3, 4)
    assert [question.code for question in made.questions] == ["choose-by-width"]
    (tmp_path / "first.toml").write_text(made.text)
    assert identify(tmp_path / "first.toml").relative_error < 0.01


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        (("a", "b"), ["position", "torque", "rate"]),
        (("t", "q_1", "q_2"), ["torque"]),
        (("t", "tau_1", "tau_2"), ["position"]),
    ],
)
def test_columns_that_are_not_found_are_questions_and_identify_names_their_lines(
    names: tuple[str, ...], keys: list[str], tmp_path: Path
) -> None:
    pl.DataFrame({name: np.arange(30.0) for name in names}).write_csv(tmp_path / "log.csv")
    out = tmp_path / "first.toml"
    status, shown, _ = run("init", "builtin:two_link", tmp_path / "log.csv", "--out", out, "--json")
    assert status == 0
    questions = json.loads(shown)["questions"]
    assert [question["key"] for question in questions] == keys
    assert all(question["guess"] is None for question in questions)
    with pytest.raises(ExperimentError) as error:
        read_experiment(out)
    lines = out.read_text().splitlines()
    assert error.value.line == questions[0]["line"]
    assert lines[questions[0]["line"] - 1].startswith(f"# {keys[0]} =")


def test_a_log_of_too_few_samples_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({name: values[:1] for name, values in log().items()}).write_csv(tmp_path / "log.csv")
    with pytest.raises(DynidError, match="has 1 sample"):
        init("builtin:two_link", tmp_path / "log.csv", folder=tmp_path)


def panda_log(path: Path, still: dict[int, float], jitter: float = 2e-4) -> Path:
    """A log of a Panda of which some joints (by number) rest at a position, but for the steps of their encoders."""
    rng = np.random.default_rng(1)
    t = np.arange(0.0, 20.0, 0.01)
    q = np.sin(np.multiply.outer(t, rng.uniform(0.5, 2, 7)))
    for number, at in still.items():
        q[:, number - 1] = at + jitter * np.round(rng.normal(size=len(t)))
    table = {"t": t, **{f"q_{k + 1}": q[:, k] for k in range(7)}, **{f"tau_{k + 1}": 5 * q[:, k] for k in range(7)}}
    pl.DataFrame(table).write_csv(path)
    return path


def test_joints_that_do_not_move_are_locked_where_they_rest(tmp_path: Path) -> None:
    path = panda_log(tmp_path / "log.csv", {3: 0.4, 6: 1.2})
    made = init("builtin:panda", path, folder=tmp_path)
    assert made.locked == ("joint_3", "joint_6")
    assert made.joints == ("joint_1", "joint_2", "joint_4", "joint_5", "joint_7")
    (finding,) = [f for f in made.findings if f.code == "joints-at-rest"]
    assert set(finding.values["joints"]) == {"joint_3", "joint_6"}
    with pytest.raises(DynidError, match=r"must end in \.toml"):
        made.save(tmp_path / "first.urdf")
    made.save(tmp_path / "first.toml")
    experiment = read_experiment(tmp_path / "first.toml")
    assert experiment.lock == pytest.approx({"joint_3": 0.4, "joint_6": 1.2}, abs=1e-3)
    assert experiment.log[0].position.columns == ("q_1", "q_2", "q_4", "q_5", "q_7")
    assert len(identify(tmp_path / "first.toml").record.joints) == 5


def test_joints_that_move_a_little_are_not_locked(tmp_path: Path) -> None:
    assert not init("builtin:panda", panda_log(tmp_path / "log.csv", {3: 0.4}, jitter=0.01), folder=tmp_path).locked
    everything = dict.fromkeys(range(1, 8), 0.3)
    assert not init("builtin:panda", panda_log(tmp_path / "rest.csv", everything), folder=tmp_path).locked
