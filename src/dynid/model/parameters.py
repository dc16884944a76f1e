"""Names of what is to be known."""

from __future__ import annotations

import fnmatch
import re
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
