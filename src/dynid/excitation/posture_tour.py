"""The order in which postures are visited, and the ways between them: short, straight where limits allow, else around.

The order is a round trip of short travel time: nearest neighbours first, then 2-opt and moves of short sections.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dynid.arrays import Array, Indices
from dynid.excitation.problem import ExcitationProblem
from dynid.excitation.trajectories.itinerary import Itinerary, Rest
from dynid.excitation.trajectories.moves import MovesSmoothly
from dynid.excitation.ways import kept_way, path_times, standing_slacks

_SHORTER_APPROACHES = 4
"""How often the distance of an approach is halved where a limit is near."""

_LONGEST_SECTION = 3
"""Postures of the sections that are moved to another place of the order, at most."""


@dataclass(frozen=True, eq=False)
class Tour:
    """A round trip through postures.

    Attributes:
        motion: All of it, from the first posture back to it.
        order: The indices of the postures as they are visited, shape (postures,).
        holds: Begin and end of the times of standing still at each of them [s], in the order of visits, shape
            (postures, sides, 2).
        travelling: How long the robot moves between postures [s].
        approaching: How long it moves beside them, to come to each from both sides [s].
        around: Number of ways that are not straight.
    """

    motion: Itinerary
    order: Indices
    holds: Array
    travelling: float
    approaching: float
    around: int


def tour_of(
    problem: ExcitationProblem,
    positions: Array,
    paths: Sequence[Sequence[Array]],
    hold: float,
    sides: Array | None,
) -> Tour:
    """Visit postures, beginning and ending at the first.

    Args:
        problem: The problem of motions, whose limits the ways keep.
        positions: The postures [rad or m], shape (postures, joints).
        paths: For each pair the postures on the way from one to the other, as `paths_between` finds them.
        hold: How long the robot stands still at each [s].
        sides: Where each posture is approached from both sides, how far from it each approach begins [rad or m], shape
            (joints,); None where it is approached once.
    """
    order = round_trip(path_times(paths, problem.bounds))
    pieces: list[MovesSmoothly] = []
    rests: list[list[int]] = []
    approaching = 0.0
    legs = [paths[a][b] for a, b in pairwise([*order.tolist(), 0])] if len(order) > 1 else [positions[:1]]
    for k, leg in zip(order, legs, strict=True):
        visit = _visit(problem, positions[k], hold, sides)
        rests.append([len(pieces) + n for n, piece in enumerate(visit) if isinstance(piece, Rest)])
        approaching += sum(piece.duration for piece in visit if not isinstance(piece, Rest))
        pieces += visit
        pieces += [kept_way(problem, begin, end) for begin, end in pairwise(leg)]
    motion = Itinerary(tuple(pieces))
    holds = np.array([[motion.begins[[k, k + 1]] for k in of_stop] for of_stop in rests])
    travelling = motion.duration - motion.resting - approaching
    return Tour(motion, order, holds, travelling, approaching, sum(len(leg) > 2 for leg in legs))


def _visit(problem: ExcitationProblem, stop: Array, hold: float, sides: Array | None) -> list[MovesSmoothly]:
    """The pieces of one visit.

    From both sides: the joints go down and come back up to the posture, then up and back down to it; less far where a
    limit is near.
    """
    rest = Rest(stop, hold)
    if sides is None:
        return [rest]
    for _ in range(_SHORTER_APPROACHES):
        if standing_slacks(problem, np.array([stop - sides, stop + sides])).min() > 0.0:
            break
        sides = 0.5 * sides
    ways = [(kept_way(problem, stop, there), kept_way(problem, there, stop)) for there in (stop - sides, stop + sides)]
    return [*ways[0], rest, *ways[1], rest]


def round_trip(times: Array) -> Indices:
    """A short round trip through all places, beginning at the first: nearest neighbours, made shorter until none is.

    Two ways are exchanged for two others (2-opt), and sections of up to three places are moved elsewhere, either way
    round. It is a local optimum, not always the shortest.

    Args:
        times: Travel times, symmetric, shape (places, places).

    Returns:
        The indices in order, shape (places,).

    >>> round_trip(np.abs(np.subtract.outer([0.0, 2.0, 1.0, 3.0], [0.0, 2.0, 1.0, 3.0]))).tolist()
    [0, 2, 1, 3]
    """
    order = [0]
    left = set(range(1, len(times)))
    while left:
        order.append(min(left, key=lambda k: (times[order[-1], k], k)))
        left.remove(order[-1])
    while True:
        better = _shorter_by_reversal(times, order) or _shorter_by_moving(times, order)
        if better is None:
            return np.roll(order, -order.index(0))
        order = better


def _shorter_by_reversal(times: Array, order: list[int]) -> list[int] | None:
    """The order with the section reversed that gains most; None where none gains."""
    n = len(order)
    if n < 4:
        return None
    here, after = np.array(order), np.roll(order, -1)
    now = times[here, after]
    gains = now[:, None] + now[None] - times[np.ix_(here, here)] - times[np.ix_(after, after)]
    gains = np.triu(gains, 2)
    i, k = np.unravel_index(int(np.argmax(gains)), gains.shape)
    if gains[i, k] <= 1e-12 * max(float(times.max()), 1e-300):
        return None
    return [*order[: i + 1], *order[i + 1 : k + 1][::-1], *order[k + 1 :]]


def _shorter_by_moving(times: Array, order: list[int]) -> list[int] | None:
    """The order with a short section moved to the place where it gains most; None where none gains."""
    n = len(order)
    best, found = 1e-12 * max(float(times.max()), 1e-300), None
    for length in range(1, min(_LONGEST_SECTION, n - 3) + 1):
        for i in range(n):
            turned = order[i:] + order[:i]
            section, rest = turned[:length], turned[length:]
            first, last = section[0], section[-1]
            freed = times[rest[-1], first] + times[last, rest[0]] - times[rest[-1], rest[0]]
            here, after = np.array(rest[:-1]), np.array(rest[1:])
            for one, other, piece in ((first, last, section), (last, first, section[::-1])):
                gains = freed - (times[here, one] + times[other, after] - times[here, after])
                k = int(np.argmax(gains))
                if gains[k] > best:
                    best, found = float(gains[k]), [*rest[: k + 1], *piece, *rest[k + 1 :]]
    return found
