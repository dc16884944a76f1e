"""Cells of a log that hold no number: what can be interpolated is, what was not measured does not count.

A column is interpolated by polynomials through the samples on both sides of a gap. How many samples, and whether the
gap is short enough, the column itself shows: samples that are there are left out in the same way and compared.
Positions and velocities whose gaps are too long for that end a segment of the log. Torques are needed between measured
ones only because filters run over them, so they are interpolated across every gap, and their rows do not count.
Commands are logged when they change, and act until the next one: their cells are not missing, but held.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.findings import Finding, Severity
from dynid.logs.settings import COMMANDS

Mask = NDArray[np.bool_]

POINTS = (2, 4, 6, 8, 10)
"""Samples that polynomials go through, half of them on each side of a gap."""

TRIALS = 400
"""Places of a column at which samples are left out to see how well they are interpolated."""


UNBROKEN = 1.5
"""Length of a part of a column, in its usual steps, up to which it has no long gap."""

TILE = 8192
"""Samples that are looked at together."""


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
        missing: Torques that were not measured, shape (samples, joints); None where all were. Without torques, where
            the motion was not measured that a control law answers.
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
            missing.
        names: Names of the columns of each signal, and of "time"; those of commands are not needed.

    Raises:
        InvalidRequestError: If the positions of a joint were not measured at all.
    """
    signals = {name: held(values) if name in COMMANDS else values for name, values in signals.items()}
    if all(_is_whole(values) for values in (time, *signals.values())):
        return Filled(time, dict(signals))
    holes = {name: ~np.isfinite(values) for name, values in signals.items()}
    lost = ~np.isfinite(time)
    counts = {str(names["time"][0]): int(lost.sum())} if lost.any() else {}
    for name, hole in holes.items():
        counts |= {str(names[name][k]): int(n) for k, n in enumerate(hole.sum(axis=0).tolist()) if n}
    empty = next((names["position"][k] for k in np.flatnonzero(holes["position"].all(axis=0)).tolist()), None)
    if empty is not None and len(time):
        raise InvalidRequestError(
            f"{empty} holds nothing but NaN, Inf or missing values: the joint's motion was not measured; lock or leave "
            "out the joint"
        )
    torque = signals.get("torque", signals["position"])
    found = _Filling(filled_stamps(time), {}, np.zeros(torque.shape, dtype=bool), "torque" in signals)
    for name, values in signals.items():
        found.add(name, values, holes[name])
    rows = np.flatnonzero(~found.out)
    share = float(np.count_nonzero(~found.missing[rows]) / max(found.missing.size, 1))
    notes = [finding_on_cells(counts, len(time), len(rows), share), *found.notes]
    missing = found.missing[rows]
    whole = len(rows) == len(time)
    return Filled(
        found.time[rows],
        {name: values if whole else values[rows] for name, values in found.signals.items()},
        missing if missing.any() else None,
        None if whole else rows,
        tuple(notes),
    )


def held(values: Array) -> Array:
    """Commands that are held until the next one; the first one also before it.

    Args:
        values: Commands, shape (samples, columns), with NaN or infinite numbers where there is no new one. Columns
            without any number stay as they are.

    >>> held(np.array([[np.nan], [1.0], [np.nan], [2.0]])).T.tolist()
    [[1.0, 1.0, 1.0, 2.0]]
    """
    if _is_whole(values):
        return values
    good = np.isfinite(values)
    last = np.maximum.accumulate(np.where(good, np.arange(len(values))[:, None], good.argmax(axis=0)), axis=0)
    return np.take_along_axis(values, last, axis=0)


def finding_on_cells(counts: Mapping[str, int], samples: int, rows: int, share: float) -> Finding:
    """A finding on missing cells.

    Args:
        counts: How many are missing of each column that misses some.
        samples: Samples of the log.
        rows: Those that are left.
        share: Share of the torques that count.
    """
    severity = Severity.WARNING if share < GAPS.counting else None
    found = {"cells": sum(counts.values()), "columns": dict(counts), "rows": samples - rows, "samples": samples}
    return Finding.of("cells-missing", "log", severity, **found, share=share)


def _is_whole(values: Array) -> bool:
    """Whether all numbers are finite; looked at in tiles, because logs may be too long for another copy."""
    return all(np.isfinite(values[first : first + TILE]).all() for first in range(0, len(values), TILE))


def filled_stamps(time: Array) -> Array:
    """Stamps with those that are missing between others interpolated, as even ones are; NaN where gaps are long."""
    if _is_whole(time):
        return time
    good = np.isfinite(time)
    if not good.any():
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
    has_torques: bool = True
    out: Mask = field(init=False)
    notes: list[Finding] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.out = ~np.isfinite(self.time)

    def add(self, name: str, values: Array, holes: Mask) -> None:
        if not holes.any():
            self.signals[name] = values
            return
        worst = float(holes.mean(axis=0).max())
        if name == "velocity" and worst > GAPS.left_out:
            self.notes.append(Finding.of("velocities-missing", "velocities", share=worst))
            return
        if name == "temperature" and worst == 1.0:
            self.notes.append(Finding.of("temperatures-missing", "temperatures"))
            return
        values = np.array(values)
        self.signals[name] = values
        for k in np.flatnonzero(holes.any(axis=0)).tolist():
            column = GappedColumn(self.time, values[:, k], holes[:, k] | self.out, turns=name == "position")
            if name in ("torque", "temperature"):
                values[:, k] = column.across_all_gaps()
            else:
                values[:, k], too_long = column.across_short_gaps()
                self.out |= too_long
            if name == "torque" or (not self.has_torques and name in ("position", "velocity")):
                self.missing[:, k] |= holes[:, k]


@dataclass(frozen=True)
class ColumnFacts:
    """What all samples of a column say about its gaps.

    Attributes:
        step: Median number of rows from one sample to the next.
        unwraps: Whether it is an angle that is wrapped.
        advances: Whether time advances from each sample to the next.
        allowed: Error of interpolation up to which a gap is short.
        best: By size of gaps, the least error of interpolation, with how many samples, and on which clock.
    """

    step: float
    unwraps: bool
    advances: bool
    allowed: float = math.nan
    best: Mapping[int, tuple[float, int, int]] = field(default_factory=dict)


class GappedColumn:
    """One signal with missing samples, or some rows of one; an angle may be wrapped.

    Args:
        time: Time stamps [s], shape (samples,).
        values: The signal, shape (samples,).
        holes: Which samples are missing, shape (samples,).
        turns: Whether it is an angle.
        facts: What all samples say, where these are some rows only.
        first: The first of the rows.
    """

    def __init__(
        self, time: Array, values: Array, holes: Mask, *, turns: bool, facts: ColumnFacts | None = None, first: int = 0
    ) -> None:
        self.holes = holes
        self.good = np.flatnonzero(~holes)
        self.values = values
        self.x = values[self.good]
        self._facts = facts or self._looked_at(time, turns)
        if self._facts.unwraps:
            self.x = np.unwrap(self.x)
        self.step = self._facts.step
        # Stamps that are rounded are less even than samples.
        self.clocks = [np.arange(first, first + len(values), dtype=float)]
        if self._facts.advances:
            self.clocks.append(np.where(np.isfinite(time), time, 0.0))
        self._known = dict(self._facts.best)

    def _looked_at(self, time: Array, turns: bool) -> ColumnFacts:
        steps = np.abs(np.diff(self.x)) if turns else np.zeros(0)
        step = float(np.median(np.diff(self.good))) if len(self.good) > 1 else 1.0
        unwraps = bool((steps > math.pi).any() and np.median(steps) < 1.0)
        return ColumnFacts(step, unwraps, bool((np.diff(time[self.good]) > 0.0).all()))

    def across_all_gaps(self) -> Array:
        """The signal with every gap filled: short ones as well as can be, long ones by a line, ends by the nearest.

        Zero where nothing was measured at all.
        """
        if not len(self.good):
            return np.zeros(len(self.values))
        found = np.interp(np.arange(len(self.values)), self.good, self.x)
        for length, firsts in self._gaps():
            if self._left_out(length) <= GAPS.longest:
                self._interpolate(found, firsts, length)
        return found

    def across_short_gaps(self) -> tuple[Array, Mask]:
        """The signal with short gaps filled, and which samples are in longer gaps or at the ends."""
        found, too_long = np.where(self.holes, 0.0, self.values), self.holes.copy()
        allowed = self._allowed()
        for length, firsts in self._gaps():
            size = self._left_out(length)
            if size <= GAPS.longest and self._best(size)[0] <= allowed:
                self._interpolate(found, firsts, length)
                too_long[firsts[:, None] + np.arange(length)] = False
        return found, too_long

    def _gaps(self) -> Iterator[tuple[int, np.ndarray]]:
        """Gaps that are not at the ends: each length, with where gaps of that length begin."""
        edges = np.array([run for run in runs_of(self.holes) if run[0] > 0 and run[1] < len(self.values)], dtype=int)
        lengths = edges[:, 1] - edges[:, 0] if len(edges) else np.zeros(0, dtype=int)
        yield from ((length, edges[lengths == length, 0]) for length in np.unique(lengths).tolist())

    def _left_out(self, length: int) -> int:
        return left_out(length, self.step)

    def _allowed(self) -> float:
        """Error of interpolation up to which a gap is short."""
        if not math.isnan(self._facts.allowed):
            return self._facts.allowed
        steps = np.diff(self.x, 2)[np.diff(self.good, 2) == 0]
        return allowed_error(float(np.sqrt(np.mean(steps**2))) if len(steps) else 0.0, self._best(1)[0])

    def _best(self, size: int) -> tuple[float, int, int]:
        """Least error (root mean square) of interpolated gaps of a size, with how many samples, and on which clock."""
        if size not in self._known:
            samples = (lambda at: self.x[at]), (lambda at: self.good[at])
            clocks = [(lambda at, clock=clock: clock[self.good[at]]) for clock in self.clocks]
            self._known[size] = best_interpolation(size, len(self.good), self.step, *samples, clocks)
        return self._known[size]

    def _interpolate(self, found: Array, firsts: np.ndarray, length: int) -> None:
        """Fill gaps of a length, in place, by polynomials through the nearest samples on their two sides."""
        _, points, k = self._best(self._left_out(length))
        places, clock = np.searchsorted(self.good, firsts), self.clocks[k]
        room = np.minimum(places, len(self.good) - places)  # samples on the side that has fewer
        for half in range(1, points // 2 + 1):
            mine = room == half if half < points // 2 else room >= half
            near = places[mine][:, None] + np.arange(-half, half)
            rows = firsts[mine][:, None] + np.arange(length)
            wraps = (self.x[places[mine] - 1] - self.values[firsts[mine] - 1])[:, None]
            found[rows] = _polynomial(clock[self.good[near]], self.x[near], clock[rows]) - wraps


def left_out(length: int, step: float) -> int:
    """How many samples of a column, as often as it has them, a gap of so many rows leaves out."""
    return max(1, int(np.ceil((length + 1) / step - 1e-9)) - 1)


def allowed_error(curvature: float, single: float) -> float:
    """Error of interpolation up to which a gap is short, by second differences and the error of single samples."""
    return max(GAPS.noise * single if np.isfinite(single) else 0.0, GAPS.curvature * curvature)


At = Callable[[np.ndarray], np.ndarray]
"""Something of the samples of a column that are there, by their indexes among these."""


def trial_starts(size: int, points: int, count: int) -> np.ndarray:
    """First samples of the places all over a column at which so many are left out and others interpolate them."""
    span = size + points
    return np.unique(np.linspace(0, count - span, TRIALS).astype(int)) if count >= span else np.zeros(0, dtype=int)


def best_interpolation(
    size: int, count: int, step: float, x: At, rows: At, clocks: Sequence[At]
) -> tuple[float, int, int]:
    """Least error (root mean square) of interpolated gaps, with how many samples, and on which clock.

    Samples that are there are left out, so many in a row, at places all over the column.

    Args:
        size: Samples in a gap.
        count: Samples that are there.
        step: Median number of rows from one to the next.
        x: Their values.
        rows: Their rows.
        clocks: Their stamps on each clock.
    """

    def error(points: int, clock: At) -> float:
        half, span = points // 2, size + points
        starts = trial_starts(size, points, count)
        lengths = rows(starts + span - 1) - rows(starts)
        starts = starts[lengths <= UNBROKEN * (span - 1) * step][:, None]
        if not len(starts):
            return np.inf
        own = starts + np.arange(half, half + size)
        others = starts + np.concatenate([np.arange(half), np.arange(half + size, span)])
        found = _polynomial(clock(others), x(others), clock(own))
        return float(np.sqrt(np.mean((found - x(own)) ** 2)))

    return min((error(points, clock), points, k) for points in POINTS for k, clock in enumerate(clocks))


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
