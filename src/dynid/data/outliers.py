"""Single samples that cannot be: spikes in positions and torques, found against the median of their neighbours."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.data.signals import median

NEIGHBOURS = 9
"""Samples that a median is taken of."""

LIMIT = 12.0
"""Deviations from the median of the neighbours, in normal standard deviations, above which a sample is an outlier."""

LARGE = 0.01
"""Share of the signal's range (between its first and last hundredth) below which nothing is an outlier."""

MOST = 0.2
"""Share of samples above which they are no outliers but the signal."""


def outliers_in(x: Array) -> np.ndarray:
    """Which samples are spikes, shape (samples, n), of signals of that shape.

    The scale is local: that of the deviations nearby or of all, whichever is larger, so that noise which comes and goes
    and steps of a coarse encoder are not taken for outliers.
    """
    if len(x) < 10 * NEIGHBOURS:
        return np.zeros(x.shape, dtype=bool)
    deviation = np.abs(x - median(x, NEIGHBOURS))
    overall = 1.4826 * np.median(deviation, axis=0)
    # Where most samples equal their neighbours, the step of the sensor is the scale.
    steps = np.abs(np.diff(x, axis=0))
    smallest = np.array([column[column > 0].min(initial=np.inf) for column in steps.T])
    scale = np.maximum(overall, np.where(np.isfinite(smallest), smallest, 0.0))
    nearby = 1.4826 * median(deviation, 5 * NEIGHBOURS)
    low, high = np.quantile(x, [0.01, 0.99], axis=0)
    limit = np.maximum(LIMIT * np.maximum(scale, nearby), LARGE * (high - low))
    found = (deviation > limit) & (scale > 0.0)
    return found & (found.mean(axis=0) <= MOST)


def repaired(x: Array, wrong: np.ndarray) -> Array:
    """Signals whose outliers are interpolated from the samples around them."""
    if not wrong.any():
        return x
    k = np.arange(len(x))
    columns = [
        np.interp(k, k[~bad], column[~bad]) if bad.any() else column for column, bad in zip(x.T, wrong.T, strict=True)
    ]
    return np.column_stack(columns)
