"""The whole day in one command, on robots of every format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dynid import load_robot
from dynid.cli import app
from dynid.cli.demonstration import Step, run_demo
from dynid.robot import inertia
from tests.references import example_robot_files


def slim_arm() -> str:
    """A URDF of the example robots with few joints, whatever the installed version has."""
    for path in example_robot_files():
        if path.name in ("ur3_robot.urdf", "ur5_robot.urdf", "xarm7.urdf", "kinova.urdf"):
            return str(path)
    pytest.skip("the installed example-robot-data has none of the arms that this test knows")


@pytest.mark.parametrize("robot", ["builtin:two_link", "builtin:tx40", "URDF"])
def test_the_demo_comes_near_the_truth_and_writes_everything(robot: str, tmp_path: Path) -> None:
    steps: list[Step] = []
    data = run_demo(slim_arm() if robot == "URDF" else robot, tmp_path / "demo", design_seconds=4.0, done=steps.append)
    assert [step.title for step in steps] == ["Inspect", "Excite", "Simulate", "Identify", "Validate", "Write"]
    assert data["true_parameter_error"] < 0.02
    assert data["validation_relative_error"] < 0.03
    for file in (*data["files"], data["report"]):
        assert Path(file).stat().st_size > 0
    written = load_robot(data["files"][0])
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


def test_the_command_prints_json_for_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynid.cli.demonstration.run_demo", lambda *_, **__: {"report": "report.html"})
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo"), "--json"])
    assert json.loads(result.stdout) == {"report": "report.html"}
