"""Logs made ready for a model: one way for all that need their samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.findings import Finding, has
from dynid.logs.drive import check_count, transmission_of
from dynid.logs.floating_body import FloatingBody, require_fixed
from dynid.logs.floating_checks import findings_on_floating
from dynid.logs.log import Log
from dynid.logs.magnitudes import findings_on_magnitudes
from dynid.logs.processing.automatic import PreparedLog, prepared
from dynid.logs.processing.carried_loads import without_carried
from dynid.logs.processing.long_preparation import is_long, prepared_in_windows
from dynid.logs.processing.motion_ranges import Speeds
from dynid.logs.processing.periods import averaged, processed_period
from dynid.logs.processing.states import step_of
from dynid.logs.readers.source import Progress, silent
from dynid.logs.settings import Drive, Processing
from dynid.logs.timing import TIMING, Timing, check_time, findings_on_time
from dynid.model import DynamicModel, dry_directions, loaded
from dynid.robot import Joint, Robot

if TYPE_CHECKING:
    from dynid.logs.stored_log import StoredLog

OF_SINGLE_AXES = frozenset(("unmeasured", "idle", "velocity", "delay"))
"""What is not chosen for robots with a floating base, whose rests count: postures say where masses are."""

FILTERS = frozenset(("lowpass", "velocity", "derivative", "trim", "decimate", "row_trim", "velocity_threshold"))
"""What a log takes over from another that was processed before it."""


def prepare(
    log: Log | StoredLog,
    model: DynamicModel,
    drive: Drive,
    processing: Processing,
    *,
    choose: bool = True,
    like: Processing | None = None,
    known: Array | None = None,
    share: tuple[int, int] = (0, 1),
    progress: Progress = silent,
) -> PreparedLog:
    """A log made ready for a model, with what was noticed and chosen on the way.

    Periods are averaged first where a period is stated; then nothing is chosen automatically. The torques of a load
    that the log carries are taken out, so that what remains is of the robot alone. The samples of a long log
    lie on disk, and what is open is chosen by stretches of it.

    Args:
        log: The log.
        model: The model.
        drive: The drives between what was logged and the joints.
        processing: What to do with the signals; what it leaves open is chosen by what the log shows.
        choose: Whether anything may be chosen; torques without signs do not allow it.
        like: What was done to another log, whose filters are used again where `processing` leaves them open.
        known: Standard parameters p, shape (parameters,), that are to predict the log, from which none are estimated:
            where noise rules what they leave of its torques, its cut-off frequency is its own, and may be lower.
        share: Which of how many parts in time of a long log is wanted; a log that is not long is its first part.
        progress: Callback; receives a short description of each step.

    Raises:
        InvalidRequestError: If the drives, the processing or the model do not fit the log.
        UnknownNameError: If a joint is named that the robot does not have.
    """
    progress("Looking at the signals")
    log, body = _with_body(log, model, processing)
    stated = stated_processing(processing, drive, model.robot)
    free = _free(processing, drive) if choose else frozenset[str]()
    if body is not None:
        stated = stated.but(velocity_threshold=body.thresholds(stated.thresholds))
        free -= OF_SINGLE_AXES | (set() if model.terms else {"velocity_threshold"})
    known = known if "lowpass" in free else None
    if like is not None:
        again = free & FILTERS
        stated = stated.but(**{key: getattr(like, key) for key in again})
        free -= again
    carried = log.load
    transmission = replace(transmission_of(drive, model.robot), dry=dry_directions(model), body=body)
    timing = None
    _require_temperature(log, model, processing)
    if is_long(log, stated):
        ready, looked_at, timing, sample = prepared_in_windows(
            log, transmission, stated, model, drive.delay, free, share
        )
        log = replace(sample, source=log.source, findings=log.findings)
    else:
        log = log if isinstance(log, Log) else log[:]
        if processing.period is not None:
            ready = _of_periods(log, model.robot, drive, stated)
        else:
            ready = prepared(log, transmission, stated, model, drive.delay, free, known)
        if any(term.needs_temperature for term in model.terms):
            ready = _with_temperature(ready, log, model.robot)
        looked_at = ready = replace(ready, temperature=log.mean_temperature)
    if carried is not None:
        same = looked_at is ready
        ready = without_carried(ready, carried, model, drive)
        looked_at = ready if same else without_carried(looked_at, carried, model, drive)
    noticed = findings_on_log(log, drive, ready.processing, timing)
    sizes: Iterable[Finding] = ()
    if body is not None:
        sizes = findings_on_floating(log, body, [*map(loaded, looked_at.segments)], looked_at.times)
    elif not log.is_commanded:  # a law's torques are in its own units, and those are looked at with its gains
        sizes = findings_on_magnitudes(model, [*map(loaded, looked_at.segments)], drive, ready.processing.unmeasured)
    findings = (*noticed, *sizes, *ready.findings, *findings_on_samples(log, looked_at, model))
    return replace(ready, findings=findings, weight=log.weight)


def _with_body(
    log: Log | StoredLog, model: DynamicModel, processing: Processing
) -> tuple[Log | StoredLog, FloatingBody | None]:
    """A log that can be prepared, and what knows the whole robot, where it has a floating base or spherical joints.

    Velocities of these are derived from positions.

    Raises:
        InvalidRequestError: If it is of another robot, or periods are to be averaged; what `FloatingBody.require_log`
            refuses, too.
    """
    if not model.robot.has_quaternions:
        if isinstance(log, Log):
            require_fixed(model.robot, log)
        return log, None
    if processing.period is not None:
        raise InvalidRequestError("periods of a floating base are not averaged; leave processing.period out")
    log, body = log if isinstance(log, Log) else log[:], FloatingBody(model)
    body.require_log(log)
    return replace(log, velocity=None, position=body.with_steady_joints(log.position)), body


def stated_processing(processing: Processing, drive: Drive, robot: Robot) -> Processing:
    """The processing as stated, with one velocity threshold for each joint, and the drives that measured nothing."""
    threshold = processing.velocity_threshold
    if threshold is not None and not isinstance(threshold, tuple):
        threshold = (threshold,) * len(robot.axes)
    check_count("processing.velocity_threshold", threshold, robot)
    unmeasured = tuple(robot.joint(name).name for name in drive.unmeasured or ())
    return processing.but(velocity_threshold=threshold, unmeasured=unmeasured)


def findings_on_log(log: Log, drive: Drive, processing: Processing, timing: Timing | None = None) -> Iterator[Finding]:
    """What was noticed about a log, but for what its drives and processing explain.

    Args:
        log: The log.
        drive: Its drives.
        processing: What is done to it.
        timing: How its samples lie in time, where it is a part of a longer log.
    """
    noticed = log.findings
    if not log.source and not has(noticed, *TIMING) and len(log) > 1:  # files are looked at while they are read
        noticed = (*noticed, *findings_on_time(timing or check_time(log.time)))
    for finding in noticed:
        uneven = finding.code in ("time-gaps", "time-jitter")
        if finding.code == "positions-in-degrees" and drive.positions == "motor":
            continue  # motors turn many times: what looks like degrees on their side is none
        if uneven and processing.period is not None:
            continue  # periods are averaged at even times
        if uneven and processing.resample is not None:
            yield Finding.of(f"{finding.code}-resampled", "time", **finding.values, resample=processing.resample)
        elif finding.code == "time-gaps" and (timing or check_time(log.time)).is_even_between_gaps:
            yield Finding.of("time-gaps-split", "time", **finding.values)
        else:
            yield finding


def _free(processing: Processing, drive: Drive) -> frozenset[str]:
    """What is chosen by what a log shows."""
    free = processing.free()
    if "delay" in drive.model_fields_set:
        free -= {"delay"}
    return free if drive.unmeasured is None else free - {"unmeasured"}


def _of_periods(log: Log, robot: Robot, drive: Drive, stated: Processing) -> PreparedLog:
    """The mean period of a log, which has no ends to be trimmed and is even."""
    mean = averaged(log, stated.period or 0.0)
    processing = stated.but(trim=0, resample=None)
    segments = processed_period(mean, transmission_of(drive, robot), processing, drive.delay)
    time = mean.log.time
    rate = 1.0 / (time[1] - time[0])
    stamps = log.time[0] + time[:: step_of(rate, processing.rate)][: len(segments[0])]
    names = [joint.name for joint in robot.independent_joints]
    notes = mean.findings(names, drive.torques, "A" if drive.torque_constants is not None else "N m or N")
    return PreparedLog(tuple(segments), (stamps,), processing, rate, drive.delay, notes)


def _require_temperature(log: Log | StoredLog, model: DynamicModel, processing: Processing) -> None:
    """Refuse a log without the temperatures that a term needs."""
    if not any(term.needs_temperature for term in model.terms):
        return
    if log[0:1].temperature is None:
        where = f" of {log.source[0]}" if log.source else ""
        raise InvalidRequestError(
            f"the term viscous_temperature needs temperatures, and the log{where} has none; add "
            'temperature = { file = "...", columns = "..." } to it, or use viscous'
        )
    if processing.period is not None:
        raise InvalidRequestError(
            "periods are averaged over different temperatures, and viscous_temperature needs them apart; leave "
            "processing.period out, or use viscous"
        )


def _with_temperature(ready: PreparedLog, log: Log, robot: Robot) -> PreparedLog:
    """The log with temperatures of the joints at its samples."""
    values = log.temperature
    assert values is not None  # it was refused otherwise
    segments = []
    for segment, times in zip(ready.segments, ready.times, strict=True):
        at = np.column_stack([np.interp(times[:], log.time, column) for column in values.T])
        segments.append(
            replace(loaded(segment), temperature=np.ascontiguousarray(np.broadcast_to(at, (len(at), robot.nv))))
        )
    return replace(ready, segments=tuple(segments))


@dataclass(frozen=True)
class SampleThresholds:
    """Which logged samples are remarked."""

    saturated_share: float = 0.02
    """Share of samples at one and the same extreme torque from which it looks like a limit: a torque that turns round
    stays at its extreme for one sample. Shown by `tests/identification/test_diagnosis.py`: 11 % of the saturated log,
    none of the good ones."""

    piled_up: float = 3.0
    """How many times more samples must be at the extreme than at the value next to it: torques in coarse steps have
    many samples at each. Shown by the coarse steps of `benchmarks/verdict_sweep.py`."""

    coarse_step: float = 0.1
    """Step of logged torques, relative to their standard deviation, from which it matters: errors are uniform then,
    within half a step, and follow the motion. By judgement; in `benchmarks/verdict_sweep.py` steps of 0.3 put
    parameters outside their intervals."""

    beyond_limits: float = 0.01
    """How far [rad or m] positions may exceed the limits of the file: limits are rounded, and filters overshoot. By
    judgement; not calibrated."""


THRESHOLDS = SampleThresholds()


def findings_on_samples(log: Log, prepared: PreparedLog, model: DynamicModel) -> tuple[Finding, ...]:
    """Findings on logged torques that are constant or saturated, and on positions beyond the robot's limits.

    Args:
        log: The log as it was logged: filters, delays and drives hide constant torques.
        prepared: The same log, ready for the model.
        model: The model.
    """
    found: list[Finding] = []
    for joint, torque in zip(
        [joint.name for joint in model.robot.axes], _driven_torques(log, model.robot).T, strict=True
    ):
        if joint not in prepared.processing.unmeasured:
            found += _on_torque(f"joint '{joint}'", torque)
    for joint in model.robot.independent_joints:
        found += _beyond_limits(joint, [chunk.q[:, joint.q] for chunk in map(loaded, prepared.segments) if len(chunk)])
    return tuple(found)


def _driven_torques(log: Log, robot: Robot) -> Array:
    """Torques of the joints of one axis, shape (samples, axes); none where a log has none."""
    if not log.has_torques:
        return np.zeros((0, len(robot.axes)))
    return log.torque[:, [joint.v.start - (robot.nv - log.torque.shape[1]) for joint in robot.axes]]


def findings_on_rest(model: DynamicModel, logs: Sequence[PreparedLog]) -> tuple[Finding, ...]:
    """Findings on joints that move in none of the logs."""
    if not logs:
        return ()
    found = Speeds.joined([log.motion.everywhere for log in logs])
    moves = found.highest > found.lowest
    still = [joint.name for joint in model.robot.axes if not moves[joint.v].any()]
    return tuple(Finding.of("joint-never-moves", f"joint '{joint}'") for joint in still)


def _on_torque(subject: str, torque: Array) -> Iterator[Finding]:
    torque = np.ascontiguousarray(torque)
    if not len(torque):
        return
    largest, smallest = torque.max(), torque.min()
    if largest == smallest:
        yield Finding.of("torque-constant", subject, torque=float(torque[0]), samples=len(torque))
        return
    step, size = _smallest_step(torque), float(torque.std())
    if step > THRESHOLDS.coarse_step * size:
        yield Finding.of("torque-quantised", subject, step=step, share=step / size)
    for extreme in (largest, smallest):
        share = np.count_nonzero(torque == extreme) / len(torque)
        if share >= THRESHOLDS.saturated_share and extreme != 0.0 and _piles_up(torque, extreme, share):
            yield Finding.of("torque-saturated", subject, share=share, torque=float(extreme))


def _smallest_step(torque: Array) -> float:
    """Smallest difference between two values of a torque; a part of a long log shows it."""
    values = np.unique(torque[:: max(1, len(torque) // 20_000)])
    return float(np.diff(values).min())


def _piles_up(torque: Array, extreme: float, share: float) -> bool:
    """Whether far more samples are at an extreme than at the next value: in coarse steps, many share every value."""
    below = torque[torque != extreme]
    following = below.max() if extreme > below.max() else below.min()
    return share > THRESHOLDS.piled_up * np.count_nonzero(torque == following) / len(torque)


def _beyond_limits(joint: Joint, positions: Sequence[Array]) -> Iterator[Finding]:
    """Positions that the joint cannot reach: most often another unit, offset, sign or order of columns."""
    lower, upper, room = joint.limits.lower, joint.limits.upper, THRESHOLDS.beyond_limits
    if joint.kind.nq != 1 or not lower < upper or not positions:
        return
    smallest = min(float(each.min()) for each in positions)
    largest = max(float(each.max()) for each in positions)
    if smallest < lower - room or largest > upper + room:
        beyond = sum(np.count_nonzero((each < lower - room) | (each > upper + room)) for each in positions)
        yield Finding.of(
            "positions-beyond-limits",
            f"joint '{joint.name}'",
            share=beyond / sum(map(len, positions)),
            smallest=smallest,
            largest=largest,
            lower=lower,
            upper=upper,
        )
