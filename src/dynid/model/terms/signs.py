"""Signs of velocities: with a jump, or smooth for design, which needs slopes."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array


def sign(v: Array, width: float) -> Array:
    """Sign of v; with a width, a smooth step of about that width."""
    return np.tanh(v / width) if width else np.sign(v)


def sign_slope(v: Array, width: float) -> Array:
    """Slope of such a sign over v."""
    return (1.0 - np.tanh(v / width) ** 2) / width if width else np.zeros_like(v)
