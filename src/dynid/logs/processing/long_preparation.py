"""Logs that are too long for memory: chosen for by a sample of them, and processed in windows that go to disk.

What is to be chosen (cut-off frequencies, thresholds, delays) is chosen by evenly spread stretches of the log, which
say as much as all of it. All samples are then processed as was chosen, and all count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.drive import Transmission
from dynid.logs.log import SIGNALS, Log
from dynid.logs.long_time import long_timing
from dynid.logs.processing.automatic import LogScales, PreparedLog, prepared, rounded_rate
from dynid.logs.processing.signals import DECIMATION_MARGIN
from dynid.logs.processing.states import fewest_samples, uneven
from dynid.logs.processing.windows import WINDOW_SAMPLES, Windows, stamps_of
from dynid.logs.settings import Processing
from dynid.logs.timing import LONGEST_GAP, Timing, check_time
from dynid.model import ChunkStore, DynamicModel, StoredChunk

if TYPE_CHECKING:
    from dynid.logs.stored_log import StoredLog

LONG_SAMPLES = 300_000
"""Samples from which a log is processed in windows."""

CHOOSING_STRETCHES = 16
"""Stretches of a long log that choices are made by."""

CHOOSING_SAMPLES = 12_500
"""Samples of one of them."""

KEPT_TEMPERATURES = 20_000
"""Samples of temperatures that are kept of a long log."""

BEFORE_MOTION = 5.0
"""Rest [s] before and after the motion that is left for the choice of what to cut: less than a stretch in any case."""

MOVED_SHARE = 1e-3
"""Share of a joint's range by which it must leave its first position to move."""


NOISE_STEPS = 15.0
"""Median steps between samples that noise does not exceed."""


def is_long(log: Log | StoredLog, processing: Processing) -> bool:
    """Whether a log is processed in windows: not where periods are averaged, or splines are fitted to all of it."""
    return len(log) > LONG_SAMPLES and processing.period is None and processing.derivative != "spline"


@dataclass(frozen=True, eq=False)
class LongLog:
    """A long log with what a first pass over it has shown.

    Attributes:
        log: The log.
        timing: How its samples lie in time; its gaps hold all that end a segment.
        first: First sample that is used.
        last: One after the last.
        temperature: Some of its stamps [s] and mean temperatures of the joints [degrees Celsius]; None without.
    """

    log: Log | StoredLog
    timing: Timing
    first: int
    last: int
    temperature: tuple[Array, Array] | None

    @staticmethod
    def of(log: Log | StoredLog, *, cut_rest: bool) -> LongLog:
        """Pass over a log once.

        Args:
            log: The log.
            cut_rest: Whether ends at rest may be left out.
        """
        timing = check_time(log.time) if isinstance(log, Log) else long_timing(log.time)
        ends, warmth = list[Array](), list[tuple[Array, Array]]()
        thin = max(1, len(log) // KEPT_TEMPERATURES)
        for begin in range(0, len(log), WINDOW_SAMPLES):
            window = log[begin : begin + WINDOW_SAMPLES]
            ends.append(np.stack([window.position.min(axis=0), window.position.max(axis=0)]))
            if window.temperature is not None:
                warmth.append((window.time[::thin], window.temperature[::thin].mean(axis=1)))
        temperature = (
            (np.concatenate([w[0] for w in warmth]), np.concatenate([w[1] for w in warmth])) if warmth else None
        )
        first, last = _moving(log, np.stack(ends), timing.rate) if cut_rest else (0, len(log))
        return LongLog(log, timing, first, last, temperature)

    def sample(self) -> Log:
        """Evenly spread stretches of it, both ends among them, as one log with gaps between them."""
        length = _stretch(self.last - self.first)
        begins = np.linspace(self.first, self.last - length, CHOOSING_STRETCHES).astype(int).tolist()
        return joined([self.log[begin : begin + length] for begin in begins])

    def segments(self) -> Iterator[tuple[int, int]]:
        """First samples of its parts between long gaps, and one after their last."""
        longest = LONGEST_GAP * self.timing.period
        edges = [0, *(index + 1 for index, step in self.timing.gaps if step > longest), len(self.log)]
        for begin, end in pairwise(edges):
            if min(end, self.last) > max(begin, self.first):
                yield max(begin, self.first), min(end, self.last)

    def without_rest(self, sample: Log, looked_at: PreparedLog) -> LongLog:
        """The same without what was chosen to be cut off the ends of its sample."""
        cut = next((finding.values for finding in looked_at.findings if finding.code == "processing-idle"), None)
        if cut is None:
            return self
        length = len(sample) // CHOOSING_STRETCHES
        begin = int(np.searchsorted(sample.time[:length], sample.time[0] + cut["beginning"] - 1e-9))
        after = sample.time[-length:] - (sample.time[-1] - cut["end"]) > 1e-9
        return replace(self, first=self.first + begin, last=self.last - int(after.sum()))

    def findings(self) -> Iterator[Finding]:
        """What was cut off its ends."""
        if self.first or self.last < len(self.log):
            at = [float(stamps_of(self.log, k, k + 1)[0]) for k in (0, self.first, self.last - 1, len(self.log) - 1)]
            ends: dict[str, Any] = {"beginning": at[1] - at[0], "end": at[3] - at[2]}
            yield Finding.of("processing-idle", "processing.idle", **ends)


def prepared_in_windows(
    log: Log | StoredLog,
    transmission: Transmission,
    processing: Processing,
    model: DynamicModel,
    delay: float,
    free: frozenset[str],
    share: tuple[int, int] = (0, 1),
) -> tuple[PreparedLog, PreparedLog, Timing, Log]:
    """Process a long log; arguments as `prepared`, and which of how many parts in time is wanted.

    Returns:
        The log, ready for the model, with its samples on disk; the stretches that choices were made by, ready, too;
        how all samples lie in time; and these stretches as they were logged.
    """
    long = LongLog.of(log, cut_rest="idle" in free)
    if "resample" in free and not long.timing.is_even_between_gaps:
        processing = processing.but(resample=rounded_rate(long.timing.rate))
    sample = long.sample()
    looked_at = prepared(sample, transmission, processing, model, delay, free)
    long, used = long.without_rest(sample, looked_at), looked_at.processing
    if used.resample is None and not long.timing.is_even_between_gaps:
        raise uneven(long.timing)
    scales = LogScales.of(sample, is_even=long.timing.is_even_between_gaps) if "outliers" in free else None
    warm = any(term.needs_temperature for term in model.terms)
    windows = Windows(log, transmission, used, long.timing.rate, looked_at.delay, scales, warm)
    segments, notes = _stored(long, windows, share)
    replaced = ("processing-outliers", "processing-idle", "segments-short")
    chosen = [finding for finding in looked_at.findings if finding.code not in replaced]
    seen: dict[str, Any] = {"samples": len(sample), "of": len(log), "stretches": CHOOSING_STRETCHES}
    ready = replace(
        looked_at,
        segments=segments,
        times=tuple(segment.times for segment in segments),
        sampling=windows.rate,
        findings=(*chosen, *long.findings(), *windows.findings(), *notes, Finding.of("log-sampled", "log", **seen)),
        temperature=long.temperature,
    )
    return ready, looked_at, long.timing, sample


def stretches_of(log: Log | StoredLog) -> Log:
    """A log, or evenly spread stretches of a long one, in memory."""
    if len(log) > LONG_SAMPLES:
        return LongLog.of(log, cut_rest=True).sample()
    return log if isinstance(log, Log) else log[:]


def joined(parts: list[Log]) -> Log:
    """Parts of a log one after the other as one."""
    arrays: dict[str, Any] = {"time": np.concatenate([part.time for part in parts])}
    for name in SIGNALS:
        if getattr(parts[0], name) is not None:
            arrays[name] = np.concatenate([getattr(part, name) for part in parts])
    if (contacts := parts[0].contacts) is not None:
        wrenches = [[np.asarray(one.wrench) for one in part.contacts or ()] for part in parts]
        arrays["contacts"] = tuple(
            one.changed(lambda _, k=k: np.concatenate([of_part[k] for of_part in wrenches]))
            for k, one in enumerate(contacts)
        )
    if any(part.missing is not None for part in parts):
        flags = [np.zeros(part.torque.shape, dtype=bool) if part.missing is None else part.missing for part in parts]
        arrays["missing"] = np.concatenate(flags)
    return replace(parts[0], **arrays)


def _stored(long: LongLog, windows: Windows, share: tuple[int, int]) -> tuple[tuple[StoredChunk, ...], list[Finding]]:
    """The segments of a log on disk, and a finding on those that are too short for the filters."""
    store, fewest = ChunkStore(), fewest_samples(windows.processing)
    parts = list(long.segments())
    counts = [windows.count(*part) for part in parts]
    fewest = min(fewest, max(counts))  # of parts that are all too short, the longest is tried
    used = [part for part, count in zip(parts, counts, strict=True) if count >= fewest]
    found = [_part(store, windows, part, share) for part in used]
    short = [last - first for (first, last), count in zip(parts, counts, strict=True) if count < fewest]
    if not short:
        return tuple(segment for segment in found if segment is not None), []
    values: dict[str, Any] = {"count": len(short), "segments": len(parts), "samples": sum(short), "of": len(long.log)}
    return tuple(one for one in found if one is not None), [Finding.of("segments-short", "log", **values)]


def _part(store: ChunkStore, windows: Windows, segment: tuple[int, int], share: tuple[int, int]) -> StoredChunk | None:
    """A part of a segment on disk, with as many samples around it as the filters of decimation need."""
    factor = int(np.prod(windows.processing.decimate or (1,)))
    margin = DECIMATION_MARGIN if factor > 1 else 0
    made = windows.made(*segment)
    rows = -(-made // factor)
    first, last = (rows * k // share[1] for k in (share[0], share[0] + 1))
    if first == last:
        return None
    low, high = max(0, first - margin) * factor, min(made, (last + margin) * factor)
    own = first * factor - low, min(made, last * factor) - low
    begin, count = segment[0], segment[1] - segment[0]
    counted = slice(*(begin + count * k // share[1] for k in (share[0], share[0] + 1)))
    return store.add(windows.of(*segment, slice(low, high), counted), own)


def _stretch(samples: int) -> int:
    """Samples of a stretch of so many, so that there are gaps between stretches."""
    return min(CHOOSING_SAMPLES, samples // (2 * CHOOSING_STRETCHES))


def _moving(log: Log | StoredLog, ends: Array, rate: float) -> tuple[int, int]:
    """First sample and one after the last of a log's motion, with some rest around it.

    Args:
        log: The log.
        ends: Lowest and highest positions of each window, shape (windows, 2, joints).
        rate: Its sampling rate [Hz].
    """
    steps = np.abs(np.diff(log[0:WINDOW_SAMPLES].position, axis=0))
    noise = NOISE_STEPS * np.median(steps, axis=0)  # what a joint that stands still may leave its place by
    limit = np.maximum(MOVED_SHARE * (ends[:, 1].max(axis=0) - ends[:, 0].min(axis=0)), noise)
    edges = log[0:1].position[0], log[len(log) - 1 : len(log)].position[0]
    found = []
    for edge in edges:
        left = np.flatnonzero((np.abs(ends - edge) > limit).any(axis=(1, 2)))
        if not len(left):
            return 0, len(log)
        window = int(left[0] if edge is edges[0] else left[-1])
        q = log[window * WINDOW_SAMPLES : (window + 1) * WINDOW_SAMPLES].position
        away = np.flatnonzero((np.abs(q - edge) > limit).any(axis=1))
        found.append(window * WINDOW_SAMPLES + int(away[0] if edge is edges[0] else away[-1]))
    room = min(int(np.ceil(BEFORE_MOTION * rate)), _stretch(found[1] - found[0]) // 4)
    return max(0, found[0] - room), min(len(log), found[1] + room)
