"""The kinds of joints: their coordinates, and the motion that they allow.

Velocities and accelerations are those of the moved link, in its own joint frame. So the motion subspace S of
every kind is constant there, and kinds differ only in how positions become a rotation and a translation.
"""

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from dynid.arrays import Array
from dynid.robot.inertia import skew

LARGEST_NUMBER = 1e30
"""Numbers beyond this are no measures of robots, and their squares overflow."""

UNLIMITED_FROM = 1e9
"""Limits [rad, rad/s, N m, ...] from here on are none: URDF asks for a number where there is no limit."""


class JointKind(Enum):
    """A kind of joint; the value is its name in files and tables."""

    REVOLUTE = "revolute"
    CONTINUOUS = "continuous"
    PRISMATIC = "prismatic"
    SPHERICAL = "spherical"
    FREE_FLYER = "free_flyer"
    FIXED = "fixed"

    @property
    def nq(self) -> int:
        """Number of positions: an angle [rad], a length [m], a quaternion (x, y, z, w), or a pose (xyz + xyzw)."""
        return {JointKind.SPHERICAL: 4, JointKind.FREE_FLYER: 7, JointKind.FIXED: 0}.get(self, 1)

    @property
    def nv(self) -> int:
        """Number of velocities, and of rows that the joint has in the dynamics."""
        return {JointKind.SPHERICAL: 3, JointKind.FREE_FLYER: 6, JointKind.FIXED: 0}.get(self, 1)

    @property
    def is_angular(self) -> bool:
        """Whether the single coordinate is an angle [rad]."""
        return self in (JointKind.REVOLUTE, JointKind.CONTINUOUS)

    @property
    def has_quaternion(self) -> bool:
        """Whether the last four positions are a unit quaternion (x, y, z, w)."""
        return self in (JointKind.SPHERICAL, JointKind.FREE_FLYER)


CHANNELS = ("Fx", "Fy", "Fz", "Tx", "Ty", "Tz")
"""Forces [N] and torques [N m] of a wrench: the rows of a floating base, and the channels of a sensor."""


@dataclass(frozen=True)
class Limits:
    """What a joint may do; infinite where nothing is stated.

    Attributes:
        lower: Smallest position [rad or m].
        upper: Largest position [rad or m].
        velocity: Largest speed [rad/s or m/s].
        acceleration: Largest acceleration [rad/s^2 or m/s^2].
        jerk: Largest jerk [rad/s^3 or m/s^3].
        effort: Largest torque or force [N m or N].
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    acceleration: float = math.inf
    jerk: float = math.inf
    effort: float = math.inf

    @property
    def rest(self) -> float:
        """Where a joint is held that nothing is stated of [rad or m]: at zero, or at the limit nearest to it."""
        return min(max(0.0, self.lower), self.upper) if self.lower <= self.upper else 0.0

    def interval(self, width: float) -> tuple[float, float]:
        """Positions within the limits, at most so wide: in their middle, or from the one end that is stated.

        A range that leaves no room is taken as not stated.
        """
        if not self.lower < self.upper or (math.isinf(self.lower) and math.isinf(self.upper)):
            return -width / 2, width / 2
        if math.isinf(self.upper):
            return self.lower, self.lower + width
        if math.isinf(self.lower):
            return self.upper - width, self.upper
        middle, half = (self.lower + self.upper) / 2, min(self.upper - self.lower, width) / 2
        return middle - half, middle + half


def unlimited(limit: float) -> float:
    """A limit, or infinity where its size says that there is none."""
    return math.copysign(math.inf, limit) if abs(limit) >= UNLIMITED_FROM else limit


@dataclass(frozen=True)
class JointDynamics:
    """Reference values of a joint's own dynamics; None where nothing is stated.

    Attributes:
        damping: Viscous friction [N m s/rad or N s/m].
        friction: Coulomb friction [N m or N].
        armature: Motor inertia seen at the joint [kg m^2 or kg].
    """

    damping: float | None = None
    friction: float | None = None
    armature: float | None = None


def motion_subspace(kind: JointKind, axis: Array) -> Array:
    """Matrix S, shape (6, nv): the link's (linear; angular) velocity in its joint frame is S v."""
    if kind.is_angular:
        return np.concatenate([np.zeros(3), axis])[:, None]
    if kind is JointKind.PRISMATIC:
        return np.concatenate([axis, np.zeros(3)])[:, None]
    return np.eye(6)[:, 6 - kind.nv :]


def motion(kind: JointKind, axis: Array, q: Array) -> tuple[Array, Array]:
    """Pose of the moved joint frame at positions q.

    Args:
        kind: Kind of the joint.
        axis: Unit axis in the joint frame, shape (3,); unused by kinds that have none.
        q: Positions, shape (samples, nq).

    Returns:
        Rotations, shape (samples, 3, 3), and translations [m], shape (samples, 3).
    """
    samples = len(q)
    if kind.is_angular:
        return rotation_about(axis, q[:, 0]), np.zeros((samples, 3))
    if kind is JointKind.PRISMATIC:
        return np.broadcast_to(np.eye(3), (samples, 3, 3)), q * axis
    if kind is JointKind.SPHERICAL:
        return rotation_from_quaternion(q), np.zeros((samples, 3))
    if kind is JointKind.FREE_FLYER:
        return rotation_from_quaternion(q[:, 3:]), q[:, :3]
    return np.broadcast_to(np.eye(3), (samples, 3, 3)), np.zeros((samples, 3))


def rotation_about(axis: Array, angles: Array) -> Array:
    """Rotations by angles [rad] about a unit axis; (samples,) to (samples, 3, 3)."""
    K = skew(np.asarray(axis, dtype=float))
    sine, versine = np.sin(angles)[:, None, None], (2 * np.sin(angles / 2) ** 2)[:, None, None]
    return np.eye(3) + sine * K + versine * (K @ K)


def rotation_from_quaternion(quaternions: Array) -> Array:
    """Rotations of quaternions (x, y, z, w), normalised here; (samples, 4) to (samples, 3, 3)."""
    unit = quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)
    K = skew(unit[:, :3])
    return np.eye(3) + 2 * (unit[:, 3, None, None] * K + K @ K)


def neutral(kind: JointKind) -> Array:
    """Positions at which the joint frame is where the file puts it; shape (nq,)."""
    q = np.zeros(kind.nq)
    if kind.has_quaternion:
        q[-1] = 1.0
    return q


def velocity_and_acceleration(kind: JointKind, q: Array, rate: Array, second: Array) -> tuple[Array, Array]:
    """Velocities and accelerations of a joint, of its positions and their derivatives over time.

    Quaternions, here also of other lengths than one, are embedded in four dimensions, where derivatives are taken
    number by number. So nothing is singular, and a filter of the four numbers turns with the body.

    Args:
        kind: Kind of the joint.
        q: Positions, shape (samples, nq).
        rate: Their first derivatives [1/s], shape (samples, nq).
        second: Their second derivatives [1/s^2], shape (samples, nq).

    Returns:
        Velocities v and their derivatives a, each of shape (samples, nv): those of a free flyer are of its frame, along
        its own axes, linear before angular.
    """
    if not kind.has_quaternion:
        return rate, second
    u, length = q[:, -4:], np.sum(q[:, -4:] ** 2, axis=1, keepdims=True)
    turn = 2.0 * _imaginary(u, rate[:, -4:]) / length
    stretch = 2.0 * np.sum(u * rate[:, -4:], axis=1, keepdims=True) / length
    turn_rate = 2.0 * _imaginary(u, second[:, -4:]) / length - stretch * turn
    if kind is JointKind.SPHERICAL:
        return turn, turn_rate
    R = rotation_from_quaternion(u)
    slide, slide_rate = (np.einsum("sji,sj->si", R, part[:, :3]) for part in (rate, second))
    return np.hstack([slide, turn]), np.hstack([slide_rate - np.cross(turn, slide), turn_rate])


def _imaginary(p: Array, q: Array) -> Array:
    """Imaginary part of the product conj(p) q of quaternions (x, y, z, w), shape (samples, 3)."""
    return p[:, 3:] * q[:, :3] - q[:, 3:] * p[:, :3] - np.cross(p[:, :3], q[:, :3])
