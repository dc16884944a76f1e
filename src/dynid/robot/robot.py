"""The robot: what moves what, frozen.

A `Robot` is a tree of moving joints. Joint i moves link i, and bodies that the file welds together (fixed and
locked joints) are one link. All inertial parameters of a link are about its joint frame.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array, frozen
from dynid.errors import NotAConfigurationError, ShapeError, UnknownNameError
from dynid.robot import inertia
from dynid.robot.description import BodyDescription, Description
from dynid.robot.joints import (
    JointDynamics,
    JointKind,
    Limits,
    motion,
    motion_subspace,
    neutral,
    velocity_and_acceleration,
)
from dynid.robot.motors import Motor, moving_motors

WORLD = -1
"""Index of the parent of joints that stand on the ground."""


@dataclass(frozen=True, eq=False)
class Joint:
    """A moving joint of a robot.

    Attributes:
        name: Its name in the file.
        number: The number in parameter names: from 1, and 0 for a floating base.
        kind: What motion it allows.
        parent: Index of the joint whose link carries it, or `WORLD`.
        placement: Its frame at position zero in the parent's joint frame, shape (4, 4).
        axis: Unit axis in the joint frame, shape (3,).
        q: Its columns in positions.
        v: Its columns in velocities and accelerations, and its rows in torques.
        ratio: A mimic joint moves by `ratio * q + offset` of its leader, whose columns it has; else 1.
        offset: See `ratio`; else 0.
        leader: Index of the joint that a mimic joint follows; None for independent joints.
        limits: What it may do.
        dynamics: Reference values of its friction and motor inertia.
    """

    name: str
    number: int
    kind: JointKind
    parent: int
    placement: Array
    axis: Array
    q: slice
    v: slice
    ratio: float
    offset: float
    leader: int | None
    limits: Limits
    dynamics: JointDynamics

    @cached_property
    def subspace(self) -> Array:
        """Motion subspace S in the joint frame, shape (6, nv), with a mimic joint's ratio in it."""
        return self.ratio * motion_subspace(self.kind, self.axis)

    def positions(self, q: Array) -> Array:
        """The joint's own positions, (..., nq of the joint), of the whole robot's, (..., nq)."""
        own = q[..., self.q]
        return own if self.leader is None else self.ratio * own + self.offset

    def move(self, q: Array) -> tuple[Array, Array]:
        """Pose of the moved joint frame in the parent's joint frame.

        Args:
            q: Positions of the whole robot, shape (samples, nq).

        Returns:
            Rotations, shape (samples, 3, 3), and translations [m], shape (samples, 3).
        """
        rotation, translation = motion(self.kind, self.axis, self.positions(q))
        R = self.placement[:3, :3]
        return R @ rotation, translation @ R.T + self.placement[:3, 3]


@dataclass(frozen=True, eq=False)
class Link:
    """What one joint moves as one rigid body.

    Attributes:
        name: Name of the body that the joint holds.
        bodies: All bodies that are welded to it, each with its placement in the joint frame.
    """

    name: str
    bodies: tuple[BodyDescription, ...]

    @cached_property
    def parameters(self) -> Array:
        """The file's 10-vector about the joint frame, shape (10,); bodies without inertia count as nothing."""
        stated = [inertia.moved(body.inertia, body.placement) for body in self.bodies if body.inertia is not None]
        return frozen(sum(stated, np.zeros(inertia.SIZE)))

    @property
    def has_inertia(self) -> bool:
        """Whether the file states the inertia of any of the link's bodies."""
        return any(body.inertia is not None for body in self.bodies)

    @property
    def has_unknown_mass(self) -> bool:
        """Whether it is a real body whose mass the file does not state: a row of a table, or a shape without inertia.

        What has neither a mass nor a shape is a mere frame.
        """
        return not self.has_inertia and any(body.unweighed or body.geometry for body in self.bodies)

    @property
    def is_virtual(self) -> bool:
        """Whether the link only stands between two joints that move one real body."""
        return all(body.virtual for body in self.bodies)


@dataclass(frozen=True, eq=False, repr=False)
class Robot:
    """A tree of links and joints under gravity.

    Attributes:
        name: The robot's name.
        joints: Moving joints, parents before children; the order of positions and of torques.
        links: `links[i]` is what `joints[i]` moves.
        base: What does not move.
        gravity: Gravity [m/s^2] in the world frame, shape (3,).
        description: What the file says.
        locked: Joints that were asked to hold still, with their positions [rad or m].
    """

    name: str
    joints: tuple[Joint, ...]
    links: tuple[Link, ...]
    base: Link
    gravity: Array
    description: Description
    locked: Mapping[str, float] = field(default_factory=dict)

    def kinematics(self) -> list[dict[str, Any]]:
        """Where the joints are placed and point, as plain data: what identified parameters hold for."""
        return [
            {
                "joint": joint.name,
                "parent": joint.parent,
                "placement": joint.placement.tolist(),
                "axis": joint.axis.tolist(),
            }
            for joint in self.joints
        ]

    def moves_as(self, kinematics: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the joints are called, placed and pointed as in the kinematics of a robot, wherever its file is."""
        mine = self.kinematics()
        return [(one["joint"], one["parent"]) for one in mine] == [
            (one["joint"], one["parent"]) for one in kinematics
        ] and all(
            np.allclose(one[key], other[key], rtol=0.0, atol=1e-9)
            for one, other in zip(mine, kinematics, strict=True)
            for key in ("placement", "axis")
        )

    def __repr__(self) -> str:
        base = ", floating base" if self.has_floating_base else ""
        return f"Robot({self.name!r}: {len(self.joints)} moving joints{base}, {len(self.solid_links)} links)"

    @cached_property
    def nq(self) -> int:
        """Number of positions."""
        return max(joint.q.stop for joint in self.joints)

    @cached_property
    def nv(self) -> int:
        """Number of velocities, accelerations and torques."""
        return max(joint.v.stop for joint in self.joints)

    @property
    def has_floating_base(self) -> bool:
        """Whether the first joint leaves the base free in space."""
        return self.joints[0].kind is JointKind.FREE_FLYER and self.joints[0].parent == WORLD

    @property
    def has_quaternions(self) -> bool:
        """Whether a joint has a quaternion among its positions: a floating base, or a spherical joint."""
        return any(joint.kind.has_quaternion for joint in self.joints)

    @property
    def logged_joints(self) -> tuple[Joint, ...]:
        """The joints that the positions of a log are of: all that follow no other, but a floating base."""
        return self.independent_joints[1:] if self.has_floating_base else self.independent_joints

    @property
    def axes(self) -> tuple[Joint, ...]:
        """The joints of one degree of freedom that follow no other: those that drives act on."""
        return tuple(joint for joint in self.independent_joints if joint.kind.nv == 1)

    @cached_property
    def turning(self) -> NDArray[np.bool_]:
        """Which rows are of a floating base or a spherical joint, on which no friction acts, shape (nv,)."""
        found = np.ones(self.nv, dtype=bool)
        found[[joint.v.start for joint in self.axes]] = False
        return found

    @property
    def independent_joints(self) -> tuple[Joint, ...]:
        """The joints that follow no other: each has columns of its own."""
        return tuple(joint for joint in self.joints if joint.leader is None)

    @cached_property
    def solid_links(self) -> tuple[int, ...]:
        """Indices of the links that have inertial parameters: all but virtual ones."""
        return tuple(i for i, link in enumerate(self.links) if not link.is_virtual)

    @cached_property
    def parameters(self) -> Array:
        """The file's inertial parameters p, solid link by solid link, shape (10 * solid links,)."""
        return frozen(np.concatenate([self.links[i].parameters for i in self.solid_links]))

    @cached_property
    def motors(self) -> tuple[Motor, ...]:
        """The motors that are stated for it, and one for each other joint; none where nothing is stated."""
        return moving_motors(self)

    @property
    def neutral(self) -> Array:
        """Positions at which every joint frame is where the file puts it, shape (nq,)."""
        return np.concatenate([neutral(joint.kind) for joint in self.independent_joints])

    def chain(self, link: int) -> Iterator[int]:
        """Indices of the joints that move a link: its own first, then those below it."""
        at = link
        while at != WORLD:
            yield at
            at = self.joints[at].parent

    def joint(self, key: str | int) -> Joint:
        """Find a joint by its name, or else by its number (as an int, or as digits)."""
        by_key = {str(joint.number): joint for joint in self.joints} | {joint.name: joint for joint in self.joints}
        if str(key) in by_key:
            return by_key[str(key)]
        names = [joint.name for joint in self.joints]
        if any(joint.name == key for joint in self.description.joints):
            raise UnknownNameError("moving joint", str(key), names, " (that one is fixed or locked)")
        raise UnknownNameError("joint", str(key), names)

    def motion_of(self, q: Array, rate: Array, second: Array) -> tuple[Array, Array, Array]:
        """States of positions and their derivatives over time, number by number.

        Args:
            q: Positions, shape (samples, nq); quaternions may have any length.
            rate: Their first derivatives [1/s], shape (samples, nq).
            second: Their second derivatives [1/s^2], shape (samples, nq).

        Returns:
            Positions with unit quaternions, shape (samples, nq), velocities and accelerations, shape (samples, nv).
        """
        if not self.has_quaternions:
            return q, rate, second
        v, a = np.zeros((len(q), self.nv)), np.zeros((len(q), self.nv))
        for joint in self.independent_joints:
            own = joint.q
            v[:, joint.v], a[:, joint.v] = velocity_and_acceleration(
                joint.kind, q[:, own], rate[:, own], second[:, own]
            )
        return self.normalised(q), v, a

    def normalised(self, q: Array) -> Array:
        """Positions with quaternions of unit length, of positions whose quaternions have any length, (samples, nq)."""
        positions = q.copy() if self.has_quaternions else q
        for joint in self.independent_joints:
            if joint.kind.has_quaternion:
                own = slice(joint.q.stop - 4, joint.q.stop)
                positions[:, own] /= np.linalg.norm(q[:, own], axis=1, keepdims=True)
        return positions

    def states(self, q: object, v: object = None, a: object = None) -> tuple[Array, Array, Array]:
        """Check a batch of states and give it as float arrays.

        Args:
            q: Positions, shape (samples, nq) or (nq,).
            v: Velocities, shape (samples, nv) or (nv,); zero when None.
            a: Accelerations, shape (samples, nv) or (nv,); zero when None.

        Returns:
            The three arrays, each with one row per sample.

        Raises:
            ShapeError: If a shape does not fit the robot.
            NotAConfigurationError: If a value is not finite or a quaternion is not of unit length.
        """
        positions = _rows("positions", q, None, self.nq)
        velocities = _rows("velocities", v, len(positions), self.nv)
        accelerations = _rows("accelerations", a, len(positions), self.nv)
        for joint in self.independent_joints:
            own = positions[:, joint.q]
            moving = (own, velocities[:, joint.v], accelerations[:, joint.v])
            if not all(np.isfinite(values).all() for values in moving):
                raise NotAConfigurationError(joint.name, "positions, velocities or accelerations hold NaN or infinity")
            if joint.kind.has_quaternion and len(own):
                lengths = np.linalg.norm(own[:, -4:], axis=1)
                worst = float(lengths[np.argmax(np.abs(lengths - 1.0))])
                if abs(worst - 1.0) > 1e-3:
                    raise NotAConfigurationError(
                        joint.name,
                        f"a quaternion (x, y, z, w) has the length {worst:.4g} instead of 1; normalise it",
                    )
        return positions, velocities, accelerations


def _rows(what: str, values: object, samples: int | None, width: int) -> Array:
    if values is None:
        return np.zeros((samples or 1, width))
    array = np.atleast_2d(np.asarray(values, dtype=float))
    if array.ndim != 2 or array.shape[1] != width or (samples is not None and len(array) != samples):
        raise ShapeError(what, f"({'samples' if samples is None else samples}, {width})", array.shape)
    return array
