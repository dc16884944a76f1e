"""Identification from commands: joint parameters by rollouts, and the torques of the law for everything else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation import EarlierLogs, confounded_pairs
from dynid.findings import Finding
from dynid.identification.command_checks import findings_on_commands
from dynid.identification.command_findings import findings_on_fit
from dynid.identification.command_fit import Fitted, fit_commands
from dynid.identification.command_validation import rollout_record
from dynid.identification.commanded_robot import CommandedRobot, at_speeds
from dynid.identification.law_logs import stretches_of_log, with_law
from dynid.identification.log_reading import names_of, of_log, prepared_logs, read
from dynid.identification.noticed import ON_MOTION, each_once
from dynid.identification.pipeline import Estimated, Reducing, estimated, record_of
from dynid.identification.records import (
    CommandParameter,
    CommandRecord,
    Confounded,
    DelayTrial,
    LogAgreement,
    ParameterEstimate,
    Record,
    RolloutRecord,
)
from dynid.identification.result import Result
from dynid.identification.task import ExperimentFile, Task
from dynid.identification.verdict import judge
from dynid.identification.workers import Workers
from dynid.logs import COMMANDS, Log, Processing, check_time
from dynid.model import DynamicModel, known_base, matching, split_known
from dynid.model.terms import GearFriction, NonlinearTerm, Stribeck, Term

Progress = Callable[[str], None]

AS_IT_IS = Processing(automatic=False)
"""Processing in which nothing is chosen."""


def identify_commanded(
    task: Task,
    file: ExperimentFile | None,
    earlier: EarlierLogs | None,
    progress: Progress,
    workers: Workers,
) -> Result:
    """Identify a robot from commands.

    Args:
        task: The task; its logs have commands.
        file: The experiment file that it was read from, if it was.
        earlier: Logs that were reduced before.
        progress: Callback; receives a short description of each step.
        workers: Where logs are reduced.

    Raises:
        InvalidRequestError: If something is asked for that goes with measured torques alone.
    """
    start = time.perf_counter()
    _require_alone(task, earlier, workers)
    robot = task.model.robot
    logs: list[Log] = []
    for k, source in enumerate(task.logs, start=1):
        progress(f"Reading log {k} of {len(task.logs)}")
        logs.append(read(source, robot, progress, task.drive, AS_IT_IS))
    names = names_of(task.logs)
    notes = [note for log, name in zip(logs, names, strict=True) for note in of_log(log.findings, name, len(logs))]
    logs, names = _stretched(logs, names)
    notes += findings_on_commands(logs, robot)
    reading = time.perf_counter() - start
    speeds, _ = split_known(task.model, task.known)
    model = task.model.at_nonlinear(speeds)
    stated = _known_terms(task), tuple(logs), task.control, frozenset(speeds)
    commanded = CommandedRobot(model, robot.parameters, *stated)
    fitted = fit_commands(commanded, progress)
    if task.control.links == "prior":
        fitted = _with_links(task, fitted, progress)
    progress("Torques of the control law")
    found = _on_torques(task, fitted, progress)
    findings = (*notes, *findings_on_fit(fitted, names), *_of_torques(found))
    findings = each_once(findings)
    record = record_of(found, found.read, findings, time.perf_counter() - start)
    commands = _command_record(fitted, names, task.estimation.confidence, reading)
    record = _with_commands(record, commands)
    record = record.model_copy(update={"verdict": judge(record, findings)})
    base = found.nonlinear.base
    torques, rows = found.solution.torques, found.solution.rows
    known = replace(found.task, logs=with_law(task.logs, commands), known=task.known, processing=task.processing)
    return Result(base, record, findings, known, torques, rows, None, file)


def has_rollout_slopes(term: Term) -> bool:
    """Whether rollouts have slopes over all nonlinear parameters of a term, if it has any."""
    return not isinstance(term, NonlinearTerm) or isinstance(term, Stribeck | GearFriction)


def _require_alone(task: Task, earlier: EarlierLogs | None, workers: Workers) -> None:
    """Refuse what goes with measured torques alone."""
    refused = {
        "torque = 'magnitude'": task.torque == "magnitude",
        "a result to add to": earlier is not None,
        "workers": workers.is_asked,
        f"estimator = '{task.estimation.estimator}'": task.estimation.estimator != "torque",
        "positions of motors": task.drive.positions == "motor",
        "nonlinear friction but that of 'stribeck' and loaded gears": not all(
            map(has_rollout_slopes, task.model.terms)
        ),
    }
    wrong = next((what for what, is_so in refused.items() if is_so), None)
    if wrong is not None:
        raise InvalidRequestError(f"{wrong} goes with measured torques, not with commands; leave it out")
    robot = task.model.robot
    if not robot.parameters.any():
        raise InvalidRequestError(
            f"'{robot.name}' states no mass or inertia, and commands show what moves beside known links; state these"
        )


FEWEST_SAMPLES = 100
"""Samples that a log needs for filters and blocks of time."""


def _stretched(logs: Sequence[Log], names: Sequence[str]) -> tuple[list[Log], list[str]]:
    """Stretches of logs without gaps in time, and their names; those that are too short are left out.

    Raises:
        InvalidRequestError: If nothing remains of a log.
    """
    found: list[tuple[Log, str]] = []
    for log, name in zip(logs, names, strict=True):
        parts = [part for part in stretches_of_log(log) if len(part) >= FEWEST_SAMPLES]
        if not parts:
            raise InvalidRequestError(
                f"{name} has no stretch of {FEWEST_SAMPLES} samples without gaps, which commands need; leave it out"
            )
        called = [name] if len(parts) == 1 else [f"{name} (part {k})" for k in range(1, len(parts) + 1)]
        found += zip(parts, called, strict=True)
    return [log for log, _ in found], [name for _, name in found]


def _known_terms(task: Task) -> dict[int, float]:
    """Values of terms' parameters that are known, by their indices."""
    model, first = task.model, len(task.model.robot.parameters)
    _, known = split_known(model, task.known)
    found = {}
    for pattern, value in known.items():
        for name in matching([pattern], model.names):
            if model.names.index(name) >= first:
                found[model.names.index(name)] = value
    return found


def _on_torques(task: Task, fitted: Fitted, progress: Progress) -> Estimated:
    """The torques of the law, once it is known how that acts, as measured torques are identified."""
    point = fitted.point
    logs = tuple(without_commands(log.with_law(point.delay, point.form, point.scales)) for log in fitted.robot.logs)
    processing = task.processing if task.processing.model_fields_set else _processing(fitted)
    estimation = task.estimation.model_copy(update={"bootstrap": False})  # rollouts have their own uncertainties
    model = at_speeds(fitted.robot.model, point)
    speeds = {one.name: one.value for one in model.nonlinear}
    model = model.with_values(dict(zip(model.names, point.p.tolist(), strict=True)))
    known = {**task.known_values, **speeds}
    own = replace(task, model=model, logs=logs, known=known, processing=processing, estimation=estimation)
    base = known_base(own.model, own.known)
    read_logs = prepared_logs(own, base, progress)
    return estimated(own, base, Reducing(base.model, read_logs, Workers(), None, progress), (), progress)


def _processing(fitted: Fitted) -> Processing:
    """Derivatives as they are, and rows that are filtered alike on both sides: what the regression does."""
    uneven = [log for log in fitted.robot.logs if not check_time(log.time).is_even]
    rate = None if not uneven else 1.0 / float(np.median(np.diff(uneven[0].time)))
    stated = Processing(automatic=False, velocity="derived", derivative="central", decimate=(fitted.every,), row_trim=2)
    return stated if rate is None else stated.but(resample=rate)


def without_commands(log: Log) -> Log:
    """A log whose torques stand for themselves."""
    return replace(log, **dict.fromkeys((*COMMANDS, "effort_limit", "back_emf")))


def _of_torques(found: Estimated) -> Iterator[Finding]:
    """Findings on the law's torques that matter: their errors are those of the law, not of a sensor."""
    return (finding for finding in found.findings if finding.code in ON_MOTION)


def _with_links(task: Task, fitted: Fitted, progress: Progress) -> Fitted:
    """The fit once more with links that the torques of the law move away from the robot file's."""
    progress("Links near those of the robot's file")
    found = _on_torques(task, fitted, progress)
    if found.links is None:
        return fitted
    links = np.array([found.links.values[name] for name in fitted.robot.model.names[: fitted.robot.first]])
    return fit_commands(replace(fitted.robot, links=links), progress)


def _with_commands(record: Record, commands: CommandRecord) -> Record:
    """The record with the parameters of rollouts in place of those of torques."""
    own = {row.name: row for row in commands.parameters}
    new: dict[str, object] = {"commands": commands}
    new["parameters"] = tuple(_row(row, own.get(row.name)) for row in record.parameters)
    if record.physical is not None:
        terms = tuple(
            term.model_copy(update={"value": own[term.name].value, "std": own[term.name].std})
            if term.name in own
            else term
            for term in record.physical.terms
        )
        new["physical"] = record.physical.model_copy(update={"terms": terms})
    return record.model_copy(update=new)


def _row(row: ParameterEstimate, own: CommandParameter | None) -> ParameterEstimate:
    if own is None or row.expression != row.name:  # with links that move, some are sums of several
        return row
    relative = None if own.value == 0.0 else 100.0 * own.std / abs(own.value)
    new = {"value": own.value, "std": own.std, "lower": own.lower, "upper": own.upper, "relative_std_percent": relative}
    return row.model_copy(
        update={**new, "bootstrap_std": None, "bootstrap_lower": None, "bootstrap_upper": None},
    )


def _command_record(fitted: Fitted, names: Sequence[str], confidence: float, reading: float) -> CommandRecord:
    robot, point, fit = fitted.robot, fitted.point, fitted.output_error
    commands = robot.logs[0].commands
    limit, control, back_emf = commands.limit, robot.control, commands.back_emf
    if limit is not None and back_emf is not None:
        limit = limit * point.scales
    parameters = _parameters(fitted, confidence)
    by_name = {row.name: row for row in parameters}
    return CommandRecord(
        law=point.form,
        delay=point.delay,
        delay_std=by_name["delay"].std if "delay" in by_name else None,
        kp=tuple((_median([log.commands.kp for log in robot.logs]) * point.scales).tolist()),
        kd=tuple((_median([log.commands.kd for log in robot.logs]) * point.scales).tolist()),
        effort_limit=None if limit is None else tuple(limit.tolist()),
        back_emf=None if back_emf is None else tuple(back_emf.tolist()),
        gain_scales=tuple(point.scales.tolist()) if control.gains == "scale" else None,
        bias=tuple(point.bias.tolist()) if fitted.columns.bias else None,
        parameters=parameters,
        correlations=() if fit is None else tuple(map(tuple, np.round(fit.correlation, 4).tolist())),
        confounded=tuple(_confounded(fitted)),
        profile=_profile(fitted),
        rollout=_rollouts(fitted),
        agreement=_agreement(fitted, names),
        output_error=fit is not None,
        iterations=0 if fit is None else fit.iterations,
        converged=fit is None or fit.converged,
        regression_seconds=reading + fitted.seconds[0],
        output_error_seconds=fitted.seconds[1],
    )


def _median(gains: Sequence[Array]) -> Array:
    """The median of gains over the samples of all logs, shape (joints,)."""
    return np.median([np.median(gain, axis=0) for gain in gains], axis=0)


def _parameters(fitted: Fitted, confidence: float) -> tuple[CommandParameter, ...]:
    """Parameters of joints and law with their intervals."""
    from scipy.stats import norm, t

    model, fit, robot = fitted.robot.model, fitted.output_error, fitted.robot
    by_regression = _by_regression(fitted)
    if fit is None:
        names = [model.names[k] for k in robot.estimated]
        stds = fitted.fit.stds[np.array(robot.estimated, dtype=int) - robot.first]
        values, quantile = fitted.point.p[[*robot.estimated]], float(norm.ppf(0.5 + 0.5 * confidence))
        raw = fitted.fit.values[np.array(robot.estimated, dtype=int) - robot.first]
        states = {name: "bound" for name, x, y in zip(names, raw, values, strict=True) if x != y}
        states |= {name: "undetermined" for name, std in zip(names, stds, strict=True) if not std > 0.0}
    else:
        names, values, stds = fit.unknowns.names, fit.values, fit.stds
        quantile = float(t.ppf(0.5 + 0.5 * confidence, fit.degrees_of_freedom))
        states = dict.fromkeys(fit.undetermined, "undetermined") | dict.fromkeys(fit.at_bounds, "bound")
    rows = []
    for name, value, std in zip(names, values, stds, strict=True):
        owner, unit = _owner(model, name)
        rows.append(
            CommandParameter(
                name=name,
                owner=owner,
                unit=unit,
                value=float(value),
                std=float(std),
                lower=float(value - quantile * std),
                upper=float(value + quantile * std),
                regression=by_regression.get(name),
                state=states.get(name, "determined"),  # type: ignore[arg-type]  # one of its words
            )
        )
    return tuple(rows)


def _by_regression(fitted: Fitted) -> dict[str, float]:
    """Values of the regression, by name."""
    names, first = fitted.robot.model.names, fitted.robot.first
    found = {names[first + k]: float(value) for k, value in enumerate(fitted.fit.values)}
    return {**found, "delay": fitted.fit.delay}


def _owner(model: DynamicModel, name: str) -> tuple[str, str]:
    """The joint's own name and the unit of a parameter."""
    if name in model.names:
        parameter = model.parameters[model.names.index(name)]
        return parameter.owner, parameter.unit
    if name == "delay":
        return "", "s"
    speed = next((one for one in model.nonlinear if one.name == name), None)
    if speed is not None:
        return speed.owner, speed.unit
    kind = "bias" if name.startswith("bias") else "scale"
    number = int(name.removeprefix(kind))
    joint = next(joint for joint in model.robot.independent_joints if joint.number == number)
    return joint.name, "rad or m" if kind == "bias" else ""


def _confounded(fitted: Fitted) -> Iterator[Confounded]:
    """Pairs of parameters that the logs hardly separate."""
    fit = fitted.output_error
    if fit is None:
        return
    names, C = fit.unknowns.names, fit.white
    shared = np.array([row < 0 for row in fit.unknowns.rows])
    rho = np.where(shared[:, None] | shared, fit.correlation, fit.apart)  # the delay joins all joints
    for i, j, correlation in confounded_pairs(rho):
        yield Confounded(one=names[i], other=names[j], correlation=correlation, slope=float(C[i, j] / C[i, i]))


def _profile(fitted: Fitted) -> tuple[DelayTrial, ...]:
    names, robot = fitted.robot.model.names, fitted.robot
    return tuple(
        DelayTrial(
            delay=fit.delay,
            rmse=error,
            values={names[robot.first + k]: float(value) for k, value in enumerate(fit.values)},
        )
        for fit, error in fitted.profile
        if np.isfinite(error)
    )


def _rollouts(fitted: Fitted) -> RolloutRecord:
    """Rollouts of the logs themselves, beside those of the regression and of the robot's file."""
    robot = fitted.robot
    own, regression = robot.errors(fitted.point), robot.errors(fitted.regression)
    of_file = robot.errors(robot.of_file(fitted.point))
    commands = np.array([np.mean((log.position - log.commands.position) ** 2, axis=0) for log in robot.logs])
    assert own is not None  # the fit rolled out
    return rollout_record(robot.model, own, commands, regression, of_file)


def _agreement(fitted: Fitted, names: Sequence[str]) -> tuple[LogAgreement, ...]:
    """How well each log's own fit agrees with that of all logs."""
    fit = fitted.output_error
    if fit is None or len(fit.scores) < 2:
        return ()
    values, stds = fit.by_log
    z = np.where(fit.known_by_log, np.abs(values - fit.values) / np.where(stds > 0.0, stds, 1.0), 0.0)
    found = []
    for k, name in enumerate(names):
        known, worst = fit.known_by_log[k], int(np.argmax(z[k]))
        share = float(np.mean(fit.inside[k][known])) if known.any() else 1.0
        where = {"worst": fit.unknowns.names[worst], "standard_deviations": float(z[k, worst])}
        found.append(LogAgreement(name=name, share=share, **where))
    return tuple(found)
