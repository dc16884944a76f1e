"""Limits on a grid finer than a design looks at, and what to do where one is broken there."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.excitation.limits.limit import Check
from dynid.excitation.problem import ExcitationProblem
from dynid.excitation.refinement import centre
from dynid.excitation.trajectories.family import Trajectory

SPEEDS = (10, 50)
"""Slower runs [%] that are written, too, for a careful first try."""

_SLOW = 4
"""Slower runs are checked at one of so many postures of the path."""

_FINE = 1000.0
"""Limits are checked at this many samples a second, at least."""


def within_limits(problem: ExcitationProblem, x: Array) -> tuple[Trajectory, tuple[Check, ...]]:
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


def _checked(problem: ExcitationProblem, x: Array) -> tuple[Trajectory, tuple[Check, ...]]:
    trajectory = problem.trajectory(x)
    return trajectory, fine_checks(problem, trajectory)


def fine_checks(problem: ExcitationProblem, trajectory: Trajectory, every: int = 1) -> tuple[Check, ...]:
    """What a motion reaches, against all limits, on a fine grid; and what it breaks at the slower speeds.

    Args:
        problem: The problem.
        trajectory: The motion.
        every: Only one of so many samples is looked at.
    """
    times = fine_times(problem, trajectory)[::every]
    slow = [check for percent in SPEEDS for check in problem.slow_checks(trajectory, times[::_SLOW], percent)]
    return (*problem.checks(trajectory, times), *slow)


def fine_times(problem: ExcitationProblem, trajectory: Trajectory) -> Array:
    """Times [s] over one cycle, finer than the design and the experiment look."""
    rate = max(_FINE, problem.rate, 8.0 * len(problem.grid.times) / trajectory.family.cycle)
    return np.linspace(0.0, trajectory.family.cycle / trajectory.speed, int(rate * trajectory.family.cycle) + 1)
