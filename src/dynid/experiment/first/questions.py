"""Questions that names and numbers of a log leave open, and the answers that a user states beforehand."""

import difflib
import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.findings import Finding
from dynid.logs import UNITS, is_current
from dynid.robot import Robot

Columns: TypeAlias = str | int | Sequence[str | int]
"""Columns: names, patterns ("q_*"), positions from 0, ranges ("q1..q6", "1..6"), several of them with commas."""

QUANTITIES = ("position", "velocity", "torque", "time")
"""Quantities whose columns and units can be stated."""

GAINS = ("kp", "kd")
"""Gains of a controller, which can be stated as columns or as one number for all joints."""

SKIPPED = ("_", "-", "")
"""Names, among those of a file without names, of columns that are not needed."""


@dataclass(frozen=True)
class Question:
    """A question that is open, with the guess that stands in the experiment until it is answered.

    Attributes:
        finding: What was found, by code, in words.
        key: The key of the experiment that it is about: "position", "velocity", "torque", "time", "rate" or "lock".
        candidates: What could be written there.
        guess: What is written there; None where no guess is honest and the key is commented out.
        option: An option of `init` that answers it.
        drafts: Files and columns of candidates that stand in the experiment, commented out.
    """

    finding: Finding
    key: str
    candidates: tuple[str, ...]
    guess: str | None
    option: str
    drafts: tuple[tuple[Path, tuple[str | int, ...]], ...] = ()

    @property
    def code(self) -> str:
        """What is asked, as a code."""
        return self.finding.code

    @property
    def is_open(self) -> bool:
        """Whether nothing runs before it is answered."""
        return self.guess is None

    @property
    def text(self) -> str:
        """The question in a sentence."""
        return self.finding.evidence


@dataclass(frozen=True)
class Answers:
    """What a user states about a log, in place of guesses.

    Attributes:
        columns: Columns by quantity; of bags, topics.
        units: Units by quantity, one for all joints or one for each.
        lock: Joints that are locked, and where [rad or m]; None for where they rest.
        names: Names for the columns of files that have none; those of `SKIPPED` are not needed.
        rate: Sampling rate [Hz], where there are no time stamps.
        gains: "kp" and "kd" that are stated as one number for all joints.
    """

    columns: Mapping[str, tuple[str | int, ...]] = field(default_factory=dict)
    units: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    lock: Mapping[str, float | None] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    rate: float | None = None
    gains: Mapping[str, float] = field(default_factory=dict)


def answers_of(
    robot: Robot,
    columns: Mapping[str, Columns | float | None],
    unit: Mapping[str, str | Sequence[str]] | None,
    lock: Mapping[str, float | None] | Sequence[str] | None,
    names: Columns | None,
    rate: float | None,
) -> Answers:
    """What was stated, checked as far as that goes without the log.

    Args:
        robot: The robot.
        columns: Columns by quantity; those that are None are not stated, and gains may be numbers.
        unit: Units by quantity.
        lock: Joints to lock, by name or pattern, and where [rad or m].
        names: Names for the columns of files without names.
        rate: Sampling rate [Hz].

    Raises:
        UnknownNameError: If there is no such quantity, unit or joint.
        InvalidRequestError: If the rate is not positive, or names are given twice.
    """
    if rate is not None and not 0 < rate < float("inf"):
        raise InvalidRequestError(f"a rate of {rate:g} Hz is not positive; give the sampling rate")
    if rate is not None and columns.get("time") is not None:
        raise InvalidRequestError("a log needs either the column of time or the rate, and not both; leave one out")
    units = {role: one if isinstance(one, str) else tuple(one) for role, one in (unit or {}).items()}
    for role, stated in units.items():
        if role not in QUANTITIES:
            raise UnknownNameError("quantity", role, QUANTITIES, " (unit)")
        for one in (stated,) if isinstance(stated, str) else stated:
            if one not in UNITS[role]:
                raise UnknownNameError(f"unit of {role}", one, UNITS[role])
    gains = {role: float(one) for role in GAINS if isinstance(one := columns.get(role), int | float)}
    if any(not 0 <= gain < float("inf") for gain in gains.values()):
        raise InvalidRequestError(f"gains are no negative numbers, as in {gains}; give those of the controller")
    given = {
        role: _items(stated)
        for role, stated in columns.items()
        if stated is not None and role not in gains and not isinstance(stated, float)
    }
    empty = next((role for role, items in given.items() if not items), None)
    if empty is not None:
        raise InvalidRequestError(f"{empty}: no column is named; give a pattern such as 'q_*', or names with commas")
    called = tuple(name for item in _items(names or ()) for name in _expanded(str(item)))
    twice = next((name for k, name in enumerate(called) if name in called[:k] and name not in SKIPPED), None)
    if twice is not None:
        raise InvalidRequestError(f"columns: '{twice}' stands twice; give each column a name of its own, or '_'")
    return Answers(given, units, _locked(robot, lock), called, rate, gains)


def _items(columns: Columns) -> tuple[str | int, ...]:
    """Single names, patterns, numbers and ranges."""
    if isinstance(columns, str):
        return tuple(part.strip() for part in columns.split(",") if part.strip())
    return (columns,) if isinstance(columns, int) else tuple(columns)


def _locked(robot: Robot, lock: Mapping[str, float | None] | Sequence[str] | None) -> dict[str, float | None]:
    stated = dict(lock) if isinstance(lock, Mapping) else dict.fromkeys([lock] if isinstance(lock, str) else lock or ())
    joints = [joint.name for joint in robot.independent_joints]
    found: dict[str, float | None] = {}
    for name, at in stated.items():
        matching = [name] if name in joints else [one for one in joints if fnmatch.fnmatchcase(one, name)]
        if not matching:
            raise UnknownNameError("joint", name, joints, " to lock")
        found |= dict.fromkeys(matching, at)
    if len(found) == len(joints):
        raise InvalidRequestError("all joints would be locked; leave those free that the log has")
    return found


_RANGE = re.compile(r"^(?P<head>.*?)(?P<first>\d+)(?P<tail>\D*)\.\.(?P<second>.*)$")


def _expanded(item: str) -> list[str]:
    """The names of a range, such as q1..q6, q1..6 or 3..8; what is no range stays as it is.

    >>> _expanded("q1..q3"), _expanded("tau_1..2"), _expanded("t")
    (['q1', 'q2', 'q3'], ['tau_1', 'tau_2'], ['t'])
    """
    match = _RANGE.match(item)
    if match is None:
        return [item]
    head, first, tail, second = match["head"], match["first"], match["tail"], match["second"]
    last = second.removeprefix(head).removesuffix(tail) if second.startswith(head) else second
    if not last.isdigit() or int(last) < int(first) or int(last) - int(first) > 1000:
        raise InvalidRequestError(f"'{item}' is no range; write one such as q1..q6, q1..6 or 3..8")
    return [f"{head}{number}{tail}" for number in range(int(first), int(last) + 1)]


def found_columns(path: Path, names: Sequence[str], named: bool, items: Sequence[str | int], role: str) -> list[int]:
    """Positions of the columns of a file that were stated; what a pattern matches in the file's order.

    Args:
        path: The file.
        names: Names of its columns.
        named: Whether they are names; otherwise columns are counted from 0.
        items: Names, patterns, positions and ranges.
        role: What they hold.

    Raises:
        InvalidRequestError: If there is no such column.
    """
    found: list[int] = []
    for item in items:
        found += _matching(path, names, named, item, role)
    return list(dict.fromkeys(found))


def _matching(path: Path, names: Sequence[str], named: bool, item: str | int, role: str) -> list[int]:
    if isinstance(item, str) and named:
        exact = [p for p, name in enumerate(names) if name == item]
        exact = exact or [p for p, name in enumerate(names) if re.fullmatch(re.escape(item) + r"\[\d+\]", name)]
        exact = exact or [p for p, name in enumerate(names) if fnmatch.fnmatchcase(name, item)]
        if exact:
            return exact
    each = [item] if isinstance(item, int) else _expanded(item)
    found = []
    for one in each:
        if isinstance(one, str) and named and one in names:
            found.append(names.index(one))
        elif str(one).isdigit():
            if int(one) >= len(names):
                where = f"{path.name} has {len(names)}, counted from 0 to {len(names) - 1}"
                raise InvalidRequestError(f"{role}: there is no column {one}; {where}")
            found.append(int(one))
        else:
            raise InvalidRequestError(
                f"{role}: there is no column '{one}' in {path.name}; {_near(str(one), names, named)}"
            )
    return found


def _near(item: str, names: Sequence[str], named: bool) -> str:
    if not named:
        return f"its columns have no names: count them from 0 to {len(names) - 1}, or name them with --columns"
    close = difflib.get_close_matches(item, names, n=1)
    shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"did you mean '{close[0]}'?" if close else f"its columns are {shown}"


def stated_role(answers: Answers, unit: str | tuple[str, ...] | None) -> str:
    """Whether what is stated as torques is torques or currents, by the stated unit."""
    stated = answers.units.get("torque", unit or ())
    return "current" if any(map(is_current, (stated,) if isinstance(stated, str) else stated)) else "torque"
