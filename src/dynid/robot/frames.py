"""Poses of frames as (4, 4) homogeneous matrices: p_A = T_A_B @ p_B."""

import math

import numpy as np

from dynid.arrays import Array


def pose(rotation: Array | None = None, translation: Array | None = None) -> Array:
    """Matrix (4, 4) of a rotation (3, 3) and a translation (3,) [m]; identity where not given."""
    T = np.eye(4)
    if rotation is not None:
        T[:3, :3] = rotation
    if translation is not None:
        T[:3, 3] = translation
    return T


def inverse(T: Array) -> Array:
    """Inverse of a pose, shape (4, 4)."""
    R = T[:3, :3].T
    return pose(R, -R @ T[:3, 3])


def elementary_rotation(axis: str, angle: float) -> Array:
    """Rotation (3, 3) by an angle [rad] about the axis "x", "y" or "z".

    Multiples of a quarter turn come out exact, so that right angles in a robot's geometry stay right angles.
    """
    c, s = _exact_cos_sin(angle)
    i = "xyz".index(axis)
    j, k = (i + 1) % 3, (i + 2) % 3
    R = np.eye(3)
    R[j, j] = R[k, k] = c
    R[k, j], R[j, k] = s, -s
    return R


def _exact_cos_sin(angle: float) -> tuple[float, float]:
    quarters = angle / (math.pi / 2)
    if abs(quarters - round(quarters)) < 1e-15 * max(1.0, abs(quarters)):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[round(quarters) % 4]
    return math.cos(angle), math.sin(angle)


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """Rotation (3, 3) by roll, pitch, yaw [rad] about the fixed x, y, z axes, as URDF has it."""
    return elementary_rotation("z", yaw) @ elementary_rotation("y", pitch) @ elementary_rotation("x", roll)


def rpy_from_rotation(R: Array) -> tuple[float, float, float]:
    """Roll, pitch, yaw [rad] of a rotation (3, 3); the inverse of `rotation_from_rpy`."""
    roll = math.atan2(R[2, 1], R[2, 2])
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    # Near a pitch of a quarter turn only yaw -+ roll is well defined: take the yaw that goes with this roll.
    s, c = math.sin(roll), math.cos(roll)
    return roll, pitch, math.atan2(s * R[0, 2] - c * R[0, 1], c * R[1, 1] - s * R[1, 2])
