"""Many logs: a sample of them is read here, and each is reduced by itself, here or by workers.

One process and any number of workers give the same numbers: what looks at samples sees the same ones.
"""

from collections.abc import Callable
from dataclasses import replace

from dynid.errors import DynidError
from dynid.estimation import (
    TIME_BLOCKS,
    EarlierLogs,
    Lazy,
    NonlinearFit,
    ReducedLogs,
    RowForm,
    find_drive_signs,
    joined_logs,
)
from dynid.findings import Finding
from dynid.identification.factor_cache import HELD
from dynid.identification.log_factors import Reduction
from dynid.identification.log_reading import PreparedLogs, name_of, names_of, of_log, read_any_length
from dynid.identification.reduced_tasks import reduce_all
from dynid.identification.task import Task
from dynid.identification.workers import LogFailedError, Workers
from dynid.logs import SAMPLE_SAMPLES, PreparedLog, is_long, prepare, sample_of, stretches_of
from dynid.model import BaseParameters, DynamicModel

Progress = Callable[[str], None]


def spread(count: int) -> list[int]:
    """Numbers from 0 in an order whose first ones are evenly spread, however many of them are taken.

    >>> spread(8)
    [0, 4, 2, 6, 1, 5, 3, 7]
    """
    bits = max(1, (count - 1).bit_length())
    return sorted(range(count), key=lambda k: int(f"{k:0{bits}b}"[::-1], 2))


def sampled_logs(task: Task, base: BaseParameters, workers: Workers, progress: Progress) -> PreparedLogs:
    """Read evenly spread logs of a task, until there are enough samples for all that looks at samples.

    Args:
        task: The task; its torques have signs.
        base: The base parameters of its model.
        workers: Where the others will be read.
        progress: Callback; receives a short description of each step.

    Raises:
        LogFailedError: If a log cannot be read and the workers are strict, or none can.
    """
    drive, held, ready = task.drive, 0, dict[int, PreparedLog]()
    findings, failed, lengths = list[Finding](), dict[int, str](), dict[int, int]()
    for k in spread(len(task.logs)):
        if held >= SAMPLE_SAMPLES:
            break
        progress(f"Reading a sample of the logs ({name_of(task.logs[k], k + 1)})")
        try:
            log = read_any_length(task.logs[k], base.model.robot, progress, drive, task.processing)
            if drive.signs == "auto":
                drive, notes = find_drive_signs(stretches_of(log), base, drive, task.processing)
                findings += notes
            if workers.is_asked and is_long(log, task.processing):  # the workers see all of it
                lengths[k], log = len(log), stretches_of(log)
            ready[k] = prepare(log, base.model, drive, task.processing, progress=progress)
            lengths.setdefault(k, ready[k].samples)
        except DynidError as error:
            failed[k] = str(error)
            if workers.strict:
                raise LogFailedError(name_of(task.logs[k], k + 1), str(error)) from error
        else:
            held += ready[k].samples
    if not ready:
        first = min(failed)
        raise LogFailedError(name_of(task.logs[first], first + 1), failed[first])
    known = {} if workers.is_asked else failed  # files may be there for the workers alone
    sample = sample_of([ready[k] for k in sorted(ready)])
    return PreparedLogs((), sample, drive, None, tuple(findings), ready, known, lengths)


def reduced_by_log(
    task: Task,
    preparing: DynamicModel,
    read_logs: PreparedLogs,
    nonlinear: NonlinearFit,
    workers: Workers,
    earlier: EarlierLogs | None,
    progress: Progress,
) -> tuple[Task, PreparedLogs, ReducedLogs]:
    """Reduce the logs of a task one by one: the task with those that could be used, these logs, and their factors.

    Args:
        task: The task.
        preparing: The model that logs are prepared with.
        read_logs: The sample of the logs.
        nonlinear: The nonlinear parameters of the model, found or held.
        workers: Where logs are reduced.
        earlier: Logs that were reduced before.
        progress: Callback; receives a short description of each step.

    Raises:
        LogFailedError: If a log fails and the workers are strict, or all fail.
    """
    form, ready = RowForm.of(task.estimation), read_logs.ready or {}
    lengths = read_logs.lengths
    rows = sum(lengths[k] // form.samples_a_row(log.processing, log.sampling) for k, log in ready.items())
    size = max(1, -(-rows * len(task.logs) // (len(ready) * TIME_BLOCKS)))
    reduction = Reduction(nonlinear.linear.model, preparing, read_logs.drive, task.processing, form, size)
    names = names_of(task.logs)
    whole = {k: log for k, log in ready.items() if lengths[k] == log.samples}  # others are stretches of long logs
    here = {} if workers.is_asked and len(ready) == len(task.logs) else whole
    done = reduce_all(task.logs, names, reduction, workers, here, read_logs.failed, progress)
    findings = [
        Finding.of("log-failed", names[k], problem=problem, of=len(names)) for k, problem in sorted(done.failed.items())
    ]
    findings = [replace(finding, logs=(finding.subject,)) for finding in findings]
    for k, log in zip(done.numbers, done.logs, strict=True):
        findings += of_log(log.findings, names[k], len(names))
    parts = Lazy(len(done.numbers), lambda k: done.load(k).reduced)
    reduced = joined_logs(
        tuple(parts) if len(parts) <= HELD else parts,
        [log.weight for log in done.logs],
        nonlinear,
        size,
        earlier,
        folds=True,
    )
    used = replace(task, logs=tuple(task.logs[k] for k in done.numbers)) if done.failed else task
    found = replace(read_logs, logs=done.logs, findings=(*read_logs.findings, *findings))
    return used, found, reduced
