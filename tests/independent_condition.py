"""The condition number of a written trajectory, computed apart from the code that designed it.

The regressor is Pinocchio's; of dynid only the selection of base columns in natural order is used. Parameters are about
joint frames, at the rows of the CSV; without friction, or with viscous, Coulomb and offset columns.

`benchmarks/independent_condition.py` prints it for any trajectory.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pinocchio as pin

from dynid import DynamicModel, Robot, find_base_parameters
from dynid.arrays import Array
from dynid.robot.pinocchio import to_pinocchio


def read_csv(path: Path) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations of a trajectory's rows, each of shape (samples, joints)."""
    with path.open(newline="") as stream:
        head, *rows = csv.reader(stream)
    values = np.array(rows, dtype=float)
    q, v, a = (values[:, [k for k, name in enumerate(head) if name.startswith(f"{what}_")]] for what in "qva")
    return q, v, a


def condition_number(robot: Robot, q: Array, v: Array, a: Array, friction: bool = False) -> float:
    """Of the base regressor: singular values of Pinocchio's rows; with friction, v, sign(v) and 1 beside them."""
    model = to_pinocchio(robot)
    data = model.createData()
    W = np.concatenate([pin.computeJointTorqueRegressor(model, data, *state) for state in zip(q, v, a, strict=True)])
    columns = list(find_base_parameters(DynamicModel(robot)).columns)
    W = W[:, columns]
    if friction:
        beside = [np.concatenate([np.diag(values) for values in part]) for part in (v, np.sign(v), np.ones_like(v))]
        W = np.concatenate([W, *beside], axis=1)
    return float(np.linalg.cond(W))
