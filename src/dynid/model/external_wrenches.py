"""Wrenches from outside on a body of a robot, and the torques at its joints that they amount to."""

import numpy as np

from dynid.arrays import Array
from dynid.model.kernels.kernel import joint_poses
from dynid.robot import Robot


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
    poses = joint_poses(robot, q)
    rotation, origin = poses[0][link] @ placement[:3, :3], poses[1][link] + poses[0][link] @ placement[:3, 3]
    force, moment = (np.einsum("sij,sj->si", rotation, part) for part in np.split(wrench, 2, axis=1))
    return torques_of_world_wrench(robot, link, poses, origin, force, moment)


def torques_of_world_wrench(
    robot: Robot, link: int, poses: tuple[Array, Array], at: Array, force: Array, moment: Array
) -> Array:
    """The same for a wrench along the axes of the world.

    Args:
        robot: The robot.
        link: Index of the link that it acts on.
        poses: Those of all joint frames in the world, as `joint_poses` gives them.
        at: The point that its torques are about [m], shape (samples, 3) or (3,).
        force: Forces [N], shape (samples, 3).
        moment: Torques [N m], shape (samples, 3).
    """
    rotations, origins = poses
    torque = np.zeros((len(force), robot.nv))
    for k in robot.chain(link):
        joint = robot.joints[k]
        slide, turn = rotations[k] @ joint.subspace[:3], rotations[k] @ joint.subspace[3:]
        about = moment + np.cross(at - origins[k], force)
        torque[:, joint.v] += np.einsum("sik,si->sk", slide, force) + np.einsum("sik,si->sk", turn, about)
    return torque
