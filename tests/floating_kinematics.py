"""Kinematics of floating robots over all samples at once: poses, legs by inverse kinematics, centres of mass.

Positions are Pinocchio's: x, y, z and the quaternion (x, y, z, w) of the base, then the joints. Wrenches are forces,
then torques.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from dynid import Robot
from dynid.arrays import Array
from dynid.robot import SIZE, WORLD, skew
from dynid.robot.frames import inverse

NEWTON_STEPS = 12
"""Steps of inverse kinematics, which ends in exact legs from any posture near by."""


@dataclass(frozen=True, eq=False)
class Frame:
    """A body of a robot.

    Attributes:
        link: Index of the link that it is part of.
        placement: Its frame in that of the link's joint, shape (4, 4).
    """

    link: int
    placement: Array

    @classmethod
    def of(cls, robot: Robot, body: str) -> Frame:
        """The frame of a body by its name."""
        found = (cls(i, b.placement) for i, link in enumerate(robot.links) for b in link.bodies if b.name == body)
        return next(found)

    def pose(self, poses: Array) -> Array:
        """Its poses in the world, shape (samples, 4, 4), of those of all links."""
        return poses[self.link] @ self.placement


def poses(robot: Robot, q: Array) -> Array:
    """Poses of the joint frames of all links in the world, shape (links, samples, 4, 4), at positions (samples, nq)."""
    found = np.zeros((len(robot.joints), len(q), 4, 4))
    found[..., 3, 3] = 1.0
    for i, joint in enumerate(robot.joints):
        found[i, :, :3, :3], found[i, :, :3, 3] = joint.move(q)
        if joint.parent != WORLD:
            found[i] = found[joint.parent] @ found[i]
    return found


def of_links(robot: Robot, parameters: Array) -> Array:
    """Inertial parameters of each link, shape (links, 10), of those of solid links."""
    found = np.zeros((len(robot.links), SIZE))
    found[list(robot.solid_links)] = parameters.reshape(-1, SIZE)
    return found


def centre_of_mass(robot: Robot, parameters: Array, q: Array) -> Array:
    """The whole body's centre of mass in the world [m], shape (samples, 3)."""
    total = np.zeros((len(q), 4))
    for link, T in zip(of_links(robot, parameters), poses(robot, q), strict=True):
        total += T @ np.append(link[1:4], link[0])
    return total[:, :3] / total[:, 3:]


def leg(robot: Robot, foot: Frame) -> list[int]:
    """Indices of the joints between the base and a foot, from the base on."""
    return [i for i in robot.chain(foot.link) if robot.joints[i].kind.nv == 1][::-1]


def foot_jacobian(robot: Robot, of_all: Array, foot: Frame) -> Array:
    """Velocity of a foot's origin and its angular velocity per joint of its leg, in the world; (samples, 6, joints)."""
    point = foot.pose(of_all)[:, :3, 3]
    columns = []
    for i in leg(robot, foot):
        axis = of_all[i, :, :3, :3] @ robot.joints[i].axis
        columns.append(np.concatenate([np.cross(axis, point - of_all[i, :, :3, 3]), axis], axis=1))
    return np.stack(columns, axis=-1) if columns else np.zeros((of_all.shape[1], 6, 0))


def with_feet_at(robot: Robot, q: Array, feet: dict[str, Array], point: bool = False) -> tuple[Array, float]:
    """Positions with legs that put feet where they are to be, by Newton's method from the legs in `q`.

    Args:
        robot: The robot.
        q: Positions, shape (samples, nq).
        feet: For each foot its pose in the world, shape (4, 4).
        point: Whether only the places of the feet count.

    Returns:
        The positions, and the largest error that remains [m or rad].
    """
    q, rows, worst = q.copy(), slice(0, 3 if point else 6), 0.0
    for body, target in feet.items():
        foot = Frame.of(robot, body)
        columns = [robot.joints[i].q.start for i in leg(robot, foot)]
        largest = 0.0
        for step in range(NEWTON_STEPS + 1):
            of_all = poses(robot, q)
            T = foot.pose(of_all)
            turn = Rotation.from_matrix(target[:3, :3] @ np.swapaxes(T[:, :3, :3], 1, 2)).as_rotvec()
            error = np.concatenate([target[:3, 3] - T[:, :3, 3], turn], axis=1)[:, rows]
            largest = float(np.abs(error).max())
            if largest < 1e-12 or step == NEWTON_STEPS:
                break
            J = foot_jacobian(robot, of_all, foot)[:, rows]
            change = np.swapaxes(J, 1, 2) @ np.linalg.solve(
                J @ np.swapaxes(J, 1, 2) + 1e-12 * np.eye(J.shape[1]), error[..., None]
            )
            q[:, columns] += np.clip(change[..., 0], -0.3, 0.3)
        worst = max(worst, largest)
    return q, worst


def on_ground(robot: Robot, q: Array, foot: str, point: bool = False) -> Array:
    """Positions with the base where it puts a foot's frame at the world's, or upright above a point; (samples, nq)."""
    q = q.copy()
    q[:, :7] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    T = np.array([inverse(each) for each in Frame.of(robot, foot).pose(poses(robot, q))])
    if point:
        q[:, :3] = -Frame.of(robot, foot).pose(poses(robot, q))[:, :3, 3]
    else:
        q[:, :3], q[:, 3:7] = T[:, :3, 3], Rotation.from_matrix(T[:, :3, :3]).as_quat()
    return q


def base_velocity(robot: Robot, q: Array, v: Array, foot: str) -> Array:
    """Velocity of the base in the base frame (linear, angular) at which a foot rests, shape (samples, 6).

    Args:
        robot: The robot.
        q: Positions, shape (samples, nq).
        v: Velocities of the joints, shape (samples, nv - 6).
        foot: Body that rests.
    """
    frame, of_all = Frame.of(robot, foot), poses(robot, q)
    own = [robot.joints[i].v.start - 6 for i in leg(robot, frame)]
    moved = (foot_jacobian(robot, of_all, frame) @ v[:, own, None])[..., 0]
    arm = frame.pose(of_all)[:, :3, 3] - of_all[0, :, :3, 3]
    back = np.swapaxes(of_all[0, :, :3, :3], 1, 2)
    linear = -moved[:, :3] + np.cross(moved[:, 3:], arm)
    return np.concatenate([(back @ linear[..., None])[..., 0], -(back @ moved[:, 3:, None])[..., 0]], axis=1)


def on_base(robot: Robot, q: Array, wrenches: dict[str, Array]) -> Array:
    """Sum of wrenches in frames of bodies as a wrench in the base frame, shape (samples, 6)."""
    of_all = poses(robot, q)
    R, total = np.swapaxes(of_all[0, :, :3, :3], 1, 2), np.zeros((len(q), 6))
    for body, wrench in wrenches.items():
        T = Frame.of(robot, body).pose(of_all)
        turn = R @ T[:, :3, :3]
        arm = (R @ (T[:, :3, 3] - of_all[0, :, :3, 3])[..., None])[..., 0]
        force = (turn @ wrench[:, :3, None])[..., 0]
        total[:, :3] += force
        total[:, 3:] += (turn @ wrench[:, 3:, None])[..., 0] + np.cross(arm, force)
    return total


def pushes(robot: Robot, q: Array, feet: Sequence[str], point: bool = False) -> Array:
    """Generalised forces of unit wrenches at feet's origins along the world's axes; (samples, nv, 6 feet).

    Forces alone where the feet are points: shape (samples, nv, 3 feet).
    """
    of_all = poses(robot, q)
    found, back = np.zeros((len(q), robot.nv, 6 * len(feet))), np.swapaxes(of_all[0, :, :3, :3], 1, 2)
    for k, body in enumerate(feet):
        foot, at = Frame.of(robot, body), slice(6 * k, 6 * k + 6)
        arm = foot.pose(of_all)[:, :3, 3] - of_all[0, :, :3, 3]
        found[:, :3, at.start : at.start + 3] = found[:, 3:6, at.start + 3 : at.stop] = back
        found[:, 3:6, at.start : at.start + 3] = back @ skew(arm)
        own = [robot.joints[i].v.start for i in leg(robot, foot)]
        found[:, own, at] = np.swapaxes(foot_jacobian(robot, of_all, foot), 1, 2)
    return found[:, :, np.arange(found.shape[2]) % 6 < 3] if point else found
