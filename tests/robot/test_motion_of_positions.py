"""Velocities and accelerations of positions that were differentiated number by number, quaternions among them."""

import numpy as np
import pinocchio as pin
from hypothesis import given
from hypothesis import strategies as st

from dynid import Robot, load_robot
from dynid.arrays import Array
from dynid.logs.processing.signals import eighth_order
from dynid.robot.pinocchio import to_pinocchio, tree_coordinates
from tests.floating_logs import RATE, smooth_motion
from tests.strategies import robots


def pinocchio_velocities(robot: Robot, q: Array, step: float) -> Array:
    """Central differences on the manifold, shape (samples - 2, nv of Pinocchio)."""
    model = to_pinocchio(robot)
    points = [tree_coordinates(robot, row, np.zeros(robot.nv))[0] for row in q]
    return np.array(
        [pin.difference(model, before, after) for before, after in zip(points[:-2], points[2:], strict=True)]
    ) / (2.0 * step)


@given(robots(), st.integers(0, 100))
def test_velocities_are_differences_on_the_manifold(robot: Robot, seed: int) -> None:
    motion = smooth_motion(robot, seconds=1.0, seed=seed)
    some = slice(80, 83)
    expected = pinocchio_velocities(robot, motion.q[some], 1.0 / RATE)[0]
    found = tree_coordinates(robot, motion.q[81], motion.v[81])[1]
    np.testing.assert_allclose(found, expected, atol=2e-3 * max(1.0, np.abs(expected).max()))


def test_accelerations_are_the_derivatives_of_velocities() -> None:
    motion = smooth_motion(load_robot("builtin:ur5", floating_base=True), seconds=3.0, turn=1.5)
    inner = slice(50, -50)
    np.testing.assert_allclose(eighth_order(motion.v, RATE)[inner], motion.a[inner], atol=1e-6)


def test_the_length_of_quaternions_does_not_matter() -> None:
    robot = load_robot("builtin:two_link", floating_base=True)
    rng = np.random.default_rng(0)
    q, rate, second = rng.normal(size=(3, 5, robot.nq))
    s, s_dot, s_ddot = 1.0 + rng.uniform(size=(5, 1)), rng.normal(size=(5, 1)), rng.normal(size=(5, 1))
    stretched = q.copy(), rate.copy(), second.copy()
    quaternion = slice(3, 7)
    stretched[0][:, quaternion] = s * q[:, quaternion]
    stretched[1][:, quaternion] = s * rate[:, quaternion] + s_dot * q[:, quaternion]
    stretched[2][:, quaternion] = (
        s * second[:, quaternion] + 2.0 * s_dot * rate[:, quaternion] + s_ddot * q[:, quaternion]
    )
    for found, expected in zip(robot.motion_of(*stretched), robot.motion_of(q, rate, second), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_body_that_spins_about_its_own_axis_keeps_its_spin() -> None:
    robot = load_robot("builtin:two_link", floating_base=True)
    t = np.arange(0.0, 1.0, 1e-3)
    half = 0.5 * 3.0 * t
    q = np.zeros((len(t), robot.nq))
    q[:, 5], q[:, 6] = np.sin(half), np.cos(half)
    rate, second = np.zeros_like(q), np.zeros_like(q)
    rate[:, 5], rate[:, 6] = 1.5 * np.cos(half), -1.5 * np.sin(half)
    second[:, 5:7] = -2.25 * q[:, 5:7]
    _, v, a = robot.motion_of(q, rate, second)
    np.testing.assert_allclose(v, np.tile([0, 0, 0, 0, 0, 3.0, 0, 0], (len(t), 1)), atol=1e-12)
    np.testing.assert_allclose(a, 0.0, atol=1e-12)
