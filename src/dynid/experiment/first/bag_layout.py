"""What the topics of a bag are for a robot, guessed from the names of joints and fields: for a first experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dynid.experiment.first.guesses import Group, Layout, position_unit, usable_rows, with_numbers
from dynid.logs.quantities import FIELDS
from dynid.logs.readers.bags import topics_of
from dynid.logs.readers.messages import Topic, listed
from dynid.logs.readers.source import Progress, RecordingError, silent
from dynid.logs.tables import read_groups
from dynid.robot.robot import Robot


def layout_of_bag(path: Path, robot: Robot, names: Sequence[str], progress: Progress = silent) -> Layout:
    """Guess what the topics of a bag are.

    Args:
        path: The bag.
        robot: The robot.
        names: Names of the robot's joints that a log may have.
        progress: Is told how far a long read has come.

    Raises:
        RecordingError: If no topic, or more than one, has positions and torques of the joints.
    """
    topic = _topic(path, topics_of(path), names)
    where, effort = _field(topic, "position"), _field(topic, "torque")
    joints, columns, why = _matched(path, topic, where, robot, names)
    keys = columns or joints
    read = [[f"{topic.name}/{field}/{key}" for key in keys] for field in (where, effort)]
    table = read_groups(path, [f"{topic.name}/time", *read], progress=progress, finite=False)
    time, q, torque = table.groups
    unit, seen = position_unit(robot, joints, q)
    position = Group(columns, unit, f"{why}; {seen}", topic.name, path)
    torques = Group(columns, "N m", _about_efforts(effort), topic.name, path)
    velocity = None
    if set(keys) <= set(topic.keys(_field(topic, "velocity"))):
        velocity = Group(columns, "rad/s", "", topic.name, path)
    stamps = time[:, 0]
    table.require_measured(slice(0, len(table)))
    rows = usable_rows(table.joined(), stamps)
    return with_numbers(Layout(joints, position, torques, velocity, None, stamps, len(time), rows), q, torque)


def _topic(path: Path, topics: Sequence[Topic], names: Sequence[str]) -> Topic:
    """The topic that has the most of the joints."""
    candidates = [topic for topic in topics if _field(topic, "position") and _field(topic, "torque")]
    if not candidates:
        raise RecordingError(path, _nothing(topics))
    shared = [len(set(names) & set(topic.keys(_field(topic, "position")))) for topic in candidates]
    best = [topic for topic, count in zip(candidates, shared, strict=True) if count == max(shared)]
    plain = [topic for topic in best if topic.kind.endswith("/JointState")] or best
    if len(plain) > 1:
        raise RecordingError(
            path,
            f"several topics have joint states ({', '.join(topic.name for topic in plain)}): two robots in one bag? "
            "Write the experiment by hand and name the topic: see docs/logs.md",
        )
    return plain[0]


def _nothing(topics: Sequence[Topic]) -> str:
    """Why no topic fits, and what to write where one has numbers of another kind."""
    problems = "".join(f"{topic.problem}; " for topic in topics if topic.problem)
    half = next((topic for topic in topics if _field(topic, "position")), None)
    if half is not None:
        problem = f"topic {half.name} has positions, but its efforts are empty: record torques or currents, too"
        return f"{problem}; {problems}topics: {listed(topics)}"
    lists = [f"{topic.name} ({', '.join(_list_fields(topic))})" for topic in topics if _list_fields(topic)]
    if not lists:
        return f"no topic has positions and efforts of joints; {problems}topics: {listed(topics)}"
    advice = 'position = { file = "...", topic = "...", field = "...", columns = ["0", "1", ...] }'
    return (
        f"no topic has positions and efforts by the names of joints; {problems}lists of numbers are on "
        f"{', '.join(lists[:10])}: write the experiment by hand, with {advice} and torque likewise"
    )


def _list_fields(topic: Topic) -> list[str]:
    return list(dict.fromkeys(field.name for field, _ in topic.columns if field.is_list))


def _field(topic: Topic, role: str) -> str:
    return next((name for name in FIELDS[role] if topic.keys(name)), "")


def _matched(
    path: Path, topic: Topic, field: str, robot: Robot, names: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...] | None, str]:
    """Joints that a topic has, what it calls them where that is not the robot's name, and how they were matched.

    Joints that come much more rarely than others, as a gripper's may, would make all others as rare: they are left out.
    """
    often, efforts = topic.keys_at_similar_rates(field), topic.keys(_field(topic, "torque"))
    keys = [key for key in often if key in efforts]
    joints = tuple(name for name in names if name in keys)
    if joints:
        rare = [name for name in names if name in topic.keys(field) and name not in keys]
        note = f" ({', '.join(rare)} left out: published rarely, or without efforts)" if rare else ""
        return joints, None, f"matched by the joints' names{note}"
    if len(keys) == len(names):
        return tuple(names), tuple(keys), "no names agree, so joints are matched by order: CHECK THIS"
    shown = ", ".join(keys[:20]) or "no joints that have efforts"
    raise RecordingError(
        path,
        f"topic {topic.name} has {shown}, and none is a joint of '{robot.name}', which has {', '.join(names[:20])}; "
        "name the topic's joints in an experiment written by hand with columns = [...]: see docs/logs.md",
    )


def _about_efforts(field: str) -> str:
    if field.startswith("output"):
        return f"'{field}' is what the controller asked for, the only efforts there are; currents need unit = 'A'"
    return "efforts of joint states are torques by convention; currents need unit = 'A'"
