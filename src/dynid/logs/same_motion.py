"""Two logs of one motion, brought to the same times: what a model does not explain is the same in both."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, frozen
from dynid.logs.log import Log


@dataclass(frozen=True)
class SameMotionThresholds:
    """When two logs are of one motion.

    Shown by `tests/logs/test_same_motion.py`, and by the logs of a UR10e, whose positions differ by 0.01 %.
    """

    difference: float = 0.01
    """Root mean square difference of positions, relative to the spread of each joint that moves."""

    overlap: float = 0.8
    """Share of the shorter log that the same times must cover."""


THRESHOLDS = SameMotionThresholds()

FEWEST_SAMPLES = 16
"""Samples below which logs are not compared."""

STEPS = 20
"""Most steps of the search for the lag between two logs; a few suffice."""


def at_same_times(one: Log, other: Log) -> tuple[Log, Log] | None:
    """Two logs of one motion at the same, even times; None where they are of different motions.

    Args:
        one: A log.
        other: Another, which may begin earlier or later.
    """
    if min(len(one), len(other)) < FEWEST_SAMPLES or one.missing is not None or other.missing is not None:
        return None
    step = float(np.median(np.diff(one.time)))
    t1, t2 = one.time - one.time[0], other.time - other.time[0]
    if step <= 0.0 or (np.diff(t1) <= 0).any() or (np.diff(t2) <= 0).any():
        return None
    lag = _lag(t1, one.position, t2, other.position, step)
    if lag is None:
        return None
    first, last = max(0.0, -lag), min(t1[-1], t2[-1] - lag)
    t = np.asarray(first + step * np.arange(int((last - first) / step) + 1), dtype=float)
    t = t[t <= last]
    if len(t) < THRESHOLDS.overlap * min(len(one), len(other)):
        return None
    pair = _at(one, t, one.time[0]), _at(other, t, other.time[0] + lag)
    spread = np.std(pair[0].position, axis=0)
    moving = spread > 1e-3 * max(float(spread.max()), 1e-12)
    left = np.sqrt(np.mean((pair[0].position - pair[1].position) ** 2, axis=0))
    return pair if (left[moving] <= THRESHOLDS.difference * spread[moving]).all() else None


def _lag(t1: Array, q1: Array, t2: Array, q2: Array, step: float) -> float | None:
    """By how many seconds the second log is later, from positions of shape (samples, joints)."""
    grid1, grid2 = np.arange(0.0, t1[-1], step), np.arange(0.0, t2[-1], step)
    x1, x2 = _interpolated(grid1, t1, q1), _interpolated(grid2, t2, q2)
    size = 1 << (len(x1) + len(x2)).bit_length()
    mean, spread = x1.mean(axis=0), np.maximum(x1.std(axis=0), 1e-9)
    spectra = (np.fft.rfft((x - mean) / spread, size, axis=0) for x in (x1, x2))
    a, b = spectra
    correlation = np.fft.irfft(np.sum(a.conj() * b, axis=1), size)
    k = int(np.argmax(correlation))
    lag = step * (k if k < size // 2 else k - size)
    for _ in range(STEPS):
        own = (grid1 + lag >= 0.0) & (grid1 + lag <= t2[-1])
        if own.sum() < FEWEST_SAMPLES:
            return None
        moved = _interpolated(grid1[own] + lag, t2, q2)
        slope = np.gradient(moved, step, axis=0)
        change = float(np.sum((x1[own] - moved) * slope / spread**2) / max(np.sum((slope / spread) ** 2), 1e-300))
        lag += float(np.clip(change, -5.0 * step, 5.0 * step))
        if abs(change) < 1e-6 * step:
            break
    return lag


def _interpolated(t: Array, times: Array, values: Array) -> Array:
    return np.stack([np.interp(t, times, column) for column in values.T], axis=1)


def _at(log: Log, t: Array, start: float) -> Log:
    """The log at other times [s], which begin at a time of its own."""
    from scipy.interpolate import CubicSpline

    names = ("position", "velocity", "torque", "temperature")
    own = {name: values for name in names if (values := getattr(log, name, None)) is not None}
    times = np.clip(t + start, log.time[0], log.time[-1])
    moved = {name: frozen(CubicSpline(log.time, values)(times)) for name, values in own.items()}
    commands = dict.fromkeys(("position_command", "velocity_command", "torque_command", "kp", "kd"))
    return replace(log, time=frozen(t), **commands, **moved)
