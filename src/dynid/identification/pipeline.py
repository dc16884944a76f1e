"""Identification as a recipe: from a robot and logs to a result."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from dynid import __version__
from dynid.errors import InvalidRequestError
from dynid.estimation.factors.reduced_logs import EarlierLogs, ReducedLogs, reduce_logs
from dynid.estimation.least_squares import NotIdentifiableError
from dynid.estimation.nonlinear.nonlinear_fit import NonlinearFit, find_nonlinear
from dynid.estimation.physical.physical_estimate import PhysicalEstimate
from dynid.estimation.physical.physical_links import fit_physical
from dynid.estimation.residuals import JointDiagnostics, analyse_residuals
from dynid.estimation.result_rows import estimate_record, sign_curves
from dynid.estimation.settings import EstimationSettings, PhysicalSettings
from dynid.estimation.solution import Solution, solve
from dynid.findings import Finding
from dynid.identification.chosen_terms import with_chosen_terms, without_undetermined
from dynid.identification.drive_units import findings_in_units_of, with_units_of
from dynid.identification.log_reading import PreparedLogs, prepared_logs
from dynid.identification.records import SCHEMA, Record
from dynid.identification.result import Result
from dynid.identification.result_files import load_result
from dynid.identification.task import ExperimentFile, Task, experiment_file
from dynid.logs import Drive, Log, Processing
from dynid.model import BaseParameters, Term, known_base, known_of, specification, stored_inertia
from dynid.robot import Robot
from dynid.threads import single_threaded_blas

Progress = Callable[[str], None]


def identify(
    source: Robot | str | Path,
    logs: Log | Sequence[Log] | None = None,
    terms: str | Sequence[str | Term] = (),
    *,
    known: Mapping[str, float] | None = None,
    torque: Literal["signed", "magnitude"] | None = None,
    discard_sign: bool | None = None,
    drive: Drive | Mapping[str, Any] | None = None,
    processing: Processing | Mapping[str, Any] | None = None,
    estimation: EstimationSettings | Mapping[str, Any] | None = None,
    physical: PhysicalSettings | Mapping[str, Any] | None = None,
    add_to: Result | str | Path | None = None,
    progress: Progress = lambda _: None,
) -> Result:
    """Identify the base parameters of a robot, and physically consistent parameters of its links and joints.

    Args:
        source: The robot (also a path, or "builtin:NAME") with `logs` in memory; or the path of an experiment file,
            which states everything and needs no other argument but `add_to` and `progress`.
        logs: What was measured.
        terms: Friction and actuator terms: names such as "viscous", or `Term` objects; "auto" chooses them by the error
            on held-out blocks of the logs.
        known: Values of parameters that are known beforehand, by name or pattern.
        torque: "magnitude" where torques were logged without sign.
        discard_sign: Whether logged signs are discarded, to practise their recovery.
        drive: Gear ratios, couplings, torque constants, signs, offsets, delay: keys as in `[drive]` of an experiment.
        processing: Filters, derivatives, decimation, thresholds; chosen from the log where nothing is stated.
        estimation: Estimator, weights, robust loss, prior, bootstrap.
        physical: Prior and constraints of the physically consistent fit; `{"fit": False}` leaves it out.
        add_to: A result (or its folder) whose logs count, too; they are not read again.
        progress: Callback; receives a short description of each step.

    Raises:
        DynidError: If something cannot be read or does not fit together; says what and what to try.

    >>> import dynid
    >>> import numpy as np
    >>> robot = dynid.load_robot("builtin:two_link")
    >>> t = np.arange(0.0, 20.0, 0.01)
    >>> q = np.stack([np.sin(1.1 * t) + 0.3 * np.sin(3 * t), np.cos(1.7 * t)], axis=1)
    >>> v = np.gradient(q, t, axis=0)
    >>> torque = dynid.DynamicModel(robot).inverse_dynamics(q, v, np.gradient(v, t, axis=0))
    >>> log = dynid.Log(time=t, position=q, torque=torque)
    >>> result = dynid.identify(robot, log)
    >>> len(result.parameters)
    6
    """
    stated = {"torque": torque, "discard_sign": discard_sign, "drive": drive, "processing": processing}
    stated |= {"estimation": estimation, "physical": physical}
    if logs is not None:
        task, file = Task.of(source, logs, terms, known, **stated), None
    else:
        file = experiment_file(source, terms=terms, known=known, **stated)
        task = file.task
    earlier = None
    if add_to is not None:
        added = add_to if isinstance(add_to, Result) else load_result(add_to)
        task = task.with_model_of(added.task)
        earlier = added.earlier_logs(task, "the experiment" if file is None else file.path)
    elif not task.logs:
        raise InvalidRequestError("there is no log to identify from; give one or more")
    return run(task, file, earlier, progress)


def run(
    task: Task,
    file: ExperimentFile | None = None,
    earlier: EarlierLogs | None = None,
    progress: Progress = lambda _: None,
) -> Result:
    """Identify what a task asks for.

    Args:
        task: The task.
        file: The experiment file that it was read from, if it was.
        earlier: Logs that were reduced before, and count, too.
        progress: Callback; receives a short description of each step.
    """
    start = time.perf_counter()
    progress("Finding base parameters")
    model = task.model if earlier is None else earlier.model
    base = known_base(model, known_of(model, task.known) if task.chooses_terms else task.known)
    if task.estimation.estimator != "torque":
        stored_inertia(model)  # a term that does not go with other rows is refused before a log is read
    read = prepared_logs(task, base, progress)
    findings: list[Finding] = [*read.findings]
    stated = task
    task, choice, notes = with_chosen_terms(task, read, progress)
    findings += notes
    if task is not stated:
        base = known_base(task.model, task.known)
    while True:
        try:
            nonlinear, reduced, solution = _solved(task, base, read, earlier, findings, progress)
            break
        except NotIdentifiableError as error:
            fewer = None if earlier is not None else without_undetermined(task, read, error.names)
            if fewer is None:
                raise
            task, notes = fewer
            findings += notes
            base = known_base(task.model, task.known)
    base = nonlinear.base
    findings += solution.findings
    progress("Analysing residuals")
    residuals, notes = analyse_residuals(read.logs, base, solution.estimate, findings, bool(solution.lost))
    findings += notes
    links = None
    if task.fits_links:
        progress("Fitting physically consistent links")
        method, folds = task.estimation.method, reduced.folds
        links, notes = fit_physical(solution, base, task.physical, task.reference, folds, method)
        findings += notes
    findings = findings_in_units_of(task.drive, findings)
    seconds = time.perf_counter() - start
    record = _record(task, base, solution, links, residuals, read, nonlinear, findings, seconds)
    if task is not stated or (file is not None and file.task.chooses_terms):
        terms = tuple(specification(term, type(term).__name__) for term in task.model.terms)
        record = record.model_copy(update={"terms": terms, "term_choice": choice})
    return Result(
        base=base,
        record=record,
        findings=tuple(findings),
        task=task,
        torques=solution.torques,
        rows=solution.rows,
        sign_curves=None if read.signs is None else sign_curves(read.signs),
        file=file,
    )


def _solved(
    task: Task,
    base: BaseParameters,
    read: PreparedLogs,
    earlier: EarlierLogs | None,
    findings: Sequence[Finding],
    progress: Progress,
) -> tuple[NonlinearFit, ReducedLogs, Solution]:
    """The nonlinear parameters, the factors of all logs, and the estimate."""
    hold = earlier is not None
    nonlinear = find_nonlinear(base, read.logs, task.estimation, task.known, hold=hold, progress=progress)
    reduced = reduce_logs(read.logs, nonlinear, task.estimation, earlier, folds=task.fits_links, progress=progress)
    progress("Estimating")
    with single_threaded_blas():
        return nonlinear, reduced, solve(read.logs, reduced, nonlinear, task.estimation, findings, progress)


def _record(
    task: Task,
    base: BaseParameters,
    solution: Solution,
    links: PhysicalEstimate | None,
    residuals: Sequence[JointDiagnostics],
    read: PreparedLogs,
    nonlinear: NonlinearFit,
    findings: Sequence[Finding],
    seconds: float,
) -> Record:
    """The record of an identification."""
    robot, stated = base.model.robot, read.drive.signs
    estimated = estimate_record(base, solution, links, residuals, read.signs, task.estimation.confidence)
    return Record.model_validate(
        {
            "schema": SCHEMA,
            "version": __version__,
            "robot": robot.name,
            "kinematics": robot.kinematics(),
            "shape_passes": 0 if nonlinear.fit is None else nonlinear.fit.passes,
            "drive_signs": stated if isinstance(stated, tuple) else None,
            "processing": [log.applied() for log in read.logs],
            "samples": read.samples,
            "seconds": seconds,
            "findings": [finding.to_dict() for finding in findings],
            **with_units_of(read.drive, estimated),
        }
    )
