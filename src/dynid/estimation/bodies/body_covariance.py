"""How sure physically consistent bodies are: by the data, the prior and the conditions that hold at the optimum.

Near the optimum x the objective is a parabola with the curvature D of the data and P of the prior, as in
`parameter_covariances`: without conditions, errors have the covariance V = (D + P)^-1 (D + s P) (D + P)^-1 about the
minimum of the parabola, x - (D + P)^-1 g with the slope g at x. Where the conditions on a body are active, its part g_k
of the slope is not zero, and `g_k' (x' - x) >= 0` holds for everything that they allow: they are convex, and x is
optimal. So the errors are normal, cut off there. What is reported is their second moment about x, which is the
reported value: a bias towards the bound counts, too, and so does what the solver left to the optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.bodies.truncated_normal import truncated_moments
from dynid.estimation.physical.cone_program import stacked
from dynid.estimation.physical.link_prior import PriorKind
from dynid.estimation.physical.parameter_covariances import curvatures
from dynid.estimation.physical.semidefinite import Problem
from dynid.robot import inertia

ACTIVE_STDS = 0.05
"""A body's part of the slope at the optimum, in standard deviations along it, below which it is the solver's rounding:
optima are accurate to a hundredth of one."""


SMALLEST_CURVATURE = 1e-14
"""Part of the prior's largest curvature below which others are rounding."""

UNDETERMINED = 1e-6
"""Part of a parameter in undetermined directions above which it is undetermined: others are rounding."""


@dataclass(frozen=True, eq=False)
class BodyErrors:
    """How sure bodies are.

    Attributes:
        covariance: Of the standard parameters, shape (parameters, parameters).
        undetermined: Directions in which nothing determines them: the data do not, and there is no prior; shape
            (parameters, directions).
        from_data: Share of the prior's variance that the data take away, shape (parameters,).
        scatter: How many times larger than stated the prior's variances are, by how far the data moved the bodies; at
            least 1.
        scatter_count: Number of parameters that the data determine, on which this rests.
        held: Positions of the bodies that conditions hold.
    """

    covariance: Array
    undetermined: Array
    from_data: Array
    scatter: float
    scatter_count: float
    held: tuple[int, ...]


def body_errors(problem: Problem, p: Array, expected: Array, at_bounds: Callable[[int], bool]) -> BodyErrors:
    """How sure bodies are that were fitted to a problem.

    Args:
        problem: The problem; all bodies have mass.
        p: Its optimum, shape (parameters,).
        expected: Where the prior alone has its optimum, shape (parameters,).
        at_bounds: From the position of a body to whether it is at a bound, or hardly consistent.
    """
    C, of_data = problem.to_parameters, problem.factor.R @ problem.base.regrouping @ problem.to_parameters
    x = np.asarray(np.linalg.solve(C, p), dtype=float)
    root = _root(curvatures(problem, p)[1])  # P = root' root
    back = np.asarray(np.linalg.inv(np.linalg.qr(np.concatenate([of_data, root]), mode="r")), dtype=float)
    V = back @ back.T
    pulled = V @ root.T
    change = root @ (x - np.linalg.solve(C, expected))
    count = float(np.sum((of_data @ back) ** 2))
    s = max(1.0, float(change @ change) / max(count, 1.0))
    slope = _slope(problem, x)
    held = [n for n in range(len(problem.heavy)) if _is_held(slope, V, problem.columns(n)) and at_bounds(n)]
    bodies = tuple(problem.heavy[n] for n in held)
    if problem.prior.kind is PriorKind.NONE:
        return BodyErrors(*_of_data_alone(problem), s, count, bodies)
    errors = V + (s - 1.0) * pulled @ pulled.T
    before = s * np.sum(np.linalg.solve(root.T, C.T) ** 2, axis=0)
    share = 1.0 - np.einsum("ki,ki->k", C @ errors, C) / before
    rows = np.zeros((len(held), len(x)))
    for row, n in zip(rows, held, strict=True):
        row[problem.columns(n)] = slope[problem.columns(n)]
    mean, errors = truncated_moments(-V @ slope, errors, rows)
    about = C @ (errors + np.outer(mean, mean)) @ C.T
    nothing = np.zeros((len(C), 0))
    return BodyErrors(0.5 * (about + about.T), nothing, np.clip(share, 0.0, 1.0), s, count, bodies)


def _root(P: Array) -> Array:
    """A matrix whose transpose times itself is a positive semidefinite one."""
    sizes, axes = np.linalg.eigh(P)
    return np.sqrt(np.maximum(sizes, SMALLEST_CURVATURE * sizes[-1]))[:, None] * axes.T


def _is_held(slope: Array, V: Array, own: slice) -> bool:
    """Whether more than rounding pulls a body."""
    return bool(slope[own] @ V[own, own] @ slope[own] > ACTIVE_STDS**2)


def _slope(problem: Problem, x: Array) -> Array:
    """Half the gradient of the objective at x."""
    A, c = problem.squares()
    slope = A.T @ (A @ x - c)
    if not problem.prior.kind.is_square:
        for n, weight in enumerate(problem.weights):
            own = problem.columns(n)
            X = inertia.to_pseudo_inertia(problem.to_parameters[problem.columns(problem.heavy[n])] @ x)
            half = np.linalg.solve(problem.roots[n], X)
            X = np.linalg.solve(problem.roots[n], half.T)
            is_entropic = problem.prior.kind is PriorKind.LOG_DET
            pull = np.eye(4) - np.linalg.inv(X) if is_entropic else np.eye(4)
            slope[own] += 0.5 * weight * stacked(np.asarray(pull, dtype=float))
    return slope


def _of_data_alone(problem: Problem) -> tuple[Array, Array, Array]:
    """Covariance of what the data alone determine, the directions that they do not, and which parameters they do."""
    K, sizes = problem.base.regrouping, np.linalg.norm(problem.to_parameters, axis=1)
    back = sizes[:, None] * np.linalg.pinv(K * sizes)
    half = np.linalg.solve(problem.factor.R.T, back.T)
    left = np.linalg.svd(K * sizes)[2][len(K) :].T
    is_determined = np.linalg.norm(left, axis=1) < UNDETERMINED
    left[is_determined] = 0.0
    return half.T @ half, sizes[:, None] * left, is_determined.astype(float)
