"""Covariances of physically consistent parameters: what the data say of each, and what the prior says.

Physically consistent links minimise squared errors of the data plus a prior. Near its minimum the objective is a
parabola with the curvature D of the data and P of the prior. The weight of the prior is chosen for predictions, and
says nothing about how far links are from their file: that is seen from how far the data moved them. The squared
distance d = (p - p0)' P (p - p0) is expected to be tr(I - (D + P)^-1 P), the number of parameters that the data
determine. Where it is s times as large, the links scatter about the file with s P^-1, and the error of the estimate has
the covariance (D + P)^-1 (D + s P) (D + P)^-1. Of a quantity with the gradient g and this covariance V, the data
determine the share 1 - g' V g / g' s P^-1 g: how much of the variance they take away. Conditions that hold as
inequalities are left out, which makes variances larger, not smaller.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.factors import Factors
from dynid.estimation.physical.cone_program import ConeKind, stacked
from dynid.estimation.physical.physical_estimate import Physics, problem_of, weighed
from dynid.estimation.physical.semidefinite import Problem
from dynid.model import BaseParameters
from dynid.robot import inertia

STIFF = 1e8
"""Curvature that stands for a parameter that is known."""


def parameter_covariances(
    logs: Sequence[Factors],
    base: BaseParameters,
    physics: Physics,
    points: Sequence[Array],
    stds: Mapping[str, float | None],
    moved: Array,
    method: Literal["ols", "wls"] = "wls",
) -> list[tuple[Array, Array]]:
    """Covariances of the standard parameters with the data and by the prior alone, each (parameters, parameters).

    The prior by the log-determinant is no parabola: it is stiff where a link is small. So it matters at which
    parameters its curvature is taken.

    Args:
        logs: The factors of each log that was estimated from.
        base: The base parameters.
        physics: Prior, with the weight that was used, and constraints.
        points: Physically consistent standard parameters p at which curvatures are taken, each (parameters,).
        stds: Standard deviations by name, of parameters that the data alone determine: they say how many times larger
            than for white errors variances are.
        moved: How far the data moved the parameters from where the prior expects them, p - p0, shape (parameters,).
        method: As in `physical_estimate`.

    Returns:
        Both covariances for each point.

    Raises:
        LinAlgError: If data and prior leave a parameter free.
    """
    white = weighed(logs, base, method)
    factor = white.weighted(1.0 / np.sqrt(_dispersion(base, white.R, stds)))
    problem = problem_of(factor, base, physics)
    C, found = problem.to_parameters, []
    change = np.linalg.lstsq(C, moved, rcond=None)[0]
    for point in points:
        D, P = curvatures(problem, point)
        with_data = np.linalg.solve(D + P, np.column_stack([C.T, P]))
        of_parameters, of_scatter = with_data[:, : len(C)], with_data[:, len(C) :]
        determined = len(P) - float(np.trace(of_scatter))
        s = max(1.0, float(change @ P @ change) / max(determined, 1.0))
        found.append((of_parameters.T @ (D + s * P) @ of_parameters, s * C @ np.linalg.solve(P, C.T)))
    return found


def curvatures(problem: Problem, p: Array) -> tuple[Array, Array]:
    """Curvatures D of the data and P of the prior at standard parameters p, each of shape (variables, variables)."""
    A, _ = problem.squares()
    of_data, of_prior = A[: len(problem.factor.R)], A[len(problem.factor.R) :]
    return of_data.T @ of_data, of_prior.T @ of_prior + _curvature(problem, p)


def _dispersion(base: BaseParameters, R: Array, stds: Mapping[str, float | None]) -> float:
    """How many times larger than for white errors variances are, by those of parameters that the data determine."""
    white = np.linalg.norm(np.linalg.solve(R.T, np.linalg.pinv(base.regrouping).T), axis=0)
    pairs = [(stds.get(name), of_white) for name, of_white in zip(base.model.names, white.tolist(), strict=True)]
    found = [(std / of_white) ** 2 for std, of_white in pairs if std and of_white > 0.0]
    return max(1.0, float(np.median(found))) if found else 1.0


def _curvature(problem: Problem, p: Array) -> Array:
    """Curvature of the prior that is no sum of squares, and of what is known; shape (variables, variables).

    That of `-weight log det X` is `weight tr(X^-1 U X^-1 V)` along U and V; half of it stands beside that of squared
    errors, of which D is half the curvature, too.
    """
    size, width = inertia.SIZE, problem.to_parameters.shape[1]
    found = np.zeros((width, width))
    units = np.linalg.inv(stacked(inertia.pseudo_inertia_basis()))  # stacked unit vectors as 10-vectors
    matrices = np.array([inertia.to_pseudo_inertia(unit) for unit in units])
    for n, (k, L, weight) in enumerate(zip(problem.heavy, problem.roots, problem.weights.tolist(), strict=True)):
        if not problem.prior.kind.is_square:
            half = np.linalg.solve(L, inertia.to_pseudo_inertia(p[problem.columns(k)]))
            turned = np.linalg.inv(np.linalg.solve(L, half.T)) @ matrices
            own = slice(size * n, size * (n + 1))
            found[own, own] = 0.5 * weight * np.einsum("aij,bji->ab", turned, turned)
    for constraint in problem.constraints:
        if constraint.kind is ConeKind.ZERO:
            rows = constraint.rows @ problem.to_parameters
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-300)
            found += STIFF * rows.T @ rows
    return found
