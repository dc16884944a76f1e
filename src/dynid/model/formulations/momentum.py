"""Generalised momentum of a robot, linear in its parameters: `M(q) v = P(q, v) p`; and what changes it.

A joint's momentum is S' H: S its axes of motion, H the spatial momentum of all that it carries. Axes are fixed in the
link that they move, so they change by V x S with the link's velocity V, and H by gravity's wrench G and by what the
joint itself transmits:

    torque = d/dt (P p) + B p,    B p = -(V x S)' H - S' G + friction.

That holds for every kind of joint here. Neither P nor B has accelerations in it.
"""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.model.dynamic_model import DynamicModel
from dynid.model.formulations.stored_inertia import stored_inertia, torques_without_acceleration
from dynid.model.formulations.world_kinematics import WorldKinematics
from dynid.robot.inertia import INERTIA_BASIS, SIZE, skew
from dynid.robot.robot import WORLD


def momentum_regressor(model: DynamicModel, q: object, v: object = None) -> Array:
    """Generalised momentum P per unit of each parameter [N m s or N s], shape (nv, samples, parameters).

    Args:
        model: The model.
        q: Positions, shape (samples, nq).
        v: Velocities, shape (samples, nv); zero when None.

    Raises:
        InvalidRequestError: If a term has accelerations that are no inertia; see `stored_inertia`.
    """
    robot = model.robot
    q, v, _ = robot.states(q, v)
    moving = WorldKinematics.of(robot, q, v)
    P = np.zeros((robot.nv, len(q), len(model.names)))
    for block, i in enumerate(robot.solid_links):
        H = _momentum(moving, i)
        at = i
        while at != WORLD:
            joint = robot.joints[at]
            P[joint.v, :, SIZE * block : SIZE * (block + 1)] += _along(moving.subspaces[at], H)
            at = joint.parent
    P[:, :, SIZE * len(robot.solid_links) :] = np.einsum("kij,sj->isk", stored_inertia(model), v)
    return P


def impulse_regressor(model: DynamicModel, q: object, v: object = None) -> Array:
    """What of the torque does not change the momentum, B per unit of each parameter; shape and arguments as above."""
    robot = model.robot
    q, v, _ = robot.states(q, v)
    moving = WorldKinematics.of(robot, q, v)
    pairs = zip(moving.velocities, moving.subspaces, strict=True)
    axes = [np.concatenate([_crossed(V, S), S], axis=1) for V, S in pairs]  # (V x S)' H + S' G in one product
    B = np.zeros((robot.nv, len(q), len(model.names)))
    for block, i in enumerate(robot.solid_links):
        wrenches = np.concatenate([_momentum(moving, i), _gravity(moving, i, robot.gravity)], axis=1)
        at = i
        while at != WORLD:
            joint = robot.joints[at]
            B[joint.v, :, SIZE * block : SIZE * (block + 1)] -= _along(axes[at], wrenches)
            at = joint.parent
    B[:, :, SIZE * len(robot.solid_links) :] = torques_without_acceleration(model, q, v)
    return B


def _along(S: Array, wrench: Array) -> Array:
    """Parts of wrenches, shape (samples, n, 10), along axes, shape (samples, n, nv); shape (nv, samples, 10)."""
    return (S.transpose(0, 2, 1) @ wrench).transpose(1, 0, 2)


def _crossed(V: Array, S: Array) -> Array:
    """How axes S, shape (samples, 6, n), change when they move with the velocity V, shape (samples, 6)."""
    linear, angular = V[:, :3, None], V[:, 3:, None]
    return np.concatenate(
        [
            np.cross(angular, S[:, :3], axis=1) + np.cross(linear, S[:, 3:], axis=1),
            np.cross(angular, S[:, 3:], axis=1),
        ],
        axis=1,
    )


def _momentum(moving: WorldKinematics, i: int) -> Array:
    """Spatial momentum (linear; angular about the world's origin) of a link per unit of its ten parameters."""
    u, w = moving.own_velocity(i)
    block = np.zeros((len(u), 6, SIZE))
    block[:, :3, 0] = u
    block[:, :3, 1:4] = skew(w)
    block[:, 3:, 1:4] = -skew(u)
    block[:, 3:, 4:] = np.einsum("kij,sj->sik", INERTIA_BASIS, w)
    return _at_world(moving, i, block)


def _gravity(moving: WorldKinematics, i: int, gravity: Array) -> Array:
    """Gravity's wrench on a link per unit of its ten parameters, as `_momentum`."""
    own = gravity @ moving.rotations[i]
    block = np.zeros((len(own), 6, SIZE))
    block[:, :3, 0] = own
    block[:, 3:, 1:4] = -skew(own)
    return _at_world(moving, i, block)


def _at_world(moving: WorldKinematics, i: int, block: Array) -> Array:
    """Wrenches at and along a joint's frame, shape (samples, 6, n), at the world's origin and along its axes."""
    R, x = moving.rotations[i], moving.origins[i]
    force, moment = R @ block[:, :3], R @ block[:, 3:]
    return np.concatenate([force, moment + skew(x) @ force], axis=1)
