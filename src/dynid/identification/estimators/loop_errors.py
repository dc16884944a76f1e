"""Closed-loop output error and input error: parameters whose simulation in a log's own loop comes nearest to the log.

The robot is simulated under the control law of each log. Output error (CLOE) compares measured and simulated positions,
input error (CLIE) measured torques and those of the law along the simulated motion. Both are minimised by damped
Gauss-Newton steps with exact sensitivities, over robots that can exist. Where each stretch of a log starts is estimated
beside, because its measured start is noisy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.equivalent_rows import whitened_factors
from dynid.estimation.factors.factors import Factor, merged
from dynid.estimation.factors.reduced_logs import reduce_logs
from dynid.estimation.output_error.free_links import FreeLinks
from dynid.estimation.physical.physical_estimate import problem_of, weighed
from dynid.estimation.physical.semidefinite import fit
from dynid.identification.estimators.loops import DivergedError, Loop, Stretch
from dynid.identification.estimators.rows_from_loops import LoopProblem, LoopRows, has_settled
from dynid.model import BaseParameters, Sign
from dynid.simulation import Rollout, SimulatedRobot
from dynid.simulation.rollout_sensitivity import RolloutParameters, sensitivities

Kind = Literal["clie", "cloe"]
"""What is compared: torques, or positions."""

NAMES: dict[Kind, str] = {"clie": "Closed-loop input error", "cloe": "Closed-loop output error"}

DIVIDED = 4
"""By what steps of a loop's simulation are divided. Where a law is stiff, steps of the loop's own length have wrong
slopes over the first velocities, and input error then takes twice the iterations. Errors of the steps that are left
act like other parameters: they are extrapolated from a second rollout, whose steps are half as long."""

START_STDS = (0.02, 0.5)
"""Standard deviations of measured starts: positions [rad or m] and velocities [rad/s or m/s]; wide, they only keep what
no sample shows from drifting."""

DAMPINGS = (0.1, 10.0, 1e3, 1e5, 1e7)
"""Dampings of a step, one after the other until it improves; in squared standard deviations of the errors for a link
whose inertia changes about threefold."""

SMALLEST_SHARE = 1e-3
"""No joint's errors are taken for smaller than this part of those of the worst joint."""


def closed_loop_errors(problem: LoopProblem, start: Array, kind: Kind) -> LoopRows:
    """Gauss-Newton on positions (output error) or torques (input error) of robots simulated in the loops of logs.

    Args:
        problem: Logs in their loops, whose laws are stated.
        start: Standard parameters to begin with, shape (parameters,); made physically consistent where they are not.
        kind: "cloe" for positions, "clie" for torques.

    Returns:
        Factors whose least squares are the Gauss-Newton optimum over base parameters, with its covariance for errors
        that are white.

    Raises:
        InvalidRequestError: If a law is assumed, or nothing was measured that could be compared.
        DivergedError: If the simulated robot does not follow.
    """
    require_stated(problem.loops, kind)
    compared = _Compared(problem, kind)
    now = compared.at(_physical(problem, start), [stretch.start for stretch in compared.stretches])
    values, k, settled = None, 0, False
    while True:
        k += 1
        problem.progress(f"{NAMES[kind]}: iteration {k}")
        linear = compared.linearised(now)
        found, covariance = linear.solution
        settled = values is not None and has_settled(found, values, covariance)
        if settled or k >= problem.most:
            break
        values, better = found, compared.improved(now, linear)
        if better is None:  # no step improves: this is the optimum
            settled = True
            break
        now = better
    rows = whitened_factors(problem.base, *linear.equations, linear.rows)
    return LoopRows([rows], k, settled, now.links.parameters)


def require_stated(loops: Sequence[Loop], kind: Kind) -> None:
    """Refuse loops whose law is not known.

    Raises:
        InvalidRequestError: If the law of one is assumed; says what to state.
    """
    for k, loop in enumerate(loops, start=1):
        if loop.law != "stated":
            what = "positions" if kind == "cloe" else "torques"
            raise InvalidRequestError(
                f"estimator = '{kind}' compares {what} of the robot simulated under its real controller, and that of "
                f"log {k} is not known; state position_command, kp and kd of the log, or use estimator = 'iv'"
            )


def law_torques(run: Rollout, q: Array, v: Array, *, is_held: bool = True) -> tuple[Array, Array, Array]:
    """Torques of the law at the stamps along a motion, and their derivatives over positions and over velocities.

    Args:
        run: A rollout, for its commands and their delay.
        q: Positions as encoders measure them [rad or m], shape (stamps, nv).
        v: Velocities, shape (stamps, nv).
        is_held: Whether each command is held until the next; otherwise it is the mean until then, and the law has, at a
            stamp, the mean of the commands on both sides of it.

    Returns:
        Torques [N m or N] and the two derivatives, each of shape (stamps, nv); zero where a motor is at its limit.
    """
    control = run.control
    seen = np.searchsorted(control.time, control.time - run.delay + 1e-9, side="right") - 1
    now = np.clip(seen, 0, len(seen) - 1)
    before = now if is_held else np.clip(seen - 1, 0, len(seen) - 1)
    kp, push, kd, feed, torque = (0.5 * (part[before] + part[now]) for part in control.held)
    u = push + feed + torque - kp * q - kd * v
    if control.limit is None:
        return u, -kp, -kd
    free = np.abs(u) < control.limit
    return np.clip(u, -control.limit, control.limit), np.where(free, -kp, 0.0), np.where(free, -kd, 0.0)


@dataclass(frozen=True, eq=False)
class _Point:
    """A robot, the starts of its stretches, and how far its simulation is from the logs.

    Attributes:
        links: The robot.
        starts: Positions and velocities at the first stamp of each stretch.
        runs: Rollouts of the stretches, with their steps.
        errors: Measured less simulated values of each stretch, each of shape (stamps, nv); NaN where not measured.
    """

    links: FreeLinks
    starts: list[tuple[Array, Array]]
    runs: list[Rollout]
    errors: list[Array]


@dataclass(frozen=True, eq=False)
class _Linear:
    """Errors around a point as linear functions of base parameters and starts.

    Attributes:
        base: The base parameters.
        values: Where they are, shape (base,).
        factors: For each stretch the factors of its joints, over changes of its start and of base parameters.
        offsets: For each stretch what its measured start is beyond the present one, shape (2 nv,).
        weights: Weights of the stretches.
        weighted: Whether joints are weighed by their own errors, each for itself.
    """

    base: BaseParameters
    values: Array
    factors: list[list[Factor]]
    offsets: list[Array]
    weights: list[float]
    weighted: bool

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(factor.rows for of_stretch in self.factors for factor in of_stretch)

    @cached_property
    def start_stds(self) -> Array:
        """Standard deviations of measured starts, shape (2 nv,)."""
        return np.repeat(START_STDS, len(self.offsets[0]) // 2)

    def by_stretch(self, stds: Array) -> list[Factor]:
        """The factor of each stretch with joints weighed by standard deviations, shape (nv,); starts come first."""
        found = []
        for factors, offset, weight in zip(self.factors, self.offsets, self.weights, strict=True):
            names = factors[0].names
            own = [factor.weighted(weight / std) for factor, std in zip(factors, stds, strict=True)]
            starts = names[: len(offset)]
            prior = dict(zip(starts, offset, strict=True)), dict(zip(starts, self.start_stds, strict=True))
            found.append(merged(own, names).with_prior(*prior))
        return found

    def over_base(self, stds: Array) -> Factor:
        """The factor of all stretches over changes of base parameters, starts being projected out."""
        parts, n = [], len(self.offsets[0])
        for whole in self.by_stretch(stds):
            parts.append(Factor(self.base.names, whole.R[n:, n:], whole.z[n:], whole.squares, whole.rows))
        return merged(parts, self.base.names)

    def stds_at(self, change: Array, stds: Array) -> Array:
        """Standard deviations of each joint's errors after a change of base parameters, shape (nv,)."""
        squares = np.zeros(len(stds))
        for factors, step in zip(self.factors, self.start_steps(change, stds), strict=True):
            squares += [factor.residual_squares(np.concatenate([step, change])) for factor in factors]
        counts = np.array([sum(of_stretch[j].rows for of_stretch in self.factors) for j in range(len(stds))])
        unknowns = len(self.base) + sum(len(offset) for offset in self.offsets)
        return _stds(squares, counts, unknowns / max(self.rows, unknowns + 1), self.weighted)

    def start_steps(self, change: Array, stds: Array) -> list[Array]:
        """The best changes of the starts with a change of base parameters, each of shape (2 nv,)."""
        n, found = len(self.offsets[0]), []
        for whole in self.by_stretch(stds):
            found.append(np.linalg.solve(whole.R[:n, :n], whole.z[:n] - whole.R[:n, n:] @ change))
        return found

    @cached_property
    def now(self) -> Array:
        """Standard deviations of the errors where we are, shape (nv,)."""
        counts = np.array([sum(of_stretch[j].rows for of_stretch in self.factors) for j in range(len(self.factors[0]))])
        squares = np.zeros(len(counts))
        for factors in self.factors:
            squares += [factor.residual_squares(np.zeros(len(factor.names))) for factor in factors]
        return _stds(squares, counts, 0.0, self.weighted)

    @cached_property
    def solved(self) -> tuple[Factor, Array]:
        """The factor over changes of base parameters with errors' sizes at the optimum, and the change to it."""
        stds = self.now
        for _ in range(2):
            stds = self.stds_at(self.over_base(stds).solve(), stds)
        factor = self.over_base(stds)
        return factor, factor.solve()

    @property
    def solution(self) -> tuple[Array, Array]:
        """The optimum over base parameters, shape (base,), and its covariance, (base, base)."""
        factor, change = self.solved
        inverse = np.linalg.pinv(factor.R)
        return self.values + change, inverse @ inverse.T

    @property
    def equations(self) -> tuple[Array, Array]:
        """Rows W and right-hand side y over base parameters whose errors have unit variance."""
        factor, _ = self.solved
        return factor.R, factor.z + factor.R @ self.values


def _stds(squares: Array, counts: Array, share: float, weighted: bool) -> Array:
    """Standard deviations of joints' errors; one for all where they are not weighed.

    Args:
        squares: Sums of squared errors, shape (nv,).
        counts: Numbers of errors, shape (nv,).
        share: Part of them that parameters explain by chance.
        weighted: Whether each joint has its own.
    """
    if not weighted:
        squares, counts = np.full_like(squares, squares.sum()), np.full_like(counts, counts.sum())
    stds = np.sqrt(squares / np.maximum((1.0 - share) * counts, 1.0))
    return np.maximum(stds, max(SMALLEST_SHARE * float(stds.max()), 1e-14))


class _Compared:
    """Logs beside their simulation.

    Args:
        problem: Logs in their loops.
        kind: What is compared.
    """

    def __init__(self, problem: LoopProblem, kind: Kind) -> None:
        self.problem, self.kind, self.base = problem, kind, problem.base
        self.stretches = [stretch for loop in problem.loops for stretch in loop.stretches]
        pairs = zip(problem.loops, problem.logs, strict=True)
        self.weights = [log.weight for loop, log in pairs for _ in loop.stretches]
        self.measured = [self._measured(stretch) for stretch in self.stretches]
        if not any(np.isfinite(one).any() for one in self.measured):
            what = "positions" if kind == "cloe" else "torques"
            raise InvalidRequestError(f"no {what} were measured that estimator = '{kind}' could compare; log them")
        nv = self.base.model.robot.nv
        joints = tuple(range(nv))
        self.unknowns = RolloutParameters(self.base.columns, start_position=joints, start_velocity=joints)
        starts = tuple(f"start {what} {j}" for what in ("position", "velocity") for j in joints)
        self.names = (*starts, *self.base.names)

    def _measured(self, stretch: Stretch) -> Array:
        found = stretch.position if self.kind == "cloe" else stretch.torque
        assert found is not None  # laws are stated
        return found

    def rollouts(
        self, links: FreeLinks, starts: Sequence[tuple[Array, Array]], *, steps_kept: bool = False, divided: int = 1
    ) -> list[Rollout]:
        """Rollouts of all stretches.

        Raises:
            DivergedError: If the robot does not follow.
        """
        robot, left, found = SimulatedRobot.of(self.base.model, links.parameters), list(starts), list[Rollout]()
        for loop in self.problem.loops:
            own = tuple(replace(stretch, start=left.pop(0)) for stretch in loop.stretches)
            found += replace(loop, stretches=own).rollouts(robot, steps_kept=steps_kept, divided=divided)
        return found

    def at(self, links: FreeLinks, starts: Sequence[tuple[Array, Array]]) -> _Point:
        """A robot and its errors, by finer steps.

        Raises:
            DivergedError: If it does not follow.
        """
        runs = self.rollouts(links, starts, steps_kept=True, divided=DIVIDED)
        errors = []
        for measured, run, finer in zip(
            self.measured, runs, self.rollouts(links, starts, divided=2 * DIVIDED), strict=True
        ):
            q, v = (fine + (fine - coarse) / 3.0 for fine, coarse in ((finer.q, run.q), (finer.v, run.v)))
            errors.append(
                measured - (q if self.kind == "cloe" else law_torques(run, q, v, is_held=self.problem.is_held)[0])
            )
        return _Point(links, list(starts), runs, errors)

    def linearised(self, now: _Point) -> _Linear:
        """Errors around a point as linear functions."""
        nv, found = self.base.model.robot.nv, []
        for run, errors in zip(now.runs, now.errors, strict=True):
            slopes = sensitivities(run, self.unknowns)
            S = slopes.position
            if self.kind == "clie":
                _, by_position, by_velocity = law_torques(run, run.q, run.v, is_held=self.problem.is_held)
                S = by_position[..., None] * S + by_velocity[..., None] * slopes.velocity
            S = np.concatenate([S[..., len(self.base) :], S[..., : len(self.base)]], axis=2)
            own = [np.isfinite(errors[:, j]) for j in range(nv)]
            found.append([Factor.of(self.names, S[own[j], j], errors[own[j], j]) for j in range(nv)])
        values = self.base.to_base(now.links.parameters)
        weighted = self.problem.settings.method == "wls"
        return _Linear(self.base, values, found, self._offsets(now.starts), self.weights, weighted)

    def _offsets(self, starts: Sequence[tuple[Array, Array]]) -> list[Array]:
        pairs = zip(self.stretches, starts, strict=True)
        return [np.concatenate(stretch.start) - np.concatenate(start) for stretch, start in pairs]

    def improved(self, now: _Point, linear: _Linear) -> _Point | None:
        """The point after a step that improves; None where none does.

        Raises:
            DivergedError: If the robot does not follow after any step.
        """
        stds = linear.now
        factor, cost, followed = linear.over_base(stds), self._cost(now, stds), False
        failure: DivergedError | None = None
        for damping in DAMPINGS:
            links = now.links.stepped(factor, damping)
            if links is None:
                continue
            change = self.base.to_base(links.parameters) - linear.values
            steps = linear.start_steps(change, stds)
            nv = self.base.model.robot.nv
            starts = [(q + s[:nv], v + s[nv:]) for (q, v), s in zip(now.starts, steps, strict=True)]
            try:
                trial = self.at(links, starts)
            except DivergedError as error:
                failure = error
                continue
            followed = True
            if self._cost(trial, stds) < cost:
                return trial
        if failure is not None and not followed:
            raise failure
        return None

    def _cost(self, point: _Point, stds: Array) -> float:
        """Sum of squares of errors in standard deviations, and of starts in theirs."""
        total = sum(
            weight**2 * float(np.nansum((errors / stds) ** 2))
            for errors, weight in zip(point.errors, self.weights, strict=True)
        )
        wide = np.repeat(START_STDS, len(stds))
        return total + sum(float(np.sum((offset / wide) ** 2)) for offset in self._offsets(point.starts))


def _physical(problem: LoopProblem, start: Array) -> FreeLinks:
    """The robot of standard parameters, shape (parameters,), or one that can exist and needs nearly the same torques.

    Raises:
        ConflictError: If what users state of links excludes it.
    """
    base = problem.base
    signed = np.array([parameter.sign is not Sign.NONNEGATIVE for parameter in base.model.parameters])
    p = np.where(signed, start, np.maximum(start, 0.0))
    known = {base.model.names.index(name): value for name, value in base.known.items()}
    p[list(known)] = list(known.values())
    try:
        return FreeLinks.of(base, p)
    except InvalidRequestError:
        rows = reduce_logs(problem.logs, problem.nonlinear, problem.settings).rows
        factor = weighed(rows, base, problem.settings.method)
        factor = replace(factor, z=factor.R @ base.to_base(start))
        p = fit(problem_of(factor, base, problem.physics))
        p[list(known)] = list(known.values())
        return FreeLinks.of(base, p)
