"""Friction curves of a model: torque over velocity of one joint, all else at rest."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.model.dynamic_model import DynamicModel
from dynid.replay import friction_columns, is_frictional
from dynid.report.signals import Cloud

POINTS = 201


def friction_curve(model: DynamicModel, parameters: Array, row: int, cloud: Cloud | None) -> Cloud:
    """Torque of all terms that depend on velocity only, or on nothing, over the velocities of the data.

    Args:
        model: The model.
        parameters: Standard parameters, shape (parameters,).
        row: Row of the dynamics.
        cloud: The data; a range of plus and minus 1 where there are none.
    """
    fastest = 1.0 if cloud is None or not len(cloud.velocity) else float(np.abs(cloud.velocity).max()) or 1.0
    v = np.zeros((POINTS, model.robot.nv))
    v[:, model.rows.start + row] = np.linspace(-fastest, fastest, POINTS)
    q = np.tile(model.robot.neutral, (POINTS, 1))
    torque = np.zeros(POINTS)
    columns = iter(friction_columns(model))
    for term in filter(is_frictional, model.terms):
        W = term.columns(model.robot, q, v, np.zeros_like(v))[model.rows.start + row]
        torque += W @ np.array([parameters[next(columns)] for _ in range(W.shape[1])])
    return Cloud(v[:, model.rows.start + row], torque)
