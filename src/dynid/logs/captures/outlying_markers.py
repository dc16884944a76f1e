"""Markers that do not fit to the others in some samples: slipped, swapped, or seen where something else was."""

from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.logs.captures.first_postures import with_restarts
from dynid.logs.captures.marker_steps import PostureProblem, solved


@dataclass(frozen=True)
class MarkerOutlierThresholds:
    """From where on a marker does not count in a sample."""

    least_distance: float = 0.02
    """Distance [m] to where the others have it up to which a marker counts: skin moves that far. By judgement."""

    times_usual: float = 5.0
    """How many times its usual distance, the median over all samples, a marker must be away. By judgement."""

    most_share: float = 0.3
    """Share of the markers that are seen in a sample that may be left out: beyond it the posture is wrong, not they.
    By judgement."""


THRESHOLDS = MarkerOutlierThresholds()

ROUNDS = 6
"""Rounds in which the farthest marker of each sample is left out: two swapped ones take two."""

SWEEPS = 6
"""Times that samples with markers left out begin again from those that fit better: wrong postures leave out, too."""


def without_outliers(problem: PostureProblem, q: Array) -> tuple[PostureProblem, Array]:
    """Leave out markers that do not fit to the others, the farthest of each sample first, and find postures again."""
    distances = _distances(problem, q)
    limit = np.maximum(THRESHOLDS.least_distance, THRESHOLDS.times_usual * _usual(distances))
    found, weights = _trimmed(problem, q, limit)
    worth = _capped(problem, found, limit)
    for _ in range(SWEEPS):
        rows = np.flatnonzero((problem.weights != weights).any(axis=1))
        better = np.flatnonzero(worth < 0.5 * worth[rows].max(initial=0.0))
        if not len(rows) or not len(better):
            break
        nearest = better[np.abs(rows[:, None] - better).argmin(axis=1)]
        rows, nearest = rows[worth[nearest] < 0.5 * worth[rows]], nearest[worth[nearest] < 0.5 * worth[rows]]
        own = problem.of(rows)
        again, left = _trimmed(own, solved(own, found[nearest]), limit)
        after = _capped(own, again, limit)
        gains = after < 0.9 * worth[rows]
        if not gains.any():
            break
        found[rows[gains]], weights[rows[gains]], worth[rows[gains]] = again[gains], left[gains], after[gains]
    problem = replace(problem, weights=weights)
    return problem, with_restarts(problem, found)


def _trimmed(problem: PostureProblem, q: Array, limit: Array) -> tuple[Array, Array]:
    """Postures without the markers beyond a limit [m], shape (markers,), and the weights that are left."""
    q, weights, distances = q.copy(), problem.weights.copy(), _distances(problem, q)
    may = np.floor(THRESHOLDS.most_share * problem.is_seen.sum(axis=1)).astype(int)
    for _ in range(ROUNDS):
        excess = np.where(weights > 0.0, distances / limit, 0.0)
        left_out = (problem.is_seen & (weights == 0.0)).sum(axis=1)
        rows = np.flatnonzero((excess.max(axis=1, initial=0.0) > 1.0) & (left_out < may))
        if not len(rows):
            break
        weights[rows, excess[rows].argmax(axis=1)] = 0.0
        own = replace(problem, weights=weights).of(rows)
        q[rows] = solved(own, q[rows])
        distances[rows] = _distances(own, q[rows])
    return q, weights


def _capped(problem: PostureProblem, q: Array, limit: Array) -> Array:
    """Squares of the distances of all markers, those beyond the limit capped there [m^2], shape (samples,)."""
    squares = np.minimum(_distances(problem, q), limit) ** 2
    return np.where(problem.is_seen, squares, 0.0).sum(axis=1) + np.sum(problem.beyond(q) ** 2, axis=1) * 1e-4


def _distances(problem: PostureProblem, q: Array) -> Array:
    """Distances of the markers to where postures have them [m], shape (samples, markers)."""
    return np.concatenate(
        [np.linalg.norm(one.seen - one.tree.positions(part), axis=2) for one, part in problem.parts(q)]
    )


def _usual(distances: Array) -> Array:
    """The usual distance of each marker [m], shape (markers,)."""
    return np.median(distances, axis=0)
