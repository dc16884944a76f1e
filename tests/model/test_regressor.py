"""The observation matrix against Pinocchio, on random robots."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid import DynamicModel, Robot, find_base_parameters, inertial_regressor, joint_poses, load_robot
from dynid.errors import NotAConfigurationError, ShapeError
from dynid.model.sampling import random_states
from dynid.robot.formats.urdf_writer import urdf_text
from dynid.robot.pinocchio import to_pinocchio, tree_coordinates
from tests.references import assert_same_torques, pinocchio_regressor, pinocchio_torques
from tests.strategies import URDF_KINDS, robots

seeds = st.integers(0, 1000)


def states(robot: Robot, seed: int, samples: int = 4):
    return random_states(DynamicModel(robot), samples, np.random.default_rng(seed))


@given(robots(), seeds)
def test_the_regressor_equals_pinocchios(robot: Robot, seed: int) -> None:
    q, v, a = states(robot, seed)
    W, expected = inertial_regressor(robot, q, v, a), pinocchio_regressor(robot, q, v, a)
    assert np.abs(W - expected).max() <= 1e-12 * np.abs(expected).max()


@given(robots(), seeds)
def test_regressor_times_parameters_equals_inverse_dynamics(robot: Robot, seed: int) -> None:
    q, v, a = states(robot, seed)
    found = DynamicModel(robot).inverse_dynamics(q, v, a)
    assert_same_torques(found, pinocchio_torques(robot, to_pinocchio(robot), q, v, a))


@given(robots(), seeds)
def test_base_regressor_times_base_parameters_equals_inverse_dynamics(robot: Robot, seed: int) -> None:
    q, v, a = states(robot, seed)
    base = find_base_parameters(DynamicModel(robot))
    found = (base.regressor(q, v, a) @ base.to_base(robot.parameters)).T
    assert_same_torques(found, pinocchio_torques(robot, to_pinocchio(robot), q, v, a))


@given(robots(URDF_KINDS), seeds)
def test_a_written_urdf_has_the_same_dynamics_in_pinocchio(robot: Robot, seed: int) -> None:
    q, v, a = states(robot, seed)
    model = pin.buildModelFromXML(urdf_text(robot))
    model.gravity = pin.Motion(np.concatenate([robot.gravity, np.zeros(3)]))
    assert_same_torques(DynamicModel(robot).inverse_dynamics(q, v, a), pinocchio_torques(robot, model, q, v, a))


@given(robots(), seeds)
def test_poses_of_joint_frames_equal_pinocchios(robot: Robot, seed: int) -> None:
    q, v, _ = states(robot, seed, samples=1)
    rotations, origins = joint_poses(robot, q)
    model = to_pinocchio(robot)
    data = model.createData()
    pin.forwardKinematics(model, data, tree_coordinates(robot, q[0], v[0])[0])
    for i in range(len(robot.joints)):
        assert np.allclose(rotations[i, 0], data.oMi[i + 1].rotation, atol=1e-12)
        assert np.allclose(origins[i, 0], data.oMi[i + 1].translation, atol=1e-12)


@given(robots())
def test_a_row_has_entries_only_for_links_that_its_joint_moves(robot: Robot) -> None:
    W = inertial_regressor(robot, *states(robot, 0))
    for i in range(len(robot.joints)):
        above = {i}
        while (i_up := robot.joints[min(above)].parent) >= 0:
            above.add(i_up)
        rows = {row for k in above for row in range(robot.nv)[robot.joints[k].v]}
        others = [row for row in range(robot.nv) if row not in rows]
        assert not W[others, :, 10 * i : 10 * i + 10].any()


def test_at_rest_only_gravity_acts_and_upside_down_it_acts_the_other_way() -> None:
    q = [[0.3, -1.0, 0.5, 0.2, 0.1, 0.7]]
    upright = DynamicModel(load_robot("builtin:ur5")).inverse_dynamics(q)
    hanging = DynamicModel(load_robot("builtin:ur5", gravity=(0, 0, 9.81))).inverse_dynamics(q)
    weightless = DynamicModel(load_robot("builtin:ur5", gravity=(0, 0, 0))).inverse_dynamics(q)
    assert np.allclose(upright, -hanging)
    assert not weightless.any()


def test_wrong_shapes_and_impossible_positions_are_refused() -> None:
    arm = load_robot("builtin:two_link")
    with pytest.raises(ShapeError, match=r"positions must have the shape \(samples, 2\), not \(1, 3\)"):
        inertial_regressor(arm, [[0.0, 0.0, 0.0]])
    with pytest.raises(ShapeError, match="velocities"):
        inertial_regressor(arm, np.zeros((3, 2)), np.zeros((2, 2)))
    with pytest.raises(NotAConfigurationError, match=r"'joint_2'.*NaN"):
        inertial_regressor(arm, [[0.0, np.nan]])
    floating = load_robot("builtin:two_link", floating_base=True)
    with pytest.raises(NotAConfigurationError, match="length 0 instead of 1"):
        inertial_regressor(floating, np.zeros((1, 9)))


def test_the_robot_of_a_model_may_be_a_name() -> None:
    assert (
        DynamicModel("builtin:two_link", "viscous").names
        == DynamicModel(load_robot("builtin:two_link"), ["viscous"]).names
    )
