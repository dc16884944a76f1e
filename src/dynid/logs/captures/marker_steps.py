"""Postures from markers: Levenberg's and Marquardt's steps for all samples at once, and what markers show of them.

Each sample has its own damping. A joint beyond its limits is pulled back by a spring: markers that show it there all
the same win, and a wrap of angles that would fit as well does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.logs.captures.marker_tree import MarkerTree
from dynid.model import moved

SAMPLES = 512
"""Samples that steps are made of together: their arrays stay in the cache of a processor."""

MOST_STEPS = 60
"""Steps for a sample: from the neutral posture some ten are enough."""

SMALL_STEP = 1e-11
"""Step [m, rad] from which on a posture is exact: rounding of positions in a room is 1e-15."""

NEAR_STEP = 1e-6
"""Step [m, rad] from which on it may be the last one where it gains nothing: a thousandth of the noise of cameras."""

SMALL_GAIN = 1e-9
"""Share of the cost by which a step must lower it, else the posture is as good as it becomes."""

LARGEST_DAMPING = 1e3
"""Damping beyond which steps are no steps: nothing that is nearer was found."""

LIMIT_STIFFNESS = 0.05
"""Error of a marker [m] that a joint one radian beyond its limit counts as much as."""

LEVER = 0.2
"""Distance [m] of a marker from an axis, as it is in people: damping counts angles in it."""

FIRST_DAMPING = 1e-3
"""Damping of the first step, in the mean weight of a sample's markers; it grows where a step fails, and fades."""

LEAST_DAMPING = 1e-9
"""Damping that is always there: motions that no marker shows stay as they are."""

LONGEST_TURN = 1.0
"""Longest turn of a joint in one step [rad]: beyond it a linear model of a rotation is none."""


UNSEEN = 200.0
"""Standard deviation of a joint [rad] per standard deviation of markers [m] from which on they do not show it: noise of
1 mm would turn it by 0.2 rad."""

UNSEEN_SHARE = 0.5
"""Share of the samples from which on a joint that they do not show is held in all of them."""

TRIED = 120
"""Samples, spread over the capture, that decide which joints are held."""

NOTHING = 1e-9
"""Part of the mean weight of markers that is added so that what they do not show has a large, finite spread."""


@dataclass(frozen=True, eq=False)
class PostureProblem:
    """Markers that were seen, and which motions may answer them.

    Attributes:
        tree: The markers on the robot.
        seen: Where they were [m], shape (samples, markers, 3).
        weights: Their weights, zero where one was not seen, shape (samples, markers).
        free: Which motions are free, shape (nv,).
        is_seen: Which markers were seen, also those that do not count, shape (samples, markers).
    """

    tree: MarkerTree
    seen: Array
    weights: Array
    free: NDArray[np.bool_]
    is_seen: NDArray[np.bool_]

    @cached_property
    def limits(self) -> tuple[Array, Array]:
        """Limits of positions by columns of motions, shape (nv,); infinite where there are none."""
        robot = self.tree.robot
        lower, upper = np.full(robot.nv, -np.inf), np.full(robot.nv, np.inf)
        for joint in robot.axes:
            if joint.limits.lower < joint.limits.upper:
                lower[joint.v], upper[joint.v] = joint.limits.lower, joint.limits.upper
        return lower, upper

    @cached_property
    def columns(self) -> tuple[list[int], list[int]]:
        """Columns of joints of one axis among positions and among motions."""
        axes = self.tree.robot.axes
        return [joint.q.start for joint in axes], [joint.v.start for joint in axes]

    @cached_property
    def scale(self) -> Array:
        """Squared lever of each motion [m^2] in its own unit: 1 of shifts, that of `LEVER` of turns, shape (nv,)."""
        found = np.full(self.tree.robot.nv, LEVER**2)
        for joint in self.tree.robot.independent_joints:
            linear = np.any(joint.subspace[:3] != 0.0, axis=0)
            found[joint.v] = np.where(linear, 1.0, LEVER**2)
        return found

    def of(self, rows: np.ndarray | slice) -> PostureProblem:
        """The problem of some samples."""
        return replace(self, seen=self.seen[rows], weights=self.weights[rows], is_seen=self.is_seen[rows])

    def beyond(self, q: Array) -> Array:
        """How far joints are beyond their limits, signed [rad or m], shape (samples, nv)."""
        found = np.zeros((len(q), self.tree.robot.nv))
        of_q, of_v = self.columns
        lower, upper = (limit[of_v] for limit in self.limits)
        found[:, of_v] = q[:, of_q] - np.clip(q[:, of_q], lower, upper)
        return found

    def cost(self, errors: Array, q: Array) -> Array:
        """Half the weighted squares of the errors of markers, and of limits [m^2], shape (samples,)."""
        squares = np.where(self.weights > 0.0, self.weights * np.sum(errors**2, axis=2), 0.0)
        return 0.5 * squares.sum(axis=1) + 0.5 * LIMIT_STIFFNESS**2 * np.sum(self.beyond(q) ** 2, axis=1)

    def costs(self, q: Array) -> Array:
        """The cost of postures, shape (samples,)."""
        return np.concatenate([one.cost(one.seen - one.tree.positions(part), part) for one, part in self.parts(q)])

    def equations(self, q: Array) -> tuple[Array, Array, Array]:
        """Errors, matrices and right-hand sides with the springs of limits; motions that are not free stay."""
        errors, H, g = self.tree.normal_equations(q, self.seen, self.weights)
        beyond = self.beyond(q)
        diagonal = np.arange(H.shape[1])
        H[:, diagonal, diagonal] += LIMIT_STIFFNESS**2 * (beyond != 0.0)
        g -= LIMIT_STIFFNESS**2 * beyond
        held = ~self.free
        H[:, held], H[:, :, held], g[:, held] = 0.0, 0.0, 0.0
        H[:, held, held] = self.scale[held]
        return errors, H, g

    def parts(self, q: Array) -> Iterator[tuple[PostureProblem, Array]]:
        """Parts of the samples, each with its postures."""
        for first in range(0, len(q), SAMPLES):
            rows = slice(first, first + SAMPLES)
            yield self.of(rows), q[rows]


def solved(problem: PostureProblem, q: Array, most: int = MOST_STEPS) -> Array:
    """Postures in which the markers are as near as possible to where they were seen, shape (samples, nq).

    Args:
        problem: The problem.
        q: Postures to begin with, shape (samples, nq).
        most: Steps after which a sample is left as it is.
    """
    q, active, damping = q.copy(), np.arange(len(q)), np.full(len(q), FIRST_DAMPING)
    for _ in range(most):
        goes_on = np.zeros(len(active), dtype=bool)
        for first in range(0, len(active), SAMPLES):
            part = active[first : first + SAMPLES]
            goes_on[first : first + SAMPLES] = _stepped(problem.of(part), q, damping, part)
        active = active[goes_on]
        if not len(active):
            break
    return q


def _stepped(problem: PostureProblem, q: Array, damping: Array, rows: np.ndarray) -> NDArray[np.bool_]:
    """Make a step of some samples in place; which of them need more, shape (rows,)."""
    errors, H, g = problem.equations(q[rows])
    cost = problem.cost(errors, q[rows])
    step = _step(problem, H, g, damping[rows])
    tried = moved(problem.tree.robot, q[rows], step)
    after = problem.cost(problem.seen - problem.tree.positions(tried), tried)
    better = after <= cost
    q[rows[better]] = tried[better]
    damping[rows] = np.where(better, 0.1 * damping[rows], 10.0 * np.maximum(damping[rows], 1e-6))
    size = np.abs(step * np.sqrt(problem.scale)).max(axis=1, initial=0.0)
    is_done = better & ((cost - after <= SMALL_GAIN * cost) & (size < NEAR_STEP) | (size < SMALL_STEP))
    return ~(is_done | (damping[rows] > LARGEST_DAMPING))


def _step(problem: PostureProblem, H: Array, g: Array, damping: Array) -> Array:
    """Damped steps, shape (samples, nv), none of which turns a joint too far."""
    mean = problem.weights.sum(axis=1) / max(problem.weights.shape[1], 1)
    added = (damping + LEAST_DAMPING) * np.where(mean > 0.0, mean, 1.0)
    diagonal = np.arange(H.shape[1])
    H[:, diagonal, diagonal] += added[:, None] * problem.scale
    step = np.linalg.solve(H, g[:, :, None])[:, :, 0]
    turn = np.abs(step * (problem.scale != 1.0)).max(axis=1, initial=0.0)
    return step * np.minimum(1.0, LONGEST_TURN / np.maximum(turn, 1e-300))[:, None]


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
