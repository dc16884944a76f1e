"""What a log's columns or topics are, guessed from their names and numbers: for a first experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.experiment.first.bag_layout import layout_of_bag
from dynid.experiment.first.guesses import Group, Layout, position_unit, time_unit, usable_rows, with_numbers
from dynid.experiment.first.log_files import Choice, Place, quantities
from dynid.logs.readers.bags import is_bag
from dynid.logs.readers.source import Progress, RecordingError, silent
from dynid.logs.sources import UNITS
from dynid.logs.tables import read_groups
from dynid.robot.robot import Robot

AT_MOTOR = frozenset(("motor", "motors"))
"""Words in the names of what was logged on the motors' side of the gears."""


def layout_of(paths: Sequence[Path], robot: Robot, rate: float | None = None, progress: Progress = silent) -> Layout:
    """Guess what the columns or topics of a log are.

    Args:
        paths: A table, a bag, or tables of which each holds some of the quantities.
        robot: The robot.
        rate: Samples a second [Hz]; needed where there are no time stamps, which it replaces.
        progress: Is told how far a long read has come.

    Raises:
        RecordingError: If positions or torques of the robot's joints, or the rate, cannot be told.
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
        raise RecordingError(paths[0], f"{problem}; give the samples a second with --rate HZ, or a file of time stamps")
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
        unit, why = time_unit(values["time"][:, 0])
        stamps = values["time"][:, 0] * UNITS["time"][unit]
        time = _group(places["time"], unit, why + _disagreement(values, wanted))
    at_motor = bool(places["position"].words & AT_MOTOR)
    unit, seen = (
        ("rad", "the name speaks of motors, whose turns are taken as radians")
        if at_motor
        else position_unit(robot, chosen.joints, values["position"])
    )
    position = _group(places["position"], unit, f"{chosen.why}; {seen}", at_motor)
    torque = _group(
        places[drive],
        "A" if drive == "current" else "N m",
        _about(places[drive], drive, chosen.why),
        bool(places[drive].words & AT_MOTOR),
    )
    velocity = None
    if "velocity" in places and len(places["velocity"].columns) == len(chosen.joints):
        velocity = _group(places["velocity"], "deg/s" if unit == "deg" else "rad/s", "", at_motor)
    rows = usable_rows(np.column_stack([values["position"], values[drive]]), stamps)
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
        table = read_groups(path, columns, width=None if width is None else 1, progress=progress, finite=False)
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
            problem += "; files of one recording need the same number"
        raise RecordingError(place.file, problem)


def _disagreement(values: dict[str, Array], wanted: dict[str, Place]) -> str:
    """A warning where files tell different times for the same sample."""
    stamps = values["time"][:, 0]
    step = float(np.median(np.diff(stamps))) if len(stamps) > 1 else 0.0
    for role in wanted:
        if role.startswith("clock"):
            apart = float(np.nanmax(np.abs(values[role][:, 0] - stamps)))
            if apart > 0.1 * abs(step):
                name = wanted[role].file.name
                return f"; stamps of {name} differ by up to {apart:.3g}, {apart / step:.2g} steps: CHECK THIS"
    return ""


def _about(place: Place, drive: str, why: str) -> str:
    """How the unit of torques was told."""
    if not place.words:
        return why
    if place.words & {"effort", "efforts", "load"}:
        return "efforts are taken as torques of joints; where drives report currents, they need unit = 'A'"
    return f"the name speaks of {'currents' if drive == 'current' else 'torques'}"


def _group(place: Place, unit: str, why: str, at_motor: bool = False) -> Group:
    return Group(_named(place), unit, why, None, place.file, place.width is not None, at_motor)


def _named(place: Place) -> tuple[str | int, ...] | None:
    """Columns by name, or by position where there are no names or they are not unique; None for all of flat text."""
    if place.width is not None:
        return None
    names = place.names
    chosen = [] if names is None else [names[k] for k in place.columns]
    unique = names is not None and all(names.count(name) == 1 for name in chosen) and all(chosen)
    return tuple(chosen) if unique else place.columns
