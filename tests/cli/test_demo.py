"""The whole workflow in one command, on robots of every format."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dynid
from dynid import load_result, load_robot
from dynid.cli import app
from dynid.cli.demonstration import Step, demo
from dynid.identification.answers import Answer
from dynid.robot import inertia
from tests.references import example_robot_files


def slim_arm() -> str:
    """A URDF of the example robots with few joints, whatever the installed version has."""
    for path in example_robot_files():
        if path.name in ("ur3_robot.urdf", "ur5_robot.urdf", "xarm7.urdf", "kinova.urdf"):
            return str(path)
    pytest.skip("the installed example-robot-data has none of the arms that this test knows")


@pytest.mark.parametrize("robot", ["builtin:two_link", "URDF"])
def test_the_demo_comes_near_the_truth_and_writes_everything(robot: str, tmp_path: Path) -> None:
    steps: list[Step] = []
    source = slim_arm() if robot == "URDF" else robot
    made = demo(tmp_path / "demo", source, design_seconds=8.0 if robot == "URDF" else 3.0, done=steps.append)
    titles = [step.title for step in steps]
    assert titles == ["Inspect", "Excite", "Simulate", "Identify", "Validate", "Control", "Write"]
    found = made.comparison
    assert found.within_intervals >= 0.6 * found.parameters  # 95 % of ten, of a design that depends on the time it had
    assert found.largest_torque_effect < 0.02
    assert made.validation.verdict.answer is not Answer.NO  # links that differ from the file may look like a payload
    assert made.validation.relative_error < 0.03
    data = made.to_dict()
    for file in (*data["files"], data["report"]):
        assert Path(file).stat().st_size > 0
    again = load_result(tmp_path / "demo" / "result")
    assert again.parameters == made.result.parameters
    written = load_robot(made.files[0])
    assert all(inertia.is_physical(written.links[i].parameters) for i in written.solid_links)


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    result = CliRunner().invoke(app, ["demo", "--robot", "builtin:two_link", "--out", str(tmp_path), "--force"])
    assert result.exit_code == 2
    assert "something else" in result.stderr
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_floating_robot_is_refused_with_words(tmp_path: Path) -> None:
    source = tmp_path / "free.xml"
    source.write_text('<mujoco><worldbody><body><freejoint/><geom size="0.1" mass="1"/></body></worldbody></mujoco>')
    result = CliRunner().invoke(app, ["demo", "--robot", str(source), "--out", str(tmp_path / "demo"), "--json"])
    assert result.exit_code == 2
    assert "floating base" in result.stderr


def test_the_demo_runs_in_memory_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = demo(robot="builtin:two_link", design_seconds=2.0)
    found = made.comparison
    assert found.within_intervals >= 0.6 * found.parameters  # 95 % of ten, of a design that depends on the time it had
    assert found.largest_torque_effect < 0.02
    assert made.validation.verdict.answer is Answer.YES
    assert made.validation.relative_error < 0.03
    assert list(tmp_path.iterdir()) == []


def test_the_command_prints_json_for_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynid, "demo", partial(demo, design_seconds=4.0))
    arguments = ["demo", "--robot", "builtin:pendulum", "--out", str(tmp_path / "demo"), "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data["robot"] == "pendulum"
    assert Path(data["report"]).exists()
