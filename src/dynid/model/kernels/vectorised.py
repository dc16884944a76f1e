"""The observation matrix with NumPy: the path without compilation, and the readable form of the kernel.

For every link, its velocity and acceleration give a (6, 10) block that maps the link's parameters to the wrench it
needs; that wrench is carried down the tree, and each joint on the way feels the part along its own motion. All arrays
are batched: a leading axis of samples, and matrix products over the last two.
"""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.robot.inertia import INERTIA_BASIS, SIZE, skew
from dynid.robot.robot import WORLD, Robot


def vectorised_regressor(robot: Robot, q: Array, v: Array, a: Array) -> Array:
    """The observation matrix of the links' inertial parameters, shape (nv, samples, 10 * solid links).

    Args:
        robot: The robot.
        q: Positions, shape (samples, nq), checked by `Robot.states`.
        v: Velocities, shape (samples, nv).
        a: Accelerations, shape (samples, nv).
    """
    W = np.zeros((robot.nv, len(q), SIZE * len(robot.solid_links)))
    rotations, translations, velocities, accelerations = kinematics(robot, q, v, a)
    for block, i in enumerate(robot.solid_links):
        columns = slice(SIZE * block, SIZE * (block + 1))
        wrench = body_regressor(velocities[i], accelerations[i])
        at = i
        while at != WORLD:
            joint = robot.joints[at]
            W[joint.v, :, columns] += np.einsum("kr,skp->rsp", joint.subspace, wrench)
            force = rotations[at] @ wrench[:, :3]
            moment = rotations[at] @ wrench[:, 3:] + skew(translations[at]) @ force
            wrench = np.concatenate([force, moment], axis=1)
            at = joint.parent
    return W


def kinematics(robot: Robot, q: Array, v: Array, a: Array) -> tuple[list[Array], list[Array], list[Array], list[Array]]:
    """Poses in the parent's frame, and spatial velocities and accelerations in the own frame, of all joints.

    The ground is accelerated against gravity, so that every link's acceleration contains it.
    """
    samples = len(q)
    ground_velocity = np.zeros((samples, 6))
    ground_acceleration = np.tile(np.concatenate([-robot.gravity, np.zeros(3)]), (samples, 1))
    rotations: list[Array] = []
    translations: list[Array] = []
    velocities: list[Array] = []
    accelerations: list[Array] = []
    for joint in robot.joints:
        R, p = joint.move(q)
        below = joint.parent
        velocity_below = ground_velocity if below == WORLD else velocities[below]
        acceleration_below = ground_acceleration if below == WORLD else accelerations[below]
        own = v[:, joint.v] @ joint.subspace.T
        velocity = _carried(velocity_below, R, p) + own
        bias = np.concatenate(
            [
                np.cross(velocity[:, 3:], own[:, :3]) + np.cross(velocity[:, :3], own[:, 3:]),
                np.cross(velocity[:, 3:], own[:, 3:]),
            ],
            axis=1,
        )
        rotations.append(R)
        translations.append(p)
        velocities.append(velocity)
        accelerations.append(_carried(acceleration_below, R, p) + a[:, joint.v] @ joint.subspace.T + bias)
    return rotations, translations, velocities, accelerations


def _carried(motion: Array, R: Array, p: Array) -> Array:
    """A motion (linear; angular) of the parent, at and along the child's frame; shape (samples, 6)."""
    linear = motion[:, :3] + np.cross(motion[:, 3:], p)
    return np.concatenate([_in_child(R, linear), _in_child(R, motion[:, 3:])], axis=1)


def _in_child(R: Array, vectors: Array) -> Array:
    return np.einsum("sji,sj->si", R, vectors)


def body_regressor(velocity: Array, acceleration: Array) -> Array:
    """Wrench (force; moment) that a body needs, per unit of its ten parameters; shape (samples, 6, 10).

    With w the angular velocity, x' the acceleration of the frame's origin (gravity in it), h the first moment and I
    the inertia matrix: force = m x' + w' x h + w x (w x h), moment = h x x' + I w' + w x I w.
    """
    w, w_dot = velocity[:, 3:], acceleration[:, 3:]
    origin = acceleration[:, :3] + np.cross(w, velocity[:, :3])
    Sw = skew(w)
    block = np.zeros((len(w), 6, SIZE))
    block[:, :3, 0] = origin
    block[:, :3, 1:4] = skew(w_dot) + Sw @ Sw
    block[:, 3:, 1:4] = -skew(origin)
    block[:, 3:, 4:] = _inertia_times(w_dot) + Sw @ _inertia_times(w)
    return block


def _inertia_times(vectors: Array) -> Array:
    """Matrices L(x) with L(x) (Ixx, Ixy, Iyy, Ixz, Iyz, Izz) = I x; (samples, 3) to (samples, 3, 6)."""
    return np.einsum("kij,sj->sik", INERTIA_BASIS, vectors)
