"""Normal equations: least squares from products of columns, whatever their sizes."""

import numpy as np

from dynid.arrays import Array

RIDGE = 1e-10
"""Added to the diagonal of normal equations of unit columns: what the motion does not excite stays small."""


def normal_solution(squares: Array, products: Array) -> Array:
    """Solve normal equations, or a stack of them.

    Args:
        squares: Products of the columns with each other, shape (..., n, n).
        products: Products with what is fitted, shape (..., n, k).

    Returns:
        Array of shape (..., n, k).
    """
    sizes = np.sqrt(np.diagonal(squares, axis1=-2, axis2=-1))[..., None]
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    scaled = squares / sizes / np.swapaxes(sizes, -1, -2) + RIDGE * np.eye(squares.shape[-1])
    return np.asarray(np.linalg.solve(scaled, products / sizes) / sizes, dtype=float)
