"""Frames of the links of a tree, how they move, and where its centre of mass is: for many samples at once.

Everything is along the axes of the world. Only the joints that are asked for are looked at, parents before children.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.robot import WORLD, Robot

Frames = dict[int, tuple[Array, Array]]
"""For each link its joint frame: rotations, shape (samples, 3, 3), and origins [m], shape (samples, 3)."""


def chain_joints(robot: Robot, links: Iterable[int]) -> list[int]:
    """The joints that move links, parents before children."""
    return sorted({joint for link in links for joint in robot.chain(link)})


def frames_of(robot: Robot, joints: Sequence[int], q: Array) -> Frames:
    """Joint frames in the world.

    Args:
        robot: The robot.
        joints: Indices of joints, each with all below it, ascending.
        q: Positions, shape (samples, nq).
    """
    found: Frames = {}
    for k in joints:
        R, p = robot.joints[k].move(q)
        if robot.joints[k].parent != WORLD:
            below, origin = found[robot.joints[k].parent]
            R, p = below @ R, np.einsum("sij,sj->si", below, p) + origin
        found[k] = R, p
    return found


@dataclass(frozen=True, eq=False)
class Rates:
    """How one link's joint frame moves; each of shape (samples, 3).

    Attributes:
        turning: Angular velocity [rad/s].
        moving: Velocity of its origin [m/s].
        turning_rate: Angular acceleration [rad/s^2].
        moving_rate: Acceleration of its origin [m/s^2].
    """

    turning: Array
    moving: Array
    turning_rate: Array
    moving_rate: Array

    def at(self, arm: Array) -> tuple[Array, Array]:
        """Velocity and acceleration of a point of the link, an arm [m] away from its origin, each (samples, 3)."""
        across = np.cross(self.turning, arm)
        velocity = self.moving + across
        return velocity, self.moving_rate + np.cross(self.turning_rate, arm) + np.cross(self.turning, across)


def rates_of(robot: Robot, frames: Frames, v: Array, a: Array) -> dict[int, Rates]:
    """How the joint frames move that `frames_of` gave, at velocities and accelerations of shape (samples, nv)."""
    found: dict[int, Rates] = {}
    still = np.zeros((len(v), 3))
    ground = Rates(still, still, still, still)
    for k, (R, p) in frames.items():
        joint = robot.joints[k]
        below, origin = ground, np.zeros(3)
        if joint.parent != WORLD:
            below, origin = found[joint.parent], frames[joint.parent][1]
        slide, turn = _along(R, joint.subspace, v[:, joint.v])
        slide_dot, turn_dot = _along(R, joint.subspace, a[:, joint.v])
        velocity, acceleration = below.at(p - origin)
        turning = below.turning + turn
        found[k] = Rates(
            turning,
            velocity + slide,
            below.turning_rate + turn_dot + np.cross(below.turning, turn),
            acceleration + slide_dot + np.cross(below.turning, slide) + np.cross(turning, slide),
        )
    return found


def _along(R: Array, S: Array, rates: Array) -> tuple[Array, Array]:
    """The linear and the angular part of a joint's own motion along the axes of the world."""
    return tuple(np.einsum("sij,sj->si", R, rates @ part.T) for part in (S[:3], S[3:]))  # type: ignore[return-value]


def point_jacobian(robot: Robot, frames: Frames, link: int, points: Array) -> Array:
    """How a point of a link moves and turns per joint velocity: linear, then angular rows.

    Args:
        robot: The robot.
        frames: The joint frames of the link's chain.
        link: Index of the link.
        points: The point in the world [m], shape (samples, 3).

    Returns:
        Array of shape (samples, 6, nv).
    """
    J = np.zeros((len(points), 6, robot.nv))
    for k in robot.chain(link):
        joint, (R, p) = robot.joints[k], frames[k]
        axes = R @ joint.subspace[3:]
        J[:, :3, joint.v] += R @ joint.subspace[:3] + np.cross(axes, (points - p)[:, :, None], axis=1)
        J[:, 3:, joint.v] += axes
    return J


def centre_of_mass(robot: Robot, frames: Frames) -> Array:
    """The centre of mass of the whole robot, as its file states it [m], shape (samples, 3)."""
    total, moment = 0.0, np.zeros(3)
    for k, (R, p) in frames.items():
        own = robot.links[k].parameters
        total, moment = total + own[0], moment + own[0] * p + R @ own[1:4]
    return np.asarray(moment / total)


def centre_jacobian(robot: Robot, frames: Frames) -> Array:
    """How the centre of mass moves per joint velocity, shape (samples, 3, nv)."""
    samples = len(frames[0][1])
    mass = [float(link.parameters[0]) for link in robot.links]
    moment = [mass[k] * p + R @ robot.links[k].parameters[1:4] for k, (R, p) in frames.items()]
    for k in reversed(range(len(robot.joints))):
        parent = robot.joints[k].parent
        if parent != WORLD:
            mass[parent] += mass[k]
            moment[parent] = moment[parent] + moment[k]
    J = np.zeros((samples, 3, robot.nv))
    for k, (R, p) in frames.items():
        joint = robot.joints[k]
        arm = moment[k] - mass[k] * p
        J[:, :, joint.v] += mass[k] * (R @ joint.subspace[:3]) + np.cross(
            R @ joint.subspace[3:], arm[:, :, None], axis=1
        )
    whole = sum(float(link.parameters[0]) for link in robot.links)
    return J / whole
