"""Random states that the robot can be in."""

import math

import numpy as np

from dynid.arrays import Array
from dynid.model.dynamic_model import DynamicModel, Observed
from dynid.robot import Joint, neutral

_SPEED = 3.0
"""Velocities are drawn from +- this [rad/s or m/s]: centrifugal effects then weigh as much as gravity."""
_ACCELERATION = 10.0
"""Accelerations are drawn from +- this [rad/s^2 or m/s^2]."""
_LONGEST_STROKE = 2.0
"""Prismatic joints are drawn from ranges of at most this length [m]; angular ones from a full turn."""


def random_states(model: DynamicModel, samples: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Draw states that a model can be observed in.

    Positions lie within the limits (a full turn where there are none), quaternions are uniform rotations, and a base
    that stands still does so in its neutral pose.

    Args:
        model: The model.
        samples: How many states.
        rng: The random generator.

    Returns:
        Positions, shape (samples, nq), velocities and accelerations, shape (samples, nv).
    """
    robot = model.robot
    q = np.concatenate([_positions(joint, samples, rng) for joint in robot.independent_joints], axis=1)
    v = rng.uniform(-_SPEED, _SPEED, (samples, robot.nv))
    a = rng.uniform(-_ACCELERATION, _ACCELERATION, (samples, robot.nv))
    if model.observed is Observed.GRAVITY:
        return q, np.zeros_like(v), np.zeros_like(a)
    if model.observed is Observed.WRENCH_STATIONARY:
        base = robot.joints[0]
        q[:, base.q] = neutral(base.kind)
        v[:, base.v] = a[:, base.v] = 0.0
    return q, v, a


def _positions(joint: Joint, samples: int, rng: np.random.Generator) -> Array:
    if joint.kind.has_quaternion:
        q = rng.normal(size=(samples, joint.kind.nq))
        q[:, -4:] /= np.linalg.norm(q[:, -4:], axis=1, keepdims=True)
        return q
    width = 2 * math.pi if joint.kind.is_angular else _LONGEST_STROKE
    return rng.uniform(*joint.limits.interval(width), (samples, 1))
