"""Physical parameters by penalties that grow over rounds (PBPR), for conditions that need not be convex.

Round k minimises `phi(u) + xi_k * sum_i max(0, s_i - h_i(u))^2` within bounds on masses, centres of mass and inertias u
(Algorithm 1 of Pennese and Vulcano 2020, after Gaz et al. 2019), where `phi = |R pi(u) - z|^2` measures either the
distance from coefficients that are known or the error of torques, through their triangular factor. The first round has
no penalty. The shifts s_i, zero at first, grow by what a round leaves violated (the method of multipliers), so
conditions are met with finite penalties, and a small margin makes them hold exactly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from dynid.arrays import Array
from dynid.estimation.physical.link_variables import LinkVariables
from dynid.estimation.physical.penalty_conditions import Condition

SearchKind = Literal["starts", "annealing", "evolution", "hopping"]

MARGIN = 1e-6
"""By how much conditions are asked to hold, in units of their size, so that they hold despite rounding."""

EQUAL = 1e-7
"""How far conditions of equality may be off, in units of their size."""

AS_GOOD = 1e-6
"""Part of an objective by which a later start must be better to replace an earlier one, which is nearer to the file."""


@dataclass(frozen=True)
class Search:
    """How the minimum is looked for.

    Attributes:
        kind: Where least squares starts from in each round: "starts", the last round's solution; or what a global
            search of SciPy finds first: "annealing" (`dual_annealing`, as Algorithm 1), "evolution"
            (`differential_evolution`), "hopping" (`basinhopping`).
        starts: How often all rounds are run: once from the references, and then from random points of the box.
        rounds: Rounds at most; they end as soon as all conditions hold after a round with penalties.
        growth: By which factor the penalty grows from one round to the next.
        evaluations: Evaluations of the objective by the global search in each round, about.
        seed: Seed of everything random.
    """

    kind: SearchKind = "starts"
    starts: int = 4
    rounds: int = 20
    growth: float = 3.0
    evaluations: int = 5000
    seed: int = 0


@dataclass(frozen=True)
class Round:
    """One round: its penalty weight, the objective phi, and the largest violation in units of its condition's size."""

    penalty: float
    objective: float
    violation: float


@dataclass(frozen=True, eq=False)
class PenaltyProblem:
    """Squares to minimise over variables in a box, under conditions.

    Attributes:
        variables: The variables u and their bounds.
        rows: Matrix A of the squares `|A p(u) - c|^2`, shape (rows, parameters).
        target: c, shape (rows,).
        conditions: What must hold.
    """

    variables: LinkVariables
    rows: Array
    target: Array
    conditions: tuple[Condition, ...]

    @cached_property
    def equalities(self) -> Array:
        """Of each row of all conditions, whether it must be zero, shape (conditions,)."""
        sizes = [len(one.value(self.variables.start)) for one in self.conditions]
        return np.repeat(np.array([one.is_equality for one in self.conditions], dtype=bool), sizes)

    def objective(self, u: Array) -> float:
        """phi(u)."""
        return float(np.sum((self.rows @ self.variables.standard(u) - self.target) ** 2))

    def margins(self, u: Array) -> Array:
        """h(u) of all conditions, in units of their sizes, shape (conditions,)."""
        return np.concatenate([one.value(u) for one in self.conditions]) if self.conditions else np.zeros(0)

    def violations(self, u: Array) -> Array:
        """By how much conditions fail, not negative, shape (conditions,)."""
        h = self.margins(u)
        return np.where(self.equalities, np.abs(h), np.maximum(0.0, -h))

    def is_met(self, u: Array) -> bool:
        """Whether all conditions hold: inequalities exactly, equalities up to rounding."""
        return bool((self.violations(u) <= np.where(self.equalities, EQUAL, 0.0)).all())


@dataclass(frozen=True, eq=False)
class Retrieved:
    """The best variables of a problem.

    Attributes:
        problem: The problem.
        values: u, shape (parameters,).
        rounds: What each round came to, of the best start.
        objectives: phi of every start, the best one's among them; infinite where conditions were not met.
        seconds: How long it took [s].
    """

    problem: PenaltyProblem
    values: Array
    rounds: tuple[Round, ...]
    objectives: tuple[float, ...]
    seconds: float

    @property
    def is_met(self) -> bool:
        """Whether all conditions hold."""
        return self.problem.is_met(self.values)


@dataclass(frozen=True, eq=False)
class _Penalised:
    """The squares of one round as a function of the free variables x in units of their ranges, each from 0 to 1."""

    problem: PenaltyProblem
    penalty: float
    shifts: Array
    scales: Array = field(init=False)

    def __post_init__(self) -> None:
        variables = self.problem.variables
        object.__setattr__(self, "scales", (variables.upper - variables.lower)[variables.free])

    def values(self, x: Array) -> Array:
        """Variables u of x."""
        variables = self.problem.variables
        u = variables.lower.copy()
        u[variables.free] += self.scales * x
        return u

    def units(self, u: Array) -> Array:
        """The free variables x of u."""
        variables = self.problem.variables
        return np.clip((u - variables.lower)[variables.free] / self.scales, 0.0, 1.0)

    def residuals(self, x: Array) -> Array:
        """All residuals, shape (rows + conditions,)."""
        problem, u = self.problem, self.values(x)
        of_data = problem.rows @ problem.variables.standard(u) - problem.target
        return of_data if self.penalty == 0.0 else np.concatenate([of_data, np.sqrt(self.penalty) * self._missing(u)])

    def _missing(self, u: Array) -> Array:
        short = self.shifts - self.problem.margins(u)
        return np.where(self.problem.equalities, short, np.maximum(0.0, short))

    def jacobian(self, x: Array) -> Array:
        """Their derivatives by x, shape (rows + conditions, free variables)."""
        problem, u = self.problem, self.values(x)
        free = problem.variables.free
        of_data = (problem.rows @ problem.variables.jacobian(u))[:, free] * self.scales
        if self.penalty == 0.0 or not problem.conditions:
            return of_data
        slopes = np.concatenate([one.slopes(u) for one in problem.conditions])[:, free]
        active = self.problem.equalities | (self._missing(u) > 0.0)
        return np.concatenate([of_data, -np.sqrt(self.penalty) * active[:, None] * slopes * self.scales])

    def cost(self, x: Array) -> float:
        """Sum of squares."""
        return float(np.sum(self.residuals(x) ** 2))

    def gradient(self, x: Array) -> Array:
        """Gradient of the sum of squares by x, shape (free variables,)."""
        return 2.0 * self.jacobian(x).T @ self.residuals(x)


def retrieve(
    problem: PenaltyProblem, search: Search | None = None, progress: Callable[[str], None] = lambda _: None
) -> Retrieved:
    """Find the variables with the least objective that meet all conditions.

    Args:
        problem: The problem.
        search: How it is looked for.
        progress: Callback; receives a short description of each start.
    """
    search = search or Search()
    begin = time.perf_counter()
    rng = np.random.default_rng(search.seed)
    variables = problem.variables
    floor = SETTLED * 1e-6 * float(problem.target @ problem.target)
    best: tuple[float, Array, tuple[Round, ...]] | None = None
    objectives: list[float] = []
    for k in range(max(1, search.starts)):
        progress(f"Retrieving parameters, start {k + 1} of {search.starts}")
        drawn = variables.lower + rng.random(len(variables.names)) * (variables.upper - variables.lower)
        u, rounds = _run(problem, variables.start if k == 0 else drawn, search, rng)
        objective = problem.objective(u) if problem.is_met(u) else np.inf
        objectives.append(objective)
        if best is None or objective < (1.0 - AS_GOOD) * best[0] - floor or not np.isfinite(best[0]):
            best = (objective, u, rounds)
    assert best is not None
    return Retrieved(problem, best[1], best[2], tuple(objectives), time.perf_counter() - begin)


def _run(
    problem: PenaltyProblem, start: Array, search: Search, rng: np.random.Generator
) -> tuple[Array, tuple[Round, ...]]:
    """All rounds from one point: the variables of the last, and what each round came to."""
    u, rounds = start, []
    margins = np.where(problem.equalities, 0.0, MARGIN)
    shifts = margins.copy()
    for penalty in _penalties(problem, search, rounds):
        u = _minimum(_Penalised(problem, penalty, shifts), u, search, rng)
        rounds.append(Round(penalty, problem.objective(u), float(problem.violations(u).max(initial=0.0))))
        if problem.is_met(u) and (penalty == 0.0 or _has_settled(rounds)):
            break
        if penalty == 0.0:
            continue
        short = shifts - problem.margins(u)
        shifts = np.where(problem.equalities, short, np.maximum(0.0, short)) + margins
    return u, tuple(rounds)


SETTLED = 1e-6
"""Relative change of the objective between rounds below which multipliers are taken as found."""


def _has_settled(rounds: Sequence[Round]) -> bool:
    before, last = rounds[-2].objective, rounds[-1].objective
    return abs(last - before) <= SETTLED * max(abs(last), abs(before)) or last == 0.0


def _penalties(problem: PenaltyProblem, search: Search, rounds: Sequence[Round]) -> Iterator[float]:
    """The weights xi: zero, and then in proportion to the objective of the first round, growing by a factor."""
    yield 0.0
    unit = max(rounds[0].objective, 1e-6 * float(problem.target @ problem.target), np.finfo(float).tiny)
    for k in range(search.rounds - 1):
        yield 10.0 * unit * search.growth**k


def _minimum(round_: _Penalised, u: Array, search: Search, rng: np.random.Generator) -> Array:
    """The least squares of a round near u, or near what a global search finds."""
    x = round_.units(u)
    if not len(x):
        return u
    if search.kind != "starts":
        x = _global(round_, x, search, rng)
    return round_.values(_polished(round_, x))


def _polished(round_: _Penalised, x: Array, steps: int = 200) -> Array:
    """The least squares of a round near x in the unit box: Levenberg and Marquardt's steps, projected.

    Variables at a bound that the gradient presses against stay there in a step; the others take a damped Gauss-Newton
    step and are cut off at their bounds. (`scipy.optimize.least_squares` takes 10 times as long here: its steps stay
    inside the box, and the many combinations without effect on torques keep it from converging.)
    """
    r = round_.residuals(x)
    cost, damping = float(r @ r), 1e-3
    for _ in range(steps):
        D = round_.jacobian(x)
        gradient = D.T @ r
        moves = ~(((x <= 0.0) & (gradient > 0.0)) | ((x >= 1.0) & (gradient < 0.0)))
        if not moves.any():
            break
        G, g = D[:, moves].T @ D[:, moves], gradient[moves]
        sizes = np.maximum(np.diag(G), 1e-12 * float(np.diag(G).max()) + np.finfo(float).tiny)
        before = cost
        for _ in range(12):
            step = np.zeros(len(x))
            step[moves] = -np.linalg.solve(G + damping * np.diag(sizes), g)
            tried = np.clip(x + step, 0.0, 1.0)
            of_tried = round_.residuals(tried)
            if float(of_tried @ of_tried) < cost:
                x, r, cost, damping = tried, of_tried, float(of_tried @ of_tried), max(0.1 * damping, 1e-12)
                break
            damping *= 10.0
        if before - cost <= 1e-10 * before:
            break
    return x


def _global(round_: _Penalised, x: Array, search: Search, rng: np.random.Generator) -> Array:
    """The best point that one of SciPy's global searches finds from x."""
    from scipy import optimize

    bounds = [(0.0, 1.0)] * len(x)
    local = {"method": "L-BFGS-B", "jac": round_.gradient, "bounds": bounds}
    if search.kind == "annealing":
        found = optimize.dual_annealing(
            round_.cost, bounds, x0=x, rng=rng, maxfun=search.evaluations, minimizer_kwargs=local
        )
    elif search.kind == "evolution":
        generations = max(1, search.evaluations // (3 * len(x)) - 1)
        found = optimize.differential_evolution(
            round_.cost, bounds, x0=x, rng=rng, popsize=3, maxiter=generations, polish=False
        )
    else:
        hops = max(1, search.evaluations // 200)
        found = optimize.basinhopping(round_.cost, x, niter=hops, stepsize=0.1, rng=rng, minimizer_kwargs=local)
    return np.asarray(found.x if found.fun <= round_.cost(x) else x, dtype=float)
