"""The design problem: a criterion to be minimised over trajectories within limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Indices
from dynid.excitation.criteria import Criterion
from dynid.excitation.information import Information, value_of
from dynid.excitation.interior_point import NEAR_LIMIT, barrier, barrier_curvatures, barrier_slopes
from dynid.excitation.limits.joint_bounds import JointBounds
from dynid.excitation.limits.limit import Check, Limit
from dynid.excitation.motion import Grid, Motion
from dynid.excitation.trajectories.family import ParametricTrajectory
from dynid.excitation.trajectories.itinerary import Itinerary
from dynid.excitation.trajectories.moves import MovesSmoothly

_AT_A_TIME = 2000
"""Samples whose regressor is in memory at a time."""


@dataclass(frozen=True, eq=False)
class ExcitationProblem:
    """Minimise a criterion over motions within limits.

    Attributes:
        grid: The free coefficients, and the samples at which the design looks.
        information: The information of a motion, and what is known already.
        criterion: What is minimised.
        bounds: Limits that are linear in the coefficients.
        limits: All others.
        rate: Sampling rate [Hz] of the experiment to be.
    """

    grid: Grid
    information: Information
    criterion: Criterion
    bounds: JointBounds
    limits: tuple[Limit, ...]
    rate: float

    @property
    def weight(self) -> float:
        """How many samples of the experiment one sample of the design stands for."""
        return self.rate * self.grid.free.family.duration / len(self.grid.times)

    @property
    def counts_rests(self) -> bool:
        """Whether a limit depends on how long a robot stands still, and not only on where."""
        return any(limit.is_mean for limit in self.limits)

    def smoothed(self, power: float) -> ExcitationProblem:
        """With the smooth form of the criterion."""
        return replace(self, criterion=self.criterion.smoothed(power))

    def at(self, x: Array) -> DesignPoint:
        """The problem at free coefficients, shape (free,)."""
        return DesignPoint(self, self.grid.motion(x))

    def smallest_slack(self, x: Array) -> float:
        """The smallest of all slacks; positive within all limits."""
        bounds = float(self.bound_slacks(x).min(initial=1.0))
        if bounds <= 0.0 or not self.limits:
            return bounds
        motion = self.grid.motion(x)
        return min(bounds, *(float(limit.slacks(motion).min(initial=1.0)) for limit in self.limits))

    @cached_property
    def blocks(self) -> list[tuple[Array, Array]]:
        """For each joint matrix and offset of its bounded values."""
        return self.bounds.blocks(self.grid)

    def bound_slacks(self, x: Array) -> Array:
        """Slacks of the bounds, shape (2 * bounded values,)."""
        parts = zip(self.blocks, self.grid.free.slices, strict=True)
        values = np.concatenate([A @ x[where] + b for (A, b), where in parts])
        return np.concatenate([1.0 - values, 1.0 + values])

    def motion(self, x: Array) -> Motion:
        """The motion at the design's samples."""
        return self.grid.motion(x)

    def trajectory(self, x: Array) -> ParametricTrajectory:
        """The motion at any time."""
        return self.grid.free.trajectory(x)

    def exact_value(self, trajectory: ParametricTrajectory, samples: int | None = None) -> float:
        """The criterion at samples of the experiment, at most so many, with signs as they are."""
        return value_of(self.criterion, self.exact_matrix(trajectory, samples))

    def exact_matrix(self, trajectory: ParametricTrajectory | Itinerary, samples: int | None = None) -> Array:
        """The information of samples of the experiment, at most so many, shape (base, base)."""
        times = experiment_times(trajectory, self.rate)
        counted = float(len(times))
        if isinstance(trajectory, ParametricTrajectory):
            counted *= trajectory.family.duration / trajectory.family.cycle
        if samples is not None and len(times) > samples:
            times = times[np.linspace(0, len(times) - 1, samples).astype(int)]
        exact = replace(self.information, smoothing=0.0)
        nothing = replace(exact, known=exact.known[:0])
        M = exact.known.T @ exact.known
        for begin in range(0, len(times), _AT_A_TIME):
            states = trajectory.states(times[begin : begin + _AT_A_TIME])
            M = M + nothing.matrix(*states, counted / len(times))
        return M

    def checks(self, trajectory: MovesSmoothly, times: Array) -> list[Check]:
        """What a motion reaches at times [s], against all limits."""
        others = [check for limit in self.limits for check in limit.checks(trajectory, times)]
        return [*self.bounds.checks(trajectory, times), *others]

    def slow_checks(self, trajectory: ParametricTrajectory | Itinerary, times: Array, percent: int) -> list[Check]:
        """What a trajectory at a part of its speed [%] breaks; times [s] are those of the whole speed."""
        slow = trajectory.at_speed(percent / 100)
        slowly = times * 100 / percent
        if isinstance(slow, Itinerary):  # its rests are as long as they were
            slowly = slow.moving_times(len(times) / slow.duration, rests=self.counts_rests)
        limits = [limit for limit in self.limits if limit.grows_when_slow]
        checks = [check for limit in limits for check in limit.checks(slow, slowly)]
        return [replace(check, name=f"{check.name} at {percent} % speed") for check in checks if not check.is_kept]


@dataclass(frozen=True, eq=False)
class DesignPoint:
    """A design problem at one motion; each part is computed when it is first asked for.

    Attributes:
        problem: The problem.
        motion: The motion.
    """

    problem: ExcitationProblem
    motion: Motion

    @cached_property
    def _bounds(self) -> Array:
        return self.problem.bound_slacks(self.motion.x)

    @cached_property
    def _others(self) -> list[Array]:
        return [limit.slacks(self.motion) for limit in self.problem.limits]

    @cached_property
    def _objective(self) -> tuple[float, Array]:
        problem = self.problem
        value, slopes = problem.information.slopes(problem.criterion, *self.motion.states, problem.weight)
        return value, self.motion.pull_back(slopes)

    def objective(self) -> tuple[float, Array]:
        """The criterion and its gradient, shape (free,)."""
        return self._objective

    def barrier(self) -> float:
        """The barrier of all limits; infinite where one is broken."""
        total = barrier(self._bounds)
        return total + sum(map(barrier, self._others)) if math.isfinite(total) else total

    def slacks(self) -> NearSlacks:
        """All slacks of the bounds, and those of other limits that are near, with their slopes."""
        which = tuple(np.flatnonzero(values < NEAR_LIMIT) for values in self._others)
        near = list(zip(self.problem.limits, which, strict=True))
        rows = [limit.slopes(self.motion, some) for limit, some in near if len(some)]
        values = [part[some] for part, some in zip(self._others, which, strict=True)]
        return NearSlacks(
            self.motion,
            self.problem.limits,
            self.problem.blocks,
            tuple(self.problem.grid.free.slices),
            which,
            np.concatenate([self._bounds, *values]),
            np.concatenate([np.zeros((0, len(self.motion.x))), *rows]),
        )


def experiment_times(trajectory: ParametricTrajectory | Itinerary, rate: float) -> Array:
    """Times [s] of the samples of one cycle, or of all of a motion that has none, at a rate [Hz]."""
    is_periodic = isinstance(trajectory, ParametricTrajectory)
    cycle = trajectory.family.cycle / trajectory.speed if is_periodic else trajectory.duration
    return np.arange(int(cycle * rate * (1.0 + 1e-12)) + 1) / rate


@dataclass(frozen=True, eq=False)
class NearSlacks:
    """Slacks near a point and their slopes: bounds in blocks, joint by joint, and other limits as rows.

    Attributes:
        motion: The motion at that point.
        limits: The other limits.
        blocks: For each joint A and b; the slacks are 1 - (A x + b) of all joints, then 1 + (A x + b).
        slices: Where each joint's variables stand.
        which: For each other limit the slacks that are near.
        values: All values.
        rows: Slopes of the other limits' slacks, shape (near, free).
    """

    motion: Motion
    limits: tuple[Limit, ...]
    blocks: Sequence[tuple[Array, Array]]
    slices: tuple[slice, ...]
    which: tuple[Indices, ...]
    values: Array
    rows: Array

    @property
    def _bounds(self) -> int:
        """Number of bounded values, each with two slacks."""
        return (len(self.values) - len(self.rows)) // 2

    def times(self, direction: Array) -> Array:
        """Change of the slacks along a direction."""
        parts = zip(self.blocks, self.slices, strict=True)
        bounds = np.concatenate([A @ direction[where] for (A, _), where in parts])
        return np.concatenate([-bounds, bounds, self.rows @ direction])

    def barrier_slope(self) -> Array:
        """Gradient of the barrier."""
        m, w = self._bounds, barrier_slopes(self.values)
        total = w[2 * m :] @ self.rows
        both, begin = w[m : 2 * m] - w[:m], 0
        for (A, _), where in zip(self.blocks, self.slices, strict=True):
            total[where] += both[begin : begin + len(A)] @ A
            begin += len(A)
        return total

    def bending(self, there: NearSlacks) -> Array:
        """How slopes of curved slacks change from here to there, summed with the barrier's slopes of here."""
        total = np.zeros(len(self.motion.x))
        w = barrier_slopes(self.values[2 * self._bounds :])
        mine = theirs = 0
        for limit, here, other in zip(self.limits, self.which, there.which, strict=True):
            if not limit.knows_curvature:
                _, k, m = np.intersect1d(here, other, assume_unique=True, return_indices=True)
                total += w[mine + k] @ (there.rows[theirs + m] - self.rows[mine + k])
            mine, theirs = mine + len(here), theirs + len(other)
        return total

    def barrier_curvature(self) -> Array:
        """Second derivatives of the barrier, with what limits say of their own curvature."""
        m, w = self._bounds, barrier_curvatures(self.values)
        total = (self.rows.T * w[2 * m :]) @ self.rows
        both, begin = w[m : 2 * m] + w[:m], 0
        for (A, _), where in zip(self.blocks, self.slices, strict=True):
            total[where, where] += (A.T * both[begin : begin + len(A)]) @ A
            begin += len(A)
        begin, slopes = 2 * m, barrier_slopes(self.values)
        for limit, which in zip(self.limits, self.which, strict=True):
            if limit.knows_curvature:
                total += limit.curvature(self.motion, which, -slopes[begin : begin + len(which)])
            begin += len(which)
        return total
