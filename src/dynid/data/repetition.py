"""How well a motion repeats, and after how long."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array

MOST_POINTS = 1500
"""Points that a motion is thinned out to when its period is looked for."""

REPEATS = 0.02
"""Share of the motion within which it must come back to count as periodic."""

STANDS_OUT = 2.0
"""How many times farther than usual a first period must be from the others to be left out."""

SAME = 1e-6
"""Share of the motion below which differences do not count."""


def spread(values: Array) -> Array:
    """Pooled standard deviation of periods from their mean, shape (n,), of (periods, samples, n)."""
    return np.sqrt(np.mean(np.var(values, axis=0, ddof=1), axis=0))


def first_stands_out(values: Array) -> float:
    """How many times farther the first period is from the mean of the others than noise would have it.

    Args:
        values: Periods, shape (periods, samples, n), of which there are three or more.

    Returns:
        The factor of the joint where it is largest; differences below a millionth of the motion count as none.
    """
    others = values[1:]
    away = np.sqrt(np.mean((values[0] - others.mean(axis=0)) ** 2, axis=0))
    usual = spread(others) * np.sqrt(1.0 + 1.0 / len(others))
    least = SAME * np.ptp(values, axis=(0, 1)) + np.finfo(float).tiny
    return float(np.max(away / np.maximum(usual, least)))


def share_that_differs(values: Array) -> float:
    """Root mean square of what differs between periods, in parts of the motion's own, of (periods, samples, n)."""
    motion = float(np.sum(np.var(values, axis=(0, 1))))
    return float(np.sqrt(np.sum(spread(values) ** 2) / motion)) if motion > 0.0 else 0.0


def fitting_period(time: Array, q: Array) -> float | None:
    """The shortest time [s] after which positions repeat; None where they do not within half of the log.

    Args:
        time: Times [s], shape (samples,).
        q: Positions, shape (samples, n).
    """
    from scipy.interpolate import CubicSpline

    spline = CubicSpline(time, q)
    grid = np.linspace(time[0], time[-1], min(len(time), MOST_POINTS))
    x, step = spline(grid), grid[1] - grid[0]
    motion = float(np.sqrt(2.0 * np.sum(np.var(x, axis=0))))
    if motion == 0.0:
        return None

    def away(lag: float) -> float:
        t = grid[grid <= time[-1] - lag]
        return float(np.sqrt(np.mean(np.sum((spline(t + lag) - spline(t)) ** 2, axis=1)))) / motion

    lags = range(1, len(grid) // 2 + 1)
    found = np.array([np.sqrt(np.mean(np.sum((x[k:] - x[:-k]) ** 2, axis=1))) for k in lags]) / motion
    left = np.flatnonzero(found > 5.0 * REPEATS)  # near a lag of zero everything is the same
    if not len(left):
        return None
    start = int(left[0])
    valleys = [k for k in range(max(start, 1), len(found) - 1) if found[k] <= found[k - 1] and found[k] <= found[k + 1]]
    for k in valleys:
        lag, width = (k + 1) * step, step
        for _ in range(6):
            tries = lag + width * np.linspace(-1.0, 1.0, 11)
            lag, width = float(tries[np.argmin([away(float(one)) for one in tries])]), 0.2 * width
        if away(lag) < REPEATS:
            return lag
    return None
