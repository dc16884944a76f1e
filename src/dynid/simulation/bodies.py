"""Bodies for joints that move nothing: some robot files say nothing about inertia, and a robot needs some to move."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.estimation.physical.references import plain_body
from dynid.robot import inertia
from dynid.robot.robot import Robot

LIGHTEST = 1e-8
"""Inertia of a joint [kg m^2 or kg] below which it counts as moving nothing."""


def with_made_up_bodies(robot: Robot, parameters: Array) -> tuple[Array, tuple[str, ...]]:
    """Give a body to every link whose joint has no inertia to move.

    Where no link has any mass, all are given bodies: the plain ones that also stand in for missing priors. Joints that
    move something further out, or whose link has mass, are left as they are, unless all of it lies on their axis.

    Args:
        robot: The robot.
        parameters: Inertial parameters p, shape (10 * solid links,).

    Returns:
        Parameters of the same shape, and the names of the links that were given bodies.
    """
    p = np.array(parameters, dtype=float).reshape(-1, inertia.SIZE)
    nothing = not p.any()
    names = []
    for k in reversed(range(len(robot.solid_links))):
        i = robot.solid_links[k]
        if nothing or _own_inertia(robot, p, i) < LIGHTEST:
            p[k] = p[k] + plain_body(robot, i)
            names.append(robot.links[i].name)
    return p.ravel(), tuple(reversed(names))


def _own_inertia(robot: Robot, p: Array, index: int) -> float:
    """Inertia [kg m^2 or kg] that a joint moves with the robot at neutral: its part of the mass matrix's diagonal."""
    total = np.zeros(inertia.SIZE)
    poses: dict[int, Array] = {index: np.eye(4)}
    for j in range(index, len(robot.joints)):
        if j != index:
            if robot.joints[j].parent not in poses:
                continue
            R, t = robot.joints[j].move(robot.neutral[None])
            pose = np.eye(4)
            pose[:3, :3], pose[:3, 3] = R[0], t[0]
            poses[j] = poses[robot.joints[j].parent] @ pose
        if j in robot.solid_links:
            total += inertia.moved(p[robot.solid_links.index(j)], poses[j])
    S = robot.joints[index].subspace[:, 0]
    return float(total[0] * S[:3] @ S[:3] + S[3:] @ inertia.inertia_matrix(total) @ S[3:])
