"""What joints add beside friction: offsets, motor inertia, springs."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.model.parameters import Role
from dynid.model.terms.joint_term import JointTerm
from dynid.robot.robot import Joint


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
