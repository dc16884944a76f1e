"""Logs that a result was not made from: read and processed as its own were."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dynid.errors import InvalidRequestError
from dynid.experiment import read_experiment
from dynid.identification.log_reading import read
from dynid.identification.result import Result, ResultError
from dynid.identification.task import Task, task_of
from dynid.logs import Log, LogSource, PreparedLog, prepare

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class UnseenLog:
    """A log that a result was not made from, ready for its model.

    Attributes:
        log: The log.
        prepared: The same, ready for the model.
        used: Whether the result was identified from it after all, so that it validates nothing.
    """

    log: Log
    prepared: PreparedLog
    used: bool = False


def unseen_logs(
    result: Result, logs: Sequence[Log | str | Path | UnseenLog], progress: Progress = lambda _: None
) -> tuple[UnseenLog, ...]:
    """Logs that a result was not made from, each read and processed once, as the result's own logs were."""
    found: list[UnseenLog] = []
    for one in logs:
        if isinstance(one, UnseenLog):
            found.append(one)
            continue
        task = _task(result, one)
        if task.torque == "magnitude" and not task.discard_sign:
            where = (one.name or "the log") if isinstance(one, Log) else one
            raise ResultError(where, "has torques without signs, and predictions have signs; use a log that has them")
        like = result.training if task.processing == result.task.processing else None
        for source in task.logs:
            progress("Reading a log")
            log = read(source, task.model.robot, progress, task.drive, task.processing)
            prepared = prepare(log, result.model, task.drive, task.processing, like=like, progress=progress)
            found.append(UnseenLog(log, prepared, was_used(result, source)))
    return tuple(found)


def _task(result: Result, log: Log | str | Path) -> Task:
    """The task that a log belongs to: that of its experiment file, or the result's with other logs."""
    own = replace(result.task, drive=result.drive)
    if isinstance(log, Log):
        return replace(own, logs=(log,), torque="signed")
    path = Path(log)
    if path.suffix.lower() == ".toml":
        task = task_of(read_experiment(path)).with_model_of(result.task)
        result.require_same_model(task, path)
        return replace(task, drive=result.drive) if task.drive.signs == "auto" else task
    first = next((source for source in result.task.logs if isinstance(source, LogSource)), None)
    if first is None:
        raise InvalidRequestError(f"'{path}': the result's logs were in memory; read this one with dynid.read_log")
    return replace(own, logs=(_with_file(first, path),))


def _with_file(source: LogSource, path: Path) -> LogSource:
    """Where a log is that is laid out as another one."""
    moved = {
        role: quantity.model_copy(update={"file": str(path)})
        for role in ("position", "torque", "velocity", "time", "temperature")
        if (quantity := getattr(source, role)) is not None
    }
    return source.model_copy(update=moved | {"rows": None, "seconds": None, "name": None})


def was_used(result: Result, log: Log | LogSource) -> bool:
    """Whether a result was identified from a log, or from a part of it that this one shares."""
    return any(_same(own, log) for own in result.task.logs)


def _same(own: Log | LogSource, log: Log | LogSource) -> bool:
    if isinstance(own, Log) and isinstance(log, Log):
        return np.array_equal(own.time, log.time) and np.array_equal(own.torque, log.torque)
    if isinstance(own, Log) or isinstance(log, Log):
        return False
    mine, other = own.torque, log.torque
    if (mine.path.resolve(), mine.topic, mine.columns) != (other.path.resolve(), other.topic, other.columns):
        return False
    if (own.rows or own.seconds) is None or (log.rows or log.seconds) is None:
        return True  # one of them is the whole file
    return _overlap(own.rows, log.rows) or _overlap(own.seconds, log.seconds)


def _overlap(one: Sequence[float | None] | None, other: Sequence[float | None] | None) -> bool:
    """Whether two parts of a file, each from its first to before its last, share something."""
    if one is None or other is None:
        return False
    (a, b), (c, d) = ([-np.inf if x[0] is None else x[0], np.inf if x[1] is None else x[1]] for x in (one, other))
    return bool(max(a, c) < min(b, d))
