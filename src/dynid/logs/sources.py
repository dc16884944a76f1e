"""Reading a log: each of its files once, and only the columns that are needed, in SI units."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.findings import Finding
from dynid.logs.clock_joining import joined_on_time
from dynid.logs.coarse_clock import with_advancing_time
from dynid.logs.column_order import findings_on_order
from dynid.logs.contacts import CONTACT, FORCES
from dynid.logs.fetched_files import is_url, local_file
from dynid.logs.log import POSE_COLUMNS, WRENCH_COLUMNS, Log, of_gaps
from dynid.logs.missing_cells import filled_stamps, held
from dynid.logs.quantities import is_on_topic_of, quantities_of
from dynid.logs.readers.bags import is_bag
from dynid.logs.readers.source import Progress, silent
from dynid.logs.readers.stamps import EPOCH
from dynid.logs.settings import COMMANDS, Drive, LogSource, Processing, Quantity
from dynid.logs.stored_log import StoredLog
from dynid.logs.tables import RecordingError, Table, read_groups, states_order
from dynid.logs.time_units import speed_of
from dynid.logs.timing import check_time, findings_on_time, require_order
from dynid.logs.units import LoggedColumns, in_si, is_current, kind_of, unit_in
from dynid.robot import JointKind, Limits, Robot


@overload
def read_source(
    source: LogSource,
    robot: Robot | None = None,
    progress: Progress = silent,
    *,
    drive: Drive | None = None,
    allow_resets: bool = False,
    may_store: Literal[False] = False,
) -> Log: ...
@overload
def read_source(
    source: LogSource,
    robot: Robot,
    progress: Progress = silent,
    *,
    drive: Drive | None = None,
    processing: Processing | None = None,
    may_store: Literal[True],
) -> Log | StoredLog: ...
def read_source(
    source: LogSource,
    robot: Robot | None = None,
    progress: Progress = silent,
    *,
    drive: Drive | None = None,
    allow_resets: bool = False,
    processing: Processing | None = None,
    may_store: bool = False,
) -> Log | StoredLog:
    """Read a log; each file is read once, and only the columns that are needed.

    Args:
        source: Where the quantities are, and which part to read.
        robot: The robot, whose joints the columns must fit; flat text and topics of bags need it.
        progress: Callback; receives a short description of each step.
        drive: The drives, which must fit the unit of torques.
        allow_resets: Whether time may go backwards or repeat, for `split_at_resets`.
        processing: What was stated about processing, for `mended`; only with `may_store`.
        may_store: Whether a log that is long (`LONG_LOG`) may stay on disk, mended.

    Returns:
        The log, with findings on its time stamps and units. A `StoredLog` where it is long and may be one; its samples
        are those of the log in memory after `mended`.

    Raises:
        RecordingError: If a file cannot be used, files have different lengths, or nothing remains of a cut.
        InvalidRequestError: If there are not as many columns as joints, or the unit of torques does not fit the drives.
        UnknownNameError: If there is no such unit.
    """
    source = with_local_files(source, progress)
    if source.capture is not None:
        from dynid.logs.captures.captured_log import log_of_source

        return log_of_source(source, robot, progress)
    try:
        where = quantities_of(source, robot)
        if drive is not None and source.torque is not None and source.torque.unit is not None:
            _check_unit(source.torque, _as_tuple(source.torque.unit), drive)
        if may_store and robot is not None and not allow_resets and not (source.position_command or source.contact):
            from dynid.logs.long_logs import long_log

            return long_log(source, where, robot, drive, processing, progress)
        return log_of(source, where, read_each_file_once(where, robot, progress), robot, drive, allow_resets)
    except MemoryError as error:
        problem = "there is not enough memory for the log; name fewer columns, or cut it into several logs"
        raise RecordingError(source.position.path, problem) from error


def with_local_files(source: LogSource, progress: Progress = silent) -> LogSource:
    """Where a log is, once files at addresses such as `s3://bucket/run.csv` are fetched.

    Raises:
        RecordingError: If one cannot be fetched.
    """
    if not any(is_url(part.file) for part in source.quantities):
        return source
    return source.with_files(lambda name: str(local_file(name, progress)) if is_url(name) else name)


def require_single_axes(robot: Robot) -> None:
    """Refuse a robot whose logs cannot be read."""
    names = ["base" if robot.has_floating_base and joint.number == 0 else joint.name for joint in robot.joints]
    free = [name for name, joint in zip(names, robot.joints, strict=True) if joint.kind.nq > 1]
    if free:
        what = "a floating base" if free == ["base"] else f"joints of several degrees of freedom ({', '.join(free)})"
        listed = ", ".join(f'"{name}"' for name in free)
        raise InvalidRequestError(
            f"'{robot.name}' has {what}, whose columns are not guessed; name the columns of the log, or, where it was "
            f"held still, write 'lock = [{listed}]' in the experiment, above its tables, or "
            f"load_robot(..., lock=[{listed}]) in Python"
        )


Tables = Mapping[str, tuple[Table, int]]
"""The table of each quantity, and which of its groups it is."""

Decided = tuple[Tables, dict[str, tuple[str, ...]], tuple[Finding, ...]]


def decided(
    source: LogSource, where: Mapping[str, Quantity], tables: Tables, robot: Robot | None, drive: Drive | None
) -> Decided:
    """What is known of a log by the names and numbers of its columns.

    Returns:
        The tables, joined on time where that is stated; the units of each quantity's columns; and what was noticed.
    """
    units, notes = _units(where, tables, robot, drive)
    tables = joined_on_time(where, tables, units)
    _check_lengths(where, tables)
    if drive is not None and source.torque is not None:
        _check_unit(source.torque, units["torque"], drive)
    _check_widths(where, units, tables)
    return tables, units, notes + _on_order(where, tables, robot)


def log_of(
    source: LogSource,
    where: Mapping[str, Quantity],
    tables: Tables,
    robot: Robot | None,
    drive: Drive | None,
    allow_resets: bool = False,
) -> Log:
    """The log of tables in memory."""
    tables, units, notes = decided(source, where, tables, robot, drive)
    values = {role: in_si(kind_of(role), table.groups[group], units[role]) for role, (table, group) in tables.items()}
    count, time = len(values["position"]), where.get("time")
    for role in values.keys() & {"kp", "kd"}:
        values[role] = np.broadcast_to(values[role], values["position"].shape)
    values |= {role: held(values[role]) for role in COMMANDS if role in values}
    stamps, origin = np.arange(count) / (source.rate or 1.0), 0.0
    if time is not None:
        stamps, origin = _stamps(values["time"], *tables["time"], units["time"])
    files = tuple(dict.fromkeys(quantity.path for quantity in where.values()))
    part = part_of(source, count, lambda: [(0, filled_stamps(stamps))], files, origin)
    notes += undamaged(tables, part)
    log, first = _filled(source, values, stamps, part, tables)
    names = tables["position"][0].names[tables["position"][1]]
    if robot is not None:
        check_robot(where, log.position.shape[1], robot)
    notes += in_degrees(where, units, names, log.position.min(axis=0), log.position.max(axis=0), robot)
    if time is not None and len(log) > 1:
        row = tables["time"][0].first_row + first
        if not allow_resets:
            log = with_advancing_time(log)
            require_order(check_time(log.time, first_row=row), time.path)
        at_joints = drive is None or drive.positions == "joint"
        notes += tuple(findings_on_time(check_time(log.time, first_row=row), speed_of(log) if at_joints else math.nan))
    return replace(log, findings=(*notes, *log.findings))


def undamaged(tables: Tables, part: slice) -> tuple[Finding, ...]:
    """What was noticed while tables were read; samples of a part that are damaged are refused."""
    notes: tuple[Finding, ...] = ()
    for table in {id(table): table for table, _ in tables.values()}.values():
        table.require_undamaged(part)
        notes += table.notes
    return notes


def _filled(
    source: LogSource, values: Mapping[str, Array], stamps: Array, part: slice, tables: Mapping[str, tuple[Table, int]]
) -> tuple[Log, int]:
    """A part of what was read, without missing cells, and the first sample that it has."""
    for role in ("time", "position", "torque", *COMMANDS):
        if role in tables:
            whole = slice(0, len(stamps))  # commands are held from before a cut
            tables[role][0].require_measured(whole if role in COMMANDS else part, tables[role][1])
    names = {role: table.names[group] for role, (table, group) in tables.items()}
    signals = {role: _owned(array[part], array) for role, array in values.items() if role != "time"}
    gains = {role: _gain(source, role, signals) for role in ("kp", "kd")}
    if source.torque is None and source.position_command is not None and gains["kp"] is None:
        raise InvalidRequestError(
            f"{source.position_command.file} has commands, and no gain 'kp' of their controller is stated; give it in "
            "[control] (kp = 20.0, kd = 0.5), or as columns of the log"
        )
    files = tuple(dict.fromkeys(table.path for table, _ in tables.values()))
    log, rows = of_gaps(
        _owned(stamps[part], stamps),
        {role: array for role, array in signals.items() if role not in gains},
        names,
        **gains,
        contacts_with=source.contacts_with,
        stance=source.standing,
        effort_limit=_limit(source),
        back_emf=None if source.back_emf is None else np.asarray(source.back_emf, dtype=float),
        command_delay=source.command_delay,
        law=source.law,
        name=source.name or "",
        weight=source.weight,
        load=source.carried,
        wrench_body=None if source.wrench is None else source.wrench.body,
        static=source.static,
        source=files,
        first_stamp=float(stamps[np.isfinite(stamps)][0]),
    )
    return log, part.start + (0 if rows is None else int(rows[0]))


def _limit(source: LogSource) -> Any:
    """Largest torques of the control law; of servos they have the scales of the gains."""
    if source.effort_limit is None:
        return None
    scales = 1.0 if source.gain_scales is None or source.back_emf is None else np.array(source.gain_scales)
    return np.asarray(source.effort_limit, dtype=float) * scales


def _gain(source: LogSource, role: str, values: Mapping[str, Array]) -> Any:
    """A gain of the control law, as a log takes it: one number, one for each joint, or a column for each."""
    stated, scales = getattr(source, role), 1.0 if source.gain_scales is None else np.array(source.gain_scales)
    if role in values:
        return values[role] * scales
    return None if stated is None else np.asarray(stated, dtype=float) * scales


def _stamps(values: Array, table: Table, group: int, units: tuple[str, ...]) -> tuple[Array, float]:
    """Stamps [s] of a column, or the sum of several such as dates and times of day, and what was taken off them."""
    origin = origin_of(table, group, units)
    if values.shape[1] == 1:
        return values[:, 0], origin
    stamps = values.sum(axis=1)
    known = stamps[np.isfinite(stamps)]
    first = float(known[0]) if origin and len(known) else 0.0
    return stamps - first, origin + first


def origin_of(table: Table, group: int, units: tuple[str, ...]) -> float:
    """What was taken off the stamps of a table [s]."""
    return float(in_si("time", np.array([table.origins.get(group, (0.0,))]), units).sum())


def _as_tuple(unit: str | tuple[str, ...]) -> tuple[str, ...]:
    return unit if isinstance(unit, tuple) else (unit,)


def _check_unit(torque: Quantity, units: tuple[str, ...], drive: Drive) -> None:
    """Refuse currents without torque constants, and torque constants without currents."""
    if any(map(is_current, units)) != (drive.torque_constants is not None):
        needed = "currents need drive.torque_constants"
        wrong = needed if drive.torque_constants is None else "drive.torque_constants are for currents"
        how = "" if torque.unit is not None else ", by the names of its columns; state another unit if that is wrong"
        raise InvalidRequestError(
            f"{wrong}: the unit of torque is '{', '.join(dict.fromkeys(units))}' in {torque.file}{how}"
        )


def read_each_file_once(
    where: Mapping[str, Quantity], robot: Robot | None, progress: Progress, read: Callable[..., Any] | None = None
) -> dict[str, tuple[Any, int]]:
    """For each quantity, the table of its file and which of the table's groups it is; read by `read_groups`."""
    files: dict[tuple[Path, int | None, bool], list[str]] = {}
    for role, quantity in where.items():
        # Topics of a bag share the time stamps of the slowest, which should not be that of temperatures.
        apart = role == "temperature" and not is_on_topic_of(quantity, where["position"])
        files.setdefault((quantity.path, _width(role, quantity, robot), apart), []).append(role)
    tables: dict[str, tuple[Any, int]] = {}
    for (path, width, _), roles in files.items():
        groups = [where[role].columns for role in roles]
        joints = [] if robot is None else [joint.name for joint in robot.logged_joints]
        stamps = [k for k, role in enumerate(roles) if role == "time"]
        options = {"progress": progress, "finite": False, "damaged": True, "joints": joints, "stamps": stamps}
        if held := [k for k, role in enumerate(roles) if role in COMMANDS]:
            options["commands"] = held
        table = (read or read_groups)(path, groups, width=width, **options)
        tables |= {role: (table, k) for k, role in enumerate(roles)}
    return tables


def _width(role: str, quantity: Quantity, robot: Robot | None) -> int | None:
    """For flat text, how many numbers make a sample."""
    if not quantity.flat:
        return None
    if role == "time":
        return 1
    if robot is None:
        raise InvalidRequestError(f"{quantity.file} is flat text, which needs the robot: its joints make a sample")
    return sum(joint.kind.nq for joint in robot.logged_joints)


def _check_lengths(where: Mapping[str, Quantity], tables: Mapping[str, tuple[Table, int]]) -> None:
    first = tables["position"][0]
    count = len(first)
    for role, (other, _) in tables.items():
        if len(other) != count:
            what = "temperatures" if role == "temperature" else "samples"
            problem = f"it holds {len(other)} {what}, but {first.path} holds {count} samples"
            raise RecordingError(where[role].file, f"{problem}; files of one log need the same number")


def _units(
    where: Mapping[str, Quantity],
    tables: Mapping[str, tuple[Table, int]],
    robot: Robot | None,
    drive: Drive | None,
) -> tuple[dict[str, tuple[str, ...]], tuple[Finding, ...]]:
    """The units of each quantity's columns, as stated or by their names, and what was noticed."""
    joints = () if robot is None else robot.logged_joints
    names = tuple(joint.name for joint in joints)
    files = [quantity.path for role, quantity in where.items() if role != "time"]
    found: dict[str, tuple[str, ...]] = {}
    notes: list[Finding] = []
    for role, quantity in where.items():
        table, group = tables[role]
        columns = table.names[group]
        says: tuple[str | None, ...] = (None,) * len(columns)
        if not is_bag(quantity.path):  # messages are in SI units, and topics have names of any kind
            alone = files.count(quantity.path) == 1 and role != "time"
            kind = kind_of(role)
            of_file = unit_in(quantity.path.stem, kind, names) if alone else None
            says = tuple(unit_in(column, kind, names) or of_file for column in columns)
        side = "joint" if drive is None else drive.torques if role == "torque" else drive.positions
        sliding = None
        if len(joints) == len(columns) and side == "joint":
            sliding = tuple(joint.kind is JointKind.PRISMATIC for joint in joints)
        found[role], more = LoggedColumns(kind_of(role), quantity, columns, says, names, sliding).units()
        notes += more
    return found, tuple(notes)


def _on_order(
    where: Mapping[str, Quantity], tables: Mapping[str, tuple[Table, int]], robot: Robot | None
) -> tuple[Finding, ...]:
    """What the names of columns say of the joints that they belong to."""
    joints = [] if robot is None else [joint.name for joint in robot.logged_joints]
    notes: tuple[Finding, ...] = ()
    for role, (table, group) in tables.items():
        if kind_of(role) not in ("time", "wrench", "base_pose") and not where[role].flat:
            is_stated = states_order(where[role].columns)
            notes += findings_on_order(role, table.names[group], table.places[group], joints, is_stated)
    return notes


def _are_parts(time: Quantity, units: tuple[str, ...], place: tuple[Table, int]) -> bool:
    """Whether columns of time, named one by one, are parts of stamps: a date and a clock, or in different units."""
    origins = place[0].origins.get(place[1], ())
    return states_order(time.columns) and (len(set(units)) > 1 or len({bool(origin) for origin in origins}) > 1)


def _check_widths(where: Mapping[str, Quantity], units: Mapping[str, tuple[str, ...]], tables: Tables) -> None:
    widths = {role: table.groups[group].shape[1] for role, (table, group) in tables.items()}
    n = widths["position"]
    for role, width in widths.items():
        if role == "temperature" and width not in (1, n):
            problem = f"it has {width} columns of temperatures, but positions have {n}"
            raise RecordingError(where[role].file, f"{problem}; name one column for all joints, or one for each")
        if role == "wrench" and width == WRENCH_COLUMNS:
            continue
        if role == "base_pose" or role.startswith(CONTACT):
            _check_floating(role, width, where[role])
            continue
        if role == "wrench":
            problem = f"{width} columns of wrench are chosen, and a force-torque sensor has {WRENCH_COLUMNS}"
            raise RecordingError(where[role].file, f"{problem}: three forces, then three torques")
        if role in ("kp", "kd") and width == 1:  # one gain for all joints
            continue
        one = role == "time" and not _are_parts(where[role], units[role], tables[role])
        if width != (1 if one else n) and role != "temperature" and (one or role != "time"):
            reason = "there is one" if role == "time" else f"positions have {n} ({where['position'].file})"
            problem = f"{width} columns of {role} are chosen, but {reason}"
            raise RecordingError(where[role].file, f"{problem}; choose columns by name, pattern or position")


def _check_floating(role: str, width: int, quantity: Quantity) -> None:
    """Refuse other numbers of columns than a pose or the wrench of a contact has."""
    if role == "base_pose" and width != POSE_COLUMNS:
        problem = f"{width} columns of base_pose are chosen, and a pose has {POSE_COLUMNS}: x, y, z and a quaternion"
        raise RecordingError(quantity.file, f"{problem} as x, y, z, w")
    if role != "base_pose" and width not in (FORCES, WRENCH_COLUMNS):
        problem = f"{width} columns are chosen for the wrench of a contact, and it has {WRENCH_COLUMNS}"
        raise RecordingError(quantity.file, f"{problem}: three forces, then three torques (or {FORCES} forces alone)")


def check_robot(where: Mapping[str, Quantity], found: int, robot: Robot) -> None:
    """Refuse other numbers of columns of positions than the robot has joints."""
    wanted = sum(joint.kind.nq for joint in robot.logged_joints)
    if found != wanted:
        joints = ", ".join(joint.name for joint in robot.logged_joints)
        is_plain = wanted == len(robot.logged_joints)
        numbers = f"{wanted} joints" if is_plain else f"joints with {wanted} positions"
        of_balls = ", and four, a quaternion x, y, z, w, for a spherical joint (or lock it where it was held)"
        how = "" if is_plain else of_balls
        raise InvalidRequestError(
            f"{where['position'].file} has {found} columns of positions, and '{robot.name}' has {numbers}; "
            f"name one column each for {joints}{how}"
        )


def part_of(
    source: LogSource,
    count: int,
    blocks: Callable[[], Iterable[tuple[int, Array]]],
    files: tuple[Path, ...],
    origin: float,
) -> slice:
    """The samples of a cut, as a slice with both ends; seconds are since the first stamp, or since 1970.

    Args:
        source: It states the cut.
        count: How many samples there are.
        blocks: Goes through their stamps [s] in blocks: the first sample of each, and its stamps.
        files: The files of the log.
        origin: What was taken off the stamps [s].
    """
    if source.rows is not None:
        first, last = source.rows[0] or 0, count if source.rows[1] is None else source.rows[1]
        if not 0 <= first < last <= count:
            problem = f"rows {first} to {last} are no segment of {count} samples"
            raise RecordingError(files[0], f"{problem}; count from 0, the last is not included")
        return slice(first, last)
    if source.seconds is None:
        return slice(0, count)
    start, end = (-math.inf if source.seconds[0] is None else source.seconds[0]), source.seconds[1]
    end = math.inf if end is None else end
    if origin:
        start, end = (x - origin if abs(x) >= EPOCH and math.isfinite(x) else x for x in (start, end))
    ends, inside = [], []  # the first and the last of all stamps, and of the samples between start and end
    for before, stamps in blocks():
        known = np.flatnonzero(np.isfinite(stamps))
        if len(known):
            if not np.all(np.diff(stamps[known]) >= 0) or (ends and stamps[known[0]] < ends[-1]):
                raise RecordingError(files[-1], "time goes backwards, so cut segments by rows instead of seconds")
            own = before + known[(stamps[known] >= start) & (stamps[known] < end)]
            ends = [ends[0] if ends else float(stamps[known[0]]), float(stamps[known[-1]])]
            inside = [inside[0] if inside else int(own[0]), int(own[-1])] if len(own) else inside
    if not inside:
        problem = f"no samples lie between {start:g} s and {end:g} s"
        between = f"time goes from {ends[0]:.6g} s to {ends[1]:.6g} s" if ends else "no stamps"
        raise RecordingError(files[-1], f"{problem}; {between}")
    return slice(inside[0], inside[1] + 1)


def _owned(values: Array, whole: Array) -> Array:
    """Some samples, without holding on to others that were read with them."""
    return values.copy() if values.base is not None and len(values) < len(whole) else values


def in_degrees(
    where: Mapping[str, Quantity],
    units: Mapping[str, tuple[str, ...]],
    names: tuple[str, ...],
    smallest: Array,
    largest: Array,
    robot: Robot | None,
) -> tuple[Finding, ...]:
    """A warning where positions declared in rad are as large as degrees are, yet stay within what degrees can be.

    They sweep eight revolutions or more; or most joints are far beyond their limits, but not in degrees.

    Args:
        where: Where each quantity is.
        units: Units of each quantity's columns.
        names: Names of the columns of positions.
        smallest: The smallest position of each, shape (joints,).
        largest: The largest.
        robot: The robot, whose limits positions may be beyond.
    """
    limits = [] if robot is None else [joint.limits for joint in robot.logged_joints]
    swept = largest - smallest
    turning = [k for k, unit in enumerate(units["position"]) if unit == "rad" and max(-smallest[k], largest[k]) <= 400]
    likely = [k for k in turning if swept[k] > 50]
    if limits:
        beyond = [k for k in turning if _only_in_degrees(limits[k], float(smallest[k]), float(largest[k]))]
        likely = likely or (beyond if 2 * len(beyond) > len(turning) else [])
    if not likely:
        return ()
    widest = max(likely, key=lambda k: swept[k])
    turns = float(swept[widest]) / (2 * math.pi)
    column, file = names[widest], where["position"].file
    return (
        Finding.of("positions-in-degrees", "positions", column=column, file=file, swept=swept[widest], turns=turns),
    )


def _only_in_degrees(limits: Limits, smallest: float, largest: float) -> bool:
    """Whether positions in rad are far beyond a joint's limits, and in degrees within them."""
    lower, upper = limits.lower, limits.upper
    if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
        return False
    is_beyond = smallest < 2.0 * lower - 1.0 or largest > 2.0 * upper + 1.0
    return is_beyond and lower - 0.05 <= math.radians(smallest) and math.radians(largest) <= upper + 0.05
