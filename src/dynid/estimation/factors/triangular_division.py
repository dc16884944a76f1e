"""Rows divided by a triangle, in place and without Python's lock.

SciPy's own function copies rows and keeps other threads waiting. Its BLAS has an address for others to call, and
`ctypes` lets go of the lock for the call.
"""

import ctypes
from functools import cache
from typing import Any

import numpy as np

from dynid.arrays import Array


def divided(rows: Array, P: Array) -> Array:
    """Rows `[W P^-1 | y]` in the memory of `[W | y]`.

    Args:
        rows: `[W | y]`, shape (rows, n + 1), C-ordered.
        P: Upper triangle, shape (n, n), without a zero on its diagonal.
    """
    n, width = len(P), rows.shape[1]
    if len(rows) and n:
        triangle = np.asfortranarray(P, dtype=float)
        sizes = [ctypes.byref(ctypes.c_int(number)) for number in (n, len(rows), n, width)]
        how = [ctypes.byref(ctypes.c_char(letter)) for letter in (b"L", b"U", b"T", b"N")]
        one = ctypes.byref(ctypes.c_double(1.0))
        # BLAS counts by columns: to it, rows are the transposed matrix, with P' on its left.
        _solve()(*how, *sizes[:2], one, triangle.ctypes.data, sizes[2], rows.ctypes.data, sizes[3])
    return rows


@cache
def _solve() -> Any:
    """BLAS's `dtrsm`, by the address that SciPy gives for it."""
    from scipy.linalg import cython_blas  # pyright: ignore[reportAttributeAccessIssue]

    capsule = cython_blas.__pyx_capi__["dtrsm"]
    name, address = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 11)(address(capsule, name(capsule)))
