"""Trajectories and robots for tests of the simulation."""

from __future__ import annotations

import numpy as np

from dynid.excitation.trajectories.family import ParametricTrajectory
from dynid.excitation.trajectories.fourier import fourier_motion
from dynid.robot.robot import Robot


def gentle(robot: Robot, seed: int = 0, period: float = 2.0) -> ParametricTrajectory:
    """A periodic motion within the limits of any robot, from rest."""
    rng = np.random.default_rng(seed)
    centre, size = np.zeros(robot.nv), np.zeros(robot.nv)
    for joint in robot.independent_joints:
        lower, upper = joint.limits.interval(2.0)
        centre[joint.v.start] = (lower + upper) / 2
        size[joint.v.start] = (upper - lower) / 8
        if joint.limits.velocity > 0.0:
            size[joint.v.start] = min(size[joint.v.start], joint.limits.velocity * period / (12 * np.pi))
    sine = size[:, None] * rng.uniform(-0.5, 0.5, (robot.nv, 2))
    sine[:, 0] = -2 * sine[:, 1]
    return fourier_motion(period, centre, np.zeros_like(sine), sine)
