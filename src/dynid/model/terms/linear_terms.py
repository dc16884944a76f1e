"""Terms that are linear in all their parameters: viscous and Coulomb friction, offsets, motor inertia, springs.

Signs of velocities have a jump; a width makes them smooth for design, which needs slopes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.model.parameters import Parameter, Role
from dynid.model.terms.term import JointTerm, Term, single_joint, unit_at
from dynid.robot import Joint, Robot


def sign(v: Array, width: float) -> Array:
    """Sign of v; with a width, a smooth step of about that width."""
    return np.tanh(v / width) if width else np.sign(v)


def sign_slope(v: Array, width: float) -> Array:
    """Slope of such a sign over v."""
    return (1.0 - np.tanh(v / width) ** 2) / width if width else np.zeros_like(v)


class Proportional(JointTerm):
    """A torque that is proportional to what the term needs: one of q, v and a."""

    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        """The position, velocity or acceleration."""
        (needed,) = self.needs
        return ({"q": q, "v": v, "a": a}[needed],)

    def feature_slopes(self, q: Array, v: Array, a: Array) -> tuple[tuple[Array | float, ...], ...]:
        """One."""
        return ((1.0,),)


class Viscous(Proportional):
    """Viscous friction fv * v."""

    symbols = ("fv",)
    units = ("N m s/rad",)
    roles = (Role.VISCOUS,)
    needs = frozenset("v")

    def reference(self, joint: Joint) -> tuple[float | None, ...]:
        """The file's damping."""
        return (joint.dynamics.damping,)


class Coulomb(JointTerm):
    """Coulomb friction fs * sign(v)."""

    symbols = ("fs",)
    units = ("N m",)
    roles = (Role.COULOMB,)
    needs = frozenset("v")

    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        """Sign of v."""
        return (sign(v, self.width),)

    def feature_slopes(self, q: Array, v: Array, a: Array) -> tuple[tuple[Array | float, ...], ...]:
        """Zero, but for a smooth sign."""
        return ((sign_slope(v, self.width),),)

    def reference(self, joint: Joint) -> tuple[float | None, ...]:
        """The file's friction."""
        return (joint.dynamics.friction,)


class AsymmetricCoulomb(JointTerm):
    """Coulomb friction fsp when moving forwards, -fsn when moving backwards.

    It spans the same torques as Coulomb friction with an offset: use one or the other.
    """

    symbols = ("fsp", "fsn")
    units = ("N m", "N m")
    roles = (Role.COULOMB_FORWARD, Role.COULOMB_BACKWARD)
    needs = frozenset("v")

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


class Armature(Proportional):
    """Motor inertia Ia * a: rotor and gears, seen at the joint."""

    symbols = ("Ia",)
    units = ("kg m^2",)
    roles = (Role.ARMATURE,)
    needs = frozenset("a")

    def reference(self, joint: Joint) -> tuple[float | None, ...]:
        """The file's armature."""
        return (joint.dynamics.armature,)


class Spring(Proportional):
    """A spring k * q about the joint; add `Offset` for one that rests elsewhere than at zero."""

    symbols = ("k",)
    units = ("N m/rad",)
    roles = (Role.SPRING,)
    needs = frozenset("q")


class Coupling(Term):
    """Two joints whose second motor turns with both: with speed proportional to ratio * v_first + v_second.

    Its rotor and friction act on both joints. What acts on each alone is in `Armature`, `Viscous` and `Coulomb`; the
    rest is, with n the second joint's number:

    * motor inertia Iam_n: a_second in the first joint's row, a_first in the second's;
    * viscous friction fvm_n: v_second in the first joint's row, v_first in the second's;
    * Coulomb friction fsm_n: sign(ratio * v_first + v_second), times ratio in the first joint's row.

    Args:
        first: Name or number of the joint that the other's motor turns with.
        second: Name or number of the joint that the motor drives.
        ratio: Turns of the motor with the first joint per turn with the second.
        width: As `TermOfJoints`.
    """

    symbols = ("Iam", "fvm", "fsm")
    units = ("kg m^2", "N m s/rad", "N m")
    roles = (Role.COUPLING_INERTIA, Role.COUPLING_VISCOUS, Role.COUPLING_COULOMB)
    needs = frozenset("va")

    def __init__(self, first: str | int, second: str | int, ratio: float = 1.0, width: float = 0.0) -> None:
        self.first = first
        self.second = second
        self.ratio = ratio
        self.width = width

    def parameters(self, robot: Robot) -> tuple[Parameter, ...]:
        """Iam, fvm and fsm, with the second joint's number."""
        first, second = self._pair(robot)
        owner = f"{first.name} and {second.name}"
        return tuple(
            Parameter(
                f"{symbol}{second.number}", unit_at(second, unit), owner, None, second.name, None, role, role.sign
            )
            for symbol, unit, role in zip(self.symbols, self.units, self.roles, strict=True)
        )

    def entries(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, Array]]:
        """The three columns, in the rows of both joints."""
        i, j = (joint.v.start for joint in self._pair(robot))
        direction = sign(self.ratio * v[:, i] + v[:, j], self.width)
        for row, other, share in ((i, j, self.ratio), (j, i, 1.0)):
            yield row, 0, a[:, other]
            yield row, 1, v[:, other]
            yield row, 2, share * direction

    def quadratic_forms(self, robot: Robot) -> Iterator[tuple[str, int, int, str]]:
        """Iam and fvm beside the diagonals of motor inertia and viscous friction; fsm by itself."""
        i, j = (joint.number for joint in self._pair(robot))
        inertia, viscous, coulomb = (parameter.name for parameter in self.parameters(robot))
        yield Role.ARMATURE.value, i, j, inertia
        yield Role.VISCOUS.value, i, j, viscous
        yield Role.COUPLING_COULOMB.value, j, j, coulomb

    def slopes(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, str, int, Array]]:
        """The slopes of the three columns, in the rows of both joints."""
        i, j = (joint.v.start for joint in self._pair(robot))
        one = np.ones(len(q))
        bend = sign_slope(self.ratio * v[:, i] + v[:, j], self.width)
        for row, other, share in ((i, j, self.ratio), (j, i, 1.0)):
            yield row, 0, "a", other, one
            yield row, 1, "v", other, one
            yield row, 2, "v", i, share * self.ratio * bend
            yield row, 2, "v", j, share * bend

    def smoothed(self, speed: float) -> Coupling:
        """The same with a smooth sign."""
        return Coupling(self.first, self.second, self.ratio, speed)

    def _pair(self, robot: Robot) -> tuple[Joint, Joint]:
        first, second = single_joint(robot, self.first), single_joint(robot, self.second)
        if first is second:
            raise InvalidRequestError(f"a coupling needs two different joints, not '{first.name}' twice")
        return first, second
