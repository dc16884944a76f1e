"""Identification as a recipe: from a robot and logs to a result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dynid import __version__
from dynid.errors import InvalidRequestError
from dynid.estimation.diagnosis.cause_findings import diagnose
from dynid.estimation.factors.reduced_logs import EarlierLogs, ReducedLogs, reduce_logs
from dynid.estimation.held_out_blocks import HeldOutBlocks, held_out_blocks
from dynid.estimation.least_squares import NotIdentifiableError, Prior
from dynid.estimation.nonlinear.nonlinear_fit import NonlinearFit, find_nonlinear
from dynid.estimation.physical.physical_estimate import PhysicalEstimate
from dynid.estimation.physical.physical_links import fit_physical
from dynid.estimation.residuals import JointDiagnostics, analyse_residuals
from dynid.estimation.result_rows import estimate_record, sign_curves
from dynid.estimation.settings import EstimationSettings, PhysicalSettings
from dynid.estimation.solution import Solution, solve
from dynid.findings import Finding, has
from dynid.identification.chosen_terms import alternatives, chosen_instead, with_chosen_terms, without_undetermined
from dynid.identification.drive_units import findings_in_units_of, with_units_of
from dynid.identification.estimators.estimator_recipe import require_loop_estimator, rows_of
from dynid.identification.log_reading import PreparedLogs, prepared_logs
from dynid.identification.many_logs import reduced_by_log, sampled_logs
from dynid.identification.noticed import each_once
from dynid.identification.other_stances import problem_of_posture
from dynid.identification.records import SCHEMA, LoopRecord, Record, TermChoiceRecord
from dynid.identification.result import Result, ResultError
from dynid.identification.result_files import load_result
from dynid.identification.standing_logs import with_standing_as_logged
from dynid.identification.static_logs import with_static_logs
from dynid.identification.task import ExperimentFile, Task, experiment_file
from dynid.identification.uncounted_rows import explained_by_contacts
from dynid.identification.verdict import judge
from dynid.identification.workers import ALONE, Workers
from dynid.logs import Control, Drive, Log, Processing
from dynid.machine import single_threaded_blas
from dynid.model import BaseParameters, DynamicModel, Term, known_base, known_of, specification, stored_inertia
from dynid.robot import Robot

if TYPE_CHECKING:
    from distributed import Client

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
    control: Control | Mapping[str, Any] | None = None,
    add_to: Result | str | Path | None = None,
    workers: int | None = None,
    client: Client | str | None = None,
    strict: bool = False,
    cache: bool = True,
    progress: Progress = lambda _: None,
) -> Result:
    """Identify the base parameters of a robot, and physically consistent parameters of its links and joints.

    Args:
        source: The robot (also a path, or "builtin:NAME") with `logs` in memory; or the path of an experiment file,
            which states everything and needs no other argument but `add_to` and those after it.
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
        control: How the control law acts, where logs have commands instead of torques: keys as in `[control]`.
        add_to: A result (or its folder) whose logs count, too; they are not read again.
        workers: Processes of this machine that reduce logs side by side; needs the extra `dynid[cluster]`.
        client: A `dask.distributed.Client`, or the address of a Dask scheduler, whose workers reduce logs instead.
        strict: Whether a log that cannot be used stops the run; otherwise, where logs are reduced one by one, it is
            named in a finding and the result is of the others.
        cache: Whether logs that are reduced one by one are kept, so that they are not reduced again in another run.
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
    stated |= {"estimation": estimation, "physical": physical, "control": control}
    where = Workers.of(workers, client, strict=strict, cache=cache)
    added = load_result(add_to) if isinstance(add_to, str | Path) else add_to
    if logs is not None:
        task, file = Task.of(source, logs, terms, known, **stated), None
    else:
        file = experiment_file(source, terms, known, None if added is None else added.task, **stated)
        task = file.task
    earlier = None
    if added is not None:
        task = task.with_model_of(added.task)
        earlier = added.earlier_logs(task, "the experiment" if file is None else file.path)
        task = replace(task.with_observed(added.model.observed), earlier=added.task.all_logs)
    elif not task.logs:
        raise InvalidRequestError("there is no log to identify from; give one or more")
    if not task.is_least_squares and (workers is not None or client is not None):
        raise InvalidRequestError(
            f"estimator = '{task.estimation.estimator}' simulates all logs in one process; leave workers out"
        )
    task.require_rows()
    task, earlier = with_static_logs(task, earlier, progress)
    with where.started() as running:
        return run(task, file, earlier, progress, running)


def run(
    task: Task,
    file: ExperimentFile | None = None,
    earlier: EarlierLogs | None = None,
    progress: Progress = lambda _: None,
    workers: Workers = ALONE,
) -> Result:
    """Identify what a task asks for.

    Args:
        task: The task.
        file: The experiment file that it was read from, if it was.
        earlier: Logs that were reduced before, and count, too.
        progress: Callback; receives a short description of each step.
        workers: Where logs are reduced.
    """
    task.require_loads_out()
    if task.is_commanded:
        from dynid.identification.commanded import identify_commanded

        return identify_commanded(task, file, earlier, progress, workers)
    start = time.perf_counter()
    progress("Finding base parameters")
    model = task.model if earlier is None else earlier.model
    base = known_base(model, known_of(model, task.known) if task.chooses_terms else task.known_values)
    if not task.is_least_squares:
        require_loop_estimator(task, earlier)
    if task.is_least_squares and task.estimation.estimator != "torque":
        stored_inertia(model)  # a term that does not go with other rows is refused before a log is read
    by_log = workers.reduces(task) and task.is_least_squares
    read = sampled_logs(task, base, workers, progress) if by_log else prepared_logs(task, base, progress)
    if earlier is None:
        task, base = _standing_as_logged(task, base, read)
    elif problem := problem_of_posture(base, read.sample):
        raise ResultError("the experiment" if file is None else file.path, problem)
    reduce = Reducing(base.model, read, workers, earlier, progress)
    chosen, choice, notes = with_chosen_terms(task, read, progress)
    base = base if chosen is task else None
    found = estimated(chosen, base, reduce, notes, progress)
    if choice is not None and found.doubt:
        found, choice = _with_sounder_links(found, choice, reduce, progress)
    read = found.read
    causes = _causes(found, read, progress)
    findings = each_once(findings_in_units_of(found.task.drive, (*causes, *found.findings)))
    record = record_of(found, read, findings, time.perf_counter() - start)
    record = record.model_copy(update={"verdict": judge(record, findings)})
    if found.task is not task or (file is not None and file.task.chooses_terms):
        terms = tuple(specification(term, type(term).__name__) for term in found.task.model.terms)
        record = record.model_copy(update={"terms": terms, "term_choice": choice})
    return Result(
        base=found.nonlinear.base,
        record=record,
        findings=findings,
        task=found.task,
        torques=found.solution.torques,
        rows=found.solution.rows,
        sign_curves=None if read.signs is None else sign_curves(read.signs),
        file=file,
    )


def _standing_as_logged(task: Task, base: BaseParameters, read: PreparedLogs) -> tuple[Task, BaseParameters]:
    """A task, and its base parameters, with bodies that rest where its logs have them."""
    standing = with_standing_as_logged(task, read.sample)
    return (task, base) if standing is task else (standing, known_base(standing.model, standing.known_values))


@dataclass(frozen=True, eq=False)
class Reducing:
    """How the logs of a task are reduced to factors: together, or one by one where they are many.

    Attributes:
        preparing: The model that logs are prepared with.
        read: The logs, or a sample of them.
        workers: Where logs are reduced one by one.
        earlier: Logs that were reduced before, and count, too.
        progress: Callback; receives a short description of each step.
    """

    preparing: DynamicModel
    read: PreparedLogs
    workers: Workers
    earlier: EarlierLogs | None
    progress: Progress

    @property
    def by_log(self) -> bool:
        """Whether logs are reduced one by one."""
        return self.read.ready is not None

    def __call__(self, task: Task, nonlinear: NonlinearFit) -> tuple[Task, PreparedLogs, ReducedLogs]:
        """The task with the logs that could be used, these logs, and their factors."""
        read, earlier = self.read, self.earlier
        if self.by_log:
            return reduced_by_log(task, self.preparing, read, nonlinear, self.workers, earlier, self.progress)
        reduced = reduce_logs(read.logs, nonlinear, task.estimation, earlier, folds=True, progress=self.progress)
        return task, read, reduced


COLLAPSED = 1.5
"""Error of physical links over that of base parameters from which the terms that were chosen are in doubt."""


@dataclass(frozen=True, eq=False)
class Estimated:
    """An estimate with all that belongs to it; the task has the terms that the logs determine.

    The task that was asked for has all logs; the other has those that could be used.
    """

    asked: Task
    task: Task
    read: PreparedLogs
    nonlinear: NonlinearFit
    solution: Solution
    residuals: Sequence[JointDiagnostics]
    links: PhysicalEstimate | None
    held_out: HeldOutBlocks | None
    findings: tuple[Finding, ...]
    loop: LoopRecord | None = None

    @property
    def links_cost(self) -> float:
        """Error of physical links over that of base parameters."""
        error = self.solution.estimate.relative_error
        return self.links.relative_error / error if self.links is not None and error else 1.0

    @property
    def doubt(self) -> Literal["links", "masses", ""]:
        """Whether links cannot explain the torques, or only with masses that are unlike the file's."""
        if self.links_cost > COLLAPSED:
            return "links"
        return "masses" if has(self.findings, "prior-weight-small") else ""


def estimated(
    task: Task, base: BaseParameters | None, reduce: Reducing, notes: tuple[Finding, ...], progress: Progress
) -> Estimated:
    """Estimate base parameters and links; terms that the logs do not determine are left out, and named."""
    base, asked = known_base(task.model, task.known_values) if base is None else base, task
    try:
        found = _solved(task, base, reduce, notes, progress)
    except NotIdentifiableError as error:
        fewer = None if reduce.earlier is not None else without_undetermined(task, reduce.read, error.names)
        if fewer is None:
            explained = explained_by_contacts(error, task.model, task.all_logs)
            if explained is None:
                raise
            raise explained from error
        return estimated(fewer[0], None, reduce, (*notes, *fewer[1]), progress)
    task, read, nonlinear, reduced, solution = found.task, found.read, found.nonlinear, found.reduced, found.solution
    base, findings = nonlinear.base, (*read.findings, *found.notes, *solution.findings)
    progress("Analysing residuals")
    residuals, more = analyse_residuals(read.sample, base, solution.estimate, findings, bool(solution.lost))
    findings, links = (*findings, *more), None
    if task.fits_links:
        progress("Fitting physically consistent links")
        method, folds = task.estimation.method, reduced.folds
        links, more = fit_physical(solution, base, task.physical, task.reference, folds, method)
        findings = (*findings, *more)
    prior = None if task.estimation.prior is None else Prior.near_reference(base, task.estimation.prior)
    left_out = () if links is None else links.left_out
    held_out = None
    if task.is_least_squares:
        held_out = held_out_blocks(reduced.folds, base, task.estimation.method, prior, left_out)
    return Estimated(asked, task, read, nonlinear, solution, residuals, links, held_out, findings, found.loop)


def _causes(found: Estimated, read: PreparedLogs, progress: Progress) -> tuple[Finding, ...]:
    """Causes of the residuals; none are looked for where the form of rows has lost parameters."""
    if found.solution.lost:
        return ()
    progress("Diagnosing residuals")
    base = found.nonlinear.base
    p = base.to_standard(found.solution.estimate.values)
    with single_threaded_blas():
        return diagnose(base, p, read.sample, found.solution.torques, found.findings)


@dataclass(frozen=True, eq=False)
class _Solved:
    """An estimate of base parameters, with all that it comes from."""

    task: Task
    read: PreparedLogs
    nonlinear: NonlinearFit
    reduced: ReducedLogs
    solution: Solution
    notes: tuple[Finding, ...]
    loop: LoopRecord | None


def _solved(
    task: Task, base: BaseParameters, reduce: Reducing, notes: Sequence[Finding], progress: Progress
) -> _Solved:
    """The task and its logs, as far as they can be used, nonlinear parameters, factors, and the estimate."""
    loop: LoopRecord | None = None
    logs, hold = reduce.read.sample if reduce.by_log else reduce.read.logs, reduce.earlier is not None
    nonlinear = find_nonlinear(base, logs, task.estimation, task.known, hold=hold, progress=progress)
    task, read, reduced = reduce(task, nonlinear)
    if not task.is_least_squares:
        found = rows_of(task, read, nonlinear, reduced, progress)
        reduced = replace(reduced, rows=found.rows, folds=found.folds or reduced.folds)
        notes, loop = (*notes, *found.findings), found.record
    progress("Estimating")
    with single_threaded_blas():
        noticed = (*read.findings, *notes)
        solution = solve(read.logs, read.sample, reduced, nonlinear, task.estimation, noticed, progress)
    return _Solved(task, read, nonlinear, reduced, solution, tuple(notes), loop)


def _with_sounder_links(
    found: Estimated, choice: TermChoiceRecord, reduce: Reducing, progress: Progress
) -> tuple[Estimated, TermChoiceRecord]:
    """The estimate with offsets or motor inertia beside the chosen terms, where links need them.

    Held-out torques may not show them, because masses take their place; but then links are impossible, or unlike the
    robot file's.
    """
    for terms in alternatives(choice, at_any_price=found.doubt == "links"):
        progress(f"Fitting links with {', '.join(terms)}")
        note = Finding.of(f"terms-chosen-{found.doubt}", "terms", terms=list(terms), without=found.links_cost)
        try:
            other = estimated(found.asked.with_terms(terms), None, reduce, (note,), progress)
        except NotIdentifiableError:
            continue
        if not other.doubt:
            return other, chosen_instead(choice, terms)
    return found, choice


def record_of(found: Estimated, read: PreparedLogs, findings: Sequence[Finding], seconds: float) -> Record:
    """The record of an identification."""
    task, base, nonlinear = found.task, found.nonlinear.base, found.nonlinear
    robot, stated = base.model.robot, read.drive.signs
    confidence = task.estimation.confidence
    parts = found.solution, found.links, found.residuals, read.signs, confidence, found.held_out
    estimated = estimate_record(base, *parts)
    return Record.model_validate(
        {
            "schema": SCHEMA,
            "version": __version__,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "robot": robot.name,
            "observed": base.model.observed,
            "kinematics": robot.kinematics(),
            "shape_passes": 0 if nonlinear.fit is None else nonlinear.fit.passes,
            "drive_signs": stated if isinstance(stated, tuple) else None,
            "processing": [log.applied() for log in read.logs],
            "samples": read.samples,
            "seconds": seconds,
            "findings": [finding.to_dict() for finding in findings],
            **with_units_of(read.drive, estimated),
            **({} if found.loop is None else {"loop": found.loop, "estimator": task.estimation.estimator}),
        }
    )
