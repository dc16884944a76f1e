"""A bounded sample of logs, for all that looks at samples and need not see each of them; the others lie on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dynid.logs.processing.automatic import PreparedLog
from dynid.logs.processing.states import ends_of_rows
from dynid.model import Chunk, ChunkStore, Segment, Times, loaded, pieces

SAMPLE_SAMPLES = 400_000
"""Samples that are held in memory of all logs together."""

STRETCH_SAMPLES = 25_000
"""Samples of a stretch of a long log: some ten seconds and more, which errors do not last."""


def on_disk(log: PreparedLog) -> PreparedLog:
    """A log with its samples on disk."""
    if all(not isinstance(segment, Chunk) for segment in log.segments):
        return log
    store, segments = ChunkStore(), list[Segment]()
    for segment, times in zip(log.segments, log.times, strict=True):
        segments.append(store.add(_with_stamps(segment, times)) or segment)
    stamps = [times if isinstance(one, Chunk) else one.times for one, times in zip(segments, log.times, strict=True)]
    moved = replace(log, segments=tuple(segments), times=tuple(stamps))
    vars(moved)["motion"] = log.motion  # known while it is in memory: it need not be read again for that
    return moved


def _with_stamps(segment: Segment, times: Times) -> Iterator[tuple[Chunk, np.ndarray]]:
    at = 0
    for piece in pieces(segment):
        yield piece, times[at : at + len(piece)]
        at += len(piece)


def sample_of(logs: Sequence[PreparedLog], most: int = SAMPLE_SAMPLES) -> tuple[PreparedLog, ...]:
    """At most about so many samples of all logs, in memory: all of them, or evenly spread stretches.

    A stretch is a segment of its own, whose first and last rows do not count where rows are decimated. The sample
    depends on nothing but the lengths of the logs and their segments.

    Args:
        logs: The logs.
        most: Samples of the sample.
    """
    lengths = np.array([len(segment) for log in logs for segment in log.segments])
    if lengths.sum() <= most:
        return tuple(replace(log, **_loaded(log, [(k, 0, len(s)) for k, s in enumerate(log.segments)])) for log in logs)
    usual = int(np.clip(np.median(np.repeat(lengths, np.minimum(lengths, 1000))), 1, STRETCH_SAMPLES))
    count = max(1, most // usual)
    before = np.concatenate([[0], np.cumsum(lengths)])
    found: list[tuple[int, int, int]] = []  # segment, its first sample, and one after its last
    for middle in ((np.arange(count) + 0.5) * before[-1] / count).astype(int).tolist():
        k = int(np.searchsorted(before, middle, side="right")) - 1
        length = min(int(lengths[k]), STRETCH_SAMPLES)
        first = min(max(middle - int(before[k]) - length // 2, 0), int(lengths[k]) - length)
        if found and found[-1][0] == k:
            first = max(first, found[-1][2])
        if first < int(lengths[k]):
            found.append((k, first, min(first + length, int(lengths[k]))))
    chosen, at = [], 0
    for log in logs:
        own = [(k - at, first, last) for k, first, last in found if at <= k < at + len(log.segments)]
        at += len(log.segments)
        if own:
            chosen.append(replace(log, **_loaded(log, own)))
    return tuple(chosen)


def _loaded(
    log: PreparedLog, parts: Sequence[tuple[int, int, int]]
) -> dict[str, tuple[Chunk, ...] | tuple[Times, ...]]:
    """Parts of segments in memory, with their stamps."""
    segments, stamps = [], []
    for k, first, last in parts:
        segment, times = log.segments[k], log.times[k]
        chunk = loaded(segment) if (first, last) == (0, len(segment)) else _inner(segment[first:last], log)
        segments.append(chunk)
        stamps.append(times[first:last])
    return {"segments": tuple(segments), "times": tuple(stamps)}


def _inner(chunk: Chunk, log: PreparedLog) -> Chunk:
    """A stretch whose ends feed the filter of decimation, and do not count."""
    ends = ends_of_rows(log.processing)
    if not ends:
        return chunk
    keep = np.ones(chunk.torque.shape, dtype=bool) if chunk.keep is None else chunk.keep.copy()
    keep[:ends] = False
    keep[max(len(chunk) - ends, 0) :] = False
    return replace(chunk, keep=keep)
