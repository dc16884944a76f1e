"""Output error: parameters with which simulated positions are nearest to measured ones, by Gauss-Newton steps.

Positions are compared over whole rollouts, so that errors of the model add up as they do in a simulator. What is
minimised is the sum over joints of the mean squares of their errors, each in units of the joint's own error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array


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

    shift: float = 0.6
    """... until parameters change by no more than so many standard deviations: of that, at most a third is to come."""

    blocks: int = 10
    """Fewest blocks of time in a log that show how errors are correlated."""

    most_blocks: int = 40
    """Most blocks of a log: encoders at rest show the same error for long, whatever their errors' correlation."""

    correlation: float = 5.0
    """Length of a block in correlation times of the errors."""

    widening: float = 1.08
    """Factor on standard deviations by which those of the jackknife are too small. Calibrated on 80 draws of
    `benchmarks/commanded_truth.py`, whose errors were 1.04 to 1.16 times as large."""


SETTINGS = OutputErrorSettings()


@dataclass(frozen=True, eq=False)
class Unknowns:
    """What is estimated.

    Attributes:
        names: Names.
        values: Values to start from, shape (unknowns,).
        lower: Lower bounds, shape (unknowns,).
        upper: Upper bounds, shape (unknowns,).
        sizes: Changes that are large for each, shape (unknowns,): what is less certain than that is not identified.
        rows: The joint that each belongs to, counted from 0; -1 for what belongs to all.
    """

    names: tuple[str, ...]
    values: Array
    lower: Array
    upper: Array
    sizes: Array
    rows: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LogErrors:
    """The rollout of one log beside what was measured.

    Attributes:
        errors: Measured less simulated positions [rad or m], shape (samples, joints).
        slopes: Derivatives of simulated positions, shape (samples, joints, unknowns); None where not asked for.
        weight: Weight of the log.
    """

    errors: Array
    slopes: Array | None
    weight: float = 1.0


Simulate = Callable[[int, Array, bool], LogErrors | None]
"""Rolls out a log, by its number, with values of the unknowns, and with slopes if asked; None where it flies off."""


Finely = Callable[[int, Array, int], Array | None]
"""Errors [rad or m], shape (samples, joints), of a log by its number, with values of the unknowns, rolled out in steps
that are divided by a number; None where it flies off."""


@dataclass(frozen=True, eq=False)
class LogScore:
    """What a log says at the estimate.

    Attributes:
        H: Its part of the normal matrix, shape (unknowns, unknowns).
        g: Its part of the gradient, shape (unknowns,).
        block_normals: The same of each block of time, shape (blocks, unknowns, unknowns).
        block_gradients: The same of gradients, shape (blocks, unknowns).
        squares: Sums of squared errors of each joint, shape (joints,).
        samples: Number of samples.
    """

    H: Array
    g: Array
    block_normals: Array
    block_gradients: Array
    squares: Array
    samples: int

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(self.block_gradients)


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
) -> OutputErrorFit | None:
    """Estimate by output error; None where the first rollouts fly off.

    Args:
        simulate: Rolls out a log.
        logs: Number of logs.
        unknowns: What is estimated.
        progress: Callback; receives a short description of each step.
        finely: Rolls out a log in finer steps, without slopes: the last steps then use its errors.
    """
    theta = np.clip(unknowns.values, unknowns.lower, unknowns.upper)
    found = _rolled(simulate, logs, theta, slopes=True)
    if found is None:
        return None
    before, weights = _rms(found), _weights(found)
    converged, iteration = False, 0
    for iteration in range(1, SETTINGS.iterations + 1):
        cost, rms = _cost(found, weights), math.sqrt(float(np.mean(_rms(found) ** 2)))
        progress(f"Output error, step {iteration}: {1e3 * rms:.3g} mrad")
        scores = _scores(found, weights)
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
    if finely is not None:
        progress("Output error: steps of the integrator are refined")
    theta, found = _refined(finely, found, unknowns, theta, weights)
    return _finished(unknowns, theta, found, _weights(found), before, iteration, converged)


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
        scores = _scores(fine, weights)
        step, _ = _step(scores, unknowns, theta)
        new = np.clip(theta + step, unknowns.lower, unknowns.upper)
        found = [replace(one, errors=one.errors - np.asarray(one.slopes) @ (new - theta)) for one in fine]
        stds = np.sqrt(np.maximum(np.diag(_finished_covariance(scores, unknowns, new)[1]), 0.0))
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
    rms = _rms(found)
    return 1.0 / np.maximum(rms, max(1e-3 * float(rms.max()), 1e-12)) ** 2


def _cost(found: Sequence[LogErrors], weights: Array) -> float:
    return float(sum(one.weight**2 * (one.errors**2 @ weights).sum() for one in found))


def _scores(found: Sequence[LogErrors], weights: Array) -> list[LogScore]:
    return [_score(one, weights) for one in found]


def _score(one: LogErrors, weights: Array) -> LogScore:
    """What a log says: sums over its samples, and over blocks of time for how errors are correlated."""
    J = one.slopes
    assert J is not None  # it was asked for
    samples, joints, size = J.shape
    root = one.weight * np.sqrt(weights)
    flat, error = (J * root[:, None]).reshape(samples * joints, size), (one.errors * root).ravel()
    length = max(1, min(samples // SETTINGS.blocks, max(_block(one.errors), samples // SETTINGS.most_blocks)))
    edges = joints * np.linspace(0, samples, max(1, samples // length) + 1).astype(int)
    parts = [slice(start, stop) for start, stop in pairwise(edges)]
    normals = np.array([flat[part].T @ flat[part] for part in parts])
    gradients = np.array([flat[part].T @ error[part] for part in parts])
    squares = (one.errors**2).sum(axis=0)
    return LogScore(normals.sum(axis=0), gradients.sum(axis=0), normals, gradients, squares, samples)


def _block(errors: Array) -> int:
    """Samples after which errors of the joint with the longest memory are no longer correlated, times some."""
    centred = errors - errors.mean(axis=0)
    size = 1 << (2 * len(centred) - 1).bit_length()
    power = np.abs(np.fft.rfft(centred, size, axis=0)) ** 2
    rho = np.fft.irfft(power, size, axis=0)[: len(centred) // 4]
    rho = rho / np.maximum(rho[:1], 1e-300)
    first = [int(np.argmax(column < 0.05)) or len(column) for column in rho.T]
    times = [float(1.0 + 2.0 * column[1:stop].sum()) for column, stop in zip(rho.T, first, strict=True)]
    return math.ceil(SETTINGS.correlation * max(times))


def _step(scores: Sequence[LogScore], unknowns: Unknowns, theta: Array) -> tuple[Array, Array]:
    """A Gauss-Newton step within the bounds, and the standard deviations for white errors, both (unknowns,)."""
    H, g = sum(score.H for score in scores), sum(score.g for score in scores)
    assert isinstance(H, np.ndarray)
    assert isinstance(g, np.ndarray)
    free = np.ones(len(theta), dtype=bool)
    step = np.zeros(len(theta))
    inverse = np.zeros_like(H)
    for _ in range(len(theta)):
        inverse = _inverse(H, unknowns.sizes, free)
        step = inverse @ g
        out = (theta + step < unknowns.lower) & (theta <= unknowns.lower) & free
        out |= (theta + step > unknowns.upper) & (theta >= unknowns.upper) & free
        if not out.any():
            break
        free &= ~out
    return step, np.sqrt(np.maximum(np.diag(inverse), 0.0))


def _inverse(H: Array, sizes: Array, free: NDArray[np.bool_]) -> Array:
    """Inverse of a normal matrix over free unknowns, and zeros; a slight prior holds what the logs do not determine."""
    found = np.zeros_like(H)
    at = np.flatnonzero(free)
    if len(at):
        scaled = H[np.ix_(at, at)] * np.outer(sizes[at], sizes[at])
        found[np.ix_(at, at)] = np.linalg.inv(scaled + np.eye(len(at))) * np.outer(sizes[at], sizes[at])
    return found


def _finished(
    unknowns: Unknowns,
    theta: Array,
    found: Sequence[LogErrors],
    weights: Array,
    before: Array,
    iterations: int,
    converged: bool,
) -> OutputErrorFit:
    scores = _scores(found, weights)
    at_bound = _at_bound(unknowns, theta)
    A, covariance = _finished_covariance(scores, unknowns, theta)
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
        at_bounds=tuple(name for name, is_at in zip(unknowns.names, at_bound, strict=True) if is_at),
        iterations=iterations,
        converged=converged,
        undetermined=tuple(name for name, is_so in zip(unknowns.names, vague & ~at_bound, strict=True) if is_so),
    )


def _at_bound(unknowns: Unknowns, theta: Array) -> NDArray[np.bool_]:
    return (theta <= unknowns.lower) | (theta >= unknowns.upper)


def _finished_covariance(scores: Sequence[LogScore], unknowns: Unknowns, theta: Array) -> tuple[Array, Array]:
    """Inverse of the normal matrix, and covariance of the estimates; zero for those at a bound."""
    free = ~_at_bound(unknowns, theta)
    A = _inverse(np.sum([score.H for score in scores], axis=0), unknowns.sizes, free)
    return A, _covariance(A, scores, unknowns.sizes, free)


SEVERAL = 5
"""Logs from which their differences show errors that last longer than a log's blocks."""


def _covariance(A: Array, scores: Sequence[LogScore], sizes: Array, free: NDArray[np.bool_]) -> Array:
    """Covariance of the estimates: errors correlated within blocks of time, or within logs where that is more.

    A jackknife: estimates without each block, by one step. Few places of a log (turns, stretches of fast motion) may
    determine a parameter, and errors there look smaller than they are, as the parameter follows them.
    """
    at = np.flatnonzero(free)
    scale = np.outer(sizes[at], sizes[at])
    H = np.concatenate([score.block_normals[:, at[:, None], at] for score in scores]) * scale
    g = np.concatenate([score.block_gradients[:, at] for score in scores]) * sizes[at]
    changes = np.zeros((len(g), len(free)))
    changes[:, at] = np.linalg.solve(H.sum(axis=0) + np.eye(len(at)) - H, g[..., None])[..., 0] * sizes[at]
    covariance = SETTINGS.widening**2 * (changes.T @ changes) * ((len(g) - 1) / len(g))
    if len(scores) < SEVERAL:
        return covariance
    g = np.array([score.g for score in scores])
    between = A @ (g.T @ g) @ A * (len(scores) / (len(scores) - 1))
    ratio = np.sqrt(np.maximum(np.diag(between) / np.maximum(np.diag(covariance), 1e-300), 1.0))
    return covariance * np.outer(ratio, ratio)


def fit_of_log(fit: OutputErrorFit, k: int) -> tuple[Array, Array]:
    """Estimates from one log alone, by one step from those of all, and their standard deviations, both (unknowns,).

    Args:
        fit: The fit of all logs.
        k: Number of the log, counted from 0.
    """
    score = fit.scores[k]
    free = ~np.isin(fit.unknowns.names, fit.at_bounds)
    A = _inverse(score.H, fit.unknowns.sizes, free)
    step = A @ score.g
    own = replace(score, block_gradients=score.block_gradients - score.block_normals @ step)  # at its own estimates
    covariance = _covariance(A, [own], fit.unknowns.sizes, free)
    return fit.values + step, np.sqrt(np.maximum(np.diag(covariance), 0.0))
