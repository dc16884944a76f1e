"""Readings that repeat: an encoder of a joint that sticks shows one error for seconds, not a new one in each sample.

Counted as often as it is read, such an error outweighs everything that is measured in motion, where errors of rounding
are new with each step. So the samples within a step of the way of a joint share one reading, where rounding is what
remains: where errors are below a step. Beyond it, errors are those of the model, and all samples count.
"""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array


def shares_of_readings(position: Array, steps: Array) -> Array:
    """What each sample is of a reading, shape (samples, joints): 1/n where n samples are within a step of the way.

    Of simulated positions, the share does not depend on where the edges between readings are. That of the measured ones
    does: where a joint turns round just behind such an edge, a short run of one reading has errors of one sign.

    Args:
        position: Positions without rounding [rad or m], shape (samples, joints).
        steps: Steps of the readings [rad or m], shape (joints,); all samples count where they are zero.

    >>> shares_of_readings(np.array([[0.0], [0.1], [0.1], [0.2]]), np.array([0.1])).ravel().tolist()
    [1.0, 0.5, 0.5, 1.0]
    """
    shares = np.ones(position.shape)
    for column, step, own in zip(position.T, steps, shares.T, strict=True):
        if step > 0.0:
            way = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(column)))]) / step
            own[:] = 1.0 / (np.searchsorted(way, way + 0.5, "right") - np.searchsorted(way, way - 0.5, "left"))
    return shares


SMALLEST_CHANGES = 0.02
"""Quantile of changes of readings that is one step: a few may be smaller where numbers were rounded twice."""


def steps_of_readings(position: Array) -> Array:
    """Smallest changes of readings [rad or m], shape (joints,); zero for joints that never move.

    They are counts of an encoder where positions are rounded, and far below the noise elsewhere.
    """
    changes = np.abs(np.diff(position, axis=0))
    return np.array([np.quantile(own[own > 0.0], SMALLEST_CHANGES) if own.any() else 0.0 for own in changes.T])
