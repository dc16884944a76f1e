"""Bodies for joints that move nothing: some robot files say nothing about inertia, and a robot needs some to move."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.robot import inertia
from dynid.robot.robot import Robot

MASS_PER_LENGTH = 20.0
"""Mass of a made-up body [kg/m]: that of a slender industrial arm."""

SHORTEST = 0.1
"""Length of a made-up body at the end of an arm [m]."""

LIGHTEST = 1e-8
"""Inertia of a joint [kg m^2 or kg] below which it counts as moving nothing."""


def with_made_up_bodies(robot: Robot, parameters: Array) -> tuple[Array, tuple[str, ...]]:
    """Give a body to every link whose joint has no inertia to move.

    Where no link has any mass, all are given bodies. Such a body is a straight rod with round ends, from the joint to
    the farthest joint on it. Joints that move something further out, or whose link has mass, are left as they are,
    unless all of it lies on their axis.

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
            p[k] = p[k] + _rod(robot, i)
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


def _rod(robot: Robot, index: int) -> Array:
    ends = [joint.placement[:3, 3] for joint in robot.joints if joint.parent == index]
    end = max(ends, key=np.linalg.norm, default=np.zeros(3))
    length = max(float(np.linalg.norm(end)), SHORTEST)
    mass = MASS_PER_LENGTH * length
    along = end / np.linalg.norm(end) if np.linalg.norm(end) > 0.0 else np.array([0.0, 0.0, 1.0])
    across = np.eye(3) - np.outer(along, along)
    round_part = 0.4 * mass * (0.5 * SHORTEST) ** 2 * np.eye(3)
    return inertia.from_mass_com_inertia(mass, 0.5 * end, mass * length**2 / 12.0 * across + round_part)
