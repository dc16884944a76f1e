"""Gaps of markers: short ones are filled by polynomials through the samples around, and how well is measured."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding


@dataclass(frozen=True)
class MarkerGapThresholds:
    """Which gaps of markers are filled, and how."""

    longest: float = 0.2
    """Longest gap [s] that is filled, where none is stated: in a longer one limbs turn back. By judgement; the error of
    gaps is measured in each capture, and said."""

    degree: int = 5
    """Degree of the polynomials: place, velocity and acceleration on both sides. By judgement."""

    around: int = 6
    """Fewest samples on each side that a polynomial goes through; in longer gaps, as many as are missing.
    By judgement."""

    trials: int = 20
    """Places at which a gap of each length is made to measure errors. By judgement."""


GAPS = MarkerGapThresholds()


@dataclass(frozen=True)
class Gap:
    """A gap of a marker.

    Attributes:
        first: Its first sample.
        last: The first sample after it.
    """

    first: int
    last: int


def without_gaps(
    time: Array, markers: Array, names: Sequence[str], longest: float = GAPS.longest
) -> tuple[Array, list[Finding]]:
    """Markers with their short gaps filled, with findings: how many samples of which, and how large errors are.

    Args:
        time: Time stamps [s], shape (samples,).
        markers: Where they were [m], shape (samples, markers, 3); NaN where one was not seen.
        names: Their names.
        longest: Longest gap that is filled [s].
    """
    found, filled, lost, squares = markers.copy(), dict[str, int](), dict[str, float](), list[float]()
    step = float(np.median(np.diff(time))) if len(time) > 1 else 1.0
    for m, name in enumerate(names):
        missing = ~np.isfinite(markers[:, m, 0])
        if missing.all():
            continue
        inside, left = list[Gap](), 0
        for gap in _gaps(missing):
            samples = gap.last - gap.first
            around = max(GAPS.around, samples)
            at_end = gap.first == 0 or gap.last == len(time)
            if at_end or (samples + 1) * step > longest * (1.0 + 1e-9) or not _is_seen(missing, gap, around):
                left += samples
            else:
                found[gap.first : gap.last, m] = _across(time, markers[:, m], gap)
                inside.append(gap)
        if inside:
            filled[name] = sum(gap.last - gap.first for gap in inside)
            squares += _errors(time, markers[:, m], missing, inside)
        if left:
            lost[name] = left / len(time)
    findings = []
    if filled:
        error = float(np.sqrt(np.mean(squares))) if squares else float("nan")
        values = {"markers": filled, "samples": sum(filled.values()), "longest": longest, "error": 1e3 * error}
        findings.append(Finding.of("marker-gaps-filled", "markers", **values))
    if lost:
        findings.append(Finding.of("marker-gaps-left", "markers", markers=lost, longest=longest))
    return found, findings


def _gaps(missing: np.ndarray) -> list[Gap]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], missing, [False]]).astype(np.int8)))
    return [Gap(int(first), int(last)) for first, last in zip(edges[::2], edges[1::2], strict=True)]


def _is_seen(missing: np.ndarray, gap: Gap, around: int) -> bool:
    """Whether enough samples are seen on both sides of a gap: half of those that its polynomial would go through."""
    before, after = missing[max(0, gap.first - around) : gap.first], missing[gap.last : gap.last + around]
    return bool(min(np.count_nonzero(~before), np.count_nonzero(~after)) >= GAPS.around // 2)


def _across(time: Array, places: Array, gap: Gap) -> Array:
    """Places of a marker in a gap [m], shape (samples, 3): a polynomial through the samples on both sides."""
    samples = gap.last - gap.first
    around = max(GAPS.around, samples)
    rows = np.r_[max(0, gap.first - around) : gap.first, gap.last : min(len(time), gap.last + around)]
    rows = rows[np.isfinite(places[rows, 0])]
    middle, half = 0.5 * (time[rows[0]] + time[rows[-1]]), 0.5 * (time[rows[-1]] - time[rows[0]])
    degree = min(GAPS.degree, len(rows) - 1)
    powers = np.vander((time[rows] - middle) / half, degree + 1)
    coefficients = np.linalg.lstsq(powers, places[rows], rcond=None)[0]
    return np.asarray(np.vander((time[gap.first : gap.last] - middle) / half, degree + 1) @ coefficients)


def _errors(time: Array, places: Array, missing: np.ndarray, gaps: Sequence[Gap]) -> list[float]:
    """Squares of errors [m^2] of gaps of the same lengths, made where the marker was seen."""
    found = []
    for length in sorted({gap.last - gap.first for gap in gaps}):
        around = max(GAPS.around, length)
        whole = length + 2 * around
        starts = np.flatnonzero(_all_seen(missing, whole))
        for start in starts[:: max(1, len(starts) // GAPS.trials)].tolist():
            gap = Gap(start + around, start + around + length)
            difference = _across(time, places, gap) - places[gap.first : gap.last]
            found += np.sum(difference**2, axis=1).tolist()
    return found


def _all_seen(missing: np.ndarray, width: int) -> np.ndarray:
    """Whether so many samples from each on are all seen, shape (samples - width + 1,)."""
    if len(missing) < width:
        return np.zeros(0, dtype=bool)
    counts = np.concatenate([[0], np.cumsum(missing)])
    return counts[width:] == counts[:-width]
