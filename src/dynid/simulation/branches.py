"""Independent branches of a robot: joints whose motions never act on each other, such as legs on a locked trunk."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Indices
from dynid.robot import WORLD, Robot
from dynid.simulation.joint_forces import JointForces


def independent_branches(robot: Robot, forces: JointForces) -> tuple[Indices, ...]:
    """Coordinates that move together, branch by branch.

    Two joints act on each other where they share a moving ancestor (or one is the other's), a coordinate (mimic
    joints), or a coupling of friction and actuator terms.

    Args:
        robot: The robot, whose joints all have one degree of freedom.
        forces: Its friction and actuator terms.

    Returns:
        For each branch its coordinates, ascending; branches in the order of their first coordinate.
    """
    label = np.arange(robot.nv)

    def join(i: int, j: int) -> None:
        label[label == max(label[i], label[j])] = min(label[i], label[j])

    for joint in robot.joints:
        if joint.parent != WORLD:
            join(joint.v.start, robot.joints[joint.parent].v.start)
    coupled = (forces.inertia != 0.0) | (forces.viscous != 0.0) | (forces.stiffness != 0.0)
    for i, j in np.argwhere(coupled):
        join(i, j)
    for direction in forces.direction:
        touched = np.flatnonzero(direction)
        for j in touched[1:]:
            join(touched[0], j)
    return tuple(np.flatnonzero(label == first) for first in np.unique(label))


def envelope(branches: tuple[Indices, ...]) -> Indices:
    """For each coordinate the first one of its branch, where its row of a mass matrix starts; shape (nv,)."""
    first = np.zeros(sum(map(len, branches)), dtype=np.int64)
    for branch in branches:
        first[branch] = branch[0]
    return first
