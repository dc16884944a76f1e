"""The observation matrix of rigid-body dynamics, for many states at once.

Torques are linear in the inertial parameters: `tau = W(q, v, a) p`. A joint's row has entries only for links that the
joint moves.
"""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.model.kernels.kernel import RegressorPlan, stacked_rows
from dynid.robot.robot import WORLD, Robot


def inertial_regressor(robot: Robot, q: object, v: object = None, a: object = None) -> Array:
    """The observation matrix W of the links' inertial parameters.

    Args:
        robot: The robot.
        q: Positions, shape (samples, nq).
        v: Velocities, shape (samples, nv); zero when None.
        a: Accelerations, shape (samples, nv); zero when None. With v and a zero only gravity acts.

    Returns:
        Array of shape (nv, samples, 10 * solid links): row i, sample s gives the torque [N m or N] of row i as
        `W[i, s] @ robot.parameters`. A floating base has its six rows first: force then moment on the base, in the
        base frame. `W.reshape(-1, W.shape[-1])` stacks the rows joint by joint.

    >>> from dynid import load_robot
    >>> robot = load_robot("builtin:pendulum")
    >>> W = inertial_regressor(robot, [[0.5]], a=[[2.0]])
    >>> float((W @ robot.parameters)[0, 0].round(4))  # 24.525 sin(0.5) + 1.6708 * 2
    15.0995
    """
    rows = RegressorPlan.dense(robot).evaluate(*robot.states(q, v, a))
    return stacked_rows(rows)


def joint_poses(robot: Robot, q: object) -> tuple[Array, Array]:
    """Poses of all joint frames in the world.

    Args:
        robot: The robot.
        q: Positions, shape (samples, nq).

    Returns:
        Rotations, shape (joints, samples, 3, 3), and origins [m], shape (joints, samples, 3).
    """
    q, _, _ = robot.states(q)
    rotations: list[Array] = []
    origins: list[Array] = []
    for joint in robot.joints:
        R, p = joint.move(q)
        if joint.parent != WORLD:
            below = rotations[joint.parent]
            R, p = below @ R, (below @ p[:, :, None])[:, :, 0] + origins[joint.parent]
        rotations.append(R)
        origins.append(p)
    return np.array(rotations), np.array(origins)
