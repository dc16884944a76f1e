"""Random starts scaled into the limits, and the search from each of them: smooth criteria first, sharper ones then."""

import math
from collections.abc import Callable

import numpy as np

from dynid.arrays import Array
from dynid.errors import DynidError
from dynid.excitation.interior_point import minimise
from dynid.excitation.problem import ExcitationProblem

_MOST_TRIES = 300
"""How many postures are tried before none is said to be within the limits."""

_FREE_PART = 0.1
"""Part of every limit that a start leaves free."""

NORM_POWERS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Norms of eigenvalues that stand for their extremes, one after the other."""

_MOST_ITERATIONS = 150
"""Steps of the solver at each power."""

_COMPARED_SAMPLES = 1000
"""Samples of the experiment at which motions are compared."""


class NoMotionError(DynidError):
    """No posture is within the limits."""


def best_start(
    problem: ExcitationProblem, count: int, rng: np.random.Generator, is_over: Callable[[], bool] = lambda: False
) -> Array:
    """The best of random motions within all limits, as free coefficients, shape (free,).

    Args:
        problem: The problem.
        count: How many motions are tried.
        rng: The random generator.
        is_over: Whether to be content with the best so far.
    """
    criterion = problem.criterion.smoothed(2.0)
    best: tuple[float, Array] | None = None
    for _ in range(count):
        x = random_start(problem, rng)
        value = problem.information.value(criterion, *problem.motion(x).states, problem.weight)
        if best is None or value < best[0]:
            best = (value, x)
        if is_over():
            break
    assert best is not None
    return best[1]


def random_start(problem: ExcitationProblem, rng: np.random.Generator) -> Array:
    """A random motion within all limits, as free coefficients, shape (free,)."""
    rest = random_posture(problem, rng)
    return scaled_into_limits(problem, rest, rng.normal(size=len(rest)))


def scaled_into_limits(problem: ExcitationProblem, inside: Array, direction: Array) -> Array:
    """From a point inside along a direction, nearly to the first limit on the way."""
    here = problem.bound_slacks(inside)
    change = problem.bound_slacks(inside + direction) - here  # bounds are linear
    step = (1.0 - _FREE_PART) / max(float((-change / here).max()), 1e-9)
    if not problem.limits:
        return inside + step * direction
    for _ in range(30):
        if problem.smallest_slack(inside + step * direction) > 0.0:
            break
        step *= 0.7
    else:
        return inside
    return inside + (1.0 - _FREE_PART) * step * direction


def random_posture(problem: ExcitationProblem, rng: np.random.Generator) -> Array:
    """A robot at rest within all limits, as free coefficients, shape (free,).

    Raises:
        NoMotionError: If none is found; names the limit that is broken most often.
    """
    free, bounds = problem.grid.free, problem.bounds
    nearest, why = -math.inf, np.zeros(0)
    for _ in range(_MOST_TRIES):
        half = np.minimum(bounds.half[0], math.pi)
        position = bounds.middle[0] + rng.uniform(-0.6, 0.6, len(half)) * half
        rest = free.family.rest()[:, None] * position
        x = np.concatenate([_constant(part, rest[:, j] - free.fixed[:, j]) for j, part in enumerate(free.directions)])
        slack = problem.smallest_slack(x)
        if slack > 0.0:
            return x
        if slack > nearest:
            nearest, why = slack, x
    raise NoMotionError(_explanation(problem, why))


def _constant(directions: Array, wanted: Array) -> Array:
    """The free coefficients of one joint at rest; zero where its posture is given."""
    found = np.linalg.lstsq(directions, wanted, rcond=None)[0].astype(float)
    return found if np.allclose(directions @ found, wanted) else np.zeros(directions.shape[1])


def _explanation(problem: ExcitationProblem, x: Array) -> str:
    worst = max(problem.checks(problem.trajectory(x), np.zeros(1)), key=lambda check: check.used)
    return (
        "no posture was found in which the robot can rest within all limits: in the nearest, "
        f"{worst.in_words()}; widen that limit, or state another start posture"
    )


def refined(
    problem: ExcitationProblem, x: Array, powers: tuple[float, ...], is_over: Callable[[], bool]
) -> tuple[float, Array]:
    """The best motion on the way from x, with its exact value: power after power, each from the last one's end."""
    best = (problem.exact_value(problem.trajectory(x), _COMPARED_SAMPLES), x)
    hessian, barrier = None, 1e-2
    if problem.criterion.smoothed(1.0) == problem.criterion:
        powers = (np.inf,)
    for power in powers:
        final = 1e-6 if power == np.inf else max(1e-6, 1e-2 / power**2)
        point = minimise(
            problem.smoothed(power),
            x,
            hessian=hessian,
            barrier=barrier,
            final_barrier=final,
            iterations=_MOST_ITERATIONS if np.isfinite(power) else 4 * _MOST_ITERATIONS,
            should_stop=is_over,
        )
        x, hessian, barrier = point.x, point.hessian, point.barrier
        best = min(best, (problem.exact_value(problem.trajectory(x), _COMPARED_SAMPLES), x), key=lambda pair: pair[0])
        if is_over():
            break
    return best


def disturbed(problem: ExcitationProblem, x: Array, rng: np.random.Generator) -> Array:
    """A motion near another, within all limits."""
    inside = 0.9 * x + 0.1 * centre(problem, x)
    if problem.smallest_slack(inside) <= 0.0:
        inside = x
    size = 10.0 ** rng.uniform(-1.5, -0.3)
    direction = rng.normal(size=len(x)) * np.sqrt(np.mean(x**2)) * size
    for _ in range(20):
        if problem.smallest_slack(inside + direction) > 0.0:
            return inside + direction
        direction = 0.7 * direction
    return x


def centre(problem: ExcitationProblem, x: Array) -> Array:
    """The motion's own mean posture, at rest."""
    free = problem.grid.free
    q = problem.motion(x).states[0].mean(axis=0)
    return free.reduce(free.family.rest()[:, None] * q)
