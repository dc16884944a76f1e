"""How well a result predicts logs that it was not made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dynid.experiment.experiment import Experiment
from dynid.experiment.reading import read_experiment
from dynid.findings import Finding
from dynid.identification.earlier import require_same_model
from dynid.identification.estimate_findings import findings_on_samples
from dynid.identification.filter_findings import finding_on_filters
from dynid.identification.result import Result, ResultError
from dynid.identification.sign_of_drives import with_drive_signs
from dynid.identification.validation import Validation, validate
from dynid.logs.processing.preparation import prepare
from dynid.logs.settings import Processing
from dynid.logs.sources import read_source
from dynid.model.base_parameters import BaseParameters
from dynid.model.chunks import Chunk


def validate_result(result: Result, logs: Sequence[Path]) -> dict[str, Any]:
    """Predict the torques of other logs with a result, and give the comparison as plain data.

    Args:
        result: The result.
        logs: Experiment files, which stand for their logs, with their own drives and processing; or log files that
            are laid out as the first log of the result's experiment.
    """
    logs_ready: list[tuple[Sequence[Chunk], Processing]] = []
    findings: list[Finding] = []
    model = result.base.model
    for path in logs:
        experiment = experiment_at(result, path)
        require_same_model(result, experiment, path)
        if experiment.torque == "magnitude" and not experiment.discard_sign:
            raise ResultError(
                path,
                "has torques without signs, and predictions have signs; validate on a log that has them, too",
            )
        for log in experiment.log:
            ready = prepare(
                read_source(log, model.robot, drive=experiment.drive),
                model,
                experiment.drive,
                experiment.processing,
                choose=experiment.torque == "signed",
                like=training(result, experiment),
            )
            logs_ready.append((ready.segments, ready.processing))
            name = log.name or Path(log.position.file).name
            findings += (
                finding_on_filters(ready.processing.applied(), result.data.get("processing") or (), name),
                *ready.findings,
            )
            findings += findings_on_samples(model, ready.segments)
    (segments, processing), *others = logs_ready or [((), Processing())]
    validation = validate(result.base, result.values, segments, processing, others)
    physical = result.physical_values
    of_links_base = None if physical is None else grouped(result.base, physical)
    of_links = None if of_links_base is None else validate(result.base, of_links_base, segments, processing, others)
    return {
        "relative_error": validation.relative_error,
        "physical_relative_error": None if of_links is None else of_links.relative_error,
        "physical_joints": None if of_links is None else _rows(of_links),
        "samples": sum(len(segment) for of_log, _ in logs_ready for segment in of_log),
        "joints": _rows(validation),
        "findings": [finding.to_dict() for finding in findings],
    }


def experiment_at(result: Result, path: Path) -> Experiment:
    """The experiment of a file, or the result's with a log file in place of its own; with signs that the result found.

    Args:
        result: The result.
        path: An experiment file, or a log that is laid out as the first one of the result's experiment.
    """
    return with_signs_of(
        result, read_experiment(path) if path.suffix == ".toml" else with_file(result.experiment, path)
    )


def with_signs_of(result: Result, experiment: Experiment) -> Experiment:
    """The experiment with the signs of drives that a result found, where it states none of its own."""
    if experiment.drive.signs == "auto" and result.data.get("drive_signs"):
        return with_drive_signs(experiment, tuple(result.data["drive_signs"]))
    return experiment


def training(result: Result, experiment: Experiment) -> Processing | None:
    """How the result's logs were filtered, where the same is asked for others: an error means little without it."""
    used = result.data.get("processing") or ()
    stated, own = experiment.processing, result.experiment.processing
    if not used or (stated, stated.free()) != (own, own.free()):
        return None
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in used[0].items()}
    return Processing(**{key: value for key, value in values.items() if key != "sampling_rate"})


def _rows(validation: Validation) -> list[dict[str, Any]]:
    return [{"name": joint, **vars(prediction)} for joint, prediction in validation.joints.items()]


def grouped(base: BaseParameters, values: Mapping[str, float]) -> dict[str, float]:
    """Base parameters by name of standard ones."""
    p = np.array([values[name] for name in base.model.names])
    return dict(zip(base.names, base.to_base(p).tolist(), strict=True))


def with_file(experiment: Experiment, path: Path) -> Experiment:
    """The experiment with its first log taken from another file."""
    log = experiment.log[0]
    own = ("position", "torque", "velocity", "time")
    moved = {
        role: quantity.model_copy(update={"file": str(path)})
        for role in own
        if (quantity := getattr(log, role)) is not None
    }
    return experiment.model_copy(update={"log": (log.model_copy(update=moved | {"rows": None, "seconds": None}),)})
