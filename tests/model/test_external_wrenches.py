"""Torques of wrenches from outside: Pinocchio's Jacobians say the same, on random trees."""

import numpy as np
import pinocchio as pin
from hypothesis import given
from hypothesis import strategies as st

from dynid import DynamicModel, Robot, joint_poses
from dynid.model import joint_torques, link_pose, random_states
from dynid.robot.pinocchio import to_pinocchio
from tests.references import pinocchio_configuration, spread
from tests.strategies import random_pose, robots


@given(robots(), st.integers(0, 2**32 - 1))
def test_torques_of_a_wrench_are_the_transposed_jacobian_of_pinocchio_times_it(robot: Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, _, _ = random_states(DynamicModel(robot), 3, rng)
    link, placement, wrench = int(rng.integers(len(robot.joints))), random_pose(rng, False), rng.normal(size=(3, 6))
    found = joint_torques(robot, link, placement, q, wrench)
    model = to_pinocchio(robot)
    data, joint = model.createData(), model.getJointId(robot.joints[link].name)
    moved = pin.SE3(placement[:3, :3], placement[:3, 3]).act
    for k in range(3):
        configuration = pinocchio_configuration(robot, model, q[k])
        J = np.reshape(pin.computeJointJacobian(model, data, configuration, joint), (6, -1))
        expected = spread(robot, model).T @ J.T @ moved(pin.Force(wrench[k])).vector
        np.testing.assert_allclose(found[k], expected, atol=1e-10)


@given(robots(), st.integers(0, 2**32 - 1))
def test_the_pose_of_one_link_is_that_among_all(robot: Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, _, _ = random_states(DynamicModel(robot), 3, rng)
    rotations, origins = joint_poses(robot, q)
    link = int(rng.integers(len(robot.joints)))
    for found, expected in zip(link_pose(robot, link, q), (rotations[link], origins[link]), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
