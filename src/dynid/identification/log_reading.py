"""From an experiment to logs that are ready for its model, with signs where they had none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dynid.errors import InvalidRequestError
from dynid.estimation.physical.physics import physics_of
from dynid.experiment.experiment import Experiment
from dynid.findings import Finding
from dynid.identification.estimate_findings import findings_on_rest, findings_on_samples
from dynid.identification.preparation import (
    check_drives,
    even_recording,
    prepared_log,
    processing_of,
    that_still_hold,
)
from dynid.identification.sign_of_drives import findings_on_signs, signs_in, with_drive_signs
from dynid.identification.unsigned import SignedLogs, with_signs
from dynid.logs.drive import transmission_of
from dynid.logs.processing.automatic import PreparedLog
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
    signs = _with_signs(experiment, base, progress) if experiment.torque == "magnitude" else None
    findings: list[Finding] = [] if signs is None else list(signs.findings)
    if experiment.drive.signs == "auto":
        progress("Looking for the signs of drives")
        experiment, notes = _with_found_signs(experiment, base)
        findings += notes
    logs: list[PreparedLog] = []
    for k, log in enumerate(experiment.log, start=1):
        progress(f"Reading log {k} of {len(experiment.log)}")
        ready, notes = prepared_log(experiment, log, base.model, progress) if signs is None else (signs.logs[k - 1], ())
        findings += (*notes, *findings_on_samples(base.model, ready.segments))
        logs.append(ready)
    findings += findings_on_rest(base.model, [log.segments for log in logs])
    return ReadLogs(experiment, tuple(logs), signs, tuple(findings))


def _with_found_signs(experiment: Experiment, base: BaseParameters) -> tuple[Experiment, tuple[Finding, ...]]:
    """The experiment with the signs of its drives, found in its first log."""
    log, model = experiment.log[0], base.model
    ready, _ = prepared_log(experiment, log, model)
    recording = even_recording(experiment, log, model.robot)
    found = signs_in(recording, transmission_of(experiment.drive, model.robot), ready, base)
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
    recordings = []
    for log in experiment.log:
        check_drives(experiment, log, robot)
        recordings.append(read_source(log, robot, progress))
    progress("Recovering signs")
    processing = processing_of(experiment, robot)
    signs = with_signs(
        base,
        physics_of(experiment, base.model),
        recordings,
        transmission_of(experiment.drive, robot),
        processing,
        experiment.drive.delay,
        practice=experiment.discard_sign,
    )
    noticed = [
        finding for recording in recordings for finding in that_still_hold(recording.findings, experiment, processing)
    ]
    logs = [
        replace(log, temperature=recording.mean_temperature)
        for log, recording in zip(signs.logs, recordings, strict=True)
    ]
    return replace(signs, logs=tuple(logs), findings=(*noticed, *signs.findings))
