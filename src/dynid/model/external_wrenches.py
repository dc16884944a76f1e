"""Wrenches from outside on a body of a robot, and the torques at its joints that they amount to."""

import numpy as np

from dynid.arrays import Array
from dynid.robot import Robot, place_of_body


def joint_torques(robot: Robot, link: int, placement: Array, q: Array, wrench: Array) -> Array:
    """Joint torques `J' F` [N m or N] of a wrench at a body of a link, shape (samples, nv).

    They are those with which the joints exert it; and what they are relieved of where it acts on the robot. Those of a
    floating base are forces and torques along its axes and about its origin.

    Args:
        robot: The robot.
        link: Index of the link.
        placement: Pose of the body in the link's joint frame, shape (4, 4).
        q: Positions, shape (samples, nq).
        wrench: Forces [N] and torques [N m] along the body's axes and about its origin, shape (samples, 6).
    """
    q, _, _ = robot.states(q)
    force, moment = (part @ placement[:3, :3].T for part in np.split(np.asarray(wrench, dtype=float), 2, axis=1))
    moment = moment + np.cross(placement[:3, 3], force)
    torque = np.zeros((len(q), robot.nv))
    for k in robot.chain(link):
        joint = robot.joints[k]
        torque[:, joint.v] += force @ joint.subspace[:3] + moment @ joint.subspace[3:]
        rotation, translation = joint.move(q)
        force, moment = (np.einsum("sij,sj->si", rotation, part) for part in (force, moment))
        moment += np.cross(translation, force)
    return torque


def link_pose(robot: Robot, link: int, q: Array) -> tuple[Array, Array]:
    """Pose of one joint frame in the world, by the joints that move it alone.

    Args:
        robot: The robot.
        link: Index of its link.
        q: Positions, shape (samples, nq).

    Returns:
        Rotations, shape (samples, 3, 3), and origins [m], shape (samples, 3).
    """
    q, _, _ = robot.states(q)
    rotation, origin = np.broadcast_to(np.eye(3), (len(q), 3, 3)), np.zeros((len(q), 3))
    for k in robot.chain(link):
        R, p = robot.joints[k].move(q)
        rotation, origin = R @ rotation, np.einsum("sij,sj->si", R, origin) + p
    return rotation, origin


def body_pose(robot: Robot, body: str, q: Array) -> tuple[Array, Array]:
    """Pose of a body of the robot's file in the world.

    Args:
        robot: The robot.
        body: Name of the body.
        q: Positions, shape (samples, nq).

    Returns:
        Rotations, shape (samples, 3, 3), and origins [m], shape (samples, 3).
    """
    link, placement = place_of_body(robot, body)
    rotation, origin = link_pose(robot, link, q)
    return rotation @ placement[:3, :3], origin + rotation @ placement[:3, 3]
