"""What other people's software says: the same quantities from Pinocchio and MuJoCo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from dynid.arrays import Array
from dynid.robot.pinocchio import to_pinocchio, tree_coordinates
from dynid.robot.robot import Robot


def example_robot_files() -> list[Path]:
    """All URDF files of the example-robot-data wheel."""
    root = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
    return sorted(root.rglob("*.urdf"))


def example_robot_file(name: str) -> Path:
    return next(path for path in example_robot_files() if path.name == name)


def spread(robot: Robot, model: Any) -> Array:
    """Matrix G with v_pinocchio = G v, for a Pinocchio model that has the same joint names."""
    G = np.zeros((model.nv, robot.nv))
    for joint in robot.joints:
        other = model.joints[model.getJointId(joint.name)]
        G[other.idx_v : other.idx_v + other.nv, joint.v] = joint.ratio * np.eye(other.nv)
    return G


def pinocchio_configuration(robot: Robot, model: Any, q: Array) -> Array:
    """One configuration (nq,) for a Pinocchio model with the same joint names, whose angles may be (cos, sin)."""
    configuration = np.zeros(model.nq)
    for joint in robot.joints:
        other = model.joints[model.getJointId(joint.name)]
        own = q[joint.q] if joint.leader is None else joint.ratio * q[joint.q] + joint.offset
        if other.nq == 2:
            own = np.array([np.cos(own[0]), np.sin(own[0])])
        configuration[other.idx_q : other.idx_q + other.nq] = own
    return configuration


def pinocchio_torques(robot: Robot, model: Any, q: Array, v: Array, a: Array) -> Array:
    """Inverse dynamics of a Pinocchio model with the same joint names, shape (samples, nv)."""
    data, G = model.createData(), spread(robot, model)
    return np.array(
        [
            G.T @ pin.rnea(model, data, pinocchio_configuration(robot, model, q[k]), G @ v[k], G @ a[k])
            for k in range(len(q))
        ]
    )


def pinocchio_regressor(robot: Robot, q: Array, v: Array, a: Array) -> Array:
    """The regressor of the robot handed to Pinocchio, shape (nv, samples, 10 * links)."""
    model = to_pinocchio(robot)
    data = model.createData()
    blocks = []
    for k in range(len(q)):
        positions, velocities = tree_coordinates(robot, q[k], v[k])
        _, accelerations = tree_coordinates(robot, q[k], a[k])
        W = pin.computeJointTorqueRegressor(model, data, positions, velocities, accelerations)
        blocks.append(spread(robot, model).T @ W.reshape(model.nv, -1))
    return np.array(blocks).transpose(1, 0, 2)


def assert_same_torques(found: Array, expected: Array, relative: float = 1e-9) -> None:
    """Each joint's torques agree, relative to its own largest (or to a hundredth of the robot's largest)."""
    largest = np.abs(expected).max(axis=0)
    scale = np.maximum(largest, 0.01 * largest.max()) + np.finfo(float).tiny
    assert (np.abs(found - expected) / scale).max() <= relative


def is_possible_body(p: Array) -> bool:
    """Whether a body is physically consistent: by mass and principal moments, not by our pseudo-inertia."""
    m, h = p[0], p[1:4]
    about_origin = np.array([[p[4], p[5], p[7]], [p[5], p[6], p[8]], [p[7], p[8], p[9]]])
    c = h / m
    about_com = about_origin - m * (c @ c * np.eye(3) - np.outer(c, c))
    first, second, third = np.linalg.eigvalsh(about_com)
    return m > 0.0 and first > 0.0 and first + second > third
