"""The array types that signatures use."""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
Flags: TypeAlias = NDArray[np.bool_]


def frozen(values: object) -> Array:
    """Copy values to a float array that cannot be written to, for fields of frozen objects."""
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


def finite_or_none(value: float) -> float | None:
    """A number that JSON can hold: None in place of infinity and NaN."""
    return value if math.isfinite(value) else None
