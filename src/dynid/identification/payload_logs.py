"""Logs with and without a load that is to be identified: which carries what, read and made ready for a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.identification.drive_units import is_in_amperes
from dynid.identification.held_out_logs import UnseenLog, held_out_task, single_logs_of
from dynid.identification.log_reading import name_of, of_log, read_any_length
from dynid.identification.result import Result
from dynid.identification.task import Task, require_single_axes
from dynid.logs import LoadTable, Log, LogSource, PreparedLog, Processing, StoredLog, prepare
from dynid.model import DynamicModel, Role
from dynid.robot import Load

Progress = Callable[[str], None]

MAY_CHANGE = (
    Role.VISCOUS,
    Role.COULOMB,
    Role.COULOMB_FORWARD,
    Role.COULOMB_BACKWARD,
    Role.OFFSET,
    Role.COUPLING_VISCOUS,
    Role.COUPLING_COULOMB,
    Role.COMBINED_VISCOUS,
    Role.COMBINED_COULOMB,
    Role.COMBINED_OFFSET,
)
"""Roles of friction and offsets of joints and motors, which change from day to day."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """The load that is to be identified.

    Attributes:
        name: Its name; empty where it has none.
        body: Name of the body that it is fastened to; the last link's when None.
        known: What is known of it, to compare with; None for nothing.
    """

    name: str = ""
    body: str | None = None
    known: LoadTable | None = None


@dataclass(frozen=True, eq=False)
class SortedLogs:
    """Logs with and without the load.

    Attributes:
        wanted: The load.
        free: Logs without it; other loads that they carry are known.
        loaded: Logs with it.
        left_out: Names of logs with other loads that are not known.
    """

    wanted: Wanted
    free: tuple[Log | LogSource, ...]
    loaded: tuple[Log | LogSource, ...]
    left_out: tuple[str, ...] = ()


def sorted_logs(
    logs: Sequence[Log | LogSource], load: str | None, body: str | None, known: Load | float | None, *, all_carry: bool
) -> SortedLogs:
    """Sort logs by what they carry.

    Args:
        logs: The logs.
        load: Name of the load that is to be identified; the only one when None.
        body: Name of its body, where the logs do not say.
        known: What is known of it, where the logs do not say.
        all_carry: Whether all logs carry the load if none says what it carries.

    Raises:
        InvalidRequestError: If no log carries a load, or it is not clear which one is meant.
        UnknownNameError: If no log carries a load of that name.
    """
    tables = [_table(log) for log in logs]
    if all_carry and all(table is None for table in tables):
        stated = None if known is None else _of_load(known)
        wanted = Wanted(load or "", _body(body, stated, None), stated)
        return SortedLogs(wanted, (), tuple(logs))
    found = {_title(table): table for table in tables if table is not None}
    unknown = {name: table for name, table in found.items() if not table.is_known}
    if load is not None and load not in found:
        raise UnknownNameError("load", load, list(found))
    among = {load: found[load]} if load is not None else unknown or found
    if not among:
        raise InvalidRequestError(
            'no log carries a load; state it in the log (load = "NAME" with [[load]], or Log(..., load="NAME")), or '
            "give a saved result of the robot without the load"
        )
    if len(among) > 1:
        names = ", ".join(f"'{name}'" for name in among)
        raise InvalidRequestError(f"logs carry several loads ({names}); say which one to identify (--load NAME)")
    name, table = next(iter(among.items()))
    stated = _of_load(known) if known is not None else table if table.mass is not None else None
    wanted = Wanted(name, _body(body, stated, table), stated)
    free = [log for log, own in zip(logs, tables, strict=True) if own is None or (own.is_known and own != table)]
    loaded = [log for log, own in zip(logs, tables, strict=True) if own is not None and _title(own) == name]
    used = {id(log) for log in (*free, *loaded)}
    left = tuple(name_of(log, k) for k, log in enumerate(logs, start=1) if id(log) not in used)
    return SortedLogs(wanted, tuple(log for log in free if log not in loaded), tuple(loaded), left)


def _body(body: str | None, stated: LoadTable | None, table: LoadTable | None) -> str | None:
    """The body whose frame numbers are in: as asked for, as those that are stated, or as the logs say.

    Raises:
        InvalidRequestError: If numbers are stated in the frame of another body than the one that is asked for.
    """
    of_stated = None if stated is None else stated.body
    is_placed = stated is not None and stated.center_of_mass is not None
    if body is not None and of_stated is not None and body != of_stated and is_placed:
        raise InvalidRequestError(
            f"the load is stated in the frame of '{of_stated}', and asked for in that of '{body}'; state both in one"
        )
    return body or of_stated or (None if table is None else table.body)


def _title(table: LoadTable) -> str:
    return table.title


def _table(log: Log | LogSource) -> LoadTable | None:
    """What a log says of its load."""
    if isinstance(log, LogSource):
        return LoadTable(name=log.load) if isinstance(log.load, str) else log.load
    if log.load is None:
        return None
    return LoadTable(name=log.load or None) if isinstance(log.load, str) else _of_load(log.load)


def _of_load(load: Load | float) -> LoadTable:
    if not isinstance(load, Load):
        return LoadTable(mass=float(load))
    return LoadTable.of(load)


def numbers_of(known: LoadTable) -> list[float | None]:
    """Mass, centre of mass and inertia of a load, as far as they are stated."""
    center = known.center_of_mass or (None, None, None)
    return [known.mass, *center, *(known.inertia or (None,) * 6)]


def require_motion(task: Task) -> None:
    """Refuse static logs, whose rows are postures: loads and drive gains are identified from motion."""
    if any(log.static for log in task.logs):
        raise InvalidRequestError(
            "logs with 'static' hold postures, and loads and drive gains are identified from motion; leave 'static' "
            "out, or these logs"
        )


def require_torques(task: Task) -> None:
    """Refuse logs without torques in N m, which no load in kg can be found from.

    Raises:
        InvalidRequestError: If torques are in units of current, have no signs, or are those of a control law.
    """
    require_motion(task)
    if is_in_amperes(task.drive):
        raise InvalidRequestError(
            "a load cannot be found in kg from currents while drive.torque_constants = 'unknown'; state these, or find "
            "them with a known load (dynid gains)"
        )
    if task.torque == "magnitude" or task.is_commanded:
        what = "torques without signs" if task.torque == "magnitude" else "commands instead of torques"
        raise InvalidRequestError(f"a load cannot be identified from logs with {what}; log torques with their signs")


@dataclass(frozen=True, eq=False)
class ReadyLog:
    """A log, ready for the model.

    Attributes:
        log: The log.
        prepared: The same, ready; known loads are taken out, the one that is to be identified is not.
        loaded: Whether it carries the load that is to be identified.
        name: What it is called.
    """

    log: Log | StoredLog
    prepared: PreparedLog
    loaded: bool
    name: str


def ready_logs(
    task: Task,
    logs: Sequence[Log | LogSource],
    model: DynamicModel,
    *,
    loaded: bool,
    like: Processing | None,
    count: int,
    progress: Progress,
) -> list[ReadyLog]:
    """Read logs of a task and make them ready for a model.

    Args:
        task: Says how they are read.
        logs: The logs.
        model: The model.
        loaded: Whether they carry the load that is to be identified.
        like: What was done to another log, whose filters are used again.
        count: Number of all logs.
        progress: Callback; receives a short description of each step.
    """
    require_single_axes(task.model.robot, "loads are identified")
    found = []
    for k, source in enumerate(logs, start=1):
        progress(f"Reading {name_of(source, k)}")
        log = read_any_length(source, model.robot, progress, task.drive, task.processing)
        bare = replace(log, load=None) if loaded else log
        ready = prepare(bare, model, task.drive, task.processing, like=like, progress=progress)
        name = name_of(source, k)
        found.append(ReadyLog(log, replace(ready, findings=of_log(ready.findings, name, count)), loaded, name))
    return found


def logs_beside(result: Result, logs: Sequence[Log | str | Path]) -> list[tuple[Task, tuple[Log | LogSource, ...]]]:
    """Logs that go with a result, each group with the task that says how it is read."""
    found = []
    for one in single_logs_of(logs):
        assert not isinstance(one, UnseenLog)
        task = held_out_task(result, one)
        found.append((task, task.logs))
    return found
