"""Validation: how well a result predicts torques of logs that it was not made from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation import factors_of, findings_on_payload, processed_rows
from dynid.experiment import read_experiment
from dynid.findings import Finding
from dynid.identification.log_reading import read
from dynid.identification.result import Result, ResultError
from dynid.identification.result_files import load_result
from dynid.identification.task import Task, task_of
from dynid.logs import Log, LogSource, PreparedLog, Processing, prepare
from dynid.model import BaseParameters, Chunk, TorqueRows

Progress = Callable[[str], None]


@dataclass(frozen=True)
class JointPrediction:
    """How well the torque of one joint is predicted.

    Attributes:
        name: The joint.
        rows: Number of rows.
        rmse: Root mean square error [N m or N].
        nrmse: The same relative to the range of the measured torque.
        r2: Coefficient of determination: 1 is perfect, below 0 is worse than the mean.
        relative_error: Norm of the error over the norm of the measured torque.
    """

    name: str
    rows: int
    rmse: float
    nrmse: float
    r2: float
    relative_error: float


@dataclass(frozen=True)
class Prediction:
    """How well torques are predicted by one set of parameters.

    Attributes:
        joints: Each joint.
        relative_error: Norm of all errors over the norm of all measured torques.
    """

    joints: tuple[JointPrediction, ...]
    relative_error: float


@dataclass(frozen=True, repr=False)
class Validation:
    """How well a result predicts logs that it was not made from.

    Attributes:
        relative_error: Norm of all errors over the norm of all measured torques, of the base parameters.
        joints: The same by joint.
        physical: The same for the physically consistent links; None where the result has none.
        samples: Number of samples.
        findings: What was noticed about the logs.
        simulation: Closed-loop simulation of the result beside measured positions, where it was asked for.
    """

    relative_error: float
    joints: tuple[JointPrediction, ...]
    physical: Prediction | None
    samples: int
    findings: tuple[Finding, ...]
    simulation: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        physical = self.physical
        data = {
            "relative_error": self.relative_error,
            "physical_relative_error": None if physical is None else physical.relative_error,
            "physical_joints": None if physical is None else [vars(joint) for joint in physical.joints],
            "samples": self.samples,
            "joints": [vars(joint) for joint in self.joints],
            "findings": [finding.to_dict() for finding in self.findings],
        }
        return data if self.simulation is None else {**data, "simulation": dict(self.simulation)}

    def __repr__(self) -> str:
        physical = "" if self.physical is None else f", physical links {self.physical.relative_error:.2%}"
        return f"Validation(relative error {self.relative_error:.2%}{physical}, {self.samples} samples)"


@dataclass(frozen=True, eq=False)
class UnseenLog:
    """A log that a result was not made from, ready for its model.

    Attributes:
        log: The log.
        prepared: The same, ready for the model.
    """

    log: Log
    prepared: PreparedLog


def validate(
    result: Result | str | Path,
    *logs: Log | str | Path | UnseenLog,
    simulate: bool = False,
    progress: Progress = lambda _: None,
) -> Validation:
    """Predict the torques of logs that were not used, and compare.

    Args:
        result: The result, or the folder that it was saved as.
        logs: Logs in memory, experiment files (which stand for their logs, with their own drives and processing), or
            log files that are laid out as the first log of the result's experiment.
        simulate: Also simulate the result in closed loop, as `[simulation]` of the experiment files says, and compare
            positions.
        progress: Callback; receives a short description of each step.
    """
    result = result if isinstance(result, Result) else load_result(result)
    unseen = unseen_logs(result, logs, progress)
    parts = [(one.prepared.segments, one.prepared.processing) for one in unseen]
    base, physical = result.base, result.physical_values
    by_base = predict(base, np.array([result.values[name] for name in base.names]), parts)
    by_links = None
    if physical is not None:
        by_links = predict(base, base.to_base(np.array([physical[name] for name in base.model.names])), parts)
    findings = [finding for one in unseen for finding in (*_on_filters(one, result), *one.prepared.findings)]
    findings += _on_payload(result, parts, by_base.relative_error)
    simulation = None
    if simulate:
        progress("Simulating in closed loop")
        simulation, notes = _simulated(result, logs, unseen)
        findings += notes
    return Validation(
        relative_error=by_base.relative_error,
        joints=by_base.joints,
        physical=by_links,
        samples=sum(len(segment) for segments, _ in parts for segment in segments),
        findings=tuple(findings),
        simulation=simulation,
    )


GROWN = 1.3
"""Error on held-out logs, relative to that on the result's own, from which a body that they carry is looked for."""


def _on_payload(
    result: Result, logs: Sequence[tuple[Sequence[Chunk], Processing]], error: float
) -> tuple[Finding, ...]:
    """A finding on a body that held-out logs carry, where they are predicted worse than the result's own."""
    if result.is_in_amperes or error < GROWN * result.relative_error:
        return ()
    base, rows = result.base, TorqueRows(result.model)
    factors = [factors_of(rows, processed_rows(rows, segments, processing)) for segments, processing in logs]
    values = np.array([result.values[name] for name in base.names])
    return tuple(findings_on_payload(base, values, result.torques, factors))


def _simulated(
    result: Result, logs: Sequence[object], unseen: Sequence[UnseenLog]
) -> tuple[dict[str, Any], list[Finding]]:
    """A closed-loop simulation of the result on the references of experiment files, and what was noticed."""
    from dynid.identification.rollout import simulate_result

    paths = [Path(log) for log in logs if isinstance(log, str | Path)]
    if len(paths) < len(logs):
        raise InvalidRequestError("only experiment files state what the robot followed; name one to simulate")
    return simulate_result(result, paths, logs=[one.log for one in unseen])


def unseen_logs(
    result: Result, logs: Sequence[Log | str | Path | UnseenLog], progress: Progress = lambda _: None
) -> tuple[UnseenLog, ...]:
    """Logs that a result was not made from, each read and processed once, as the result's own logs were."""
    found: list[UnseenLog] = []
    for one in logs:
        if isinstance(one, UnseenLog):
            found.append(one)
            continue
        task = _task(result, one)
        if task.torque == "magnitude" and not task.discard_sign:
            where = (one.name or "the log") if isinstance(one, Log) else one
            raise ResultError(where, "has torques without signs, and predictions have signs; use a log that has them")
        like = result.training if task.processing == result.task.processing else None
        for source in task.logs:
            progress("Reading a log")
            log = read(source, task.model.robot, progress, task.drive, task.processing)
            prepared = prepare(log, result.model, task.drive, task.processing, like=like, progress=progress)
            found.append(UnseenLog(log, prepared))
    return tuple(found)


def _task(result: Result, log: Log | str | Path) -> Task:
    """The task that a log belongs to: that of its experiment file, or the result's with other logs."""
    own = replace(result.task, drive=result.drive)
    if isinstance(log, Log):
        return replace(own, logs=(log,), torque="signed")
    path = Path(log)
    if path.suffix.lower() == ".toml":
        task = task_of(read_experiment(path)).with_model_of(result.task)
        result.require_same_model(task, path)
        return replace(task, drive=result.drive) if task.drive.signs == "auto" else task
    first = next((source for source in result.task.logs if isinstance(source, LogSource)), None)
    if first is None:
        raise InvalidRequestError(f"'{path}': the result's logs were in memory; read this one with dynid.read_log")
    return replace(own, logs=(_with_file(first, path),))


def _with_file(source: LogSource, path: Path) -> LogSource:
    """Where a log is that is laid out as another one."""
    moved = {
        role: quantity.model_copy(update={"file": str(path)})
        for role in ("position", "torque", "velocity", "time", "temperature")
        if (quantity := getattr(source, role)) is not None
    }
    return source.model_copy(update=moved | {"rows": None, "seconds": None, "name": None})


def predict(base: BaseParameters, values: Array, logs: Sequence[tuple[Sequence[Chunk], Processing]]) -> Prediction:
    """Predict the torques of samples and compare.

    Args:
        base: The base parameters of the model.
        values: Their values, shape (base,).
        logs: For each log its samples, of which rows that `keep` leaves out do not count, and how they are decimated.
    """
    rows = TorqueRows(base.model)
    predictors = rows.predictors(base.to_standard(values))
    sums = np.zeros((4, len(predictors)))  # number, torque, torque squared, error squared
    lowest, highest = np.full(len(predictors), np.inf), np.full(len(predictors), -np.inf)
    for matrices in (part for segments, processing in logs for part in processed_rows(rows, segments, processing)):
        for row, matrix in enumerate(matrices):
            y = matrix[:, -1]
            error = y - matrix[:, :-1] @ predictors[row]
            sums[:, row] += np.array([len(y), y.sum(), y @ y, error @ error])
            lowest[row] = min(lowest[row], y.min(initial=np.inf))
            highest[row] = max(highest[row], y.max(initial=-np.inf))
    joints = [
        _prediction(joint, *sums[:, row].tolist(), span=float(highest[row] - lowest[row]))
        for row, joint in enumerate(base.model.row_names)
    ]
    return Prediction(tuple(joints), _ratio(float(sums[3].sum()), float(sums[2].sum())))


def _prediction(name: str, count: float, total: float, squares: float, errors: float, span: float) -> JointPrediction:
    rmse = float(np.sqrt(errors / count)) if count else 0.0
    spread = squares - total**2 / count if count else 0.0
    return JointPrediction(
        name=name,
        rows=int(count),
        rmse=rmse,
        nrmse=rmse / span if span > 0.0 else 0.0,
        r2=1.0 - errors / spread if spread > 0.0 else 0.0,
        relative_error=_ratio(errors, squares),
    )


def _ratio(errors: float, squares: float) -> float:
    return float(np.sqrt(errors / squares)) if squares > 0.0 else 0.0


def _on_filters(one: UnseenLog, result: Result) -> tuple[Finding, ...]:
    """Whether errors compare with those of the result: only where both were filtered alike."""
    subject, mine = "processing", _filters(one.prepared.processing)
    name, used = one.log.name or "the log", result.training
    if used is not None and _filters(used) != mine:
        return (Finding.of("filters-differ", subject, log=name, filters=mine, training=_filters(used)),)
    return (Finding.of("filters-alike", subject, log=name, filters=mine),)


def _filters(used: Processing) -> list[str]:
    """What is done to positions, torques and rows."""
    parts = [
        f"positions low-passed at {used.lowpass:g} Hz" if used.lowpass else "positions not filtered",
        f"torques low-passed at {used.torque_lowpass:g} Hz" if used.torque_lowpass else "",
        f"decimated by {int(np.prod(used.decimate))}" if used.decimate else "",
        f"decimated to {used.rate:g} Hz" if used.rate else "",
    ]
    return [part for part in parts if part]
