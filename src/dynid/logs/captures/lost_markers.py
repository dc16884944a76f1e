"""Markers that jump for some samples, or stand still while others move: what cameras lost counts as not seen."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding


@dataclass(frozen=True)
class LostMarkerThresholds:
    """When a marker counts as lost.

    Calibrated by `benchmarks/capture_checks.py`: simulated captures with and without these errors.
    """

    jump: float = 0.04
    """Distance [m] from the line between the samples around, at 100 Hz, from which a sample is a jump: a peak
    acceleration of 800 m/s^2. Calibrated on good captures."""

    acceleration: float = 800.0
    """The same at lower rates [m/s^2]. Calibrated on good captures."""

    longest: int = 5
    """Most samples that a jump lasts which is taken out. By judgement."""

    frozen: float = 0.2
    """Time [s] that a marker must have exactly the same place to be frozen. Calibrated on good captures."""

    together: int = 2
    """Others that may stand still meanwhile: where more do, a segment rests in an exact simulation. By judgement."""

    still: float = 1e-5
    """Distance [m] up to which they do: rounding of files, and less than the noise of any camera. By judgement."""

    moving: float = 0.01
    """Distance [m] that half of the other markers move meanwhile: else everybody stands still, and the file is rounded.
    Calibrated on good captures."""


THRESHOLDS = LostMarkerThresholds()


def without_jumps(time: Array, markers: Array, names: Sequence[str]) -> tuple[Array, list[Finding]]:
    """Markers without samples in which one was elsewhere, which become NaN, with findings.

    Args:
        time: Time stamps [s], shape (samples,).
        markers: Where they were [m], shape (samples, markers, 3); NaN where one was not seen.
        names: Their names.
    """
    found, counts = markers.copy(), dict[str, int]()
    step = float(np.median(np.diff(time))) if len(time) > 1 else 0.0
    limit = max(THRESHOLDS.jump, THRESHOLDS.acceleration * step**2)
    for m, name in enumerate(names):
        seen = np.flatnonzero(np.isfinite(markers[:, m, 0]))
        lost = seen[_jumping(markers[seen, m], limit)] if len(seen) > 2 * THRESHOLDS.longest else seen[:0]
        if len(lost):
            found[lost, m], counts[name] = np.nan, len(lost)
    return found, [Finding.of("markers-jump", "markers", markers=counts)] if counts else []


def _jumping(x: Array, limit: float) -> np.ndarray:
    """Which samples of a marker are away from where it was before and is after them, shape (samples,)."""
    lost = np.zeros(len(x), dtype=bool)
    k = 1
    while k < len(x) - 1:
        if np.linalg.norm(x[k] - x[k - 1]) <= limit:  # most samples
            k += 1
            continue
        for length in range(1, THRESHOLDS.longest + 1):
            if k + length >= len(x):
                break
            back = np.linalg.norm(x[k + length] - x[k - 1])
            away = min(np.linalg.norm(x[k : k + length] - 0.5 * (x[k - 1] + x[k + length]), axis=1))
            if away > limit + back:
                lost[k : k + length] = True
                k += length
                break
        k += 1
    return lost


def without_frozen(time: Array, markers: Array, names: Sequence[str]) -> tuple[Array, list[Finding]]:
    """Markers without stretches in which one stands still while others move, which become NaN; arguments as above."""
    found, seconds = markers.copy(), dict[str, float]()
    step = float(np.median(np.diff(time))) if len(time) > 1 else 0.0
    for m, name in enumerate(names):
        same = (np.diff(markers[:, m], axis=0) == 0.0).all(axis=1)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
        for first, last in zip(edges[::2], edges[1::2], strict=True):  # samples first to last are equal
            if (last - first) * step >= THRESHOLDS.frozen and _others_move(markers, m, first, last):
                found[first + 1 : last + 1, m] = np.nan  # where it froze, it was
                seconds[name] = seconds.get(name, 0.0) + float(last - first) * step
    return found, [Finding.of("markers-frozen", "markers", markers=seconds)] if seconds else []


def _others_move(markers: Array, m: int, first: int, last: int) -> bool:
    """Whether half of the other markers that are seen move meanwhile, and hardly any stands still, too."""
    others = np.delete(markers[first : last + 1], m, axis=1)
    seen = np.isfinite(others).all(axis=(0, 2))
    if not seen.any():
        return False
    moved = np.linalg.norm(np.ptp(others[:, seen], axis=0), axis=1)
    together = np.count_nonzero(moved < THRESHOLDS.still) > THRESHOLDS.together
    return bool(np.median(moved) > THRESHOLDS.moving) and not together
