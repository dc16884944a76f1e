"""Identification as a recipe: from an experiment to parameters."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dynid.config import Experiment
from dynid.data.automatic import Prepared
from dynid.data.chunks import split
from dynid.data.factors import Factors
from dynid.data.processing import Processing, factors_of
from dynid.errors import InvalidRequestError
from dynid.estimation import (
    Estimate,
    PhysicalEstimate,
    Physics,
    cross_validated,
    essential_parameters,
    physical_estimate,
    weighted_least_squares,
)
from dynid.estimation.bootstrap import Bootstrap
from dynid.estimation.least_squares import NotIdentifiableError
from dynid.estimation_steps import bootstrapped, diagnosed, estimated, form_of
from dynid.feasibility.cone_program import SolverError
from dynid.findings import Finding, Severity
from dynid.form_findings import (
    FormFit,
    advice_on_motion,
    findings_on_form,
    form_fit,
    links_with_torque_fits,
    with_torque_fits,
    without_consequences,
)
from dynid.found_signs import findings_on_signs, signs_in, with_drive_signs
from dynid.identification_findings import findings_on_bootstrap, findings_on_estimate, findings_on_samples
from dynid.log_preparation import (
    check_drives,
    drive_of,
    even_recording,
    prepared_log,
    processing_of,
    that_still_hold,
)
from dynid.log_quantities import recording_of
from dynid.missing_friction import findings_on_friction, probed, without_probes
from dynid.model.base_parameters import BaseParameters, find_base_parameters
from dynid.model.dynamic_model import DynamicModel
from dynid.model.known_values import split_known
from dynid.model.terms import parse_terms
from dynid.physical_findings import findings_on_physical, findings_on_references, findings_on_weight
from dynid.physics import physics_of
from dynid.residual_diagnostics import JointDiagnostics, findings_on_residuals
from dynid.robot.loading import load_robot
from dynid.shape_findings import findings_on_directions, findings_on_shapes
from dynid.shape_steps import FoundShape, find_shapes
from dynid.threads import single_threaded_blas
from dynid.unsigned import SignedLogs, with_signs

FOLDS = 5
"""Parts of a log that cross-validation predicts in turn from the others."""


@dataclass(frozen=True, eq=False)
class Identification:
    """What an experiment told.

    Attributes:
        base: The base parameters, with their model and robot.
        logs: The factors of each log's torques.
        form_logs: The factors of each log that were estimated from: the same, or those of another form of rows.
        estimate: Values with uncertainties.
        essential: The same for the essential ones of the parameters only.
        physical: Links and joints that can exist; None where the experiment does without.
        bootstrap: Deviations that do not assume white errors; None where there are too few blocks of time.
        diagnostics: What the residuals of the longest log are like.
        processing: What was done to each log that was read, as stated or chosen.
        sampling: Samples a second [Hz] of each log that was read, before rows are thinned out.
        drive_signs: Signs of the drives, as stated or found; None where they are all +1.
        findings: What users should know about the logs and the estimate.
        samples: Number of samples after processing.
        seconds: How long it took [s].
        signs: The signs of torques that were logged without; None where they had them.
        shapes: What is told of the shapes of terms.
        passes: Passes over the logs that it took to find them.
        form: How well rows of power, energy or momentum are fitted; None where torques were.
    """

    base: BaseParameters
    logs: tuple[Factors, ...]
    form_logs: tuple[Factors, ...]
    estimate: Estimate
    essential: Estimate
    physical: PhysicalEstimate | None
    bootstrap: Bootstrap | None
    diagnostics: tuple[JointDiagnostics, ...]
    processing: tuple[Processing, ...]
    sampling: tuple[float, ...]
    drive_signs: tuple[int, ...] | None
    findings: tuple[Finding, ...]
    samples: int
    seconds: float
    signs: SignedLogs | None = None
    shapes: tuple[FoundShape, ...] = ()
    passes: int = 0
    form: FormFit | None = None


def identify(
    experiment: Experiment,
    progress: Callable[[str], None] = lambda _: None,
    earlier: Sequence[Factors] = (),
    earlier_forms: Sequence[Factors] | None = None,
    model: DynamicModel | None = None,
) -> Identification:
    """Identify a robot's base parameters, and physical parameters of its links and joints.

    Args:
        experiment: The experiment.
        progress: Is told each step in a few words.
        earlier: Factors of the torques of logs that were read before, for the same model.
        earlier_forms: The factors of the same logs that are estimated from, where they are of another form.
        model: That model, at the shapes that these logs were reduced with: they are held. The experiment's when None.
    """
    start = time.perf_counter()
    progress("Looking for what can be known")
    hold = model is not None
    model = model_of(experiment) if model is None else model
    base = find_base_parameters(model, known=split_known(model, experiment.known)[1])
    physics = physics_of(experiment, model) if experiment.physical.fit else None
    findings: list[Finding] = list(base.findings())
    form = form_of(experiment)
    form.accumulator(model)
    torques: list[Factors] = list(earlier)
    parts: list[Factors] = list(earlier if earlier_forms is None else earlier_forms)
    folds: list[Factors] = list(parts)
    probes: list[Factors] = []
    signs = _with_signs(experiment, base, progress) if experiment.torque == "magnitude" else None
    findings += () if signs is None else signs.findings
    if experiment.drive.signs == "auto":
        progress("Looking for the signs of drives")
        experiment, notes = _with_found_signs(experiment, base)
        findings += notes
    ready_logs: list[Prepared] = []
    for k, log in enumerate(experiment.log, start=1):
        progress(f"Reading log {k} of {len(experiment.log)}")
        ready, notes = prepared_log(experiment, log, model, progress) if signs is None else (signs.logs[k - 1], ())
        findings += (*notes, *findings_on_samples(model, ready.segments))
        ready_logs.append(ready)
    findings += findings_on_directions(model, ready_logs)
    with single_threaded_blas():
        shapes = find_shapes(experiment, base, ready_logs, progress, hold=hold)
    findings += findings_on_shapes(shapes, ready_logs)
    base, linear, model = shapes.base, shapes.linear, shapes.base.model
    with_probes = probed(linear.model)
    for k, (log, ready) in enumerate(zip(experiment.log, ready_logs, strict=True), start=1):
        progress(f"Reducing log {k} of {len(experiment.log)}")
        segments, processing = ready.segments, ready.processing
        probes.append(factors_of(with_probes, segments, processing).weighted(log.weight))
        torques.append(without_probes(probes[-1], model))
        if form.name == "torque":
            parts.append(without_probes(probes[-1], linear.model))
        else:
            parts.append(form.factors(linear.model, segments, processing, ready.sampling).weighted(log.weight))
        if experiment.physical.weight == "cross-validation":
            pieces = [form.factors(model, part, processing, ready.sampling) for part in split(segments, FOLDS)]
            folds += [piece.weighted(log.weight) for piece in pieces]
    progress("Estimating")
    try:
        with single_threaded_blas():
            whole, linear_parts, scales, notes = estimated(experiment, ready_logs, parts, linear, progress)
            findings += notes
            parts = shapes.own_logs(linear_parts)
            estimate = shapes.own(whole, parts)
            essential = essential_parameters(parts, base, experiment.estimation.essential_ratio)
    except NotIdentifiableError as error:
        raise NotIdentifiableError(error.names, error.rows, error.problem, _cause(findings, error)) from error
    fitted = form_fit(form, estimate, ready_logs)
    if fitted is None:
        torques = parts
    else:
        estimate, essential = (with_torque_fits(found, torques, base) for found in (estimate, essential))
    lost = findings_on_form(form, estimate, torques, base, ready_logs)
    of_estimate = findings_on_estimate(estimate, model.robot, advice_on_motion(form))
    findings += (*without_consequences(of_estimate, lost), *lost, *findings_on_friction(probes, base))
    progress("Looking at what is left")
    blocks = None if earlier else bootstrapped(experiment, ready_logs, linear_parts, linear, whole, scales)
    bootstrap = shapes.own_bootstrap(blocks)
    diagnostics = diagnosed(experiment, ready_logs, base, estimate)
    missing = any(finding.subject == "friction" for finding in findings)
    of_residuals = findings_on_residuals(diagnostics, missing)
    findings += (*findings_on_bootstrap(estimate, bootstrap), *without_consequences(of_residuals, lost))
    physical = None
    if physics is not None:
        progress("Making links physical")
        with single_threaded_blas():
            told = shapes.own(_without_prior(linear_parts, linear, whole), parts)
            physical, notes = _physical(experiment, physics, base, (parts, folds, torques), (estimate, told))
        findings += notes
    return Identification(
        base=base,
        logs=tuple(torques),
        form_logs=tuple(parts),
        estimate=estimate,
        essential=essential,
        physical=physical,
        bootstrap=bootstrap,
        diagnostics=diagnostics,
        processing=tuple(log.processing for log in ready_logs),
        sampling=tuple(log.sampling for log in ready_logs),
        drive_signs=experiment.drive.signs if experiment.drive.signs != "auto" else None,
        findings=tuple(findings),
        samples=sum(len(segment) for log in ready_logs for segment in log.segments),
        seconds=time.perf_counter() - start,
        signs=signs,
        shapes=shapes.told(whole, blocks, experiment.estimation.confidence),
        passes=0 if shapes.fit is None else shapes.fit.passes,
        form=fitted,
    )


def _cause(findings: Sequence[Finding], error: NotIdentifiableError) -> str:
    """The finding that tells most about what cannot be told: the one that names it, else a warning, else a note."""

    def rank(finding: Finding) -> tuple[int, bool, int]:
        words = finding.text.replace(",", " ").split()
        named = sum(name in words for name in error.names)
        return named, "never moves" in finding.text, -list(Severity).index(finding.severity)

    best = max(findings, key=rank, default=None)
    return "" if best is None else f"{best.subject}: {best.text}"


def _with_found_signs(experiment: Experiment, base: BaseParameters) -> tuple[Experiment, tuple[Finding, ...]]:
    """The experiment with the signs of its drives, found in its first log."""
    log, model = experiment.log[0], base.model
    ready, _ = prepared_log(experiment, log, model)
    recording = even_recording(experiment, log, model.robot)
    found = signs_in(recording, drive_of(experiment, model.robot), ready, base)
    signs = tuple(int(sign) for sign in found.signs)
    return with_drive_signs(experiment, signs), findings_on_signs(found, ready, base)


def _physical(
    experiment: Experiment,
    physics: Physics,
    base: BaseParameters,
    data: tuple[Sequence[Factors], Sequence[Factors], Sequence[Factors]],
    estimates: tuple[Estimate, Estimate],
) -> tuple[PhysicalEstimate | None, tuple[Finding, ...]]:
    """Links that can exist, or a finding on why there are none.

    They come from logs, their parts (for cross-validation) and torques; estimates are the one of the experiment, and
    what the data say by themselves.
    """
    method, (logs, folds, torques), (estimate, told) = experiment.estimation.method, data, estimates
    notes = findings_on_references(physics, base.model)
    try:
        if experiment.physical.weight == "cross-validation":
            physics, errors = cross_validated(folds, base, physics, method)
            notes += findings_on_weight(physics.prior.weight, errors)
        physical = physical_estimate(logs, base, physics, told, method)
    except SolverError as error:
        return None, (*notes, Finding(Severity.ERROR, "physical links", str(error)))
    if experiment.estimation.estimator != "torque":
        physical = links_with_torque_fits(physical, torques)
    return physical, (*notes, *findings_on_physical(physical, estimate))


def _without_prior(logs: Sequence[Factors], base: BaseParameters, estimate: Estimate) -> Estimate:
    """What the data say by themselves; the estimate with its prior where they do not say all."""
    try:
        return weighted_least_squares(logs, base)
    except NotIdentifiableError:
        return estimate


def model_of(experiment: Experiment) -> DynamicModel:
    """The model that an experiment is about."""
    robot = load_robot(
        experiment.robot,
        lock=experiment.lock,
        gravity=experiment.gravity,
    )
    model = DynamicModel(robot, parse_terms(experiment.terms, robot))
    return model.shaped(split_known(model, experiment.known)[0])


def _with_signs(experiment: Experiment, base: BaseParameters, progress: Callable[[str], None]) -> SignedLogs:
    """The logs of an experiment whose torques have no signs, with signs, and all that was noticed."""
    robot, settings = base.model.robot, experiment.processing
    if settings.period is not None:
        raise InvalidRequestError("periods of torques without signs cannot be averaged; leave processing.period out")
    if settings.outliers == "repair" or settings.idle == "cut":
        raise InvalidRequestError(
            "outliers and rest are not looked for in torques without signs; leave processing.outliers and "
            "processing.idle out, and cut the log by rows or seconds"
        )
    if experiment.drive.signs == "auto":
        raise InvalidRequestError(
            "torques without signs cannot tell the signs of drives; leave drive.signs = 'auto' out, or torque = "
            "'magnitude' if they were logged with signs"
        )
    progress("Reading logs without signs")
    recordings = []
    for log in experiment.log:
        check_drives(experiment, log, robot)
        recordings.append(recording_of(log, robot, progress))
    progress("Recovering signs")
    processing = processing_of(experiment, robot)
    signs = with_signs(
        base,
        physics_of(experiment, base.model),
        recordings,
        drive_of(experiment, robot),
        processing,
        experiment.drive.delay,
        practice=experiment.discard_sign,
    )
    noticed = [
        finding for recording in recordings for finding in that_still_hold(recording.findings, experiment, processing)
    ]
    return replace(signs, findings=(*noticed, *signs.findings))
