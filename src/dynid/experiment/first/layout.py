"""What the columns or topics of one recording are, with what their numbers show: units, clocks, samples of use."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.experiment.first import guesses
from dynid.experiment.first.candidate import Candidate
from dynid.experiment.first.columns import Choice, quantities
from dynid.experiment.first.command_columns import CommandColumns
from dynid.experiment.first.episode_doubts import findings_on_positions
from dynid.experiment.first.guesses import Group, Layout, Unit, UnitGuess, alike, sizes_of, with_numbers
from dynid.experiment.first.joint_matching import beyond_limits, findings_on_depth
from dynid.experiment.first.naming import MOTOR_SIDE
from dynid.experiment.first.questions import Answers, Question
from dynid.findings import Finding
from dynid.logs import UNITS, Progress, RecordingError, is_bag, is_current, joint_order, read_groups, silent, unit_in
from dynid.logs.tables import Table as LoggedTable
from dynid.robot import Robot


def layout_of(paths: Sequence[Path], robot: Robot, answers: Answers, progress: Progress = silent) -> Layout:
    """Guess what the columns or topics of one recording are.

    Args:
        paths: A table, a bag, or tables of which each holds some of the quantities.
        robot: The robot.
        answers: What was stated, in place of guesses.
        progress: Callback; receives a short description of each step.

    Raises:
        RecordingError: If a file cannot be read, or its time stamps are of no use.
        InvalidRequestError: If what was stated does not fit the files or the robot.
    """
    if is_bag(paths[0]) and answers.rate is not None:
        raise RecordingError(paths[0], "a bag has time stamps of its own; leave the rate out")
    choice = quantities(paths, robot, answers, progress)
    values, questions = _numbers(choice, progress), list(choice.questions)
    clocks: dict[str, Candidate] = {}
    time, stamps = None, values["time"][:, 0] if is_bag(paths[0]) and "time" in values else None
    if "time" in choice.places:
        choice, clocks = _joined(choice, values, answers)
        stamps, guess = _stamps(choice.places["time"], values["time"], answers)
        time = _group(choice.places["time"], guess.unit, guess.why)
        questions += _unit_question("time", guess)
    _check_lengths(choice, values)
    position = _position(choice, robot, answers, values, questions)
    findings = choice.findings
    if position is not None and choice.places["position"].words & MOTOR_SIDE and not position.at_motor:
        findings += (Finding.of("motors-at-joints", "positions", quantity="position", reason="they fit the limits"),)
    if position is not None:
        findings += tuple(findings_on_positions(choice.places["position"], position.unit, values["position"]))
    if position is not None and not position.at_motor:
        in_si = values["position"] * sizes_of("position", position.unit)
        findings += findings_on_depth(robot, choice.joints, in_si, choice.by)
    torque = _torque(choice, answers, position)
    velocity = _velocity(choice, answers, position)
    groups = {"position": position, choice.drive: torque, "velocity": velocity}
    groups = {role: _in_order(group, choice.joints) for role, group in groups.items()}
    timed = {
        role: None if group is None else replace(group, clock=_column(clocks[role]) if role in clocks else None)
        for role, group in groups.items()
    }
    if is_bag(paths[0]):  # joints that messages call by the robot's names need not be listed
        is_called = position is not None and position.columns == choice.joints
        timed = {r: replace(g, columns=None) if g is not None and is_called else g for r, g in timed.items()}
    measured = [values[role] for role in ("position", choice.drive) if role in values]
    samples = len(measured[0]) if measured else 0 if stamps is None else len(stamps)
    rows = guesses.usable_rows(stamps) if measured else None
    layout = Layout(
        choice.joints, timed["position"], timed[choice.drive], timed["velocity"], time, stamps, samples, rows,
        answers.rate, questions=tuple(questions), findings=findings, commands=_commands(choice, position),
        beside=_beside(choice, position),
    )  # fmt: skip
    return with_numbers(layout, values.get("position"), values.get(choice.drive))


def _numbers(choice: Choice, progress: Progress) -> dict[str, Array]:
    """Numbers of positions, torques and all clocks, each file read once."""
    wanted = {role: choice.places[role] for role in ("position", choice.drive, "time") if role in choice.places}
    wanted |= {f"clock {k}": clock for k, clock in enumerate(choice.clocks)}
    files: dict[tuple[Path, int | None], list[str]] = {}
    for role, place in wanted.items():
        files.setdefault((place.file, place.width), []).append(role)
    values: dict[str, Array] = {}
    origins: dict[str, float] = {}
    for (path, width), roles in files.items():
        columns: list[Sequence[str | int] | None] = [None if width else wanted[role].spelled for role in roles]
        if is_bag(path):
            roles, columns = [*roles, "time"], [*columns, [f"{wanted[roles[0]].topic}/time"]]
        clocks = [k for k, role in enumerate(roles) if role not in ("position", choice.drive)]
        options = {"progress": progress, "finite": False, "stamps": [] if is_bag(path) else clocks}
        table = read_groups(path, columns, width=None if width is None else 1, **options)
        _require_measured(table, roles)
        values |= dict(zip(roles, table.groups, strict=True))
        origins |= {roles[k]: table.origins.get(k, (0.0,))[0] for k in clocks}
        if width is not None and len(table) % width == 0:
            values[roles[0]] = table.groups[0].reshape(-1, width)
    for clock in set(origins) - {"time"}:  # all clocks count from the same instant
        values[clock] = values[clock] + (origins[clock] - origins.get("time", 0.0))
    return values


def _require_measured(table: LoggedTable, roles: Sequence[str]) -> None:
    """Refuse positions and torques without a single number; time is looked at later."""
    own = [k for k, role in enumerate(roles) if role in ("position", "torque", "current")]
    kept = replace(table, groups=tuple(table.groups[k] for k in own), names=tuple(table.names[k] for k in own))
    if own:
        kept.require_measured(slice(0, len(table)))


def _joined(choice: Choice, values: dict[str, Array], answers: Answers) -> tuple[Choice, dict[str, Candidate]]:
    """Files with clocks of their own are joined on time: the slowest clock leads, others are interpolated to it.

    Returns:
        The choice with the leading clock, and by role the clocks of quantities that are interpolated. `values` are
        changed accordingly, and are missing (NaN) where a file has no samples.
    """
    first = choice.places["time"]
    every = {first.file: (first, values["time"])}
    for k, clock in enumerate(choice.clocks):
        every.setdefault(clock.file, (clock, values[f"clock {k}"]))
    roles = [role for role in ("position", choice.drive) if role in choice.places]
    used = {choice.places[role].file for role in roles} & set(every)
    if not used or (len(used) == 1 and first.file in used):
        return choice, {}
    stamps = {file: _stamps(*every[file], answers)[0] for file in used}
    lead = max(used, key=lambda file: float(np.nanmedian(np.diff(stamps[file]))))
    if all(_agree(stamps[lead], stamps[file]) for file in used):
        return choice, {}
    found: dict[str, Candidate] = {}
    for role in roles:
        file = choice.places[role].file
        if file != lead and file in stamps:
            values[role] = _interpolated(file, stamps[file], values[role], lead, stamps[lead])
            found[role] = every[file][0]
    values["time"] = every[lead][1]
    velocity = choice.places.get("velocity")
    if velocity is not None and velocity.file != lead and velocity.file in every:
        found["velocity"] = every[velocity.file][0]
    return replace(choice, places={**choice.places, "time": every[lead][0]}), found


def _agree(one: Array, other: Array) -> bool:
    step = float(np.nanmedian(np.diff(one)))
    return len(one) == len(other) and bool(
        np.nanmax(np.abs(one - other)) <= guesses.THRESHOLDS.clocks_apart * abs(step)
    )


def _interpolated(file: Path, time: Array, values: Array, lead: Path, at: Array) -> Array:
    if time[-1] < at[0] or time[0] > at[-1]:
        problem = (
            f"its time stamps go from {time[0]:.6g} s to {time[-1]:.6g} s, and those of {lead.name} from {at[0]:.6g} s"
        )
        raise RecordingError(
            file, f"{problem} to {at[-1]:.6g} s: they have no time in common; are they of one recording?"
        )
    columns = [np.interp(at, time, column, left=np.nan, right=np.nan) for column in values.T]
    return np.column_stack(columns)


def _stamps(place: Candidate, values: Array, answers: Answers) -> tuple[Array, UnitGuess]:
    """Time stamps [s] and the guess of their unit.

    Raises:
        RecordingError: If time does not advance.
    """
    if len(place.columns) == 2:
        units = tuple(str(unit) for unit in _said(place, "time", ()))
        return values @ np.array([UNITS["time"][unit] for unit in units]), UnitGuess(units, "parts that are added up")
    stamps = values[:, 0]
    finite = stamps[np.isfinite(stamps)]
    if len(stamps) > 1 and (len(finite) < 2 or float(np.ptp(finite)) == 0.0):
        what = f"is {finite[0]:g} in every row" if len(finite) else "holds no finite number"
        problem = f"column '{_column(place)}', which is taken for time, {what}"
        raise RecordingError(
            place.file, f"{problem}; name another with --time, or give the sampling rate with --rate HZ"
        )
    given = answers.units.get("time")
    if isinstance(given, str):
        return stamps * UNITS["time"][given], UnitGuess(given, f"in {given}, as stated")
    guess = guesses.time_unit(stamps, _said(place, "time", ())[0])
    return stamps * UNITS["time"][str(guess.unit)], guess


def _check_lengths(choice: Choice, values: dict[str, Array]) -> None:
    """Refuse files of different lengths, also where one number a line was cut into samples of the wrong width."""
    reference = "time" if "time" in values else "position"
    if reference not in values:
        return
    count = len(values[reference])
    other = choice.places[reference].file.name if reference in choice.places else ""
    for role in ("position", choice.drive):
        if role not in values:
            continue
        place, numbers = choice.places[role], values[role].size
        if len(values[role]) == count and place.width in (None, values[role].shape[1]):
            continue
        if place.width is not None and reference == "time" and numbers % count == 0:
            problem = f"its {numbers} numbers are {numbers // count} for each of the {count} samples of {other}, but "
            problem += f"the robot has {place.width} joints; lock the others with --lock"
        elif place.width is not None and numbers % place.width:
            problem = f"its {numbers} numbers, one a line, are not a multiple of the robot's {place.width} joints"
            problem += "; is its end cut off?"
        else:
            problem = f"it holds {len(values[role])} samples, but {other} holds {count}"
            problem += "; files of one log need the same number, or a column of time each"
        raise RecordingError(place.file, problem)


def _position(
    choice: Choice, robot: Robot, answers: Answers, values: dict[str, Array], questions: list[Question]
) -> Group | None:
    place = choice.places.get("position")
    if place is None:
        return None
    q = values["position"]
    stated = answers.units.get("position")
    at_motor = bool(place.words & MOTOR_SIDE) and not _is_at_joint(robot, choice.joints, q)
    says = _said(place, "position", choice.joints)
    if stated is not None:
        shown = stated if isinstance(stated, str) else ", ".join(stated)
        guess = UnitGuess(stated, f"in {shown}, which is stated or clear from another log")
    elif at_motor:
        guess = UnitGuess(says[0] or "rad", f"the name suggests motors, in {says[0] or 'rad'}")
    else:
        guess = guesses.position_unit(robot, choice.joints, q, says)
        questions += _unit_question("position", guess)
    matched = {
        "names": "the joints' names",
        "meaning": "what names mean",
        "numbers": "numbers",
        "limits": "numbers and the joints' limits",
    }
    taken = {"stated": "as stated", "count": "taken in the order of the joints"}
    how = taken.get(choice.by) or f"matched by {matched.get(choice.by, 'order')}"
    return _group(place, guess.unit, f"{how}; {guess.why}", at_motor)


def _is_at_joint(robot: Robot, joints: Sequence[str], q: Array) -> bool:
    """Whether positions of motors, by their name, stay within the limits of joints, so that a gear ratio of 1 fits."""
    limits = [robot.joint(name).limits for name in joints]
    return all(one.lower < one.upper for one in limits) and beyond_limits(robot, joints, q) == 0


def _torque(choice: Choice, answers: Answers, position: Group | None) -> Group | None:
    place = choice.places.get(choice.drive)
    if place is None:
        return None
    stated = answers.units.get("torque")
    says = [None if said is None else said for said in _said(place, "torque", choice.joints)]
    plain = "A" if choice.drive == "current" else "N m"
    unit: Unit = stated or alike([said or plain for said in says])
    known = list(dict.fromkeys(said for said in says if said is not None))
    why = (
        "the unit is stated"
        if stated
        else f"the names say {', '.join(known)}"
        if known
        else _about(place, choice.drive)
    )
    # Torque constants of currents may hold the gear ratio, so nothing else needs to be known of the gears.
    has_currents = any(map(is_current, (unit,) if isinstance(unit, str) else unit))
    at_motor = bool(place.words & MOTOR_SIDE) and (not has_currents or (position is not None and position.at_motor))
    return _group(place, unit, why, at_motor)


def _about(place: Candidate, drive: str) -> str:
    """How the unit of torques was found."""
    if place.words & {"effort", "efforts", "load"}:
        return "efforts are taken as torques of joints; where drives report currents, they need unit = 'A'"
    return "by their names, currents" if drive == "current" else ""


def _velocity(choice: Choice, answers: Answers, position: Group | None) -> Group | None:
    place = choice.places.get("velocity")
    if place is None or position is None or len(place.columns) != len(choice.joints):
        return None
    own = _said(place, "velocity", choice.joints)
    unit = position.unit
    as_positions = [f"{each}/s" for each in ([unit] * len(own) if isinstance(unit, str) else unit)]
    units = alike([said or other for said, other in zip(own, as_positions, strict=True)])
    return _group(place, answers.units.get("velocity") or units, "", position.at_motor)


def _commands(choice: Choice, position: Group | None) -> dict[str, Group | float]:
    """Where commands and gains are, in the units of positions where names say no other."""
    if position is None or not choice.commands.places:
        return {}
    units = [position.unit] * len(choice.joints) if isinstance(position.unit, str) else list(position.unit)
    plain = {
        "position_command": units,
        "velocity_command": [f"{unit}/s" for unit in units],
        "torque_command": ["N m"] * len(units),
        "kp": ["N m/rad"] * len(units),
        "kd": ["N m s/rad"] * len(units),
    }
    found: dict[str, Group | float] = {}
    for role, place in choice.commands.places.items():
        kind = role.removesuffix("_command")
        says = _said(place, kind, choice.joints) if kind != role else [None] * len(units)
        group = _group(place, alike([said or own for said, own in zip(says, plain[role], strict=True)]), "")
        found[role] = replace(_in_order(group, choice.joints) or group, clock=_clock(choice, place))
    return {role: one for role in plain for one in [(found | dict(choice.commands.gains)).get(role)] if one is not None}


def _beside(choice: Choice, position: Group | None) -> Group | None:
    """Where positions are that were commanded beside measured torques."""
    if choice.beside is None:
        return None
    own = replace(choice, commands=CommandColumns({"position_command": choice.beside}))
    found = _commands(own, position).get("position_command")
    return found if isinstance(found, Group) else None


def _said(place: Candidate, role: str, joints: Sequence[str]) -> list[str | None]:
    """The unit that the name of each column says, or that of a file whose columns have no names."""
    if place.topic is not None:
        return [None] * len(place.columns)
    of_file = unit_in(place.file.stem, role, joints) if not place.labels and role != "time" else None
    return [unit_in(label.name, role, joints) for label in place.labels] or [of_file] * len(place.columns)


def _unit_question(role: str, guess: UnitGuess) -> list[Question]:
    if not guess.other:
        return []
    unit = guess.unit if isinstance(guess.unit, str) else ", ".join(guess.unit)
    finding = Finding.of("choose-unit", role, quantity=role, reason=guess.why, unit=unit, other=guess.other)
    return [Question(finding, role, (unit, guess.other), unit, f"--unit {role}={guess.other}")]


def _group(place: Candidate, unit: Unit, why: str, at_motor: bool = False) -> Group:
    usual = {"position": "position", "velocity": "velocity", "torque": "effort"}
    field = None if place.topic is None or place.field == usual.get(place.role) else place.field
    columns = None if place.width is not None else place.stated
    is_flat = place.width is not None
    return Group(columns, unit, why, place.topic, place.file, is_flat, at_motor, field, array=_array(place))


def _clock(choice: Choice, place: Candidate) -> str | int | None:
    """Column of time of the file of commands, where that is not the one that leads."""
    time = choice.places.get("time")
    own = [clock for clock in choice.clocks if clock.file == place.file]
    return _column(own[0]) if time is not None and time.file != place.file and own else None


def _in_order(group: Group | None, joints: Sequence[str]) -> Group | None:
    """A group that is not stated as a whole array where the reader would put its columns in another order."""
    if group is None or not group.array:
        return group
    order = joint_order([str(column) for column in group.columns or ()], joints)
    return group if order is None or list(order) == list(range(len(order))) else replace(group, array="")


def _array(place: Candidate) -> str:
    """The array whose columns `key[0]`, `key[1]`, ... all belong to a candidate, in this order."""
    names, own = place.names or (), place.stated
    key = str(own[0]).removesuffix("[0]") if own else ""
    every = [name for name in names if re.fullmatch(re.escape(key) + r"\[\d+\]", name)]
    is_whole = len(own) > 1 and list(own) == every == [f"{key}[{k}]" for k in range(len(own))]
    return key if is_whole and key not in names else ""


def _column(place: Candidate) -> str | int:
    return place.stated[0]
