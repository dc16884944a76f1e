"""The design of exciting trajectories: many starts within a time limit, and the check of the best on a fine grid."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.excitation.information import value_of
from dynid.excitation.limits.limit import Check
from dynid.excitation.local_search import NORM_POWERS, best_start, centre, disturbed, refined
from dynid.excitation.problem import ExcitationProblem, experiment_times
from dynid.excitation.trajectories.family import ParametricTrajectory
from dynid.excitation.trajectories.itinerary import Itinerary
from dynid.machine import single_threaded_blas
from dynid.model import prepare

RANDOM_CANDIDATES = 30
"""Random motions that each start is chosen from."""

SHORTEST_TIME_LIMIT = 0.5
"""Time limits [s] below this are refused: nothing could be found."""

_TIMED_SHARE = 4
"""One of so many samples is looked at to estimate how long all will take."""

_SHOWN_EVERY = 1.0
"""Time [s] between two calls of the progress callback, at least."""

_RANDOM_FIRST = 4
"""Number of starts that are all random."""

SLOWER_SPEEDS = (10, 50)
"""Slower runs [%] that are written, too, for a careful first try."""

_SLOWER_STEP = 4
"""Slower runs are checked at one of so many postures of the path."""

_FINE_RATE = 1000.0
"""Limits are checked at this sampling rate [Hz], at least."""


@dataclass(frozen=True)
class Progress:
    """How a design stands.

    Attributes:
        starts: How many starts are done.
        value: The criterion's best value so far, for the condition number its logarithm; None before the first start
            is done.
        seconds: Time since the beginning [s].
        remaining: Time that is left at most [s].
    """

    starts: int
    value: float | None
    seconds: float
    remaining: float = 0.0

    def in_words(self, criterion: str) -> str:
        """One line for people who wait."""
        left = f"at most {math.ceil(self.remaining)} s left"
        if self.value is None:
            return f"Designing, first start, {left}"
        is_condition = criterion == "condition"
        best = f"condition number {math.exp(self.value):.4g}" if is_condition else f"{criterion} {self.value:.4g}"
        return f"Designing, {best} after {self.starts} start{'' if self.starts == 1 else 's'}, {left}"


@dataclass(frozen=True, eq=False)
class Design:
    """An exciting trajectory, and what it does.

    Attributes:
        problem: The problem that it solves.
        trajectory: The motion.
        matrix: The information of the experiment's samples and of what was known before, shape (base, base).
        value: The criterion of that.
        checks: What it reaches, against all limits, on a fine grid; and what it breaks when run more slowly.
        starts: How many starts it is the best of.
        seconds: How long the design took [s].
        history: The best values over time.
    """

    problem: ExcitationProblem
    trajectory: ParametricTrajectory | Itinerary
    matrix: Array
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
        progress: Callback; receives the best value after each start, and about once a second.

    Raises:
        InvalidRequestError: If the time limit is too short for anything.
        NoMotionError: If the limits leave no room.
    """
    require_time(time_limit)
    warm_up(problem)
    begin = time.monotonic()
    to_finish = time_to_finish(problem)

    best: tuple[float, Array] | None = None
    history: list[Progress] = []
    shown = begin

    def now() -> Progress:
        passed = time.monotonic() - begin
        return Progress(len(history), None if best is None else best[0], passed, max(time_limit - passed, 0.0))

    def is_over() -> bool:
        nonlocal shown
        if time.monotonic() - shown > _SHOWN_EVERY:
            shown = time.monotonic()
            progress(now())
        return time.monotonic() - begin > 0.97 * time_limit - to_finish

    with single_threaded_blas():
        while best is None or not (is_over() or len(history) == starts):
            value, x = _one_start(problem, np.random.default_rng([seed, len(history)]), best, len(history), is_over)
            if best is None or value < best[0]:
                best = (value, x)
            history.append(replace(now(), starts=len(history) + 1))
            progress(history[-1])
        return finished(problem, best[1], history, begin)


def require_time(time_limit: float) -> None:
    """Refuse time limits [s] in which nothing could be found, or that never end.

    Raises:
        InvalidRequestError: If it is one.
    """
    if not time_limit >= SHORTEST_TIME_LIMIT:
        raise InvalidRequestError(
            f"a time limit of {time_limit:g} s is too short; allow {SHORTEST_TIME_LIMIT:g} s or more"
        )
    if math.isinf(time_limit):
        raise InvalidRequestError("a time limit must be a number of seconds, not infinity")


def warm_up(problem: ExcitationProblem) -> None:
    """Load or compile all that a design needs, which is not part of its time."""
    prepare()
    point = problem.at(np.zeros(sum(problem.grid.free.sizes)))
    point.objective()
    point.barrier()


def time_to_finish(problem: ExcitationProblem) -> float:
    """How long `finished` and the step of the solver before it will take [s]; some limits may be looked at again."""
    x = np.zeros(sum(problem.grid.free.sizes))
    rest = problem.trajectory(x)
    times = experiment_times(rest, problem.rate)
    begin = time.monotonic()
    problem.at(x).objective()
    one_step = time.monotonic() - begin
    tries = []
    for _ in range(2):  # the first may be slowed down by others
        begin = time.monotonic()
        fine_checks(problem, rest, _TIMED_SHARE)
        problem.exact_matrix(rest, max(len(times) // _TIMED_SHARE, 1))
        tries.append(time.monotonic() - begin)
    return 0.05 + 2.0 * one_step + 1.5 * _TIMED_SHARE * min(tries)


def _one_start(
    problem: ExcitationProblem,
    rng: np.random.Generator,
    best: tuple[float, Array] | None,
    count: int,
    is_over: Callable[[], bool],
) -> tuple[float, Array]:
    if best is not None and count >= _RANDOM_FIRST and count % 2:
        return refined(problem, disturbed(problem, best[1], rng), NORM_POWERS[3:], is_over)
    return refined(problem, best_start(problem, RANDOM_CANDIDATES, rng, is_over), NORM_POWERS, is_over)


def finished(problem: ExcitationProblem, x: Array, history: Sequence[Progress], begin: float) -> Design:
    """The design of free coefficients, with all that is to be said about it; it began at a time of the clock [s]."""
    trajectory, checks = within_limits(problem, x)
    M = problem.exact_matrix(trajectory)
    value = value_of(problem.criterion, M)
    return Design(problem, trajectory, M, value, checks, len(history), time.monotonic() - begin, tuple(history))


def within_limits(problem: ExcitationProblem, x: Array) -> tuple[ParametricTrajectory, tuple[Check, ...]]:
    """The motion, made smaller where it breaks a limit between the samples that the design looked at.

    Returns:
        The motion and what it reaches, as `fine_checks`.
    """
    first = trajectory, checks = _checked(problem, x)
    if all(check.is_kept for check in checks):
        return first
    middle = centre(problem, x)
    for size in 1.0 - np.geomspace(1e-3, 0.5, 30):
        trajectory, checks = _checked(problem, middle + size * (x - middle))
        if all(check.is_kept for check in checks):
            return trajectory, checks
    return first


def _checked(problem: ExcitationProblem, x: Array) -> tuple[ParametricTrajectory, tuple[Check, ...]]:
    trajectory = problem.trajectory(x)
    return trajectory, fine_checks(problem, trajectory)


def fine_checks(
    problem: ExcitationProblem, trajectory: ParametricTrajectory | Itinerary, every: int = 1
) -> tuple[Check, ...]:
    """What a motion reaches, against all limits, on a fine grid; and what it breaks at the slower speeds.

    Args:
        problem: The problem.
        trajectory: The motion.
        every: Only one of so many samples is looked at.
    """
    times = fine_times(problem, trajectory)[::every]
    some = times[::_SLOWER_STEP]
    slow = [check for percent in SLOWER_SPEEDS for check in problem.slow_checks(trajectory, some, percent)]
    return (*problem.checks(trajectory, times), *slow)


def fine_times(problem: ExcitationProblem, trajectory: ParametricTrajectory | Itinerary) -> Array:
    """Times [s] over one cycle, finer than the design and the experiment look."""
    if isinstance(trajectory, Itinerary):
        return trajectory.moving_times(max(_FINE_RATE, problem.rate), rests=problem.counts_rests)
    rate = max(_FINE_RATE, problem.rate, 8.0 * len(problem.grid.times) / trajectory.family.cycle)
    return np.linspace(0.0, trajectory.family.cycle / trajectory.speed, int(rate * trajectory.family.cycle) + 1)
