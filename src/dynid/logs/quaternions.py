"""Quaternions over time: a quaternion and its negative are the same rotation, and loggers change between them."""

import numpy as np

from dynid.arrays import Array


def with_steady_signs(poses: Array) -> Array:
    """Poses, or quaternions in their last four columns, whose signs go on from sample to sample, of the same shape.

    Samples that are not numbers are passed over.

    >>> with_steady_signs(np.array([[0.0, 0.0, 0.6, 0.8], [-0.0, -0.0, -0.6, -0.8]]))[1].tolist()
    [0.0, 0.0, 0.6, 0.8]
    """
    found, known = poses.copy(), np.flatnonzero(np.isfinite(poses[:, -4:]).all(axis=1))
    own = poses[known, -4:]
    products = np.sum(own[1:] * own[:-1], axis=1)
    signs = np.cumprod(np.concatenate([np.ones(min(len(own), 1)), np.where(products < 0.0, -1.0, 1.0)]))
    found[known, -4:] = signs[:, None] * own
    return found
