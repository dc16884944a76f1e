"""What terms do with accelerations: inertia of their own, which stores energy and momentum.

Power and momentum need no accelerations if every term is `A_k a` plus something without accelerations, with one
constant symmetric matrix A_k for each of its parameters: then A_k adds `v' A_k v / 2` to the energy and `A_k v` to the
momentum. Motor inertia and couplings are so.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError
from dynid.model.dynamic_model import DynamicModel, Observed
from dynid.model.sampling import random_states

_STATES = 3
"""Random states that a term's inertia is read at: it must be the same in all."""

_TOLERANCE = 1e-9


@cache
def stored_inertia(model: DynamicModel) -> Array:
    """The constant inertia matrices A_k of the terms' parameters, shape (parameters of terms, nv, nv).

    Raises:
        InvalidRequestError: If a term's part with accelerations is no constant symmetric inertia, or if the model is
            not one of joint torques in motion.
    """
    if model.observed is not Observed.TORQUES:
        raise InvalidRequestError(
            f"energy, power and momentum need all joint torques in motion, and this model observes "
            f"'{model.observed.value}'; use estimator = 'torque'"
        )
    robot, rng = model.robot, np.random.default_rng(0)
    q, v, a = random_states(model, _STATES, rng)
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
        units = [np.tile(unit, (_STATES, 1)) for unit in np.eye(robot.nv)]
        slopes = np.stack([term.columns(robot, q, v, unit) - at_rest for unit in units])  # (of a, row, state, k)
        A = slopes[:, :, 0].transpose(2, 1, 0)
        size = _TOLERANCE * max(1.0, float(np.abs(slopes).max(initial=0.0)))
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
