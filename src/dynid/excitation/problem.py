"""The design problem: what is to be learned, by which motions, within which limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array
from dynid.excitation.criteria import Criterion
from dynid.excitation.information import Information
from dynid.excitation.limits.joint_bounds import JointBounds
from dynid.excitation.limits.limit import Check, Limit
from dynid.excitation.motion import Grid, Motion
from dynid.excitation.trajectories.family import Trajectory

NEAR = 0.5
"""Slacks below this guide the solver; others are only looked at."""


@dataclass(frozen=True, eq=False)
class ExcitationProblem:
    """Minimise a criterion over motions within limits.

    Attributes:
        grid: The free coefficients, and the samples at which the design looks.
        information: What is to be learned, and what is known already.
        criterion: What is minimised.
        bounds: Limits that are linear in the coefficients.
        limits: All others.
        rate: Samples a second [Hz] of the experiment to be.
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

    def smoothed(self, power: float) -> ExcitationProblem:
        """With the smooth form of the criterion."""
        return replace(self, criterion=self.criterion.smoothed(power))

    def objective(self, x: Array) -> tuple[float, Array]:
        """The criterion and its gradient, shape (free,)."""
        motion = self.grid.motion(x)
        value, slopes = self.information.slopes(self.criterion, *motion.states, self.weight)
        return value, motion.pull_back(slopes)

    def slacks(self, x: Array) -> NearSlacks:
        """All slacks of the bounds, and those of other limits that are near, with their slopes."""
        motion = self.grid.motion(x)
        all_values = [limit.slacks(motion) for limit in self.limits]
        which = tuple(np.flatnonzero(values < NEAR) for values in all_values)
        rows = [limit.slopes(motion, near) for limit, near in zip(self.limits, which, strict=True) if len(near)]
        values = [part[near] for part, near in zip(all_values, which, strict=True)]
        return NearSlacks(
            self._blocks,
            tuple(self.grid.free.slices),
            which,
            np.concatenate([self._bound_slacks(x), *values]),
            np.concatenate([np.zeros((0, len(x))), *rows]),
        )

    def values(self, x: Array, like: NearSlacks) -> Array | None:
        """The same slacks at another x; None where any limit is broken."""
        bounds = self._bound_slacks(x)
        if bounds.min(initial=1.0) <= 0.0:
            return None
        motion = self.grid.motion(x)
        near = [bounds]
        for limit, which in zip(self.limits, like.which, strict=True):
            values = limit.slacks(motion)
            if not values.min(initial=1.0) > 0.0:
                return None
            near.append(values[which])
        return np.concatenate(near)

    def smallest_slack(self, x: Array) -> float:
        """The smallest of all slacks; positive within all limits."""
        motion = self.grid.motion(x)
        smallest = [float(limit.slacks(motion).min(initial=1.0)) for limit in self.limits]
        return min([float(self._bound_slacks(x).min(initial=1.0)), *smallest])

    @cached_property
    def _blocks(self) -> list[tuple[Array, Array]]:
        return self.bounds.blocks(self.grid)

    def _bound_slacks(self, x: Array) -> Array:
        parts = zip(self._blocks, self.grid.free.slices, strict=True)
        values = np.concatenate([A @ x[where] + b for (A, b), where in parts])
        return np.concatenate([1.0 - values, 1.0 + values])

    def motion(self, x: Array) -> Motion:
        """The motion at the design's samples."""
        return self.grid.motion(x)

    def trajectory(self, x: Array) -> Trajectory:
        """The motion at any time."""
        return self.grid.free.trajectory(x)

    def exact_value(self, trajectory: Trajectory) -> float:
        """The criterion at the samples of the experiment, with signs as they are."""
        states = trajectory.states(experiment_times(trajectory, self.rate))
        return replace(self.information, smoothing=0.0).value(self.criterion, *states, self._repeats)

    def exact_matrix(self, trajectory: Trajectory) -> Array:
        """The information of the experiment, shape (base, base)."""
        states = trajectory.states(experiment_times(trajectory, self.rate))
        return replace(self.information, smoothing=0.0).matrix(*states, self._repeats)

    @property
    def _repeats(self) -> float:
        """How often the motion repeats."""
        return self.grid.free.family.duration / self.grid.free.family.cycle

    def checks(self, trajectory: Trajectory, times: Array) -> list[Check]:
        """What a trajectory reaches at times [s], against all limits."""
        return [check for limit in (self.bounds, *self.limits) for check in limit.checks(trajectory, times)]


def experiment_times(trajectory: Trajectory, rate: float) -> Array:
    """Times [s] of the samples of one cycle, at a rate [Hz]."""
    cycle = trajectory.family.cycle / trajectory.speed
    return np.arange(int(cycle * rate * (1.0 + 1e-12)) + 1) / rate


@dataclass(frozen=True, eq=False)
class NearSlacks:
    """Slacks near a point and their slopes: bounds in blocks, joint by joint, and other limits as rows.

    Attributes:
        blocks: For each joint A and b; the slacks are 1 - (A x + b) of all joints, then 1 + (A x + b).
        slices: Where each joint's variables stand.
        which: For each other limit the slacks that are near.
        values: All values.
        rows: Slopes of the other limits' slacks, shape (near, free).
    """

    blocks: Sequence[tuple[Array, Array]]
    slices: tuple[slice, ...]
    which: tuple[Array, ...]
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

    def transposed(self, weights: Array) -> Array:
        """Sum of slopes, each with its weight."""
        m = self._bounds
        total = weights[2 * m :] @ self.rows
        both, begin = weights[m : 2 * m] - weights[:m], 0
        for (A, _), where in zip(self.blocks, self.slices, strict=True):
            total[where] += both[begin : begin + len(A)] @ A
            begin += len(A)
        return total

    def gram(self, weights: Array) -> Array:
        """Sum of outer products of the slopes, each with its weight."""
        m = self._bounds
        total = (self.rows.T * weights[2 * m :]) @ self.rows
        both, begin = weights[m : 2 * m] + weights[:m], 0
        for (A, _), where in zip(self.blocks, self.slices, strict=True):
            total[where, where] += (A.T * both[begin : begin + len(A)]) @ A
            begin += len(A)
        return total
