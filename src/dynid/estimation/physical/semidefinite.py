"""Standard parameters that a robot can have, and that fit the data best: one small convex program.

With the factor R, z of the base parameters b = K p, links i with pseudo-inertias J_i(p) and references J0_i = L_i L_i',

    minimise    |R K p - z|^2 + weight * sum_i d(J_i, J0_i)
    such that   every J_i is positive definite, and every constraint holds.

In the whitened form J_i = L_i X_i L_i' the numbers of all links are near one. The distances d are

    log-det     tr X - log det X - 4     (of Lee, Wensing and Park, 2019; does not depend on frames or units)
    euclidean   |(p - p0) / scale|^2     (equation 1.10 of the Figaro thesis, in the units of the link's own size)
    none        a trace of so little weight that it only picks the lightest of bodies that fit equally well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from dynid.arrays import Array
from dynid.errors import DynidError
from dynid.estimation.physical.cone_program import (
    Cone,
    ConeKind,
    InfeasibleError,
    SolverError,
    log_det,
    minimise,
    stack_order,
)
from dynid.estimation.physical.constraints import Constraint
from dynid.estimation.physical.link_problem import LinkPrior, PriorKind, Problem
from dynid.robot import inertia

THINNEST = 1e-6
"""Every link's pseudo-inertia is at least this part of its reference's: positive definite, not only semidefinite."""

LIGHTEST = 1e-3
"""Weight of the trace that picks the lightest bodies where there is no prior."""

INFLATIONS = (1.0, 10.0, 100.0, 1000.0, 1e4)
"""Errors of torques are taken as so many times larger where possible links cannot come near the torques at all."""

_DIAGONAL = [stack_order(4).index((d, d)) for d in range(4)]


class ConflictError(DynidError):
    """Constraints exclude each other, or the data.

    Attributes:
        labels: A smallest set of constraints that cannot hold together with the laws of physics, or with the data.
        against_data: Whether they could hold, but the torques contradict them far beyond all errors.
    """

    def __init__(self, labels: Sequence[str], *, against_data: bool) -> None:
        self.labels = tuple(labels)
        self.against_data = against_data
        one = len(labels) == 1
        together = "cannot hold for any possible body" if one else "exclude each other"
        if against_data:
            together = f"contradict{'s' if one else ''} the torques"
        super().__init__(f"{' and '.join(self.labels)} {together}; change {'it' if one else 'one of them'}")


def fit(problem: Problem) -> Array:
    """The physical standard parameters p of a problem, shape (parameters,).

    Raises:
        ConflictError: If constraints exclude each other, or the torques.
        SolverError: If the solver did not reach its full accuracy.
    """
    failure: DynidError | None = None
    for inflation in INFLATIONS:
        try:
            return _solve(replace(problem, factor=problem.factor.weighted(1.0 / inflation)), problem.constraints)
        except (InfeasibleError, SolverError) as error:
            failure = failure or error
    raise _conflict(problem, failure if isinstance(failure, SolverError) else SolverError("infeasible")) from failure


def _solve(problem: Problem, constraints: Sequence[Constraint]) -> Array:
    C, size = problem.to_parameters, inertia.SIZE
    width = C.shape[1]
    with_log_det = problem.prior.kind is PriorKind.LOG_DET
    total = width + (size + 4) * len(problem.heavy) * with_log_det
    weight = LIGHTEST if problem.prior.kind is PriorKind.NONE else problem.prior.weight
    cost = np.zeros(total)
    cones = [_widened(Cone(item.kind, item.rows @ C, item.offset), total) for item in constraints]
    for n in range(len(problem.heavy)):
        X = range(size * n, size * (n + 1))
        if problem.prior.kind is not PriorKind.EUCLIDEAN:
            cost[[X[d] for d in _DIAGONAL]] = weight
        if with_log_det:
            helpers = range(width + (size + 4) * n, width + (size + 4) * (n + 1))
            cost[helpers[size:]] = -weight
            cones += log_det(X, helpers, total)
        thinnest = np.zeros(size)
        thinnest[_DIAGONAL] = -THINNEST
        cones.append(Cone(ConeKind.SEMIDEFINITE, _picked(X, total), thinnest))
    A, c = problem.squares()
    x = minimise(np.hstack([A, np.zeros((len(A), total - width))]), c, cost, cones)
    return _without_rounding(problem, C @ x[:width])


def _without_rounding(problem: Problem, p: Array) -> Array:
    """Parameters of which a solver's rounding left some a little outside of what is possible, just inside."""
    p = p.copy()
    for k, L in zip(problem.heavy, problem.roots, strict=True):
        own = problem.columns(k)
        half = np.linalg.solve(L, inertia.to_pseudo_inertia(p[own]))
        sizes, axes = np.linalg.eigh(np.linalg.solve(L, half.T))
        if sizes[0] < -THINNEST * max(1.0, sizes[-1]):
            raise SolverError(f"link {k + 1} has a pseudo-inertia of {sizes[0]:.2g} times its reference's")
        if sizes[0] < 0.1 * THINNEST:
            root = L @ axes
            p[own] = inertia.from_pseudo_inertia((root * np.maximum(sizes, 0.1 * THINNEST)) @ root.T)
    for constraint in problem.constraints:
        if constraint.kind is ConeKind.NONNEGATIVE and not constraint.label and not (constraint.rows @ p > 0.0).all():
            p[np.flatnonzero(constraint.rows[0])] = 0.0
    return p


def _conflict(problem: Problem, failure: SolverError) -> DynidError:
    """Why a fit failed: constraints that exclude each other, or the data; or else only that it failed."""
    without_data = replace(problem.factor, R=0.0 * problem.factor.R, z=0.0 * problem.factor.z)
    empty = replace(problem, factor=without_data, prior=LinkPrior(PriorKind.NONE))
    physics = [constraint for constraint in problem.constraints if not constraint.label]
    if len(physics) == len(problem.constraints):
        return failure
    if not _solves(empty, problem.constraints):
        return ConflictError(_smallest_set(empty), against_data=False)
    if _solves(problem, physics):
        return ConflictError(_smallest_set(problem), against_data=True)
    return failure


def _smallest_set(problem: Problem) -> list[str]:
    """Labels of a smallest set of constraints that cannot hold: each is left out in turn if the rest cannot."""
    physics = [constraint for constraint in problem.constraints if not constraint.label]
    needed = [constraint for constraint in problem.constraints if constraint.label]
    for constraint in list(needed):
        rest = [other for other in needed if other is not constraint]
        if not _solves(problem, [*physics, *rest]):
            needed = rest
    return [constraint.label for constraint in needed]


def _solves(problem: Problem, constraints: Sequence[Constraint]) -> bool:
    try:
        _solve(problem, constraints)
    except (InfeasibleError, SolverError):
        return False
    return True


def _picked(columns: range, total: int) -> sparse.csc_array:
    return sparse.csc_array((np.ones(len(columns)), (range(len(columns)), columns)), shape=(len(columns), total))


def _widened(cone: Cone, total: int) -> Cone:
    extra = total - cone.rows.shape[1]
    return Cone(cone.kind, np.hstack([cone.rows, np.zeros((len(cone.offset), extra))]), cone.offset)
