"""Terms of single joints: each acts in that joint's own row."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.model.parameters import Parameter, Role, Sign
from dynid.model.terms.term import STEP, Term
from dynid.robot.joints import JointKind
from dynid.robot.robot import Joint, Robot


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
    """

    symbols: ClassVar[tuple[str, ...]]
    units: ClassVar[tuple[str, ...]]
    roles: ClassVar[tuple[Role, ...]] = ()
    signs: ClassVar[tuple[Sign, ...]] = ()

    def __init__(self, joints: Sequence[str | int] | None = None) -> None:
        self.joints = None if joints is None else tuple(joints)

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

    def slopes(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, str, int, Array]]:
        """The slopes of every joint's features over its own motion."""
        column = 0
        for joint in self.joints_of(robot):
            row = joint.v.start
            for slopes in self.feature_slopes(q[:, joint.q.start], v[:, row], a[:, row]) or ((),) * len(self.symbols):
                for over, values in zip(sorted(self.needs), slopes, strict=True):
                    yield row, column, over, row, np.broadcast_to(values, len(q))
                column += 1

    def entries(self, robot: Robot, q: Array, v: Array, a: Array) -> Iterator[tuple[int, int, Array]]:
        """The features of every joint, in that joint's own row."""
        column = 0
        for joint in self.joints_of(robot):
            row = joint.v.start
            for values in self.features(q[:, joint.q.start], v[:, row], a[:, row]):
                yield row, column, values
                column += 1


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
        high = features(*(states | {over: states[over] + STEP}).values())
        low = features(*(states | {over: states[over] - STEP}).values())
        slopes.append([(x - y) / (2 * STEP) for x, y in zip(high, low, strict=True)])
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
