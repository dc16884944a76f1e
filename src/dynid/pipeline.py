"""Identification as a recipe: from an experiment to parameters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dynid.config import Experiment, LogTable, QuantityTable
from dynid.data.chunks import Chunk, split
from dynid.data.drive import Drive
from dynid.data.factors import Factors
from dynid.data.periods import averaged, processed_period
from dynid.data.processing import Processing, factors_of, processed
from dynid.data.recording import Quantity, Recording, read_recording
from dynid.errors import InvalidRequestError
from dynid.estimation import (
    Estimate,
    PhysicalEstimate,
    Physics,
    Prior,
    cross_validated,
    essential_parameters,
    ordinary_least_squares,
    physical_estimate,
    weighted_least_squares,
)
from dynid.estimation.least_squares import NotIdentifiableError, merge_logs
from dynid.feasibility.cone_program import SolverError
from dynid.findings import Finding, Severity
from dynid.identification_findings import findings_on_estimate, findings_on_samples
from dynid.missing_friction import findings_on_friction, probed, without_probes
from dynid.model.base_parameters import BaseParameters, find_base_parameters
from dynid.model.dynamic_model import DynamicModel
from dynid.model.terms import parse_terms
from dynid.physical_findings import findings_on_physical, findings_on_references, findings_on_weight
from dynid.physics import physics_of
from dynid.robot.loading import load_robot
from dynid.robot.robot import Robot
from dynid.threads import single_threaded_blas
from dynid.unsigned import SignedLogs, with_signs

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
        findings: What users should know about the logs and the estimate.
        samples: Number of samples after processing.
        seconds: How long it took [s].
        signs: The signs of torques that were logged without; None where they had them.
    """

    base: BaseParameters
    logs: tuple[Factors, ...]
    estimate: Estimate
    essential: Estimate
    physical: PhysicalEstimate | None
    findings: tuple[Finding, ...]
    samples: int
    seconds: float
    signs: SignedLogs | None = None


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
    processing = processing_of(experiment, model.robot)
    physics = physics_of(experiment, model) if experiment.physical.fit else None
    findings: list[Finding] = list(base.findings())
    parts: list[Factors] = list(earlier)
    folds: list[Factors] = list(earlier)
    with_probes, probes = probed(model), list[Factors]()
    samples = 0
    signs = _with_signs(experiment, base, progress) if experiment.torque == "magnitude" else None
    findings += () if signs is None else signs.findings
    for k, log in enumerate(experiment.log, start=1):
        progress(f"Reading log {k} of {len(experiment.log)}")
        segments, notes = segments_of(experiment, log, model.robot) if signs is None else (signs.logs[k - 1], ())
        findings += (*notes, *findings_on_samples(model, segments))
        samples += sum(map(len, segments))
        progress(f"Reducing log {k} of {len(experiment.log)}")
        probes.append(factors_of(with_probes, segments, processing).weighted(log.weight))
        parts.append(without_probes(probes[-1], model))
        if experiment.physical.weight == "cross-validation":
            folds += [factors_of(model, part, processing).weighted(log.weight) for part in split(segments, FOLDS)]
    progress("Estimating")
    try:
        with single_threaded_blas():
            estimate = _estimate(experiment, parts, base)
            essential = essential_parameters(parts, base, experiment.estimation.essential_ratio)
    except NotIdentifiableError as error:
        noticed = next((f"{finding.subject}: {finding.text}" for finding in findings), "")
        raise NotIdentifiableError(error.names, error.rows, error.problem, noticed) from error
    findings += (*findings_on_estimate(estimate, model.robot), *findings_on_friction(probes, base))
    physical = None
    if physics is not None:
        with single_threaded_blas():
            physical, notes = _physical(experiment, physics, base, (parts, folds), estimate)
        findings += notes
    return Identification(
        base, tuple(parts), estimate, essential, physical, tuple(findings), samples, time.perf_counter() - start, signs
    )


def _physical(
    experiment: Experiment,
    physics: Physics,
    base: BaseParameters,
    data: tuple[Sequence[Factors], Sequence[Factors]],
    estimate: Estimate,
) -> tuple[PhysicalEstimate | None, tuple[Finding, ...]]:
    """Links that can exist, from logs and, for cross-validation, their parts; or a finding on why there are none."""
    method, (logs, folds) = experiment.estimation.method, data
    notes = findings_on_references(physics, base.model)
    try:
        if experiment.physical.weight == "cross-validation":
            physics, errors = cross_validated(folds, base, physics, method)
            notes += findings_on_weight(physics.prior.weight, errors)
        physical = physical_estimate(logs, base, physics, _without_prior(logs, base, estimate), method)
    except SolverError as error:
        return None, (*notes, Finding(Severity.ERROR, "physical links", str(error)))
    return physical, (*notes, *findings_on_physical(physical, estimate))


def _without_prior(logs: Sequence[Factors], base: BaseParameters, estimate: Estimate) -> Estimate:
    """What the data say by themselves; the estimate with its prior where they do not say all."""
    try:
        return weighted_least_squares(logs, base)
    except NotIdentifiableError:
        return estimate


def _estimate(experiment: Experiment, logs: Sequence[Factors], base: BaseParameters) -> Estimate:
    settings = experiment.estimation
    if settings.method == "ols":
        return ordinary_least_squares(merge_logs(logs), base)
    prior = None if settings.prior is None else Prior.near_reference(base, settings.prior)
    return weighted_least_squares(logs, base, prior=prior)


def model_of(experiment: Experiment) -> DynamicModel:
    """The model that an experiment is about."""
    robot = load_robot(
        experiment.robot,
        lock=experiment.lock,
        gravity=experiment.gravity,
    )
    return DynamicModel(robot, parse_terms(experiment.terms, robot))


def _with_signs(experiment: Experiment, base: BaseParameters, progress: Callable[[str], None]) -> SignedLogs:
    """The logs of an experiment whose torques have no signs, with signs, and all that was noticed."""
    robot = base.model.robot
    if experiment.processing.period is not None:
        raise InvalidRequestError("periods of torques without signs cannot be averaged; leave processing.period out")
    progress("Reading logs without signs")
    recordings = []
    for log in experiment.log:
        _check_drives(experiment, log, robot)
        recordings.append(recording_of(log, robot))
    progress("Recovering signs")
    signs = with_signs(
        base,
        physics_of(experiment, base.model),
        recordings,
        drive_of(experiment, robot),
        processing_of(experiment, robot),
        experiment.drive.delay,
        practice=experiment.discard_sign,
    )
    noticed = [finding for recording in recordings for finding in _that_still_hold(recording.findings, experiment)]
    return replace(signs, findings=(*noticed, *signs.findings))


def segments_of(experiment: Experiment, log: LogTable, robot: Robot) -> tuple[list[Chunk], tuple[Finding, ...]]:
    """The processed samples of a log, and what was noticed while reading it."""
    _check_drives(experiment, log, robot)
    recording = recording_of(log, robot)
    processing, drive, notes = processing_of(experiment, robot), drive_of(experiment, robot), recording.findings
    if experiment.processing.period is not None:
        mean = averaged(recording, experiment.processing.period)
        names = [joint.name for joint in robot.independent_joints]
        notes = (*notes, *mean.findings(names, experiment.drive.torques, log.torque.unit or "N m"))
        segments = processed_period(mean, drive, processing, experiment.drive.delay)
    else:
        segments = processed(recording, drive, processing, experiment.drive.delay)
    return segments, tuple(_that_still_hold(notes, experiment))


def _check_drives(experiment: Experiment, log: LogTable, robot: Robot) -> None:
    """Refuse a robot whose logs cannot be read, and units that do not fit the drives."""
    if any(joint.kind.nq > 1 for joint in robot.joints):
        raise InvalidRequestError(
            f"'{robot.name}' has a floating base or spherical joints, whose logs cannot be read yet; lock them"
        )
    in_amperes = log.torque.unit == "A"
    if in_amperes != (experiment.drive.torque_constants is not None):
        wrong = "currents need drive.torque_constants" if in_amperes else "drive.torque_constants are for currents"
        raise InvalidRequestError(f"{wrong}: the unit of torque is '{log.torque.unit or 'N m'}' in {log.torque.file}")


def recording_of(log: LogTable, robot: Robot) -> Recording:
    """What was logged, one column a joint."""
    recording = read_recording(
        _quantity(log.position, "rad", robot.nv),
        _quantity(log.torque, "N m", robot.nv),
        None if log.velocity is None else _quantity(log.velocity, "rad/s", robot.nv),
        None if log.time is None else _quantity(log.time, "s", 1),
        log.rate,
        log.rows,
        log.seconds,
    )
    if recording.q.shape[1] != robot.nv:
        joints = ", ".join(joint.name for joint in robot.independent_joints)
        raise InvalidRequestError(
            f"{log.position.file} has {recording.q.shape[1]} columns of positions, and '{robot.name}' has {robot.nv} "
            f"joints; name one column each for {joints}"
        )
    return recording


def _that_still_hold(findings: Sequence[Finding], experiment: Experiment) -> Iterator[Finding]:
    """Findings on a recording, but for those that the experiment itself answers."""
    for finding in findings:
        if finding.subject == "positions" and experiment.drive.positions == "motor":
            continue  # motors turn many times: what looks like degrees on their side is none
        if finding.subject == "time" and experiment.processing.period is not None:
            continue  # periods are averaged at even times
        if finding.subject == "time" and experiment.processing.resample is not None:
            text = finding.text.partition(" Resample")[0].partition("; resample")[0]
            yield Finding(
                Severity.NOTE, "time", f"{text.rstrip('.')}; resampled to {experiment.processing.resample:g} Hz"
            )
        else:
            yield finding


def drive_of(experiment: Experiment, robot: Robot) -> Drive:
    """The drives that an experiment states; one to one where it states none."""
    table = experiment.drive
    for key in ("ratios", "torque_constants", "signs", "offsets"):
        _check_count(f"drive.{key}", getattr(table, key), robot)
    constants = list(table.torque_constants or (1.0,) * robot.nv)
    for k, sign in enumerate(table.signs or ()):
        constants[k] *= sign
    return Drive.of(
        table.ratios or (1.0,) * robot.nv,
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
    settings = experiment.processing.model_dump(exclude={"period"})
    threshold = settings.pop("velocity_threshold")
    if threshold is not None and not isinstance(threshold, tuple):
        threshold = (threshold,) * robot.nv
    _check_count("processing.velocity_threshold", threshold, robot)
    return Processing(**settings, velocity_threshold=threshold)


def _quantity(table: QuantityTable, unit: str, joints: int) -> Quantity:
    return Quantity(Path(table.file), table.unit or unit, table.columns, joints if table.flat else None)
