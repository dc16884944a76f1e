"""How residuals without contact grow with speed: a level of each joint, more near reversal, and more at speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dynid.arrays import Array

SPEED_BINS = 24
"""Bins of speed, with equally many samples in each, whose mean residuals a shape is fitted to."""

WIDTHS = (0.05, 0.1, 0.2, 0.35, 0.5)
"""Quantiles of speed that are tried as the width of what is added near rest."""

LEAST_LEVEL = 0.3
"""Part of the mean residual that the level is at least: no speed is without errors."""

TIME_PARTS = 4
"""Stretches of time that a shape is tried on, each left out of its fit."""

WORTHWHILE = 0.01
"""Gain of logarithmic likelihood per sample on left-out stretches from which speed counts at all."""


@dataclass(frozen=True)
class SpeedLevel:
    """A level over speed: `level + near_rest max(0, 1 - |v| / width) + per_speed |v|`.

    Attributes:
        level: At medium speed [N m or N]; infinite for no threshold.
        near_rest: What is added at standstill [N m or N].
        width: Speed at which nothing of that remains [rad/s or m/s].
        per_speed: What is added with speed [N m s/rad or N s/m].
    """

    level: float
    near_rest: float = 0.0
    width: float = 1.0
    per_speed: float = 0.0

    def at(self, v: Array) -> Array:
        """The level at velocities of any shape."""
        speed = np.abs(v)
        return self.level + self.near_rest * np.maximum(0.0, 1.0 - speed / self.width) + self.per_speed * speed

    def times(self, factor: float) -> SpeedLevel:
        """The same shape, larger by a factor."""
        return SpeedLevel(factor * self.level, factor * self.near_rest, self.width, factor * self.per_speed)

    @property
    def varies(self) -> bool:
        """Whether it depends on speed."""
        return self.near_rest > 0.0 or self.per_speed > 0.0


def fitted_level(residuals: Array, velocities: Array) -> SpeedLevel:
    """The mean absolute residual of a joint over its speed; constant where stretches left out are not clearer so.

    Args:
        residuals: Residuals without contact [N m or N], shape (samples,).
        velocities: Velocities of the joint, of the same shape.
    """
    size, speed = np.abs(residuals), np.abs(velocities)
    constant = SpeedLevel(max(float(size.mean()), np.finfo(float).tiny))
    ends = [len(size) * k // TIME_PARTS for k in range(TIME_PARTS + 1)]
    gains = []
    for first, last in pairwise(ends):
        inside = np.zeros(len(size), dtype=bool)
        inside[first:last] = True
        if len(size) < SPEED_BINS * TIME_PARTS:
            return constant
        shaped = _fitted(size[~inside], speed[~inside])
        flat = SpeedLevel(max(float(size[~inside].mean()), np.finfo(float).tiny))
        gains.append(_likelihood(shaped, size[inside], speed[inside]) - _likelihood(flat, size[inside], speed[inside]))
    return _fitted(size, speed) if np.mean(gains) > WORTHWHILE else constant


def _likelihood(level: SpeedLevel, size: Array, speed: Array) -> float:
    """Mean logarithmic likelihood of absolute errors whose mean is the level, as Laplace has it."""
    scale = level.at(speed)
    return float(-np.mean(np.log(scale) + size / scale))


def _fitted(size: Array, speed: Array) -> SpeedLevel:
    """The best shape for means of bins, weighed so that relative errors count."""
    from scipy.optimize import nnls

    order = np.argsort(speed, kind="stable")
    ends = [len(size) * k // SPEED_BINS for k in range(SPEED_BINS + 1)]
    means = np.array([[speed[order[a:b]].mean(), size[order[a:b]].mean()] for a, b in pairwise(ends)])
    x, y = means.T
    floor = LEAST_LEVEL * float(size.mean())
    y = np.maximum(y, floor)
    best, least = SpeedLevel(max(float(size.mean()), np.finfo(float).tiny)), np.inf
    for width in _widths(speed):
        columns = np.column_stack([np.ones_like(x), np.maximum(0.0, 1.0 - x / width), x])
        (more, near_rest, per_speed), error = nnls(columns / y[:, None], (y - floor) / y)
        if error < least:
            best, least = SpeedLevel(floor + float(more), float(near_rest), width, float(per_speed)), error
    return best


def _widths(speed: Array) -> Sequence[float]:
    found = np.quantile(speed, WIDTHS)
    return sorted({float(width) for width in found if width > 0.0})
