"""Static postures chosen by exchange and gradients, by a genetic search over quantised postures, and at random.

Run with `python -m benchmarks.static_postures [ROBOT ...]`. Robots: the LWR 4, the UR5, the Panda, and lift and arm of
TIAGo (of `example-robot-data`, a package for development). Noise is the same for all joints.

The genetic search is that of the Figaro thesis (chapter 1.4.2): positions of joints are quantised over their ranges,
and sets of postures are selected, crossed and mutated. It minimises the condition number of the gravity regressor, as
there, or the criterion of `dynid excite --postures`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import dynid
from benchmarks.trajectory_families import tiago
from dynid.arrays import Array
from dynid.excitation.criteria import parse_criterion
from dynid.excitation.exciting_motion import Excitation
from dynid.excitation.information import condition_number, value_of, variances
from dynid.excitation.posture_study import PostureStudy
from dynid.excitation.postures import exchanged, random_matrices, random_postures, worst_variance
from dynid.excitation.problem import ExcitationProblem
from dynid.excitation.ways import standing_slacks
from dynid.machine import single_threaded_blas
from dynid.robot import Robot

COUNT = 20
"""Postures of a set."""

ROBOTS: dict[str, Callable[[], Robot]] = {
    "lwr4": lambda: dynid.load_robot("builtin:lwr4"),
    "ur5": lambda: dynid.load_robot("builtin:ur5"),
    "panda": lambda: dynid.load_robot("builtin:panda"),
    "tiago": tiago,
}

LEVELS = 8
"""Positions of each joint, equally distributed over its range."""
POPULATION = 100
PATIENCE = 300
"""Generations without a better set, after which the search ends."""
_ELITE = 5
_MUTATED = 0.02


def genetic_postures(problem: ExcitationProblem, *, time_limit: float, seed: int = 0) -> tuple[Array, int]:
    """The best set of quantised postures by selection, crossover and mutation.

    Args:
        problem: The posture problem, with its criterion.
        time_limit: When to stop [s].
        seed: Seed of all random choices.

    Returns:
        Postures [rad or m], shape (postures, joints), and the number of generations.
    """
    rng = np.random.default_rng(seed)
    begin = time.monotonic()
    bounds, count = problem.bounds, problem.grid.free.family.size
    grid = bounds.middle[0] + np.linspace(-0.999, 0.999, LEVELS)[:, None] * np.minimum(bounds.room[0], np.pi)
    joints = np.arange(grid.shape[1])

    def costs(members: NDArray[np.int64]) -> Array:
        q = grid[members.reshape(-1, len(joints)), joints]
        none = np.zeros_like(q)
        W = problem.information.regressor(q, none, none)  # (rows, postures of all, base)
        rows = W.transpose(1, 0, 2).reshape(len(members), -1, W.shape[2])
        return np.array([value_of(problem.criterion, problem.weight * one.T @ one) for one in rows])

    def allowed(members: NDArray[np.int64], instead: NDArray[np.int64]) -> NDArray[np.int64]:
        q = grid[members.reshape(-1, len(joints)), joints]
        kept = (standing_slacks(problem, q) > 0.0).reshape(*members.shape[:2], 1)
        return np.where(kept, members, instead)

    drawn = rng.integers(LEVELS, size=(50 * POPULATION, len(joints)))
    pool = drawn[standing_slacks(problem, grid[drawn, joints]) > 0.0]
    members = pool[rng.integers(len(pool), size=(POPULATION, count))]
    values = costs(members)
    best, waited, generations = values.min(), 0, 0
    while waited < PATIENCE and time.monotonic() - begin < time_limit:
        generations += 1
        order = np.argsort(values)
        parents = [np.min(rng.integers(POPULATION, size=(3, POPULATION)), axis=0) for _ in range(2)]  # tournaments
        mother, father = (members[order[which]] for which in parents)
        children = np.where(rng.random((POPULATION, count, 1)) < 0.5, mother, father)
        mutated = np.where(rng.random(children.shape) < _MUTATED, rng.integers(LEVELS, size=children.shape), children)
        children = allowed(mutated, children)
        children[:_ELITE] = members[order[:_ELITE]]
        members, values = children, costs(children)
        waited = 0 if values.min() < best - 1e-9 else waited + 1
        best = min(best, values.min())
    return grid[members[int(np.argmin(values))], joints], generations


def lower_bound(problem: ExcitationProblem, M: Array, rng: np.random.Generator) -> float:
    """What the sum of variances of any postures is at least, relative to that of an information M.

    The sum is convex in M, so its slope bounds it: `2 - N max tr(W M^-2 W^T) / tr(M^-1)` over 20,000 postures.
    """
    q = random_postures(problem, 20_000, rng)
    none = np.zeros_like(q)
    W = problem.information.regressor(q, none, none)
    inverse = np.linalg.inv(M)
    steepest = problem.weight * np.einsum("rsp,pk,rsk->s", W, inverse @ inverse, W, optimize=True).max()
    return 2.0 - problem.grid.free.family.size * steepest / float(np.trace(inverse))


def table(name: str) -> None:
    """Print the lines of one robot."""
    found = dynid.excite(ROBOTS[name](), postures=COUNT, noise=1.0, collisions=False)
    study = found.study
    assert isinstance(study, PostureStudy)
    problem = study.choice.problem
    random = random_matrices(problem, np.random.default_rng(11))
    usual = np.median([variances(M) for M in random], axis=0)
    worst = np.median([worst_variance(M) for M in random])
    condition = np.median([condition_number(_unscaled(problem, M)) for M in random])

    def line(how: str, q: Array, seconds: float) -> None:
        none = np.zeros_like(q)
        M = problem.information.matrix(q, none, none, problem.weight)
        ratios = variances(M) / usual
        numbers = f"{ratios.mean():.2f} | {ratios.max():.2f} | {worst_variance(M) / worst:.2f}"
        print(f"| {name} | {how} | {numbers} | {condition_number(_unscaled(problem, M)):.3g} | {seconds:.1f} s |")

    print(f"| {name} ({len(study.expectations)}) | random, median of 50 | 1 | 1 | 1 | {condition:.3g} | |")
    for criterion in ("condition", "trace"):
        begin = time.monotonic()
        other = replace(problem, criterion=parse_criterion(criterion))
        q, generations = genetic_postures(other, time_limit=60.0)
        line(f"genetic, {criterion}, {generations} generations", q, time.monotonic() - begin)
    begin = time.monotonic()
    q = exchanged(problem, random_postures(problem, 2000, np.random.default_rng(0)))
    line("exchange", q, time.monotonic() - begin)
    line(f"exchange and gradients, {study.choice.starts} starts", study.choice.positions, study.choice.seconds)
    bound = lower_bound(problem, study.choice.matrix, np.random.default_rng(12))
    print(f"| {name} | no postures give less than | {bound * study.choice.of_random.mean():.2f} | | | | |")
    _motions(name, found, study)


def _unscaled(problem: ExcitationProblem, M: Array) -> Array:
    return M / np.outer(problem.information.scales, problem.information.scales)


def _motions(name: str, found: Excitation, study: PostureStudy) -> None:
    """Print what the motions between postures add, and what both sides cost."""
    both = dynid.excite(found.robot, postures=COUNT, noise=1.0, collisions=False, both_sides=True, starts=1)
    excited = sum(one.is_excited for one in found.expectations)
    MOTIONS.append(
        f"| {name} | {found.duration:.1f} s | {study.tour.travelling:.1f} s | {len(study.expectations)} | "
        f"{excited} of {len(found.expectations)} | {found.condition_number:.3g} | "
        f"+ {both.to_dict()['postures']['seconds_of_both_sides']:.1f} s |"
    )


MOTIONS: list[str] = []


def main() -> None:
    """Print both tables."""
    print("| robot (parameters) | postures | variances, mean | largest | worst combination | condition number | time |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with single_threaded_blas():
        for name in sys.argv[1:] or ROBOTS:
            table(name)
    print("\n| robot | whole motion | moving | from postures | with the motions | condition number | both sides |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(MOTIONS))


if __name__ == "__main__":
    main()
