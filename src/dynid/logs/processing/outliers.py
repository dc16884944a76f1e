"""Samples that cannot be: spikes and short bursts in positions and torques, which leave the signal and come back to it.

A sample is compared with the median of its neighbours before and with that of those after. An outlier lies beyond both,
on the same side, while the two agree. A step, such as that of dry friction where a joint turns round, lies between
them however high it is, and so does every slope.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.logs.processing.signals import median

NEIGHBOURS = 9
"""Samples on either side that a median is taken of: bursts of up to four samples leave most of them good."""


@dataclass(frozen=True)
class OutlierThresholds:
    """Which samples are outliers.

    Shown on simulated torques with and without outliers (table in `docs/processing.md`, `tests/logs/test_outliers.py`).
    """

    distance: float = 12.0
    """Distance from the medians on both sides, in standard deviations of normal noise, above which a sample is an
    outlier: far beyond noise, even where it comes and goes."""

    share_of_range: float = 0.01
    """Share of the signal's range (between its first and last hundredth) below which nothing is an outlier: what is
    smaller hardly matters."""

    most_samples: float = 0.2
    """Share of samples above which they are no outliers but the signal."""

    pulse: float = 0.1
    """Share of the range of second differences of positions above which they have a pulse: then a short torque is
    real."""


THRESHOLDS = OutlierThresholds()

NOISE_BLOCK = 45
"""Samples whose steps show the noise nearby."""

MEDIAN_STEP = 0.954
"""Median size of the step between two samples of white noise, in its standard deviations."""


@dataclass(frozen=True, eq=False)
class SignalScale:
    """What samples of signals are measured by, shape (n,) each; that of a part of a long log serves for all of it.

    Attributes:
        span: From the first to the last hundredth of the values.
        noise: Standard deviation of the noise of all samples.
        step: The step of the sensor.
    """

    span: Array
    noise: Array
    step: Array

    @staticmethod
    def of(x: Array) -> SignalScale:
        """The scale of signals, shape (samples, n)."""
        low, high = np.quantile(x, [0.01, 0.99], axis=0)
        steps = np.abs(np.diff(x, axis=0, append=x[-1:]))
        quanta = [_quantum(column, 1e-9 * size) for column, size in zip(steps.T, high - low, strict=True)]
        return SignalScale(high - low, np.median(steps, axis=0) / MEDIAN_STEP, np.array(quanta))


def outliers_in(x: Array, scale: SignalScale | None = None) -> np.ndarray:
    """Which samples are spikes or in short bursts, shape (samples, n).

    Args:
        x: Signals, shape (samples, n).
        scale: What they are measured by; their own scale when None.
    """
    if len(x) < 10 * NEIGHBOURS:
        return np.zeros(x.shape, dtype=bool)
    scale = SignalScale.of(x) if scale is None else scale
    limit = np.maximum(THRESHOLDS.distance * _noise(x, scale), THRESHOLDS.share_of_range * scale.span)
    # Near the ends one side is missing, and a step looks like an outlier: there it must leave the signal's range.
    limit[:NEIGHBOURS] = np.maximum(limit[:NEIGHBOURS], scale.span)
    limit[-NEIGHBOURS:] = np.maximum(limit[-NEIGHBOURS:], scale.span)
    found = _beyond(x, limit) & (scale.span > 0.0)
    return found & (found.mean(axis=0) <= THRESHOLDS.most_samples)


def second_differences(q: Array) -> Array:
    """Second differences of positions, of their shape."""
    return np.pad(np.diff(q, 2, axis=0), ((1, 1), (0, 0)), mode="edge")


def pulses_in(q: Array, scale: SignalScale | None = None) -> np.ndarray:
    """Where any joint's acceleration has a pulse of a few samples, shape (samples,): a short torque there is real.

    Args:
        q: Positions, shape (samples, joints).
        scale: What their second differences are measured by; their own scale when None.
    """
    if len(q) < 10 * NEIGHBOURS:
        return np.zeros(len(q), dtype=bool)
    a = second_differences(q)
    scale = SignalScale.of(a) if scale is None else scale
    limit = np.maximum(THRESHOLDS.distance * _noise(a, scale), THRESHOLDS.pulse * scale.span)
    pulses = _beyond(a, limit).any(axis=1)
    # Filters and control spread a pulse by some samples.
    return np.convolve(pulses, np.ones(NEIGHBOURS), mode="same") > 0.5


def _beyond(x: Array, limit: Array) -> np.ndarray:
    """Which samples lie further than a limit beyond the medians on both sides, and than these lie apart."""
    apart = NEIGHBOURS // 2 + 1
    ends = np.median(x[:NEIGHBOURS], axis=0), np.median(x[-NEIGHBOURS:], axis=0)
    middle = median(x, NEIGHBOURS)
    before = np.concatenate([np.broadcast_to(ends[0], (apart, x.shape[1])), middle[:-apart]])
    after = np.concatenate([middle[apart:], np.broadcast_to(ends[1], (apart, x.shape[1]))])
    lower, upper = np.minimum(before, after), np.maximum(before, after)
    distance = np.maximum(x - upper, lower - x)
    return (distance > limit) & (distance > upper - lower)


def _noise(x: Array, scale: SignalScale) -> Array:
    """Standard deviation of the noise around each sample, from steps between samples; shape as x.

    It is that nearby or that of all, whichever is larger, so that noise which comes and goes is not taken for
    outliers; and the step of the sensor at least, where most samples equal their neighbours.
    """
    steps = np.abs(np.diff(x, axis=0, append=x[-1:]))
    count = len(steps) // NOISE_BLOCK
    of_blocks = np.median(steps[: count * NOISE_BLOCK].reshape(count, NOISE_BLOCK, -1), axis=1) / MEDIAN_STEP
    padded = np.pad(of_blocks, ((1, 1), (0, 0)), mode="edge")
    around = np.maximum(np.maximum(padded[:-2], padded[1:-1]), padded[2:])
    nearby = around[np.minimum(np.arange(len(x)) // NOISE_BLOCK, count - 1)]
    return np.maximum(np.maximum(nearby, scale.noise), scale.step)


def _quantum(steps: Array, least: float) -> float:
    """The step of a sensor: one of the smallest steps between samples that differ by more than rounding."""
    moved = steps[steps > least]
    return float(np.quantile(moved, 0.1)) if len(moved) else 0.0


def repaired(x: Array, wrong: np.ndarray) -> Array:
    """Signals whose outliers are interpolated from the samples around them."""
    if not wrong.any():
        return x
    k = np.arange(len(x))
    columns = [
        np.interp(k, k[~bad], column[~bad]) if bad.any() else column for column, bad in zip(x.T, wrong.T, strict=True)
    ]
    return np.column_stack(columns)
