"""Logs of robots with floating bases and spherical joints on smooth random motions, exact up to the filters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from dynid import DynamicModel, Robot
from dynid.arrays import Array
from dynid.logs.processing.signals import eighth_order
from dynid.robot import JointKind

RATE = 200.0
"""Sampling rate [Hz]."""


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion of a whole robot: time [s], positions (samples, nq), velocities and accelerations (samples, nv)."""

    t: Array
    q: Array
    v: Array
    a: Array


def smooth_motion(robot: Robot, seconds: float = 20.0, seed: int = 0, turn: float = 0.5) -> Motion:
    """Sums of three sines for each coordinate, below 1 Hz; rotations are by rotation vectors of about `turn` [rad]."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1.0 / RATE)

    def waves(count: int, size: float) -> Array:
        frequency, phase = rng.uniform(0.1, 0.7, (3, 1, count)), rng.uniform(0.0, 6.3, (3, 1, count))
        return size * np.sin(2.0 * np.pi * frequency * t[:, None] + phase).sum(axis=0)

    q = np.zeros((len(t), robot.nq))
    for joint in robot.independent_joints:
        if joint.kind.has_quaternion:
            start = joint.q.stop - 4
            q[:, start : joint.q.stop] = Rotation.from_rotvec(waves(3, turn)).as_quat()
            if joint.kind is JointKind.FREE_FLYER:
                q[:, joint.q.start : start] = waves(3, 0.1)
        else:
            q[:, joint.q] = waves(1, 0.4)
    return Motion(t, *robot.motion_of(q, eighth_order(q, RATE), eighth_order(q, RATE, 2)))


def needed(robot: Robot, motion: Motion, parameters: Array | None = None) -> Array:
    """What the rows of a robot without terms need [N m or N], shape (samples, nv)."""
    return DynamicModel(robot).inverse_dynamics(motion.q, motion.v, motion.a, parameters)
