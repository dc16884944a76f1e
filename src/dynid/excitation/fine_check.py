"""Limits on a grid finer than a design looks at, and what to do where one is broken there."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.excitation.problem import ExcitationProblem
from dynid.excitation.refinement import centre
from dynid.excitation.trajectories.family import Trajectory

_FINE = 1000.0
"""Limits are checked at this many samples a second, at least."""


def within_limits(problem: ExcitationProblem, x: Array) -> Array:
    """The motion, made smaller where it breaks a limit between the samples that the design looked at."""
    trajectory = problem.trajectory(x)
    times = fine_times(problem, trajectory)
    if all(check.is_kept for check in problem.checks(trajectory, times)):
        return x
    middle = centre(problem, x)
    for size in 1.0 - np.geomspace(1e-3, 0.5, 30):
        smaller = middle + size * (x - middle)
        if all(check.is_kept for check in problem.checks(problem.trajectory(smaller), times)):
            return smaller
    return x


def fine_times(problem: ExcitationProblem, trajectory: Trajectory) -> Array:
    """Times [s] over one cycle, finer than the design and the experiment look."""
    rate = max(_FINE, problem.rate, 8.0 * len(problem.grid.times) / trajectory.family.cycle)
    return np.linspace(0.0, trajectory.family.cycle / trajectory.speed, int(rate * trajectory.family.cycle) + 1)
