"""A robot in free flight, which moves its base by moving its joints: its momentum decides how, and is conserved.

In a frame that falls with gravity, the linear momentum is zero here and the angular one constant. Both follow from the
mass matrix: velocities of the base are known whenever its attitude is, and only the pose is integrated.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from dynid import DynamicModel, Robot
from dynid.arrays import Array
from dynid.logs.processing.signals import eighth_order
from dynid.logs.timing import with_steady_signs
from dynid.robot import skew
from tests.floating_logs import RATE, Motion


def free_flight(robot: Robot, parameters: Array, seconds: float = 10.0, seed: int = 0) -> Motion:
    """Joints on sums of sines below 1 Hz, the base where they and a random angular momentum take it.

    Integrated by Runge and Kutta's method of fourth order; accelerations are those of the poses, by differences.
    """
    rng = np.random.default_rng(seed)
    half = np.linspace(0.0, seconds, 2 * int(seconds * RATE) + 1)  # steps, and the middles of steps
    frequency, phase = 2.0 * np.pi * rng.uniform(0.1, 0.7, (3, robot.nv - 6)), rng.uniform(0.0, 6.3, (3, robot.nv - 6))
    angles = half[:, None, None] * frequency + phase
    joints, speeds = 0.4 * np.sin(angles).sum(axis=1), 0.4 * (frequency * np.cos(angles)).sum(axis=1)
    at = np.hstack([np.tile(robot.neutral[:7], (len(half), 1)), joints])
    M = DynamicModel(robot).mass_matrices(at, parameters)[:, :6]  # in the frame of the base: its pose does not matter
    inverse, of_joints = np.linalg.inv(M[:, :, :6]), np.einsum("sij,sj->si", M[:, :, 6:], speeds)
    spin = 0.5 * rng.normal(size=3)  # angular momentum [kg m^2/s]

    def rates(k: int, R: Array) -> tuple[Array, Array]:
        twist = inverse[k] @ (np.concatenate([np.zeros(3), R.T @ spin]) - of_joints[k])
        return R @ twist[:3] + robot.gravity * half[k], R @ skew(twist[3:])

    p, R, poses, h = np.zeros(3), np.eye(3), list[Array](), 1.0 / RATE
    for k in range(0, len(half) - 2, 2):
        poses.append(np.concatenate([p, Rotation.from_matrix(R).as_quat()]))
        p1, R1 = rates(k, R)
        p2, R2 = rates(k + 1, R + h / 2 * R1)
        p3, R3 = rates(k + 1, R + h / 2 * R2)
        p4, R4 = rates(k + 2, R + h * R3)
        p, R = p + h / 6 * (p1 + 2 * p2 + 2 * p3 + p4), R + h / 6 * (R1 + 2 * R2 + 2 * R3 + R4)
    q = np.hstack([with_steady_signs(np.array(poses)), joints[:-2:2]])
    return Motion(half[:-2:2], *robot.motion_of(q, eighth_order(q, RATE), eighth_order(q, RATE, 2)))
