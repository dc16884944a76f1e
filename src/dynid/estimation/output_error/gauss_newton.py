"""Output error: parameters with which simulated positions are nearest to measured ones, by Gauss-Newton steps.

Positions are compared over whole rollouts, so that errors of the model add up as they do in a simulator. What is
minimised is the sum over joints of the mean squares of their errors, each in units of the joint's own error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Flags
from dynid.estimation.output_error.block_covariance import (
    LogErrors,
    LogScore,
    Unknowns,
    at_bound,
    block_covariance,
    covariances,
    damped_inverse,
    scores_of,
)


@dataclass(frozen=True)
class OutputErrorSettings:
    """When Gauss-Newton steps end."""

    iterations: int = 20
    """Most steps."""

    gain: float = 1e-4
    """Relative decrease of the sum of squares below which steps no longer improve."""

    step: float = 0.02
    """Largest step in standard deviations below which steps no longer matter."""

    halvings: int = 6
    """How often a step that does not improve is halved."""

    divisions: tuple[int, ...] = (4, 16)
    """By what steps of the integrator are divided in the end, one after the other ..."""

    confounded: float = 0.9
    """Correlation of two estimates from which logs hardly separate them: by judgement."""

    shift: float = 0.6
    """... until parameters change by no more than so many standard deviations: of that, at most a third is to come."""


SETTINGS = OutputErrorSettings()


Simulate = Callable[[int, Array, bool], LogErrors | None]
"""Rolls out a log, by its number, with values of the unknowns, and with slopes if asked; None where it flies off."""


Finely = Callable[[int, Array, int], Array | None]
"""Errors [rad or m], shape (samples, joints), of a log by its number, with values of the unknowns, rolled out in steps
that are divided by a number; None where it flies off."""


Recount = Callable[[Sequence[Array]], bool]
"""Counts readings that repeat as one from now on, by the errors of each log after the fit [rad or m], each of shape
(samples, joints); whether that changes anything."""


@dataclass(frozen=True, eq=False)
class OutputErrorFit:
    """Parameters by output error.

    Attributes:
        unknowns: What was estimated, at its start.
        values: Estimates, shape (unknowns,).
        covariance: Their covariance, with errors that are correlated in time, and between logs where there are several.
        white: Their covariance for white errors: what the motion separates, shape (unknowns, unknowns).
        scores: What each log says.
        weights: Weight of each joint's squared errors, shape (joints,).
        before: Root mean square of the errors of each joint at the start [rad or m], shape (joints,).
        after: The same at the estimate.
        at_bounds: Names of unknowns that are at a bound.
        iterations: Steps that were made.
        converged: Whether the last one no longer improved.
        undetermined: Names of unknowns that the logs do not determine; they are where they started.
    """

    unknowns: Unknowns
    values: Array
    covariance: Array
    white: Array
    scores: tuple[LogScore, ...]
    weights: Array
    before: Array
    after: Array
    at_bounds: tuple[str, ...]
    iterations: int
    converged: bool
    undetermined: tuple[str, ...] = ()

    @property
    def stds(self) -> Array:
        """Standard deviations, shape (unknowns,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def correlation(self) -> Array:
        """Correlations of the estimates for white errors, shape (unknowns, unknowns)."""
        return _correlation(self.white)

    @property
    def apart(self) -> Array:
        """Correlations with what belongs to all joints (the delay) held, shape (unknowns, unknowns)."""
        shared = np.array([row < 0 for row in self.unknowns.rows]) & (np.diag(self.white) > 0.0)
        C = self.white
        if shared.any():
            common = C[:, shared]
            C = C - common @ np.linalg.solve(C[np.ix_(shared, shared)], common.T)
            C[shared], C[:, shared] = 0.0, 0.0
        return _correlation(C)

    @cached_property
    def by_log(self) -> tuple[Array, Array]:
        """Estimates from each log alone, by one step from those of all, and their standard deviations.

        Both have the shape (logs, unknowns).
        """
        free = ~np.isin(self.unknowns.names, self.at_bounds)
        sizes, values, stds = self.unknowns.sizes, [], []
        for score in self.scores:
            A = damped_inverse(score.H, sizes, free)
            step = A @ score.g
            own = replace(score, block_gradients=score.block_gradients - score.block_normals @ step)  # at its own
            values.append(self.values + step)
            stds.append(np.sqrt(np.maximum(np.diag(block_covariance(A, [own], sizes, free)), 0.0)))
        return np.array(values), np.array(stds)

    @property
    def inside(self) -> Flags:
        """Whether the estimates of all logs are within the 95 % intervals of each log's own, (logs, unknowns)."""
        from scipy.stats import t

        values, stds = self.by_log
        limits = np.array([t.ppf(0.975, max(2, score.blocks - 1)) for score in self.scores])
        return np.abs(values - self.values) <= limits[:, None] * stds

    @property
    def known_by_log(self) -> Flags:
        """Which unknowns each log determines by itself, shape (logs, unknowns)."""
        _, stds = self.by_log
        return (stds > 0.0) & (stds < self.unknowns.sizes)

    @property
    def degrees_of_freedom(self) -> int:
        """Blocks of time less the parameters of a joint: how well the standard deviations are known."""
        blocks = sum(score.blocks for score in self.scores)
        widest = max(self.unknowns.rows.count(row) for row in set(self.unknowns.rows))
        return max(2, blocks - widest)

    @property
    def rmse(self) -> float:
        """Root mean square of the errors of all joints [rad or m]."""
        return float(np.sqrt(np.mean(self.after**2)))


def confounded_pairs(correlation: Array) -> list[tuple[int, int, float]]:
    """Pairs of estimates that data hardly separate, with their correlations, the largest first.

    Args:
        correlation: Correlations of the estimates, shape (unknowns, unknowns).
    """
    rows, columns = np.nonzero(np.triu(np.abs(correlation) >= SETTINGS.confounded, 1))
    pairs = [(int(i), int(j), float(correlation[i, j])) for i, j in zip(rows, columns, strict=True)]
    return sorted(pairs, key=lambda pair: -abs(pair[2]))


def _correlation(C: Array) -> Array:
    stds = np.sqrt(np.maximum(np.diag(C), 0.0))
    stds = np.where(stds > 0.0, stds, np.inf)
    return C / np.outer(stds, stds)


def fit_output_error(
    simulate: Simulate,
    logs: int,
    unknowns: Unknowns,
    progress: Callable[[str], None] = lambda _: None,
    finely: Finely | None = None,
    iterations: int = SETTINGS.iterations,
    recount: Recount | None = None,
) -> OutputErrorFit | None:
    """Estimate by output error; None where the first rollouts fly off.

    Args:
        simulate: Rolls out a log.
        logs: Number of logs.
        unknowns: What is estimated.
        progress: Callback; receives a short description of each step.
        finely: Rolls out a log in finer steps, without slopes: the last steps then use its errors.
        iterations: Most steps; as many again where readings are recounted.
        recount: Counts readings that repeat as one, once steps no longer improve.
    """
    theta = np.clip(unknowns.values, unknowns.lower, unknowns.upper)
    found = _rolled(simulate, logs, theta, slopes=True)
    if found is None:
        return None
    before = _rms(found)
    theta, found, iteration, converged = _stepped(simulate, logs, unknowns, theta, found, iterations, progress)
    if recount is not None and recount([one.errors for one in found]):
        again = _rolled(simulate, logs, theta, slopes=True)
        assert again is not None  # the same rollouts, which count otherwise
        theta, found, more, converged = _stepped(simulate, logs, unknowns, theta, again, iterations, progress)
        iteration += more
    if finely is not None:
        progress("Output error: steps of the integrator are refined")
    theta, found = _refined(finely, found, unknowns, theta, _weights(found))
    return _finished(unknowns, theta, found, _weights(found), before, iteration, converged)


def _stepped(
    simulate: Simulate,
    logs: int,
    unknowns: Unknowns,
    theta: Array,
    found: list[LogErrors],
    iterations: int,
    progress: Callable[[str], None],
) -> tuple[Array, list[LogErrors], int, bool]:
    """Gauss-Newton steps: parameters, their rollouts, the number of steps, and whether they no longer improved."""
    weights, converged, iteration = _weights(found), False, 0
    for iteration in range(1, iterations + 1):
        cost, rms = _cost(found, weights), math.sqrt(float(np.mean(_rms(found) ** 2)))
        progress(f"Output error, step {iteration}: {1e3 * rms:.3g} mrad")
        scores = scores_of(found, weights)
        step, spread = _step(scores, unknowns, theta)
        if step @ np.sum([score.g for score in scores], axis=0) < SETTINGS.gain * cost:
            converged = True
            break
        better = _improved(simulate, logs, unknowns, theta, step, weights, cost)
        if better is None:
            converged = True
            break
        theta, found, gain = better
        small = np.all(np.abs(step) <= SETTINGS.step * spread)
        weights = _weights(found)
        if gain < SETTINGS.gain or small:
            converged = True
            break
    return theta, found, iteration, converged


def _refined(
    finely: Finely | None, found: list[LogErrors], unknowns: Unknowns, theta: Array, weights: Array
) -> tuple[Array, list[LogErrors]]:
    """Parameters by last steps whose errors are those of finer rollouts, while slopes are those there are.

    Steps of an integrator have errors that act like other parameters: steps of 2.5 ms change a motor's inertia by half
    a per cent, which is several standard deviations where positions are measured exactly. Slopes need not be finer.
    """
    for division in SETTINGS.divisions if finely is not None else (1,):
        errors = [finely(k, theta, division) if finely is not None else one.errors for k, one in enumerate(found)]
        if any(one is None for one in errors):
            break
        fine = [replace(one, errors=new) for one, new in zip(found, errors, strict=True) if new is not None]
        scores = scores_of(fine, weights)
        step, _ = _step(scores, unknowns, theta)
        new = np.clip(theta + step, unknowns.lower, unknowns.upper)
        found = [replace(one, errors=one.errors - np.asarray(one.slopes) @ (new - theta)) for one in fine]
        stds = np.sqrt(np.maximum(np.diag(covariances(scores, unknowns, new)[1]), 0.0))
        theta = new
        if np.all(np.abs(step) <= SETTINGS.shift * stds):
            break
    return theta, found


def _rolled(simulate: Simulate, logs: int, theta: Array, *, slopes: bool) -> list[LogErrors] | None:
    found = []
    for k in range(logs):
        one = simulate(k, theta, slopes)
        if one is None or not np.isfinite(one.errors).all():
            return None
        if one.slopes is not None and not float(np.abs(one.slopes).max(initial=0.0)) < LARGEST_SLOPE:
            return None
        found.append(one)
    return found


LARGEST_SLOPE = 1e12
"""Slopes of positions beyond which a rollout is on its way to fly off."""


def _improved(
    simulate: Simulate, logs: int, unknowns: Unknowns, theta: Array, step: Array, weights: Array, cost: float
) -> tuple[Array, list[LogErrors], float] | None:
    """The parameters after a step that improves, their rollouts with slopes, and the relative gain; None for none."""
    for halving in range(SETTINGS.halvings):
        new = np.clip(theta + step * 0.5**halving, unknowns.lower, unknowns.upper)
        trial = _rolled(simulate, logs, new, slopes=halving == 0)
        if trial is not None and (less := _cost(trial, weights)) < cost:
            trial = trial if halving == 0 else _rolled(simulate, logs, new, slopes=True)
            return None if trial is None else (new, trial, (cost - less) / cost)
    return None


def _rms(found: Sequence[LogErrors]) -> Array:
    squares = np.sum([(one.errors**2).sum(axis=0) for one in found], axis=0)
    return np.sqrt(squares / sum(len(one.errors) for one in found))


def _weights(found: Sequence[LogErrors]) -> Array:
    """One over the mean square of each joint's errors; none is taken for more exact than a thousandth of the worst."""
    squares = np.sum([(one.counted**2).sum(axis=0) for one in found], axis=0)
    counts = np.sum([len(one.errors) if one.shares is None else one.shares.sum(axis=0) for one in found], axis=0)
    rms = np.sqrt(squares / counts)
    return 1.0 / np.maximum(rms, max(1e-3 * float(rms.max()), 1e-12)) ** 2


def _cost(found: Sequence[LogErrors], weights: Array) -> float:
    return float(sum(one.weight**2 * (one.counted**2 @ weights).sum() for one in found))


def _step(scores: Sequence[LogScore], unknowns: Unknowns, theta: Array) -> tuple[Array, Array]:
    """A Gauss-Newton step within the bounds, and the standard deviations for white errors, both (unknowns,)."""
    H, g = sum(score.H for score in scores), sum(score.g for score in scores)
    assert isinstance(H, np.ndarray)
    assert isinstance(g, np.ndarray)
    free = np.ones(len(theta), dtype=bool)
    step = np.zeros(len(theta))
    inverse = np.zeros_like(H)
    for _ in range(len(theta)):
        inverse = damped_inverse(H, unknowns.sizes, free)
        step = inverse @ g
        out = (theta + step < unknowns.lower) & (theta <= unknowns.lower) & free
        out |= (theta + step > unknowns.upper) & (theta >= unknowns.upper) & free
        if not out.any():
            break
        free &= ~out
    return step, np.sqrt(np.maximum(np.diag(inverse), 0.0))


def _finished(
    unknowns: Unknowns,
    theta: Array,
    found: Sequence[LogErrors],
    weights: Array,
    before: Array,
    iterations: int,
    converged: bool,
) -> OutputErrorFit:
    scores = scores_of(found, weights)
    bound = at_bound(unknowns, theta)
    A, covariance = covariances(scores, unknowns, theta)
    vague = np.sqrt(np.maximum(np.diag(A), np.diag(covariance))) > 0.5 * unknowns.sizes
    return OutputErrorFit(
        unknowns=unknowns,
        values=theta,
        covariance=covariance,
        white=A,
        scores=tuple(scores),
        weights=weights,
        before=before,
        after=_rms(found),
        at_bounds=tuple(name for name, is_at in zip(unknowns.names, bound, strict=True) if is_at),
        iterations=iterations,
        converged=converged,
        undetermined=tuple(name for name, is_so in zip(unknowns.names, vague & ~bound, strict=True) if is_so),
    )
