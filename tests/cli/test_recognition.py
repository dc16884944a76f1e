"""A file given to the wrong command: what it is, and the command that takes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import dynid
from dynid.cli import app
from dynid.files import FileKind, kind_of

LOG, ROBOT, EXPERIMENT, RESULT, MOTION = "log.csv", "robot.urdf", "experiment.toml", "result", "motion"

WRONG = {
    f"inspect {LOG}": "is a log, and a robot file was expected; .*'dynid init ROBOT log.csv'",
    f"inspect {RESULT}": "is a result, and a robot file was expected; .*'dynid report result'",
    f"inspect {EXPERIMENT}": "is an experiment, .*'dynid identify experiment.toml --out result'",
    f"identify {ROBOT}": "robot.urdf is a robot, and an experiment file .* was expected; .*dynid init robot.urdf LOG",
    f"identify {LOG}": "log.csv is a log, .*'dynid init ROBOT log.csv'",
    f"identify {RESULT}": "is a result",
    f"identify {ROBOT} {LOG}": "'dynid init robot.urdf log.csv', then 'dynid identify experiment.toml'",
    f"init {LOG} {ROBOT}": "robot.urdf is a robot, which comes first: 'dynid init robot.urdf log.csv'",
    f"init {LOG}": "log.csv is a log; .*'dynid init ROBOT log.csv'",
    f"init {ROBOT} {EXPERIMENT}": "is an experiment, and a log was expected",
    f"validate {ROBOT}": "robot.urdf is a robot; .*'dynid init robot.urdf LOG'",
    f"validate {LOG} {RESULT}": "is a log, and the folder of a result was expected",
    f"excite {LOG}": "is a log, and a robot file was expected",
    f"excite {MOTION}": "is an exciting trajectory, .*'dynid view motion --robot ROBOT'",
    f"report {EXPERIMENT}": "is an experiment, and the folder of a result was expected; .*'dynid identify",
    f"export {ROBOT} --to urdf": "is a robot, and the folder of a result was expected",
    f"export {RESULT} --to nope": r"'--to': 'nope' is not one of [^.]*\. result is a result; see it",
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(LOG).write_text("t,q_joint_1,q_joint_2,tau_joint_1,tau_joint_2\n0,0,0,0,0\n")
    dynid.convert("builtin:two_link", ROBOT)
    Path(EXPERIMENT).write_text('robot = "robot.urdf"\n')
    for folder, name in ((RESULT, "result.json"), (MOTION, "excitation.json")):
        Path(folder).mkdir()
        (Path(folder) / name).write_text("{}")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("command", "words"), WRONG.items(), ids=WRONG)
def test_it_is_named_with_the_command_that_takes_it(command: str, words: str) -> None:
    import re

    result = CliRunner().invoke(app, command.split())
    assert result.exit_code == 2
    assert re.search(words, result.stderr), result.stderr


@pytest.mark.usefixtures("files")
def test_what_files_are() -> None:
    Path("mjcf.xml").write_text("<!-- <html> --><mujoco/>")
    Path("page.xml").write_text("<html/>")
    Path("table.toml").write_text("[[joint]]\nname = 'a'\n")
    Path("damaged.toml").write_text("[[")
    Path("motion.json").write_text('{"schema": "dynid-trajectory-1"}')
    kinds = {
        "mjcf.xml": FileKind.ROBOT,
        "page.xml": FileKind.UNKNOWN,
        "table.toml": FileKind.ROBOT,
        "damaged.toml": FileKind.UNKNOWN,
        "motion.json": FileKind.TRAJECTORY,
        "nowhere.csv": FileKind.UNKNOWN,
        "arm.urdf.xacro": FileKind.UNKNOWN,
        "builtin:ur5": FileKind.ROBOT,
    }
    assert {name: kind_of(name) for name in kinds} == kinds


def test_numbers_that_mimic_joints_shift_stand_beside_names(tmp_path: Path) -> None:
    """A mimic joint counts, so that the number in a parameter's name need not be that in its joint's."""
    import json

    from tests.urdf_texts import LIMIT, joint, urdf

    mimic = joint("a_follower", "base", "side", f'{LIMIT}<mimic joint="q1"/>')
    links = ("base", "arm", "hand", "side")
    path = tmp_path / "mimic.urdf"
    path.write_text(urdf(joint("q1", "base", "arm"), mimic, joint("q2", "arm", "hand"), links=links))
    text = CliRunner().invoke(app, ["inspect", str(path), "--terms", "armature"]).stdout
    assert "Numbers: 1 a_follower (follows 2), 2 q1, 3 q2." in text
    options = ["--terms", "armature", "--starts", "1", "--harmonics", "3", "--period", "4", "--rate", "50", "--json"]
    rows = json.loads(CliRunner().invoke(app, ["excite", str(path), *options]).stdout)["parameters"]
    assert {row["name"]: row["owner"] for row in rows}["Ia3"] == "q2"
    motion = dynid.excite(path, ["armature"], time_limit=60, starts=1, harmonics=3, period=4.0)
    found = dynid.identify(path, dynid.simulate(path, motion, terms=["armature"]), ["armature"])
    assert {row["name"]: row["owner"] for row in found.to_dict()["parameters"]}["Ia3"] == "q2"
