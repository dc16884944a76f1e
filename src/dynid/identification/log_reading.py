"""From an experiment to logs that are ready for its model, with signs where they had none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dynid.errors import InvalidRequestError
from dynid.estimation.physical.physics import physics_of
from dynid.experiment.experiment import Experiment
from dynid.findings import Finding
from dynid.identification.estimate_findings import findings_on_rest, findings_on_samples
from dynid.identification.sign_of_drives import findings_on_signs, signs_in, with_drive_signs
from dynid.identification.unsigned import SignedLogs, with_signs
from dynid.logs.drive import transmission_of
from dynid.logs.log import Log
from dynid.logs.processing.automatic import PreparedLog
from dynid.logs.processing.periods import averaged
from dynid.logs.processing.preparation import findings_on_log, prepare, stated_processing
from dynid.logs.sources import read_source
from dynid.model.base_parameters import BaseParameters


@dataclass(frozen=True, eq=False)
class ReadLogs:
    """The logs of an experiment, ready for its model.

    Attributes:
        experiment: The experiment, with the signs of its drives where they were found.
        logs: Its logs.
        signs: The signs of torques that were logged without; None where they had them.
        findings: What was noticed and chosen on the way.
    """

    experiment: Experiment
    logs: tuple[PreparedLog, ...]
    signs: SignedLogs | None
    findings: tuple[Finding, ...]

    @property
    def samples(self) -> int:
        """Number of samples of all logs."""
        return sum(len(segment) for log in self.logs for segment in log.segments)


def read_logs(experiment: Experiment, base: BaseParameters, progress: Callable[[str], None]) -> ReadLogs:
    """Read and process the logs of an experiment, and find signs that it asks for."""
    if experiment.torque == "magnitude":
        signs = _with_signs(experiment, base, progress)
        return _looked_at(experiment, signs.logs, base, signs.findings, signs)
    logs: list[PreparedLog] = []
    findings: list[Finding] = []
    for k, source in enumerate(experiment.log, start=1):
        progress(f"Reading log {k} of {len(experiment.log)}")
        log = read_source(source, base.model.robot, progress, drive=experiment.drive)
        if experiment.drive.signs == "auto":
            progress("Looking for the signs of drives")
            experiment, notes = _with_found_signs(experiment, log, base)
            findings += notes
        logs.append(prepare(log, base.model, experiment.drive, experiment.processing, progress=progress))
        del log  # one log at a time is held
    return _looked_at(experiment, logs, base, findings)


def _looked_at(
    experiment: Experiment,
    logs: Sequence[PreparedLog],
    base: BaseParameters,
    findings: Sequence[Finding],
    signs: SignedLogs | None = None,
) -> ReadLogs:
    """Logs with what was noticed, in the order of the logs."""
    notes = [finding for log in logs for finding in (*log.findings, *findings_on_samples(base.model, log.segments))]
    rest = findings_on_rest(base.model, [log.segments for log in logs])
    return ReadLogs(experiment, tuple(logs), signs, (*findings, *notes, *rest))


def _with_found_signs(experiment: Experiment, log: Log, base: BaseParameters) -> tuple[Experiment, tuple[Finding, ...]]:
    """The experiment with the signs of its drives, found in its first log."""
    drive, processing = experiment.drive, experiment.processing
    ready = prepare(log, base.model, drive, processing)
    even = log if processing.period is None else averaged(log, processing.period).log
    found = signs_in(even, transmission_of(drive, base.model.robot), ready, base)
    signs = tuple(int(sign) for sign in found.signs)
    return with_drive_signs(experiment, signs), findings_on_signs(found, ready, base)


def _with_signs(experiment: Experiment, base: BaseParameters, progress: Callable[[str], None]) -> SignedLogs:
    """The logs of an experiment whose torques have no signs, with signs, and all that was noticed."""
    robot, settings = base.model.robot, experiment.processing
    if base.model.nonlinear or any(term.needs_links for term in base.model.terms):
        raise InvalidRequestError(
            "torques without signs cannot tell the shapes of friction; use the terms viscous and coulomb for them"
        )
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
    recordings = [read_source(source, robot, progress, drive=experiment.drive) for source in experiment.log]
    progress("Recovering signs")
    processing = stated_processing(settings, experiment.drive, robot)
    signs = with_signs(
        base,
        physics_of(experiment, base.model),
        recordings,
        transmission_of(experiment.drive, robot),
        processing,
        experiment.drive.delay,
        practice=experiment.discard_sign,
    )
    logs = [
        replace(
            log,
            temperature=recording.mean_temperature,
            findings=tuple(findings_on_log(recording, experiment.drive, processing)),
        )
        for log, recording in zip(signs.logs, recordings, strict=True)
    ]
    return replace(signs, logs=tuple(logs))
