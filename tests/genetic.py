"""A genetic algorithm: what both theses search with, for comparison with the design by gradients."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from dynid.arrays import Array
from dynid.excitation.design import Design, Progress, finished, warm_up
from dynid.excitation.local_search import random_posture, random_start
from dynid.excitation.problem import ExcitationProblem
from dynid.machine import single_threaded_blas

POPULATION = 200
"""Number of motions in a generation, as in the UR5 thesis."""
_ELITE = 10
_MUTATED = 0.2


def design_genetic(
    problem: ExcitationProblem,
    *,
    time_limit: float = 20.0,
    seed: int = 0,
    population: int = POPULATION,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Design:
    """Find an exciting trajectory by selection, crossover and mutation.

    Motions beyond the limits are drawn back towards a posture at rest, so all of a generation keep them.

    Args:
        problem: The problem.
        time_limit: When to stop [s].
        seed: Seed of all random choices.
        population: Number of motions in a generation.
        progress: Callback; receives the best value after each generation.
    """
    warm_up(problem)
    begin = time.monotonic()
    rng = np.random.default_rng(seed)
    history: list[Progress] = []

    def cost(x: Array) -> float:
        return problem.information.value(problem.criterion, *problem.motion(x).states, problem.weight)

    with single_threaded_blas():
        rest = random_posture(problem, rng)
        members = [random_start(problem, rng) for _ in range(population)]
        costs = np.array([cost(x) for x in members])
        while time.monotonic() - begin < 0.95 * time_limit:
            order = np.argsort(costs)
            children = [members[k] for k in order[:_ELITE]]
            while len(children) < population:
                mother, father = (members[_tournament(costs, rng)] for _ in range(2))
                children.append(_kept_inside(problem, rest, _child(mother, father, rng)))
            members = children
            costs = np.array([*costs[order[:_ELITE]], *(cost(x) for x in members[_ELITE:])])
            history.append(Progress(len(history) + 1, float(costs.min()), time.monotonic() - begin))
            progress(history[-1])
        return finished(problem, members[int(np.argmin(costs))], history, begin)


def _tournament(costs: Array, rng: np.random.Generator) -> int:
    """The better of a few members drawn at random."""
    drawn = rng.integers(len(costs), size=3)
    return int(drawn[np.argmin(costs[drawn])])


def _child(mother: Array, father: Array, rng: np.random.Generator) -> Array:
    """Coefficients between or a little beyond the parents', some of them changed at random."""
    child = mother + rng.uniform(-0.25, 1.25, len(mother)) * (father - mother)
    mutated = rng.random(len(child)) < _MUTATED
    return child + mutated * rng.normal(size=len(child)) * 10.0 ** rng.uniform(-3, 0) * np.sqrt(np.mean(mother**2))


def _kept_inside(problem: ExcitationProblem, rest: Array, x: Array) -> Array:
    """The motion, drawn towards a posture at rest until it keeps all limits."""
    for part in (1.0, 0.95, 0.85, 0.7, 0.5, 0.25):
        inside = rest + part * (x - rest)
        if problem.smallest_slack(inside) > 0.0:
            return inside
    return rest + 0.1 * (x - rest) if problem.smallest_slack(rest + 0.1 * (x - rest)) > 0.0 else rest
