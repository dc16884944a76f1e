"""Signals in steps: the step that their values are multiples of, and the noise that rounding is.

A value that was rounded to steps of s is off by up to s/2, evenly: a noise of variance s^2/12. It is white where the
signal moves by some steps from sample to sample. Where it stays within a step, errors of neighbours are alike.
"""

import math
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array

LOOKED_AT = 20_000
"""Samples of a signal whose values are looked at."""


@dataclass(frozen=True)
class QuantisationThresholds:
    """When a signal is one of steps. By judgement."""

    off_grid: float = 0.1
    """Distance from multiples of the step, in steps, that text with few digits may add. By judgement."""

    most_missing: float = 20.0
    """Steps in the range of a signal, in its distinct values, up to which the smallest difference is a step and no
    chance. By judgement."""

    fewest_values: int = 3
    """Distinct values that show a step. By judgement."""


QUANTISED = QuantisationThresholds()


def step_in(values: Array) -> float | None:
    """The step that all values of a signal are multiples of, apart from one offset; None where there is none.

    >>> step_in(0.5 + 0.25 * np.array([0.0, 3.0, 3.0, 4.0, 7.0, 9.0]))
    0.25

    Args:
        values: The signal, shape (samples,).
    """
    distinct = np.unique(values[:: max(1, len(values) // LOOKED_AT)])
    reach = float(np.ptp(distinct)) if len(distinct) else 0.0
    if reach == 0.0 or not math.isfinite(reach):
        return None
    first = np.diff(distinct, prepend=-np.inf) > 1e-9 * reach  # values that text or units moved by rounding are one
    distinct = distinct[first]
    if len(distinct) < QUANTISED.fewest_values:
        return None
    offsets = distinct - distinct[0]
    step = float(np.diff(offsets).min())
    if reach / step > QUANTISED.most_missing * len(distinct):
        return None
    counts = np.round(offsets / step)
    step = float(offsets @ counts / (counts @ counts))  # the smallest difference is known less exactly than all of them
    counts = np.round(offsets / step)
    return step if np.abs(offsets - counts * step).max() <= QUANTISED.off_grid * step else None


def rounding_noise(values: Array) -> Array:
    """Standard deviation of the noise that rounding is, s / sqrt(12), shape (columns,); zero where there are no steps.

    Args:
        values: Signals, shape (samples, columns).
    """
    return np.array([(step_in(column) or 0.0) / math.sqrt(12.0) for column in values.T])
