"""Parameters: their names, and what each says of itself."""

import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dynid.errors import UnknownNameError
from dynid.robot import Robot, inertia


class Sign(StrEnum):
    """Which signs a parameter can physically have."""

    NONNEGATIVE = "nonnegative"
    FREE = "free"


class Role(StrEnum):
    """What a parameter stands for. Exports, findings and simulations ask for it; no code reads names."""

    MASS = "mass"
    FIRST_MOMENT = "first_moment"
    INERTIA = "inertia"
    VISCOUS = "viscous"
    """Torque per velocity: what robot files call damping."""
    COULOMB = "coulomb"
    """Dry friction, the same in both directions: what robot files call friction."""
    COULOMB_FORWARD = "coulomb_forward"
    """Dry friction while the velocity is positive."""
    COULOMB_BACKWARD = "coulomb_backward"
    """Dry friction while the velocity is negative."""
    STRIBECK = "stribeck"
    """Dry friction that is added near rest."""
    SIGMOID = "sigmoid"
    """Rise of sigmoid friction."""
    LOAD = "load"
    """Dry friction per torque of the load."""
    OFFSET = "offset"
    """A constant torque."""
    ARMATURE = "armature"
    """Motor inertia, seen at the joint."""
    SPRING = "spring"
    """Stiffness."""
    COUPLING_INERTIA = "coupling_inertia"
    COUPLING_VISCOUS = "coupling_viscous"
    COUPLING_COULOMB = "coupling_coulomb"
    COMBINED_INERTIA = "combined_inertia"
    """Motor inertia along a combination of joints; so are the four that follow."""
    COMBINED_VISCOUS = "combined_viscous"
    COMBINED_COULOMB = "combined_coulomb"
    COMBINED_OFFSET = "combined_offset"
    COMBINED_SPRING = "combined_spring"
    OTHER = "other"

    @property
    def sign(self) -> Sign:
        """The sign of such parameters, where their term does not state another."""
        return Sign.NONNEGATIVE if self in _NONNEGATIVE else Sign.FREE

    @property
    def is_dry(self) -> bool:
        """Whether it is friction that has a level at rest."""
        return self in _DRY


_BRAKING = {Role.COULOMB, Role.COULOMB_FORWARD, Role.COULOMB_BACKWARD, Role.SIGMOID}
_BRAKING |= {Role.COUPLING_COULOMB, Role.COMBINED_COULOMB}
_DRY = _BRAKING | {Role.STRIBECK}
_NONNEGATIVE = _BRAKING | {Role.MASS, Role.VISCOUS, Role.LOAD, Role.ARMATURE}
_NONNEGATIVE |= {Role.COMBINED_INERTIA, Role.COMBINED_VISCOUS}

_LINK_ROLES = (Role.MASS, *[Role.FIRST_MOMENT] * 3, *[Role.INERTIA] * 6)
"""Roles of a link's parameters, in the order of the 10-vector."""


@dataclass(frozen=True)
class Parameter:
    """A standard parameter: torques are linear in it.

    Attributes:
        name: Symbol and number, such as "mx1".
        unit: Its unit.
        owner: The link's or joint's own name in the robot file.
        reference: The robot file's value; None where the file states none.
        joint: Name of the joint that it acts at, or that moves its link; None where it belongs to no single joint.
        link: Name of the link; None for parameters of terms.
        role: What it stands for.
        sign: Which signs it can physically have. Of a link's parameters only the mass is constrained by itself: all ten
            together are, through the pseudo-inertia.
    """

    name: str
    unit: str
    owner: str
    reference: float | None = None
    joint: str | None = None
    link: str | None = None
    role: Role = Role.OTHER
    sign: Sign = Sign.FREE

    def __repr__(self) -> str:
        value = "" if self.reference is None else f" = {self.reference:g}"
        return f"Parameter({self.name}{value} [{self.unit}], {self.role.value} of '{self.owner}')"


@dataclass(frozen=True)
class NonlinearParameter:
    """A nonlinear parameter of a term: a number that its columns depend on, such as a Stribeck velocity.

    Attributes:
        name: Symbol and the joint's number, such as "vs1".
        unit: Its unit.
        owner: The joint's own name in the robot file.
        value: What it is at present.
        lower: The smallest value that is looked for.
        upper: The largest one.
        grid: Values that a search tries first, each of them: it goes on from the best.
        role: What the linear parameter stands for that it changes the column of.
        needs_temperature: Whether only logs with temperatures can determine it.
    """

    name: str
    unit: str
    owner: str
    value: float
    lower: float
    upper: float
    grid: tuple[float, ...]
    role: Role = Role.OTHER
    needs_temperature: bool = False

    @property
    def is_at_bound(self) -> bool:
        """Whether it is as small or as large as is looked for."""
        near = 1e-6 * (self.upper - self.lower)
        return self.value >= self.upper - near or self.value <= self.lower + min(near, 1e-3 * abs(self.lower))

    def reach(self, factor: float) -> tuple[float, float]:
        """Smallest and largest value after one step of a search, which changes a positive value by a factor at most."""
        if self.lower <= 0.0:
            return self.lower, self.upper
        return max(self.lower, self.value / factor), min(self.upper, self.value * factor)


def link_parameters(robot: Robot) -> tuple[Parameter, ...]:
    """The inertial parameters of all solid links about their joint frames, `inertia.SIZE` for each link."""
    columns = tuple(zip(inertia.PARAMETER_SYMBOLS, inertia.PARAMETER_UNITS, _LINK_ROLES, strict=True))
    return tuple(
        Parameter(
            name=f"{symbol}{robot.joints[i].number}",
            unit=unit,
            owner=robot.links[i].name,
            reference=float(robot.links[i].parameters[k]) if robot.links[i].has_inertia else None,
            joint=robot.joints[i].name,
            link=robot.links[i].name,
            role=role,
            sign=role.sign,
        )
        for i in robot.solid_links
        for k, (symbol, unit, role) in enumerate(columns)
    )


def of_joint(parameters: Iterable[Parameter], joint: str, *roles: Role) -> list[Parameter]:
    """The parameters of terms at a joint that have one of some roles, in the order of the roles."""
    own = [parameter for parameter in parameters if parameter.joint == joint and parameter.link is None]
    return [parameter for role in roles for parameter in own if parameter.role is role]


def matching(patterns: Iterable[str], names: Sequence[str]) -> list[str]:
    """Names that match patterns, pattern by pattern, each name once.

    A number at the end of a pattern is that very number: "I??1" means link 1 and not 11.

    Raises:
        UnknownNameError: If a pattern matches nothing.

    >>> matching(["m?1", "fv*"], ["m1", "mx1", "mx11", "fv1", "fv11"])
    ['mx1', 'fv1', 'fv11']
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        symbol, number = _split(pattern)
        matches = [
            name for name in names if fnmatch.fnmatchcase(_split(name)[0], symbol) and number in ("", _split(name)[1])
        ]
        if not number and not symbol.endswith(("*", "]")):
            matches = [name for name in matches if name == pattern]
        if not matches:
            raise UnknownNameError("parameter", pattern, names)
        found.update(dict.fromkeys(matches))
    return list(found)


def _split(name: str) -> tuple[str, str]:
    """A name's symbol and number."""
    symbol = re.sub(r"\d+$", "", name)
    return symbol, name.removeprefix(symbol)
