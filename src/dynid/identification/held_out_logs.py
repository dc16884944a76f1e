"""Logs that a result was not made from: read and processed as its own were."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dynid.experiment import Experiment, read_experiment, read_log
from dynid.identification.law_logs import with_law
from dynid.identification.log_reading import name_of, read_any_length, share_samples
from dynid.identification.other_stances import problem_of_rows
from dynid.identification.predicted_signs import has_no_signs, with_predicted_signs
from dynid.identification.result import Result, ResultError
from dynid.identification.task import ROBOT_OF_RESULT, Task, robot_difference, robot_of
from dynid.logs import Log, LogSource, PreparedLog, Processing, StoredLog, files_of, prepare

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class UnseenLog:
    """A log that a result was not made from, ready for its model.

    Attributes:
        log: The log, on disk where it is long.
        prepared: The same, ready for the model.
        used: Whether the result was identified from it after all, so that it validates nothing.
    """

    log: Log | StoredLog
    prepared: PreparedLog
    used: bool = False


def unseen_logs(
    result: Result, logs: Sequence[Log | str | Path | UnseenLog], progress: Progress = lambda _: None
) -> tuple[UnseenLog, ...]:
    """Logs that a result was not made from, each read and processed once, as the result's own logs were."""
    found: list[UnseenLog] = []
    for one in single_logs_of(logs):
        if isinstance(one, UnseenLog):
            found.append(one)
            continue
        task = held_out_task(result, one)
        if result.record.commands is not None:
            task = replace(task, logs=with_law(task.logs, result.record.commands))
        if any(source.static for source in task.logs):
            where = (one.name or "the log") if isinstance(one, Log) else one
            raise ResultError(where, "has logs of static postures, which say nothing of motion; use a log of motion")
        like = result.training if task.processing == result.task.processing else None
        for source in task.logs:
            progress("Reading a log")
            log = read_any_length(source, task.model.robot, progress, task.drive, task.processing)
            prepared = _prepared(result, log, task, like, progress)
            if problem := problem_of_rows(result.model, log):
                raise ResultError(name_of(source, 1), problem)
            used = any(share_samples(own, source) for own in result.task.all_logs)
            found.append(UnseenLog(log, prepared, used))
    return tuple(found)


def _prepared(
    result: Result, log: Log | StoredLog, task: Task, like: Processing | None, progress: Progress
) -> PreparedLog:
    """A log ready for the model of a result; torques that have no signs get those that are predicted."""
    if task.torque == "signed" or task.discard_sign or not isinstance(log, Log) or not has_no_signs(log):
        known = result.standard_parameters() if result.record.commands is None else None
        return prepare(log, result.model, task.drive, task.processing, like=like, known=known, progress=progress)
    processing = like or task.processing
    signed = with_predicted_signs(result, log, task.drive, processing)
    return prepare(signed, result.model, task.drive, processing, choose=False, progress=progress)


def single_logs_of(logs: Sequence[Log | str | Path | UnseenLog]) -> Iterator[Log | str | UnseenLog]:
    """The logs one by one: names may be patterns or folders."""
    for one in logs:
        yield from (file.name for file in files_of(one)) if isinstance(one, str | Path) else (one,)


def held_out_task(result: Result, log: Log | str | Path) -> Task:
    """The task that a log belongs to: the result's with other logs, read as their experiment file says."""
    own = replace(result.task, drive=result.drive)
    if isinstance(log, Log):
        return replace(own, logs=(log,))
    path = Path(log)
    if path.suffix.lower() == ".toml":
        return own.with_logs_of(held_out_experiment(result, path))
    first = next((source for source in result.task.logs if isinstance(source, LogSource)), None)
    if first is None:
        return replace(own, logs=(read_log(log, result.robot),))
    return replace(own, logs=(_with_file(first, log),))


def held_out_experiment(result: Result, path: Path) -> Experiment:
    """The experiment of held-out logs, whose terms do not matter; it may be of logs alone.

    Raises:
        ResultError: If it is about another robot; says in which respect.
    """
    experiment = read_experiment(path, robot=ROBOT_OF_RESULT)
    key = "" if experiment.robot == ROBOT_OF_RESULT else robot_difference(result.robot, robot_of(experiment))
    if key:
        problem = f"is about another robot than the result: '{key}' differs; make both alike, or state only the logs"
        raise ResultError(path, problem)
    return experiment


def _with_file(source: LogSource, path: str | Path) -> LogSource:
    """Where a log is that is laid out as another one."""
    moved = source.with_files(lambda _: str(path))
    if moved.capture is not None:  # other files have their own axes and unit, and forces are in this one
        is_alike = moved.capture.path.suffix.lower() == Path(source.position.file).suffix.lower()
        own = {"plates": None} if is_alike else {"plates": None, "unit": None, "up": None}
        moved = moved.model_copy(update={"capture": moved.capture.model_copy(update=own)})
    return moved.model_copy(update={"rows": None, "seconds": None, "name": None, "load": None})
