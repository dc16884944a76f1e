"""A first experiment from one file for each quantity, and for robots of every kind."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dynid.errors import DynidError
from dynid.experiment.first.first_experiment import FirstExperiment, init
from dynid.experiment.reading import ExperimentError, read_experiment
from dynid.findings import has
from dynid.identification.pipeline import identify
from tests.commands import run
from tests.practice_logs import RATE, log

EXAMPLES = Path(__file__).parents[2] / "examples"
DATASETS = Path(os.environ.get("DYNID_DATASETS", ""))
needs_datasets = pytest.mark.skipif("DYNID_DATASETS" not in os.environ, reason="DYNID_DATASETS is not set")


def written(folder: Path, made: FirstExperiment, *changes: tuple[str, str]) -> Path:
    text = made.text
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    (folder / "first.toml").write_text(text)
    return folder / "first.toml"


def files(folder: Path, **tables: dict[str, np.ndarray]) -> list[Path]:
    for name, columns in tables.items():
        pl.DataFrame(columns).write_csv(folder / f"{name}.csv")
    return [folder / f"{name}.csv" for name in tables]


def parts(*roles: str) -> dict[str, np.ndarray]:
    return {name: values for name, values in log().items() if name.split("_")[0] in roles}


@needs_datasets
def test_the_panda_log_runs_as_it_is(tmp_path: Path) -> None:
    made = init("builtin:panda", sorted((DATASETS / "panda").glob("*.txt")), folder=tmp_path)
    assert made.text.count("flat = true") == 3
    assert not made.needed
    found = identify(written(tmp_path, made))
    assert {term.partition(":")[0] for term in found.record.terms or ()} >= {"viscous", "coulomb", "offset"}
    assert len(found.parameters) >= 64  # Gaz et al.: 43 of links and 21 of friction
    assert found.relative_error < 0.02


@needs_datasets
def test_the_tiago_log_runs_as_it_is_and_its_efforts_are_doubted(tmp_path: Path) -> None:
    folder = DATASETS / "tiago"
    made = init(str(folder / "tiago_48_schunk.urdf"), sorted(folder.glob("*.csv")), folder=tmp_path)
    assert made.joints == ("torso_lift_joint", *(f"arm_{k}_joint" for k in range(1, 8)))
    assert "gripper_finger_joint" in made.locked
    assert "gravity alone takes" in made.needed[0]
    assert 'unmeasured = ["arm_5_joint", "arm_6_joint", "arm_7_joint"]' in made.text
    assert identify(written(tmp_path, made)).relative_error < 0.25


@needs_datasets
def test_the_tx40_log_asks_for_its_rate_and_gear_ratios(tmp_path: Path) -> None:
    logs = sorted((DATASETS / "tx40").glob("motor_*.csv"))
    out = tmp_path / "first.toml"
    status, shown, _ = run("init", "builtin:tx40", *logs, "--out", out, "--json")
    assert status == 0
    assert [question["code"] for question in json.loads(shown)["questions"]] == ["choose-rate"]
    with pytest.raises(ExperimentError, match="'rate' is open"):
        read_experiment(out)
    status, shown, _ = run("init", "builtin:tx40", *logs, "--out", out, "--rate", 5000, "--force")
    assert status == 0
    assert "NEEDED: drive.ratios" in shown
    with pytest.raises(DynidError, match=r"drive\.ratios has 0 numbers"):
        identify(out)
    ratios = 'ratios = [32, 32, 45, -48, 45, 32]\ncouplings = [{ motor = "joint_6", joint = "joint_5", ratio = 32 }]'
    example = (EXAMPLES / "tx40.toml").read_text().partition("[processing]")[0]  # processed automatically, too
    terms = next(line for line in example.splitlines() if line.startswith("terms ="))
    out.write_text(out.read_text().replace("ratios = []", ratios).replace('terms = "auto"', terms))
    by_hand = tmp_path / "by_hand.toml"
    by_hand.write_text(example)
    first, second = (identify(path).parameters for path in (out, by_hand))
    assert first.names == second.names
    assert np.array_equal(first.values, second.values)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_that_is_none_is_refused(rate: float, tmp_path: Path) -> None:
    logs = files(tmp_path, position=parts("q"), torque=parts("tau"))
    with pytest.raises(DynidError, match="not positive"):
        init("builtin:two_link", logs, folder=tmp_path, rate=rate)


def test_files_tell_by_name_what_columns_do_not(tmp_path: Path) -> None:
    same = {f"tau_{k}": f"q_{k}" for k in (1, 2)}
    torques = {same[name]: values for name, values in parts("tau").items()}
    logs = files(tmp_path, run_torque=torques, run_position=parts("q"), stamps=parts("t"))
    path = written(tmp_path, init("builtin:two_link", logs, folder=tmp_path))
    apart = identify(path).parameters
    files(tmp_path, whole=log())
    path = written(tmp_path, init("builtin:two_link", tmp_path / "whole.csv", folder=tmp_path))
    assert np.array_equal(apart.values, identify(path).parameters.values)


def test_a_given_rate_takes_the_place_of_stamps(tmp_path: Path) -> None:
    logs = files(tmp_path, position=parts("q"), torque=parts("tau"))
    made = init("builtin:two_link", logs, folder=tmp_path, rate=RATE)
    assert identify(written(tmp_path, made)).relative_error < 0.01
    (whole,) = files(tmp_path, whole=log())
    assert "time =" not in init("builtin:two_link", whole, folder=tmp_path, rate=RATE).text


def test_files_with_clocks_of_their_own_are_joined_on_time(tmp_path: Path) -> None:
    late = {name: values[500::2] for name, values in {**parts("tau"), "t": log()["t"]}.items()}
    logs = files(tmp_path, position=parts("t", "q"), torque=late)
    made = init("builtin:two_link", logs, folder=tmp_path)
    found = made.experiment.log[0]
    assert found.time is not None
    assert Path(found.time.file).name == "torque.csv"  # the slower clock leads
    assert (found.position.time, found.torques.time) == ("t", None)
    assert identify(written(tmp_path, made)).relative_error < 0.01


def test_clocks_without_time_in_common_are_refused(tmp_path: Path) -> None:
    late = {**parts("tau"), "t": log()["t"] + 100.0}
    with pytest.raises(DynidError, match="no time in common"):
        init("builtin:two_link", files(tmp_path, position=parts("t", "q"), torque=late), folder=tmp_path)


def test_two_files_of_one_quantity_are_a_question(tmp_path: Path) -> None:
    other = {name: 2.0 * values for name, values in parts("tau").items()}
    logs = files(tmp_path, position=parts("t", "q"), torque=parts("tau"), torque_second=other)
    made = init("builtin:two_link", logs, folder=tmp_path)
    assert [question.code for question in made.questions] == ["choose-columns"]
    assert Path(made.experiment.log[0].torques.file).name == "torque.csv"
    logs[2] = logs[2].rename(tmp_path / "torque_ext.csv")
    made = init("builtin:two_link", logs, folder=tmp_path)
    assert not made.questions
    assert has(made.findings, "columns-passed-over")


def test_files_whose_names_say_nothing_leave_the_question_open(tmp_path: Path) -> None:
    numbers = {"one": np.arange(30.0), "two": np.arange(30.0)}
    logs = files(tmp_path, a=numbers, torque=numbers)
    made = init("builtin:two_link", logs, folder=tmp_path, rate=100.0)
    assert [(question.code, question.key, question.guess) for question in made.questions] == [
        ("choose-missing", "position", None)
    ]
    assert init("builtin:two_link", logs, folder=tmp_path, rate=100.0, position="one,two").questions == ()


def test_one_number_a_line_must_fit_the_joints(tmp_path: Path) -> None:
    q = np.column_stack([log()["q_1"], log()["q_2"]])
    for name, values in (("position", q), ("torque", q), ("time", log()["t"])):
        np.savetxt(tmp_path / f"{name}.txt", values.ravel())
    logs = [tmp_path / f"{name}.txt" for name in ("position", "torque", "time")]
    assert "flat = true" in init("builtin:two_link", logs, folder=tmp_path).text
    with pytest.raises(DynidError, match=r"2 for each of the 4000 samples of time\.txt, but the robot has 3 joints"):
        init("builtin:spatial_3r", logs, folder=tmp_path)
    with pytest.raises(DynidError, match="not a multiple of the robot's 3 joints"):
        init("builtin:spatial_3r", logs[:2], folder=tmp_path, rate=100.0)


INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
LINK = f'<link name="{{0}}"><inertial><mass value="1"/>{INERTIA}</inertial></link>'
JOINT = '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><axis xyz="0 1 0"/>{4}</joint>'
LIMIT = 'upper="0.05" effort="1" velocity="1"'
GRIPPER = "".join(
    [
        '<robot name="r">',
        *(LINK.format(name) for name in ("base", "arm", "hand", "left", "right")),
        JOINT.format("joint_1", "continuous", "base", "arm", ""),
        JOINT.format("joint_2", "continuous", "arm", "hand", '<origin xyz="0 0 1"/>'),
        JOINT.format("finger", "prismatic", "hand", "left", f'<limit lower="0.01" {LIMIT}/>'),
        JOINT.format("other", "prismatic", "hand", "right", f'<limit lower="0" {LIMIT}/><mimic joint="finger"/>'),
        "</robot>",
    ]
)
MJCF = """<mujoco model="r"><worldbody><body name="a"><joint name="joint_1" axis="0 1 0"/>
<geom size="0.1" mass="1" pos="0.3 0 0"/><body name="b" pos="1 0 0"><joint name="joint_2" axis="0 1 0"/>
<geom size="0.1" mass="1" pos="0.3 0 0"/></body></body></worldbody></mujoco>"""
TABLE = """name = "r"
convention = "modified"
gravity = [0.0, -9.81, 0.0]
joint = [{ name = "joint_1" }, { name = "joint_2", a = 1.0 }]"""


@pytest.mark.parametrize(
    ("name", "text", "locked"),
    [("r.urdf", GRIPPER, ("finger",)), ("r.xml", MJCF, ()), ("r.toml", TABLE, ()), ("", "", ())],
    ids=["gripper that mimics", "MJCF", "table", "builtin"],
)
def test_robots_of_every_kind(name: str, text: str, locked: tuple[str, ...], tmp_path: Path) -> None:
    (whole,) = files(tmp_path, whole={name.replace("_", "_joint_"): values for name, values in log().items()})
    if text:
        (tmp_path / name).write_text(text)
    made = init(str(tmp_path / name) if name else "builtin:two_link", whole, folder=tmp_path)
    assert made.joints == ("joint_1", "joint_2")
    assert made.locked == locked
    assert ('"finger" = 0.01' in made.text) == bool(locked)
    assert len(identify(written(tmp_path, made)).parameters) > 4
