"""What a log's columns or topics are, guessed from their names and numbers: for a first experiment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.data.bag_columns import FIELDS
from dynid.data.readers.bags import Topic, is_bag, listed, topics_of
from dynid.data.readers.source import RecordingError
from dynid.data.tables import read_columns, source_of
from dynid.robot.robot import Joint, Robot

WORDS = {
    "time": ("t", "time", "stamp", "timestamp", "timestamps", "secs", "seconds", "nsecs", "clock"),
    "position": ("q", "pos", "position", "positions", "angle", "angles", "theta", "qpos"),
    "velocity": ("v", "dq", "qd", "qdot", "vel", "velocity", "velocities", "speed", "qvel"),
    "torque": ("tau", "torque", "torques", "effort", "efforts", "force", "trq", "load", "tor"),
    "current": ("i", "cur", "current", "currents", "iq", "amps"),
}
"""Words in the names of columns, by what they hold."""


@dataclass(frozen=True)
class Group:
    """One quantity in a log.

    Attributes:
        columns: Its columns, by name or position, in the order of the joints; None for all that a topic has.
        unit: Its unit, as far as numbers tell.
        why: How both were guessed.
        topic: Its topic, in a bag.
    """

    columns: tuple[str | int, ...] | None
    unit: str
    why: str
    topic: str | None = None


@dataclass(frozen=True, eq=False)
class Layout:
    """What was found in a log.

    Attributes:
        joints: Joints of the robot that the log has, in the robot's order.
        position: Where positions are.
        torque: Where torques or currents are.
        velocity: Where velocities are, if they were logged.
        time: Where time stamps are; None in bags, which have their own, and where there are none.
        stamps: Time stamps [s], shape (samples,); None where there are none.
        samples: Number of samples.
    """

    joints: tuple[str, ...]
    position: Group
    torque: Group
    velocity: Group | None
    time: Group | None
    stamps: Array | None
    samples: int


def layout_of(path: Path, robot: Robot) -> Layout:
    """Guess what the columns or topics of a log are.

    Raises:
        RecordingError: If positions or torques of the robot's joints cannot be told.
    """
    return _of_bag(path, robot) if is_bag(path) else _of_table(path, robot)


def _of_bag(path: Path, robot: Robot) -> Layout:
    topics = topics_of(path)
    names = [joint.name for joint in _measurable(robot)]
    candidates = [topic for topic in topics if _field(topic, "position") and _field(topic, "torque")]
    if not candidates:
        problems = "".join(f"{topic.problem}; " for topic in topics if topic.problem)
        raise RecordingError(path, f"no topic has positions and efforts of joints; {problems}topics: {listed(topics)}")
    shared = [len(set(names) & set(topic.keys(_field(topic, "position")))) for topic in candidates]
    best = [topic for topic, count in zip(candidates, shared, strict=True) if count == max(shared)]
    plain = [topic for topic in best if topic.kind.endswith("/JointState")] or best
    if len(plain) > 1:
        raise RecordingError(
            path,
            f"several topics have joint states ({', '.join(topic.name for topic in plain)}): two robots in one bag? "
            "Write the experiment by hand and name the topic: see docs/logs.md",
        )
    topic = plain[0]
    keys = topic.keys(_field(topic, "position"))
    if max(shared):
        joints, columns, why = tuple(name for name in names if name in keys), None, "matched by the joints' names"
    elif len(keys) == len(names):
        joints, columns, why = tuple(names), keys, "no names agree, so joints are matched by order: CHECK THIS"
    else:
        raise RecordingError(
            path, f"topic {topic.name} has {', '.join(keys[:20])}, and none is a joint of '{robot.name}'"
        )
    read = [f"{topic.name}/{_field(topic, 'position')}/{key}" for key in columns or joints]
    table = read_columns(path, columns=[f"{topic.name}/time", *read])
    unit, seen = _position_unit(robot, joints, table[:, 1:])
    position = Group(columns, unit, f"{why}; {seen}", topic.name)
    torque = Group(
        columns, "N m", "efforts of joint states are torques by convention; currents need unit = 'A'", topic.name
    )
    velocity = None
    if set(columns or joints) <= set(topic.keys(_field(topic, "velocity"))):
        velocity = Group(columns, "rad/s", "", topic.name)
    return Layout(joints, position, torque, velocity, None, table[:, 0], len(table))


def _field(topic: Topic, role: str) -> str:
    return next((name for name in FIELDS[role] if topic.keys(name)), "")


def _measurable(robot: Robot) -> list[Joint]:
    return [joint for joint in robot.independent_joints if joint.kind.nq == 1]


def _of_table(path: Path, robot: Robot) -> Layout:
    source = source_of(path)
    joints = [joint.name for joint in _measurable(robot)]
    if not source.named:
        return _by_order(path, robot, joints, len(source.names))
    names = source.names
    roles = [_role(name, joints) for name in names]
    found = {role: [k for k, own in enumerate(roles) if own == role] for role in WORDS}
    drive = "torque" if found["torque"] else "current"
    if not found["position"] or not found[drive]:
        missing = "positions" if not found["position"] else "torques or currents"
        raise RecordingError(
            path, f"no column looks like {missing} among {', '.join(names[:20])}; write the experiment by hand"
        )
    matched, why = _matched(path, names, found["position"], joints)
    own = {role: _aligned(path, names, found[role], joints, matched) for role in ("position", "velocity", drive)}
    q = read_columns(path, columns=list(own["position"]))
    unit, seen = _position_unit(robot, matched, q)
    position = Group(_named(names, own["position"]), unit, f"{why}; {seen}")
    amperes = drive == "current"
    text = "the name speaks of currents" if amperes else "the name speaks of torques"
    torque = Group(_named(names, own[drive]), "A" if amperes else "N m", text)
    velocity = None
    if len(own["velocity"]) == len(matched):
        velocity = Group(_named(names, own["velocity"]), "deg/s" if unit == "deg" else "rad/s", "")
    time, stamps = _time(path, names, found["time"])
    return Layout(matched, position, torque, velocity, time, stamps, len(q))


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


def _named(names: Sequence[str], columns: Sequence[int]) -> tuple[str | int, ...]:
    """Columns by name, or by position where names are not unique."""
    chosen = [names[k] for k in columns]
    unique = all(names.count(name) == 1 for name in chosen) and all(chosen)
    return tuple(chosen) if unique else tuple(columns)


def _by_order(path: Path, robot: Robot, joints: Sequence[str], width: int) -> Layout:
    """A table without names: time, positions, velocities and torques by their number."""
    n = len(joints)
    parts = {1 + 2 * n: (True, False), 1 + 3 * n: (True, True), 2 * n: (False, False), 3 * n: (False, True)}
    if width not in parts or not n:
        raise RecordingError(
            path, f"{width} columns without names do not tell what they are for {n} joints; write a header line"
        )
    stamped, moving = parts[width]
    first = int(stamped)
    why = "the file has no names: time, positions, velocities, torques in this order are a GUESS"
    q = read_columns(path, columns=list(range(first, first + n)))
    unit, seen = _position_unit(robot, joints, q)
    position = Group(tuple(range(first, first + n)), unit, f"{why}; {seen}")
    velocity = Group(tuple(range(first + n, first + 2 * n)), "rad/s", "") if moving else None
    torque = Group(tuple(range(width - n, width)), "N m", why)
    time, stamps = _time(path, [str(k) for k in range(width)], [0] if stamped else [], by_name=False)
    return Layout(tuple(joints), position, torque, velocity, time, stamps, len(q))


def _time(
    path: Path, names: Sequence[str], columns: Sequence[int], by_name: bool = True
) -> tuple[Group | None, Array | None]:
    """Where time is, in which unit, and the stamps [s]."""
    if not columns:
        return None, None
    stamps = read_columns(path, columns=columns[0])[:, 0]
    steps = np.diff(stamps)
    period = float(np.median(steps[steps > 0])) if np.any(steps > 0) else 1.0
    unit, size = next(
        ((unit, size) for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)) if period * size < 0.5),
        ("s", 1.0),
    )
    why = f"the median step is {period:.4g}, which makes {1.0 / (period * size):.4g} Hz in {unit}"
    column = _named(names, columns[:1]) if by_name else (columns[0],)
    return Group(column, unit, why), stamps * size


def _position_unit(robot: Robot, joints: Sequence[str], q: Array) -> tuple[str, str]:
    """Radians or degrees, by how far positions go and by the joints' limits."""
    turning = [k for k, name in enumerate(joints) if robot.joint(name).kind.value != "prismatic"]
    if not turning:
        return "m", "lengths are taken as metres"
    largest = float(np.abs(q[:, turning]).max())
    beyond = sum(_beyond(robot.joint(joints[k]), q[:, k]) for k in turning)
    if 7.0 < largest <= 720.0 and (beyond or largest > 20.0) and len(turning) == len(joints):
        return "deg", f"they reach {largest:.4g}, far beyond the limits in rad, so they are taken as degrees"
    outside = f"; {beyond} joints go beyond their limits: check" if beyond else ""
    return "rad", f"they reach {largest:.4g}, which fits radians (metres where joints slide){outside}"


def _beyond(joint: Joint, q: Array) -> bool:
    lower, upper = joint.limits.lower, joint.limits.upper
    return bool(lower < upper and (q.min() < lower - 0.05 or q.max() > upper + 0.05))
