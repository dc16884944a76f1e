"""From one motion to the best one near it: smooth criteria first, sharper ones then."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dynid.arrays import Array
from dynid.excitation.interior_point import minimise
from dynid.excitation.problem import ExcitationProblem

POWERS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Norms of eigenvalues that stand for their extremes, one after the other."""

_ITERATIONS = 150
"""Steps of the solver at each power."""

_LOOKED_AT = 1000
"""Samples of the experiment at which motions are compared."""


def refined(
    problem: ExcitationProblem, x: Array, powers: tuple[float, ...], is_over: Callable[[], bool]
) -> tuple[float, Array]:
    """The best motion on the way from x, with its exact value: power after power, each from the last one's end."""
    best = (problem.exact_value(problem.trajectory(x), _LOOKED_AT), x)
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
            iterations=_ITERATIONS if np.isfinite(power) else 4 * _ITERATIONS,
            should_stop=is_over,
        )
        x, hessian, barrier = point.x, point.hessian, point.barrier
        best = min(best, (problem.exact_value(problem.trajectory(x), _LOOKED_AT), x), key=lambda pair: pair[0])
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
