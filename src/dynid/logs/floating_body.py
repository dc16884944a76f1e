"""A robot whose base is free, or whose joints turn about several axes, beside its log: whole positions, measured rows.

The rows of its dynamics are `W p = [0; tau] + sum J' F`: on the right, what was measured. A row counts where all of
that was: rows of the base where all wrenches from outside are known, rows of a joint where its torque is, and all
wrenches beyond it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, ShapeError
from dynid.logs.contacts import Contact, Stance
from dynid.logs.log import POSE_COLUMNS, Log
from dynid.logs.quaternions import with_steady_signs
from dynid.model import ContactOffset, DynamicModel, joint_torques, link_pose
from dynid.robot import CHANNELS, Robot, place_of_body, pose, rotation_about


@dataclass(frozen=True, eq=False)
class FloatingBody:
    """What turns logs of such a robot into states and rows.

    Attributes:
        model: The model, whose rows are wanted.
    """

    model: DynamicModel

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.model.robot

    @cached_property
    def position_columns(self) -> int:
        """Columns of positions that a log has: those of all joints but a floating base."""
        return self.robot.nq - (POSE_COLUMNS if self.robot.has_floating_base else 0)

    @cached_property
    def torque_columns(self) -> int:
        """Columns of torques that a log has."""
        return self.robot.nv - (6 if self.robot.has_floating_base else 0)

    @cached_property
    def single(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Columns of joints of one axis among whole positions, and among rows."""
        axes = self.robot.axes
        return np.array([j.q.start for j in axes], dtype=np.intp), np.array([j.v.start for j in axes], dtype=np.intp)

    @cached_property
    def driven(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Columns of joints of one axis among positions and among torques of a log."""
        q, v = self.single
        return q - (self.robot.nq - self.position_columns), v - (self.robot.nv - self.torque_columns)

    def thresholds(self, of_axes: Sequence[float] | None) -> tuple[float, ...] | None:
        """Speeds below which rows do not count, of all rows, by those of the joints of one axis; None for none.

        Rows without friction, those of a base and of spherical joints, always count.
        """
        if of_axes is None or self.model.observed.is_wrench:
            return None
        found = np.zeros(self.robot.nv)
        found[self.single[1]] = of_axes
        return tuple(found[list(self.model.row_indices)].tolist())

    def require_log(self, log: Log) -> None:
        """Refuse a log that does not say where the base is and what acts on the robot.

        Raises:
            ShapeError: If it has other numbers of columns than the robot has joints.
            InvalidRequestError: If the pose of the base, or contacts, are missing; says what to state.
            UnknownNameError: If a body is not of the robot.
        """
        n = self.position_columns
        if log.position.shape[1] != n:
            raise ShapeError(f"positions of the joints of '{self.robot.name}'", f"(samples, {n})", log.position.shape)
        if self.robot.has_floating_base:
            if log.base_pose is None and log.stance is None:
                raise InvalidRequestError(
                    f"the base of '{self.robot.name}' is free, and the log does not say where it is; give base_pose "
                    "(x, y, z and a quaternion x, y, z, w), stance = the body that rests on the ground, or lock the "
                    'base where it was held (lock = ["base"])'
                )
            if log.contacts is None:
                raise InvalidRequestError(
                    f"the base of '{self.robot.name}' is free, and the log does not say what holds it; give contacts "
                    "with their wrenches, a contact without a wrench where none was measured, or contacts = [] in free "
                    "flight"
                )
            if not log.contacts and not log.has_torques:
                raise InvalidRequestError(
                    f"'{self.robot.name}' flies freely, and no torques were measured: nothing has a scale then, and "
                    "only ratios of parameters show; give torques, or contacts with wrenches"
                )
        else:
            require_fixed(self.robot, log)
        for contact in log.contacts or ():
            place_of_body(self.robot, contact.body)
        for stance in log.standing:
            place_of_body(self.robot, stance.body)
        self._require_contacts_of_terms(log)

    def _require_contacts_of_terms(self, log: Log) -> None:
        """Refuse a log without a sensor whose offsets are to be estimated."""
        sensors = {
            contact.body for contact in log.contacts or () if contact.wrench is not None and contact.pose is None
        }
        for term in self.model.terms:
            lacking = [body for body in term.bodies if body not in sensors] if isinstance(term, ContactOffset) else []
            if lacking:
                raise InvalidRequestError(
                    f"contact_offset is of a sensor in '{lacking[0]}', and the log {log.name or ''} has no wrench of "
                    "one in that body (force plates have none); leave the body out of the term, or the log"
                )

    def with_steady_joints(self, positions: Array) -> Array:
        """Logged positions in which signs of quaternions go on from sample to sample, shape (samples, columns)."""
        found, skipped = positions.copy(), self.robot.nq - self.position_columns
        for joint in self.robot.logged_joints:
            if joint.kind.has_quaternion:
                own = slice(joint.q.start - skipped, joint.q.stop - skipped)
                found[:, own] = with_steady_signs(found[:, own])
        return found

    def positions(self, log: Log, joint_positions: Array) -> Array:
        """Positions of the whole robot, shape (samples, nq).

        Args:
            log: The log, for the pose of its base.
            joint_positions: Positions of the joints of one axis [rad or m], shape (samples, axes).
        """
        q = np.zeros((len(log), self.robot.nq))
        first = POSE_COLUMNS if self.robot.has_floating_base else 0
        q[:, first:] = log.position
        q[:, self.single[0]] = joint_positions
        if first:
            q[:, :first] = self._base_positions(log, q)
        return q

    def _base_positions(self, log: Log, q: Array) -> Array:
        """Positions of the base, as logged or by the body that rests on the ground, shape (samples, 7)."""
        poses = base_poses(self.robot, log.standing[0], q) if log.base_pose is None else log.base_pose
        return with_steady_signs(base_positions(self.robot, poses))

    def torques(self, log: Log, torque: Array, q: Array) -> Array:
        """What was measured of each row [N m or N], shape (samples, rows).

        Args:
            log: The log, for its contacts.
            torque: Torques of the joints, with those of drives at the joints, shape (samples, torque columns).
            q: Positions of the whole robot, whose quaternions may have any length, shape (samples, nq).
        """
        found, q = np.zeros((len(q), self.robot.nv)), self.robot.normalised(q)
        if torque.shape[1] == self.torque_columns:  # a log without torques may have another number of them
            found[:, self.robot.nv - self.torque_columns :] = torque
        for contact in log.contacts or ():
            if contact.wrench is not None:
                found += contact_torques(self.robot, contact, q)
        return found[:, list(self.model.row_indices)]

    def _acted_on(self, log: Log, contact: Contact) -> NDArray[np.bool_]:
        """On which rows channels of a contact act that were not measured, shape (nv,)."""
        few = log.at(np.unique(np.linspace(0, len(log) - 1, POSTURES).astype(int)))
        q = self.positions(few, few.position[:, self.driven[0]])
        found = np.zeros(self.robot.nv, dtype=bool)
        for k, name in enumerate(CHANNELS):
            if name not in contact.channels:
                unit = replace(contact, wrench=np.tile(np.eye(len(CHANNELS))[k], (len(q), 1)))
                found |= np.abs(contact_torques(self.robot, unit, q)).max(axis=0) > NO_ACTION
        return found

    def measured(self, log: Log) -> NDArray[np.bool_] | None:
        """Which rows were measured, shape (samples, rows); None for all."""
        found = np.ones((len(log), self.robot.nv), dtype=bool)
        if log.missing is not None:
            missing = (
                log.missing
                if log.missing.shape[1] == self.torque_columns
                else np.all(log.missing, axis=1, keepdims=True)
            )
            found[:, self.robot.nv - self.torque_columns :] &= ~missing
        for contact in log.contacts or ():
            if contact.wrench is None:
                link, _ = place_of_body(self.robot, contact.body)
                for k in self.robot.chain(link):
                    found[:, self.robot.joints[k].v] = False
            elif contact.is_in_part:
                found[:, self._acted_on(log, contact)] = False
        rows = found[:, list(self.model.row_indices)]
        return None if rows.all() else rows


NO_ACTION = 0.02
"""Part of a force [m per 1], or lever of it [m], up to which a channel that was not measured does not act on a row:
boards lie level, and soles are on them, to about this."""

POSTURES = 60
"""Samples of a log at which it is looked on which rows channels act."""


def require_fixed(robot: Robot, log: Log) -> None:
    """Refuse a log with poses of a base, or contacts, of a robot whose base is fixed.

    Raises:
        InvalidRequestError: If it has one.
    """
    given = {"base_pose": log.base_pose, "stance": log.stance, "contacts": log.contacts}
    what = next((name for name, value in given.items() if value is not None), None)
    if what is not None:
        raise InvalidRequestError(
            f"the base of '{robot.name}' is fixed, and the log has {what}; load the robot with floating_base=True "
            f"(floating_base = true in the experiment), or leave {what} out"
        )


def base_positions(robot: Robot, poses: Array) -> Array:
    """Positions of a floating base, from where its file puts it, of poses in the world, both of shape (samples, 7)."""
    from scipy.spatial.transform import Rotation

    placement = robot.joints[0].placement
    back = Rotation.from_matrix(placement[:3, :3]).inv()
    turned = back * Rotation.from_quat(poses[:, 3:])
    return np.hstack([back.apply(poses[:, :3] - placement[:3, 3]), turned.as_quat()])


def base_poses(robot: Robot, stance: Stance, q: Array) -> Array:
    """Poses in the world of a floating base for which a body is where it rests, shape (samples, 7).

    Args:
        robot: The robot.
        stance: The body that rests on the ground.
        q: Positions of the whole robot, of which those of the base do not count, shape (samples, nq).
    """
    from scipy.spatial.transform import Rotation

    link, placement = place_of_body(robot, stance.body)
    T = _upright(robot, stance) if stance.pose is None else stance.pose
    q = q.copy()
    q[:, :POSE_COLUMNS] = robot.neutral[:POSE_COLUMNS]
    base, at_zero = link_pose(robot, 0, q[:1])  # that of the joint's placement, where the base is at its origin
    rotation, origin = link_pose(robot, link, q)
    at = origin + rotation @ placement[:3, 3]
    turned = T[:3, :3] @ (rotation @ placement[:3, :3]).transpose(0, 2, 1)
    found = np.zeros((len(q), POSE_COLUMNS))
    found[:, :3] = T[:3, 3] + np.einsum("sij,sj->si", turned, at_zero - at)
    found[:, 3:] = Rotation.from_matrix(turned @ base).as_quat()
    return found


LEVEL = 0.04
"""Angle [rad] up to which an axis of a body that rests counts as vertical: soles of files are tilted a little."""


def _upright(robot: Robot, stance: Stance) -> Array:
    """The pose of a body that rests, (4, 4): as the file draws it, at the origin, an axis upright that nearly is."""
    link, placement = place_of_body(robot, stance.body)
    rotation, _ = link_pose(robot, link, robot.neutral[None])
    R, strength = rotation[0] @ placement[:3, :3], float(np.linalg.norm(robot.gravity))
    if strength:
        up = -robot.gravity / strength
        heights = up @ R
        axis = int(np.argmax(np.abs(heights)))
        own = np.sign(heights[axis]) * R[:, axis]
        tilt = np.cross(own, up)
        if 0.0 < np.linalg.norm(tilt) < LEVEL:
            angle = float(np.arcsin(np.linalg.norm(tilt)))
            R = rotation_about(tilt / np.linalg.norm(tilt), np.array([angle]))[0] @ R
    return pose(R)


def contact_torques(robot: Robot, contact: Contact, q: Array) -> Array:
    """What a contact exerts on all rows of the dynamics, `J' F` [N m or N], shape (samples, nv)."""
    assert contact.wrench is not None
    link, placement = place_of_body(robot, contact.body)
    if contact.pose is None:
        return joint_torques(robot, link, placement, q, contact.wrench)
    rotation, origin = link_pose(robot, link, q)
    force, moment = (part @ contact.pose[:3, :3].T for part in np.split(contact.wrench, 2, axis=1))
    moment = moment + np.cross(contact.pose[:3, 3] - origin, force)  # about the link's origin
    own = np.hstack([np.einsum("sji,sj->si", rotation, part) for part in (force, moment)])
    return joint_torques(robot, link, np.eye(4), q, own)
