"""What a log's columns or topics are, guessed from their names and numbers: for a first experiment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dynid.bag_layout import layout_of_bag
from dynid.data.readers.bags import is_bag
from dynid.data.readers.source import Progress, RecordingError, silent
from dynid.data.recording import UNITS
from dynid.data.tables import read_groups, source_of
from dynid.log_guesses import Group, Layout, position_unit, time_unit, usable_rows
from dynid.robot.robot import Robot

WORDS = {
    "time": ("t", "time", "stamp", "timestamp", "timestamps", "secs", "seconds", "nsecs", "clock"),
    "position": ("q", "pos", "position", "positions", "angle", "angles", "theta", "qpos"),
    "velocity": ("v", "dq", "qd", "qdot", "vel", "velocity", "velocities", "speed", "qvel"),
    "torque": ("tau", "torque", "torques", "effort", "efforts", "force", "trq", "load", "tor"),
    "current": ("i", "cur", "current", "currents", "iq", "amps"),
}
"""Words in the names of columns, by what they hold."""

ASKED = frozenset(
    ("des", "desired", "cmd", "command", "commanded", "ref", "reference", "target", "goal", "set", "error", "err")
)
"""Words in the names of columns that were not measured."""


def layout_of(path: Path, robot: Robot, progress: Progress = silent) -> Layout:
    """Guess what the columns or topics of a log are.

    Raises:
        RecordingError: If positions or torques of the robot's joints cannot be told.
    """
    joints = [joint.name for joint in robot.independent_joints if joint.kind.nq == 1]
    if is_bag(path):
        return layout_of_bag(path, robot, joints, progress)
    source = source_of(path, progress=progress)
    chosen = _by_name(path, source.names, joints) if source.named else _by_order(path, len(source.names), joints)
    return _read(path, robot, source.names if source.named else None, chosen, progress)


@dataclass(frozen=True)
class _Choice:
    """Positions of columns of a table, by what they hold.

    Attributes:
        joints: Joints that the log has, in the robot's order.
        columns: Columns of "position", "velocity" (perhaps none), "torque" and "time" (one or none).
        why: How they were matched.
        in_amperes: Whether torques are currents.
    """

    joints: tuple[str, ...]
    columns: dict[str, tuple[int, ...]]
    why: str
    in_amperes: bool


def _read(path: Path, robot: Robot, names: Sequence[str] | None, chosen: _Choice, progress: Progress) -> Layout:
    """Look at the numbers of the chosen columns."""
    own = chosen.columns
    table = read_groups(path, [own["position"], own["torque"], own["time"][:1]], progress=progress, finite=False)
    table.require_measured(slice(0, len(table)))
    time, stamps = None, None
    if own["time"]:
        unit, why = time_unit(table.groups[2][:, 0])
        time, stamps = Group(_named(names, own["time"][:1]), unit, why), table.groups[2][:, 0] * UNITS["time"][unit]
    unit, seen = position_unit(robot, chosen.joints, table.groups[0])
    position = Group(_named(names, own["position"]), unit, f"{chosen.why}; {seen}")
    about = f"the name speaks of {'currents' if chosen.in_amperes else 'torques'}" if names else chosen.why
    torque = Group(_named(names, own["torque"]), "A" if chosen.in_amperes else "N m", about)
    velocity = None
    if len(own["velocity"]) == len(chosen.joints):
        velocity = Group(_named(names, own["velocity"]), "deg/s" if unit == "deg" else "rad/s", "")
    return Layout(
        chosen.joints, position, torque, velocity, time, stamps, len(table), usable_rows(table.joined(), stamps)
    )


def _by_name(path: Path, names: Sequence[str], joints: Sequence[str]) -> _Choice:
    """Columns by the words and the joints in their names."""
    roles = [_role(name, joints) for name in names]
    found = {role: _measured(names, [k for k, own in enumerate(roles) if own == role]) for role in WORDS}
    drive = "torque" if found["torque"] else "current"
    if not found["position"] or not found[drive]:
        missing = "positions" if not found["position"] else "torques or currents"
        raise RecordingError(
            path, f"no column looks like {missing} among {', '.join(names[:20])}; write the experiment by hand"
        )
    matched, why = _matched(path, names, found["position"], joints)
    own = {role: _aligned(path, names, found[role], joints, matched) for role in ("position", "velocity", drive)}
    columns = {"position": own["position"], "velocity": own["velocity"], "torque": own[drive]}
    return _Choice(matched, {**columns, "time": tuple(found["time"])}, why, drive == "current")


def _measured(names: Sequence[str], columns: list[int]) -> list[int]:
    """Columns without those that were asked for instead of measured, where there are others."""
    return [k for k in columns if not set(re.findall(r"[a-z]+", names[k].lower())) & ASKED] or columns


def _role(name: str, joints: Sequence[str]) -> str:
    """What a column holds, by the words of its name that are none of a joint's name."""
    text = name.lower()
    for joint in sorted(joints, key=len, reverse=True):
        text = text.replace(joint.lower(), " ")
    words = re.findall(r"[a-z]+", re.sub(r"\[\d+\]", " ", text))
    return next((role for role, known in WORDS.items() if any(word in known for word in words)), "")


def _matched(
    path: Path, names: Sequence[str], columns: Sequence[int], joints: Sequence[str]
) -> tuple[tuple[str, ...], str]:
    """Joints that the columns of positions belong to, in the robot's order, and how that was told."""
    by_name = tuple(joint for joint in joints if any(_speaks_of(names[k], joint, joints) for k in columns))
    if len(by_name) == len(columns):
        return by_name, "matched by the joints' names"
    if len(columns) == len(joints):
        return tuple(joints), "matched by order: CHECK THIS"
    raise RecordingError(
        path,
        f"{len(columns)} columns look like positions ({', '.join(names[k] for k in columns[:12])}), and the robot has "
        f"{len(joints)} joints with other names; lock joints or name columns in an experiment written by hand",
    )


def _speaks_of(name: str, joint: str, joints: Sequence[str]) -> bool:
    """Whether a column's name holds a joint's name, and no longer one of another joint around it."""
    text, own = name.lower(), joint.lower()
    longer = (other.lower() for other in joints if own in other.lower() and other != joint)
    return bool(re.search(rf"(?<![a-z0-9]){re.escape(own)}(?![0-9])", text)) and not any(
        other in text for other in longer
    )


def _aligned(
    path: Path, names: Sequence[str], columns: Sequence[int], joints: Sequence[str], matched: Sequence[str]
) -> tuple[int, ...]:
    """Columns of one quantity in the order of the joints."""
    by_name = [next((k for k in columns if _speaks_of(names[k], joint, joints)), None) for joint in matched]
    if all(k is not None for k in by_name):
        return tuple(k for k in by_name if k is not None)
    if len(columns) not in (0, len(matched)):
        shown = ", ".join(names[k] for k in columns[:12])
        raise RecordingError(path, f"{len(columns)} columns ({shown}) do not fit the {len(matched)} joints of the log")
    return tuple(columns)


def _named(names: Sequence[str] | None, columns: Sequence[int]) -> tuple[str | int, ...]:
    """Columns by name, or by position where there are no names or they are not unique."""
    chosen = [] if names is None else [names[k] for k in columns]
    unique = names is not None and all(names.count(name) == 1 for name in chosen) and all(chosen)
    return tuple(chosen) if unique else tuple(columns)


def _by_order(path: Path, width: int, joints: Sequence[str]) -> _Choice:
    """A table without names: time, positions, velocities and torques by their number."""
    n = len(joints)
    parts = {1 + 2 * n: (True, False), 1 + 3 * n: (True, True), 2 * n: (False, False), 3 * n: (False, True)}
    if width not in parts or not n:
        raise RecordingError(
            path,
            f"{width} columns without names do not tell what they are for {n} joints; write a header line, or an "
            "experiment by hand where each quantity has a file of its own: see docs/experiments.md",
        )
    first, moving = int(parts[width][0]), parts[width][1]
    columns = {
        "position": tuple(range(first, first + n)),
        "velocity": tuple(range(first + n, first + 2 * n)) if moving else (),
        "torque": tuple(range(width - n, width)),
        "time": tuple(range(first)),
    }
    why = "the file has no names: time, positions, velocities, torques in this order are a GUESS"
    return _Choice(tuple(joints), columns, why, in_amperes=False)
