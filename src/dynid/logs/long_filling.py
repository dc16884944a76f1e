"""Missing cells of long logs: what `filled` does to a log in memory, block by block.

How gaps of a column are interpolated, all its samples say; so they are looked at first, in blocks, and samples at the
places of the trials are kept. Blocks are then filled with as many samples around them as polynomials need.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs import missing_cells as cells
from dynid.logs.long_time import filled_time, in_blocks
from dynid.logs.readers.column_store import Column, ColumnStore, quantile_of
from dynid.logs.readers.source import RecordingError

AROUND = 64
"""Samples around a block that are looked at first; more where many of them are missing."""


@dataclass(frozen=True, eq=False)
class LongSignals:
    """Time and signals of a long log, in SI units.

    Attributes:
        store: Where new columns go.
        time: Time stamps [s].
        signals: Columns by role.
        names: Names of the columns by role, and of time.
        missing: Of joints whose torques were not all measured, which were not (1.0, otherwise 0.0).
        first: The first of the samples that were read.
        findings: What was noticed.
    """

    store: ColumnStore
    time: Column
    signals: Mapping[str, tuple[Column, ...]]
    names: Mapping[str, Sequence[str]]
    missing: Mapping[int, Column] = field(default_factory=dict)
    first: int = 0
    findings: tuple[Finding, ...] = ()


def filled_on_disk(log: LongSignals) -> LongSignals:
    """The log without missing cells and rows in long gaps, as `filled` gives it.

    Raises:
        RecordingError: If no rows remain.
    """
    count, names = len(log.time), log.names
    holes = {role: [_holes(column) for column in columns] for role, columns in log.signals.items()}
    lost = _holes(log.time)
    counts = {str(names["time"][0]): lost} if lost else {}
    for role, own in holes.items():
        counts |= {str(names[role][k]): n for k, n in enumerate(own) if n}
    if not counts:
        return log
    filling = _Filling(log.store, filled_time(log.store, log.time))
    for role, columns in log.signals.items():
        filling.add(role, columns, holes[role])
    rows = int(np.count_nonzero(~filling.out))
    if not rows:
        raise RecordingError(log.store.path, "no row holds a stamp and all positions; choose other columns")
    first = int(np.argmin(filling.out))
    found = filling.kept(replace(log, first=log.first + first))
    n = len(log.signals["torque"])
    unmeasured = {k: int(sum(block.sum() for _, block in column.blocks())) for k, column in found.missing.items()}
    share = (rows * n - sum(unmeasured.values())) / max(count * n, 1)
    note = cells.finding_on_cells(counts, count, rows, share)
    missing = found.missing if any(unmeasured.values()) else {}
    return replace(found, missing=missing, findings=(*log.findings, note, *filling.notes))


def without_rows(log: LongSignals, out: cells.Mask) -> LongSignals:
    """The log without some of its rows."""
    if not out.any():
        return log

    def kept(column: Column) -> Column:
        def rows(first: int, last: int) -> Array:
            return column.read(first, last)[~out[first:last]]

        found = log.store.made(in_blocks(len(column), rows))
        log.store.without(column)
        return found

    signals = {role: tuple(map(kept, columns)) for role, columns in log.signals.items()}
    missing = {k: kept(column) for k, column in log.missing.items()}
    return replace(log, time=kept(log.time), signals=signals, missing=missing)


def _holes(column: Column) -> int:
    return sum(len(block) - int(np.count_nonzero(np.isfinite(block))) for _, block in column.blocks())


class _Filling:
    """What was filled so far; rows without a stamp are out from the beginning."""

    def __init__(self, store: ColumnStore, time: Column) -> None:
        self.store, self.time = store, time
        self.out: cells.Mask = np.concatenate([~np.isfinite(block) for _, block in time.blocks()])
        self.signals: dict[str, tuple[Column, ...]] = {}
        self.missing: dict[int, Column] = {}
        self.notes: list[Finding] = []

    def add(self, role: str, columns: Sequence[Column], holes: Sequence[int]) -> None:
        worst = max(holes) / len(self.time)
        if role == "velocity" and worst > cells.GAPS.left_out:
            self.notes.append(Finding.of("velocities-missing", "velocities", share=worst))
            return
        if role == "temperature" and worst == 1.0:
            self.notes.append(Finding.of("temperatures-missing", "temperatures"))
            return
        filled = list(columns)
        for k, column in enumerate(columns):
            if holes[k]:
                filled[k] = self._filled(role, column)
                if role == "torque":
                    flags = in_blocks(len(column), lambda a, b, of=column: (~np.isfinite(of.read(a, b))).astype(float))
                    self.missing[k] = self.store.made(flags)
        self.signals[role] = tuple(filled)

    def kept(self, log: LongSignals) -> LongSignals:
        """The log with the rows that are not out."""
        return without_rows(replace(log, time=self.time, signals=self.signals, missing=self.missing), self.out)

    def _filled(self, role: str, column: Column) -> Column:
        samples = _Samples(self.time, column, self.out)
        everywhere = role in ("torque", "temperature")
        facts = samples.facts(turns=role == "position", judged=not everywhere)
        too_long = np.zeros(len(column), dtype=bool)

        def block(first: int, last: int) -> Array:
            values = column.read(first, last)
            if np.isfinite(values).all() and not self.out[first:last].any():
                return values
            begin, time, values = samples.around(first, last)
            holes = ~np.isfinite(values) | self.out[begin : begin + len(values)]
            some = cells.GappedColumn(time, values, holes, turns=False, facts=facts, first=begin)
            own = slice(first - begin, last - begin)
            if everywhere:
                return some.across_all_gaps()[own]
            found, is_long = some.across_short_gaps()
            too_long[first:last] = is_long[own]
            return found[own]

        found = self.store.made(in_blocks(len(column), block))
        self.out |= too_long
        return found


@dataclass(frozen=True, eq=False)
class _Samples:
    """The samples of a column that are there."""

    time: Column
    column: Column
    out: cells.Mask

    def blocks(self) -> Iterator[tuple[np.ndarray, Array]]:
        """Rows and values of samples, block by block, each with the last sample of the block before."""
        last = np.zeros(0, dtype=int), np.zeros(0)
        for first, block in self.column.blocks():
            there = np.flatnonzero(np.isfinite(block) & ~self.out[first : first + len(block)])
            rows, values = np.append(last[0], first + there), np.append(last[1], block[there])
            if len(there):
                yield rows, values
                last = rows[-1:], values[-1:]

    def steps(self) -> Iterator[Array]:
        yield from (np.diff(rows).astype(float) for rows, _ in self.blocks())

    def moves(self) -> Iterator[Array]:
        yield from (np.abs(np.diff(values)) for _, values in self.blocks())

    def facts(self, *, turns: bool, judged: bool) -> cells.ColumnFacts:
        """What the samples say about gaps, and how well they are interpolated; judged where gaps may be too long."""
        count, lengths, advances = 0, set[int](), True
        for rows, _ in self.blocks():
            apart = np.diff(rows)
            lengths |= set(np.unique(apart[apart > 1] - 1).tolist())
            count += len(apart)
            stamps = self.time.read(int(rows[0]), int(rows[-1]) + 1)[rows - rows[0]]
            advances = advances and bool((np.diff(stamps) > 0.0).all())
        step = quantile_of(self.steps, count, 0.5) if count else 1.0
        wraps = turns and any((moves > math.pi).any() for moves in self.moves())
        unwraps = wraps and quantile_of(self.moves, count, 0.5) < 1.0
        facts = cells.ColumnFacts(step, unwraps, advances)
        sizes = {1, *(cells.left_out(length, step) for length in lengths)}
        return self._tried(facts, count + 1, sorted(size for size in sizes if size <= cells.GAPS.longest), judged)

    def _tried(self, facts: cells.ColumnFacts, count: int, sizes: Sequence[int], judged: bool) -> cells.ColumnFacts:
        """Facts with the best interpolation of each size of gaps."""
        spans = [(size, points) for size in sizes for points in cells.POINTS]
        starts = [cells.trial_starts(size, points, count)[:, None] + np.arange(size + points) for size, points in spans]
        wanted = np.unique(np.concatenate([start.ravel() for start in starts]))
        rows, x, stamps = np.zeros(len(wanted), dtype=int), np.zeros(len(wanted)), np.zeros(len(wanted))
        before, squares, even, last = -1, 0.0, 0, (np.zeros(0, dtype=int), np.zeros(0))
        for own, raw in self.blocks():
            values = np.unwrap(np.append(last[1][-1:], raw[len(last[1][-1:]) :])) if facts.unwraps else raw
            before = max(before, 0)  # index of the first of these samples
            chosen = slice(*np.searchsorted(wanted, [before, before + len(own)]).tolist())
            at = wanted[chosen] - before
            rows[chosen], x[chosen] = own[at], values[at]
            near = self.time.read(int(own[0]), int(own[-1]) + 1)[own - own[0]]
            stamps[chosen] = np.where(np.isfinite(near), near, 0.0)[at]
            longer = np.append(last[0][-2:-1], own), np.append(last[1][-2:-1], values)
            steps = np.diff(longer[1], 2)[np.diff(longer[0], 2) == 0]
            squares, even = squares + float(np.square(steps).sum()), even + len(steps)
            before, last = before + len(own) - 1, (longer[0][-2:], longer[1][-2:])
        values_at, rows_at, *clocks = (
            lambda at, of=of: of[np.searchsorted(wanted, at)] for of in (x, rows, rows.astype(float), stamps)
        )
        clocks = clocks if facts.advances else clocks[:1]
        best = {size: cells.best_interpolation(size, count, facts.step, values_at, rows_at, clocks) for size in sizes}
        curvature = math.sqrt(squares / even) if even else 0.0
        return replace(facts, best=best, allowed=cells.allowed_error(curvature, best[1][0]) if judged else math.nan)

    def around(self, first: int, last: int) -> tuple[int, Array, Array]:
        """A block with the samples that interpolate its gaps: its first row, stamps and values."""
        enough, near, count = max(cells.POINTS) // 2, AROUND, len(self.column)
        while True:
            begin, end = max(first - near, 0), min(last + near, count)
            values = self.column.read(begin, end)
            there = np.isfinite(values) & ~self.out[begin:end]
            is_known = begin == 0 or np.count_nonzero(there[: first - begin]) >= enough
            if is_known and (end == count or np.count_nonzero(there[last - begin :]) >= enough):
                return begin, self.time.read(begin, end), values
            near *= 4
