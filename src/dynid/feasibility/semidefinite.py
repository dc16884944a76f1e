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
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np
from scipy import sparse

from dynid.arrays import Array
from dynid.data.factors import Factor
from dynid.errors import DynidError
from dynid.feasibility.cone_program import Cone, ConeKind, InfeasibleError, SolverError, minimise, stack_order, stacked
from dynid.feasibility.constraints import Constraint
from dynid.feasibility.references import Origin, Reference
from dynid.model.base_parameters import BaseParameters
from dynid.robot import inertia

THINNEST = 1e-6
"""Every link's pseudo-inertia is at least this part of its reference's: positive definite, not only semidefinite."""

_LIGHTEST = 1e-3
"""Weight of the trace that picks the lightest bodies where there is no prior."""

_RIDGE = 1e-6
"""Weight that picks the smallest of terms' parameters where nothing else decides."""

_ELEMENTS = stack_order(4)
_DIAGONAL = [_ELEMENTS.index((d, d)) for d in range(4)]


class PriorKind(StrEnum):
    """How far a link is from its reference."""

    NONE = "none"
    EUCLIDEAN = "euclidean"
    LOG_DET = "logdet"


@dataclass(frozen=True)
class LinkPrior:
    """How much links should be like their references.

    Attributes:
        kind: Which distance counts.
        weight: Of the distance, in squared standard deviations of one torque row; at 1, a link of twice its
            reference's inertia costs as much as one torque that is off by about 1.1 deviations.
    """

    kind: PriorKind = PriorKind.LOG_DET
    weight: float = 1.0


class ConflictError(DynidError):
    """Constraints exclude each other, or the data.

    Attributes:
        labels: A smallest set of constraints that cannot hold together with the laws of physics, or with the data.
        against_data: Whether they could hold, but the torques contradict them far beyond all errors.
    """

    def __init__(self, labels: Sequence[str], *, against_data: bool) -> None:
        self.labels = tuple(labels)
        self.against_data = against_data
        together = "cannot hold for any possible body" if len(labels) == 1 else "exclude each other"
        if against_data:
            together = "contradicts the torques" if len(labels) == 1 else "contradict the torques"
        advice = "change it" if len(labels) == 1 else "change one of them"
        super().__init__(f"[physical]: {' and '.join(self.labels)} {together}; {advice}")


@dataclass(frozen=True, eq=False)
class Problem:
    """A fit of physical standard parameters.

    Attributes:
        factor: The data's factor for the base parameters, weighed so that errors have unit variance; known
            parameters are taken off.
        base: The base parameters.
        references: What each solid link is expected to be like, in their order.
        prior: How much it should be so.
        constraints: What else must hold.
    """

    factor: Factor
    base: BaseParameters
    references: tuple[Reference, ...]
    prior: LinkPrior
    constraints: tuple[Constraint, ...]

    @cached_property
    def _free(self) -> list[int]:
        """Positions of the references whose links have mass."""
        return [k for k, reference in enumerate(self.references) if reference.origin is not Origin.MASSLESS]

    @cached_property
    def _roots(self) -> list[Array]:
        """Cholesky factors L of the references of links with mass."""
        pseudo_inertias = [inertia.to_pseudo_inertia(self.references[k].parameters) for k in self._free]
        return [np.asarray(np.linalg.cholesky(J), dtype=float) for J in pseudo_inertias]

    @cached_property
    def _map(self) -> Array:
        """Matrix C with p = C x, x being the stacked X of each link with mass, then the scaled terms' parameters."""
        count, links = len(self.base.model.names), 10 * len(self.references)
        C = np.zeros((count, 10 * len(self._free) + count - links))
        units = np.linalg.inv(stacked(inertia.pseudo_inertia_basis())).T  # from stacked J to the 10-vector
        for column, (k, L) in enumerate(zip(self._free, self._roots, strict=True)):
            at = slice(10 * k, 10 * k + 10), slice(10 * column, 10 * column + 10)
            C[at] = units @ stacked(L @ _unit_matrices() @ L.T).T
        C[links:, 10 * len(self._free) :] = np.diag(self._term_scales)
        return C

    @cached_property
    def _term_scales(self) -> Array:
        """Size of each term's parameter that alone would explain the torques."""
        of_terms = (self.factor.R @ self.base.regrouping)[:, 10 * len(self.references) :]
        lengths = np.linalg.norm(of_terms, axis=0)
        size = float(np.linalg.norm(self.factor.z))
        return (
            np.divide(size, lengths, out=np.ones_like(lengths), where=lengths > 0.0) if size else np.ones_like(lengths)
        )


def fit(problem: Problem) -> Array:
    """The physical standard parameters p of a problem, shape (parameters,).

    Raises:
        ConflictError: If constraints exclude each other.
        SolverError: If the solver did not reach its full accuracy.
    """
    try:
        p = _solve(problem, problem.constraints)
    except (InfeasibleError, SolverError) as failure:
        raise _conflict(problem, failure) from None
    for k, reference in enumerate(problem.references):
        if reference.origin is not Origin.MASSLESS:
            smallest = np.linalg.eigvalsh(inertia.to_pseudo_inertia(p[10 * k : 10 * k + 10]))[0]
            if not smallest > 0.0:
                raise SolverError(f"link {k + 1} has an eigenvalue of {smallest:.2g} in its pseudo-inertia")
    return p


def _solve(problem: Problem, constraints: Sequence[Constraint]) -> Array:
    C = problem._map
    links, width = len(problem._free), C.shape[1]
    with_log_det = problem.prior.kind is PriorKind.LOG_DET and problem.prior.weight > 0.0
    total = width + (14 * links if with_log_det else 0)
    A, c = _squares(problem)
    cost = np.zeros(total)
    weight = _LIGHTEST if problem.prior.kind is PriorKind.NONE or not problem.prior.weight else problem.prior.weight
    cones = [_widened(Cone(item.kind, item.rows @ C, item.offset), total) for item in constraints]
    for k in range(links):
        X = range(10 * k, 10 * k + 10)
        if problem.prior.kind is not PriorKind.EUCLIDEAN:
            cost[[X[d] for d in _DIAGONAL]] = weight
        if with_log_det:
            helpers = range(width + 14 * k, width + 14 * k + 14)
            cost[helpers[10:]] = -weight
            cones += _log_det(X, helpers, total)
        identity = np.zeros(10)
        identity[_DIAGONAL] = -THINNEST
        cones.append(Cone(ConeKind.SEMIDEFINITE, _picked(X, total), identity))
    x = minimise(np.hstack([A, np.zeros((len(A), total - width))]), c, cost, cones)
    return C @ x[:width]


def _squares(problem: Problem) -> tuple[Array, Array]:
    """Rows A and right-hand side c of all squares: of the data, of the prior, and a ridge on terms."""
    C, weight = problem._map, problem.prior.weight
    blocks = [(problem.factor.R @ problem.base.regrouping @ C, problem.factor.z)]
    first = 10 * len(problem.references)
    expected = problem.base.model.reference[first:]
    has_prior = (np.nan_to_num(expected) != 0.0) & (problem.prior.kind is not PriorKind.NONE)
    rows = np.zeros((len(expected), C.shape[1]))
    rows[:, C.shape[1] - len(expected) :] = np.sqrt(_RIDGE) * np.eye(len(expected))
    target = np.zeros(len(expected))
    for k in np.flatnonzero(has_prior):
        rows[k] = np.sqrt(weight) * C[first + k] / abs(expected[k])
        target[k] = np.sqrt(weight) * np.sign(expected[k])
    blocks.append((rows, target))
    if problem.prior.kind is PriorKind.EUCLIDEAN:
        for k in problem._free:
            p0 = problem.references[k].parameters
            scale = np.sqrt(weight) / sizes(p0)
            blocks.append((scale[:, None] * C[10 * k : 10 * k + 10], scale * p0))
    return np.concatenate([A for A, _ in blocks]), np.concatenate([c for _, c in blocks])


def sizes(parameters: Array) -> Array:
    """Size of each of a body's ten numbers: m, m r and m r^2, with r the radius of gyration about the frame."""
    J = inertia.to_pseudo_inertia(parameters)
    r = np.sqrt(np.trace(J[:3, :3]) / J[3, 3])
    return J[3, 3] * np.array([1.0, *[r] * 3, *[r**2] * 6])


def _log_det(X: range, helpers: range, total: int) -> list[Cone]:
    """`sum of t <= log det X`, with ten helpers Z, lower triangular, and four t.

    [[X, Z], [Z', diag Z]] is positive semidefinite for some Z exactly when det X >= prod Z_dd, and t_d <= log Z_dd.
    """
    Z = {(j, i): helpers[k] for k, (i, j) in enumerate(_ELEMENTS)}
    order = stack_order(8)
    block = sparse.lil_array((len(order), total))
    logs = sparse.lil_array((12, total))
    for row, (i, j) in enumerate(order):
        if j < 4:
            block[row, X[_ELEMENTS.index((i, j))]] = 1.0
        elif (i, j - 4) in Z and i < 4:
            block[row, Z[i, j - 4]] = np.sqrt(2.0)
        elif i == j:
            block[row, Z[i - 4, i - 4]] = 1.0
    for d in range(4):
        logs[3 * d, helpers[10 + d]] = 1.0
        logs[3 * d + 2, Z[d, d]] = 1.0
    return [
        Cone(ConeKind.SEMIDEFINITE, block, np.zeros(len(order))),
        Cone(ConeKind.EXPONENTIAL, logs, np.tile([0.0, 1.0, 0.0], 4)),
    ]


def _conflict(problem: Problem, failure: DynidError) -> DynidError:
    """Why a fit failed: constraints that exclude each other, or the data; or else only that it failed."""
    without_data = replace(problem.factor, R=0.0 * problem.factor.R, z=0.0 * problem.factor.z)
    empty = replace(problem, factor=without_data, prior=LinkPrior(PriorKind.NONE))
    if not _solves(empty, problem.constraints):
        return ConflictError(_smallest_set(empty), against_data=False)
    if _solves(problem, [constraint for constraint in problem.constraints if not constraint.label]):
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


def _unit_matrices() -> Array:
    """Symmetric matrices whose stacked forms are unit vectors, shape (10, 4, 4)."""
    units = np.zeros((10, 4, 4))
    for k, (i, j) in enumerate(_ELEMENTS):
        units[k, i, j] = units[k, j, i] = 1.0 if i == j else np.sqrt(0.5)
    return units


def _picked(columns: range, total: int) -> sparse.csc_array:
    return sparse.csc_array((np.ones(len(columns)), (range(len(columns)), columns)), shape=(len(columns), total))


def _widened(cone: Cone, total: int) -> Cone:
    extra = total - cone.rows.shape[1]
    return Cone(cone.kind, np.hstack([cone.rows, np.zeros((len(cone.offset), extra))]), cone.offset)
