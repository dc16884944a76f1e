"""The bases of all terms: columns of the observation matrix, with a parameter for each."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.model.parameters import NonlinearParameter, Parameter, Role, Sign
from dynid.robot import Joint, JointKind, Robot

DIFFERENCE_STEP = 1e-6
"""Step of central differences [rad, m and their rates]; relative to the value for nonlinear parameters."""


class Term(ABC):
    """A part of the torque that is linear in parameters of its own.

    Columns may depend on nonlinear parameters, too, in which torques are not linear. A term knows their present values.

    Attributes:
        needs: Which of positions "q", velocities "v" and accelerations "a" the columns depend on.
        needs_temperature: Whether the columns depend on a temperature.
        needs_links: Whether the columns depend on the links' inertial parameters.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    needs_temperature: ClassVar[bool] = False
    needs_links: ClassVar[bool] = False

    @abstractmethod
    def parameters(self, robot: Robot) -> tuple[Parameter, ...]:
        """The term's parameters for this robot, one per column."""

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
        """Elements of matrices over the joints that must be positive semidefinite, such as the power of friction.

        This default has each parameter whose sign is nonnegative on a diagonal.

        Yields:
            The form's name, the numbers of two joints (the same one on the diagonal), and the parameter that stands
            there. Elements of several terms make up one form, which must be positive semidefinite; a term's
            parameters of the same element add up.
        """
        for parameter in self.parameters(robot):
            if parameter.sign is Sign.NONNEGATIVE:
                alone = parameter.joint is None or parameter.role is Role.OTHER
                number = 0 if parameter.joint is None else robot.joint(parameter.joint).number
                yield parameter.name if alone else parameter.role.value, number, number, parameter.name

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
                        self.entries(robot, **_shifted(states, over, column, DIFFERENCE_STEP)),
                        self.entries(robot, **_shifted(states, over, column, -DIFFERENCE_STEP)),
                        strict=True,
                    ):
                        yield row, parameter, over, joint.v.start, (high - low) / (2 * DIFFERENCE_STEP)

    def smoothed(self, speed: float) -> Term:
        """The term with signs of a velocity made smooth below about this speed [rad/s or m/s]; itself without signs."""
        return self

    def columns(self, robot: Robot, q: Array, v: Array, a: Array) -> Array:
        """Torque per unit of each parameter, shape (nv, samples, parameters); arguments as `entries`."""
        W = np.zeros((robot.nv, len(q), len(self.parameters(robot))))
        for row, column, values in self.entries(robot, q, v, a):
            W[row, :, column] += values
        return W

    def nonlinear(self, robot: Robot) -> tuple[NonlinearParameter, ...]:
        """The term's nonlinear parameters for this robot; none for most terms."""
        return ()

    def at_nonlinear(self, values: Mapping[str, float]) -> Term:
        """The term with other values of its nonlinear parameters, by name; others are ignored."""
        return self

    def searched_from(self, lowest: Mapping[str, float]) -> Term:
        """The term with higher lower bounds of its nonlinear parameters, by name; others are ignored."""
        return self

    def nonlinear_slopes(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, int, Array]]:
        """Slopes of the entries over the nonlinear parameters; arguments as `entries`.

        Yields:
            The row, the index of the parameter, the index of the nonlinear parameter, and the values, shape (samples,).
        """
        yield from ()

    def typical(self) -> Term:
        """The term at nonlinear parameters with which random states determine all of its parameters."""
        return self

    def with_temperature(self, temperature: Array) -> Term:
        """The term for samples of which each joint's temperature [degrees Celsius] is known, shape (samples, nv)."""
        return self

    def with_motor_torque(self, torque: Array) -> Term:
        """The term for samples of which each motor's torque is known [N m or N], shape (samples, nv)."""
        return self

    def with_values(self, values: Mapping[str, float], others: Sequence[tuple[Term, Array]] = ()) -> Term:
        """The term at values of its parameters, by name, beside other terms with theirs, for columns that need them."""
        return self

    def with_links(self, parameters: Array) -> Term:
        """The term on links with these inertial parameters, shape (inertia.SIZE * solid links,)."""
        return self


def _shifted(states: dict[str, Array], over: str, column: int, step: float) -> dict[str, Array]:
    moved = states[over].copy()
    moved[:, column] += step
    return states | {over: moved}


class TermOfJoints(Term):
    """A term of each single joint, in that joint's own row.

    Applies to joints of one degree of freedom that follow no other.

    Attributes:
        symbols: Symbols of the parameters; the joint's number makes a name of each.
        units: Their units, for an angular joint.
        roles: What each symbol stands for; `Role.OTHER` for all when left out.
        signs: Which signs each can physically have; those of the roles when left out.

    Args:
        joints: Names or numbers of the joints that have the term; all that can when None.
        width: For terms with signs of velocities: with a width [rad/s or m/s], tanh(v / width) stands for the sign, for
            design, which needs slopes.
    """

    symbols: ClassVar[tuple[str, ...]]
    units: ClassVar[tuple[str, ...]]
    roles: ClassVar[tuple[Role, ...]] = ()
    signs: ClassVar[tuple[Sign, ...]] = ()

    def __init__(self, joints: Sequence[str | int] | None = None, width: float = 0.0) -> None:
        self.joints = None if joints is None else tuple(joints)
        self.width = width

    def reference(self, joint: Joint) -> tuple[float | None, ...]:
        """The robot file's values of the symbols for a joint; None where it has none."""
        return (None,) * len(self.symbols)

    def parameters(self, robot: Robot) -> tuple[Parameter, ...]:
        """For each joint one parameter per symbol."""
        roles = self.roles or (Role.OTHER,) * len(self.symbols)
        signs = self.signs or tuple(role.sign for role in roles)
        columns = tuple(zip(self.symbols, self.units, roles, signs, strict=True))
        return tuple(
            Parameter(f"{symbol}{joint.number}", unit_at(joint, unit), joint.name, value, joint.name, None, role, sign)
            for joint in self.joints_of(robot)
            for (symbol, unit, role, sign), value in zip(columns, self.reference(joint), strict=True)
        )

    def joints_of(self, robot: Robot) -> list[Joint]:
        """The joints that have the term."""
        if self.joints is None:
            return [joint for joint in robot.independent_joints if joint.kind.nv == 1]
        return [single_joint(robot, key) for key in self.joints]

    def on(self, joints: Sequence[str | int]) -> Self:
        """The same on other joints, by name or number."""
        return self._with(joints=tuple(joints))

    def smoothed(self, speed: float) -> Self:
        """The same with smooth signs."""
        return self._with(width=speed)

    def _with(self, **changes: object) -> Self:
        """The same with other values of attributes."""
        new = copy.copy(self)
        vars(new).update(changes)
        return new

    def _by_symbol(self, robot: Robot, found: Callable[[Joint], Sequence[Any]]) -> Iterator[tuple[int, int, Any]]:
        """The row, the column, and what was found for the symbol, of every joint's symbols."""
        for at, joint in enumerate(self.joints_of(robot)):
            for k, of_symbol in enumerate(found(joint)):
                yield joint.v.start, at * len(self.symbols) + k, of_symbol


class JointTerm(TermOfJoints):
    """A term of each single joint, a function of that joint's own motion.

    Subclasses give `symbols`, `units` and `features`.
    """

    @abstractmethod
    def features(self, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
        """Torque per unit of each symbol for one joint's q, v, a of shape (samples,)."""

    def feature_slopes(self, q: Array, v: Array, a: Array) -> tuple[tuple[Array | float, ...], ...]:
        """For each symbol the slopes of its feature over what the term `needs`, in alphabetical order.

        This default takes central differences; override it for features with jumps.
        """
        return difference_slopes(self.features, self.needs, q, v, a)

    def entries(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, Array]]:
        """The features of every joint, in that joint's own row."""
        return self._by_symbol(robot, lambda joint: self.features(*own_motion(joint, q, v, a)))

    def slopes(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, str, int, Array]]:
        """The slopes of every joint's features over its own motion."""
        found = self._by_symbol(robot, lambda joint: self.feature_slopes(*own_motion(joint, q, v, a)))
        for row, column, slopes in found:
            for over, values in zip(sorted(self.needs), slopes, strict=True):
                yield row, column, over, row, np.broadcast_to(values, len(q))


def own_motion(joint: Joint, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration of a joint, each of shape (samples,)."""
    return q[:, joint.q.start], v[:, joint.v.start], a[:, joint.v.start]


def difference_slopes(
    features: Callable[[Array, Array, Array], tuple[Array, ...]],
    needs: frozenset[str],
    q: Array,
    v: Array,
    a: Array,
) -> tuple[tuple[Array | float, ...], ...]:
    """For each feature of one joint its slopes over what it needs, in alphabetical order, by central differences."""
    states, slopes = {"q": q, "v": v, "a": a}, []
    for over in sorted(needs):
        high = features(*(states | {over: states[over] + DIFFERENCE_STEP}).values())
        low = features(*(states | {over: states[over] - DIFFERENCE_STEP}).values())
        slopes.append([(x - y) / (2 * DIFFERENCE_STEP) for x, y in zip(high, low, strict=True)])
    return tuple(zip(*slopes, strict=True))


def single_joint(robot: Robot, key: str | int) -> Joint:
    """A joint of one degree of freedom that follows no other, by name or number.

    Raises:
        InvalidRequestError: If it is no such joint.
    """
    joint = robot.joint(key)
    if joint.kind.nv != 1 or joint.leader is not None:
        why = "follows another joint" if joint.leader is not None else f"is {joint.kind.value}"
        raise InvalidRequestError(f"joint '{joint.name}' {why}, and terms need a joint of one degree of freedom")
    return joint


def unit_at(joint: Joint, unit: str) -> str:
    """The unit at a joint: a prismatic one has forces [N] and lengths [m] for torques and angles."""
    if joint.kind is not JointKind.PRISMATIC:
        return unit
    return unit.replace("kg m^2", "kg").replace("N m", "N").replace("rad", "m")
