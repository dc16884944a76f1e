"""Distances between many segments at once: what capsules are made of."""

import numpy as np

from dynid.arrays import Array

_TINY = 1e-30
"""Squares of lengths below this [m^2] are those of a point."""


def closest_points(a0: Array, a1: Array, b0: Array, b1: Array) -> tuple[Array, Array]:
    """The nearest points of segments a and b, each between two points [m]; all arrays have the shape (..., 3).

    >>> x = np.eye(3)
    >>> a, b = closest_points(0 * x[0], x[0], x[2] - x[1], x[2] + x[1])
    >>> a.tolist(), b.tolist()
    ([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    """
    u, v, w = a1 - a0, b1 - b0, a0 - b0
    uu, uv, vv, uw, vw = (np.einsum("...k,...k", x, y) for x, y in ((u, u), (u, v), (v, v), (u, w), (v, w)))
    area = uu * vv - uv * uv
    is_parallel = area <= 1e-12 * uu * vv
    s = np.where(is_parallel, 0.0, (uv * vw - vv * uw) / np.where(is_parallel, 1.0, area))
    s = np.clip(s, 0.0, 1.0)
    t = np.clip((uv * s + vw) / np.maximum(vv, _TINY), 0.0, 1.0)
    s = np.clip((uv * t - uw) / np.maximum(uu, _TINY), 0.0, 1.0)
    return a0 + s[..., None] * u, b0 + t[..., None] * v
