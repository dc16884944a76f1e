"""Static postures that determine the gravity parameters best: masses and centres of mass, from torques at rest.

A set of N postures is a motion of a family of its own: its samples are the postures, its coefficients their positions,
and velocities are zero. So the criteria, their exact gradients, the solver and all limits of exciting trajectories are
those of postures, too. The search starts at the best of many random postures by exchange, for the determinant of the
information, and moves all of them together from there.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dynid.arrays import Array, Indices, frozen
from dynid.errors import InvalidRequestError
from dynid.estimation import Factors
from dynid.excitation.criteria import parse_criterion
from dynid.excitation.design import Progress
from dynid.excitation.information import Information, value_of, variances
from dynid.excitation.interior_point import minimise
from dynid.excitation.limits.stated import posture_of
from dynid.excitation.local_search import NORM_POWERS
from dynid.excitation.motion import FreeCoefficients, Grid
from dynid.excitation.problem import ExcitationProblem
from dynid.excitation.settings import ExcitationSettings
from dynid.excitation.stated_problem import measured_information, moving_of, scales_of
from dynid.excitation.trajectories.family import Family
from dynid.excitation.ways import allowed_postures, are_clear, hub_of
from dynid.machine import single_threaded_blas
from dynid.model import BaseParameters, DynamicModel, Observed, known_base, known_of, matches

_STARTS = 4
"""Sets of postures that are refined, where nothing else is asked for."""

_MOST_CANDIDATES = 2000
"""Random postures that a set is chosen from, at most."""

_NUMBERS_AT_A_TIME = 4e6
"""Numbers of the candidates' regressors that are in memory, at most."""

_AROUND = 400
"""The same where all must have a way to one hub."""

_SWEEPS = 6
"""How often each posture is offered for exchange."""

_SMALLEST_GAIN = 1e-6
"""Gains of the logarithm of the determinant below this are no reason for an exchange."""

_RANDOM_SETS = 50
"""Random sets of postures that the chosen ones are compared with."""

_STEPS = 150
"""Steps of the solver at each power."""


@dataclass(frozen=True)
class StandingStill(Family):
    """Postures, one after the other: the coefficients of a joint are its positions, and nothing moves.

    Attributes:
        count: Number of postures.
        hold: How long torques are measured at each of them [s].
        periods: How often.
    """

    name: ClassVar[str] = "postures"
    meaning: ClassVar[str] = "positions in the postures"
    derivatives: ClassVar[int] = 1

    count: int
    hold: float
    periods: int = 1

    @property
    def more_room(self) -> str:
        """Nothing moves, so nothing can be missing."""
        return ""

    @property
    def size(self) -> int:
        """One position for each posture."""
        return self.count

    @property
    def swings(self) -> float:
        """None."""
        return 0.0

    @property
    def cycle(self) -> float:
        """How long torques are measured in all [s]."""
        return self.count * self.hold

    def basis(self, times: Array, derivative: int = 0) -> Array:
        """One for the posture that a time falls into, zero for all others and for derivatives."""
        which = np.clip((np.asarray(times) / self.hold + 1e-9).astype(int), 0, self.count - 1)
        return np.eye(self.count)[which] if derivative == 0 else np.zeros((len(which), self.count))

    def rest(self) -> Array:
        """The same posture over and over."""
        return np.ones(self.count)

    def reach(self, samples: int, derivative: int = 0) -> float:
        """One: there is nothing between samples."""
        return 1.0

    def samples(self, wanted: int) -> int:
        """One for each posture."""
        return self.count


def gravity_parameters(model: DynamicModel, known_values: Mapping[str, float]) -> BaseParameters:
    """The base parameters that torques at rest determine: masses, first moments, and terms that act at rest.

    Raises:
        InvalidRequestError: If there is none.
    """
    still = DynamicModel(model.robot, model.terms, Observed.GRAVITY)
    base = known_base(still, known_of(still, known_values))
    if not len(base):
        raise InvalidRequestError(
            f"no parameter of '{model.robot.name}' is identifiable from torques at rest: gravity acts on no joint, or "
            "all is known; design a motion instead (leave out --postures)"
        )
    return base


def posture_problem(
    problem: ExcitationProblem,
    settings: ExcitationSettings,
    base: BaseParameters,
    measured: Information,
    clear: Array,
) -> ExcitationProblem:
    """The problem of choosing postures, with the limits of a problem of motions.

    Args:
        problem: The problem of motions.
        settings: Number of postures, hold and criterion.
        base: The gravity parameters.
        measured: Their information, rows weighed, with what is known of them already.
        clear: Distance from the ends of ranges [rad or m] that is kept free for approaching, shape (joints,).
    """
    assert settings.postures is not None
    robot = base.model.robot
    family = StandingStill(settings.postures, settings.hold * (2.0 if settings.both_sides else 1.0))
    free = _free(family, posture_of(settings, robot), moving_of(settings, robot))
    half = np.full_like(problem.bounds.half, math.inf)
    half[0] = problem.bounds.half[0] - clear / (1.0 - settings.margin)
    found = replace(
        problem,
        grid=Grid.of(free, family.count),
        information=measured,
        criterion=parse_criterion(settings.posture_criterion),
        bounds=replace(problem.bounds, half=frozen(half), factor=np.full(4, 1.0 - settings.margin)),
    )
    scales = _scales(found, settings)
    return replace(found, information=replace(measured, scales=scales, known=measured.known * scales))


def _scales(problem: ExcitationProblem, settings: ExcitationSettings) -> Array:
    """What columns are multiplied with: what settings state, or else the standard deviations from random postures.

    With these the trace is the sum of variances relative to those of random postures, whatever the parameters' units.
    """
    base = problem.information.base
    if settings.scale != "none" or settings.prior_std:
        stds = {pattern: std for pattern, std in settings.prior_std.items() if matches(pattern, base.names)}
        return scales_of(settings.model_copy(update={"prior_std": stds}), base)
    drawn = random_matrices(problem, np.random.default_rng(0))
    usual = np.sqrt(np.median([variances(M) for M in drawn], axis=0))
    return np.where(np.isfinite(usual) & (usual > 0.0), usual, 1.0)


def _free(family: StandingStill, posture: Sequence[float | None], moving: Sequence[bool] | None) -> FreeCoefficients:
    """All positions, but those of the first posture that are stated; a joint that does not move has one for all."""
    fixed, directions = np.zeros((family.count, len(posture))), []
    for j, position in enumerate(posture):
        part = np.eye(family.count)
        if moving is not None and not moving[j]:
            part = np.ones((family.count, 1)) if position is None else np.zeros((family.count, 0))
            fixed[:, j] = position or 0.0
        elif position is not None:
            part, fixed[0, j] = part[:, 1:], position
        directions.append(frozen(part))
    return FreeCoefficients(family, frozen(fixed), tuple(directions))


def known_of_gravity(whole: Information, base: BaseParameters) -> Array:
    """What is known of the gravity parameters from logs, as a factor whose rows are in units of noise.

    Torques at rest are those of a motion that stands still, so the gravity parameters are linear combinations `T b` of
    the base parameters b of motions, whose covariance is that of `whole.known`.

    Args:
        whole: Information of the base parameters of motions.
        base: The gravity parameters.

    Returns:
        Array of shape (k, gravity parameters), with k zero where nothing is known.
    """
    if not len(whole.known):
        return np.zeros((0, len(base)))
    T = np.linalg.lstsq(whole.base.regrouping.T, base.regrouping.T, rcond=None)[0].T
    R = whole.known
    M = R.T @ R
    floor = 1e-12 * np.diag(M).max()  # directions that nothing is known of stay without weight
    covariance = T @ np.linalg.inv(M + floor * np.eye(len(M))) @ T.T
    values, U = np.linalg.eigh(covariance)
    return np.asarray((U / np.sqrt(np.maximum(values, 1e-300))).T)


@dataclass(frozen=True, eq=False)
class Choice:
    """Postures, chosen.

    Attributes:
        problem: What they were chosen for.
        positions: The postures [rad or m], shape (postures, joints).
        matrix: Their information with what was known before, columns scaled, shape (base, base).
        value: The criterion of that.
        of_random: Variances of the gravity parameters over those of as many random postures (median of 50 sets), shape
            (base,).
        worst_of_random: The same for the combination of parameters, in units of their scales, that is determined worst.
        starts: How many sets were refined.
        seconds: How long it took [s].
    """

    problem: ExcitationProblem
    positions: Array
    matrix: Array
    value: float
    of_random: Array
    worst_of_random: float
    starts: int
    seconds: float

    def only(self, kept: Indices) -> Choice:
        """Some of the postures, by index."""
        if len(kept) == len(self.positions):
            return self
        q = self.positions[kept]
        none = np.zeros_like(q)
        M = self.problem.information.matrix(q, none, none, self.problem.weight)
        return replace(
            self,
            positions=q,
            matrix=M,
            value=value_of(self.problem.criterion, M),
            of_random=self.of_random * variances(M) / variances(self.matrix),
            worst_of_random=self.worst_of_random * worst_variance(M) / worst_variance(self.matrix),
        )


def choose_postures(
    problem: ExcitationProblem,
    *,
    time_limit: float = 20.0,
    starts: int | None = None,
    seed: int = 0,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Choice:
    """Choose the postures that minimise the criterion of a posture problem.

    Args:
        problem: The problem, as `posture_problem` states it.
        time_limit: When to stop [s], with the best so far.
        starts: How many sets of candidates are drawn, exchanged and refined, at most.
        seed: Seed of the candidates.
        progress: Callback; receives the best value after each start.

    Raises:
        NoMotionError: If no posture is within the limits.
    """
    begin = time.monotonic()

    def is_over() -> bool:
        return time.monotonic() - begin > time_limit

    best: tuple[float, Array] | None = None
    count = 0
    with single_threaded_blas():
        while best is None or not (is_over() or count == (starts or _STARTS)):
            pool = random_postures(problem, _pool_size(problem), np.random.default_rng([seed, count]))
            found = refined_postures(problem, exchanged(problem, pool), is_over)
            best = found if best is None or found[0] < best[0] else best
            count += 1
            passed = time.monotonic() - begin
            progress(Progress(count, best[0], passed, max(time_limit - passed, 0.0)))
        return _chosen(problem, problem.motion(best[1]).states[0], count, seed, begin)


def _chosen(problem: ExcitationProblem, positions: Array, starts: int, seed: int, begin: float) -> Choice:
    """Postures with all that is to be said of them; the search began at a time of the clock [s]."""
    none = np.zeros_like(positions)
    M = problem.information.matrix(positions, none, none, problem.weight)
    drawn = random_matrices(problem, np.random.default_rng([seed, 10**6]))
    of_random = variances(M) / np.median([variances(one) for one in drawn], axis=0)
    worst = worst_variance(M) / float(np.median([worst_variance(one) for one in drawn]))
    value = value_of(problem.criterion, M)
    return Choice(problem, positions, M, value, of_random, worst, starts, time.monotonic() - begin)


def choose_around(problem: ExcitationProblem, roomy: ExcitationProblem, seed: int = 0) -> tuple[Choice, Array]:
    """Postures that all have a straight way to one hub, for robots whose limits leave few ways; and the hub, (joints,).

    Args:
        problem: The problem, as `posture_problem` states it.
        roomy: The problem of motions, whose limits the ways keep.
        seed: Seed of the candidates.
    """
    begin = time.monotonic()
    with single_threaded_blas():
        pool = random_postures(problem, _AROUND, np.random.default_rng([seed, 2]))
        hub, seen = hub_of(roomy, pool)
        first = exchanged(problem, seen)
        q = problem.motion(refined_postures(problem, first)[1]).states[0]
        still_seen = are_clear(roomy, np.broadcast_to(hub, q.shape), q)
        return _chosen(problem, np.where(still_seen[:, None], q, first), 1, seed, begin), hub


def _pool_size(problem: ExcitationProblem) -> int:
    """How many candidates there are memory and time for."""
    base = problem.information.base
    return int(np.clip(_NUMBERS_AT_A_TIME / (len(base) * base.model.robot.nv), 100, _MOST_CANDIDATES))


def random_postures(problem: ExcitationProblem, count: int, rng: np.random.Generator) -> Array:
    """Random postures within all limits, shape (count, joints); joints that do not move have one position for all.

    Raises:
        NoMotionError: If hardly any posture is within the limits.
    """
    free, bounds = problem.grid.free, problem.bounds
    anywhere = bounds.middle[0] + rng.uniform(-0.6, 0.6, len(bounds.names)) * bounds.room[0]
    fixed = {
        j: float(anywhere[j] if part.shape[1] else free.fixed[0, j])
        for j, part in enumerate(free.directions)
        if _is_shared(part)
    }
    return allowed_postures(problem, count, rng, fixed)


def _is_shared(directions: Array) -> bool:
    """Whether a joint has one position in all postures."""
    return bool(directions.shape[1] <= 1 and (directions == 1.0).all())


def exchanged(problem: ExcitationProblem, pool: Array) -> Array:
    """The postures of a pool with the largest determinant of information, by exchange of one at a time (Fedorov).

    Args:
        problem: The problem; what is known counts.
        pool: Candidates, shape (candidates, joints).

    Returns:
        Postures, shape (postures, joints); positions of the first that are stated are kept.
    """
    free, information = problem.grid.free, problem.information
    count = free.family.size
    pinned = [j for j, part in enumerate(free.directions) if not part[0].any()]
    first = pool[:1].copy()
    first[:, pinned] = free.fixed[0, pinned]
    rows = _rows(information, pool, problem.weight)
    own = _rows(information, first, problem.weight)[0] if pinned else np.zeros((0, rows.shape[2]))
    M = own.T @ own + information.known.T @ information.known
    M += 1e-9 * max(float(np.einsum("cij,cij->", rows, rows)) / len(rows), 1e-200) * np.eye(len(M))
    chosen: list[int] = []
    for _ in range(count - bool(pinned)):
        chosen.append(int(np.argmax(_gains(M, rows))))
        M = M + rows[chosen[-1]].T @ rows[chosen[-1]]
    for _ in range(_SWEEPS):
        before = list(chosen)
        for k, old in enumerate(before):
            without = M - rows[old].T @ rows[old]
            gains = _gains(without, rows)
            new = int(np.argmax(gains))
            if gains[new] > gains[old] + _SMALLEST_GAIN:
                chosen[k], M = new, without + rows[new].T @ rows[new]
        if chosen == before:
            break
    return np.concatenate([first[: bool(pinned)], pool[chosen]])


def _rows(information: Information, q: Array, weight: float) -> Array:
    """Weighted rows of the regressor at postures, without joints that gravity never acts on, (postures, rows, base)."""
    none = np.zeros_like(q)
    W = information.regressor(q, none, none) * math.sqrt(weight)
    acting = np.abs(W).max(axis=(1, 2)) > 0.0
    return np.ascontiguousarray(W[acting].transpose(1, 0, 2))


def _gains(M: Array, rows: Array) -> Array:
    """How much each candidate raises the logarithm of the determinant of M, shape (candidates,)."""
    L = np.linalg.cholesky(np.linalg.inv(M))
    A = rows @ L
    return np.linalg.slogdet(np.eye(rows.shape[1]) + A @ A.transpose(0, 2, 1))[1]


def refined_postures(
    problem: ExcitationProblem, positions: Array, is_over: Callable[[], bool] = lambda: False
) -> tuple[float, Array]:
    """The best value on the way from postures along exact gradients, and its free coefficients, shape (free,)."""
    x = problem.grid.free.reduce(positions)
    powers = (np.inf,) if problem.criterion.smoothed(1.0) == problem.criterion else NORM_POWERS
    best = (_value(problem, x), x)
    hessian, barrier = None, 1e-2
    for power in powers:
        final = 1e-6 if power == np.inf else max(1e-6, 1e-2 / power**2)
        options = {"hessian": hessian, "barrier": barrier, "final_barrier": final, "iterations": _STEPS}
        point = minimise(problem.smoothed(power), x, should_stop=is_over, **options)
        x, hessian, barrier = point.x, point.hessian, point.barrier
        best = min(best, (_value(problem, x), x), key=lambda pair: pair[0])
        if is_over():
            break
    return best


def _value(problem: ExcitationProblem, x: Array) -> float:
    return problem.information.value(problem.criterion, *problem.motion(x).states, problem.weight)


def random_matrices(problem: ExcitationProblem, rng: np.random.Generator, sets: int = _RANDOM_SETS) -> Array:
    """Information of as many random postures, in several sets, with what is known, shape (sets, base, base)."""
    count = problem.grid.free.family.size
    pool = random_postures(problem, min(sets * count, 4 * _pool_size(problem)), rng)
    rows = _rows(problem.information, pool, problem.weight)
    known = problem.information.known.T @ problem.information.known
    drawn = np.arange(sets * count).reshape(sets, count)
    if len(pool) < sets * count:
        drawn = rng.integers(len(pool), size=(sets, count))
    parts = (rows[which].reshape(-1, rows.shape[2]) for which in drawn)
    return np.array([known + part.T @ part for part in parts])


def worst_variance(M: Array) -> float:
    """The largest variance of any combination of scaled parameters with coefficients of length one."""
    smallest = float(np.linalg.eigvalsh(M)[0])
    return 1.0 / smallest if smallest > 0.0 else math.inf


def known_gravity(
    noise: Sequence[float], whole: BaseParameters, base: BaseParameters, known: Sequence[Factors]
) -> Information:
    """The information of torques at rest with noise [N m or N] of each joint, and of logs that exist."""
    factor = known_of_gravity(measured_information(noise, whole, known), base)
    return replace(measured_information(noise, base, ()), known=factor)
