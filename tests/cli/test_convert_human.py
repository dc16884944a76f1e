"""dynid convert human: what it writes, prints and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dynid import human, load_robot
from tests.capture_tables import csv
from tests.commands import run
from tests.marker_truth import captured, pinocchio_markers, waves

BODY = ("convert", "human", "--sex", "female", "--height", "1.7", "--mass", "62")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_it_writes_the_body_that_python_makes() -> None:
    status, out, _ = run(*BODY, "--table", "de-leva", "--length", "thigh=0.41", "--length", "foot=0.25")
    assert status == 0
    assert "dynid inspect human.urdf" in out
    lengths = {"thigh": 0.41, "foot": 0.25}
    same = human(sex="female", height=1.7, mass=62, table="de-leva", lengths=lengths)
    assert load_robot("human.urdf", floating_base=True).moves_as(same.kinematics())


def test_the_planar_body_goes_to_the_file_that_is_named() -> None:
    status, out, _ = run(*BODY, "flat.urdf", "--planar", "--json")
    assert (status, json.loads(out)["urdf"]) == (0, "flat.urdf")
    assert len(load_robot("flat.urdf").joints) == 3


def test_a_recording_of_markers_places_lengths_and_markers() -> None:
    own = human(sex="female", height=1.7, mass=62, lengths={"thigh": 0.44})
    t, q = waves(own, 20.0, rate=50.0)
    csv(Path("range.csv"), captured(t, pinocchio_markers(own, q), noise=1e-3))
    status, out, problem = run(*BODY, "--calibrate", "range.csv", "--json")
    assert status == 0, problem
    found = json.loads(out)["calibration"]
    thigh = next(one for one in found["lengths"] if one["link"] == "thigh_left")
    assert thigh["length"] == pytest.approx(0.44, abs=4 * thigh["std"])
    assert thigh["is_determined"]
    placed = load_robot("human.urdf", floating_base=True)
    assert np.linalg.norm(placed.joint("knee_left_flexion").placement[:3, 3]) == pytest.approx(0.44, abs=4e-3)
    shown = run(*BODY, "--calibrate", "range.csv", "--force")[1]
    assert "Residuals of markers" in shown
    assert "thigh_left" in shown


def test_what_is_unusual_is_printed_and_in_the_json() -> None:
    unusual = ("convert", "human", "--sex", "male", "--height", "1.8", "--mass", "35")
    assert "kg/m^2" in run(*unusual)[1]
    findings = json.loads(run(*unusual, "--force", "--json")[1])["findings"]
    assert [finding["code"] for finding in findings] == ["human-mass-implausible"]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("convert", "human"), "sex"),
        (("convert", "human", "--sex", "female", "--height", "170", "--mass", "62"), "1.7"),
        (("convert", "human", "--sex", "female", "--height", "1.7", "--mass", "62000"), "62"),
        (("convert", "human", "--sex", "f", "--height", "1.7", "--mass", "62"), "female"),
        ((*BODY, "--table", "dumaas"), "dumas"),
        ((*BODY, "--length", "tigh=0.4"), "thigh"),
        ((*BODY, "--length", "thigh"), "thigh="),
        ((*BODY, "human.xml"), ".urdf"),
        ((*BODY, "--xacro-arg", "a:=1"), "xacro"),
        (("convert", "builtin:ur5", "ur5.urdf", "--sex", "male"), "sex"),
        (("convert", "builtin:ur5", "ur5.urdf", "--planar"), "planar"),
        (("convert", "builtin:ur5", "ur5.urdf", "--calibrate", "a.c3d"), "human body"),
        (("convert", "human", "--height", "1.7", "--calibrate", "a.c3d"), "--sex, --mass"),
        ((*BODY, "--calibrate", "nowhere.c3d"), "no such file"),
        (("convert", "builtin:ur5"), "output"),
        (("convert", "./human", "a.urdf"), "no such file"),
    ],
)
def test_what_does_not_go_together_is_refused_and_nothing_is_written(arguments: tuple[str, ...], hint: str) -> None:
    status, _, err = run(*arguments)
    assert status == 2
    assert hint in err
    assert not list(Path.cwd().iterdir())


def test_a_file_is_not_replaced_unless_it_is_asked_for() -> None:
    assert run(*BODY)[0] == 0
    assert run(*BODY)[0] == 2
    assert run(*BODY, "--force")[0] == 0
