"""Identification as a recipe: from an experiment to parameters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from dynid.config import Experiment, LogTable
from dynid.data.automatic import Choice, Prepared, prepared
from dynid.data.chunks import split
from dynid.data.drive import Drive
from dynid.data.factors import Factors
from dynid.data.processing import Processing, factors_of
from dynid.data.readers.source import Progress, silent
from dynid.errors import InvalidRequestError
from dynid.estimation import (
    Estimate,
    PhysicalEstimate,
    Physics,
    cross_validated,
    essential_parameters,
    physical_estimate,
)
from dynid.estimation.bootstrap import Bootstrap
from dynid.estimation.least_squares import NotIdentifiableError
from dynid.estimation_steps import bootstrapped, diagnosed, estimated
from dynid.findings import Finding, Severity
from dynid.found_signs import findings_on_signs, signs_in, with_signs
from dynid.identification_findings import (
    findings_on_bootstrap,
    findings_on_estimate,
    findings_on_physical,
    findings_on_samples,
)
from dynid.log_quantities import recording_of
from dynid.model.base_parameters import BaseParameters, find_base_parameters
from dynid.model.dynamic_model import DynamicModel
from dynid.model.terms import parse_terms
from dynid.physics import findings_on_references, physics_of
from dynid.residual_diagnostics import JointDiagnostics, findings_on_residuals
from dynid.robot.loading import load_robot
from dynid.robot.robot import Robot
from dynid.threads import single_threaded_blas

FOLDS = 5
"""Parts of a log that cross-validation predicts in turn from the others."""


@dataclass(frozen=True, eq=False)
class Identification:
    """What an experiment told.

    Attributes:
        base: The base parameters, with their model and robot.
        logs: All that estimation needs of each log.
        estimate: Values with uncertainties.
        essential: The same for the essential ones of the parameters only.
        physical: Links and joints that can exist; None where the experiment does without.
        bootstrap: Deviations that do not assume white errors; None where there are too few blocks of time.
        diagnostics: What the residuals of the longest log are like.
        processing: What was done to each log that was read, as stated or chosen.
        signs: Signs of the drives, as stated or found; None where they are all +1.
        sampling: Samples a second [Hz] of each log that was read, before rows are thinned out.
        findings: What users should know about the logs and the estimate.
        samples: Number of samples after processing.
        seconds: How long it took [s].
    """

    base: BaseParameters
    logs: tuple[Factors, ...]
    estimate: Estimate
    essential: Estimate
    physical: PhysicalEstimate | None
    bootstrap: Bootstrap | None
    diagnostics: tuple[JointDiagnostics, ...]
    processing: tuple[Processing, ...]
    sampling: tuple[float, ...]
    signs: tuple[int, ...] | None
    findings: tuple[Finding, ...]
    samples: int
    seconds: float


def identify(
    experiment: Experiment, progress: Callable[[str], None] = lambda _: None, earlier: Sequence[Factors] = ()
) -> Identification:
    """Identify a robot's base parameters, and physical parameters of its links and joints.

    Args:
        experiment: The experiment.
        progress: Is told each step in a few words.
        earlier: Factors of logs that were read before, for the same model.
    """
    start = time.perf_counter()
    progress("Looking for what can be known")
    model = model_of(experiment)
    base = find_base_parameters(model, known=experiment.known)
    physics = physics_of(experiment, model)
    findings: list[Finding] = list(base.findings())
    parts: list[Factors] = list(earlier)
    folds: list[Factors] = list(earlier)
    if experiment.drive.signs == "auto":
        progress("Looking for the signs of drives")
        experiment, notes = _with_found_signs(experiment, base)
        findings += notes
    ready_logs: list[Prepared] = []
    samples = 0
    for k, log in enumerate(experiment.log, start=1):
        progress(f"Reading log {k} of {len(experiment.log)}")
        ready, notes = prepared_log(experiment, log, model, progress)
        segments, processing = ready.segments, ready.processing
        findings += (*notes, *findings_on_samples(model, segments))
        samples += sum(map(len, segments))
        ready_logs.append(ready)
        progress(f"Reducing log {k} of {len(experiment.log)}")
        parts.append(factors_of(model, segments, processing).weighted(log.weight))
        if experiment.physical.weight == "cross-validation":
            folds += [factors_of(model, part, processing).weighted(log.weight) for part in split(segments, FOLDS)]
    progress("Estimating")
    try:
        with single_threaded_blas():
            estimate, parts, scales, notes = estimated(experiment, ready_logs, parts, base, progress)
            findings += notes
            essential = essential_parameters(parts, base, experiment.estimation.essential_ratio)
            physical = _physical(experiment, physics, base, parts, folds, estimate, progress)
    except NotIdentifiableError as error:
        noticed = next((f"{finding.subject}: {finding.text}" for finding in findings), "")
        raise NotIdentifiableError(error.names, error.rows, error.problem, noticed) from error
    findings += findings_on_estimate(estimate, model.robot)
    progress("Looking at what is left")
    bootstrap = None if earlier else bootstrapped(experiment, ready_logs, parts, base, estimate, scales)
    diagnostics = diagnosed(experiment, ready_logs, base, estimate)
    findings += (*findings_on_bootstrap(estimate, bootstrap), *findings_on_residuals(diagnostics))
    if physical is not None:
        findings += (*findings_on_references(physics, model), *findings_on_physical(physical, estimate))
    return Identification(
        base=base,
        logs=tuple(parts),
        estimate=estimate,
        essential=essential,
        physical=physical,
        bootstrap=bootstrap,
        diagnostics=diagnostics,
        processing=tuple(log.processing for log in ready_logs),
        sampling=tuple(log.sampling for log in ready_logs),
        signs=experiment.drive.signs if experiment.drive.signs != "auto" else None,
        findings=tuple(findings),
        samples=samples,
        seconds=time.perf_counter() - start,
    )


def _with_found_signs(experiment: Experiment, base: BaseParameters) -> tuple[Experiment, tuple[Finding, ...]]:
    """The experiment with the signs of its drives, found in its first log."""
    log, model = experiment.log[0], base.model
    ready, _ = prepared_log(experiment, log, model)
    found = signs_in(recording_of(log, model.robot), drive_of(experiment, model.robot), ready, base)
    signs = tuple(int(sign) for sign in found.signs)
    return with_signs(experiment, signs), findings_on_signs(found, ready, base)


def _physical(
    experiment: Experiment,
    physics: Physics,
    base: BaseParameters,
    logs: Sequence[Factors],
    folds: Sequence[Factors],
    estimate: Estimate,
    progress: Callable[[str], None],
) -> PhysicalEstimate | None:
    if not experiment.physical.fit:
        return None
    method = experiment.estimation.method
    if experiment.physical.weight == "cross-validation":
        progress("Weighing the prior by cross-validation")
        physics, _ = cross_validated(folds, base, physics, method)
    progress("Making links physical")
    return physical_estimate(logs, base, physics, estimate, method)


def model_of(experiment: Experiment) -> DynamicModel:
    """The model that an experiment is about."""
    robot = load_robot(
        experiment.robot,
        lock=experiment.lock,
        gravity=experiment.gravity,
    )
    return DynamicModel(robot, parse_terms(experiment.terms, robot))


def prepared_log(
    experiment: Experiment,
    log: LogTable,
    model: DynamicModel,
    progress: Progress = silent,
    like: Processing | None = None,
) -> tuple[Prepared, tuple[Finding, ...]]:
    """A log made ready for the model, and what was noticed and chosen on the way.

    Args:
        experiment: The experiment.
        log: One of its logs, or one like them.
        model: The model.
        progress: Is told each step in a few words.
        like: What was done to another log, whose filters are to be used again where the experiment states none.
    """
    robot = model.robot
    if any(joint.kind.nq > 1 for joint in robot.joints):
        raise InvalidRequestError(
            f"'{robot.name}' has a floating base or spherical joints, whose logs cannot be read yet; lock them"
        )
    in_amperes = log.torque.unit == "A"
    if in_amperes != (experiment.drive.torque_constants is not None):
        wrong = "currents need drive.torque_constants" if in_amperes else "drive.torque_constants are for currents"
        raise InvalidRequestError(f"{wrong}: the unit of torque is '{log.torque.unit or 'N m'}' in {log.torque.file}")
    recording = recording_of(log, robot, progress)
    free = experiment.processing.free()
    if "delay" in experiment.drive.model_fields_set:
        free -= {"delay"}
    if experiment.drive.unmeasured is not None:
        free -= {"unmeasured"}
    processing = processing_of(experiment, robot)
    if like is not None:
        again = free & {"lowpass", "torque_lowpass", "trim", "decimate", "velocity_threshold"}
        processing = replace(processing, **{key: getattr(like, key) for key in again})
        free -= again
    progress("Looking at the signals")
    ready = prepared(
        recording,
        drive_of(experiment, robot),
        processing,
        model,
        experiment.drive.delay,
        free,
    )
    chosen = [_finding(choice) for choice in ready.choices]
    return ready, (*_that_still_hold(recording.findings, experiment, ready.processing), *chosen)


def _finding(choice: Choice) -> Finding:
    """A choice as a finding: a note, but for missing signals, which are worth a warning."""
    if choice.key == "unmeasured":
        return Finding(Severity.WARNING, "drive.unmeasured", choice.text)
    table = "drive" if choice.key == "delay" else "processing"
    return Finding(Severity.NOTE, f"{table}.{choice.key}", choice.text)


def _that_still_hold(findings: Sequence[Finding], experiment: Experiment, processing: Processing) -> Iterator[Finding]:
    """Findings on a recording, but for those that the experiment itself answers."""
    for finding in findings:
        if finding.subject == "positions" and experiment.drive.positions == "motor":
            continue  # motors turn many times: what looks like degrees on their side is none
        if finding.subject == "time" and processing.resample is not None:
            text = finding.text.partition(" Resample")[0].partition("; resample")[0]
            yield Finding(Severity.NOTE, "time", f"{text.rstrip('.')}; resampled to {processing.resample:g} Hz")
        else:
            yield finding


def drive_of(experiment: Experiment, robot: Robot) -> Drive:
    """The drives that an experiment states; one to one where it states none."""
    table = experiment.drive
    for key in ("ratios", "matrix", "torque_constants", "signs", "offsets"):
        values = getattr(table, key)
        _check_count(f"drive.{key}", None if values == "auto" else values, robot)
    constants = list(table.torque_constants or (1.0,) * robot.nv)
    for k, sign in enumerate(table.signs or () if table.signs != "auto" else ()):
        constants[k] *= sign
    return Drive.of(
        table.matrix or table.ratios or (1.0,) * robot.nv,
        [
            (robot.joint(coupling.motor).v.start, robot.joint(coupling.joint).v.start, coupling.ratio)
            for coupling in table.couplings
        ],
        constants,
        table.offsets,
        positions_at_motor=table.positions == "motor",
        torques_at_motor=table.torques == "motor",
    )


def _check_count(key: str, values: Sequence[float] | None, robot: Robot) -> None:
    if values is not None and len(values) != robot.nv:
        raise InvalidRequestError(f"{key} has {len(values)} numbers, and '{robot.name}' has {robot.nv} joints")


def processing_of(experiment: Experiment, robot: Robot) -> Processing:
    """The processing that an experiment states, with one velocity threshold for each joint."""
    settings = experiment.processing.model_dump(exclude={"automatic", "outliers", "idle"})
    settings |= {key: None for key, value in settings.items() if value == "none"}
    threshold = settings.pop("velocity_threshold")
    if threshold is not None and not isinstance(threshold, tuple):
        threshold = (threshold,) * robot.nv
    _check_count("processing.velocity_threshold", threshold, robot)
    unmeasured = tuple(robot.joint(name).name for name in experiment.drive.unmeasured or ())
    return Processing(**settings, velocity_threshold=threshold, unmeasured=unmeasured)
