"""Identification of a load as a recipe: from a result or logs without it, and logs with it, to its ten numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.estimation import factors_of, processed_rows
from dynid.estimation.error_stretches import error_stretches
from dynid.estimation.payloads.load_body import LoadBody, compared
from dynid.estimation.payloads.load_problem import LoadFit, LoadPlace, LoadProblem, Session, lasting_of
from dynid.estimation.payloads.load_problem import changes_of_friction as found_changes
from dynid.identification.identified_load import Payload
from dynid.identification.noticed import each_once
from dynid.identification.payload_findings import findings_on_load
from dynid.identification.payload_logs import (
    MAY_CHANGE,
    Progress,
    ReadyLog,
    SortedLogs,
    logs_beside,
    numbers_of,
    ready_logs,
    require_torques,
    sorted_logs,
)
from dynid.identification.pipeline import run
from dynid.identification.result import Result
from dynid.identification.result_files import load_result
from dynid.identification.task import Task, experiment_file
from dynid.identification.wrist_recipe import has_wrench, payload_of_wrench
from dynid.logs import Drive, Log, Processing, gain_stds
from dynid.logs.processing.signals import PASSED_BAND
from dynid.model import BaseParameters, Term, TorqueRows, known_base
from dynid.robot import Load, Robot


def identify_payload(
    source: Robot | Result | str | Path,
    logs: Log | str | Path | Sequence[Log | str | Path] | None = None,
    *,
    load: str | None = None,
    body: str | None = None,
    known: Load | float | None = None,
    terms: str | Sequence[str | Term] = (),
    drive: Drive | Mapping[str, Any] | None = None,
    processing: Processing | Mapping[str, Any] | None = None,
    sensor: bool | None = None,
    gain_std: float | Sequence[float] | Mapping[str, float] | None = None,
    progress: Progress = lambda _: None,
) -> Payload:
    """Identify a load that a robot carries: mass, centre of mass and inertia, with standard deviations.

    The robot is known through a saved result, whose uncertainty counts, or through logs without the load, with which it
    is estimated together. Friction and offsets may differ between logs with and without the load where the data show
    it.

    Args:
        source: A result (or its folder) of the robot without the load, with `logs` that carry it; a robot with `logs`
            of which some carry it (`Log(..., load="NAME")`); or an experiment file that states everything.
        logs: What was measured: logs in memory; with a result also log files laid out as its own, and experiment files.
        load: Name of the load, where logs carry several.
        body: Name of the body of the robot's file that it is fastened to, whose frame its numbers are in; as the logs
            say, or the last link, when None.
        known: What it is known to be, to compare with: the difference between logs must be the load. A number is its
            mass [kg].
        terms: Friction and actuator terms, as for `identify`; with a robot only.
        drive: Gear ratios, torque constants and so on, as for `identify`; with a robot only.
        processing: Filters, as for `identify`; with a robot only.
        sensor: Whether to use the force-torque sensor of logs instead of their torques; where they have one, when None.
        gain_std: Relative standard deviation of torque constants (0.05 for 5 %), one for all joints, one for each in
            their order, or by name: the uncertainty of the load then includes theirs. As the drive states, when None.
        progress: Callback; receives a short description of each step.

    Raises:
        DynidError: If something cannot be read or does not fit together; says what and what to try.
    """
    sources = _sources(source, logs, terms, drive, processing)
    wanted = {"load": load, "body": body, "known": known}
    every = [log for task in sources.tasks for log in task.logs]
    if sensor or (sensor is None and any(map(has_wrench, every))):
        if gain_std is not None:
            raise InvalidRequestError(
                "gain_std is of torque constants, which a force-torque sensor does not use; leave it out, or use joint "
                "torques (sensor=False, --torques)"
            )
        return payload_of_wrench(sources.tasks, sorted_logs(every, **wanted, all_carry=True), progress)
    gains = _gains(sources.tasks[0], gain_std)
    if sources.result is None:
        return _of_task(sources.tasks[0], wanted, gains, progress)
    return _of_result(sources.result, sources.tasks, wanted, gains, progress)


@dataclass(frozen=True, eq=False)
class _Sources:
    """A result or not, and tasks whose logs are looked at."""

    result: Result | None
    tasks: tuple[Task, ...]


def _sources(source: Any, logs: Any, terms: Any, drive: Any, processing: Any) -> _Sources:
    several: list[Any] = [logs] if isinstance(logs, Log | str | Path) else list(logs or ())
    is_folder = isinstance(source, str | Path) and Path(source).is_dir()
    if isinstance(source, Result) or is_folder:
        stated = {"terms": terms or None, "drive": drive, "processing": processing}
        beside = next((key for key, value in stated.items() if value is not None), None)
        if beside is not None:
            raise InvalidRequestError(f"a result has its own {beside}; leave it out, or give the robot and all logs")
        if not several:
            raise InvalidRequestError("a result is of the robot alone; give one log or more with the load, too")
        result = source if isinstance(source, Result) else load_result(source)
        return _Sources(result, tuple(task for task, _ in logs_beside(result, several)))
    if several:
        if any(not isinstance(log, Log) for log in several):
            raise InvalidRequestError("with a robot, logs must be dynid.Log objects; read files with dynid.read_log")
        given = {"drive": drive, "processing": processing}
        return _Sources(None, (Task.of(source, several, terms, **given),))
    return _Sources(None, (experiment_file(source, terms, drive=drive, processing=processing).task,))


def _gains(task: Task, stds: float | Sequence[float] | Mapping[str, float] | None) -> dict[str, float]:
    """Relative standard deviations of torque constants by joint: as given, or as the drive states; else none.

    Raises:
        InvalidRequestError: If one is no share, or not every joint has one.
        UnknownNameError: If one is of no joint.
    """
    names = task.model.row_names
    found: dict[str, Any]
    if stds is None:
        stated = gain_stds(task.drive, task.model.robot)
        found = {} if stated is None else {joint: std for joint, std in zip(names, stated, strict=True) if std > 0.0}
    elif isinstance(stds, Mapping):
        found = dict(stds)
    elif np.ndim(stds) == 0:
        found = dict.fromkeys(names, stds)
    elif np.shape(stds) == (len(names),):
        found = dict(zip(names, np.asarray(stds), strict=True))
    else:
        raise InvalidRequestError(
            f"gain_std has shape {np.shape(stds)}; give one number, {len(names)} in the order of the joints, or a "
            "mapping from their names"
        )
    for joint, std in found.items():
        if joint not in names:
            raise UnknownNameError("joint", joint, names)
        if not (isinstance(std, int | float | np.number) and 0.0 < float(std) < 1.0):
            raise InvalidRequestError(
                f"gain_std is a share of the torque constants, such as 0.05 for 5 %, and not {std} (joint '{joint}')"
            )
    return {joint: float(std) for joint, std in found.items()}


def _of_task(task: Task, wanted: Mapping[str, Any], gains: Mapping[str, float], progress: Progress) -> Payload:
    """A load from logs with and without it."""
    sorts = sorted_logs(task.logs, **wanted, all_carry=False)
    if not sorts.free:
        raise InvalidRequestError(
            "all logs carry the load, and none is without it; add one without, or identify the robot first and give "
            "its result (dynid payload RESULT LOG...)"
        )
    require_torques(task)
    if task.chooses_terms or task.model.nonlinear or task.drive.signs == "auto":
        result = run(replace(task, logs=sorts.free), progress=progress)
        own = replace(task, logs=sorts.loaded, drive=result.drive)
        return _of_result(result, (own,), wanted, gains, progress, "logs")
    base, count = known_base(task.model, task.known_values), len(sorts.free) + len(sorts.loaded)
    free = ready_logs(task, sorts.free, base.model, loaded=False, like=None, count=count, progress=progress)
    like = free[0].prepared.processing
    loaded = ready_logs(task, sorts.loaded, base.model, loaded=True, like=like, count=count, progress=progress)
    return _identified(base, (), [*free, *loaded], sorts, "logs", gains, progress)


def _of_result(
    result: Result,
    tasks: Sequence[Task],
    wanted: Mapping[str, Any],
    gains: Mapping[str, float],
    progress: Progress,
    robot: Literal["result", "logs"] = "result",
) -> Payload:
    """A load from logs with it, beside a result of the robot without it."""
    every = [log for task in tasks for log in task.logs]
    sorts = sorted_logs(every, **wanted, all_carry=True)
    if result.record.commands is not None or not result.torques:
        raise InvalidRequestError(
            "the result was identified from commands, and holds no torques that a load could be compared with; "
            "identify the robot from torques"
        )
    for task in tasks:
        require_torques(task)
    ready: list[ReadyLog] = []
    for loaded, some in ((False, sorts.free), (True, sorts.loaded)):
        for task in tasks:
            own = tuple(log for log in task.logs if any(log is one for one in some))
            like = result.training if task.processing == result.task.processing else None
            ready += ready_logs(task, own, result.model, loaded=loaded, like=like, count=len(every), progress=progress)
    lasting = {row.name: row.correlation_samples for row in result.record.residuals}
    chosen = "decimate" in result.task.processing.free()
    band = PASSED_BAND if chosen and result.training is not None and result.training.decimate else 1.0
    lasting = {joint: max(lasting.get(joint, 1.0), 1.0 / band) for joint in result.model.row_names}
    earlier = tuple(Session(factors, False, lasting, "the result") for factors in result.torques)
    return _identified(result.base, earlier, ready, sorts, robot, gains, progress)


def _identified(
    base: BaseParameters,
    earlier: tuple[Session, ...],
    ready: Sequence[ReadyLog],
    sorts: SortedLogs,
    robot: Literal["result", "logs"],
    gains: Mapping[str, float],
    progress: Progress,
) -> Payload:
    """The load, from all logs."""
    progress("Estimating the load")
    rows, model, wanted = TorqueRows(base.model), base.model, sorts.wanted
    place = LoadPlace.of(model.robot, wanted.body)
    sessions = [
        Session(
            factors_of(rows, processed_rows(rows, one.prepared.segments, one.prepared.processing)),
            one.loaded,
            dict.fromkeys(model.row_names, 1.0 / one.prepared.error_band),
            one.name,
        )
        for one in ready
    ]
    problem = LoadProblem(base, place, (*earlier, *sessions))
    problem = _with_lasting(problem, ready, problem.fit())
    able = _may_change(problem)
    changes = found_changes(problem, able) if able else ()
    problem = replace(problem, changes=changes)
    fit = problem.fit()
    if changes:
        problem = _with_lasting(problem, ready, fit)
        fit = problem.fit()
    body = LoadBody.of(replace(problem, gains=gains).fit() if gains else fit)
    known = None if wanted.known is None else compared(body, numbers_of(wanted.known))
    loaded = [k for k, session in enumerate(problem.sessions) if session.loaded]
    squares = {joint: [fit.stds[k][joint] ** 2 for k in loaded if joint in fit.stds[k]] for joint in model.row_names}
    payload = Payload(
        body=place.body,
        estimate=body,
        robot=robot,
        changes=changes,
        joints={joint: float(np.sqrt(np.mean(each))) for joint, each in squares.items() if each},
        samples=sum(one.prepared.samples for one in ready if one.loaded),
        known=known,
        findings=(),
        name=wanted.name,
    )
    findings = [finding for one in ready for finding in one.prepared.findings]
    findings += findings_on_load(payload, problem, fit, sorts, ready)
    return replace(payload, findings=each_once(tuple(findings)))


def _with_lasting(problem: LoadProblem, ready: Sequence[ReadyLog], fit: LoadFit) -> LoadProblem:
    """The problem with errors that count as long as they last."""
    model, sessions = problem.base.model, list(problem.sessions)
    first = len(sessions) - len(ready)
    for k, one in enumerate(ready, start=first):
        p = problem.standard_parameters(fit, one.loaded)
        stretches = error_stretches(model, one.prepared, p)
        found = {}
        for row, joint in enumerate(model.row_names):
            errors, starts = stretches.of_row(row)
            found[joint] = max(lasting_of(errors, starts), 1.0 / one.prepared.error_band)
        sessions[k] = replace(sessions[k], lasting=found)
    return replace(problem, sessions=tuple(sessions))


def _may_change(problem: LoadProblem) -> tuple[str, ...]:
    """Parameters of friction and offsets, which may be others another day; those that are known may not."""
    model = problem.base.model
    able = [one for one in model.parameters if one.role in MAY_CHANGE and one.name in problem.base.names]
    return tuple(one.name for one in sorted(able, key=lambda one: one.owner))
