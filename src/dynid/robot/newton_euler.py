"""Inverse dynamics of one state in plain NumPy, along the axes of the world.

Slow, short and apart from `dynid.model`: it checks written files where Pinocchio, which has no wheels for Windows,
is not installed.
"""

import numpy as np

from dynid.arrays import Array
from dynid.robot.inertia import inertia_matrix
from dynid.robot.robot import WORLD, Robot


def inverse_dynamics(robot: Robot, q: Array, v: Array, a: Array) -> Array:
    """Torques of rigid links under gravity, by recursive Newton-Euler.

    Args:
        robot: The robot.
        q: Positions, shape (nq,).
        v: Velocities, shape (nv,).
        a: Accelerations, shape (nv,).

    Returns:
        Torques [N m or N], shape (nv,), without friction and motor inertia.
    """
    zero = np.zeros(3)
    ground = (np.eye(3), zero, zero, -robot.gravity)
    states, axes, arms, wrenches = [], [], [], []
    for joint, link in zip(robot.joints, robot.links, strict=True):
        R, w, w_dot, x_ddot = ground if joint.parent == WORLD else states[joint.parent]
        rotation, translation = (part[0] for part in joint.move(q[None]))
        arm, R = R @ translation, R @ rotation
        S = np.concatenate([R @ joint.subspace[:3], R @ joint.subspace[3:]])
        slide, turn = np.split(S @ v[joint.v], 2)
        slide_dot, turn_dot = np.split(S @ a[joint.v], 2)
        x_ddot = x_ddot + np.cross(w_dot, arm) + np.cross(w, np.cross(w, arm) + slide)
        w_dot = w_dot + turn_dot + np.cross(w, turn)
        w = w + turn
        x_ddot = x_ddot + slide_dot + np.cross(w, slide)
        states.append((R, w, w_dot, x_ddot))
        axes.append(S)
        arms.append(arm)
        h, inertia = R @ link.parameters[1:4], R @ inertia_matrix(link.parameters) @ R.T
        force = link.parameters[0] * x_ddot + np.cross(w_dot, h) + np.cross(w, np.cross(w, h))
        moment = np.cross(h, x_ddot) + inertia @ w_dot + np.cross(w, inertia @ w)
        wrenches.append(np.concatenate([force, moment]))
    tau = np.zeros(robot.nv)
    for i, joint in reversed(list(enumerate(robot.joints))):
        tau[joint.v] += axes[i].T @ wrenches[i]
        if joint.parent != WORLD:
            wrenches[joint.parent] += wrenches[i] + np.concatenate([zero, np.cross(arms[i], wrenches[i][:3])])
    return tau
