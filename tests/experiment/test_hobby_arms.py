"""First experiments of hobby arms: names that differ in their words, torques without signs, a folder of each motion."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import dynid
from dynid.experiment import read_experiment
from dynid.experiment.first.meanings import by_meaning
from tests.commands import run
from tests.datasets import needs_logs

SO101 = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("Rotation", "Pitch", "Elbow", "Wrist_Pitch", "Wrist_Roll", "Jaw"), (0, 1, 2, 3, 4, 5)),
        (("Jaw", "Wrist_Roll", "Wrist_Pitch", "Elbow", "Pitch", "Rotation"), (5, 4, 3, 2, 1, 0)),
        (("waist", "shoulder", "elbow", "wrist_angle", "wrist_rotate", "gripper"), (0, 1, 2, 3, 4, 5)),
        (("a", "b", "c", "d", "e", "f"), None),
        (("Jaw", "Elbow"), None),
    ],
)
def test_names_are_matched_by_what_they_mean(names: tuple[str, ...], expected: tuple[int, ...] | None) -> None:
    assert by_meaning(names, SO101) == expected


def log_with(folder: Path, torque: np.ndarray, t: np.ndarray, q: np.ndarray) -> Path:
    table = np.column_stack([t, q, torque])
    np.savetxt(folder / "run.csv", table, delimiter=",", header="t,q_1,q_2,tau_1,tau_2", comments="")
    return folder / "run.csv"


def test_torques_that_are_never_negative_are_taken_as_magnitudes(tmp_path: Path) -> None:
    t = np.arange(300) / 50.0
    q = np.column_stack([np.sin(3 * t), np.cos(2 * t)])
    torque = np.column_stack([np.sin(2 * t), np.cos(3 * t)])
    made = dynid.init("builtin:two_link", log_with(tmp_path, np.abs(torque), t, q))
    assert made.experiment.torque == "magnitude"
    assert "torques-without-sign" in {finding.code for finding in made.findings}
    assert dynid.init("builtin:two_link", log_with(tmp_path, torque, t, q)).experiment.torque == "signed"
    carried = dynid.init("builtin:two_link", log_with(tmp_path, 3.0 + torque, t, q))
    assert carried.experiment.torque == "signed"  # a weight that is carried: never near zero


@needs_logs
def test_the_folder_of_a_motion_of_the_so101_is_one_log() -> None:
    datasets = Path(os.environ["DYNID_DATASETS"])
    made = dynid.init(datasets / "so101/so101_new_calib.urdf", datasets / "so101/multisine")
    assert made.joints == SO101
    assert not made.questions
    assert made.experiment.torque == "magnitude"
    assert len(made.experiment.log) == 1
    assert {finding.code for finding in made.findings} >= {"joints-by-meaning", "torques-without-sign"}
    states = made.experiment.log[0]
    assert states.time is not None
    assert states.time.unit == "us"
    (command,) = [line for line in made.text.splitlines() if line.startswith("# position_command")]
    assert "control.csv" in command  # its columns are called like those of the measured positions


@needs_logs
def test_several_folders_are_several_logs(tmp_path: Path) -> None:
    datasets = Path(os.environ["DYNID_DATASETS"])
    robot, out = datasets / "so101/so101_new_calib.urdf", tmp_path / "arm.toml"
    status, _, problem = run("init", robot, datasets / "so101/[ms]*i*/*.csv", "--out", out)
    assert status == 0, problem
    assert len(read_experiment(out).log) == 3
