"""Physical parameters by penalties that grow over rounds (PBPR), for conditions that need not be convex.

Round k minimises `phi(u) + xi_k * sum_i max(0, s_i - h_i(u))^2` within bounds on masses, centres of mass and inertias u
(Algorithm 1 of Pennese and Vulcano 2020, after Gaz et al. 2019), where `phi = |R pi(u) - z|^2` measures either the
distance from coefficients that are known or the error of torques, through their triangular factor. The first round has
no penalty. The shifts s_i, zero at first, grow by what a round leaves violated (the method of multipliers), so
conditions are met with finite penalties, and xi grows only where a round does not halve the violation: with penalties
alone they would have to grow without bound, and steps would become tiny. A small margin makes conditions hold exactly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from dynid.arrays import Array, Flags
from dynid.estimation.physical.link_variables import LinkVariables
from dynid.estimation.physical.penalty_conditions import Condition

SearchKind = Literal["starts", "annealing", "evolution", "hopping"]

CONDITION_MARGIN = 1e-6
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
        growth: By which factor the penalty grows where a round did not halve the violation.
        evaluations: Evaluations of the objective by the global search in each round, about.
        seed: Seed of everything random.
    """

    kind: SearchKind = "starts"
    starts: int = 4
    rounds: int = 30
    growth: float = 3.0
    evaluations: int = 2000
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
    def equalities(self) -> Flags:
        """Of each row of all conditions, whether it must be zero, shape (conditions,)."""
        sizes = [len(one.labels) for one in self.conditions]
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
    floor = 1e-12 * float(problem.target @ problem.target)
    best: tuple[float, Array, tuple[Round, ...]] | None = None
    objectives, unit = list[float](), 0.0
    for k in range(max(1, search.starts)):
        progress(f"Retrieving parameters, start {k + 1} of {search.starts}")
        drawn = variables.lower + rng.random(len(variables.names)) * (variables.upper - variables.lower)
        first = 0.0 if k == 0 else _first_penalty(problem, unit)
        u, rounds = _run(problem, variables.start if k == 0 else drawn, search, rng, first)
        unit = rounds[0].objective if k == 0 else unit
        objective = problem.objective(u) if problem.is_met(u) else np.inf
        objectives.append(objective)
        if best is None or objective < (1.0 - AS_GOOD) * best[0] - floor or not np.isfinite(best[0]):
            best = (objective, u, rounds)
    assert best is not None
    return Retrieved(problem, best[1], best[2], tuple(objectives), time.perf_counter() - begin)


def _run(
    problem: PenaltyProblem, start: Array, search: Search, rng: np.random.Generator, penalty: float = 0.0
) -> tuple[Array, tuple[Round, ...]]:
    """All rounds from one point: the variables of the last, and what each round came to.

    Rounds from random points begin with a penalty: the round without would lead all of them to the same place. They are
    moved a little before each round, so that none ends on a saddle between two ways to meet a condition.
    """
    ranges, is_random = problem.variables.upper - problem.variables.lower, penalty > 0.0
    u, rounds = start, list[Round]()
    margins = np.where(problem.equalities, 0.0, CONDITION_MARGIN)
    shifts = margins.copy()
    for _ in range(search.rounds):
        if is_random and len(rounds) < SHAKEN_ROUNDS:
            shaken = u + SHAKEN * ranges * rng.normal(size=len(u))
            u = np.clip(shaken, problem.variables.lower, problem.variables.upper)
        u = _minimum(_Penalised(problem, penalty, shifts), u, search, rng)
        rounds.append(Round(penalty, problem.objective(u), float(problem.violations(u).max(initial=0.0))))
        mended = _mended(problem, u)
        if problem.is_met(mended) and (penalty == 0.0 or _has_settled(rounds)):
            return mended, tuple(rounds)
        if penalty == 0.0:
            penalty = _first_penalty(problem, rounds[0].objective)
            continue
        short = shifts - problem.margins(u)
        shifts = np.where(problem.equalities, short, np.maximum(0.0, short))
        if len(rounds) > 1 and rounds[-1].violation > SLOWEST * rounds[-2].violation:
            penalty *= search.growth
            shifts /= search.growth  # multipliers, penalty times shift, stay as they are
        shifts += margins
    return _mended(problem, u), tuple(rounds)


SHAKEN, SHAKEN_ROUNDS = 1e-3, 8
"""How far variables are moved before each of the first rounds from random points, in ranges of these."""

FIRST_PENALTY = 1000.0
"""Weight of the first penalty, in objectives of the round without: 3 % of a condition's size then cost as much as all
errors. Smaller ones lead to the same parameters in more rounds (Panda: 10 to 1000)."""

SMALLEST_UNIT = 1e-6
"""Least objective that penalties are weighed with, as a part of the squares of what is fitted: exact data have none."""

SLOWEST = 0.5
"""Part of the violation of the round before above which the penalty grows."""

SETTLED = 1e-3
"""Relative change of the objective between rounds below which multipliers are taken as found."""

NEARLY = 1e-4
"""Violation, in units of a condition's size, below which variables are moved to where the condition holds."""


def _first_penalty(problem: PenaltyProblem, objective: float) -> float:
    """The first weight that is not zero, after a round without that came to an objective."""
    return FIRST_PENALTY * max(objective, SMALLEST_UNIT * float(problem.target @ problem.target))


def _mended(problem: PenaltyProblem, u: Array) -> Array:
    """The variables, moved to where nearly met conditions hold, where that is known how."""
    if problem.violations(u).max(initial=0.0) > NEARLY:
        return u
    moved = u
    for one in problem.conditions:
        moved = moved if one.mended is None else one.mended(moved, 0.5 * CONDITION_MARGIN)
    return np.clip(moved, problem.variables.lower, problem.variables.upper)


def _has_settled(rounds: Sequence[Round]) -> bool:
    if len(rounds) < 2:
        return False
    before, last = rounds[-2].objective, rounds[-1].objective
    return abs(last - before) <= SETTLED * max(abs(last), abs(before)) or last == 0.0


def _minimum(round_: _Penalised, u: Array, search: Search, rng: np.random.Generator) -> Array:
    """The least squares of a round near u, or near what a global search finds."""
    x = round_.units(u)
    if not len(x):
        return u
    if search.kind != "starts":
        x = _global(round_, x, search, rng)
    return round_.values(_polished(round_, x))


def _polished(round_: _Penalised, x: Array, steps: int = 200) -> Array:
    """The least squares of a round near x in the unit box, by Levenberg and Marquardt's steps within the box.

    (`scipy.optimize.least_squares` takes 10 times as long here: its steps stay inside the box, and the many
    combinations without effect on torques keep it from converging.)
    """
    r = round_.residuals(x)
    cost, damping = float(r @ r), 1e-3
    for _ in range(steps):
        D = round_.jacobian(x)
        G, g, before = D.T @ D, D.T @ r, cost
        sizes = np.maximum(np.diag(G), 1e-9 * float(np.diag(G).max()) + np.finfo(float).tiny)
        while damping < LARGEST_DAMPING:
            tried = _boxed_step(G + damping * np.diag(sizes), g, x)
            of_tried = round_.residuals(tried)
            if float(of_tried @ of_tried) < cost:
                x, r, cost, damping = tried, of_tried, float(of_tried @ of_tried), max(0.1 * damping, 1e-9)
                break
            damping *= 10.0
        if before - cost <= CONVERGED * before:
            break
    return x


LARGEST_DAMPING = 1e9
"""Damping at which steps are too short to matter."""

CONVERGED = 1e-8
"""Relative decrease of squares in a step, below which a round ends."""


def _boxed_step(H: Array, g: Array, x: Array) -> Array:
    """About the minimum of g's + s'Hs/2 with x + s in the unit box: variables that leave it are put on its border."""
    tried = x.copy()
    free = ~(((x <= 0.0) & (g > 0.0)) | ((x >= 1.0) & (g < 0.0)))
    for _ in range(10):
        held = g[free] + H[np.ix_(free, ~free)] @ (tried - x)[~free]
        tried[free] = x[free] - np.linalg.solve(H[np.ix_(free, free)], held)
        outside = free & ((tried < 0.0) | (tried > 1.0))
        tried = np.clip(tried, 0.0, 1.0)
        if not outside.any():
            break
        free &= ~outside
    return tried


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
