"""From a task to logs that are ready for its model, with signs where they had none."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation import SignedLogs, find_drive_signs, physics_of, recover_logs
from dynid.findings import Finding
from dynid.identification.task import Task
from dynid.logs import (
    SAMPLE_SAMPLES,
    Drive,
    Log,
    LogSource,
    PreparedLog,
    Processing,
    StoredLog,
    mended,
    on_disk,
    prepare,
    read_source,
    sample_of,
    stretches_of,
)
from dynid.model import BaseParameters, Chunk
from dynid.robot import Robot

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class PreparedLogs:
    """The logs of a task, ready for its model.

    Attributes:
        logs: The logs; where there are many samples, these lie on disk.
        sample: The same in memory, or a bounded sample of them, for all that looks at samples and need not see each.
        drive: The drive, with signs that were found.
        signs: The signs of torques that were logged without; None where they had them.
        findings: What was noticed and chosen on the way.
        ready: Where logs are reduced one by one, those that were read for the sample, by their numbers; else None.
        failed: Why logs could not be read, by their numbers, where the others go on.
        lengths: Samples of the logs that were read for the sample, by their numbers.
        logged: The logs as they were read, for estimators that simulate them; else empty.
    """

    logs: tuple[PreparedLog, ...]
    sample: tuple[PreparedLog, ...]
    drive: Drive
    signs: SignedLogs | None
    findings: tuple[Finding, ...]
    ready: Mapping[int, PreparedLog] | None = None
    failed: Mapping[int, str] = field(default_factory=dict)
    lengths: Mapping[int, int] = field(default_factory=dict)
    logged: tuple[Log | StoredLog, ...] = ()

    @property
    def samples(self) -> int:
        """Number of samples of all logs."""
        return sum(log.samples for log in self.logs)


def prepared_logs(task: Task, base: BaseParameters, progress: Progress) -> PreparedLogs:
    """Read and process the logs of a task, each once, and find signs that it asks for.

    Args:
        task: The task.
        base: The base parameters of its model.
        progress: Callback; receives a short description of each step.
    """
    if task.torque == "magnitude":
        return _with_signs(task, base, progress)
    model, drive = base.model, task.drive
    logs, held, logged = list[PreparedLog](), 0, list[Log | StoredLog]()
    findings: list[Finding] = []
    names = names_of(task.logs)
    for k, source in enumerate(task.logs, start=1):
        progress(f"Reading log {k} of {len(task.logs)}")
        log = read_any_length(source, model.robot, progress, drive, task.processing)
        if drive.signs == "auto":
            progress("Finding the signs of the drives")
            drive, notes = find_drive_signs(stretches_of(log), base, drive, task.processing)
            findings += notes
        ready = prepare(log, model, drive, task.processing, progress=progress)
        if not task.is_least_squares:
            logged.append(log)
        del log
        findings += of_log(ready.findings, names[k - 1], len(task.logs))
        logs.append(ready)
        held += ready.samples
        if held > SAMPLE_SAMPLES:
            logs = [on_disk(one) for one in logs]
    in_memory = all(isinstance(segment, Chunk) for log in logs for segment in log.segments)
    sample = tuple(logs) if in_memory else sample_of(logs)
    return PreparedLogs(tuple(logs), sample, drive, None, tuple(findings), logged=tuple(logged))


def read(
    source: Log | LogSource,
    robot: Robot,
    progress: Progress = lambda _: None,
    drive: Drive | None = None,
    processing: Processing | None = None,
) -> Log:
    """A log that is in memory, or read from its files, mended where that is certain."""
    log = source if isinstance(source, Log) else read_source(source, robot, progress, drive=drive)
    return mended(log, robot, drive, processing)


def read_any_length(
    source: Log | LogSource,
    robot: Robot,
    progress: Progress = lambda _: None,
    drive: Drive | None = None,
    processing: Processing | None = None,
) -> Log | StoredLog:
    """The same; a log that is long stays on disk."""
    if isinstance(source, Log):
        return mended(source, robot, drive, processing)
    found = read_source(source, robot, progress, drive=drive, processing=processing, may_store=True)
    return mended(found, robot, drive, processing) if isinstance(found, Log) else found


def name_of(source: Log | LogSource, number: int) -> str:
    """What a log is called: its name, its file's, or its number."""
    if isinstance(source, LogSource):
        return source.name or Path(source.position.file).name
    return source.name or (source.source[0].name if source.source else f"log {number}")


def names_of(sources: Sequence[Log | LogSource]) -> list[str]:
    """What logs are called; files that are called alike by their folders, too: `multisine/state_motor.csv`."""
    names = [name_of(source, k) for k, source in enumerate(sources, start=1)]
    counts = Counter(names)
    folders = [_folder_of(source) if counts[name] > 1 else "" for source, name in zip(sources, names, strict=True)]
    return [f"{folder}/{name}" if folder else name for folder, name in zip(folders, names, strict=True)]


def _folder_of(source: Log | LogSource) -> str:
    """The folder of a log that is called as its file; empty where it has a name of its own, or no file."""
    if source.name:
        return ""
    if isinstance(source, LogSource):
        return Path(source.position.file).parent.name
    return source.source[0].parent.name if source.source else ""


def of_log(findings: Sequence[Finding], name: str, count: int) -> tuple[Finding, ...]:
    """Findings on one of several logs, with its name; as they are where there is one log."""
    return tuple(replace(finding, logs=(name,)) for finding in findings) if count > 1 else tuple(findings)


def share_samples(one: Log | LogSource, other: Log | LogSource) -> bool:
    """Whether two logs are the same, or parts of a file that overlap, however its path is written."""
    if isinstance(one, Log) and isinstance(other, Log):
        same = np.array_equal(one.time, other.time) and np.array_equal(one.torque, other.torque)
        return same and (bool(one.torque.any()) or _move_alike(one, other))
    if isinstance(one, Log) or isinstance(other, Log):
        return False
    mine, theirs = one.torque or one.position, other.torque or other.position
    if (mine.path.resolve(), mine.topic, mine.columns) != (theirs.path.resolve(), theirs.topic, theirs.columns):
        return False
    if (one.rows or one.seconds) is None or (other.rows or other.seconds) is None:
        return True  # one of them is the whole file
    if (one.rows is None) != (other.rows is None):
        return True  # by rows and by seconds: nobody knows before they are read
    return _overlap(one.rows, other.rows) or _overlap(one.seconds, other.seconds)


def _move_alike(one: Log, other: Log) -> bool:
    """Whether two logs without torques have the same motions and wrenches."""

    def signals(log: Log) -> list[Array]:
        contacts = [contact.wrench for contact in log.contacts or ()]
        return [np.zeros(0) if x is None else x for x in (log.position, log.base_pose, log.wrench, *contacts)]

    bodies = [[contact.body for contact in log.contacts or ()] for log in (one, other)]
    return bodies[0] == bodies[1] and all(map(np.array_equal, signals(one), signals(other)))


def _overlap(one: Sequence[float | None] | None, other: Sequence[float | None] | None) -> bool:
    """Whether two parts of a file, each from its first to before its last, share something."""
    if one is None or other is None:
        return False
    (a, b), (c, d) = ([-np.inf if x[0] is None else x[0], np.inf if x[1] is None else x[1]] for x in (one, other))
    return bool(max(a, c) < min(b, d))


def _with_signs(task: Task, base: BaseParameters, progress: Progress) -> PreparedLogs:
    """The logs of a task whose torques have no signs, with signs."""
    settings = task.processing
    if base.model.nonlinear or any(term.needs_links for term in base.model.terms):
        raise InvalidRequestError(
            "nonlinear friction is not identifiable from torques without signs; use the terms viscous and coulomb"
        )
    if settings.period is not None:
        raise InvalidRequestError("periods of torques without signs cannot be averaged; leave processing.period out")
    if settings.outliers == "repair" or settings.idle == "cut":
        raise InvalidRequestError(
            "outliers and rest are not looked for in torques without signs; leave processing.outliers and "
            "processing.idle out, and cut the log by rows or seconds"
        )
    if task.drive.signs == "auto":
        raise InvalidRequestError(
            "the signs of drives are not identifiable from torques without signs; leave drive.signs = 'auto' out, or "
            "torque = 'magnitude' if they were logged with signs"
        )
    progress("Reading logs without signs")
    logs = [read(source, base.model.robot, progress, task.drive, settings) for source in task.logs]
    progress("Recovering signs")
    physics = physics_of(task.physical, base.model, task.reference)
    names = names_of(task.logs)
    signs = recover_logs(base, physics, logs, task.drive, settings, practice=task.discard_sign, names=names)
    return PreparedLogs(signs.logs, signs.logs, task.drive, signs, signs.findings)
