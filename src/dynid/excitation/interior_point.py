"""A solver that stays within limits at every step: an interior-point method with exact first derivatives.

It minimises f(x) with all slacks s(x) > 0, along f(x) + mu * sum b(s(x)) for mu ever smaller. The barrier b is -log s
near zero, and smoothly goes to nothing for slacks that are not near: only few of thousands need slopes. Its second
derivatives are known but for the curvature of s; that, and the one of f, is learned from gradients (damped BFGS). Every
iterate keeps the limits, so the best so far is always fit to be used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dynid.arrays import Array

if TYPE_CHECKING:
    from dynid.excitation.problem import DesignPoint, NearSlacks

NEAR_LIMIT = 0.5
"""Slacks above this have no barrier."""

_TO_THE_BOUNDARY = 0.99
"""A step takes at most this part of any slack."""
_DECREASE = 1e-4
"""Part of the expected decrease that a step must bring."""
_HALVINGS = 12
"""Shorter steps than this many halvings are not tried."""


class Problem(Protocol):
    """What is solved."""

    def at(self, x: Array) -> DesignPoint:
        """The problem at x: objective, barrier and slacks, each computed when it is first asked for."""
        ...


@dataclass(frozen=True, eq=False)
class Point:
    """Where the solver stands.

    Attributes:
        x: The variables.
        value: f(x).
        hessian: What is known of the second derivatives of f.
        barrier: mu.
        iterations: Number of steps so far.
        is_converged: Whether no step improves any more.
    """

    x: Array
    value: float
    hessian: Array
    barrier: float
    iterations: int
    is_converged: bool


def minimise(
    problem: Problem,
    x: Array,
    *,
    hessian: Array | None = None,
    barrier: float = 1e-2,
    final_barrier: float = 1e-6,
    iterations: int = 200,
    tolerance: float = 1e-6,
    should_stop: Callable[[], bool] = lambda: False,
) -> Point:
    """Minimise f from a point within all limits.

    Args:
        problem: The problem.
        x: Where to start, shape (n,); all slacks must be positive there.
        hessian: First guess of the second derivatives of f, shape (n, n).
        barrier: First mu.
        final_barrier: Last mu.
        iterations: Number of steps at most.
        tolerance: It is done when the steps at the last mu improve f by less than this, relative to 1.
        should_stop: Callback; whether to end the search after a step.
    """
    mu = barrier
    B = np.eye(len(x)) if hessian is None else hessian
    here = problem.at(x)
    f, g = here.objective()
    near, walls = here.slacks(), here.barrier()
    count, stalled = 0, 0
    while count < iterations:
        count += 1
        direction, expected = _direction(B, g, near, mu)
        step = _line_search(problem, x, f + mu * walls, near, direction, expected, mu)
        if step is not None:
            new_x, there = step
            new_f, new_g = there.objective()
            new_near = there.slacks()
            B = _updated(B, new_x - x, new_g - g + mu * near.bending(new_near))
            x, f, g, near, walls = new_x, new_f, new_g, new_near, there.barrier()
            if should_stop():
                return Point(x, f, B, mu, count, False)
        stalled = 0 if step is not None and abs(expected) > 0.1 * mu + tolerance else stalled + 1
        if stalled >= 1:
            if mu <= final_barrier:
                if stalled >= 3 or step is None:
                    return Point(x, f, B, mu, count, True)
            else:
                mu, stalled = max(0.25 * mu, final_barrier), 0
    return Point(x, f, B, mu, count, False)


def _direction(B: Array, g: Array, near: NearSlacks, mu: float) -> tuple[Array, float]:
    """The Newton step of the barrier function, and its slope along it."""
    slope = g + mu * near.barrier_slope()
    H = B + mu * near.barrier_curvature()
    shift = 0.0
    while True:
        try:
            direction = -cho_solve(cho_factor(H + shift * np.eye(len(g)), check_finite=False), slope)
            return direction, float(slope @ direction)
        except LinAlgError:
            shift = max(10.0 * shift, 1e-10 * float(np.trace(H)) / len(H))


def _line_search(
    problem: Problem, x: Array, value: float, near: NearSlacks, direction: Array, expected: float, mu: float
) -> tuple[Array, DesignPoint] | None:
    """The first of ever shorter steps that decreases f + mu * barrier from its value here."""
    change = near.times(direction) / near.values
    step = min(1.0, _TO_THE_BOUNDARY / max(float(-change.min(initial=0.0)), 1e-300))
    for _ in range(_HALVINGS):
        there = problem.at(x + step * direction)
        barrier = there.barrier()
        if math.isfinite(barrier) and there.objective()[0] + mu * barrier - value <= _DECREASE * step * expected:
            return x + step * direction, there
        step *= 0.5
    return None


def barrier(slacks: Array) -> float:
    """Sum of b(s): `-log u - (1 - u) - (1 - u)^2 / 2` with u = s / NEAR below 1; infinite outside.

    >>> barrier(np.array([0.5, 3.0]))
    0.0
    """
    u = slacks[slacks < NEAR_LIMIT] / NEAR_LIMIT
    if not (u > 0.0).all():
        return math.inf
    return float(np.sum(-np.log(u) - (1.0 - u) - 0.5 * (1.0 - u) ** 2))


def barrier_slopes(slacks: Array) -> Array:
    """Slope of b over each slack: never positive."""
    u = np.minimum(slacks / NEAR_LIMIT, 1.0)
    return -((1.0 - u) ** 2) / (u * NEAR_LIMIT)


def barrier_curvatures(slacks: Array) -> Array:
    """Second derivative of b over each slack: never negative."""
    u = np.minimum(slacks / NEAR_LIMIT, 1.0)
    return (1.0 - u**2) / (u * NEAR_LIMIT) ** 2


def _updated(B: Array, dx: Array, dg: Array) -> Array:
    """The damped BFGS update (Powell), which stays positive definite."""
    Bd = B @ dx
    curvature, product = float(dx @ Bd), float(dx @ dg)
    if curvature <= 0.0:
        return B
    if product < 0.2 * curvature:
        part = 0.8 * curvature / (curvature - product)
        dg = part * dg + (1.0 - part) * Bd
        product = float(dx @ dg)
    return B + np.outer(dg, dg) / product - np.outer(Bd, Bd) / curvature
