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
from dynid.findings import Finding, Severity
from dynid.identification_findings import findings_on_estimate, findings_on_physical, findings_on_samples
from dynid.model.base_parameters import BaseParameters, find_base_parameters
from dynid.model.dynamic_model import DynamicModel
from dynid.model.terms import parse_terms
from dynid.physics import findings_on_references, physics_of
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
    physics = physics_of(experiment, model)
    findings: list[Finding] = list(base.findings())
    parts: list[Factors] = list(earlier)
    folds: list[Factors] = list(earlier)
    samples = 0
    signs = _with_signs(experiment, base, physics, progress) if experiment.torque == "magnitude" else None
    findings += () if signs is None else signs.findings
    for k, log in enumerate(experiment.log, start=1):
        progress(f"Reading log {k} of {len(experiment.log)}")
        segments, notes = segments_of(experiment, log, model.robot) if signs is None else (signs.logs[k - 1], ())
        findings += (*notes, *findings_on_samples(model, segments))
        samples += sum(map(len, segments))
        progress(f"Reducing log {k} of {len(experiment.log)}")
        parts.append(factors_of(model, segments, processing).weighted(log.weight))
        if experiment.physical.weight == "cross-validation":
            folds += [factors_of(model, part, processing).weighted(log.weight) for part in split(segments, FOLDS)]
    progress("Estimating")
    try:
        with single_threaded_blas():
            estimate = _estimate(experiment, parts, base)
            essential = essential_parameters(parts, base, experiment.estimation.essential_ratio)
            physical = _physical(experiment, physics, base, parts, folds, estimate, progress)
    except NotIdentifiableError as error:
        noticed = next((f"{finding.subject}: {finding.text}" for finding in findings), "")
        raise NotIdentifiableError(error.names, error.rows, error.problem, noticed) from error
    findings += findings_on_estimate(estimate, model.robot)
    if physical is not None:
        findings += (*findings_on_references(physics, model), *findings_on_physical(physical, estimate))
    return Identification(
        base, tuple(parts), estimate, essential, physical, tuple(findings), samples, time.perf_counter() - start, signs
    )


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


def _with_signs(
    experiment: Experiment, base: BaseParameters, physics: Physics, progress: Callable[[str], None]
) -> SignedLogs:
    """The logs of an experiment whose torques have no signs, with signs, and all that was noticed."""
    robot = base.model.robot
    progress("Reading logs without signs")
    read = [recording_of(experiment, log, robot) for log in experiment.log]
    progress("Recovering signs")
    signs = with_signs(
        base,
        physics,
        [recording for recording, _ in read],
        drive_of(experiment, robot),
        processing_of(experiment, robot),
        experiment.drive.delay,
        practice=experiment.discard_sign,
    )
    noticed = [finding for _, notes in read for finding in notes]
    return replace(signs, findings=(*noticed, *signs.findings))


def segments_of(experiment: Experiment, log: LogTable, robot: Robot) -> tuple[list[Chunk], tuple[Finding, ...]]:
    """The processed samples of a log, and what was noticed while reading it."""
    recording, noticed = recording_of(experiment, log, robot)
    segments = processed(
        recording, drive_of(experiment, robot), processing_of(experiment, robot), experiment.drive.delay
    )
    return segments, noticed


def recording_of(experiment: Experiment, log: LogTable, robot: Robot) -> tuple[Recording, tuple[Finding, ...]]:
    """What was logged, and what was noticed while reading it."""
    if any(joint.kind.nq > 1 for joint in robot.joints):
        raise InvalidRequestError(
            f"'{robot.name}' has a floating base or spherical joints, whose logs cannot be read yet; lock them"
        )
    in_amperes = log.torque.unit == "A"
    if in_amperes != (experiment.drive.torque_constants is not None):
        wrong = "currents need drive.torque_constants" if in_amperes else "drive.torque_constants are for currents"
        raise InvalidRequestError(f"{wrong}: the unit of torque is '{log.torque.unit or 'N m'}' in {log.torque.file}")
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
    return recording, tuple(_that_still_hold(recording.findings, experiment))


def _that_still_hold(findings: Sequence[Finding], experiment: Experiment) -> Iterator[Finding]:
    """Findings on a recording, but for those that the experiment itself answers."""
    for finding in findings:
        if finding.subject == "positions" and experiment.drive.positions == "motor":
            continue  # motors turn many times: what looks like degrees on their side is none
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
    settings = experiment.processing.model_dump()
    threshold = settings.pop("velocity_threshold")
    if threshold is not None and not isinstance(threshold, tuple):
        threshold = (threshold,) * robot.nv
    _check_count("processing.velocity_threshold", threshold, robot)
    return Processing(**settings, velocity_threshold=threshold)


def _quantity(table: QuantityTable, unit: str, joints: int) -> Quantity:
    return Quantity(Path(table.file), table.unit or unit, table.columns, joints if table.flat else None)
