"""What joints add to the rigid bodies: friction, offsets, motor inertia, couplings, springs.

A term is an object that gives columns of the observation matrix, with a parameter for each. Torques are linear in the
parameters: `tau = W_links p_links + columns(q, v, a) p_terms`.

Most terms are a function of one joint's own motion. To add one, name the symbols and their units and say what one unit
of each parameter does:

>>> class CubicFriction(JointTerm):
...     '''A torque that grows with the cube of velocity.'''
...     symbols = ("fcub",)
...     units = ("N m s^3/rad^3",)
...     needs = frozenset("v")
...     def features(self, q, v, a):
...         return (v**3,)
>>> from dynid import DynamicModel, load_robot
>>> model = DynamicModel(load_robot("builtin:two_link"), [CubicFriction()])
>>> [parameter.name for parameter in model.parameters][-2:]
['fcub1', 'fcub2']
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.model.parameters import Parameter
from dynid.robot.joints import JointKind
from dynid.robot.robot import Joint, Robot

_STEP = 1e-6
"""Step of central differences [rad, m and their rates]."""


def _shifted(states: dict[str, Array], over: str, column: int, step: float) -> dict[str, Array]:
    moved = states[over].copy()
    moved[:, column] += step
    return states | {over: moved}


def _sign(v: Array, width: float) -> Array:
    """Sign of v; with a width, a smooth step of about that width."""
    return np.tanh(v / width) if width else np.sign(v)


def _sign_slope(v: Array, width: float) -> Array:
    return (1.0 - np.tanh(v / width) ** 2) / width if width else np.zeros_like(v)


class Term(ABC):
    """A part of the torque that is linear in parameters of its own.

    Attributes:
        needs: Which of positions "q", velocities "v" and accelerations "a" the columns depend on.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def parameters(self, robot: Robot) -> tuple[Parameter, ...]:
        """The term's parameters for this robot, one a column."""

    @abstractmethod
    def entries(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, Array]]:
        """Torque per unit of each parameter, where it is not zero.

        Args:
            robot: The robot.
            q: Positions, shape (samples, nq).
            v: Velocities, shape (samples, nv).
            a: Accelerations, shape (samples, nv).

        Yields:
            The row, the index of the parameter among the term's, and the values, shape (samples,).
        """

    def quadratic_forms(self, robot: Robot) -> Iterator[tuple[str, int, int, str]]:
        """Elements of matrices over the joints that cannot be negative, such as the power of friction.

        Yields:
            The form's name, the numbers of two joints (the same one on the diagonal), and the parameter that stands
            there. Elements of several terms make up one form, and it must be positive semidefinite.
        """
        yield from ()

    def slopes(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, str, int, Array]]:
        """Slopes of the entries over the states; arguments as `entries`.

        This default takes central differences over the coordinates of single joints. Terms with jumps, such as signs,
        must say what their slopes are.

        Yields:
            The row, the index of the parameter, "q", "v" or "a", the coordinate (its column in v), and the values,
            shape (samples,).
        """
        states = {"q": q, "v": v, "a": a}
        for over in sorted(self.needs):
            for joint in robot.independent_joints:
                if joint.kind.nv == 1:
                    column = (joint.q if over == "q" else joint.v).start
                    for (row, parameter, high), (_, _, low) in zip(
                        self.entries(robot, **_shifted(states, over, column, _STEP)),
                        self.entries(robot, **_shifted(states, over, column, -_STEP)),
                        strict=True,
                    ):
                        yield row, parameter, over, joint.v.start, (high - low) / (2 * _STEP)

    def smoothed(self, speed: float) -> Term:
        """The term with signs of a velocity made smooth below about this speed [rad/s or m/s]; itself without signs."""
        return self

    def columns(self, robot: Robot, q: Array, v: Array, a: Array) -> Array:
        """Torque per unit of each parameter, shape (nv, samples, parameters); arguments as `entries`."""
        W = np.zeros((robot.nv, len(q), len(self.parameters(robot))))
        for row, column, values in self.entries(robot, q, v, a):
            W[row, :, column] += values
        return W


class JointTerm(Term):
    """A term of each single joint, a function of that joint's own motion.

    Applies to joints of one degree of freedom that follow no other. Subclasses give `symbols`, `units` (for an angular
    joint) and `features`.

    Args:
        joints: Names or numbers of the joints that have the term; all that can when None.
    """

    symbols: ClassVar[tuple[str, ...]]
    units: ClassVar[tuple[str, ...]]
    forms: ClassVar[tuple[str, ...]] = ()
    """For terms that cannot be negative, the name of each symbol's quadratic form."""

    def __init__(self, joints: Sequence[str | int] | None = None) -> None:
        self.joints = None if joints is None else tuple(joints)

    @abstractmethod
    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        """Torque per unit of each symbol for one joint's q, v, a of shape (samples,)."""

    def feature_slopes(self, q: Array, v: Array, a: Array) -> tuple[tuple[Array | float, ...], ...]:
        """For each symbol the slopes of its feature over what the term `needs`, in alphabetical order.

        This default takes central differences; override it for features with jumps.
        """
        states, slopes = {"q": q, "v": v, "a": a}, []
        for over in sorted(self.needs):
            high = self.features(**(states | {over: states[over] + _STEP}))
            low = self.features(**(states | {over: states[over] - _STEP}))
            slopes.append([(x - y) / (2 * _STEP) for x, y in zip(high, low, strict=True)])
        return tuple(zip(*slopes, strict=True))

    def slopes(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, str, int, Array]]:
        """The slopes of every joint's features over its own motion."""
        column = 0
        for joint in self._joints_of(robot):
            row = joint.v.start
            for slopes in self.feature_slopes(q[:, joint.q.start], v[:, row], a[:, row]) or ((),) * len(self.symbols):
                for over, values in zip(sorted(self.needs), slopes, strict=True):
                    yield row, column, over, row, np.broadcast_to(values, len(q))
                column += 1

    def reference(self, joint: Joint) -> tuple[float | None, ...]:
        """The robot file's values of the symbols for a joint; None where it has none."""
        return (None,) * len(self.symbols)

    def parameters(self, robot: Robot) -> tuple[Parameter, ...]:
        """One parameter a symbol, joint by joint."""
        return tuple(
            Parameter(f"{symbol}{joint.number}", _unit_at(joint, unit), joint.name, value)
            for joint in self._joints_of(robot)
            for symbol, unit, value in zip(self.symbols, self.units, self.reference(joint), strict=True)
        )

    def entries(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, Array]]:
        """The features of every joint, in that joint's own row."""
        column = 0
        for joint in self._joints_of(robot):
            row = joint.v.start
            for values in self.features(q[:, joint.q.start], v[:, row], a[:, row]):
                yield row, column, values
                column += 1

    def quadratic_forms(self, robot: Robot) -> Iterator[tuple[str, int, int, str]]:
        """The symbols that cannot be negative, on the diagonals of their forms."""
        for joint in self._joints_of(robot):
            for form, symbol in zip(self.forms, self.symbols, strict=False):
                yield form, joint.number, joint.number, f"{symbol}{joint.number}"

    def _joints_of(self, robot: Robot) -> list[Joint]:
        if self.joints is None:
            return [joint for joint in robot.independent_joints if joint.kind.nv == 1]
        return [_single(robot, key) for key in self.joints]


class Viscous(JointTerm):
    """Viscous friction fv * v."""

    symbols = ("fv",)
    units = ("N m s/rad",)
    forms = ("viscous",)
    needs = frozenset("v")

    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        """V."""
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
    forms = ("coulomb",)
    needs = frozenset("v")

    def __init__(self, joints: Sequence[str | int] | None = None, width: float = 0.0) -> None:
        super().__init__(joints)
        self.width = width

    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        """Sign of v."""
        return (_sign(v, self.width),)

    def feature_slopes(self, q: Array, v: Array, a: Array) -> tuple[tuple[Array | float, ...], ...]:
        """Zero, but for a smooth sign."""
        return ((_sign_slope(v, self.width),),)

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
    forms = ("coulomb", "coulomb backwards")
    needs = frozenset("v")

    def __init__(self, joints: Sequence[str | int] | None = None, width: float = 0.0) -> None:
        super().__init__(joints)
        self.width = width

    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        """1 where v > 0, and -1 where v < 0."""
        if not self.width:
            return ((v > 0).astype(float), -(v < 0).astype(float))
        sign = _sign(v, self.width)
        return (0.5 * (1.0 + sign), 0.5 * (sign - 1.0))

    def feature_slopes(self, q: Array, v: Array, a: Array) -> tuple[tuple[Array | float, ...], ...]:
        """Zero, but for a smooth sign."""
        slope = 0.5 * _sign_slope(v, self.width)
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

    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        """One."""
        return (np.ones_like(q),)


class Armature(JointTerm):
    """Motor inertia Ia * a: rotor and gears, seen at the joint."""

    symbols = ("Ia",)
    units = ("kg m^2",)
    forms = ("motor inertia",)
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
    needs = frozenset("q")

    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        """The position q."""
        return (q,)

    def feature_slopes(self, q: Array, v: Array, a: Array) -> tuple[tuple[Array | float, ...], ...]:
        """One."""
        return ((1.0,),)


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
        width: As `Coulomb`.
    """

    symbols = ("Iam", "fvm", "fsm")
    units = ("kg m^2", "N m s/rad", "N m")
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
            Parameter(f"{symbol}{second.number}", _unit_at(second, unit), owner, None)
            for symbol, unit in zip(self.symbols, self.units, strict=True)
        )

    def entries(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, Array]]:
        """The three columns, in the rows of both joints."""
        i, j = (joint.v.start for joint in self._pair(robot))
        direction = _sign(self.ratio * v[:, i] + v[:, j], self.width)
        for row, other, share in ((i, j, self.ratio), (j, i, 1.0)):
            yield row, 0, a[:, other]
            yield row, 1, v[:, other]
            yield row, 2, share * direction

    def quadratic_forms(self, robot: Robot) -> Iterator[tuple[str, int, int, str]]:
        """Iam and fvm beside the diagonals of motor inertia and viscous friction; fsm by itself."""
        i, j = (joint.number for joint in self._pair(robot))
        yield "motor inertia", i, j, f"Iam{j}"
        yield "viscous", i, j, f"fvm{j}"
        yield "coulomb of couplings", j, j, f"fsm{j}"

    def slopes(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, str, int, Array]]:
        """The slopes of the three columns, in the rows of both joints."""
        i, j = (joint.v.start for joint in self._pair(robot))
        one = np.ones(len(q))
        bend = _sign_slope(self.ratio * v[:, i] + v[:, j], self.width)
        for row, other, share in ((i, j, self.ratio), (j, i, 1.0)):
            yield row, 0, "a", other, one
            yield row, 1, "v", other, one
            yield row, 2, "v", i, share * self.ratio * bend
            yield row, 2, "v", j, share * bend

    def smoothed(self, speed: float) -> Coupling:
        """The same with a smooth sign."""
        return Coupling(self.first, self.second, self.ratio, speed)

    def _pair(self, robot: Robot) -> tuple[Joint, Joint]:
        first, second = _single(robot, self.first), _single(robot, self.second)
        if first is second:
            raise InvalidRequestError(f"a coupling needs two different joints, not '{first.name}' twice")
        return first, second


TERMS: dict[str, type[JointTerm]] = {
    "viscous": Viscous,
    "coulomb": Coulomb,
    "asymmetric_coulomb": AsymmetricCoulomb,
    "offset": Offset,
    "armature": Armature,
    "spring": Spring,
}
"""Terms of single joints by the names that users write."""


def parse_terms(specifications: Sequence[str], robot: Robot) -> tuple[Term, ...]:
    """Make terms from what users write.

    Each is `NAME` for all joints, or `NAME:JOINT:JOINT...` for some, with joints by name or number.
    `coupling:FIRST:SECOND` couples two joints; `coupling` alone stands for the couplings that the robot's file states.

    >>> from dynid import load_robot
    >>> robot = load_robot("builtin:tx40")
    >>> [type(term).__name__ for term in parse_terms(["viscous", "offset:1:2", "coupling"], robot)]
    ['Viscous', 'Offset', 'Coupling']
    """
    terms: list[Term] = []
    for specification in specifications:
        name, *joints = specification.strip().split(":")
        if name == "coupling":
            terms += _couplings(joints, robot)
        elif name in TERMS:
            terms.append(TERMS[name](joints or None))
        else:
            raise UnknownNameError("term", name, [*TERMS, "coupling"])
    return tuple(terms)


def _couplings(joints: list[str], robot: Robot) -> list[Coupling]:
    if len(joints) == 2:
        return [Coupling(joints[0], joints[1])]
    if joints:
        raise InvalidRequestError(f"a coupling is written coupling:FIRST:SECOND, not coupling:{':'.join(joints)}")
    if not robot.description.couplings:
        raise InvalidRequestError(
            f"the file of '{robot.name}' states no coupling; name the joints, as in coupling:joint_5:joint_6"
        )
    return [Coupling(first, second) for first, second in robot.description.couplings]


def _single(robot: Robot, key: str | int) -> Joint:
    joint = robot.joint(key)
    if joint.kind.nv != 1 or joint.leader is not None:
        why = "follows another joint" if joint.leader is not None else f"is {joint.kind.value}"
        raise InvalidRequestError(f"joint '{joint.name}' {why}, and terms need a joint of one degree of freedom")
    return joint


def _unit_at(joint: Joint, unit: str) -> str:
    """The unit at a joint: a prismatic one has forces [N] and lengths [m] for torques and angles."""
    if joint.kind is not JointKind.PRISMATIC:
        return unit
    return unit.replace("kg m^2", "kg").replace("N m", "N").replace("rad", "m")
