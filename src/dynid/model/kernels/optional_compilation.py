"""Numba's decorator where there is Numba, and one that does nothing else: for loops that run as they stand, too.

Import it only where it is used: Numba is slow to import.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from dynid.model.kernels.kernel import NO_COMPILE


def _as_it_stands(**_: Any) -> Callable[[Any], Any]:
    return lambda function: function


njit: Any = _as_it_stands
if not os.environ.get(NO_COMPILE):
    try:
        from dynid.model.kernels.cached_code import njit as njit
    except Exception:  # whatever keeps Numba from working here, Python does the work
        njit = _as_it_stands
