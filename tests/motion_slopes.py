"""Small motions, and central differences of what depends on their coefficients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dynid import Robot
from dynid.excitation.motion import Grid, free_coefficients
from dynid.excitation.trajectories.fourier import Fourier

STEP = 1e-6
FAMILY = Fourier(frequency=1.3, harmonics=2)


def grid_of(robot: Robot, samples: int = 12, posture: float | None = None) -> Grid:
    return Grid.of(free_coefficients(FAMILY, [posture] * robot.nv), samples)


def differences(value: Callable[[np.ndarray], Any], x: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Central differences of numbers along some directions, shape (numbers, directions)."""
    return np.array([(value(x + STEP * d) - value(x - STEP * d)) / (2 * STEP) for d in directions]).T


def random_x(grid: Grid, rng: np.random.Generator, size: float = 1.0) -> np.ndarray:
    return size * rng.normal(size=sum(grid.free.sizes))
