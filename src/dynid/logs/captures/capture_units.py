"""The unit of lengths of a capture: what the file states, unless the size of what was captured says otherwise."""

import warnings
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding

LENGTHS = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "in": 0.0254, "inch": 0.0254, "inches": 0.0254, "ft": 0.3048}
LENGTHS |= {"meter": 1.0, "meters": 1.0, "metre": 1.0, "metres": 1.0, "millimeter": 0.001, "millimeters": 0.001}
LENGTHS |= {"meter(s)": 1.0, "millimeter(s)": 0.001, "centimeters": 0.01}
"""Units of lengths [m], as files write them."""


@dataclass(frozen=True)
class CaptureUnitThresholds:
    """When a stated unit of lengths is not the file's."""

    smallest: float = 0.03
    """Size [m] of what markers are on below which it was a thousand times larger: a hand has 0.1 m, and a giraffe in
    metres that is called millimetres 0.005 m. By judgement."""

    largest: float = 30.0
    """Size [m] from which on it was a thousand times smaller: a hand in millimetres that is called metres has 100 m.
    By judgement."""

    markers: int = 3
    """Fewest markers that make a size. By judgement."""

    frames: int = 500
    """Most samples that are looked at. By judgement."""


THRESHOLDS = CaptureUnitThresholds()


def size_of(markers: Array) -> float:
    """How large what markers are on is, in their unit: the median over time of the longest side around them.

    NaN where fewer than three markers are seen at a time.
    """
    some = markers[:: max(1, len(markers) // THRESHOLDS.frames)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # samples without markers
        sides = np.nanmax(some, axis=1) - np.nanmin(some, axis=1)
    enough = np.isfinite(some).all(axis=2).sum(axis=1) >= THRESHOLDS.markers
    return float(np.median(sides[enough].max(axis=1))) if enough.any() else float("nan")


def length_unit(markers: Array, stated: str, subject: str) -> tuple[float, list[Finding]]:
    """The unit [m] of markers, shape (samples, markers, 3), with what was noticed.

    Args:
        markers: Where they were, in the file's unit.
        stated: The unit that the file states, one of `LENGTHS`; empty where it states none.
        subject: What findings are about.
    """
    size = size_of(markers)
    if not stated:
        unit = 0.001 if size > THRESHOLDS.largest else 1.0
        name = "mm" if unit < 1.0 else "m"
        known = [Finding.of("capture-unit-guessed", subject, unit=name, size=unit * size)] if np.isfinite(size) else []
        return unit, known
    unit = LENGTHS[stated]
    if unit * size > THRESHOLDS.largest:
        values = {"stated": stated, "seen": unit * size, "size": 1e-3 * unit * size, "factor": "a thousandth"}
        return 1e-3 * unit, [Finding.of("capture-unit-wrong", subject, **values)]
    if unit * size < THRESHOLDS.smallest:
        values = {"stated": stated, "seen": unit * size, "size": 1e3 * unit * size, "factor": "a thousand times"}
        return 1e3 * unit, [Finding.of("capture-unit-wrong", subject, **values)]
    return unit, []
