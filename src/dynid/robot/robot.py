"""The robot: what moves what, frozen.

A `Robot` is a tree of moving joints. Joint i moves link i, and bodies that the file welds together (fixed and
locked joints) are one link. All inertial parameters of a link are about its joint frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import (
    InvalidRequestError,
    NotAConfigurationError,
    RobotFileError,
    ShapeError,
    UnknownNameError,
)
from dynid.robot import inertia
from dynid.robot.description import BodyDescription, Description, JointDescription, MimicDescription
from dynid.robot.frames import pose
from dynid.robot.joints import JointDynamics, JointKind, Limits, motion, motion_subspace, neutral
from dynid.robot.mimic import resolve_mimics

WORLD = -1
"""Index of the parent of joints that stand on the ground."""

ROOT_JOINT = "root_joint"
"""Name of the free-flyer joint that `floating_base=True` puts under the robot; Pinocchio's."""


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

    def move(self, q: Array) -> tuple[Array, Array]:
        """Pose of the moved joint frame in the parent's joint frame.

        Args:
            q: Positions of the whole robot, shape (samples, nq).

        Returns:
            Rotations, shape (samples, 3, 3), and translations [m], shape (samples, 3).
        """
        own = q[:, self.q]
        if self.leader is not None:
            own = self.ratio * own + self.offset
        rotation, translation = motion(self.kind, self.axis, own)
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
        total = np.zeros(inertia.SIZE)
        for body in self.bodies:
            if body.inertia is not None:
                total += inertia.moved(body.inertia, body.placement)
        return frozen(total)

    @property
    def has_inertia(self) -> bool:
        """Whether the file states the inertia of any of the link's bodies."""
        return any(body.inertia is not None for body in self.bodies)


@dataclass(frozen=True, eq=False)
class Robot:
    """A tree of links and joints under gravity.

    Attributes:
        name: The robot's name.
        joints: Moving joints, parents before children; the order of positions and of torques.
        links: `links[i]` is what `joints[i]` moves.
        base: What does not move.
        gravity: Gravity [m/s^2] in the world frame, shape (3,).
        description: What the file says.
    """

    name: str
    joints: tuple[Joint, ...]
    links: tuple[Link, ...]
    base: Link
    gravity: Array
    description: Description

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
    def independent_joints(self) -> tuple[Joint, ...]:
        """The joints that follow no other: each has columns of its own."""
        return tuple(joint for joint in self.joints if joint.leader is None)

    @cached_property
    def parameters(self) -> Array:
        """The file's inertial parameters p, link by link, shape (10 * links,)."""
        return frozen(np.concatenate([link.parameters for link in self.links]))

    @property
    def neutral(self) -> Array:
        """Positions at which every joint frame is where the file puts it, shape (nq,)."""
        return np.concatenate([neutral(joint.kind) for joint in self.independent_joints])

    def joint(self, key: str | int) -> Joint:
        """Find a joint by its name or its number (as an int, or as digits)."""
        for joint in self.joints:
            if joint.name == key or str(joint.number) == str(key):
                return joint
        raise UnknownNameError("joint", str(key), [joint.name for joint in self.joints])

    def states(self, q: object, v: object = None, a: object = None) -> tuple[Array, Array, Array]:
        """Check a batch of states and give it as float arrays.

        Args:
            q: Positions, shape (samples, nq) or (nq,).
            v: Velocities, shape (samples, nv) or (nv,); zero when None.
            a: Accelerations, shape (samples, nv) or (nv,); zero when None.

        Returns:
            The three arrays, each with a row a sample.

        Raises:
            ShapeError: If a shape does not fit the robot.
            NotAConfigurationError: If a value is not finite or a quaternion is not of unit length.
        """
        positions = _rows("positions", q, None, self.nq)
        velocities = _rows("velocities", v, len(positions), self.nv)
        accelerations = _rows("accelerations", a, len(positions), self.nv)
        for joint in self.independent_joints:
            own = positions[:, joint.q]
            if not np.isfinite(own).all():
                raise NotAConfigurationError(joint.name, "they hold NaN or infinite values")
            if joint.kind.has_quaternion:
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


def load_robot(
    source: str | Path,
    *,
    floating_base: bool = False,
    lock: Mapping[str, float] | Iterable[str] = (),
    gravity: Iterable[float] | None = None,
) -> Robot:
    """Load a robot from a file or by the name of a built-in one.

    Args:
        source: Path of a URDF (`.urdf`), MJCF (`.xml`) or table (`.toml`), or `builtin:NAME`.
        floating_base: Leave the base free in space: it then has the number 0 and six rows of its own.
        lock: Joints (name or number) to hold still, with their position [rad or m]; zero when only named.
        gravity: Gravity [m/s^2] in the base frame, shape (3,): `(0, 0, 9.81)` hangs the robot from the ceiling.
            The file's own, or (0, 0, -9.81), when None.

    Raises:
        RobotFileError: If the file is missing or is no robot.
        UnknownNameError: If a built-in robot or a joint does not exist.

    >>> load_robot("builtin:ur5").nv
    6
    """
    from dynid.robot.readers import read_description

    return assemble(read_description(source), floating_base=floating_base, lock=lock, gravity=gravity)


def assemble(
    description: Description,
    *,
    floating_base: bool = False,
    lock: Mapping[str, float] | Iterable[str] = (),
    gravity: Iterable[float] | None = None,
) -> Robot:
    """Make a robot of what a file says: weld what does not move, number what does.

    The arguments are those of `load_robot`.
    """
    description = resolve_mimics(description)
    if floating_base:
        description = _with_floating_base(description)
    held = _positions_of_held_joints(description, lock)
    bodies = {body.name: body for body in description.bodies}
    moving = [joint for joint in description.joints if joint.name not in held]
    if not moving:
        raise RobotFileError(
            description.source,
            "the robot has no joint that moves, so nothing can be identified from joint torques; "
            "unlock a joint, or leave the base free (floating_base=True, --floating)",
        )
    index_of = {joint.name: i for i, joint in enumerate(moving)}
    owner: dict[str, tuple[int, Array]] = {}  # body: the joint that moves it, and where it is in its frame
    children = {joint.child for joint in description.joints}
    for body in description.bodies:
        if body.name not in children:
            owner[body.name] = (WORLD, body.placement)

    parents, placements = [], []
    for joint in description.joints:
        parent, at = (WORLD, np.eye(4)) if joint.parent is None else owner[joint.parent]
        at = at @ joint.placement
        child = bodies[joint.child]
        if joint.name in held:
            rotation, translation = motion(joint.kind, joint.axis, held[joint.name][None])
            owner[child.name] = (parent, at @ pose(rotation[0], translation[0]) @ child.placement)
        else:
            parents.append(parent)
            placements.append(frozen(at))
            owner[child.name] = (index_of[joint.name], child.placement)

    welded: dict[int, list[BodyDescription]] = {i: [] for i in range(WORLD, len(moving))}
    for body in description.bodies:
        joint_index, placement = owner[body.name]
        welded[joint_index].append(replace(body, placement=frozen(placement)))
    return Robot(
        name=description.name,
        joints=_number(moving, index_of, parents, placements),
        links=tuple(Link(joint.child, tuple(welded[i])) for i, joint in enumerate(moving)),
        base=Link(welded[WORLD][0].name if welded[WORLD] else "world", tuple(welded[WORLD])),
        gravity=_gravity(gravity, description.gravity),
        description=description,
    )


def _number(
    moving: list[JointDescription], index_of: Mapping[str, int], parents: list[int], placements: list[Array]
) -> tuple[Joint, ...]:
    """Give each moving joint its number and columns; mimic joints share their leader's."""
    first = 0 if moving[0].kind is JointKind.FREE_FLYER and parents[0] == WORLD else 1
    q_of: dict[str, slice] = {}
    v_of: dict[str, slice] = {}
    nq = nv = 0
    for joint in moving:
        if joint.mimic is None:
            q_of[joint.name] = slice(nq, nq := nq + joint.kind.nq)
            v_of[joint.name] = slice(nv, nv := nv + joint.kind.nv)
    joints = []
    for i, joint in enumerate(moving):
        mimic = joint.mimic or MimicDescription(joint.name)
        joints.append(
            Joint(
                name=joint.name,
                number=first + i,
                kind=joint.kind,
                parent=parents[i],
                placement=placements[i],
                axis=joint.axis,
                q=q_of[mimic.leader],
                v=v_of[mimic.leader],
                ratio=mimic.ratio,
                offset=mimic.offset,
                leader=None if joint.mimic is None else index_of[mimic.leader],
                limits=joint.limits,
                dynamics=joint.dynamics,
            )
        )
    return tuple(joints)


def _with_floating_base(description: Description) -> Description:
    """Put a free-flyer joint between the world and the first body, unless one is there."""
    if any(joint.kind is JointKind.FREE_FLYER and joint.parent is None for joint in description.joints[:1]):
        return description
    children = {joint.child for joint in description.joints}
    root = next(body for body in description.bodies if body.name not in children)
    name = ROOT_JOINT
    while any(joint.name == name for joint in description.joints):
        name += "_"
    base = JointDescription(name, JointKind.FREE_FLYER, None, root.name)
    return replace(description, joints=(base, *description.joints))


def _positions_of_held_joints(description: Description, lock: Mapping[str, float] | Iterable[str]) -> dict[str, Array]:
    """Positions of the joints that do not move: fixed ones, locked ones, and the followers of those."""
    wanted = dict(lock) if isinstance(lock, Mapping) else dict.fromkeys([lock] if isinstance(lock, str) else lock, 0.0)
    held = {joint.name: neutral(joint.kind) for joint in description.joints if joint.kind is JointKind.FIXED}
    movable = [joint for joint in description.joints if joint.kind is not JointKind.FIXED]
    first = 0 if movable and movable[0].kind is JointKind.FREE_FLYER else 1
    by_key = {str(first + i): joint for i, joint in enumerate(movable)} | {joint.name: joint for joint in movable}
    for key, position in wanted.items():
        if str(key) not in by_key:
            raise UnknownNameError("joint", str(key), [joint.name for joint in movable], " to lock")
        held[by_key[str(key)].name] = _held_position(by_key[str(key)], position)
    for joint in movable:
        if joint.mimic is not None and joint.mimic.leader in held and joint.name not in held:
            leader = held[joint.mimic.leader]
            held[joint.name] = joint.mimic.ratio * (leader if leader.size else np.zeros(1)) + joint.mimic.offset
    return held


def _held_position(joint: JointDescription, position: float) -> Array:
    if joint.mimic is not None:
        raise InvalidRequestError(
            f"joint '{joint.name}' follows '{joint.mimic.leader}' and cannot be locked alone; lock that one"
        )
    if joint.kind.nq == 1:
        return np.array([float(position)])
    if position != 0.0:
        raise InvalidRequestError(
            f"joint '{joint.name}' ({joint.kind.value}) can only be locked in its neutral position, not at {position}"
        )
    return neutral(joint.kind)


def _gravity(asked: Iterable[float] | None, of_file: Array) -> Array:
    gravity = np.array(of_file if asked is None else list(asked), dtype=float)
    if gravity.shape != (3,) or not np.isfinite(gravity).all():
        raise InvalidRequestError(f"gravity must be three finite numbers [m/s^2] such as (0, 0, -9.81), not {asked}")
    return frozen(gravity)
