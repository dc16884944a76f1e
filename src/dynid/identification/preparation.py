"""Logs of an experiment made ready for its model: one way for all who need their samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dynid.arrays import frozen
from dynid.errors import InvalidRequestError
from dynid.experiment.experiment import Experiment
from dynid.findings import Finding, Severity, prose
from dynid.logs.drive import check_count, transmission_of
from dynid.logs.log import Log
from dynid.logs.processing.automatic import Choice, PreparedLog, prepared
from dynid.logs.processing.periods import PeriodMean, averaged, processed_period
from dynid.logs.processing.states import step_of
from dynid.logs.readers.source import Progress, silent
from dynid.logs.settings import LogSource, Processing
from dynid.logs.sources import read_source
from dynid.model.dynamic_model import DynamicModel
from dynid.robot.robot import Robot

FILTERS = frozenset(("lowpass", "trim", "decimate", "velocity_threshold"))
"""What a log takes over from another that was processed before it."""


def prepared_log(
    experiment: Experiment,
    log: LogSource,
    model: DynamicModel,
    progress: Progress = silent,
    like: Processing | None = None,
) -> tuple[PreparedLog, tuple[Finding, ...]]:
    """A log made ready for the model, and what was noticed and chosen on the way.

    Periods are averaged first where the experiment states one; then, and where torques have no signs, nothing is chosen
    automatically.

    Args:
        experiment: The experiment.
        log: One of its logs, or one like them.
        model: The model.
        progress: Is told each step in a few words.
        like: What was done to another log, whose filters are to be used again where the experiment states none.
    """
    check_drives(experiment, log, model.robot)
    recording = read_source(log, model.robot, progress)
    progress("Looking at the signals")
    if experiment.processing.period is not None:
        ready, notes = _of_periods(experiment, log, recording, model.robot)
    else:
        processing, free = processing_of(experiment, model.robot), _free(experiment)
        if like is not None:
            again = free & FILTERS
            processing = processing.but(**{key: getattr(like, key) for key in again})
            free -= again
        ready = prepared(
            recording, transmission_of(experiment.drive, model.robot), processing, model, experiment.drive.delay, free
        )
        notes = tuple(_finding(choice) for choice in ready.choices)
    ready = replace(ready, temperature=recording.mean_temperature)
    if any(term.needs_temperature for term in model.terms):
        ready = _with_temperature(ready, experiment, log, recording, model.robot)
    return ready, (*that_still_hold(recording.findings, experiment, ready.processing), *notes)


def _with_temperature(
    ready: PreparedLog, experiment: Experiment, log: LogSource, recording: Log, robot: Robot
) -> PreparedLog:
    """The log with temperatures of the joints at its samples."""
    values = recording.temperature
    if values is None:
        raise InvalidRequestError(
            f"the term viscous_temperature needs temperatures, and the log of {log.position.file} states none; add "
            'temperature = { file = "...", columns = "..." } to it, or use viscous'
        )
    if experiment.processing.period is not None:
        raise InvalidRequestError(
            "periods are averaged over different temperatures, and viscous_temperature needs them apart; leave "
            "processing.period out, or use viscous"
        )
    segments = []
    for segment, times in zip(ready.segments, ready.times, strict=True):
        at = np.column_stack([np.interp(times, recording.time, column) for column in values.T])
        segments.append(replace(segment, temperature=np.ascontiguousarray(np.broadcast_to(at, (len(at), robot.nv)))))
    return replace(ready, segments=tuple(segments))


def even_recording(experiment: Experiment, log: LogSource, robot: Robot) -> Log:
    """What was logged; the mean period where the experiment averages."""
    recording = read_source(log, robot)
    period = experiment.processing.period
    return recording if period is None else averaged(recording, period).log


def _free(experiment: Experiment) -> frozenset[str]:
    """What is chosen by what a log shows; nothing where torques have no signs, which a choice would need."""
    if experiment.torque == "magnitude":
        return frozenset()
    free = experiment.processing.free()
    if "delay" in experiment.drive.model_fields_set:
        free -= {"delay"}
    return free if experiment.drive.unmeasured is None else free - {"unmeasured"}


def _of_periods(
    experiment: Experiment, log: LogSource, recording: Log, robot: Robot
) -> tuple[PreparedLog, tuple[Finding, ...]]:
    """The mean period of a log, which has no ends to be trimmed and is even."""
    mean: PeriodMean = averaged(recording, experiment.processing.period or 0.0)
    processing = processing_of(experiment, robot).but(trim=0, resample=None)
    segments = processed_period(mean, transmission_of(experiment.drive, robot), processing, experiment.drive.delay)
    time = mean.log.time
    rate = 1.0 / (time[1] - time[0])
    stamps = frozen(recording.time[0] + time[:: step_of(rate, processing.rate)][: len(segments[0])])
    names = [joint.name for joint in robot.independent_joints]
    notes = mean.findings(names, experiment.drive.torques, str(log.torque.unit or "N m"))
    return PreparedLog(tuple(segments), (stamps,), processing, rate, experiment.drive.delay, ()), notes


def check_drives(experiment: Experiment, log: LogSource, robot: Robot) -> None:
    """Refuse a robot whose logs cannot be read, and units that do not fit the drives."""
    if any(joint.kind.nq > 1 for joint in robot.joints):
        raise InvalidRequestError(
            f"'{robot.name}' has a floating base or spherical joints, whose logs cannot be read yet; lock them"
        )
    in_amperes = log.torque.unit == "A"
    if in_amperes != (experiment.drive.torque_constants is not None):
        wrong = "currents need drive.torque_constants" if in_amperes else "drive.torque_constants are for currents"
        raise InvalidRequestError(f"{wrong}: the unit of torque is '{log.torque.unit or 'N m'}' in {log.torque.file}")


def _finding(choice: Choice) -> Finding:
    """A choice as a finding: a note, but for missing signals, which are worth a warning."""
    if choice.key == "unmeasured":
        return prose(Severity.WARNING, "drive.unmeasured", choice.text)
    table = "drive" if choice.key == "delay" else "processing"
    return prose(Severity.NOTE, f"{table}.{choice.key}", choice.text)


def that_still_hold(findings: Sequence[Finding], experiment: Experiment, processing: Processing) -> Iterator[Finding]:
    """Findings on a recording, but for those that the experiment itself answers."""
    for finding in findings:
        if finding.subject == "positions" and experiment.drive.positions == "motor":
            continue  # motors turn many times: what looks like degrees on their side is none
        if finding.subject == "time" and experiment.processing.period is not None:
            continue  # periods are averaged at even times
        if finding.subject == "time" and processing.resample is not None:
            text = finding.text.partition(" Resample")[0].partition("; resample")[0]
            yield prose(Severity.NOTE, "time", f"{text.rstrip('.')}; resampled to {processing.resample:g} Hz")
        else:
            yield finding


def processing_of(experiment: Experiment, robot: Robot) -> Processing:
    """The processing that an experiment states, with one velocity threshold for each joint."""
    stated = experiment.processing
    threshold = stated.velocity_threshold
    if threshold is not None and not isinstance(threshold, tuple):
        threshold = (threshold,) * robot.nv
    check_count("processing.velocity_threshold", threshold, robot)
    unmeasured = tuple(robot.joint(name).name for name in experiment.drive.unmeasured or ())
    return stated.but(velocity_threshold=threshold, unmeasured=unmeasured)
