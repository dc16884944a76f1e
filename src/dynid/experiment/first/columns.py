"""Which file and which columns hold each quantity of a log, and which joints they belong to, by their names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.logs import Progress, RecordingError, Source, joint_of, joint_order, read_columns, source_of, speaks_of

ADVICE = (
    "call files by what they hold, such as position.csv, velocity.csv, torque.csv, current.csv and time.csv, or write "
    "names such as q_1, tau_1 and t into their first lines"
)


@dataclass(frozen=True)
class Place:
    """Where a quantity is.

    Attributes:
        file: The file.
        columns: Positions of its columns, in the order of the joints.
        names: Names of all columns of the file; None where it has none.
        width: For flat text of one number a line, how many make a sample.
        words: Words in the names of the file and of the columns.
    """

    file: Path
    columns: tuple[int, ...]
    names: tuple[str, ...] | None
    width: int | None = None
    words: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Choice:
    """Where all quantities of a log are.

    Attributes:
        joints: Joints that the log has, in the robot's order.
        places: Places of "position", "torque" or "current", perhaps "velocity" and perhaps "time".
        why: How joints were matched.
        clocks: Other columns of time, which should agree.
    """

    joints: tuple[str, ...]
    places: dict[str, Place]
    why: str
    clocks: tuple[Place, ...] = ()


def quantities(paths: Sequence[Path], joints: Sequence[str], progress: Progress) -> Choice:
    """Find out what is where by the names of columns and files.

    Raises:
        RecordingError: If positions or torques are not found, are found twice, or do not fit the robot's joints.
    """
    found: dict[str, list[Place]] = {role: [] for role in WORDS}
    for path in dict.fromkeys(paths):
        source = source_of(path, progress=progress)
        if not source.named and len(paths) == 1:
            return _by_order(path, len(source.names), joints)
        for role, place in _in_file(path, source, joints, alone=len(paths) == 1).items():
            found[role].append(place)
    drive = "torque" if found["torque"] else "current"
    _require_one(paths, found, drive)
    position = found["position"][0]
    own, why = matched(position.file, position.names, position.columns, joints)
    places = {role: _in_order(found[role][0], joints, own) for role in ("position", "velocity", drive) if found[role]}
    first, *others = sorted(found["time"], key=lambda place: _preference(place, position)) or [None]
    if first is not None:
        places["time"] = first
    used = {place.file for place in places.values()}
    return Choice(own, places, why, tuple(place for place in others if place is not None and place.file in used))


def _preference(time: Place, position: Place) -> int:
    """A file of its own is best for time, then that of positions."""
    return 0 if time.names is None or len(time.names) == 1 else 1 if time.file == position.file else 2


def _require_one(paths: Sequence[Path], found: dict[str, list[Place]], drive: str) -> None:
    for role, said in (("position", "positions"), (drive, "torques or currents"), ("velocity", "velocities")):
        places = found[role]
        if len(places) > 1:
            both = " and ".join(place.file.name for place in places[:3])
            problem = f"{said} are in {both}, but a log has them in one file"
            raise RecordingError(
                places[1].file, f"{problem}; of several logs give one, and add others as further [[log]] tables"
            )
        if not places and role != "velocity":
            if len(paths) > 1:
                problem = f"no file looks like {said} among {', '.join(path.name for path in paths)}"
                raise RecordingError(paths[0], f"{problem}; {ADVICE}")
            shown = ", ".join(source_of(paths[0]).names[:20])
            problem = f"no column looks like {said} among {shown}"
            raise RecordingError(
                paths[0], f"{problem}; if they are in another file, give it, too, or write the experiment by hand"
            )


def _in_order(place: Place, joints: Sequence[str], own: Sequence[str]) -> Place:
    columns = aligned(place.file, place.names, place.columns, joints, own)
    return Place(place.file, columns, place.names, place.width, place.words)


def _in_file(path: Path, source: Source, joints: Sequence[str], *, alone: bool) -> dict[str, Place]:
    """What a file holds, by the names of its columns, and where these say nothing, by its own."""
    of_file = "" if alone else role_of(path.stem, joints)
    if not source.named:
        return _unnamed(path, len(source.names), of_file, joints)
    roles = [role_of(name, joints) for name in source.names]
    known = set(roles) - {"", "time"}
    if of_file and len(known) <= 1:  # columns that are called q in a file of torques are torques
        roles = [
            "time" if role == "time" else of_file if name else ""
            for role, name in zip(roles, source.names, strict=True)
        ]
    elif not known and "time" not in roles and not alone:
        raise RecordingError(path, f"neither its name nor those of its columns say what it holds; {ADVICE}")
    found: dict[str, Place] = {}
    for role in WORDS:
        columns = measured(source.names, [k for k, own in enumerate(roles) if own == role])
        if columns:
            columns = columns[:1] if role == "time" else columns
            named = (path.stem, *(source.names[k] for k in columns))
            words = {word for name in named for word in words_of(name, joints)}
            found[role] = Place(path, tuple(columns), source.names, None, frozenset(words))
    return found


def _unnamed(path: Path, width: int, of_file: str, joints: Sequence[str]) -> dict[str, Place]:
    """A file without names of columns: one column of time, one per joint, or one number per line."""
    words, n = frozenset(words_of(path.stem, joints)), len(joints)
    if not of_file:
        raise RecordingError(path, f"nothing says what it holds; {ADVICE}")
    if of_file == "time":
        return {"time": Place(path, (0,), None, None, words)}
    if width == 1 and n > 1:
        return {of_file: Place(path, tuple(range(n)), None, n, words)}
    if width == n + 1 and bool(np.all(np.diff(read_columns(path, columns=0)[:, 0]) > 0)):
        time = Place(path, (0,), None, None, words)
        return {"time": time, of_file: Place(path, tuple(range(1, width)), None, None, words)}
    return {of_file: Place(path, tuple(range(width)), None, None, words)}


def _by_order(path: Path, width: int, joints: Sequence[str]) -> Choice:
    """A table without names: time, positions, velocities and torques by their number."""
    n = len(joints)
    parts = {1 + 2 * n: (True, False), 1 + 3 * n: (True, True), 2 * n: (False, False), 3 * n: (False, True)}
    if width not in parts or not n:
        raise RecordingError(
            path,
            f"{width} columns without names do not show what they are for {n} joints; write a header line, or give one "
            "file for each quantity, such as position.csv and torque.csv",
        )
    first, moving = int(parts[width][0]), parts[width][1]
    columns = {"position": range(first, first + n), "torque": range(width - n, width)}
    columns |= {"velocity": range(first + n, first + 2 * n)} if moving else {}
    columns |= {"time": range(1)} if first else {}
    why = "the file has no names: time, positions, velocities, torques in this order are a GUESS"
    return Choice(tuple(joints), {role: Place(path, tuple(own), None) for role, own in columns.items()}, why)


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
    """What a column or file holds, by the words of its name that are none of a joint's name; nothing if none fits."""
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
    """Joints that columns of positions belong to, in the robot's order, and how they were matched.

    Args:
        path: The file.
        names: Names of all its columns; None where it has none.
        columns: Columns of positions.
        joints: The robot's joints.

    Raises:
        RecordingError: If neither names nor numbers fit.
    """
    if names is not None:
        by_name = tuple(joint for joint in joints if any(speaks_of(names[k], joint, joints) for k in columns))
        if len(by_name) == len(columns):
            return by_name, "matched by the joints' names"
        chosen = [names[k] for k in columns]
        if joint_order(chosen, joints) is not None:
            by = "names" if joint_of(chosen[0], joints) is not None else "numbers"
            return tuple(joints), f"matched by {by}"
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
        by_name = [next((k for k in columns if speaks_of(names[k], joint, joints)), None) for joint in own]
        if all(k is not None for k in by_name):
            return tuple(k for k in by_name if k is not None)
        order = joint_order([names[k] for k in columns], own)
        if order is not None:
            return tuple(columns[k] for k in order)
    if len(columns) not in (0, len(own)):
        shown = f" ({', '.join(names[k] for k in columns[:12])})" if names is not None else ""
        found = "1 column" if len(columns) == 1 else f"{len(columns)} columns"
        raise RecordingError(path, f"{found}{shown} for the {len(own)} joints of the log; log one for each joint")
    return tuple(columns)
