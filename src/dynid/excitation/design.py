"""The design of exciting trajectories: many starts, smooth criteria first, sharper ones then, within a time limit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.excitation.interior_point import minimise
from dynid.excitation.limits.limit import Check
from dynid.excitation.problem import ExcitationProblem
from dynid.excitation.starts import best_start
from dynid.excitation.trajectories.family import Trajectory
from dynid.model.adjoint import prepare
from dynid.threads import single_threaded_blas

POWERS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Norms of eigenvalues that stand for their extremes, one after the other."""

CANDIDATES = 30
"""Random motions that each start is chosen from."""

_ITERATIONS = 150
"""Steps of the solver at each power."""

_FINE = 1000.0
"""Limits are checked at this many samples a second, at least."""

SHORTEST = 0.5
"""Time limits [s] below this are refused: nothing could be found."""

_TO_FINISH = 0.1
"""Time [s] that is kept for checks at the end."""

_LOOKED_AT = 1000
"""Samples of the experiment at which motions are compared."""

_RANDOM_FIRST = 4
"""Number of starts that are all random."""


@dataclass(frozen=True)
class Progress:
    """How a design stands.

    Attributes:
        starts: How many starts are done.
        value: The criterion's best value so far; for the condition number its logarithm.
        seconds: Time since the beginning [s].
    """

    starts: int
    value: float
    seconds: float

    def in_words(self, criterion: str) -> str:
        """One line for people who wait."""
        best = (
            f"condition number {math.exp(self.value):.4g}"
            if criterion == "condition"
            else f"{criterion} {self.value:.4g}"
        )
        return f"{best} after {self.starts} starts and {self.seconds:.0f} s"


@dataclass(frozen=True, eq=False)
class Design:
    """An exciting trajectory, and what it does.

    Attributes:
        problem: The problem that it solves.
        trajectory: The motion.
        value: The criterion at the samples of the experiment.
        checks: What it reaches, against all limits, on a fine grid.
        starts: How many starts it is the best of.
        seconds: How long the design took [s].
        history: The best values over time.
    """

    problem: ExcitationProblem
    trajectory: Trajectory
    value: float
    checks: tuple[Check, ...]
    starts: int
    seconds: float
    history: tuple[Progress, ...]

    @property
    def keeps_limits(self) -> bool:
        """Whether all limits are kept."""
        return all(check.is_kept for check in self.checks)


def design(
    problem: ExcitationProblem,
    *,
    time_limit: float = 20.0,
    starts: int | None = None,
    seed: int = 0,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Design:
    """Find an exciting trajectory.

    The first starts begin at the best of random motions; later ones in turn there and at the best motion so far,
    disturbed. The same seed and number of starts give the same motion.

    Args:
        problem: The problem.
        time_limit: When to stop [s], with the best so far.
        starts: How many starts at most; as many as there is time for when None.
        seed: Seed of the random starts.
        progress: Is told the best value after each start.

    Raises:
        InvalidRequestError: If the time limit is too short for anything.
        NoMotionError: If the limits leave no room.
    """
    require_time(time_limit)
    warm_up(problem)
    begin = time.monotonic()

    def is_over() -> bool:
        return time.monotonic() - begin > 0.97 * time_limit - _TO_FINISH

    best: tuple[float, Array] | None = None
    history: list[Progress] = []
    with single_threaded_blas():
        while best is None or not (is_over() or len(history) == starts):
            value, x = _one_start(problem, np.random.default_rng([seed, len(history)]), best, len(history), is_over)
            if best is None or value < best[0]:
                best = (value, x)
            history.append(Progress(len(history) + 1, best[0], time.monotonic() - begin))
            progress(history[-1])
        return finished(problem, best[1], history, begin)


def require_time(time_limit: float) -> None:
    """Refuse time limits [s] in which nothing could be found, or that never end.

    Raises:
        InvalidRequestError: If it is one.
    """
    if not time_limit >= SHORTEST:
        raise InvalidRequestError(f"a time limit of {time_limit:g} s is too short; allow {SHORTEST:g} s or more")
    if math.isinf(time_limit):
        raise InvalidRequestError("a time limit must be a number of seconds, not infinity")


def warm_up(problem: ExcitationProblem) -> None:
    """Load or compile all that a design needs, which is not part of its time."""
    prepare()
    problem.at(np.zeros(sum(problem.grid.free.sizes))).objective()


def _one_start(
    problem: ExcitationProblem,
    rng: np.random.Generator,
    best: tuple[float, Array] | None,
    count: int,
    is_over: Callable[[], bool],
) -> tuple[float, Array]:
    if best is not None and count >= _RANDOM_FIRST and count % 2:
        return refined(problem, disturbed(problem, best[1], rng), POWERS[3:], is_over)
    return refined(problem, best_start(problem, CANDIDATES, rng, is_over), POWERS, is_over)


def finished(problem: ExcitationProblem, x: Array, history: Sequence[Progress], begin: float) -> Design:
    """The design of free coefficients, with all that is to be said about it; it began at a time of the clock [s]."""
    trajectory = problem.trajectory(within_limits(problem, x))
    checks = tuple(problem.checks(trajectory, fine_times(problem, trajectory)))
    value = problem.exact_value(trajectory)
    return Design(problem, trajectory, value, checks, len(history), time.monotonic() - begin, tuple(history))


def refined(
    problem: ExcitationProblem, x: Array, powers: tuple[float, ...], is_over: Callable[[], bool]
) -> tuple[float, Array]:
    """The best motion on the way from x, with its exact value: power after power, each from the last one's end."""
    best = (problem.exact_value(problem.trajectory(x), _LOOKED_AT), x)
    hessian, barrier = None, 1e-2
    if problem.criterion.smoothed(1.0) == problem.criterion:
        powers = (np.inf,)
    for power in powers:
        final = 1e-6 if power == np.inf else max(1e-6, 1e-2 / power**2)
        point = minimise(
            problem.smoothed(power),
            x,
            hessian=hessian,
            barrier=barrier,
            final_barrier=final,
            iterations=_ITERATIONS if np.isfinite(power) else 4 * _ITERATIONS,
            should_stop=is_over,
        )
        x, hessian, barrier = point.x, point.hessian, point.barrier
        best = min(best, (problem.exact_value(problem.trajectory(x), _LOOKED_AT), x), key=lambda pair: pair[0])
        if is_over():
            break
    return best


def disturbed(problem: ExcitationProblem, x: Array, rng: np.random.Generator) -> Array:
    """A motion near another, within all limits."""
    inside = 0.9 * x + 0.1 * _centre(problem, x)
    if problem.smallest_slack(inside) <= 0.0:
        inside = x
    size = 10.0 ** rng.uniform(-1.5, -0.3)
    direction = rng.normal(size=len(x)) * np.sqrt(np.mean(x**2)) * size
    for _ in range(20):
        if problem.smallest_slack(inside + direction) > 0.0:
            return inside + direction
        direction = 0.7 * direction
    return x


def _centre(problem: ExcitationProblem, x: Array) -> Array:
    """The motion's own mean posture, at rest."""
    free = problem.grid.free
    q = problem.motion(x).states[0].mean(axis=0)
    return free.reduce(free.family.rest()[:, None] * q)


def within_limits(problem: ExcitationProblem, x: Array) -> Array:
    """The motion, made smaller where it breaks a limit between the samples that the design looked at."""
    trajectory = problem.trajectory(x)
    times = fine_times(problem, trajectory)
    if all(check.is_kept for check in problem.checks(trajectory, times)):
        return x
    centre = _centre(problem, x)
    for size in 1.0 - np.geomspace(1e-3, 0.5, 30):
        smaller = centre + size * (x - centre)
        if all(check.is_kept for check in problem.checks(problem.trajectory(smaller), times)):
            return smaller
    return x


def fine_times(problem: ExcitationProblem, trajectory: Trajectory) -> Array:
    """Times [s] over one cycle, finer than the design and the experiment look."""
    rate = max(_FINE, problem.rate, 8.0 * len(problem.grid.times) / trajectory.family.cycle)
    return np.linspace(0.0, trajectory.family.cycle / trajectory.speed, int(rate * trajectory.family.cycle) + 1)
