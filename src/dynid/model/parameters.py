"""Names of what is to be known."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dynid.errors import UnknownNameError
from dynid.robot import inertia
from dynid.robot.robot import Robot


@dataclass(frozen=True)
class Parameter:
    """A standard parameter: a number that torques are linear in.

    Attributes:
        name: Symbol and number, such as "mx1".
        unit: Its unit.
        owner: The link's or joint's own name in the robot file.
        reference: The robot file's value; None where the file says nothing.
    """

    name: str
    unit: str
    owner: str
    reference: float | None


def link_parameters(robot: Robot) -> tuple[Parameter, ...]:
    """The inertial parameters of all solid links about their joint frames, ten a link."""
    return tuple(
        Parameter(
            name=f"{symbol}{robot.joints[i].number}",
            unit=unit,
            owner=robot.links[i].name,
            reference=float(robot.links[i].parameters[k]) if robot.links[i].has_inertia else None,
        )
        for i in robot.solid_links
        for k, (symbol, unit) in enumerate(zip(inertia.PARAMETER_SYMBOLS, inertia.PARAMETER_UNITS, strict=True))
    )


def matching(patterns: Iterable[str], names: Sequence[str]) -> list[str]:
    """Names that match patterns such as "mx1" or "I*2", pattern by pattern, each name once.

    Raises:
        UnknownNameError: If a pattern matches nothing.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        matches = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
        if not matches:
            raise UnknownNameError("parameter", pattern, names)
        found.update(dict.fromkeys(matches))
    return list(found)
