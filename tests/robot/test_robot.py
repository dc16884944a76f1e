"""Assembling robots: locking, mimicking, floating, numbering."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dynid import DynamicModel, Robot, inertial_regressor, load_robot
from dynid.errors import InvalidRequestError, NotAConfigurationError, RobotFileError, UnknownNameError
from dynid.model.sampling import random_states
from dynid.robot.assembly import assemble
from dynid.robot.joints import JointKind
from tests.references import assert_same_torques, example_robot_file
from tests.strategies import ALL_KINDS, SINGLE, descriptions, robots


@given(robots((*SINGLE, JointKind.FIXED)), st.integers(0, 100))
def test_a_locked_joint_moves_no_more_and_its_row_is_gone(robot: Robot, seed: int) -> None:
    free = [joint for joint in robot.independent_joints if joint.kind in SINGLE]
    assume(len(free) >= 2)
    rng = np.random.default_rng(seed)
    held = free[rng.integers(len(free))]
    position = float(rng.uniform(-1, 1))
    locked = assemble(
        robot.description, lock={held.name: position}, floating_base=robot.has_floating_base, gravity=robot.gravity
    )
    q, v, a = random_states(DynamicModel(robot), 3, rng)
    q[:, held.q], v[:, held.v], a[:, held.v] = position, 0.0, 0.0
    others = [k for k in range(robot.nv) if k not in range(*held.v.indices(robot.nv))]
    columns = [k for k in range(robot.nq) if k not in range(*held.q.indices(robot.nq))]
    found = DynamicModel(locked).inverse_dynamics(q[:, columns], v[:, others], a[:, others])
    assert_same_torques(found, DynamicModel(robot).inverse_dynamics(q, v, a)[:, others])


def test_joints_are_locked_by_name_or_number_and_the_rest_is_numbered_anew() -> None:
    by_name = load_robot("builtin:ur5", lock={"elbow_joint": 1.0})
    by_number = load_robot("builtin:ur5", lock={"3": 1.0})
    assert [joint.number for joint in by_name.joints] == [1, 2, 3, 4, 5]
    assert np.array_equal(by_name.parameters, by_number.parameters)
    assert [body.name for body in by_name.links[1].bodies] == ["upper_arm_link", "forearm_link"]


def test_locking_what_is_not_there_or_everything_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="no joint 'elbow' to lock; did you mean 'elbow_joint'"):
        load_robot("builtin:ur5", lock=["elbow"])
    with pytest.raises(RobotFileError, match="no joint that moves"):
        load_robot("builtin:two_link", lock=["1", "2"])


def test_a_follower_is_locked_with_its_leader_and_not_alone() -> None:
    panda = example_robot_file("panda.urdf")
    robot = load_robot(panda)
    assert (robot.nv, len(robot.joints)) == (8, 9)
    locked = load_robot(panda, lock={"panda_finger_joint1": 0.02})
    assert (locked.nv, len(locked.joints)) == (7, 7)
    with pytest.raises(InvalidRequestError, match="follows 'panda_finger_joint1'"):
        load_robot(panda, lock=["panda_finger_joint2"])


@given(descriptions(), st.integers(0, 100))
def test_a_mimic_joint_adds_its_row_times_the_ratio_to_its_leaders(description, seed: int) -> None:
    from dataclasses import replace

    robot = assemble(description)
    free = assemble(replace(description, joints=tuple(replace(joint, mimic=None) for joint in description.joints)))
    q, v, a = random_states(DynamicModel(robot), 3, np.random.default_rng(seed))
    G = np.zeros((free.nv, robot.nv))
    q_free = np.zeros((3, free.nq))
    for mine, theirs in zip(robot.joints, free.joints, strict=True):
        G[theirs.v, mine.v] = mine.ratio * np.eye(mine.kind.nv)
        q_free[:, theirs.q] = q[:, mine.q] if mine.leader is None else mine.ratio * q[:, mine.q] + mine.offset
    expected = np.einsum("rk,rsp->ksp", G, inertial_regressor(free, q_free, v @ G.T, a @ G.T))
    assert np.allclose(inertial_regressor(robot, q, v, a), expected, rtol=1e-11, atol=1e-11)


@given(descriptions(ALL_KINDS), st.integers(0, 100))
def test_a_base_at_rest_feels_the_same_joint_torques_floating_or_fixed(description, seed: int) -> None:
    fixed, floating = assemble(description), assemble(description, floating_base=True)
    assume(floating.nv > fixed.nv)  # not one that floats already
    q, v, a = random_states(DynamicModel(fixed), 3, np.random.default_rng(seed))
    rest = np.zeros((3, 6))
    pose = np.tile([0.0, 0, 0, 0, 0, 0, 1], (3, 1))
    found = DynamicModel(floating).inverse_dynamics(np.hstack([pose, q]), np.hstack([rest, v]), np.hstack([rest, a]))
    assert_same_torques(found[:, 6:], DynamicModel(fixed).inverse_dynamics(q, v, a))


def test_the_wrench_on_a_base_at_rest_carries_the_weight() -> None:
    robot = load_robot("builtin:two_link", floating_base=True)
    wrench = DynamicModel(robot).inverse_dynamics([[0, 0, 0, 0, 0, 0, 1, 0.0, 0.0]])[0, :6]
    # Three boxes of 1 kg, centred at x = 0, 0.5 and 1 m.
    assert wrench == pytest.approx([0, 0, 3 * 9.81, 0, -1.5 * 9.81, 0])


def test_a_floating_base_has_the_number_0_and_a_free_name() -> None:
    robot = load_robot(example_robot_file("a1.urdf"), floating_base=True)
    assert robot.joints[0].number == 0
    assert robot.joints[1].number == 1
    assert len({joint.name for joint in robot.description.joints}) == len(robot.description.joints)


def test_joints_are_found_by_name_and_number() -> None:
    robot = load_robot("builtin:ur5")
    assert robot.joint("elbow_joint") is robot.joint(3) is robot.joint("3")
    with pytest.raises(UnknownNameError, match="no joint '9'; choose from shoulder_pan_joint, "):
        robot.joint(9)


def test_gravity_must_be_three_numbers() -> None:
    with pytest.raises(InvalidRequestError, match="three finite numbers"):
        load_robot("builtin:ur5", gravity=(0, 9.81))


def test_robots_are_frozen() -> None:
    robot = load_robot("builtin:ur5")
    with pytest.raises(AttributeError):
        robot.name = "other"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        robot.parameters[0] = 1.0


def test_chains_of_mimic_joints_follow_the_first(tmp_path) -> None:
    path = tmp_path / "robot.toml"
    path.write_text(
        """
name = "t"
convention = "modified"
joint = [
  { name = "a" },
  { name = "b", mimic = { joint = "a", ratio = 2, offset = 0.3 } },
  { name = "c", mimic = { joint = "b", ratio = -3, offset = 0.1 } },
]
"""
    )
    robot = load_robot(path)
    assert robot.joints[2].positions(np.array([0.5])) == pytest.approx([-3 * (2 * 0.5 + 0.3) + 0.1])
    path.write_text(path.read_text().replace('name = "a"', 'name = "a", type = "spherical"'))
    with pytest.raises(RobotFileError, match="only joints of one degree of freedom can mimic"):
        load_robot(path)


def test_names_of_joints_come_before_their_numbers(tmp_path) -> None:
    path = tmp_path / "robot.toml"
    path.write_text('name = "t"\nconvention = "modified"\njoint = [{ name = "2" }, { name = "1" }]')
    assert load_robot(path).joint("1").number == 2
    assert [joint.name for joint in load_robot(path, lock=["1"]).joints] == ["2"]


def test_a_joint_that_is_locked_cannot_be_named_for_terms() -> None:
    with pytest.raises(UnknownNameError, match=r"'joint_6' \(that one is fixed or locked\)"):
        load_robot("builtin:tx40", lock=["6"]).joint("joint_6")


def test_a_base_on_a_mount_without_inertia_floats(tmp_path) -> None:
    path = tmp_path / "robot.toml"
    rows = '{ name = "mount", type = "fixed" }, { name = "free", type = "free_flyer", mass = 1 }'
    path.write_text(f'name = "t"\nconvention = "frames"\njoint = [{rows}]')
    assert load_robot(path, floating_base=True).nv == 6
    path.write_text(path.read_text().replace("joint =", "base = { mass = 2 }\njoint ="))
    assert load_robot(path, floating_base=True).nv == 12


def test_quaternions_must_be_nearly_of_unit_length() -> None:
    robot = load_robot("builtin:two_link", floating_base=True)
    q = np.array([[0, 0, 0, 0, 0, 0, 1.0, 0, 0]])
    assert np.array_equal(robot.states(q)[0], q)
    q[0, 6] = 1.01
    with pytest.raises(NotAConfigurationError, match=r"length 1\.01"):
        robot.states(q)


def test_paths_may_use_variables_and_the_home_folder(tmp_path, monkeypatch) -> None:
    (tmp_path / "robot.toml").write_text('name = "t"\nconvention = "modified"\njoint = [{ name = "a" }]')
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROBOTS", str(tmp_path))
    assert load_robot("~/robot.toml").nv == load_robot("$ROBOTS/robot.toml").nv == 1
    with pytest.raises(RobotFileError, match="no such file"):
        load_robot("~nobody-of-this-name/robot.toml")
    with pytest.raises(RobotFileError, match="cannot be read"):
        load_robot("x" * 400)
