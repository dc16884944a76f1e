"""Iterated estimates from simulated motion: instrumental variables, and direct and inverse dynamics together (DIDIM).

Both simulate the robot with the parameters of the last iteration in the loop of each log. DIDIM takes the simulated
motion instead of the measured one: it needs torques and the reference only. Instrumental variables take it beside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dynid.arrays import Array
from dynid.estimation.equivalent_rows import equivalent_factors
from dynid.estimation.factors.factors import Factors
from dynid.estimation.factors.reduced_logs import Fold, reduce_logs
from dynid.estimation.instrumental_variables import (
    ConsistencyTest,
    InstrumentalEstimate,
    instrumental_variables,
    paired_factors,
)
from dynid.estimation.least_squares import weighted_least_squares
from dynid.estimation.nonlinear.nonlinear_fit import NonlinearFit
from dynid.estimation.physical.physical_estimate import Physics, problem_of, weighed
from dynid.estimation.physical.semidefinite import fit
from dynid.estimation.settings import EstimationSettings
from dynid.identification.estimators.loops import DivergedError, Loop, positive_inertia
from dynid.logs import PreparedLog
from dynid.logs.processing.signals import PASSED_BAND
from dynid.model import BaseParameters
from dynid.simulation import SimulatedRobot

Progress = Callable[[str], None]

SETTLED = 0.05
"""Root mean square of a step, in standard deviations of the estimate, below which an iteration has settled."""

EXACT = 1e-9
"""Standard deviations, relative to the largest parameter, below which data are exact."""

HALVINGS = 6
"""How often a step is halved where the simulated robot does not follow."""


@dataclass(frozen=True, eq=False)
class LoopRows:
    """What an estimator makes of logs: rows that all later steps take, and how it went.

    Attributes:
        rows: Factors whose weighted least squares are the estimate; one for each log, or one for all.
        iterations: Number of simulations of all logs.
        settled: Whether the last iteration changed nothing any more.
        parameters: Standard parameters of the last simulation, shape (parameters,).
        test: Whether least squares would have been consistent; None where it was not tested.
        folds: Factors of parts of the logs, which show how far these differ; none where they were not made.
    """

    rows: Sequence[Factors]
    iterations: int
    settled: bool
    parameters: Array
    test: ConsistencyTest | None = None
    folds: tuple[Fold, ...] = ()


@dataclass(frozen=True, eq=False)
class LoopProblem:
    """Logs in their loops, and what is to be estimated.

    Attributes:
        nonlinear: The model's base parameters, all linear.
        logs: The logs, ready for the model.
        loops: Their loops.
        settings: How to estimate.
        physics: What links are like, where an estimate without mass has to be made one that can be simulated.
        most: Iterations at most.
        progress: Callback; receives a short description of each step.
    """

    nonlinear: NonlinearFit
    logs: Sequence[PreparedLog]
    loops: Sequence[Loop]
    settings: EstimationSettings
    physics: Physics
    most: int = 10
    progress: Progress = lambda _: None

    @property
    def base(self) -> BaseParameters:
        """The base parameters."""
        return self.nonlinear.base

    @property
    def is_held(self) -> bool:
        """Whether commands are held until the next one."""
        return all(loop.is_held for loop in self.loops)

    def simulated(self, parameters: Array) -> list[PreparedLog]:
        """All logs along the simulated motion of a robot with standard parameters, shape (parameters,)."""
        robot = SimulatedRobot.of(self.base.model, parameters)
        return [loop.simulated(robot) for loop in self.loops]

    def standard(self, values: Array, rows: Sequence[Factors], near: Array) -> Array:
        """Standard parameters that can be simulated and have values of base parameters, or are as near as can be.

        Args:
            values: Base parameters, shape (base,).
            rows: The factors that they come from.
            near: Standard parameters to stay near, shape (parameters,).
        """
        p = self.base.to_standard(values, near=near)
        dry = np.array([parameter.role.is_dry for parameter in self.base.model.parameters])
        p = np.where(dry, np.maximum(p, 0.0), p)
        if positive_inertia(self.base.model, p, self.logs):
            return p
        return fit(problem_of(weighed(rows, self.base, self.settings.method), self.base, self.physics))

    def followed(self, new: Array, old: Array) -> tuple[Array, list[PreparedLog]]:
        """The new parameters, or the first on the way to the old ones that follow, and the logs along their motion.

        Raises:
            DivergedError: If none follows.
        """
        for halving in range(HALVINGS + 1):
            p = old + 0.5**halving * (new - old)
            try:
                return p, self.simulated(p)
            except DivergedError:
                if halving == HALVINGS:
                    raise
        raise AssertionError


def direct_and_inverse(problem: LoopProblem, start: Array, form: Literal["torque", "power"] = "torque") -> LoopRows:
    """Gauss-Newton on torques, whose derivatives are the columns along the simulated motion (DIDIM).

    Args:
        problem: Logs in their loops.
        start: Standard parameters to begin with, shape (parameters,).
        form: What rows are: torques, or powers.

    Raises:
        DivergedError: If the simulated robot does not follow.
    """
    settings = problem.settings.model_copy(update={"estimator": form})
    p, values = start, None
    motion = problem.simulated(start)
    rows: Sequence[Factors] = ()
    for k in range(1, problem.most + 1):
        problem.progress(f"DIDIM: iteration {k}")
        rows = reduce_logs(motion, problem.nonlinear, settings).rows
        estimate = weighted_least_squares(rows, problem.base)
        if values is not None and has_settled(estimate.values, values, estimate.covariance):
            return LoopRows(rows, k, True, p)
        values = estimate.values
        p, motion = problem.followed(problem.standard(values, rows, p), p)
    return LoopRows(rows, problem.most, False, p)


def by_instruments(problem: LoopProblem, start: Array) -> LoopRows:
    """Instrumental variables, with instruments of the robot that the last iteration found.

    Args:
        problem: Logs in their loops.
        start: Standard parameters to begin with, shape (parameters,).

    Raises:
        DivergedError: If the simulated robot does not follow.
        NotIdentifiableError: If the instruments do not determine all parameters.
    """
    p, values, found = start, None, None
    motion = problem.simulated(start)
    for k in range(1, problem.most + 1):
        problem.progress(f"Instrumental variables: iteration {k}")
        found = with_instruments(problem, motion)
        rows = [equivalent_factors(problem.base, found.values, found.covariance, found.rows)]
        if values is not None and has_settled(found.values, values, found.covariance):
            return LoopRows(rows, k, True, p, found.test)
        values = found.values
        p, motion = problem.followed(problem.standard(values, rows, p), p)
    assert found is not None
    rows = [equivalent_factors(problem.base, found.values, found.covariance, found.rows)]
    return LoopRows(rows, problem.most, False, p, found.test)


def with_instruments(problem: LoopProblem, instruments: Sequence[PreparedLog]) -> InstrumentalEstimate:
    """The estimate with given instruments, one log for each log."""
    pairs = zip(problem.logs, instruments, strict=True)
    factors = [paired_factors(problem.base, log, other) for log, other in pairs]
    bands = [min(log.error_band, PASSED_BAND) if log.processing.decimate else 1.0 for log in problem.logs]
    weighted = problem.settings.method == "wls"
    return instrumental_variables(problem.base, factors, bands, weighted=weighted)


def has_settled(new: Array, old: Array, covariance: Array) -> bool:
    """Whether a step is small beside the standard deviations of what it leads to; exact data have none."""
    scale = np.sqrt(np.diag(covariance))
    scale = np.maximum(scale, EXACT * np.abs(new).max())
    correlation = covariance / np.outer(scale, scale) + 1e-9 * np.eye(len(new))
    step = (new - old) / scale
    return float(step @ np.linalg.solve(correlation, step)) < SETTLED**2 * len(new)
