"""A C3D file goes through init, identify, validate and report, and what is wrong with its markers is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dynid
from dynid.errors import DynidError
from tests.c3d_files import write_c3d
from tests.capture_tables import csv, mot, trc
from tests.captured_bodies import captured
from tests.commands import run


def person(folder: Path) -> Path:
    return dynid.convert("human", folder / "human.urdf", sex="female", height=1.68, mass=62).path


def halved(capture: dynid.Capture) -> dynid.Capture:
    """A capture at 50 Hz, which is enough here."""
    return capture.at(slice(None, None, 2))


def test_a_capture_goes_from_init_to_a_report(tmp_path: Path) -> None:
    robot = person(tmp_path)
    write_c3d(tmp_path / "walk.c3d", halved(captured().noisy()))
    made = dynid.init(robot, tmp_path / "walk.c3d", folder=tmp_path)
    assert (made.questions, made.needed, made.guesses) == ((), (), ())
    assert made.text.count('capture = "walk.c3d"') == 1
    made.save(tmp_path / "experiment.toml")
    result = dynid.identify(tmp_path / "experiment.toml")
    assert result.record.relative_error < 0.005
    assert result.record.physical is not None
    assert sum(link.mass for link in result.record.physical.links) == pytest.approx(62.0, rel=0.005)
    result.save(tmp_path / "result")
    again = dynid.load_result(tmp_path / "result")
    write_c3d(tmp_path / "other.c3d", halved(captured().noisy(5)).at(slice(800, None)))
    status, output, problem = run("validate", tmp_path / "result", tmp_path / "other.c3d")
    assert status == 0, problem
    assert "base Fz" in output
    assert "knee_left_flexion" not in output  # nothing was measured of it
    assert again.validate(tmp_path / "other.c3d").relative_error < 0.01
    page = again.report(tmp_path / "report.html").path.read_text()
    assert "walk.c3d" in page
    assert "torque of base Fz over time" in page
    assert "torque of knee_left_flexion over time" not in page
    assert ">Friction<" not in page


def test_wrong_markers_are_named_on_the_command_line(tmp_path: Path) -> None:
    robot = person(tmp_path)
    capture = halved(captured().noisy())
    order = list(range(len(capture.names)))
    a, b = capture.names.index("LKNE"), capture.names.index("LANK")
    order[a], order[b] = b, a
    markers = capture.markers[:, order]
    missing = capture.names.index("RTOE")
    kept = [k for k in range(len(order)) if k != missing]
    wrong = replace(capture, markers=markers[:, kept], names=tuple(capture.names[k] for k in kept))
    path = write_c3d(tmp_path / "walk.c3d", wrong, unit="mm", written_unit="m", up="y", extra={"POINT:Y_SCREEN": None})
    status, output, problem = run("init", robot, path, "--out", tmp_path / "e.toml", "--json")
    assert status == 0, problem
    said = json.loads(output)
    codes = {finding["code"]: finding for finding in said["findings"]}
    assert set(codes) == {"capture-unit-wrong", "capture-turned", "markers-missing", "markers-swapped"}
    assert codes["markers-missing"]["values"]["markers"] == ["RTOE"]
    assert sorted(codes["markers-swapped"]["values"]["markers"]) == ["LANK", "LKNE"]
    (question,) = said["questions"]
    assert (question["key"], question["guess"], question["option"]) == ("up", "+y", "--up +y")
    text = (tmp_path / "e.toml").read_text()
    assert 'capture = { file = "walk.c3d", up = "+y" }' in text
    assert "CHOOSE" in text.splitlines()[question["line"] - 2]
    answered = dynid.init(robot, path, up="y", unit={"position": "mm"}, folder=tmp_path)
    assert answered.questions == ()
    assert 'unit = "mm", up = "y"' in answered.text


def test_markers_and_forces_of_two_files_go_from_init_to_a_result(tmp_path: Path) -> None:
    robot, capture = person(tmp_path), halved(captured().noisy())
    walk, forces = trc(tmp_path / "walk.trc", capture), mot(tmp_path / "forces.mot", captured().noisy())
    status, output, problem = run("init", robot, walk, forces, "--up", "y", "--out", tmp_path / "e.toml", "--json")
    assert status == 0, problem
    assert json.loads(output)["questions"] == []
    text = (tmp_path / "e.toml").read_text()
    assert 'capture = { file = "walk.trc", plates = "forces.mot", up = "y" }' in text
    result = dynid.identify(tmp_path / "e.toml")
    assert result.record.relative_error < 0.005
    assert result.record.physical is not None
    assert sum(link.mass for link in result.record.physical.links) == pytest.approx(62.0, rel=0.005)
    result.save(tmp_path / "result")
    again = dynid.load_result(tmp_path / "result")
    table = csv(tmp_path / "walk.csv", halved(captured().noisy(7)).at(slice(0, 700)))
    assert again.validate(table).relative_error < 0.02
    log = dynid.read_log([walk, forces], robot=dynid.load_robot(robot, floating_base=True))
    assert len(log.contacts or ()) == 2


def test_files_of_forces_that_do_not_go_with_markers_are_refused(tmp_path: Path) -> None:
    robot, short = person(tmp_path), captured().capture.at(slice(0, 100))
    walk, forces = trc(tmp_path / "walk.trc", short), mot(tmp_path / "forces.mot", captured().capture)
    with pytest.raises(DynidError, match=r"no markers; name their file, too"):
        dynid.init(robot, forces)
    with pytest.raises(DynidError, match="come with 2 tables"):
        dynid.init(robot, walk, forces, mot(tmp_path / "more.mot", captured().capture))
    made = dynid.init(robot, walk, folder=tmp_path)
    assert "dynid init ROBOT MARKERS FORCES" in made.needed[0]
    (tmp_path / "e.toml").write_text(
        'robot = "human.urdf"\nfloating_base = true\n[[log]]\ncapture = { file = "walk.trc", columns = "LKNE_*" }\n'
    )
    with pytest.raises(DynidError, match="leave 'columns' out"):
        dynid.identify(tmp_path / "e.toml")


def test_another_person_and_several_persons_are_asked_about(tmp_path: Path) -> None:
    capture = halved(captured().noisy()).at(slice(0, 600))
    dynid.convert("human", tmp_path / "tall.urdf", sex="male", height=1.95, mass=95)
    write_c3d(tmp_path / "walk.c3d", capture)
    made = dynid.init(tmp_path / "tall.urdf", tmp_path / "walk.c3d", folder=tmp_path)
    assert [one.split(":")[0] for one in made.needed] == ["markers", "force plates"]
    names = tuple(f"{who}:{name}" for who in ("Anna", "Ben") for name in capture.names)
    two = replace(capture, names=names, markers=np.concatenate([capture.markers] * 2, axis=1))
    write_c3d(tmp_path / "both.c3d", two)
    made = dynid.init(person(tmp_path), tmp_path / "both.c3d", folder=tmp_path)
    assert [(one.key, one.is_open, one.option) for one in made.questions] == [("subject", True, "--subject Anna")]
    path = made.save(tmp_path / "open.toml")
    with pytest.raises(DynidError, match="of Anna, Ben"):
        dynid.identify(path)
    made = dynid.init(tmp_path / "human.urdf", tmp_path / "both.c3d", subject="Ben", folder=tmp_path)
    assert made.questions == ()
    assert 'subject = "Ben"' in made.text


def test_requests_that_contradict_captures_are_refused(tmp_path: Path) -> None:
    robot = person(tmp_path)
    path = write_c3d(tmp_path / "walk.c3d", captured().noisy().at(slice(0, 50)))
    (tmp_path / "run.csv").write_text("t,q_1\n0,1\n")
    with pytest.raises(DynidError, match="is no capture"):
        dynid.init(robot, path, tmp_path / "run.csv")
    with pytest.raises(DynidError, match="of captures"):
        dynid.init("builtin:two_link", tmp_path / "run.csv", up="y")
    with pytest.raises(DynidError, match=r"no marker of walk\.c3d is a body of 'ur5'"):
        dynid.init("builtin:ur5", path)
    experiment = 'robot = "human.urdf"\nfloating_base = true\n[[log]]\ncapture = "walk.c3d"\nrate = 100.0\n'
    (tmp_path / "e.toml").write_text(experiment)
    with pytest.raises(DynidError, match="leave 'rate' out"):
        dynid.identify(tmp_path / "e.toml")
