"""What markers show: how far noise turns each joint, and which joints no marker shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dynid.arrays import Array
from dynid.logs.captures.marker_steps import PostureProblem

UNSEEN = 200.0
"""Standard deviation of a joint [rad] per standard deviation of markers [m] from which on they do not show it: noise of
1 mm would turn it by 0.2 rad."""

UNSEEN_SHARE = 0.5
"""Share of the samples from which on a joint that they do not show is held in all of them."""

TRIED = 120
"""Samples, spread over the capture, that decide which joints are held."""

NOTHING = 1e-9
"""Part of the mean weight of markers that is added so that what they do not show has a large, finite spread."""


def spreads(problem: PostureProblem, q: Array) -> Array:
    """Standard deviation of each motion [rad or m] per that of a marker's coordinates [m], shape (samples, nv).

    Motions that are not free have none.
    """
    return np.concatenate([_spread(one, part) for one, part in problem.parts(q)])


def _spread(problem: PostureProblem, q: Array) -> Array:
    _, H, _ = problem.tree.normal_equations(q, problem.seen, problem.weights)
    free = np.flatnonzero(problem.free)
    H = H[:, free[:, None], free]
    size = np.sqrt(problem.scale[free])
    scaled = H / np.outer(size, size) + NOTHING * np.eye(len(free))
    found = np.zeros((len(q), len(problem.free)))
    found[:, free] = np.sqrt(np.diagonal(np.linalg.inv(scaled), axis1=1, axis2=2)) / size
    return found


def with_unseen_held(problem: PostureProblem, q: Array) -> tuple[PostureProblem, Array]:
    """Hold joints that markers hardly ever show at their neutral position, the least seen one first.

    The base is never held: where no joint is left to hold, its samples are not seen.
    """
    rows = np.unique(np.linspace(0, len(q) - 1, min(TRIED, len(q))).astype(int))
    robot, free, q = problem.tree.robot, problem.free.copy(), q.copy()
    axes = [joint.v.start for joint in robot.axes]
    for _ in axes:
        found = spreads(replace(problem, free=free).of(rows), q[rows])[:, axes]
        share, size = np.mean(found > UNSEEN, axis=0), np.median(found, axis=0)
        candidates = np.flatnonzero(share > UNSEEN_SHARE)
        if not len(candidates):
            break
        # Of joints that one marker shows together, the one nearest to it is held: its axis is nearest to the marker.
        worst = max(candidates.tolist(), key=lambda k: (round(float(np.log(size[k])), 1), k))
        free[axes[worst]] = False
        joint = robot.axes[worst]
        q[:, joint.q] = np.clip(robot.neutral[joint.q], joint.limits.lower, joint.limits.upper)
    return replace(problem, free=free), q


def marker_std(problem: PostureProblem, residuals: Array) -> float:
    """Standard deviation of a marker's coordinates [m] by the residuals of all that count."""
    counts = problem.weights > 0.0
    freedom = 3 * np.count_nonzero(counts) - len(residuals) * np.count_nonzero(problem.free)
    squares = float(np.sum(residuals[counts] ** 2))
    return float(np.sqrt(squares / max(freedom, 1)))
