"""Reading one log of any format: columns as stated, or guessed as `init` does."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dynid.errors import InvalidRequestError
from dynid.experiment.first.first_experiment import SAMPLES, FilePath, findings_on_layout, look_at
from dynid.experiment.first.guesses import Group
from dynid.experiment.first.layout import Layout
from dynid.experiment.first.questions import answers_of
from dynid.logs import (
    Log,
    LogSource,
    Progress,
    Quantity,
    RecordingError,
    files_of,
    is_capture,
    local_file,
    read_source,
    silent,
)
from dynid.logs.contacts import Stance
from dynid.logs.sources import require_single_axes
from dynid.robot import Load, Robot, as_robot
from dynid.settings import checked

Columns: TypeAlias = str | int | Sequence[str | int] | Mapping[str, Any] | Quantity
"""Columns by name, pattern ("q_*") or position, or a whole quantity: `{"file": ..., "topic": ..., "columns": ...}`."""


def read_log(
    path: FilePath | Sequence[FilePath],
    robot: Robot | FilePath | None = None,
    *,
    position: Columns | None = None,
    torque: Columns | None = None,
    velocity: Columns | None = None,
    time: Columns | None = None,
    temperature: Columns | None = None,
    position_command: Columns | None = None,
    velocity_command: Columns | None = None,
    torque_command: Columns | None = None,
    kp: Columns | float | None = None,
    kd: Columns | float | None = None,
    wrench: Columns | None = None,
    base_pose: Columns | None = None,
    stance: str | Stance | Sequence[str | Stance] | None = None,
    contacts: Mapping[str, Columns | None] | None = None,
    effort_limit: float | Sequence[float] | None = None,
    units: Mapping[str, str | Sequence[str]] | None = None,
    rate: float | None = None,
    rows: tuple[int | None, int | None] | None = None,
    seconds: tuple[float | None, float | None] | None = None,
    name: str | None = None,
    weight: float = 1.0,
    load: Load | str | None = None,
    static: bool | Literal["rows"] = False,
    progress: Progress = silent,
) -> Log:
    """Read a log (CSV, text, Parquet, NPZ, JSON, MAT, PyTorch, a ROS bag) or a capture (C3D, TRC, a table of markers).

    Without columns, they and their units are guessed from names and numbers, as `init` does; what was guessed is in the
    log's findings.

    Args:
        path: The file, or its address (`s3://bucket/run.csv`); or several, one for each quantity, whose columns are
            guessed; of a capture, markers and then what force plates measured.
        robot: The robot, whose joints the columns belong to; needed to guess columns.
        position: Columns of positions.
        torque: Columns of torques, forces or currents.
        velocity: Columns of velocities, if they were logged.
        time: Column of time stamps.
        temperature: Columns of temperatures: one for all joints, or one for each.
        position_command: Columns of commanded positions, where no torque was measured.
        velocity_command: Columns of commanded velocities.
        torque_command: Columns of torques that were added to those of the controller.
        kp: Gain of positions [N m/rad or N/m]: columns, or a number (a float) for all joints.
        kd: Gain of velocities [N m s/rad or N s/m].
        wrench: Six columns of a force-torque sensor at the wrist, or `{"columns": ..., "body": ...}` with the body of
            the robot's file whose frame it has.
        base_pose: Seven columns with the pose of a floating base: x, y, z [m] and a quaternion (x, y, z, w).
        stance: The body that rests on the ground, or several: the pose of the base follows from the joints then.
        contacts: Where surroundings act on a robot with a floating base: for each body the columns of the wrench that
            they exert on it (forces, then torques, along its axes), or None where it was not measured.
        effort_limit: Largest torque of the controller [N m or N], one for all joints or one for each.
        units: Units that are not SI units, by quantity, such as `{"position": "deg", "time": "ms"}`.
        rate: Sampling rate [Hz], where there are no time stamps.
        rows: Samples to keep, counted from 0: first and last, the last not included.
        seconds: Time stamps to keep [s]: first and last.
        name: What the log is called in reports; the name of its file when None.
        weight: Rows of this log are multiplied with it in the estimation.
        load: What the robot carried: a known `Load`, or the name of one that is to be identified.
        static: Whether the robot stands still at postures; "rows" where each row is one, which then need no time.
        progress: Callback; receives a short description of each step.

    Raises:
        RecordingError: If a file cannot be used, or its columns cannot be found.
        InvalidRequestError: If neither columns nor a robot are given, or the settings contradict each other.
    """
    files, of = _files(path, position is not None, progress), None if robot is None else as_robot(robot)
    stated: dict[str, Any] = {"position": position, "torque": torque, "velocity": velocity, "time": time}
    stated |= {"temperature": temperature, "position_command": position_command, "velocity_command": velocity_command}
    stated |= {"torque_command": torque_command, "kp": kp, "kd": kd, "wrench": wrench, "base_pose": base_pose}
    stated = {role: columns for role, columns in stated.items() if columns is not None}
    common: dict[str, Any] = {"rows": rows, "seconds": seconds, "name": name or files[0].name, "weight": weight}
    common |= {"static": static}
    if contacts is not None:
        common["contact"] = _contact_tables(contacts, files[0], units or {})
    rate = 1.0 if static == "rows" and rate is None and time is None else rate
    common |= {"effort_limit": effort_limit} if effort_limit is not None else {}
    has_rows = contacts is not None or not stated.keys().isdisjoint(("torque", "position_command", "wrench"))
    if "position" in stated and has_rows:
        quantities = {role: _quantity(files[0], columns, role, units or {}) for role, columns in stated.items()}
        source = checked(LogSource, quantities | common | {"rate": rate}, "log")
        return replace(read_source(source, of, progress), load=load, stance=stance)
    if of is not None and not stated and is_capture(*files):
        stated_unit = (units or {}).get("position")
        table = {"file": str(files[0]), "unit": stated_unit, "plates": str(files[1]) if len(files) > 1 else None}
        return replace(read_source(checked(LogSource, {"capture": table} | common, "log"), of, progress), load=load)
    if of is not None:
        require_single_axes(of)
    if stated or of is None:
        raise InvalidRequestError(
            "columns of position and of torque (or of position_command) are needed, or neither and the robot, to guess "
            "them by their names"
        )
    guessed_rows = rows is None and seconds is None and static != "rows"
    return replace(_guessed(files, of, units, rate, common, guessed_rows, progress), load=load)


def guessed_source(
    files: Sequence[Path],
    robot: Robot,
    units: Mapping[str, str | Sequence[str]] | None = None,
    rate: float | None = None,
    common: Mapping[str, Any] | None = None,
    guessed_rows: bool = False,
    progress: Progress = silent,
) -> tuple[LogSource, Layout]:
    """Where the quantities of one log are, guessed as `init` does, and what its files hold.

    Args:
        files: The files of the log.
        robot: The robot.
        units: Units that are not SI units, by quantity.
        rate: Sampling rate [Hz], where there are no time stamps.
        common: What is stated of the log besides.
        guessed_rows: Whether only the rows of the motion are kept.
        progress: Callback; receives a short description of each step.

    Raises:
        RecordingError: If a file cannot be used, or its columns cannot be found.
        InvalidRequestError: If the files are several recordings.
    """
    common = common or {"static": False}
    fewest = 1 if common["static"] == "rows" else SAMPLES
    layouts = look_at(files, robot, answers_of(robot, {}, units, None, None, rate), progress, fewest)
    layout = layouts[0]
    if len(layouts) > 1:
        raise InvalidRequestError(f"{len(files)} files are {len(layouts)} recordings; read them one by one")
    unclear = next((question for question in layout.questions if question.is_open), None)
    if unclear is not None:
        raise RecordingError(files[0], f"{unclear.finding.text} ({unclear.key}=...)")
    groups = {"position": layout.position, "torque": layout.torque, "time": layout.time}
    groups |= {"velocity": layout.velocity} if layout.commands else {}
    found = {role: _of_group(group) for role, group in groups.items() if group is not None}
    found |= {role: _of_group(one) if isinstance(one, Group) else one for role, one in layout.commands.items()}
    found |= common
    found |= {"rows": layout.rows} if guessed_rows else {}
    return checked(LogSource, found | {"rate": layout.rate}, "log"), layout


def _guessed(
    files: Sequence[Path],
    robot: Robot,
    units: Mapping[str, str | Sequence[str]] | None,
    rate: float | None,
    common: Mapping[str, Any],
    guessed_rows: bool,
    progress: Progress,
) -> Log:
    """A log whose columns are guessed, and the rows of the motion, too, where asked for."""
    source, layout = guessed_source(files, robot, units, rate, common, guessed_rows, progress)
    log = read_source(source, robot, progress)
    asked = (question.finding for question in layout.questions)
    return replace(log, findings=(*log.findings, *findings_on_layout(layout, robot), *asked))


def _files(path: FilePath | Sequence[FilePath], is_one: bool, progress: Progress) -> list[Path]:
    """The files of a log, fetched."""
    named = [path] if isinstance(path, str | os.PathLike) else path
    files = [local_file(file.name, progress) for name in named for file in files_of(name)]
    if len(files) > len(named) and is_one:
        raise InvalidRequestError(f"'{named[0]}' stands for {len(files)} logs; read them with dynid.read_logs")
    return files


def read_logs(
    path: FilePath | Sequence[FilePath], robot: Robot | FilePath | None = None, **options: Any
) -> tuple[Log, ...]:
    """Read several logs that are laid out alike, one for each file.

    Args:
        path: A pattern (`logs/*.mcap`), a folder, an address of either (`s3://bucket/*.csv`), or several of these.
        robot: The robot; see `read_log`.
        options: As those of `read_log`, for all logs.

    Raises:
        RecordingError: If a name stands for no file, a file cannot be used, or its columns cannot be found.
        InvalidRequestError: If neither columns nor a robot are given, or the settings contradict each other.
    """
    named = [path] if isinstance(path, str | os.PathLike) else path
    of = None if robot is None else as_robot(robot)
    return tuple(read_log(file.name, of, **options) for name in named for file in files_of(name))


def _quantity(file: Path, columns: Columns, role: str, units: Mapping[str, str | Sequence[str]]) -> Any:
    if isinstance(columns, Quantity | float):
        return columns
    unit = units.get(role)
    whole = {"file": str(file), "unit": unit if unit is None or isinstance(unit, str) else tuple(unit)}
    if isinstance(columns, Mapping):
        return whole | {key: os.fspath(value) if key == "file" else value for key, value in columns.items()}
    return whole | {"columns": columns if isinstance(columns, str | int) else tuple(columns)}


def _contact_tables(contacts: object, file: Path, units: Mapping[str, str | Sequence[str]]) -> tuple[Any, ...]:
    """Tables of contacts, as an experiment has them.

    Raises:
        InvalidRequestError: If they are no mapping.
    """
    if not isinstance(contacts, Mapping):
        raise InvalidRequestError(
            "contacts of a file are a mapping from bodies to the columns of their wrenches, such as "
            '{"left_foot": "L_*", "right_foot": None}'
        )
    wrenches = (
        (body, None if own is None else _quantity(file, own, "wrench", units)) for body, own in contacts.items()
    )
    return tuple({"body": body, "wrench": wrench} for body, wrench in wrenches)


def _of_group(group: Group) -> Quantity:
    return Quantity(
        file=str(group.file),
        topic=group.topic,
        field=group.field,
        columns=group.columns,
        unit=group.unit,
        flat=group.flat,
        time=group.clock,
    )
