"""The condition number of a written trajectory, computed apart from the code that designed it.

The regressor is Pinocchio's; of dynid only the selection of base columns in natural order is used. Parameters are about
joint frames, without friction, at the rows of the CSV.

    python benchmarks/independent_condition.py ROBOT trajectory.csv [--lock JOINT,JOINT]
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
import pinocchio as pin

from dynid import DynamicModel, Robot, find_base_parameters, load_robot
from dynid.arrays import Array
from dynid.robot.pinocchio import to_pinocchio


def read_csv(path: Path) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations of a trajectory's rows, each of shape (samples, joints)."""
    with path.open(newline="") as stream:
        head, *rows = csv.reader(stream)
    values = np.array(rows, dtype=float)
    q, v, a = (values[:, [k for k, name in enumerate(head) if name.startswith(f"{what}_")]] for what in "qva")
    return q, v, a


def condition_number(robot: Robot, q: Array, v: Array, a: Array) -> float:
    """Of the base regressor: singular values of Pinocchio's rows, stacked."""
    model = to_pinocchio(robot)
    data = model.createData()
    W = np.concatenate([pin.computeJointTorqueRegressor(model, data, *state) for state in zip(q, v, a, strict=True)])
    columns = list(find_base_parameters(DynamicModel(robot)).columns)
    return float(np.linalg.cond(W[:, columns]))


def main() -> None:
    robot, path, *rest = sys.argv[1:]
    lock = dict.fromkeys(rest[1].split(","), 0.0) if rest[:1] == ["--lock"] else {}
    print(f"{condition_number(load_robot(robot, lock=lock), *read_csv(Path(path))):.4f}")


if __name__ == "__main__":
    main()
