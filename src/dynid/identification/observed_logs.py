"""Logs as an observer of a result takes them: read once, with the model that goes with each stretch of time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation import Factors, Fold, LoggedSignals, Prior, choose_weight, factors_of, merge_logs, processed_rows
from dynid.estimation.factors.reduced_logs import FOLD_GAP
from dynid.estimation.held_out_blocks import HELD_OUT_THRESHOLDS, joined_folds, left_out_fits
from dynid.estimation.physical.physical_links import physics_of
from dynid.identification.held_out_logs import held_out_task, single_logs_of
from dynid.identification.log_reading import name_of, read_any_length, share_samples
from dynid.identification.result import Result, ResultError
from dynid.identification.task import require_single_axes
from dynid.logs import Log, PreparedLog, prepare
from dynid.logs.processing.signals import can_be_decimated
from dynid.machine import single_threaded_blas
from dynid.model import Observed, Segment, TorqueRows
from dynid.robot import with_carried

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class ModelStretch:
    """A stretch of time, with parameters that were identified without it.

    Attributes:
        first: Its begin, since the first sample of the log [s].
        last: Its end [s].
        parameters: Standard parameters, shape (parameters,).
    """

    first: float
    last: float
    parameters: Array


@dataclass(frozen=True, eq=False)
class ObservedLog:
    """A log as an observer takes it.

    Attributes:
        name: What it is called.
        signals: Its signals at the joints.
        stretches: The parameters for each stretch of its time.
        used: Whether the result was identified from it.
    """

    name: str
    signals: LoggedSignals
    stretches: tuple[ModelStretch, ...]
    used: bool = False


def require_observable(result: Result) -> None:
    """Refuse results that no observer of external torques in N m can be made of.

    Raises:
        InvalidRequestError: If the robot has a floating base or spherical joints, or the result is one of commands, of
            other rows than torques, or in units of current.
    """
    require_single_axes(result.robot, "external torques are observed")
    if result.record.commands is not None or result.model.observed != Observed.TORQUES:
        raise InvalidRequestError(
            "the result was not identified from joint torques, so that nothing says what they are without a contact; "
            "identify the robot from logs with torques"
        )
    if result.is_in_amperes:
        raise InvalidRequestError(
            "the result is in units of current, because torque constants are not known, and external torques are in "
            "N m; state drive.torque_constants [N m/A] and identify again"
        )


def model_parameters(result: Result, *, physical: bool) -> Array:
    """Standard parameters of a result, shape (parameters,)."""
    return result.standard_parameters(physical=physical)


def unused_logs(
    result: Result, logs: Sequence[Log | str | Path], *, physical: bool, progress: Progress = lambda _: None
) -> Iterator[ObservedLog]:
    """Logs that are given, each read as the result's own were.

    Args:
        result: The result.
        logs: Logs in memory, log files laid out as the result's own, or experiment files.
        physical: Whether the physically consistent links are observed with, else the base parameters.
        progress: Callback; receives a short description of each step.

    Raises:
        ResultError: If a log has torques without signs.
        InvalidRequestError: If a log has no torques, or is of another robot.
    """
    p = model_parameters(result, physical=physical)
    for one in single_logs_of(logs):
        assert isinstance(one, Log | str)
        task = held_out_task(result, one)
        if task.torque == "magnitude" and not isinstance(one, Log):
            raise ResultError(one, "has torques without signs, which no motion compares with; use a log with signs")
        for k, source in enumerate(task.logs, start=1):
            name = name_of(source, k)
            progress(f"Reading {name}")
            log = read_any_length(source, result.robot, progress, task.drive, task.processing)[:]
            used = any(share_samples(own, source) for own in result.task.all_logs)
            signals = LoggedSignals.of(log, result.robot, task.drive)
            whole = ModelStretch(0.0, np.inf, with_carried(p, log.load, result.robot))
            yield ObservedLog(name, signals, (whole,), used)


HELD_OUT_STRETCHES = 10
"""Stretches of time that all logs together are cut into; no log has fewer than one."""


@dataclass(frozen=True, eq=False)
class _OwnLog:
    """A log of the result, as an observer and as the estimate take it."""

    name: str
    log: Log
    signals: LoggedSignals
    prepared: PreparedLog
    ends: Array


def held_out_stretches(result: Result, *, physical: bool, progress: Progress = lambda _: None) -> Iterator[ObservedLog]:
    """The result's own logs, each stretch with parameters that were fitted to all others.

    Args:
        result: The result, of least squares.
        physical: Whether physically consistent links are fitted, else base parameters.
        progress: Callback; receives a short description of each step.

    Raises:
        InvalidRequestError: If the result has no logs that can be read again, or stretches of them do not determine
            its parameters.
    """
    if not result.task.is_least_squares or not result.task.logs or result.task.torque == "magnitude":
        raise InvalidRequestError(
            "the logs of this result cannot be held out from its fit in parts (it has none, its torques had no signs, "
            "or it is not one of least squares); give logs that were not used: --thresholds-from LOG (in Python: "
            "logs=[...])"
        )
    own = _own_logs(result, progress)
    folds = [*_earlier(result), *(fold for k, one in enumerate(own) for fold in _folds(result, one, k))]
    progress("Fitting without each stretch")
    fits = _fits(result, folds, physical=physical)
    at = len(folds) - sum(len(one.ends) - 1 for one in own)
    for one in own:
        stretches = []
        for first, last in pairwise(one.ends.tolist()):
            values = fits[at]
            at += 1
            if values is None:
                continue  # nothing else excites what this stretch does
            p = with_carried(result.base.to_standard(values), one.log.load, result.robot)
            stretches.append(ModelStretch(first, last, p))
        yield ObservedLog(one.name, one.signals, tuple(stretches), used=True)


def _own_logs(result: Result, progress: Progress) -> list[_OwnLog]:
    task, found = result.task, list[tuple[str, Log, LoggedSignals, PreparedLog]]()
    for k, source in enumerate(task.logs, start=1):
        name = name_of(source, k)
        progress(f"Reading {name} again")
        log = read_any_length(source, result.robot, progress, result.drive, task.processing)[:]
        prepared = prepare(log, result.model, result.drive, task.processing, progress=progress)
        found.append((name, log, LoggedSignals.of(log, result.robot, result.drive), prepared))
    seconds = np.array([float(log.time[-1] - log.time[0]) for _, log, _, _ in found])
    counts = np.maximum(1, np.rint(HELD_OUT_STRETCHES * seconds / max(seconds.sum(), 1e-9))).astype(int)
    if counts.sum() < HELD_OUT_THRESHOLDS.fewest_blocks:
        counts[int(np.argmax(seconds))] += HELD_OUT_THRESHOLDS.fewest_blocks - int(counts.sum())
    return [
        _OwnLog(name, log, signals, prepared, np.linspace(0.0, length * (1.0 + 1e-9), count + 1))
        for (name, log, signals, prepared), length, count in zip(found, seconds, counts, strict=True)
    ]


def _earlier(result: Result) -> list[Fold]:
    """Logs of an earlier result, of which factors are left: they belong to all fits."""
    count = len(result.torques) - len(result.task.logs)
    if not count:
        return []
    factors = merge_logs([result.torques[k].restricted(result.model.names) for k in range(count)])
    return [Fold(len(result.task.logs), factors)]


def _folds(result: Result, own: _OwnLog, number: int) -> Iterator[Fold]:
    """The factors of each stretch, with gaps between them: errors last."""
    rows = TorqueRows(result.model)
    gap = FOLD_GAP * float(own.ends[1] - own.ends[0])
    for k, (first, last) in enumerate(pairwise(own.ends.tolist())):
        segments = _between(own.prepared, own.log.time[0] + first + (gap if k else 0.0), own.log.time[0] + last)
        factors: Factors = factors_of(rows, processed_rows(rows, segments, own.prepared.processing))
        yield Fold(number, factors.weighted(own.prepared.weight))


def _between(prepared: PreparedLog, first: float, last: float) -> Sequence[Segment]:
    """Parts of segments between two stamps."""
    factors = prepared.processing.decimate or (1,)
    found = []
    for segment, times in zip(prepared.segments, prepared.times, strict=True):
        a, b = (int(x) for x in np.searchsorted(np.asarray(times[:]), (first, last)))
        if b - a > 4 * int(np.prod(factors)) and can_be_decimated(b - a, factors):
            found.append(segment[a:b])
    return found


def _fits(result: Result, folds: Sequence[Fold], *, physical: bool) -> Sequence[Array | None]:
    """Base parameters fitted to all folds but each."""
    task, base = result.task, result.base
    method = task.estimation.method
    groups = [k for k, group in enumerate(joined_folds(folds)) for _ in group]
    if not physical:
        prior = None if task.estimation.prior is None else Prior.near_reference(base, task.estimation.prior)
        found = left_out_fits(folds, base, method, prior)
        return [found[k] for k in groups]
    assert result.record.physical is not None
    physics = physics_of(task.physical, base.model, task.reference)
    with single_threaded_blas():
        left_out = choose_weight(folds, base, physics, result.record.physical.weight, method).left_out
    if not left_out:
        raise InvalidRequestError(
            "links cannot be fitted to parts of these logs; find thresholds with base parameters (--parameters base), "
            "or from logs that were not used (--thresholds-from LOG)"
        )
    return [left_out[k] for k in groups]
