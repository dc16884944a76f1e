"""What `mended` does, for long logs: angles without wraps, and samples that are held."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.coarse_clock import CLOCK, standing_still, with_spread_stamps
from dynid.logs.held_samples import HOLD, HOLDABLE, WINDOW, finding_on_held, is_regular
from dynid.logs.long_filling import LongSignals, without_rows
from dynid.logs.long_time import in_blocks
from dynid.logs.mending import limits_of_turning
from dynid.logs.readers.column_store import BLOCK, Column, ColumnStore, quantile_of
from dynid.logs.settings import Drive, Processing
from dynid.logs.stored_log import StoredLog
from dynid.logs.wrapped_angles import TURN, WRAP, possible_jumps, revolution
from dynid.robot import Robot


class NotStoredError(Exception):
    """Why a log is read into memory as a whole."""


def mended_on_disk(
    log: StoredLog, store: ColumnStore, robot: Robot, drive: Drive | None, processing: Processing | None
) -> StoredLog:
    """The log without wrapped angles; arguments are those of `mended`.

    Raises:
        NotStoredError: If its samples are held, and may be taken once.
    """
    log = _without_wraps(log, store, robot, drive)
    runs = {role: run for role in HOLDABLE if role in log.signals and (run := _run_of(log.signals[role])) is not None}
    if not runs:
        return log
    may_change = "resample" in (processing or Processing()).free()
    if may_change:
        raise NotStoredError("signals are held for several samples, of which one is taken")
    span = log.time.read(len(log) - 1)[0] - log.time.read(0, 1)[0]
    note = finding_on_held(runs, (len(log) - 1) / max(float(span), 1e-300), may_change)
    return replace(log, findings=(*log.findings, note))


def advancing_on_disk(log: LongSignals) -> LongSignals:
    """The log with stamps that always advance, as `with_advancing_time` gives it.

    Only where stamps repeat, all of them are held in memory.
    """
    steps = (np.diff(block) for _, block in log.time.blocks(before=1))
    signs = {sign for step in steps for sign in (-1, 0, 1) if (np.sign(step) == sign).any()}
    if signs != {0, 1} or standing_still(time := log.time.read()).any():
        return log
    again = np.flatnonzero(np.diff(time) == 0.0) + 1
    same = np.ones(len(again), dtype=bool)
    for column in (column for columns in log.signals.values() for column in columns):
        for first, block in column.blocks(before=1):
            own = slice(*np.searchsorted(again, [first, first + BLOCK]).tolist())
            at = again[own] - max(first - 1, 0)
            same[own] &= block[at] == block[at - 1]
    if same.mean() >= CLOCK.written_twice:
        out = np.zeros(len(time), dtype=bool)
        out[again[same]] = True
        note = Finding.of("samples-repeated", "time", count=int(same.sum()))
        return advancing_on_disk(replace(without_rows(log, out), findings=(*log.findings, note)))
    time, note = with_spread_stamps(time)
    column = log.store.made(in_blocks(len(time), lambda first, last: time[first:last]))
    return replace(log, time=column, findings=(*log.findings, note))


def _without_wraps(log: StoredLog, store: ColumnStore, robot: Robot, drive: Drive | None) -> StoredLog:
    """What `without_wraps` does."""
    jump = [_jumps(column) for column in log.signals["position"]]
    if len(log) - 1 < 4 * WRAP.around or not any(jump):
        return log

    def steps() -> Iterator[Array]:
        yield from (np.diff(block) for _, block in log.time.blocks(before=1))

    gap = WRAP.gap * quantile_of(steps, len(log) - 1, 0.5)
    position, found = list(log.signals["position"]), {}
    turning = zip(robot.independent_joints, limits_of_turning(robot, drive), strict=True)
    for k, (joint, limits) in enumerate(turning):
        if limits is None or not jump[k]:
            continue
        at, turns = _turns(position[k], log.time, gap)
        if len(at):
            whole = _turned(position[k], store, at, turns)
            back = -TURN * revolution(*ends_of(whole), limits)
            position[k], found[joint.name] = replace(whole, shift=back), len(at)
    if not found:
        return log
    note = Finding.of("positions-wrapped", "positions", joints=found)
    return replace(log, signals={**log.signals, "position": tuple(position)}, findings=(*log.findings, note))


def _jumps(column: Column) -> bool:
    """Whether any position is more than half a revolution from the one before."""
    return any((np.abs(np.diff(block)) > math.pi).any() for _, block in column.blocks(before=1))


def ends_of(column: Column) -> tuple[float, float]:
    """The smallest and the largest number of a column."""
    ends = np.array([(block.min(), block.max()) for _, block in column.blocks()])
    return float(ends[:, 0].min()), float(ends[:, 1].max())


def _turns(q: Column, time: Column, gap: float) -> tuple[np.ndarray, Array]:
    """Steps at which an angle jumps, and by how many revolutions; as `jumps_in` finds them."""
    nothing = np.zeros(0, dtype=int), np.zeros(0)
    count = sum(len(steps) for steps in _moving(q))
    if not count or quantile_of(lambda: _moving(q), count, 0.5) > WRAP.fastest:
        return nothing
    found, n = [nothing], WRAP.around
    in_gaps = [np.zeros(0, dtype=bool)]
    for first in range(0, len(q) - 1, BLOCK):  # steps, each of which is between a sample and the next
        last = min(first + BLOCK, len(q) - 1)
        begin, end = max(first - n, 0), min(last + n, len(q) - 1)
        steps = np.pad(np.diff(q.read(begin, end + 1)), (n - (first - begin), n - (end - last)), mode="edge")
        at, turns = possible_jumps(steps)
        found.append((first + at, turns))
        in_gaps.append(np.diff(time.read(first, last + 1))[at] > gap)
    at, turns = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return nothing if np.concatenate(in_gaps).all() else (at, turns)


def _moving(q: Column) -> Iterator[Array]:
    """Steps of a joint that moves, without their signs."""
    for _, block in q.blocks(before=1):
        steps = np.abs(np.diff(block))
        yield steps[steps != 0.0]


def _turned(q: Column, store: ColumnStore, at: np.ndarray, turns: Array) -> Column:
    """An angle with jumps at some steps taken out."""
    since = np.concatenate([[0.0], np.cumsum(turns)])

    def whole(first: int, last: int) -> Array:
        return q.read(first, last) - TURN * since[np.searchsorted(at + 1, np.arange(first, last), side="right")]

    return store.made(in_blocks(len(q), whole))


def _run_of(signal: Sequence[Column]) -> float | None:
    """How many rows new values of a signal are apart where it is held, as `held_in` finds; None where it is not."""
    count = len(signal[0])
    new = []
    for first in range(0, count, max(WINDOW, count // 10)):
        steps = [np.diff(column.read(first, first + WINDOW)) for column in signal]
        new.append(np.any([step != 0.0 for step in steps], axis=0))
    if np.concatenate(new).mean() > 1.0 / HOLD.run:
        return None
    changes = np.array([sum(len(steps) for steps in _moving(column)) for column in signal])
    moving = [column for column, often in zip(signal, changes, strict=True) if often >= HOLD.refreshes]
    rows, runs, together = _runs(moving) if moving else (0, {}, np.zeros(0))
    if rows < HOLD.refreshes or rows > (count - 1) / HOLD.run:
        return None
    lengths, counts = np.array(sorted(runs)), np.array([runs[length] for length in sorted(runs)])
    middle = np.searchsorted(np.cumsum(counts), [(rows - 2) // 2, (rows - 1) // 2], side="right")
    usual = lengths <= HOLD.rest * lengths[middle].mean()
    run = float(np.average(lengths[usual], weights=counts[usual]))
    if run < HOLD.run or np.average(is_regular(lengths[usual], run), weights=counts[usual]) < HOLD.regular:
        return None
    coarse = [_is_coarse(column) for column in moving]
    return None if np.median(together) < HOLD.together or 2 * sum(coarse) > len(coarse) else run


def _runs(signal: Sequence[Column]) -> tuple[int, dict[int, int], Array]:
    """Rows with new values: how many, how many of them are how far apart, and in what share of them each is new."""
    rows, last, runs, each = 0, -1, dict[int, int](), np.zeros(len(signal))
    count = len(signal[0])
    for first in range(0, count - 1, BLOCK):
        changed = np.array([np.diff(column.read(first, first + BLOCK + 1)) != 0.0 for column in signal])
        at = np.flatnonzero(changed.any(axis=0))
        each += changed.sum(axis=1)
        apart = np.diff(first + at, prepend=[last] if last >= 0 else [])
        for length, often in zip(*np.unique(apart, return_counts=True), strict=True):
            runs[int(length)] = runs.get(int(length), 0) + int(often)
        rows, last = rows + len(at), int(first + at[-1]) if len(at) else last
    return rows, runs, each / max(rows, 1)


def _is_coarse(column: Column) -> bool:
    """Whether a signal changes by single counts."""
    count = sum(len(steps) for steps in _moving(column))
    upper, lower = (quantile_of(lambda: _moving(column), count, share) for share in (0.75, 0.02))
    return upper < HOLD.counts * lower
