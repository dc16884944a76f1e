"""The order of postures: a walk whose moves excite what the postures leave uncertain.

Moves between all pairs of postures are looked at. From each posture the walk goes to one that is still to be visited,
by the move that adds most information in its time; where no straight move leads to any, along the quickest way through
postures that it knows. Time that is left is spent on the moves that add most.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Indices
from dynid.excitation.balance.standing_choice import Remainder
from dynid.excitation.balance.standing_limits import StandingLimits
from dynid.excitation.balance.standing_motion import StandingMotion
from dynid.excitation.balance.standing_moves import THRESHOLDS, fastest_rates, moves_between, on_the_way
from dynid.excitation.balance.wrench_information import WrenchInformation

_FEW_SAMPLES = 12
"""Samples of all moves that are looked at."""

_SAMPLES = 60
"""Samples of those that keep all limits there."""

_INFORMING = 8
"""Samples of a move that stand for what it says."""

_FINE_RATE = 250.0
"""Rate [Hz] at which the chosen moves are timed."""

_ROUNDS = 3
"""How often the time of a move is corrected, at most."""


@dataclass(frozen=True, eq=False)
class Roadmap:
    """Postures and the moves between them.

    Attributes:
        q: The postures, that at home first, shape (postures, nq).
        stops: How many of them, from the second on, are to be visited; the others are only passed.
        pairs: Both ends of each move, shape (moves, 2).
        times: How long each takes [s], shape (moves,).
        rows: What each says, shape (moves, rows, base).
    """

    q: Array
    stops: int
    pairs: Indices
    times: Array
    rows: Array

    @cached_property
    def _graph(self) -> Array:
        """Times [s] between postures, infinite without a move, shape (postures, postures)."""
        found = np.full((len(self.q), len(self.q)), np.inf)
        found[self.pairs[:, 0], self.pairs[:, 1]] = found[self.pairs[:, 1], self.pairs[:, 0]] = self.times
        return found

    @cached_property
    def _shortest(self) -> tuple[Array, Indices]:
        """The quickest ways: times, and the posture before the last of each, both of shape (postures, postures)."""
        from scipy.sparse.csgraph import shortest_path

        dense = np.where(np.isfinite(self._graph), self._graph, 0.0)
        times, before = shortest_path(dense, directed=False, return_predecessors=True)
        return np.asarray(times), np.asarray(before)

    @property
    def reached(self) -> list[int]:
        """The stops that can be reached from home."""
        return [k for k in range(1, self.stops + 1) if np.isfinite(self._shortest[0][0, k])]

    def time(self, here: int, there: int) -> float:
        """The time [s] of the quickest way between two postures."""
        return float(self._shortest[0][here, there])

    def way(self, here: int, there: int) -> list[int]:
        """The postures of the quickest way from one to another, that one left out."""
        found = [there]
        while (before := int(self._shortest[1][here, found[0]])) != here:
            found.insert(0, before)
        return found

    def moves_from(self, here: int) -> tuple[Indices, Indices]:
        """The moves from a posture, and where they lead."""
        which = np.flatnonzero((self.pairs == here).any(axis=1))
        return which, self.pairs[which].sum(axis=1) - here

    def plain_rows(self, moves: Indices, rate: float) -> Array:
        """What single samples of moves say, six rows each, shape (samples, 6, base).

        Args:
            moves: Indices of the moves.
            rate: Sampling rate [Hz] that their rows stand for.
        """
        weights = np.sqrt(rate * self.times[moves] / _INFORMING)
        return (self.rows[moves] / weights[:, None, None]).reshape(-1, 6, self.rows.shape[2])

    def without_moves(self, pairs: Iterable[tuple[int, int]]) -> Roadmap:
        """The same without moves between some postures."""
        kept = np.ones(len(self.times), dtype=bool)
        kept[[self.move(*pair) for pair in pairs]] = False
        return Roadmap(self.q, self.stops, self.pairs[kept], self.times[kept], self.rows[kept])

    def ends_at(self, motion: StandingMotion, times: Sequence[float]) -> set[tuple[int, int]]:
        """Both ends, ascending, of the moves of a motion at times [s]."""
        found = set()
        for piece in motion.pieces_at(np.array(times)):
            both = [int(np.argmin(np.abs(self.q - q).max(axis=1))) for q in (motion.starts[piece], motion.ends[piece])]
            if both[0] != both[1]:
                found.add((min(both), max(both)))
        return found

    def move(self, here: int, there: int) -> int:
        """The index of the move between two postures."""
        return int(np.flatnonzero((self.pairs == sorted((here, there))).all(axis=1))[0])


def roadmap_of(
    limits: StandingLimits, information: WrenchInformation, home: Array, stops: Array, passed: Array, rate: float
) -> Roadmap:
    """All straight moves between postures that keep the limits.

    Args:
        limits: The limits.
        information: What moves say of parameters.
        home: Where the robot starts and ends, shape (nq,).
        stops: Postures that are to be visited, shape (stops, nq).
        passed: Others that ways may lead through, shape (others, nq).
        rate: Sampling rate of the experiment [Hz].
    """
    q = np.concatenate([home[None], stops, passed])
    pairs = np.array(list(itertools.combinations(range(len(q)), 2)))
    good = np.arange(len(pairs))
    for samples in (_FEW_SAMPLES, _SAMPLES):  # most moves are ruled out by few
        moves = moves_between(limits, q[pairs[good, 0]], q[pairs[good, 1]], samples)
        kept = np.flatnonzero(np.isfinite(moves.times))
        good, times = good[kept], moves.times[kept]
    some = np.linspace(1, _SAMPLES - 2, _INFORMING).round().astype(int)
    which = (kept[:, None] * _SAMPLES + some).ravel()
    lasts = np.repeat(times, _INFORMING)[:, None]
    rows = information.rows(moves.states.q[which], moves.states.v[which] / lasts, moves.states.a[which] / lasts**2)
    rows *= np.sqrt(rate * lasts[:, :, None] / _INFORMING)
    width = rows.shape[2]
    return Roadmap(q, len(stops), pairs[good], times, rows.reshape(len(good), 6 * _INFORMING, width))


def walk(roadmap: Roadmap, covariance: Array, hold: float, duration: float | None) -> list[int]:
    """The postures in the order of visits, from home to home.

    Args:
        roadmap: The postures and moves.
        covariance: What the postures leave uncertain, shape (base, base).
        hold: How long the robot rests at each stop [s].
        duration: How long all may take [s]; as long as it takes once through all when None.
    """
    left = Remainder.of(roadmap.rows, covariance)
    order, to_visit, spent = [0], set(roadmap.reached), 0.0
    most = np.inf if duration is None else duration
    while to_visit:
        way = _next_stops(roadmap, left, order[-1], to_visit, hold)
        cost = sum(roadmap.time(a, b) for a, b in itertools.pairwise([order[-1], *way])) + hold
        if spent + cost + roadmap.time(way[-1], 0) > most:
            break
        spent += cost
        for a, b in itertools.pairwise([order[-1], *way]):
            left = left.plus(roadmap.rows[roadmap.move(a, b)])
        order += way
        to_visit -= set(way)
    while duration is not None:
        which, there = roadmap.moves_from(order[-1])
        back = np.array([roadmap.time(int(k), 0) for k in there])
        fits = spent + roadmap.times[which] + back <= duration
        if not fits.any():
            break
        gains = left.gains()[which] / roadmap.times[which]
        best = int(np.argmax(np.where(fits, gains, -np.inf)))
        spent += float(roadmap.times[which[best]])
        left = left.plus(roadmap.rows[which[best]])
        order.append(int(there[best]))
    return order + (roadmap.way(order[-1], 0) if order[-1] != 0 else [])


def _next_stops(roadmap: Roadmap, left: Remainder, here: int, to_visit: set[int], hold: float) -> list[int]:
    """The way to the next stop."""
    which, there = roadmap.moves_from(here)
    fresh = np.isin(there, list(to_visit))
    if not fresh.any():
        nearest = min(to_visit, key=lambda k: (roadmap.time(here, k), k))
        return roadmap.way(here, nearest)
    gains = left.gains()[which] / (roadmap.times[which] + hold)
    return [int(there[int(np.argmax(np.where(fresh, gains, -np.inf)))])]


def fine_times(limits: StandingLimits, q: Array, order: Sequence[int]) -> dict[tuple[int, int], float]:
    """The shortest times [s] of the moves of a walk within all limits at many samples, by both ends, ascending.

    A time is infinite where a move breaks a limit between the samples of the design, however slow it is.
    """
    pairs = {(min(pair), max(pair)) for pair in itertools.pairwise(order)}
    return {(a, b): _fine_time(limits, q[a], q[b]) for a, b in sorted(pairs)}


def motion_of(
    limits: StandingLimits,
    q: Array,
    order: Sequence[int],
    times: Mapping[tuple[int, int], float],
    hold: float,
    stops: int,
) -> StandingMotion:
    """The motion that visits postures in an order.

    Args:
        limits: The limits.
        q: The postures, that at home first, shape (postures, nq).
        order: Indices in the order of visits.
        times: How long each move takes [s], as `fine_times` finds them.
        hold: How long the robot rests at home and at each stop when it first comes there [s].
        stops: How many postures, from the second on, are stops.
    """
    starts, ends, lasts, seen = [q[order[0]]], [q[order[0]]], [hold], {0}
    for a, b in itertools.pairwise(order):
        starts.append(q[a])
        ends.append(q[b])
        lasts.append(times[min(a, b), max(a, b)])
        if b <= stops and b not in seen:
            seen.add(b)
            starts.append(q[b])
            ends.append(q[b])
            lasts.append(hold)
    begins = np.concatenate([[0.0], np.cumsum(lasts)])
    return StandingMotion(limits.legs, begins, np.array(starts), np.array(ends))


def _fine_time(limits: StandingLimits, begin: Array, end: Array) -> float:
    """The shortest time [s] of a move; infinite where there is none."""
    time = THRESHOLDS.shortest
    for _ in range(_ROUNDS):
        count = max(int(time * _FINE_RATE), _SAMPLES)
        u: Array = (np.arange(count, dtype=np.float64) + 1.0) / (count + 1.0)
        states = on_the_way(limits.legs, np.tile(begin, (count, 1)), np.tile(end, (count, 1)), u)
        rate = float(fastest_rates(limits, states).min()) * THRESHOLDS.speed_part
        in_range = limits.range_slack(states.q).min() >= 0.0
        if not (states.reached.all() and in_range) or rate * 2.0 * THRESHOLDS.longest < 1.0:
            return np.inf
        if 1.0 / rate <= time * 1.2:
            return max(time, 1.0 / rate)
        time = 1.0 / rate
    return time
