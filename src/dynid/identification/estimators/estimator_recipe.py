"""From an estimator's name to its rows: what `identify` does where feedback or noise would bias least squares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.equivalent_rows import equivalent_factors
from dynid.estimation.factors.factors import Factors
from dynid.estimation.factors.reduced_logs import EarlierLogs, Fold, ReducedLogs
from dynid.estimation.least_squares import weighted_least_squares
from dynid.estimation.nonlinear.nonlinear_fit import NonlinearFit
from dynid.estimation.physical.physical_links import physics_of
from dynid.estimation.total_least_squares import total_least_squares
from dynid.findings import Finding
from dynid.identification.drive_units import is_in_amperes
from dynid.identification.estimators.loop_errors import closed_loop_errors
from dynid.identification.estimators.loops import Loop, loop_of
from dynid.identification.estimators.periodic_estimate import by_periods
from dynid.identification.estimators.rows_from_loops import (
    LoopProblem,
    LoopRows,
    by_instruments,
    direct_and_inverse,
    with_instruments,
)
from dynid.identification.log_reading import PreparedLogs
from dynid.identification.records import ConsistencyRecord, LoopRecord
from dynid.identification.task import Task
from dynid.logs import PreparedLog
from dynid.model import loaded
from dynid.simulation import nominal_robot

Progress = Callable[[str], None]


@dataclass(frozen=True)
class ConsistencyThresholds:
    """When least squares are called biased, and when instruments are refused."""

    level: float = 0.05
    """Probability of a larger F, where least squares are consistent, below which they are called biased. Shown by
    `benchmarks/consistency_test.py`: 3.3 to 5.7 % of consistent data, all of the biased ones."""

    other_motion: float = 0.1
    """Difference of positions of two runs, relative to their spread, above which they are of other motions. By
    judgement: runs of one motion differ by 0.01 % (a UR10e), and by 1 % where they begin some samples apart."""


THRESHOLDS = ConsistencyThresholds()


@dataclass(frozen=True, eq=False)
class EstimatorRows:
    """What an estimator makes of logs.

    Attributes:
        rows: Factors whose weighted least squares are the estimate.
        record: How it went.
        findings: What users should know.
        folds: Factors of parts of the logs; none where those of least squares on torques stand for them.
    """

    rows: Sequence[Factors]
    record: LoopRecord
    findings: tuple[Finding, ...]
    folds: tuple[Fold, ...] = ()


def require_loop_estimator(task: Task, earlier: EarlierLogs | None) -> None:
    """Refuse what estimators other than least squares do not go with.

    Raises:
        InvalidRequestError: If torques have no signs, logs were reduced before, or terms are nonlinear or yet to be
            chosen.
    """
    name, problem = task.estimation.estimator, ""
    if earlier is not None:
        problem = "logs that were reduced before, or static ones"
    elif task.torque == "magnitude":
        problem = "torques without signs"
    elif task.model.nonlinear:
        problem = "nonlinear terms"
    elif task.chooses_terms:
        problem = "terms = 'auto'"
    elif name != "tls" and any(log.load is not None for log in task.logs):
        problem = "logs that carry loads"
    elif name not in ("tls", "ml") and is_in_amperes(task.drive):
        problem = "currents whose torque constants are unknown"
    elif name in ("clie", "cloe", "clioe") and task.drive.unmeasured:
        problem = "joints whose torques are not measured"
    elif name not in ("tls", "ml") and task.processing.period is not None:
        problem = "averaged periods (processing.period)"
    if problem:
        raise InvalidRequestError(
            f"estimator = '{name}' does not go with {problem}; use estimator = 'torque', or leave these out"
        )


def rows_of(
    task: Task, read: PreparedLogs, nonlinear: NonlinearFit, reduced: ReducedLogs, progress: Progress
) -> EstimatorRows:
    """The rows of the estimator that a task asks for.

    Args:
        task: The task.
        read: Its logs.
        nonlinear: The base parameters of its model.
        reduced: The factors of the logs' torques.
        progress: Callback; receives a short description of each step.

    Raises:
        DynidError: If the estimator cannot be used with these logs; says what it needs.
    """
    base, name = nonlinear.base, task.estimation.estimator
    if name == "tls":
        found = total_least_squares(reduced.rows, base)
        rows = [equivalent_factors(base, found.values, found.covariance, found.rows)]
        note = Finding.of("total-least-squares", "estimation.estimator")
        return EstimatorRows(rows, LoopRecord(iterations=1, settled=True), (note,))
    if name == "ml":
        period, most = task.processing.period, task.estimation.iterations
        likely = by_periods(nonlinear, read.logs, read.logged, read.drive, period, most, progress)
        return EstimatorRows(likely.rows, _record(likely, (), "none"), tuple(_findings(likely, ())))
    pairs = zip(read.logged, read.logs, strict=True)
    loops = [loop_of(log, ready, base.model, read.drive, task.control) for log, ready in pairs]
    physics = physics_of(task.physical, base.model, task.reference)
    most = task.estimation.iterations
    problem = LoopProblem(nonlinear, read.logs, loops, task.estimation, physics, most, progress)
    if task.estimation.instruments == "repeat":
        found = _with_given(problem, repeated(read.logs))
        return EstimatorRows(found.rows, _record(found, (), "repeat"), tuple(_findings(found, ())))
    start = start_of(problem, reduced.rows)
    if name in ("didim", "didim_power"):
        found, source = direct_and_inverse(problem, start, "power" if name == "didim_power" else "torque"), "none"
    elif name in ("clie", "cloe", "clioe"):
        found, source = closed_loop_errors(problem, start, name), "none"
    else:
        found, source = _by_instruments(problem, start, task)
    return EstimatorRows(found.rows, _record(found, loops, source), tuple(_findings(found, loops)), found.folds)


def start_of(problem: LoopProblem, rows: Sequence[Factors]) -> Array:
    """Standard parameters to begin with, shape (parameters,): those of least squares, or of the robot file."""
    nominal, _ = nominal_robot(problem.base.model)
    if problem.settings.start == "file":
        return nominal.parameters
    estimate = weighted_least_squares(rows, problem.base)
    return problem.standard(estimate.values, rows, nominal.parameters)


def _by_instruments(problem: LoopProblem, start: Array, task: Task) -> tuple[LoopRows, str]:
    """Instrumental variables, with the instruments that were asked for, or that the logs allow."""
    kind = task.estimation.instruments
    if kind == "auto" or kind == "loop":
        return by_instruments(problem, start), "loop"
    return _with_given(problem, references(problem.loops)), kind


def _with_given(problem: LoopProblem, instruments: Sequence[PreparedLog]) -> LoopRows:
    """The estimate with instruments that nothing has to be simulated for."""
    found = with_instruments(problem, instruments)
    rows = [equivalent_factors(problem.base, found.values, found.covariance, found.rows)]
    return LoopRows(rows, 1, True, np.zeros(0), found.test)


def references(loops: Sequence[Loop]) -> list[PreparedLog]:
    """Logs along what was to be followed.

    Raises:
        InvalidRequestError: If a log has no commands.
    """
    found = []
    for loop in loops:
        chunks = [stretch.reference for stretch in loop.stretches]
        if loop.followed != "commands" or any(chunk is None for chunk in chunks):
            raise InvalidRequestError(
                "instruments = 'reference' need what the robot was to follow; state position_command of the logs, "
                "without kp"
            )
        found.append(along(loop.log, [chunk for chunk in chunks if chunk is not None]))
    return found


def repeated(logs: Sequence[PreparedLog]) -> list[PreparedLog]:
    """For each log the motion of another run of the same motion.

    Raises:
        InvalidRequestError: If a log has no other of the same samples and the same motion.
    """
    if len(logs) % 2:
        raise InvalidRequestError(
            f"instruments = 'repeat' take pairs of logs of one motion, one after the other, and there are {len(logs)}; "
            "give the second run, too"
        )
    found = []
    for k, log in enumerate(logs):
        other = logs[k + 1 - 2 * (k % 2)]
        if [len(one) for one in log.segments] != [len(one) for one in other.segments]:
            raise InvalidRequestError(
                f"logs {k + 1} and {k + 2 - 2 * (k % 2)} have other numbers of samples, and instruments = 'repeat' "
                "take runs of one motion; cut both alike"
            )
        chunks = [loaded(segment) for segment in other.segments]
        difference = _difference([loaded(segment).q for segment in log.segments], [chunk.q for chunk in chunks])
        if difference > THRESHOLDS.other_motion:
            raise InvalidRequestError(
                f"positions of logs {k + 1} and {k + 2 - 2 * (k % 2)} differ by {difference:.0%} of their spread, and "
                "instruments = 'repeat' take runs of one motion that begin at the same sample; cut both alike, or use "
                "instruments = 'loop'"
            )
        found.append(along(log, chunks))
    return found


def _difference(one: Sequence[Array], other: Sequence[Array]) -> float:
    """Largest root mean square difference of a joint's positions, relative to the spread of those that move."""
    q, r = np.concatenate(one), np.concatenate(other)
    spread = np.maximum(q.std(axis=0), r.std(axis=0))
    moving = spread > 1e-3 * max(float(spread.max()), 1e-12)
    return float(np.max(np.sqrt(np.mean((q - r) ** 2, axis=0))[moving] / spread[moving], initial=0.0))


def along(log: PreparedLog, chunks: Sequence) -> PreparedLog:
    """A log along the motion of chunks of the same samples; torques stay as measured."""
    pairs = zip(log.segments, chunks, strict=True)
    segments = [replace(loaded(own), q=other.q, v=other.v, a=other.a) for own, other in pairs]
    return replace(log, segments=tuple(segments))


def _record(found: LoopRows, loops: Sequence[Loop], source: str) -> LoopRecord:
    test = None
    if found.test is not None:
        test = ConsistencyRecord(statistic=found.test.statistic, freedom=found.test.freedom, p_value=found.test.p_value)
    law = followed = "none"
    if loops:
        law = "stated" if all(loop.law == "stated" for loop in loops) else "assumed"
        followed = "commands" if all(loop.followed == "commands" for loop in loops) else "measured"
    return LoopRecord.model_validate(
        {
            "iterations": found.iterations,
            "settled": found.settled,
            "law": law,
            "followed": followed,
            "instruments": source,
            "consistency": test,
        }
    )


def _findings(found: LoopRows, loops: Sequence[Loop]) -> list[Finding]:
    """What users should know of an estimate."""
    said = []
    if any(loop.followed == "measured" for loop in loops):
        said.append(Finding.of("loop-follows-measured", "logs"))
    elif any(loop.law == "assumed" for loop in loops):
        said.append(Finding.of("loop-assumed", "logs"))
    if not found.settled:
        said.append(Finding.of("estimator-not-settled", "estimation.iterations", iterations=found.iterations))
    if found.test is not None:
        code = "least-squares-biased" if found.test.rejects(THRESHOLDS.level) else "least-squares-consistent"
        said.append(Finding.of(code, "least squares", p_value=found.test.p_value, statistic=found.test.statistic))
    return said
