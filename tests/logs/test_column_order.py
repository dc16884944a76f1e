"""Columns in the order of the joints, by the names and numbers in their names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dynid import Log, load_robot, read_log
from dynid.logs.column_order import joint_order

UR5 = load_robot("builtin:ur5")
JOINTS = tuple(joint.name for joint in UR5.joints)
SHORT = tuple(name.removesuffix("_joint") for name in JOINTS)
ORDER = (2, 5, 0, 1, 4, 3)


def written(folder: Path, keys: tuple[str, ...]) -> Path:
    """A log in which the joint k always has position and torque k; columns are in another order than joints."""
    names = ["t", *(f"q_{keys[k]}" for k in ORDER), *(f"tau_{keys[k]}" for k in ORDER)]
    values = np.tile([0.0, *ORDER, *ORDER], (50, 1)).astype(float)
    values[:, 0] = np.arange(50) / 100
    np.savetxt(folder / "log.csv", values, delimiter=",", header=",".join(names), comments="")
    return folder / "log.csv"


def codes(log: Log) -> dict[str, str]:
    return {finding.subject: finding.code for finding in log.findings}


NUMBERS = tuple("123456"), tuple("012345")
NOTED = {"columns of position": "columns-ordered", "columns of torque": "columns-ordered"}


@pytest.mark.parametrize("keys", [JOINTS, SHORT, *NUMBERS, tuple(name.upper() for name in JOINTS)])
def test_what_a_pattern_matches_is_in_the_order_of_the_joints(keys: tuple[str, ...], tmp_path: Path) -> None:
    log = read_log(written(tmp_path, keys), UR5, position="q_*", torque="tau_*", time="t")
    assert log.position[0].tolist() == log.torque[0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert codes(log) == NOTED


@pytest.mark.parametrize("keys", [JOINTS, *NUMBERS])
def test_columns_are_guessed_in_the_order_of_the_joints(keys: tuple[str, ...], tmp_path: Path) -> None:
    log = read_log(written(tmp_path, keys), UR5)
    assert log.position[0].tolist() == log.torque[0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize("keys", [JOINTS, SHORT])
def test_columns_that_are_named_after_other_joints_are_a_warning(keys: tuple[str, ...], tmp_path: Path) -> None:
    stated = [f"tau_{keys[k]}" for k in (0, 1, 2, 4, 3, 5)]
    log = read_log(written(tmp_path, keys), UR5, position="q_*", torque=stated, time="t")
    (finding,) = [finding for finding in log.findings if finding.code == "columns-named-otherwise"]
    assert finding.severity == "warning"
    assert finding.values["columns"] == {f"tau_{keys[4]}": JOINTS[3], f"tau_{keys[3]}": JOINTS[4]}


def test_columns_named_one_by_one_stay_as_they_are(tmp_path: Path) -> None:
    keys = tuple("123456")
    position, torque = ([f"{letter}_{k}" for k in "213456"] for letter in ("q", "tau"))
    log = read_log(written(tmp_path, keys), UR5, position=position, torque=torque, time="t")
    assert log.position[0].tolist() == [1.0, 0.0, 2.0, 3.0, 4.0, 5.0]
    assert codes(log) == {}


def test_columns_in_order_are_not_worth_a_word(tmp_path: Path) -> None:
    names = [f"q_{name}" for name in JOINTS] + [f"tau_{name}" for name in JOINTS]
    np.savetxt(tmp_path / "log.csv", np.ones((20, 12)), delimiter=",", header=",".join(names), comments="")
    log = read_log(tmp_path / "log.csv", UR5, position="q_*", torque="tau_*", rate=100.0)
    assert codes(log) == {}


def test_numbers_go_with_the_numbers_of_joints() -> None:
    assert joint_order(["q1", "q2", "q3"], ["joint_2", "joint_1", "joint_3"]) == (1, 0, 2)
    assert joint_order(["q1", "q2", "q3"], ["a", "b", "c"]) == (0, 1, 2)
    assert joint_order(["q1", "q2", "q4"], ["a", "b", "c"]) is None
    assert joint_order(["q1_raw", "q2", "q3"], ["a", "b", "c"]) is None
    assert joint_order(["left_knee", "right_knee"], ["right_knee", "left_knee"]) == (1, 0)
    assert joint_order(["left_knee", "other"], ["right_knee", "left_knee"]) is None
