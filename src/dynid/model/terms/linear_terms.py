"""Terms that are linear in all their parameters: viscous and Coulomb friction, offsets, motor inertia, springs.

Signs of velocities have a jump; a width makes them smooth for design, which needs slopes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynid.arrays import Array
from dynid.model.parameters import Role
from dynid.model.terms.joint_term import JointTerm
from dynid.robot.robot import Joint


def sign(v: Array, width: float) -> Array:
    """Sign of v; with a width, a smooth step of about that width."""
    return np.tanh(v / width) if width else np.sign(v)


def sign_slope(v: Array, width: float) -> Array:
    """Slope of such a sign over v."""
    return (1.0 - np.tanh(v / width) ** 2) / width if width else np.zeros_like(v)


class Viscous(JointTerm):
    """Viscous friction fv * v."""

    symbols = ("fv",)
    units = ("N m s/rad",)
    roles = (Role.VISCOUS,)
    needs = frozenset("v")

    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        """The velocity v."""
        return (v,)

    def feature_slopes(self, q: Array, v: Array, a: Array) -> tuple[tuple[Array | float, ...], ...]:
        """One."""
        return ((1.0,),)

    def reference(self, joint: Joint) -> tuple[float | None, ...]:
        """The file's damping."""
        return (joint.dynamics.damping,)


class Coulomb(JointTerm):
    """Coulomb friction fs * sign(v).

    Args:
        joints: As `JointTerm`.
        width: With a width [rad/s or m/s], tanh(v / width) stands for the sign: for design, which needs slopes.
    """

    symbols = ("fs",)
    units = ("N m",)
    roles = (Role.COULOMB,)
    needs = frozenset("v")

    def __init__(self, joints: Sequence[str | int] | None = None, width: float = 0.0) -> None:
        super().__init__(joints)
        self.width = width

    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        """Sign of v."""
        return (sign(v, self.width),)

    def feature_slopes(self, q: Array, v: Array, a: Array) -> tuple[tuple[Array | float, ...], ...]:
        """Zero, but for a smooth sign."""
        return ((sign_slope(v, self.width),),)

    def smoothed(self, speed: float) -> Coulomb:
        """The same with a smooth sign."""
        return Coulomb(self.joints, speed)

    def reference(self, joint: Joint) -> tuple[float | None, ...]:
        """The file's friction."""
        return (joint.dynamics.friction,)


class AsymmetricCoulomb(JointTerm):
    """Coulomb friction fsp when moving forwards, -fsn when moving backwards.

    It spans the same torques as Coulomb friction with an offset: use one or the other.

    Args:
        joints: As `JointTerm`.
        width: As `Coulomb`.
    """

    symbols = ("fsp", "fsn")
    units = ("N m", "N m")
    roles = (Role.COULOMB_FORWARD, Role.COULOMB_BACKWARD)
    needs = frozenset("v")

    def __init__(self, joints: Sequence[str | int] | None = None, width: float = 0.0) -> None:
        super().__init__(joints)
        self.width = width

    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        """1 where v > 0, and -1 where v < 0."""
        if not self.width:
            return ((v > 0).astype(float), -(v < 0).astype(float))
        direction = sign(v, self.width)
        return (0.5 * (1.0 + direction), 0.5 * (direction - 1.0))

    def feature_slopes(self, q: Array, v: Array, a: Array) -> tuple[tuple[Array | float, ...], ...]:
        """Zero, but for a smooth sign."""
        slope = 0.5 * sign_slope(v, self.width)
        return ((slope,), (slope,))

    def smoothed(self, speed: float) -> AsymmetricCoulomb:
        """The same with a smooth sign."""
        return AsymmetricCoulomb(self.joints, speed)

    def reference(self, joint: Joint) -> tuple[float | None, ...]:
        """The file's friction, both ways."""
        return (joint.dynamics.friction, joint.dynamics.friction)


class Offset(JointTerm):
    """A constant torque off, of sensors, amplifiers or asymmetric friction."""

    symbols = ("off",)
    units = ("N m",)
    roles = (Role.OFFSET,)

    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        """One."""
        return (np.ones_like(q),)


class Armature(JointTerm):
    """Motor inertia Ia * a: rotor and gears, seen at the joint."""

    symbols = ("Ia",)
    units = ("kg m^2",)
    roles = (Role.ARMATURE,)
    needs = frozenset("a")

    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        """The acceleration a."""
        return (a,)

    def feature_slopes(self, q: Array, v: Array, a: Array) -> tuple[tuple[Array | float, ...], ...]:
        """One."""
        return ((1.0,),)

    def reference(self, joint: Joint) -> tuple[float | None, ...]:
        """The file's armature."""
        return (joint.dynamics.armature,)


class Spring(JointTerm):
    """A spring k * q about the joint; add `Offset` for one that rests elsewhere than at zero."""

    symbols = ("k",)
    units = ("N m/rad",)
    roles = (Role.SPRING,)
    needs = frozenset("q")

    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        """The position q."""
        return (q,)

    def feature_slopes(self, q: Array, v: Array, a: Array) -> tuple[tuple[Array | float, ...], ...]:
        """One."""
        return ((1.0,),)
