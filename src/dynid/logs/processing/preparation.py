"""Logs made ready for a model: one way for all who need their samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dynid.arrays import frozen
from dynid.errors import InvalidRequestError
from dynid.findings import Finding, Severity, prose
from dynid.logs.drive import check_count, transmission_of
from dynid.logs.log import Log
from dynid.logs.log_findings import findings_on_samples
from dynid.logs.processing.automatic import Choice, PreparedLog, prepared
from dynid.logs.processing.periods import averaged, processed_period
from dynid.logs.processing.states import step_of
from dynid.logs.readers.source import Progress, silent
from dynid.logs.settings import Drive, Processing
from dynid.model.dynamic_model import DynamicModel
from dynid.robot.robot import Robot

FILTERS = frozenset(("lowpass", "trim", "decimate", "velocity_threshold"))
"""What a log takes over from another that was processed before it."""


def prepare(
    log: Log,
    model: DynamicModel,
    drive: Drive,
    processing: Processing,
    *,
    choose: bool = True,
    like: Processing | None = None,
    progress: Progress = silent,
) -> PreparedLog:
    """Make a log ready for the model: on the joint side, filtered, with derivatives.

    Periods are averaged first where that is asked for; then nothing is chosen automatically.

    Args:
        log: The log.
        model: The model.
        drive: From motors to joints.
        processing: What is stated about processing.
        choose: Whether what is not stated is chosen by what the log shows; not where torques have no signs.
        like: What was done to another log, whose filters are to be used again where none are stated.
        progress: Callback; receives a short description of each step.
    """
    progress("Processing signals")
    robot = model.robot
    stated = resolved(processing, drive, robot)
    if processing.period is not None:
        ready, notes = _of_periods(log, robot, drive, stated)
    else:
        free = _free(drive, processing) if choose else frozenset[str]()
        if like is not None:
            again = free & FILTERS
            stated = stated.but(**{key: getattr(like, key) for key in again})
            free -= again
        ready = prepared(log, transmission_of(drive, robot), stated, model, drive.delay, free)
        notes = tuple(_finding(choice) for choice in ready.choices)
    ready = replace(ready, temperature=log.mean_temperature, weight=log.weight)
    if any(term.needs_temperature for term in model.terms):
        ready = _with_temperature(ready, log, robot, processing)
    found = (*that_still_hold(log.findings, drive, ready.processing, processing.period), *notes)
    return replace(ready, findings=(*found, *findings_on_samples(log, ready, model)))


def resolved(processing: Processing, drive: Drive, robot: Robot) -> Processing:
    """The processing with one velocity threshold for each joint, and the joints whose torque was not measured."""
    threshold = processing.velocity_threshold
    if threshold is not None and len(threshold) == 1:
        threshold *= robot.nv
    check_count("processing.velocity_threshold", threshold, robot)
    unmeasured = tuple(robot.joint(name).name for name in drive.unmeasured or ())
    return processing.but(velocity_threshold=threshold, unmeasured=unmeasured)


def _with_temperature(ready: PreparedLog, log: Log, robot: Robot, processing: Processing) -> PreparedLog:
    """The log with temperatures of the joints at its samples."""
    values = log.temperature
    if values is None:
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
    segments = []
    for segment, times in zip(ready.segments, ready.times, strict=True):
        at = np.column_stack([np.interp(times, log.time, column) for column in values.T])
        segments.append(replace(segment, temperature=np.ascontiguousarray(np.broadcast_to(at, (len(at), robot.nv)))))
    return replace(ready, segments=tuple(segments))


def _free(drive: Drive, processing: Processing) -> frozenset[str]:
    """What is chosen by what a log shows."""
    free = processing.free()
    if "delay" in drive.model_fields_set:
        free -= {"delay"}
    return free if drive.unmeasured is None else free - {"unmeasured"}


def _of_periods(
    log: Log, robot: Robot, drive: Drive, processing: Processing
) -> tuple[PreparedLog, tuple[Finding, ...]]:
    """The mean period of a log, which has no ends to be trimmed and is even."""
    mean = averaged(log, processing.period or 0.0)
    processing = processing.but(trim=0, resample=None)
    segments = processed_period(mean, transmission_of(drive, robot), processing, drive.delay)
    time = mean.log.time
    rate = 1.0 / (time[1] - time[0])
    stamps = frozen(log.time[0] + time[:: step_of(rate, processing.rate)][: len(segments[0])])
    names = [joint.name for joint in robot.independent_joints]
    unit = "N m" if drive.torque_constants is None else "A"
    notes = mean.findings(names, drive.torques, unit)
    return PreparedLog(tuple(segments), (stamps,), processing, rate, drive.delay, ()), notes


def _finding(choice: Choice) -> Finding:
    """A choice as a finding: a note, but for missing signals, which are worth a warning."""
    if choice.key == "unmeasured":
        return prose(Severity.WARNING, "drive.unmeasured", choice.text)
    table = "drive" if choice.key == "delay" else "processing"
    return prose(Severity.NOTE, f"{table}.{choice.key}", choice.text)


def that_still_hold(
    findings: Sequence[Finding], drive: Drive, processing: Processing, period: float | None
) -> Iterator[Finding]:
    """Findings on a recording, but for those that the settings answer."""
    for finding in findings:
        if finding.subject == "positions" and drive.positions == "motor":
            continue  # motors turn many times: what looks like degrees on their side is none
        if finding.subject == "time" and period is not None:
            continue  # periods are averaged at even times
        if finding.subject == "time" and processing.resample is not None:
            text = finding.text.partition(" Resample")[0].partition("; resample")[0]
            yield prose(Severity.NOTE, "time", f"{text.rstrip('.')}; resampled to {processing.resample:g} Hz")
        else:
            yield finding
