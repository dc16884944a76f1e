"""Energy of a robot, linear in its parameters: `H(q, v) = h(q, v) p`.

Kinetic and potential energy of links, and kinetic energy of motors. What does not store energy, such as friction, has
a power instead. The motors' power is `v' tau = d/dt (h p) + v' f p` (equation 8 of "Dynamic parameter identification
of a 6 DOF industrial robot using power model"), f what terms do without accelerations.
"""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.model.dynamic_model import DynamicModel
from dynid.model.formulations.stored_inertia import stored_inertia, torques_without_acceleration
from dynid.model.formulations.world_kinematics import WorldKinematics
from dynid.robot.inertia import INERTIA_BASIS, SIZE


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
