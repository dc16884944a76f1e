"""States in which bodies of a floating robot stand still, each where one posture has it: the neutral one of the file.

One body fixes the pose, the velocity and the acceleration of the base, whatever the joints do. Several bodies close
loops: joints then follow from others. Of a foot like a ball, only a point stands. Positions are found by Newton's
method, damped, with an exact Jacobian; velocities and accelerations are the nearest ones that satisfy `J v = 0` and
`J a + J' v = 0`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Flags
from dynid.errors import InvalidRequestError
from dynid.model.kernels.kernel import joint_poses
from dynid.model.kernels.vectorised import kinematics, screws_below
from dynid.model.observed import POINT
from dynid.model.still_bodies import StillBody, place_on_link
from dynid.robot import Joint, Robot

_CLOSED_DISTANCE = 1e-12
"""Distance [m, rad] from where they stand at which bodies count as standing there."""

_MOST_STEPS = 25
"""Steps of Newton's method for a posture; a further draw is cheaper than more of them."""

_DAMPING = 1e-3
"""Damping of its steps, relative to the error [m, rad]: it fades with the error, and the last steps have none."""

_LEAST_DAMPING = 1e-13
"""Damping that is always there [m^2, rad^2]."""

_NEAR_NEUTRAL = 0.2
"""Part of a random pose of the base at which postures on points begin: half a radian from the neutral one, or so."""

_SINGULAR_PART = 1e-9
"""Singular values of the Jacobian below this part of the largest are zero: bodies that no joint can move apart."""


@dataclass(frozen=True, eq=False)
class Standing:
    """Bodies of a floating robot that stand still.

    Attributes:
        robot: The robot.
        bodies: Their names.
        contacts: Where they stand: whole bodies first, each link once.
        posture: One in which they are where they stand, shape (nq,).
        is_stated: Whether it was stated, and is not the neutral one.
    """

    robot: Robot
    bodies: tuple[str, ...]
    contacts: tuple[StillBody, ...]
    posture: Array
    is_stated: bool

    @staticmethod
    def of(robot: Robot, bodies: Sequence[str], posture: Sequence[float] = ()) -> Standing:
        """The stance on some bodies or `BASE`, each with `POINT` behind its name where only its origin stands.

        They are where a posture, shape (nq,), has them: the neutral one when empty.

        Raises:
            UnknownNameError: If a body does not exist.
        """
        whole: dict[int, StillBody] = {}
        points: list[StillBody] = []
        for body in bodies:
            link, placement = place_on_link(robot, body.removesuffix(POINT), "to stand on")
            contact = StillBody(link, placement[:3, 3], body.endswith(POINT))
            if contact.is_point:
                points.append(contact)
            else:
                whole.setdefault(link, contact)
        at = np.array(posture, dtype=float) if len(posture) else robot.neutral
        return Standing(robot, tuple(bodies), (*whole.values(), *points), at, bool(len(posture)))

    @property
    def has_whole_body(self) -> bool:
        """Whether a whole body stands, which fixes the base."""
        return not self.contacts[0].is_point

    @cached_property
    def poses(self) -> tuple[Array, Array]:
        """Where the links stand in the world: rotations, shape (contacts, 3, 3), and origins [m], (contacts, 3)."""
        R, p = joint_poses(self.robot, self.posture)
        links = [contact.link for contact in self.contacts]
        return R[links, 0], p[links, 0]

    @property
    def ground(self) -> Array:
        """A point of the ground [m], shape (3,): the origin of the first body."""
        link, placement = place_on_link(self.robot, self.bodies[0].removesuffix(POINT))
        R, p = joint_poses(self.robot, self.posture)
        return R[link, 0] @ placement[:3, 3] + p[link, 0]

    def jacobians(self, q: Array) -> Array:
        """Velocities that contacts take away per velocity, in the links' frames, shape (samples, 6 or 3 each, nv)."""
        rotations, translations = map(list, zip(*(joint.move(q) for joint in self.robot.joints), strict=True))
        parts = []
        for contact in self.contacts:
            J = np.zeros((len(q), 6, self.robot.nv))
            for at, screws in screws_below(self.robot, contact.link, rotations, translations):
                for row, screw in enumerate(screws, self.robot.joints[at].v.start):
                    J[:, :, row] += screw
            parts.append(contact.rows(J))
        return np.concatenate(parts, axis=1)

    def eliminated(self, J: Array) -> tuple[Array, Array]:
        """Take the base out of Jacobians, by the first body, all of which stands still.

        Returns:
            Matrices B with base velocity = B @ joint velocities, shape (samples, 6, nv - 6), and the Jacobians of the
            other contacts over joint velocities alone, shape (samples, others, nv - 6).
        """
        B: Array = -np.asarray(np.linalg.solve(J[:, :6, :6], J[:, :6, 6:]), dtype=np.float64)
        return B, J[:, 6:, 6:] + J[:, 6:, :6] @ B

    def stand(self, q: Array) -> Array:
        """Put the base where the first body stands still, shape (samples, nq)."""
        base, placed = self.robot.joints[0], q.copy()
        placed[:, base.q] = self.robot.neutral[base.q]
        R, p = joint_poses(self.robot, placed)
        R0, p0 = base.placement[:3, :3], base.placement[:3, 3]
        (Rs, *_), (ps, *_) = self.poses
        # The base joint's placement P, its motion M, and the link's pose X in the base: P M X is where the link stands.
        link = self.contacts[0].link
        turn = R0.T @ Rs @ R[link].transpose(0, 2, 1) @ R0
        shift = (ps - np.einsum("sij,sj->si", R0 @ turn @ R0.T, p[link] - p0) - p0) @ R0
        placed[:, base.q] = np.concatenate([shift, rotations_as_quaternions(turn)], axis=1)
        return placed

    def begun(self, q: Array) -> Array:
        """Random postures with the base where the first body has it, or, on points, not far from its neutral pose."""
        if self.has_whole_body:
            return self.stand(q)
        from scipy.spatial.transform import Rotation

        base, near = self.robot.joints[0], q.copy()
        turn = Rotation.from_quat(q[:, base.q][:, 3:]).as_rotvec()
        near[:, base.q.start : base.q.start + 3] *= _NEAR_NEUTRAL
        near[:, base.q.stop - 4 : base.q.stop] = Rotation.from_rotvec(_NEAR_NEUTRAL * turn).as_quat()
        return near

    def closed(self, q: Array) -> tuple[Array, Flags]:
        """Move base and joints until all bodies stand, starting from random postures of shape (samples, nq).

        Returns:
            Postures, shape (samples, nq), and in which of them all bodies stand, shape (samples,).
        """
        q = self.begun(q)
        if len(self.contacts) == 1 and self.has_whole_body:
            return q, np.ones(len(q), dtype=bool)
        errors = self._errors(q)
        for _ in range(_MOST_STEPS):
            size = np.abs(errors).max(axis=1)
            open_ = np.flatnonzero(size > _CLOSED_DISTANCE)
            if not len(open_):
                break
            q[open_] = self._stepped(q[open_], errors[open_])
            errors[open_] = self._errors(q[open_])
        stands = np.abs(errors).max(axis=1) <= _CLOSED_DISTANCE
        q[stands] = self._stepped(q[stands], errors[stands])  # Newton's last step leaves rounding only
        return q, stands

    def _stepped(self, q: Array, errors: Array) -> Array:
        """Postures after a damped step of Newton's method, within the limits."""
        J = self.jacobians(q)
        damping = (_DAMPING * np.minimum(np.abs(errors).max(axis=1), 1.0))[:, None, None] * np.eye(J.shape[1])
        step = _least(J, damping, errors)
        # Joints that are at a limit and would go beyond it stay there, and the others do without them.
        J = np.where(self._beyond(q, step)[:, None], 0.0, J)
        return self._within_limits(moved(self.robot, q, _least(J, damping, errors)))

    def _beyond(self, q: Array, step: Array) -> Flags:
        """Which joints stand at a limit and would be moved beyond it, shape (samples, nv)."""
        found = np.zeros(step.shape, dtype=bool)
        for joint, lower, upper in self.limits:
            own, way = q[:, joint.q.start], step[:, joint.v.start]
            found[:, joint.v.start] = ((own <= lower) & (way < 0)) | ((own >= upper) & (way > 0))
        return found

    @cached_property
    def limits(self) -> list[tuple[Joint, float, float]]:
        """Joints of one degree of freedom with their limits, where these leave room.

        A posture that was stated is right, wherever the limits of the file are.
        """
        found = []
        for joint in self.robot.independent_joints[1:]:
            lower, upper = joint.limits.lower, joint.limits.upper
            if not joint.kind.has_quaternion and lower < upper:
                stated = float(self.posture[joint.q.start])
                found.append(
                    (joint, min(lower, stated), max(upper, stated)) if self.is_stated else (joint, lower, upper)
                )
        return found

    def _within_limits(self, q: Array) -> Array:
        """Positions with single joints clipped to their limits."""
        for joint, lower, upper in self.limits:
            q[:, joint.q] = np.clip(q[:, joint.q], lower, upper)
        return q

    def _errors(self, q: Array) -> Array:
        """Where the contacts are, seen from where they stand, in the links' frames, shape (samples, 6 or 3 each)."""
        from scipy.spatial.transform import Rotation

        R, p = joint_poses(self.robot, q)
        parts = []
        for contact, Rs, ps in zip(self.contacts, *self.poses, strict=True):
            own = R[contact.link]
            # At the body's origin: where a whole body turns, too, this is the shift of the link to first order.
            shift = p[contact.link] - ps + (own - Rs) @ (contact.point if contact.is_point else np.zeros(3))
            parts.append(np.einsum("sji,sj->si", own, shift))
            if not contact.is_point:
                parts.append(Rotation.from_matrix(Rs.T @ own).as_rotvec())
        return np.concatenate(parts, axis=1)

    def still(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Velocities and accelerations next to given ones with which the bodies stand still, shapes (samples, nv)."""
        J = self.jacobians(q)
        inverse = np.linalg.pinv(J, rcond=_SINGULAR_PART)
        rest = np.zeros_like(v)
        gravity = self._accelerations(q, rest, rest)
        for _ in range(2):  # the second time removes the rounding of the first
            v = v - np.einsum("sij,sj->si", inverse, np.einsum("sij,sj->si", J, v))
        for _ in range(2):
            a = a - np.einsum("sij,sj->si", inverse, self._accelerations(q, v, a) - gravity)
        return v, a

    def _accelerations(self, q: Array, v: Array, a: Array) -> Array:
        """Accelerations along the rows of the Jacobians, with gravity: of points, these do not move."""
        found = kinematics(self.robot, q, v, a)[3]
        parts = [contact.rows(found[contact.link][:, :, None])[:, :, 0] for contact in self.contacts]
        return np.concatenate(parts, axis=1)

    def refusal(self) -> InvalidRequestError:
        """What to say when no posture was found."""
        posture = "stated" if self.is_stated else "neutral"
        return InvalidRequestError(
            f"{' and '.join(self.bodies)} of '{self.robot.name}' cannot be reached together: no posture within the "
            f"joint limits was found in which each of them stands where the {posture} posture has it; "
            f"check the limits of the joints between them, let the robot stand on fewer, or write BODY{POINT} for "
            "feet that turn about a point"
        )


def moved(robot: Robot, q: Array, step: Array) -> Array:
    """Positions after small motions of the joints in their own frames, shape (samples, nv)."""
    from scipy.spatial.transform import Rotation

    q = q.copy()
    for joint in robot.independent_joints:
        own = step[:, joint.v]
        if not joint.kind.has_quaternion:
            q[:, joint.q] += own
            continue
        before = Rotation.from_quat(q[:, joint.q][:, -4:])
        if joint.kind.nv == 6:
            q[:, joint.q.start : joint.q.start + 3] += before.apply(own[:, :3])
        q[:, joint.q.stop - 4 : joint.q.stop] = (before * Rotation.from_rotvec(own[:, -3:])).as_quat()
    return q


def rotations_as_quaternions(rotations: Array) -> Array:
    """Quaternions (x, y, z, w) of rotations; (samples, 3, 3) to (samples, 4)."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(rotations).as_quat()


def _least(J: Array, damping: Array, errors: Array) -> Array:
    """The damped smallest steps that take errors away, shape (samples, nv)."""
    # Contacts may constrain a motion twice: without any damping the matrix would be singular.
    forces = np.linalg.solve(
        J @ J.transpose(0, 2, 1) + damping + _LEAST_DAMPING * np.eye(J.shape[1]), errors[:, :, None]
    )
    return -(J.transpose(0, 2, 1) @ forces)[:, :, 0]
