"""States of a robot from filtered positions: velocities and accelerations of all kinds of joints."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.robot import Robot


def steady_quaternions(robot: Robot, q: Array, before: Array | None) -> Array:
    """Positions whose quaternions go on from sample to sample, shape (samples, nq).

    Args:
        robot: The robot.
        q: Positions, shape (samples, nq).
        before: Positions at the sample before, shape (nq,), if there is one.
    """
    from dynid.logs.quaternions import with_steady_signs

    if not robot.has_quaternions:
        return q
    found = q.copy() if before is None else np.concatenate([before[None], q])
    for joint in robot.independent_joints:
        if joint.kind.has_quaternion:
            found[:, joint.q] = with_steady_signs(found[:, joint.q])
    return found if before is None else found[1:]


def states_of(robot: Robot, x: Array, dx: Array, ddx: Array) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations of positions with their derivatives, each of shape (samples, nq).

    A filtered quaternion x has not the length 1. With u = x / |x| the angular velocity in the body is
    `w = 2 vec(u* u') = 2 vec(x* x') / |x|^2`, and its derivative follows from `vec(x'* x') = 0`. A free body's velocity
    is along its own axes, `R' dp`, so that its derivative is `R' ddp - w x v`.

    Returns:
        q, shape (samples, nq), v and a, shape (samples, nv).
    """
    q, v, a = x.copy(), np.zeros((len(x), robot.nv)), np.zeros((len(x), robot.nv))
    for joint in robot.independent_joints:
        if not joint.kind.has_quaternion:
            v[:, joint.v], a[:, joint.v] = dx[:, joint.q], ddx[:, joint.q]
            continue
        u, du, ddu = (part[:, joint.q][:, -4:] for part in (x, dx, ddx))
        square = np.sum(u * u, axis=1, keepdims=True)
        turning = 2.0 * _product(u, du) / square
        gaining = 2.0 * _product(u, ddu) / square - 2.0 * turning * np.sum(u * du, axis=1, keepdims=True) / square
        q[:, joint.q.stop - 4 : joint.q.stop] = u / np.sqrt(square)
        v[:, joint.v.stop - 3 : joint.v.stop], a[:, joint.v.stop - 3 : joint.v.stop] = turning, gaining
        if joint.kind.nv == 6:
            place = slice(joint.q.start, joint.q.start + 3)
            own = slice(joint.v.start, joint.v.start + 3)
            v[:, own] = _turned_back(u / np.sqrt(square), dx[:, place])
            a[:, own] = _turned_back(u / np.sqrt(square), ddx[:, place]) - np.cross(turning, v[:, own])
    return q, v, a


def _product(u: Array, w: Array) -> Array:
    """Vector part of `u* w` of quaternions (x, y, z, w), shape (samples, 3)."""
    return u[:, 3:] * w[:, :3] - w[:, 3:] * u[:, :3] - np.cross(u[:, :3], w[:, :3])


def _turned_back(u: Array, vectors: Array) -> Array:
    """Vectors of the world along the axes of a body with orientation u, shape (samples, 3)."""
    across = 2.0 * np.cross(-u[:, :3], vectors)
    return vectors + u[:, 3:] * across + np.cross(-u[:, :3], across)
