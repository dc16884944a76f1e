"""Time stamps that repeat: rows that were written twice, or a clock that is coarser than the sampling."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dynid.arrays import Array, frozen
from dynid.findings import Finding, Severity
from dynid.logs.log import SIGNALS, Log


@dataclass(frozen=True)
class ClockThresholds:
    """When repeated stamps are those of a coarse clock, and when samples were even behind it.

    By judgement where a field does not state otherwise.
    """

    written_twice: float = 0.95
    """Share of the samples with a repeated stamp that also repeat all signals, from which rows were written twice:
    measured signals have noise, and do not repeat by chance."""

    coarse: float = 0.3
    """Share of repeated stamps from which the clock is coarser than the sampling; fewer are single late stamps, each of
    which is put between its neighbours."""

    off_line: float = 1.2
    """Distance of stamps from a straight line, in steps of the clock, up to which sampling was even: rounding moves a
    stamp by one step at most, and jitter of the sampling a little more."""

    gap: float = 2.5
    """Steps of time, in median steps of the clock, from which samples are missing."""

    frozen: int = 20
    """Samples with one stamp from which time stands still, where others have a fifth as many at most: a clock of 10 ms
    is written that often by logs of 2 kHz, but always."""


CLOCK = ClockThresholds()


def standing_still(time: Array) -> np.ndarray:
    """Which stamps repeat the one before because time stands still, and not because the clock is coarse."""
    first = np.flatnonzero(np.diff(time, prepend=-np.inf) != 0.0)
    counts = np.diff(first, append=len(time))
    still = counts > max(CLOCK.frozen, 5.0 * float(np.median(counts)))
    repeats = np.repeat(still, counts)
    repeats[first] = False
    return repeats


def with_advancing_time(log: Log) -> Log:
    """The log with stamps that always advance, where some repeat, but time neither goes backwards nor stands still.

    Samples that repeat all signals, too, are dropped. Otherwise the stamps are those of a clock that is coarser than
    the sampling, and are spread evenly between its steps. Either is said in the findings.
    """
    steps = np.diff(log.time)
    again = np.flatnonzero(steps == 0.0) + 1
    if not len(again) or (steps < 0.0).any() or not (steps > 0.0).any() or standing_still(log.time).any():
        return log
    same = np.all([_repeats(getattr(log, name), again) for name in SIGNALS], axis=0)
    if same.mean() >= CLOCK.written_twice:
        kept = log.at(np.setdiff1d(np.arange(len(log)), again[same]))
        return with_advancing_time(_noting(kept, Finding.of("samples-repeated", "time", count=int(same.sum()))))
    time, note = with_spread_stamps(log.time)
    return _noting(replace(log, time=frozen(time)), note)


def with_spread_stamps(stamps: Array) -> tuple[Array, Finding]:
    """Stamps of a coarse clock [s], shape (samples,), spread between its steps, and a finding on them."""
    time, is_even = _spread(stamps)
    steps = np.diff(stamps)
    clock, again = float(np.median(steps[steps > 0.0])), int(np.count_nonzero(steps == 0.0))
    values = {"share": again / len(stamps), "clock_ms": 1e3 * clock, "rate": 1.0 / float(np.median(np.diff(time)))}
    return time, Finding.of("time-clock-coarse", "time", Severity.NOTE if is_even else None, **values)


def _noting(log: Log, *notes: Finding) -> Log:
    return replace(log, findings=(*log.findings, *notes))


def _repeats(values: Array | None, rows: np.ndarray) -> np.ndarray:
    """Which rows equal the ones before them."""
    return np.ones(len(rows), dtype=bool) if values is None else (values[rows] == values[rows - 1]).all(axis=1)


def _spread(time: Array) -> tuple[Array, bool]:
    """Stamps between the steps of a clock, and whether sampling was even behind it."""
    first = np.flatnonzero(np.diff(time, prepend=-np.inf) > 0.0)  # of each group of equal stamps
    local = _between(time, first)
    if len(first) > (1.0 - CLOCK.coarse) * len(time):
        return local, False
    clock = float(np.median(np.diff(time[first])))
    cuts = first[np.flatnonzero(np.diff(time[first]) > CLOCK.gap * clock) + 1]
    edges = [0, *cuts.tolist(), len(time)]
    parts = [_even(time, first, begin, end, clock) for begin, end in pairwise(edges)]
    if any(part is None for part in parts):
        return local, False
    even = np.concatenate([part for part in parts if part is not None])
    return (even, True) if (np.diff(even) > 0.0).all() else (local, False)


def _even(time: Array, first: np.ndarray, begin: int, end: int, clock: float) -> Array | None:
    """Even stamps of the samples between two gaps; None where a line does not fit those of the clock.

    The first group of equal stamps is often cut off, so that it does not count.
    """
    groups = first[(first > begin) & (first < end)]
    if len(groups) < 3:
        return None
    slope, start = np.polyfit(groups - begin, time[groups] - time[begin], 1)
    line = time[begin] + start + slope * np.arange(end - begin)
    apart = np.abs(line[groups - begin] - time[groups])
    return line if slope > 0.0 and apart.max() <= CLOCK.off_line * clock else None


def _between(time: Array, first: np.ndarray) -> Array:
    """Stamps of each group spread up to the stamp of the next."""
    counts = np.diff(first, append=len(time))
    lengths = np.diff(time[first])
    lengths = np.append(lengths, np.median(lengths / counts[:-1]) * counts[-1])
    within = np.arange(len(time)) - np.repeat(first, counts)
    return time + within * np.repeat(lengths / counts, counts)
