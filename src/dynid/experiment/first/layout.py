"""What the columns or topics of a log are, guessed from their names and numbers."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.experiment.first.columns import Choice, Place, quantities
from dynid.experiment.first.guesses import Group, Layout, alike, position_unit, time_unit, usable_rows, with_numbers
from dynid.logs import (
    FIELDS,
    UNITS,
    Progress,
    RecordingError,
    Topic,
    is_bag,
    listed,
    read_groups,
    silent,
    topics_of,
    unit_in,
)
from dynid.robot import Robot

AT_MOTOR = frozenset(("motor", "motors"))
"""Words in the names of what was logged on the motors' side of the gears."""


def layout_of(paths: Sequence[Path], robot: Robot, rate: float | None = None, progress: Progress = silent) -> Layout:
    """Guess what the columns or topics of a log are.

    Args:
        paths: A table, a bag, or tables of which each holds some of the quantities.
        robot: The robot.
        rate: Sampling rate [Hz]; needed where there are no time stamps, which it replaces.
        progress: Callback; receives a short description of each step.

    Raises:
        RecordingError: If positions or torques of the robot's joints, or the rate, cannot be found.
    """
    joints = [joint.name for joint in robot.independent_joints if joint.kind.nq == 1]
    bags = [path for path in paths if is_bag(path)]
    if bags and len(paths) > 1:
        raise RecordingError(bags[0], "a bag holds all quantities of a log; give it alone")
    if bags and rate is not None:
        raise RecordingError(bags[0], "a bag has time stamps of its own; leave the rate out")
    if bags:
        return layout_of_bag(bags[0], robot, joints, progress)
    chosen = quantities(paths, joints, progress)
    if rate is None and "time" not in chosen.places:
        problem = "no column of time was found, and without the true rate all results would be wrong"
        raise RecordingError(paths[0], f"{problem}; give the sampling rate with --rate HZ, or a file of time stamps")
    return _read(robot, chosen, rate, progress)


def _read(robot: Robot, chosen: Choice, rate: float | None, progress: Progress) -> Layout:
    """Look at the numbers of the chosen columns."""
    places = chosen.places
    drive = "torque" if "torque" in places else "current"
    clocks = {} if rate is not None else {f"clock {k}": place for k, place in enumerate(chosen.clocks)}
    wanted = {role: places[role] for role in ("position", drive, "time") if role in places} | clocks
    if rate is not None:
        wanted.pop("time", None)
    values = _values(wanted, progress)
    time, stamps = None, None
    if "time" in wanted:
        unit, why = time_unit(values["time"][:, 0], _said(places["time"], "time", chosen.joints)[0])
        stamps = values["time"][:, 0] * UNITS["time"][unit]
        time = _group(places["time"], unit, why + _disagreement(values, wanted))
    at_motor = bool(places["position"].words & AT_MOTOR)
    says = _said(places["position"], "position", chosen.joints)
    unit, seen = (
        (says[0] or "rad", f"the name suggests motors, whose positions are taken as {says[0] or 'radians'}")
        if at_motor
        else position_unit(robot, chosen.joints, values["position"], says)
    )
    position = _group(places["position"], unit, f"{chosen.why}; {seen}", at_motor)
    torque_unit, about = _torque_unit(places[drive], drive, chosen)
    torque = _group(places[drive], torque_unit, about, bool(places[drive].words & AT_MOTOR))
    velocity = None
    if "velocity" in places and len(places["velocity"].columns) == len(chosen.joints):
        own = _said(places["velocity"], "velocity", chosen.joints)
        as_positions = [f"{each}/s" for each in ([unit] * len(own) if isinstance(unit, str) else unit)]
        units = alike([said or other for said, other in zip(own, as_positions, strict=True)])
        velocity = _group(places["velocity"], units, "", at_motor)
    rows = usable_rows(stamps)
    layout = Layout(chosen.joints, position, torque, velocity, time, stamps, len(values["position"]), rows, rate)
    return with_numbers(layout, values["position"], values[drive])


def _values(wanted: dict[str, Place], progress: Progress) -> dict[str, Array]:
    """Numbers of each quantity, each file read once."""
    files: dict[tuple[Path, int | None], list[str]] = {}
    for role, place in wanted.items():
        files.setdefault((place.file, place.width), []).append(role)
    values: dict[str, Array] = {}
    for (path, width), roles in files.items():
        columns = [wanted[role].columns if width is None else None for role in roles]
        stamps = [k for k, role in enumerate(roles) if role == "time" or role.startswith("clock")]
        options = {"progress": progress, "finite": False, "stamps": stamps}
        table = read_groups(path, columns, width=None if width is None else 1, **options)
        table.require_measured(slice(0, len(table)))
        values |= dict(zip(roles, table.groups, strict=True))
        if width is not None and len(table) % width == 0:
            values[roles[0]] = table.groups[0].reshape(-1, width)
    _check_lengths(wanted, values)
    return values


def _check_lengths(wanted: dict[str, Place], values: dict[str, Array]) -> None:
    """Refuse files of different lengths, also where one number a line was cut into samples of the wrong width."""
    reference = "time" if "time" in values else "position"
    count = len(values[reference])
    for role, place in wanted.items():
        numbers, other = values[role].size, wanted[reference].file.name
        if len(values[role]) == count and place.width in (None, values[role].shape[1]):
            continue
        if place.width is not None and reference == "time" and numbers % count == 0:
            problem = f"its {numbers} numbers are {numbers // count} for each of the {count} samples of {other}, but "
            problem += f"the robot has {place.width} joints; make the others 'fixed' in a copy of the robot's file"
        elif place.width is not None and numbers % place.width:
            problem = f"its {numbers} numbers, one a line, are not a multiple of the robot's {place.width} joints"
            problem += "; is its end cut off?"
        else:
            problem = f"it holds {len(values[role])} samples, but {other} holds {count}"
            problem += "; files of one log need the same number"
        raise RecordingError(place.file, problem)


def _disagreement(values: dict[str, Array], wanted: dict[str, Place]) -> str:
    """A warning where files have different times for the same sample."""
    stamps = values["time"][:, 0]
    step = float(np.nanmedian(np.diff(stamps))) if len(stamps) > 1 else 0.0
    for role in wanted:
        if role.startswith("clock"):
            apart = float(np.nanmax(np.abs(values[role][:, 0] - stamps)))
            if apart > 0.1 * abs(step):
                name = wanted[role].file.name
                return f"; stamps of {name} differ by up to {apart:.3g}, {apart / step:.2g} steps: CHECK THIS"
    return ""


def _said(place: Place, role: str, joints: Sequence[str]) -> list[str | None]:
    """The unit that the name of each column says, or that of a file whose columns have no names."""
    names = [] if place.names is None else [place.names[k] for k in place.columns]
    of_file = unit_in(place.file.stem, role, joints) if place.names is None and role != "time" else None
    return [unit_in(name, role, joints) for name in names] or [of_file] * len(place.columns)


def _torque_unit(place: Place, drive: str, chosen: Choice) -> tuple[str | tuple[str, ...], str]:
    """Units of torques or currents by the names of their columns, and why."""
    says, about = _said(place, "torque", chosen.joints), _about(place, drive, chosen.why)
    plain = "A" if drive == "current" else "N m"
    known = [said for said in says if said is not None]
    if not known:
        return plain, about
    return alike([said or plain for said in says]), f"the names say {', '.join(dict.fromkeys(known))}"


def _about(place: Place, drive: str, why: str) -> str:
    """How the unit of torques was found."""
    if not place.words:
        return why
    if place.words & {"effort", "efforts", "load"}:
        return "efforts are taken as torques of joints; where drives report currents, they need unit = 'A'"
    return f"the name suggests {'currents' if drive == 'current' else 'torques'}"


def _group(place: Place, unit: str | tuple[str, ...], why: str, at_motor: bool = False) -> Group:
    return Group(_named(place), unit, why, None, place.file, place.width is not None, at_motor)


def _named(place: Place) -> tuple[str | int, ...] | None:
    """Columns by name, or by position where there are no names or they are not unique; None for all of flat text."""
    if place.width is not None:
        return None
    names = place.names
    chosen = [] if names is None else [names[k] for k in place.columns]
    unique = names is not None and all(names.count(name) == 1 for name in chosen) and all(chosen)
    return tuple(chosen) if unique else place.columns


def layout_of_bag(path: Path, robot: Robot, names: Sequence[str], progress: Progress = silent) -> Layout:
    """Guess what the topics of a bag are.

    Args:
        path: The bag.
        robot: The robot.
        names: Names of the robot's joints that a log may have.
        progress: Callback; receives a short description of each step.

    Raises:
        RecordingError: If no topic, or more than one, has positions and torques of the joints.
    """
    topic = _topic(path, topics_of(path), names)
    where, effort = _field(topic, "position"), _field(topic, "torque")
    joints, columns, why = _joints_of(path, topic, where, robot, names)
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
    rows = usable_rows(stamps)
    return with_numbers(Layout(joints, position, torques, velocity, None, stamps, len(time), rows), q, torque)


def _topic(path: Path, topics: Sequence[Topic], names: Sequence[str]) -> Topic:
    """The topic that has the most of the joints."""
    candidates = [topic for topic in topics if _field(topic, "position") and _field(topic, "torque")]
    if not candidates:
        raise RecordingError(path, _nothing_fits(topics))
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


def _nothing_fits(topics: Sequence[Topic]) -> str:
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


def _joints_of(
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
