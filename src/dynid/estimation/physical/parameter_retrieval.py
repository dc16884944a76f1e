"""Physical parameters that have given coefficients, or give measured torques, under conditions of any kind."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.errors import DynidError, InvalidRequestError, UnknownNameError
from dynid.estimation.factors.factors import Factor
from dynid.estimation.physical.cone_program import ConeKind, SolverError
from dynid.estimation.physical.constraints import Constraint
from dynid.estimation.physical.containment import Containment
from dynid.estimation.physical.link_variables import LinkVariables
from dynid.estimation.physical.penalty_conditions import (
    Condition,
    Stated,
    convex_condition,
    stated_condition,
    triangle_condition,
)
from dynid.estimation.physical.penalty_retrieval import PenaltyProblem, Retrieved, Round, Search, retrieve
from dynid.estimation.physical.physical_estimate import Physics, problem_of
from dynid.estimation.settings import PenaltySettings
from dynid.model import BaseParameters, html_table
from dynid.robot import inertia


class RetrievalError(SolverError):
    """No parameters were found that meet all conditions.

    Attributes:
        failing: The conditions that the best ones do not meet.
    """

    def __init__(self, failing: Sequence[str]) -> None:
        self.failing = tuple(failing)
        shown = "; ".join(failing[:3]) + ("; ..." if len(failing) > 3 else "")
        DynidError.__init__(
            self,
            f"penalties found no parameters that meet all conditions (failing: {shown}); widen bounds or ranges, or "
            "search longer (physical.penalty.starts, search = 'annealing')",
        )
        self.status = "conditions not met"


@dataclass(frozen=True)
class RetrievalLimits:
    """What is known of the variables of links and terms, by name or pattern (`m1 cx1 cy1 cz1 Jxx1 ... Jzz1 fv1`).

    Attributes:
        bounds: Ranges, in place of those that follow from the robot file.
        fixed: Values, such as structural zeros.
        conditions: Functions from the variables by name to numbers that must not be negative; by what users call them.
    """

    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    fixed: Mapping[str, float] = field(default_factory=dict[str, float])
    conditions: Mapping[str, Stated] = field(default_factory=dict[str, Stated])


_NO_LIMITS = RetrievalLimits()


@dataclass(frozen=True, eq=False)
class Retrieval:
    """Physical parameters of links and terms that were retrieved by penalties.

    Attributes:
        base: The base parameters of the model.
        retrieved: The variables, rounds and objectives of all starts.
        target: The coefficients that were to be met, or that torques alone give, shape (base,).
    """

    base: BaseParameters
    retrieved: Retrieved
    target: Array

    @cached_property
    def values(self) -> dict[str, float]:
        """Masses [kg], centres of mass [m], inertias about them [kg m^2] and terms' parameters, by name."""
        names = self.retrieved.problem.variables.names
        return dict(zip(names, self.retrieved.values.tolist(), strict=True))

    @cached_property
    def parameters(self) -> Array:
        """Standard parameters p, shape (parameters,)."""
        return self.retrieved.problem.variables.standard(self.retrieved.values)

    @cached_property
    def coefficients(self) -> Array:
        """Base parameters b that they have, shape (base,)."""
        return self.base.to_base(self.parameters)

    @property
    def error(self) -> float:
        """Norm of the difference between these coefficients and those that were to be met, in SI units."""
        return float(np.linalg.norm(self.coefficients - self.target))

    @property
    def is_met(self) -> bool:
        """Whether all conditions hold."""
        return self.retrieved.is_met

    @cached_property
    def conditions(self) -> dict[str, float]:
        """How far each condition is from failing, in units of its size: negative where it does not hold."""
        found: dict[str, float] = {}
        for one in self.retrieved.problem.conditions:
            h = one.value(self.retrieved.values)
            for label, margin in zip(one.labels, (-np.abs(h) if one.is_equality else h).tolist(), strict=True):
                found[label] = min(margin, found.get(label, np.inf))
        return found

    @property
    def rounds(self) -> tuple[Round, ...]:
        """What each round came to, of the best start."""
        return self.retrieved.rounds

    @property
    def seconds(self) -> float:
        """How long it took [s]."""
        return self.retrieved.seconds

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data for JSON."""
        return {
            "parameters": self.values,
            "coefficients": dict(zip(self.base.names, self.coefficients.tolist(), strict=True)),
            "error": self.error,
            "objective": self.retrieved.problem.objective(self.retrieved.values),
            "conditions": self.conditions,
            "is_met": self.is_met,
            "rounds": [vars(one) for one in self.rounds],
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        failing = sum(margin < 0.0 for margin in self.conditions.values())
        held = "all conditions hold" if self.is_met else f"{failing} conditions fail"
        return f"Retrieval({len(self.values)} parameters, error of coefficients {self.error:.3g}, {held})"

    def _repr_html_(self) -> str:
        rows = [(name, f"{value:.6g}") for name, value in self.values.items()]
        return html_table(repr(self), ("parameter", "value"), rows)


def retrieval(
    factor: Factor,
    base: BaseParameters,
    physics: Physics,
    limits: RetrievalLimits = _NO_LIMITS,
    search: Search | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Retrieval:
    """Retrieve physical parameters from the factor of data on base parameters.

    Args:
        factor: Of the base parameters, scaled so that errors have unit variance; known parameters are taken off.
        base: The base parameters.
        physics: What links are expected to be like, which sets the default bounds, and convex constraints.
        limits: Bounds, fixed values and other conditions.
        search: How the minimum is looked for.
        progress: Callback; receives a short description of each start.
    """
    problem = penalty_problem(factor, base, physics, limits)
    return Retrieval(base, retrieve(problem, search, progress), factor.solve())


def fitted_by_penalties(base: BaseParameters, physics: Physics, settings: PenaltySettings) -> Callable[[Factor], Array]:
    """What fits standard parameters to a factor by penalties, as `[physical.penalty]` states it.

    It raises a RetrievalError where no parameters were found that meet all conditions.
    """

    def fitted(factor: Factor) -> Array:
        limits = RetrievalLimits(settings.bounds, settings.fixed)
        search = Search(kind=settings.search, starts=settings.starts, seed=settings.seed)
        found = retrieval(factor, base, physics, limits, search)
        failing = [label for label, margin in found.conditions.items() if margin < 0.0]
        if not found.is_met:
            raise RetrievalError(failing)
        return found.parameters

    return fitted


def penalty_problem(
    factor: Factor, base: BaseParameters, physics: Physics, limits: RetrievalLimits = _NO_LIMITS
) -> PenaltyProblem:
    """The problem of `retrieval`; arguments as there."""
    convex = problem_of(factor, base, physics)
    variables = LinkVariables.of(base.model, physics.references, convex.term_sizes)
    bounded = variables.bounded(limits.bounds)
    variables = bounded.fixed(_known(base, variables)).fixed(limits.fixed)
    _require_within(bounded, variables, limits)
    conditions: list[Condition] = triangle_condition(variables, physics.references)
    for one in convex.constraints:
        if isinstance(one, Containment):
            raise InvalidRequestError(f"{one.label}: boxes need the semidefinite fit; state an ellipsoid instead")
        if not _is_bound(one, variables):
            conditions.append(convex_condition(one, variables))
    conditions += [stated_condition(label, function, variables) for label, function in limits.conditions.items()]
    return PenaltyProblem(variables, factor.R @ base.regrouping, factor.z, tuple(conditions))


def _require_within(bounded: LinkVariables, fixed: LinkVariables, limits: RetrievalLimits) -> None:
    """Refuse values of variables that are fixed outside the bounds that users state for them."""
    for k, name in enumerate(bounded.names):
        own = [pattern for pattern in limits.bounds if fnmatch.fnmatchcase(name, pattern)]
        if own and not bounded.lower[k] <= fixed.start[k] <= bounded.upper[k]:
            raise InvalidRequestError(
                f"{name} is fixed at {fixed.start[k]:g}, outside its bounds [{bounded.lower[k]:g}, "
                f"{bounded.upper[k]:g}]; state one of them"
            )


def _is_bound(constraint: Constraint, variables: LinkVariables) -> bool:
    """Whether bounds of terms' parameters see to a constraint already, such as friction that is not negative."""
    used = np.flatnonzero(constraint.rows.any(axis=0))
    of_terms = (used >= inertia.SIZE * variables.link_count).all()
    if not of_terms or constraint.kind is not ConeKind.NONNEGATIVE:
        return False
    least = np.minimum(constraint.rows * variables.lower, constraint.rows * variables.upper).sum(axis=1)
    return bool((least + constraint.offset >= 0.0).all())


def _known(base: BaseParameters, variables: LinkVariables) -> dict[str, float]:
    """Known standard parameters that are variables by themselves: masses and terms' parameters."""
    return {name: value for name, value in base.known.items() if name in variables.names}


def factor_of_coefficients(
    base: BaseParameters, coefficients: Array | Mapping[str, float], covariance: Array | None = None
) -> Factor:
    """Coefficients that are known, as a factor: with the identity as its triangle, or weighed with their covariance.

    Args:
        base: The base parameters that they are.
        coefficients: Their values in the order of `base.names`, shape (base,); or by name.
        covariance: Their covariance, shape (base, base); when None, all count the same in SI units.

    Raises:
        UnknownNameError: If a name is none of a base parameter.
        InvalidRequestError: If one is missing or not finite, or the covariance is not positive definite.
    """
    if isinstance(coefficients, Mapping):
        unknown = next((name for name in coefficients if name not in base.names), None)
        if unknown is not None:
            raise UnknownNameError("base parameter", unknown, base.names)
        missing = next((name for name in base.names if name not in coefficients), None)
        if missing is not None:
            raise InvalidRequestError(f"no value of base parameter '{missing}'; give all {len(base)} of base.names")
        coefficients = np.array([coefficients[name] for name in base.names], dtype=float)
    b = np.asarray(coefficients, dtype=float)
    if b.shape != (len(base),) or not np.isfinite(b).all():
        raise InvalidRequestError(f"expected {len(base)} finite coefficients in the order of base.names")
    R = np.eye(len(base))
    if covariance is not None:
        C = np.asarray(covariance, dtype=float)
        if C.shape != (len(base), len(base)):
            raise InvalidRequestError(f"expected a covariance of shape {(len(base), len(base))}, not {C.shape}")
        try:
            R = np.asarray(np.linalg.inv(np.linalg.cholesky(C)), dtype=float)
        except np.linalg.LinAlgError:
            raise InvalidRequestError("the covariance of the coefficients is not positive definite") from None
    return Factor.of(base.names, R, R @ b)
