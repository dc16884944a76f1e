"""What columns hold and which joints they belong to, told by their names: for a first experiment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from dynid.logs.readers.source import RecordingError

WORDS = {
    "time": ("t", "time", "times", "stamp", "stamps", "timestamp", "timestamps", "secs", "seconds", "nsecs", "clock"),
    "position": ("q", "pos", "position", "positions", "angle", "angles", "theta", "qpos"),
    "velocity": ("v", "dq", "qd", "qdot", "vel", "velocity", "velocities", "speed", "speeds", "qvel"),
    "torque": ("tau", "torque", "torques", "effort", "efforts", "force", "forces", "trq", "load", "tor"),
    "current": ("i", "cur", "current", "currents", "iq", "amps"),
}
"""Words in the names of columns and files, by what they hold."""

ASKED = frozenset(
    ("des", "desired", "cmd", "command", "commanded", "ref", "reference", "target", "goal", "set", "error", "err")
)
"""Words in the names of columns that were not measured."""


def role_of(name: str, joints: Sequence[str]) -> str:
    """What a column or file holds, by the words of its name that are none of a joint's name; nothing if none tells."""
    words = words_of(name, joints)
    return next((role for role, known in WORDS.items() if any(word in known for word in words)), "")


def words_of(name: str, joints: Sequence[str]) -> list[str]:
    """The words of a column's or file's name, in small letters, without the names of joints."""
    text = name.lower()
    for joint in sorted(joints, key=len, reverse=True):
        text = text.replace(joint.lower(), " ")
    return re.findall(r"[a-z]+", re.sub(r"\[\d+\]", " ", text))


def measured(names: Sequence[str], columns: list[int]) -> list[int]:
    """Columns without those that were asked for instead of measured, where there are others."""
    return [k for k in columns if not set(re.findall(r"[a-z]+", names[k].lower())) & ASKED] or columns


def matched(
    path: Path, names: Sequence[str] | None, columns: Sequence[int], joints: Sequence[str]
) -> tuple[tuple[str, ...], str]:
    """Joints that columns of positions belong to, in the robot's order, and how that was told.

    Args:
        path: The file.
        names: Names of all its columns; None where it has none.
        columns: Columns of positions.
        joints: The robot's joints.

    Raises:
        RecordingError: If neither names nor numbers tell.
    """
    if names is not None:
        by_name = tuple(joint for joint in joints if any(_speaks_of(names[k], joint, joints) for k in columns))
        if len(by_name) == len(columns):
            return by_name, "matched by the joints' names"
    if len(columns) == len(joints):
        return tuple(joints), "matched by order: CHECK THIS"
    shown = f" ({', '.join(names[k] for k in columns[:12])})" if names is not None else ""
    raise RecordingError(
        path,
        f"{len(columns)} columns look like positions{shown}, and the robot has {len(joints)} joints "
        f"{'with other names ' if names is not None else ''}({', '.join(joints[:12])}); lock joints or name columns in "
        "an experiment written by hand",
    )


def aligned(
    path: Path, names: Sequence[str] | None, columns: Sequence[int], joints: Sequence[str], own: Sequence[str]
) -> tuple[int, ...]:
    """Columns of one quantity in the order of the log's own joints.

    Raises:
        RecordingError: If there are not as many as joints.
    """
    if names is not None:
        by_name = [next((k for k in columns if _speaks_of(names[k], joint, joints)), None) for joint in own]
        if all(k is not None for k in by_name):
            return tuple(k for k in by_name if k is not None)
    if len(columns) not in (0, len(own)):
        shown = f" ({', '.join(names[k] for k in columns[:12])})" if names is not None else ""
        raise RecordingError(path, f"{len(columns)} columns{shown} do not fit the {len(own)} joints of the log")
    return tuple(columns)


def _speaks_of(name: str, joint: str, joints: Sequence[str]) -> bool:
    """Whether a column's name holds a joint's name, and no longer one of another joint around it."""
    text, own = name.lower(), joint.lower()
    longer = (other.lower() for other in joints if own in other.lower() and other != joint)
    return bool(re.search(rf"(?<![a-z0-9]){re.escape(own)}(?![0-9])", text)) and not any(
        other in text for other in longer
    )
