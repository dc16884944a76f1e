"""Energy and generalised momentum of a robot, linear in its parameters: `H(q, v) = h(q, v) p`, `M(q) v = P(q, v) p`.

Energy is the kinetic and potential energy of links and the kinetic energy of motors. What stores no energy, such as
friction, has a power instead. The motors' power is `v' tau = d/dt (h p) + v' f p` (equation 8 of "Dynamic parameter
identification of a 6 DOF industrial robot using power model"), with f the torque of terms without accelerations.

A joint's momentum is S' H: S its axes of motion, H the spatial momentum of all that it carries. Axes are fixed in the
link that they move, so they change by V x S with the link's velocity V, and H by gravity's wrench G and by what the
joint itself transmits:

    torque = d/dt (P p) + B p,    B p = -(V x S)' H - S' G + friction.

That holds for every kind of joint here. Neither P nor B depends on accelerations, if every term is `A_k a` plus
something without accelerations, with one constant symmetric matrix A_k for each of its parameters: then A_k adds
`v' A_k v / 2` to the energy and `A_k v` to the momentum. Motor inertia and couplings are so.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError
from dynid.model.dynamic_model import DynamicModel
from dynid.model.observed import Observed
from dynid.model.sampling import random_states
from dynid.robot import INERTIA_BASIS, SIZE, WORLD, Robot, skew

_RANDOM_STATES = 3
"""Random states that a term's inertia is read at: it must be the same in all."""

_SAME_INERTIA = 1e-9


@dataclass(frozen=True, eq=False)
class WorldKinematics:
    """Poses, velocities and motion subspaces of all joints in the world; spatial vectors are (linear; angular).

    Attributes:
        rotations: Of each joint's frame, shape (samples, 3, 3).
        origins: Of each joint's frame [m], shape (samples, 3).
        velocities: Of each joint's link, at the world's origin, shape (samples, 6).
        subspaces: Motion of each joint's link per unit of its velocities, at the world's origin, shape (samples, 6, nv
            of the joint).
    """

    rotations: list[Array]
    origins: list[Array]
    velocities: list[Array]
    subspaces: list[Array]

    @staticmethod
    def of(robot: Robot, q: Array, v: Array) -> WorldKinematics:
        """From positions, shape (samples, nq), and velocities, shape (samples, nv), that `Robot.states` has checked."""
        found = WorldKinematics([], [], [], [])
        for joint in robot.joints:
            R, x = joint.move(q)
            velocity = np.zeros((len(q), 6))
            if joint.parent != WORLD:
                below = found.rotations[joint.parent]
                x = np.einsum("sij,sj->si", below, x) + found.origins[joint.parent]
                R, velocity = below @ R, found.velocities[joint.parent]
            S = np.empty((len(q), 6, joint.subspace.shape[1]))
            S[:, 3:] = R @ joint.subspace[3:]
            S[:, :3] = R @ joint.subspace[:3] + np.cross(x[:, :, None], S[:, 3:], axis=1)
            found.rotations.append(R)
            found.origins.append(x)
            found.subspaces.append(S)
            found.velocities.append(velocity + np.einsum("skn,sn->sk", S, v[:, joint.v]))
        return found

    def own_velocity(self, joint: int) -> tuple[Array, Array]:
        """Velocity of a link's joint frame, along that frame: linear and angular, each of shape (samples, 3)."""
        R, V = self.rotations[joint], self.velocities[joint]
        linear = V[:, :3] + np.cross(V[:, 3:], self.origins[joint])
        return np.einsum("sji,sj->si", R, linear), np.einsum("sji,sj->si", R, V[:, 3:])


def energy_regressor(model: DynamicModel, q: object, v: object = None) -> Array:
    """Energy h per unit of each parameter [J], shape (samples, parameters).

    Potential energy is zero at the world's origin. Parameters that store no energy have a column of zeros.

    Args:
        model: The model.
        q: Positions, shape (samples, nq).
        v: Velocities, shape (samples, nv); zero when None.

    Raises:
        InvalidRequestError: If a term has accelerations that are no inertia; see `stored_inertia`.

    >>> from dynid import DynamicModel, load_robot
    >>> pendulum = DynamicModel(load_robot("builtin:pendulum"))
    >>> h = energy_regressor(pendulum, [[0.0], [0.0]], [[0.0], [2.0]])
    >>> float((h[1] - h[0]) @ pendulum.reference)  # I v^2 / 2 = 1.6708 * 4 / 2
    3.3416...
    """
    robot = model.robot
    q, v, _ = robot.states(q, v)
    moving = WorldKinematics.of(robot, q, v)
    h = np.empty((len(q), len(model.names)))
    for block, i in enumerate(robot.solid_links):
        u, w = moving.own_velocity(i)
        own = h[:, SIZE * block : SIZE * (block + 1)]
        own[:, 0] = 0.5 * np.sum(u * u, axis=1) - moving.origins[i] @ robot.gravity
        own[:, 1:4] = np.cross(u, w) - robot.gravity @ moving.rotations[i]
        own[:, 4:] = 0.5 * np.einsum("kij,si,sj->sk", INERTIA_BASIS, w, w, optimize=True)
    h[:, SIZE * len(robot.solid_links) :] = 0.5 * np.einsum("kij,si,sj->sk", stored_inertia(model), v, v, optimize=True)
    return h


def dissipation_regressor(model: DynamicModel, q: object, v: object = None) -> Array:
    """Power into what stores no energy, `v' f`, per unit of each parameter [W]: shape and arguments as above.

    Springs and offsets are here, too: what they take they give back.
    """
    q, v, _ = model.robot.states(q, v)
    power = np.zeros((len(q), len(model.names)))
    of_terms = torques_without_acceleration(model, q, v)
    power[:, power.shape[1] - of_terms.shape[-1] :] = np.einsum("sr,rsk->sk", v, of_terms)
    return power


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
        for at in robot.chain(i):
            P[robot.joints[at].v, :, SIZE * block : SIZE * (block + 1)] += _along(moving.subspaces[at], H)
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
        for at in robot.chain(i):
            B[robot.joints[at].v, :, SIZE * block : SIZE * (block + 1)] -= _along(axes[at], wrenches)
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


@cache
def stored_inertia(model: DynamicModel) -> Array:
    """The constant inertia matrices A_k of the terms' parameters, shape (parameters of terms, nv, nv).

    Raises:
        InvalidRequestError: If a term's part with accelerations is no constant symmetric inertia, or if the model is
            not one of joint torques in motion.
    """
    if model.observed != Observed.TORQUES:
        raise InvalidRequestError(
            f"energy, power and momentum need all joint torques in motion, and this model observes "
            f"'{model.observed.value}'; use estimator = 'torque'"
        )
    robot, rng = model.robot, np.random.default_rng(0)
    q, v, a = random_states(model, _RANDOM_STATES, rng)
    matrices = [np.zeros((0, robot.nv, robot.nv))]
    for term in model.terms:
        if term.needs_temperature:
            raise InvalidRequestError(
                f"rows of energy, power and momentum know no temperatures, which the term {type(term).__name__} needs; "
                "use estimator = 'torque', or viscous"
            )
        if term.needs_links:
            raise InvalidRequestError(
                f"rows of energy, power and momentum know no loads, which the term {type(term).__name__} needs; "
                "use estimator = 'torque', or coulomb"
            )
        at_rest = term.columns(robot, q, v, np.zeros_like(a))
        units = [np.tile(unit, (_RANDOM_STATES, 1)) for unit in np.eye(robot.nv)]
        slopes = np.stack([term.columns(robot, q, v, unit) - at_rest for unit in units])  # (of a, row, state, k)
        A = slopes[:, :, 0].transpose(2, 1, 0)
        size = _SAME_INERTIA * max(1.0, float(np.abs(slopes).max(initial=0.0)))
        linear = term.columns(robot, q, v, a) - at_rest - np.einsum("krc,sc->rsk", A, a)
        for flaw, found in (
            ("differs from state to state", slopes - slopes[:, :, :1]),
            ("is not proportional to the accelerations", linear / 10.0),
            ("is not symmetric: joint i on j as j on i", A - A.transpose(0, 2, 1)),
        ):
            if np.abs(found).max(initial=0.0) > size:
                raise InvalidRequestError(
                    f"the term {type(term).__name__} has an inertia that {flaw}, so it stores no energy that is known "
                    "without accelerations; use estimator = 'torque', or leave the term out"
                )
        matrices.append(A)
    return frozen(np.concatenate(matrices))


def torques_without_acceleration(model: DynamicModel, q: Array, v: Array) -> Array:
    """What the terms' parameters do besides their inertia, per unit: shape (nv, samples, parameters of terms)."""
    robot = model.robot
    parts = [term.columns(robot, q, v, np.zeros_like(v)) for term in model.terms]
    return np.concatenate([np.zeros((robot.nv, len(q), 0)), *parts], axis=-1)
