"""The adjoint of the observation matrix with NumPy: the path without compilation, and the readable form of the kernel.

See `compiled_adjoint` for the method; here all vectors of a link stand in its own frame and are carried to its parent.
"""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.model.kernels.vectorised import body_regressor, kinematics
from dynid.robot.inertia import INERTIA_BASIS, SIZE
from dynid.robot.robot import WORLD, Robot


def vectorised_slopes(robot: Robot, q: Array, v: Array, a: Array, G: Array) -> tuple[Array, Array, Array]:
    """Slopes of `sum G * W` over positions, velocities and accelerations, each of shape (samples, nv).

    Args:
        robot: The robot.
        q: Positions, shape (samples, nq), checked by `Robot.states`.
        v: Velocities, shape (samples, nv).
        a: Accelerations, shape (samples, nv).
        G: Slopes over W, shape (nv, samples, 10 * solid links).
    """
    rotations, translations, velocities, accelerations = kinematics(robot, q, v, a)
    samples, joints = len(q), robot.joints
    over_velocity = np.zeros((len(joints), samples, 6))
    over_acceleration = np.zeros((len(joints), samples, 6))
    over_pose = np.zeros((len(joints), samples, 6))  # wrench that does work when the joint frame moves
    for block, i in enumerate(robot.solid_links):
        columns = slice(SIZE * block, SIZE * (block + 1))
        body = body_regressor(velocities[i], accelerations[i])
        for at, screws in _screws_below(robot, i, rotations, translations):
            joint = joints[at]
            for k, screw in enumerate(screws):
                p = G[joint.v.start + k][:, columns]
                over_v, over_a = _over_motion(velocities[i], screw, p)
                over_velocity[i] += over_v
                over_acceleration[i] += over_a
                wrench = np.einsum("skp,sp->sk", body, p)
                moved = _force_cross(screw, wrench)
                over_pose[i] += moved
                over_pose[at] -= _carried_down(moved, i, at, robot, rotations, translations)
    slopes = (np.zeros((samples, robot.nv)), np.zeros((samples, robot.nv)), np.zeros((samples, robot.nv)))
    for i in reversed(range(len(joints))):
        joint, S = joints[i], joints[i].subspace
        own = v[:, joint.v] @ S.T
        over_velocity[i] += _force_cross(own, over_acceleration[i])
        below_v = velocities[i] - own
        bias = _motion_cross(velocities[i], own)
        below_a = accelerations[i] - a[:, joint.v] @ S.T - bias
        turned = _force_cross(below_v, over_velocity[i]) + _force_cross(below_a, over_acceleration[i]) + over_pose[i]
        slopes[0][:, joint.v] -= turned @ S
        slopes[1][:, joint.v] += (over_velocity[i] - _force_cross(velocities[i], over_acceleration[i])) @ S
        slopes[2][:, joint.v] += over_acceleration[i] @ S
        if joint.parent != WORLD:
            for over in (over_velocity, over_acceleration, over_pose):
                over[joint.parent] += _to_parent(over[i], rotations[i], translations[i])
    return slopes


def _screws_below(robot: Robot, link: int, rotations: list[Array], translations: list[Array]):
    """For each joint that moves a link, its unit motions as the link sees them, each of shape (samples, 6)."""
    samples = len(rotations[link])
    R, p = np.broadcast_to(np.eye(3), (samples, 3, 3)), np.zeros((samples, 3))  # the link in the joint's frame
    at = link
    while at != WORLD:
        screws = []
        for motion in robot.joints[at].subspace.T:
            linear = motion[:3] + np.cross(motion[3:], p)
            angular = np.broadcast_to(motion[3:], (samples, 3))
            screws.append(np.concatenate([np.einsum("sji,sj->si", R, x) for x in (linear, angular)], axis=1))
        yield at, screws
        p = np.einsum("sij,sj->si", rotations[at], p) + translations[at]
        R = rotations[at] @ R
        at = robot.joints[at].parent


def _over_motion(velocity: Array, screw: Array, p: Array) -> tuple[Array, Array]:
    """Slopes of `screw . (Y p)` over a link's velocity and acceleration, each of shape (samples, 6).

    With t and u the screw's linear and angular parts, h and I those of the parameters p, it is
    t . (m c + b x h + w x (w x h)) + u . (h x c + I b + w x I w), with c = linear acceleration + w x linear velocity.
    """
    w, linear = velocity[:, 3:], velocity[:, :3]
    t, u = screw[:, :3], screw[:, 3:]
    m, h = p[:, :1], p[:, 1:4]
    inertia = np.einsum("sk,kij->sij", p[:, 4:], INERTIA_BASIS)

    def times(x: Array) -> Array:
        return np.einsum("sij,sj->si", inertia, x)

    def dot(x: Array, y: Array) -> Array:
        return np.sum(x * y, axis=1, keepdims=True)

    over_c = m * t + np.cross(u, h)
    over_b = np.cross(h, t) + times(u)
    over_w = t * dot(w, h) + h * dot(t, w) - 2 * w * dot(t, h) + times(np.cross(u, w)) + np.cross(times(w), u)
    over_w = over_w + np.cross(linear, over_c)
    return (
        np.concatenate([np.cross(over_c, w), over_w], axis=1),
        np.concatenate([over_c, over_b], axis=1),
    )


def _motion_cross(one: Array, other: Array) -> Array:
    return np.concatenate(
        [np.cross(one[:, 3:], other[:, :3]) + np.cross(one[:, :3], other[:, 3:]), np.cross(one[:, 3:], other[:, 3:])],
        axis=1,
    )


def _force_cross(motion: Array, force: Array) -> Array:
    return np.concatenate(
        [
            np.cross(motion[:, 3:], force[:, :3]),
            np.cross(motion[:, 3:], force[:, 3:]) + np.cross(motion[:, :3], force[:, :3]),
        ],
        axis=1,
    )


def _to_parent(wrench: Array, R: Array, p: Array) -> Array:
    """A wrench in a link's frame, in its parent's."""
    force = np.einsum("sij,sj->si", R, wrench[:, :3])
    return np.concatenate([force, np.einsum("sij,sj->si", R, wrench[:, 3:]) + np.cross(p, force)], axis=1)


def _carried_down(wrench: Array, link: int, to: int, robot: Robot, rotations: list[Array], translations: list[Array]):
    """A wrench in a link's frame, in that of a joint below it."""
    while link != to:
        wrench = _to_parent(wrench, rotations[link], translations[link])
        link = robot.joints[link].parent
    return wrench
