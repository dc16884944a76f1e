"""The depth buffer of `rasteriser`, compiled: triangle by triangle, pixel by pixel."""

import math

import numpy as np

from dynid.arrays import Array
from dynid.model.kernels.cached_code import njit


@njit(cache=True, nogil=True, error_model="numpy")
def visible(corners: Array, width: int, height: int, farthest: float) -> tuple[np.ndarray, Array]:
    """Which triangle each pixel shows, and how near that is.

    Args:
        corners: Pixels from the left and from the top, and nearness, shape (triangles, 3, 3).
        width: Pixels of a row.
        height: Number of rows.
        farthest: How near pixels are that show nothing.

    Returns:
        Indices of triangles, -1 for none, and nearness, both of shape (height * width,).
    """
    nearest = np.full(width * height, -1)
    depth = np.full(width * height, farthest)
    for k in range(len(corners)):
        ax, ay, az = corners[k, 0, 0], corners[k, 0, 1], corners[k, 0, 2]
        bx, by, bz = corners[k, 1, 0], corners[k, 1, 1], corners[k, 1, 2]
        cx, cy, cz = corners[k, 2, 0], corners[k, 2, 1], corners[k, 2, 2]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if not abs(area) > 1e-12:
            continue
        top, bottom = max(0, math.ceil(min(ay, by, cy))), min(height - 1, math.floor(max(ay, by, cy)))
        left, right = max(0, math.ceil(min(ax, bx, cx))), min(width - 1, math.floor(max(ax, bx, cx)))
        for y in range(top, bottom + 1):
            for x in range(left, right + 1):
                of_a = ((cx - bx) * (y - by) - (cy - by) * (x - bx)) / area
                of_b = ((ax - cx) * (y - cy) - (ay - cy) * (x - cx)) / area
                of_c = 1.0 - of_a - of_b
                if of_a >= 0.0 and of_b >= 0.0 and of_c >= 0.0:
                    near = of_a * az + of_b * bz + of_c * cz
                    if near > depth[y * width + x]:
                        depth[y * width + x] = near
                        nearest[y * width + x] = k
    return nearest, depth
