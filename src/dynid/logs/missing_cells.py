"""Cells of a log that hold no number: what can be interpolated is, what was not measured does not count.

A column is interpolated by polynomials through the samples on both sides of a gap. How many samples, and whether the
gap is short enough, the column itself shows: samples that are there are left out in the same way and compared.
Positions and velocities whose gaps are too long for that end a segment of the log. Torques are needed between measured
ones only because filters run over them, so they are interpolated across every gap, and their rows do not count.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.findings import Finding, Severity

Mask = NDArray[np.bool_]

POINTS = (2, 4, 6, 8, 10)
"""Samples that polynomials go through, half of them on each side of a gap."""

TRIALS = 200
"""Places of a column at which samples are left out to see how well they are interpolated."""


@dataclass(frozen=True)
class GapThresholds:
    """Which gaps are interpolated, and what counts as measured."""

    longest: int = 20
    """Samples of a column in a row that are interpolated at most, as periods of gaps of time (`LONGEST_GAP`). By
    judgement; how many are interpolated in fact, the errors below decide."""

    noise: float = 3.0
    """Error of interpolated samples, relative to that of single ones, up to which a gap is short: interpolation of a
    single sample is wrong by little more than the noise of its neighbours. By judgement; tested on exact and noisy
    logs in `tests/logs/test_missing_cells.py`."""

    curvature: float = 1e-3
    """The same relative to the second differences of the column, from which accelerations come: an error below it
    changes them by less than 1 % next to the gap, and nothing elsewhere. By judgement; tested likewise."""

    left_out: float = 0.5
    """Share of missing velocities above which they are not used: positions are differentiated. By judgement."""

    counting: float = 0.9
    """Share of rows that count below which missing cells are a warning. By judgement."""


GAPS = GapThresholds()


@dataclass(frozen=True, eq=False)
class Filled:
    """Signals of a log without missing cells.

    Attributes:
        time: Time stamps [s], shape (samples,).
        signals: Signals by name, shape (samples, columns); without those that are hardly measured.
        missing: Torques that were not measured, shape (samples, joints); None where all were.
        rows: Which rows of the log these are, shape (samples,); None for all.
        findings: What was missing.
    """

    time: Array
    signals: dict[str, Array]
    missing: Mask | None = None
    rows: np.ndarray | None = None
    findings: tuple[Finding, ...] = ()


def filled(time: Array, signals: Mapping[str, Array], names: Mapping[str, Sequence[str]]) -> Filled:
    """Interpolate what is missing in short gaps, and leave out the rows of long ones.

    Args:
        time: Time stamps [s], shape (samples,); NaN where they are missing, and in no order where time is reset.
        signals: "position", "torque" and others, shape (samples, columns), with NaN or infinite numbers where a cell is
            missing; each column has a number.
        names: Names of the columns of each signal, and of "time".
    """
    holes = {name: ~np.isfinite(values) for name, values in signals.items()}
    lost = ~np.isfinite(time)
    if not lost.any() and not any(hole.any() for hole in holes.values()):
        return Filled(time, dict(signals))
    counts = {str(names["time"][0]): int(lost.sum())} if lost.any() else {}
    for name, hole in holes.items():
        counts |= {str(names[name][k]): int(n) for k, n in enumerate(hole.sum(axis=0).tolist()) if n}
    found = _Filling(filled_stamps(time), {}, np.zeros(signals["torque"].shape, dtype=bool))
    for name, values in signals.items():
        found.add(name, values, holes[name])
    rows = np.flatnonzero(~found.out)
    share = float(np.count_nonzero(~found.missing[rows]) / max(found.missing.size, 1))
    note = Finding.of(
        "cells-missing",
        "log",
        Severity.WARNING if share < GAPS.counting else None,
        cells=sum(counts.values()),
        columns=counts,
        rows=len(time) - len(rows),
        samples=len(time),
        share=share,
    )
    notes = [note, *found.notes]
    missing = found.missing[rows]
    whole = len(rows) == len(time)
    return Filled(
        found.time[rows],
        {name: values if whole else values[rows] for name, values in found.signals.items()},
        missing if missing.any() else None,
        None if whole else rows,
        tuple(notes),
    )


def filled_stamps(time: Array) -> Array:
    """Stamps with those that are missing between others interpolated, as even ones are; NaN where gaps are long."""
    good = np.isfinite(time)
    if good.all() or not good.any():
        return time
    k = np.arange(len(time))
    found = np.where(good, time, np.interp(k, k[good], time[good], left=np.nan, right=np.nan))
    for first, last in runs_of(~good):
        if last - first > GAPS.longest:
            found[first:last] = np.nan
    return found


def runs_of(mask: Mask) -> Iterator[tuple[int, int]]:
    """First index and the one after the last of each run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


@dataclass(eq=False)
class _Filling:
    """What was filled so far; rows without a stamp are out from the beginning."""

    time: Array
    signals: dict[str, Array]
    missing: Mask
    out: Mask = field(init=False)
    notes: list[Finding] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.out = ~np.isfinite(self.time)

    def add(self, name: str, values: Array, holes: Mask) -> None:
        if not holes.any():
            self.signals[name] = values
            return
        if name == "velocity" and holes.mean() > GAPS.left_out:
            self.notes.append(Finding.of("velocities-missing", "velocities", share=float(holes.mean())))
            return
        values = np.array(values)
        self.signals[name] = values
        for k in np.flatnonzero(holes.any(axis=0)).tolist():
            column = _Column(self.time, values[:, k], holes[:, k] | self.out, turns=name == "position")
            if name in ("torque", "temperature"):
                values[:, k] = column.across_all_gaps()
            else:
                values[:, k], too_long = column.across_short_gaps()
                self.out |= too_long
            if name == "torque":
                self.missing[:, k] = holes[:, k]


class _Column:
    """One signal with missing samples; an angle may be wrapped."""

    def __init__(self, time: Array, values: Array, holes: Mask, *, turns: bool) -> None:
        self.holes = holes
        self.good = np.flatnonzero(~holes)
        self.values = values
        self.x = values[self.good]
        if turns and len(self.x) > 1 and np.median(np.abs(np.diff(self.x))) < 1.0:
            self.x = np.unwrap(self.x)
        self.step = float(np.median(np.diff(self.good))) if len(self.good) > 1 else 1.0
        self.clocks = [np.arange(len(values), dtype=float)]  # stamps that are rounded are less even than samples
        if bool((np.diff(time[self.good]) > 0.0).all()):
            self.clocks.append(np.where(np.isfinite(time), time, 0.0))
        self._known: dict[int, tuple[float, int, int]] = {}

    def across_all_gaps(self) -> Array:
        """The signal with every gap filled: short ones as well as can be, long ones by a line, ends by the nearest."""
        k = np.arange(len(self.values))
        found = np.interp(k, self.good, self.x)
        for first, last in runs_of(self.holes):
            size = self._left_out(first, last)
            if first > 0 and last < len(self.values) and size <= GAPS.longest:
                found[first:last] = self._interpolated(first, last, size)
        return found

    def across_short_gaps(self) -> tuple[Array, Mask]:
        """The signal with short gaps filled, and which samples are in longer gaps or at the ends."""
        found, too_long = np.where(self.holes, 0.0, self.values), np.zeros(len(self.values), dtype=bool)
        allowed = self._allowed()
        for first, last in runs_of(self.holes):
            size = self._left_out(first, last)
            is_inside = first > 0 and last < len(self.values)
            if is_inside and size <= GAPS.longest and self._best(size)[0] <= allowed:
                found[first:last] = self._interpolated(first, last, size)
            else:
                too_long[first:last] = True
        return found, too_long

    def _left_out(self, first: int, last: int) -> int:
        """How many samples of the column, as often as it has them, a gap leaves out."""
        return max(1, int(np.ceil((last - first + 1) / self.step - 1e-9)) - 1)

    def _allowed(self) -> float:
        """Error of interpolation up to which a gap is short."""
        if len(self.x) < 3:
            return 0.0
        curvature = float(np.sqrt(np.mean(np.diff(self.x, 2) ** 2)))
        return max(GAPS.noise * self._best(1)[0], GAPS.curvature * curvature)

    def _best(self, size: int) -> tuple[float, int, int]:
        """Least error (root mean square) of interpolated gaps of a size, with how many samples, and on which clock."""
        if size not in self._known:
            tried = [(self._error(size, n, clock), n, k) for n in POINTS for k, clock in enumerate(self.clocks)]
            self._known[size] = min(tried)
        return self._known[size]

    def _error(self, size: int, points: int, clock: Array) -> float:
        """Error (root mean square) of samples that are left out, so many in a row, at places all over the column."""
        half, span = points // 2, size + points
        if len(self.x) < span:
            return np.inf
        starts = np.unique(np.linspace(0, len(self.x) - span, TRIALS).astype(int))[:, None]
        own = starts + np.arange(half, half + size)
        others = starts + np.concatenate([np.arange(half), np.arange(half + size, span)])
        t = clock[self.good]
        return float(np.sqrt(np.mean((_polynomial(t[others], self.x[others], t[own]) - self.x[own]) ** 2)))

    def _interpolated(self, first: int, last: int, size: int) -> Array:
        """Values in a gap by the polynomial through the nearest samples on its two sides."""
        _, points, k = self._best(size)
        place, clock = int(np.searchsorted(self.good, first)), self.clocks[k]
        near = slice(max(0, place - points // 2), place + points // 2)
        rows, wraps = np.arange(first, last), self.x[place - 1] - self.values[first - 1]
        return _polynomial(clock[self.good[near]][None], self.x[near][None], clock[rows][None])[0] - wraps


def _polynomial(t: Array, x: Array, at: Array) -> Array:
    """Values of polynomials through points (Lagrange).

    Args:
        t: Stamps of the points, shape (polynomials, points).
        x: Their values, of the same shape.
        at: Stamps to evaluate at, shape (polynomials, places).

    Returns:
        Array of shape (polynomials, places).
    """
    middle = t.mean(axis=1, keepdims=True)
    scale = np.maximum(np.ptp(t, axis=1), 1e-300)[:, None]
    t, at = (t - middle) / scale, (at - middle) / scale
    found = np.zeros(at.shape)
    for i in range(t.shape[1]):
        others = np.delete(t, i, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = np.prod((at[:, :, None] - others[:, None]) / (t[:, i, None, None] - others[:, None]), axis=2)
        found += weight * x[:, i, None]
    return found
