"""Single rows into triangles by Givens rotations: the square-root information filter, compiled with Numba.

With `T = [R z; 0 r]` for rows `[W | y]` so far, a row more and older rows weighed with w < 1, rotations make
`[w T; row]` a triangle again. It costs 3 n^2 multiplications and additions, and never squares what it works on. Import
it only where it is used: Numba is slow to import. Without Numba the same functions run as they stand, slowly.
"""

from __future__ import annotations

import math

from dynid.model.kernels.optional_compilation import njit


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz"})
def include_rows(triangles, at, sizes, starts, rows, weight):
    """Rotate one row into each of several triangles, in place.

    Args:
        triangles: The triangles `[R z; 0 r]`, one after the other, each of shape (size, size).
        at: Where each begins.
        sizes: Columns of each, that of the right-hand side included.
        starts: Where the rows begin in `rows`.
        rows: The rows `[W | y]`; they are overwritten.
        weight: What older rows are multiplied with.
    """
    for j in range(len(sizes)):
        n = sizes[j]
        x = rows[starts[j] : starts[j] + n]
        for k in range(n):
            first = at[j] + k * n
            t = triangles[first : first + n]
            b = x[k]
            if b == 0.0:
                if weight != 1.0:
                    for m in range(k, n):
                        t[m] *= weight
                continue
            a = weight * t[k]
            r = math.hypot(a, b)
            c, s = a / r * weight, b / r
            d, e = a / r, s * weight
            t[k] = r
            for m in range(k + 1, n):
                old = t[m]
                t[m] = c * old + s * x[m]
                x[m] = d * x[m] - e * old
