"""Which joints count as a gripper's."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynid import DynidError, load_robot
from dynid.robot.grippers import gripper_joints, srdf_file, without_gripper
from tests.references import example_robot_file
from tests.urdf_texts import joint, urdf

SLIDE = '<limit lower="0.01" upper="0.04" velocity="1" effort="1"/>'
LINKS = ("base", "arm", "left", "right")


def two_fingers(tmp_path: Path, *joints: str) -> list[str]:
    path = tmp_path / "test.urdf"
    path.write_text(urdf(joint("turn", "base", "arm"), *joints, links=LINKS))
    return [one.name for one in gripper_joints(load_robot(path))]


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("panda.urdf", ["panda_finger_joint1"]),
        ("z1.urdf", ["jointGripper"]),
        ("so100.urdf", ["gripper"]),
        ("romeo.urdf", ["LHand", "RHand"]),
        ("pr2.urdf", ["l_gripper_l_finger_joint", "r_gripper_l_finger_joint"]),
        ("xarm7.urdf", []),
        ("anymal.urdf", []),
        ("allegro_left_hand.urdf", []),
        ("alex_nub_hands.urdf", []),
        ("human.urdf", []),
        ("talos_reduced.urdf", ["gripper_left_joint", "gripper_right_joint"]),
    ],
)
def test_public_robots(file: str, names: list[str]) -> None:
    """Also those whose SRDF file calls a whole leg an end effector's group."""
    assert [one.name for one in gripper_joints(load_robot(example_robot_file(file)))] == names


def test_fingers_are_found_without_names(tmp_path: Path) -> None:
    slides = [joint(name, "arm", name[2:], SLIDE, "prismatic") for name in ("a_left", "b_right")]
    assert two_fingers(tmp_path, *slides) == ["a_left", "b_right"]
    mimic = joint("b", "arm", "right", '<limit lower="-1" upper="1" velocity="2" effort="3"/><mimic joint="a"/>')
    assert two_fingers(tmp_path, joint("a", "arm", "left"), mimic) == ["a"]
    assert two_fingers(tmp_path, joint("a", "arm", "left"), joint("b", "arm", "right")) == []


def test_what_carries_an_arm_is_none(tmp_path: Path) -> None:
    assert two_fingers(tmp_path, joint("gripper_base", "arm", "left"), joint("elbow", "left", "right")) == []
    assert two_fingers(tmp_path, joint("elbow", "arm", "left"), joint("gripper_roll", "left", "right")) == []


def test_they_are_held_within_their_range_unless_asked_to_move(tmp_path: Path) -> None:
    path = tmp_path / "test.urdf"
    slides = [joint(name, "arm", name[2:], SLIDE, "prismatic") for name in ("a_left", "b_right")]
    path.write_text(urdf(joint("turn", "base", "arm"), *slides, links=LINKS))
    robot = load_robot(path)
    held, found = without_gripper(robot)
    assert held.locked == {"a_left": 0.01, "b_right": 0.01}
    assert [one.reason for one in found] == ["short slides side by side"] * 2
    assert without_gripper(robot, ["a_left"])[0].locked == {"b_right": 0.01}
    with pytest.raises(DynidError, match="no joint 'thumb'"):
        without_gripper(robot, ["thumb"])


def test_an_srdf_file_beside_names_the_end_effector(tmp_path: Path) -> None:
    path = tmp_path / "urdf" / "test.urdf"
    path.parent.mkdir()
    path.write_text(urdf(joint("turn", "base", "arm"), joint("tool", "arm", "left"), links=LINKS[:3]))
    assert srdf_file(path, "test") is None
    assert gripper_joints(load_robot(path)) == []
    config = tmp_path / "config"
    config.mkdir()
    (config / "other.srdf").write_text('<robot name="other"/>')
    (config / "damaged.srdf").write_text("<robot")
    group = '<group name="hand"><link name="left"/></group><group name="all"><joint name="turn"/></group>'
    ends = (
        '<end_effector name="x" parent_link="arm" group="hand"/><end_effector name="y" parent_link="left" group="all"/>'
    )
    (config / "moveit.srdf").write_text(f'<robot name="test">{group}{ends}</robot>')
    assert srdf_file(path, "test") == config / "moveit.srdf"
    assert [one.name for one in gripper_joints(load_robot(path))] == ["tool"]
