"""Which numbers can be measures of robots."""

from __future__ import annotations

import math

LARGEST = 1e30
"""Numbers beyond this are no measures of robots, and their squares overflow."""

UNLIMITED = 1e9
"""Limits [rad, rad/s, N m, ...] from here on are none: URDF asks for a number where there is no limit."""


def unlimited(limit: float) -> float:
    """A limit, or infinity where its size says that there is none."""
    return math.copysign(math.inf, limit) if abs(limit) >= UNLIMITED else limit


def number_text(*values: float) -> str:
    """Numbers with all their digits, separated by spaces, and no minus before a zero."""
    return " ".join(f"{float(value) + 0.0!r}".removesuffix(".0") for value in values)
