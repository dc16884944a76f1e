"""Several estimators on the same logs, side by side, and which of them to use: what `dynid compare` does."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import DynidError, InvalidRequestError, UnknownNameError
from dynid.estimation.factors.reduced_logs import reduce_logs
from dynid.estimation.least_squares import joint_fits, merge_logs
from dynid.estimation.nonlinear.nonlinear_fit import NonlinearFit
from dynid.estimation.physical.physical_links import physics_of
from dynid.estimation.settings import EstimationSettings
from dynid.identification.estimators.loops import Loop, loop_of
from dynid.identification.estimators.rows_from_loops import LoopProblem
from dynid.identification.log_reading import name_of, read
from dynid.identification.pipeline import run
from dynid.identification.result import Result
from dynid.identification.task import Task, experiment_file
from dynid.identification.validation import validate
from dynid.logs import Log, prepare
from dynid.model import Term, html_table, text_table
from dynid.robot import Robot
from dynid.simulation import nominal_robot

Progress = Callable[[str], None]

ESTIMATORS = ("ols", "wls", "tls", "iv", "didim", "ml", "clie", "cloe", "clioe")
"""What is compared; "ols" and "wls" are least squares on torques."""

OTHERS = ("power", "energy", "momentum", "didim_power")
"""What can be compared, too."""

TITLES = {
    "ols": "ordinary least squares",
    "wls": "weighted least squares",
    "tls": "total least squares",
    "iv": "instrumental variables",
    "didim": "direct and inverse dynamics (DIDIM)",
    "didim_power": "DIDIM on powers",
    "ml": "maximum likelihood over periods",
    "clie": "closed-loop input error",
    "cloe": "closed-loop output error",
    "clioe": "closed-loop input and output error",
    "power": "least squares on powers",
    "energy": "least squares on energies",
    "momentum": "least squares on momenta",
}

AS_GOOD = 1.02
"""Error over the smallest one up to which the simplest estimator is taken."""

HELD_OUT = 0.3
"""Part of a single log, its end, that is held out."""

NEVER = frozenset(("ols", "tls"))
"""Estimators that are shown for comparison and never recommended."""


@dataclass(frozen=True)
class ComparedEstimator:
    """One estimator beside others.

    Attributes:
        name: Its name, as in `[estimation]` ("ols" and "wls" for least squares on torques).
        relative_error: Error of torques along the measured motion of held-out data, relative to them. Noise of the
            motion favours least squares here, which fit it.
        simulated_error: The same along the motion of the simulated robot in the loop of the held-out data, which is
            free of that noise; None where nothing was to be followed.
        std: Median standard deviation of parameters, relative to their values.
        seconds: Time that it took [s].
        iterations: Number of its iterations; 1 for least squares.
        settled: Whether these settled.
        p_value: That of the test of consistency of least squares; None where it makes none.
        problem: Why it could not be used; empty where it could.
    """

    name: str
    relative_error: float | None = None
    simulated_error: float | None = None
    std: float | None = None
    seconds: float | None = None
    iterations: int = 1
    settled: bool = True
    p_value: float | None = None
    problem: str = ""

    @property
    def error(self) -> float | None:
        """The error that estimators are judged by."""
        return self.relative_error if self.simulated_error is None else self.simulated_error


@dataclass(frozen=True, eq=False)
class Comparison:
    """Estimators side by side.

    Attributes:
        robot: Name of the robot.
        held_out: What was held out, in words.
        judged_by: "simulated" where errors along simulated motion decide, or "measured".
        estimators: The estimators.
        recommendation: Name of the one to use; None where none could be used.
        reason: Why.
    """

    robot: str
    held_out: str
    judged_by: str
    estimators: tuple[ComparedEstimator, ...]
    recommendation: str | None
    reason: str

    def rows(self) -> list[list[str]]:
        """A row of text for each estimator that could be used."""
        return [
            [
                one.name,
                _percent(one.relative_error),
                _percent(one.simulated_error),
                _percent(one.std),
                "" if one.seconds is None else f"{one.seconds:.2g}",
                str(one.iterations) if one.settled else f"{one.iterations}, not settled",
                "" if one.p_value is None else _p(one.p_value).removeprefix("p ").removeprefix("= "),
            ]
            for one in self.estimators
            if not one.problem
        ]

    def __str__(self) -> str:
        return text_table(HEADER, self.rows())

    def _repr_html_(self) -> str:
        return html_table(self.reason, HEADER, self.rows())

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {
            "robot": self.robot,
            "held_out": self.held_out,
            "judged_by": self.judged_by,
            "estimators": [{"title": TITLES[one.name], **vars(one)} for one in self.estimators],
            "recommendation": self.recommendation,
            "reason": self.reason,
        }


HEADER = ("estimator", "error", "simulated", "std", "seconds", "iterations", "p of test")
"""Columns of the table."""


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100.0 * value:.3g} %"


def compare_estimators(
    source: Robot | str | Path,
    logs: Log | Sequence[Log] | None = None,
    terms: str | Sequence[str | Term] = (),
    *,
    estimators: Sequence[str] = ESTIMATORS,
    held_out: Log | Sequence[Log] | None = None,
    progress: Progress = lambda _: None,
    **settings: Any,
) -> Comparison:
    """Identify a robot with several estimators, compare their errors on held-out data, and recommend one.

    Args:
        source: The robot (also a path, or "builtin:NAME") with `logs` in memory; or the path of an experiment file.
        logs: What was measured; with commands and gains of the controller where these are known.
        terms: Friction and actuator terms, as for `identify`.
        estimators: Which to compare.
        held_out: Logs to judge by. When None, the last of several logs, or the last 30 % of a single one.
        progress: Callback; receives a short description of each step.
        settings: Further arguments of `identify`: known, drive, processing, estimation, physical, control.

    Raises:
        UnknownNameError: If there is no estimator of a name.
        DynidError: If logs cannot be read or do not fit together. An estimator that cannot be used is named, and the
            others go on.
    """
    unknown = next((name for name in estimators if name not in TITLES), None)
    if unknown is not None:
        raise UnknownNameError("estimator", unknown, list(TITLES))
    task = Task.of(source, logs, terms, **settings) if logs is not None else _task(source, terms, settings)
    if task.chooses_terms or task.is_commanded or task.torque == "magnitude":
        raise InvalidRequestError(
            "estimators are compared on measured torques with signs and stated terms; state these (not terms = 'auto')"
        )
    read_logs = [read(log, task.model.robot, progress, task.drive, task.processing) for log in task.logs]
    used, unseen, words = _split(read_logs, held_out)
    judge = _Judge.of(task, unseen)
    found = []
    for name in estimators:
        progress(f"Estimator {name}")
        found.append(_compared(name, replace(task, logs=tuple(used)), judge))
    best, reason = recommended(found)
    judged = "simulated" if any(one.simulated_error is not None for one in found) else "measured"
    return Comparison(task.model.robot.name, words, judged, tuple(found), best, reason)


def _task(source: Robot | str | Path, terms: Any, settings: Mapping[str, Any]) -> Task:
    return experiment_file(source, terms, **settings).task


def _split(logs: Sequence[Log], held_out: Log | Sequence[Log] | None) -> tuple[list[Log], list[Log], str]:
    """Logs to identify from, logs to judge by, and what these are in words."""
    logs = [log for log in logs if not log.static]
    if held_out is not None:
        unseen = [held_out] if isinstance(held_out, Log) else list(held_out)
        if not unseen:
            raise InvalidRequestError("held_out has no log; leave it out, or give one or more")
        return list(logs), unseen, f"{len(unseen)} other logs" if len(unseen) > 1 else "another log"
    if not logs:
        raise InvalidRequestError("there is no log of motion to compare estimators on; give one or more")
    if len(logs) > 1:
        return list(logs[:-1]), [logs[-1]], f"the last log ({name_of(logs[-1], len(logs))})"
    cut = int(len(logs[0]) * (1.0 - HELD_OUT))
    return [logs[0][:cut]], [logs[0][cut:]], f"the last {100.0 * HELD_OUT:.0f} % of the log"


@dataclass(frozen=True, eq=False)
class _Judge:
    """Held-out logs, and their loops where something was to be followed."""

    logs: Sequence[Log]
    loops: Sequence[Loop]

    @staticmethod
    def of(task: Task, logs: Sequence[Log]) -> _Judge:
        ready = [prepare(log, task.model, task.drive, task.processing) for log in logs]
        try:
            pairs = zip(logs, ready, strict=True)
            loops = [loop_of(log, one, task.model, task.drive, task.control) for log, one in pairs]
        except DynidError:  # a robot that cannot be simulated is judged along measured motion
            return _Judge(logs, ())
        return _Judge(logs, loops if all(loop.followed == "commands" for loop in loops) else ())

    def simulated_error(self, result: Result) -> float | None:
        """Relative error of torques along simulated motion; None where it cannot be had."""
        if not self.loops:
            return None
        base = result.base
        values = np.array([result.values[name] for name in base.names])
        nonlinear = NonlinearFit(base, base, None)
        physics = physics_of(result.task.physical, base.model, result.task.reference)
        logs = [loop.log for loop in self.loops]
        problem = LoopProblem(nonlinear, logs, self.loops, EstimationSettings(), physics)
        nominal, _ = nominal_robot(base.model)
        try:
            p: Array = problem.standard(values, result.rows, nominal.parameters)
            motion = problem.simulated(p)
        except DynidError:
            return None
        factors = merge_logs(reduce_logs(motion, nonlinear, EstimationSettings()).rows)
        return joint_fits(factors, {**result.values, **base.known})[1]


def _compared(name: str, task: Task, judge: _Judge) -> ComparedEstimator:
    """One estimator, or why it cannot be used."""
    changes: dict[str, Any] = {"bootstrap": False}
    changes |= {"estimator": "torque", "method": name} if name in ("ols", "wls") else {"estimator": name}
    if name not in ("ols", "wls"):
        changes |= {"robust": None, "prior": None}
    start = time.perf_counter()
    try:
        result = run(replace(task, estimation=task.estimation.model_copy(update=changes)))
        seconds = time.perf_counter() - start
        error = validate(result, *judge.logs).relative_error
    except DynidError as problem:
        return ComparedEstimator(name, problem=str(problem))
    loop = result.record.loop
    test = None if loop is None or loop.consistency is None else loop.consistency.p_value
    sizes = [row.relative_std_percent / 100.0 for row in result.record.parameters if row.relative_std_percent]
    return ComparedEstimator(
        name,
        relative_error=error,
        simulated_error=judge.simulated_error(result),
        std=float(np.median(sizes)) if sizes else None,
        seconds=seconds,
        iterations=1 if loop is None else loop.iterations,
        settled=True if loop is None else loop.settled,
        p_value=test,
    )


def recommended(found: Sequence[ComparedEstimator]) -> tuple[str | None, str]:
    """Which estimator to use, and why.

    The one with the smallest error that settled; but weighted least squares where these are as good: they are the
    simplest, need no controller, and choose their filters.
    """
    done = [one for one in found if one.error is not None and one.settled and one.name not in NEVER]
    simulated = [one for one in done if one.simulated_error is not None]
    able = {one.name: one for one in simulated or done}
    if not able:
        return None, "no estimator could be used; see why each could not"
    best = min(able.values(), key=lambda one: one.error or 0.0)
    plain = able.get("wls")
    biased = next((one.p_value for one in found if one.p_value is not None and one.p_value < 0.05), None)
    assert best.error is not None
    if plain is not None and plain.error is not None and plain.error <= AS_GOOD * best.error:
        if best is plain:
            reason = f"weighted least squares have the smallest error ({_percent(plain.error)})"
        else:
            reason = (
                f"weighted least squares are as good as the best ({_percent(plain.error)}; {TITLES[best.name]} "
                f"{_percent(best.error)}), and the simplest"
            )
        if biased is not None:
            reason += f"; the test finds a bias ({_p(biased)}) that is too small to matter here"
        return "wls", reason
    reason = f"{TITLES[best.name]} have the smallest error ({_percent(best.error)}"
    reason += ")" if plain is None else f"; weighted least squares {_percent(plain.error)})"
    if biased is not None:
        reason += f", and the test finds least squares biased with these filters ({_p(biased)})"
    return best.name, reason
