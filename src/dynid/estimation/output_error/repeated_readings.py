"""Readings that repeat: an encoder of a joint that sticks shows one error for seconds, not a new one in each sample.

Counted as often as it is read, such an error outweighs everything that is measured in motion, where errors of rounding
are new with each count. So a reading that repeats counts as one, in equal shares of its samples, where rounding is what
remains: where errors are below a step of the readings. Beyond it, errors are those of the model, and all samples count.
"""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array


def shares_of_readings(position: Array) -> Array:
    """What each sample is of its reading, shape (samples, joints): 1 where it is new, 1/n in a run of n that are equal.

    >>> shares_of_readings(np.array([[0.0], [0.1], [0.1], [0.2]])).ravel().tolist()
    [1.0, 0.5, 0.5, 1.0]
    """
    shares = np.ones(position.shape)
    for column, own in zip(position.T, shares.T, strict=True):
        starts = np.concatenate([[0], np.flatnonzero(np.diff(column)) + 1, [len(column)]])
        runs = np.diff(starts)
        own[:] = np.repeat(1.0 / runs, runs)
    return shares


SMALLEST = 0.02
"""Quantile of changes of readings that is one step: a few may be smaller where numbers were rounded twice."""


def steps_of_readings(position: Array) -> Array:
    """Smallest changes of readings [rad or m], shape (joints,); zero for joints that never move.

    They are counts of an encoder where positions are rounded, and far below the noise elsewhere.
    """
    changes = np.abs(np.diff(position, axis=0))
    return np.array([np.quantile(own[own > 0.0], SMALLEST) if own.any() else 0.0 for own in changes.T])
