"""The fit of physical parameters as a problem: what is minimised, over which bodies, under which conditions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import sparse

from dynid.arrays import Array
from dynid.errors import DynidError
from dynid.estimation.factors.factors import Factor
from dynid.estimation.physical import cone_program
from dynid.estimation.physical.constraints import Constraint
from dynid.estimation.physical.containment import Containment
from dynid.estimation.physical.link_prior import LinkPrior, PriorKind
from dynid.estimation.physical.references import GUESSED_WEIGHT, Origin, Reference
from dynid.robot import inertia

RIDGE_WEIGHT = 1e-6
"""Weight that picks the smallest of terms' parameters where nothing else decides."""


class Combinations(Protocol):
    """Combinations b = K p of standard parameters that data depend on; the base parameters of a robot are such."""

    @property
    def regrouping(self) -> Array:
        """The matrix K, shape (combinations, parameters)."""
        ...

    @property
    def reference(self) -> Array:
        """Standard parameters that are stated beforehand, shape (parameters,); NaN where none are."""
        ...

    def to_standard(self, base: Array) -> Array:
        """Some standard parameters that have given combinations, (combinations,) to (parameters,)."""
        ...


@dataclass(frozen=True, eq=False)
class Problem:
    """A fit of physical standard parameters.

    Its variables x are the whitened pseudo-inertia X of each link with mass, in stacked form, and then the terms'
    parameters in units of their sizes.

    Attributes:
        factor: The data's factor for the base parameters, weighed so that errors have unit variance; known
            parameters are taken off.
        base: The base parameters, or other combinations that the factor is of.
        references: What each solid link is expected to be like, in their order.
        prior: How much it should be so.
        constraints: What else must hold.
    """

    factor: Factor
    base: Combinations
    references: tuple[Reference, ...]
    prior: LinkPrior
    constraints: tuple[Constraint | Containment, ...]

    @cached_property
    def heavy(self) -> list[int]:
        """Positions of the references whose links have mass."""
        return [k for k, reference in enumerate(self.references) if reference.origin is not Origin.MASSLESS]

    @cached_property
    def caps(self) -> Array:
        """Weights that the priors of links with mass are never above, shape (links with mass,)."""
        return np.array([self.references[k].most_weight for k in self.heavy], dtype=float)

    @cached_property
    def weights(self) -> Array:
        """Weights of the priors of links with mass, shape (links with mass,)."""
        if self.prior.kind is PriorKind.NONE:
            return np.minimum(LIGHTEST_WEIGHT, self.caps)
        return np.minimum(self.prior.weight * self.shares, self.caps)

    @cached_property
    def shares(self) -> Array:
        """Weights of the priors of links with mass relative to the common one, shape (links with mass,)."""
        return np.array([self.references[k].share for k in self.heavy], dtype=float)

    @cached_property
    def first_term(self) -> int:
        """Index of the first term's parameter."""
        return inertia.SIZE * len(self.references)

    def columns(self, k: int) -> slice:
        """Columns of the ten parameters of a reference's link."""
        return slice(inertia.SIZE * k, inertia.SIZE * (k + 1))

    @cached_property
    def roots(self) -> list[Array]:
        """Cholesky factors L of the references of links with mass: J0 = L L', J = L X L'."""
        pseudo_inertias = [inertia.to_pseudo_inertia(self.references[k].parameters) for k in self.heavy]
        return [np.asarray(np.linalg.cholesky(J), dtype=float) for J in pseudo_inertias]

    @cached_property
    def to_parameters(self) -> Array:
        """Matrix C with p = C x, shape (parameters, variables)."""
        links = inertia.SIZE * len(self.heavy)
        C = np.zeros((self.base.regrouping.shape[1], links + len(self.term_sizes)))
        from_stacked = np.linalg.inv(cone_program.stacked(inertia.pseudo_inertia_basis())).T
        for n, (k, L) in enumerate(zip(self.heavy, self.roots, strict=True)):
            C[self.columns(k), self.columns(n)] = from_stacked @ cone_program.stacked(L @ _unit_matrices() @ L.T).T
        C[self.first_term :, links:] = np.diag(self.term_sizes)
        return C

    @cached_property
    def term_sizes(self) -> Array:
        """Size of each term's parameter that alone would explain the torques."""
        lengths = np.linalg.norm((self.factor.R @ self.base.regrouping)[:, self.first_term :], axis=0)
        size = float(np.linalg.norm(self.factor.z)) or 1.0
        return np.divide(size, lengths, out=np.ones_like(lengths), where=lengths > 0.0)

    def squares(self) -> tuple[Array, Array]:
        """Rows A and right-hand side c of all squares |A x - c|^2: of the data, of the prior, and a ridge on terms."""
        C = self.to_parameters
        of_terms, expected_terms = self.expectations_of_terms()
        rows, targets = [self.factor.R @ self.base.regrouping @ C, of_terms], [self.factor.z, expected_terms]
        if self.prior.kind.is_square:
            for n, weight in enumerate(self.weights):
                A, c = self.distances(n)
                rows.append(np.sqrt(weight) * A)
                targets.append(np.sqrt(weight) * c)
        return np.concatenate(rows), np.concatenate(targets)

    def distances(self, n: int) -> tuple[Array, Array]:
        """Rows A and right-hand side c of the squared distance |A x - c|^2 of a link from its reference.

        Args:
            n: Number of the link among those with mass.
        """
        k = self.heavy[n]
        expected, stds = self.references[k].parameters, self.references[k].stds
        if self.prior.kind is PriorKind.PULLBACK:
            rows = np.zeros((inertia.SIZE, self.to_parameters.shape[1]))
            rows[:, self.columns(n)] = np.sqrt(0.5) * np.eye(inertia.SIZE)
            return rows, np.sqrt(0.5) * cone_program.stacked(np.eye(4))
        sizes = inertia.sizes(expected) if stds is None else stds
        return self.to_parameters[self.columns(k)] / sizes[:, None], expected / sizes

    def expectations_of_terms(self) -> tuple[Array, Array]:
        """Rows that keep terms near the file's values, where it has any, and small where nothing else decides."""
        C, expected = self.to_parameters, self.base.reference[self.first_term :]
        rows = np.zeros((len(expected), C.shape[1]))
        rows[:, C.shape[1] - len(expected) :] = np.sqrt(RIDGE_WEIGHT) * np.eye(len(expected))
        target = np.zeros(len(expected))
        if self.prior.kind is not PriorKind.NONE:
            weight = np.sqrt(min(self.prior.weight, GUESSED_WEIGHT))  # friction that files state is rarely measured
            by_data = self.base.to_standard(self.factor.solve())[self.first_term :]
            for k in np.flatnonzero(np.nan_to_num(expected)):
                size = max(abs(expected[k]), abs(by_data[k]))  # a placeholder must not hold what the data know
                rows[k] = weight * C[self.first_term + k] / size
                target[k] = weight * expected[k] / size
        return rows, target


def _unit_matrices() -> Array:
    """Symmetric matrices whose stacked forms are unit vectors, shape (10, 4, 4)."""
    units = np.zeros((inertia.SIZE, 4, 4))
    for k, (i, j) in enumerate(cone_program.stack_order(4)):
        units[k, i, j] = units[k, j, i] = 1.0 if i == j else np.sqrt(0.5)
    return units


THINNEST_LINK = 1e-6
"""Every link's pseudo-inertia is at least this part of its reference's: positive definite, not only semidefinite."""

LIGHTEST_WEIGHT = 1e-3
"""Weight of the trace that picks the lightest bodies where there is no prior."""

INFLATIONS = (1.0, 10.0, 100.0, 1000.0, 1e4)
"""Errors of torques are taken as so many times larger where no physically consistent links come near the torques."""

_DIAGONAL = [cone_program.stack_order(4).index((d, d)) for d in range(4)]


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
        except (cone_program.InfeasibleError, cone_program.SolverError) as error:
            failure = failure or error
    raise _conflict(
        problem, failure if isinstance(failure, cone_program.SolverError) else cone_program.SolverError("infeasible")
    ) from failure


def _solve(problem: Problem, constraints: Sequence[Constraint | Containment]) -> Array:
    C, size = problem.to_parameters, inertia.SIZE
    width = C.shape[1]
    with_log_det = problem.prior.kind is PriorKind.LOG_DET
    first = width + (size + 4) * len(problem.heavy) * with_log_det
    total = first + sum(item.helpers for item in constraints)
    cost = np.zeros(total)
    cones = list[cone_program.Cone]()
    for item in constraints:
        cones += item.cones(C, first, total)
        first += item.helpers
    for n, weight in enumerate(problem.weights.tolist()):
        X = range(size * n, size * (n + 1))
        if not problem.prior.kind.is_square:
            cost[[X[d] for d in _DIAGONAL]] = weight
        if with_log_det:
            helpers = range(width + (size + 4) * n, width + (size + 4) * (n + 1))
            cost[helpers[size:]] = -weight
            cones += cone_program.log_det(X, helpers, total)
        thinnest = np.zeros(size)
        thinnest[_DIAGONAL] = -THINNEST_LINK
        cones.append(cone_program.Cone(cone_program.ConeKind.SEMIDEFINITE, _picked(X, total), thinnest))
    A, c = problem.squares()
    x = cone_program.minimise(np.hstack([A, np.zeros((len(A), total - width))]), c, cost, cones)
    return _without_rounding(problem, C @ x[:width])


def _without_rounding(problem: Problem, p: Array) -> Array:
    """Parameters of which a solver's rounding left some a little outside of what is possible, just inside."""
    p = p.copy()
    for k, L in zip(problem.heavy, problem.roots, strict=True):
        own = problem.columns(k)
        half = np.linalg.solve(L, inertia.to_pseudo_inertia(p[own]))
        sizes, axes = np.linalg.eigh(np.linalg.solve(L, half.T))
        if sizes[0] < -THINNEST_LINK * max(1.0, sizes[-1]):
            raise cone_program.SolverError(f"link {k + 1} has a pseudo-inertia of {sizes[0]:.2g} times its reference's")
        if sizes[0] < 0.1 * THINNEST_LINK:
            root = L @ axes
            p[own] = inertia.from_pseudo_inertia((root * np.maximum(sizes, 0.1 * THINNEST_LINK)) @ root.T)
    laws = [item for item in problem.constraints if not item.label and item.kind is cone_program.ConeKind.NONNEGATIVE]
    sums = [np.flatnonzero(row) for law in laws for row in law.rows]
    for own in sorted(sums, key=len):  # single parameters first; a sum is then raised by its last one, which keeps them
        p[own[-1]] = max(p[own[-1]], -float(np.sum(p[own[:-1]])))
    return p


def _conflict(problem: Problem, failure: cone_program.SolverError) -> DynidError:
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


def _solves(problem: Problem, constraints: Sequence[Constraint | Containment]) -> bool:
    try:
        _solve(problem, constraints)
    except (cone_program.InfeasibleError, cone_program.SolverError):
        return False
    return True


def _picked(columns: range, total: int) -> sparse.csc_array:
    return sparse.csc_array((np.ones(len(columns)), (range(len(columns)), columns)), shape=(len(columns), total))
