"""Segments: stretches of a channel along which the torque keeps its sign.

A torque that changes its sign passes zero, so its magnitude dips; or it jumps, where Coulomb friction turns round. A
sample is near zero where its magnitude is within the noise, or where it changes by more than its own size from one
sample to the next. Stretches between such samples are segments; stretches that never rise clearly above the noise are
left to the refinement by sample.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.estimation.signs.tracks import Track

NEAR_ZERO = 3.0
"""A magnitude below so many deviations of the noise is near zero."""

CLEAR = 6.0
"""A segment rises above so many deviations of the noise somewhere."""

STEEP = 0.75
"""A magnitude below this part of its change from sample to sample is near zero."""

WINDOW = 100
"""Samples over which the noise is taken as one."""

TURN = 0.05
"""Time [s] around a dip in which friction that turns round is taken to have caused it."""

Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Segments:
    """The segments of tracks, numbered over all tracks and channels.

    Attributes:
        labels: For each track the number of the segment that a sample belongs to, shape (samples, channels); -1 for
            samples near zero and for those that do not count.
        track: Which track each segment is of, shape (segments,).
        channel: Which channel, shape (segments,).
        first: Its first sample, shape (segments,).
        last: One past its last sample, shape (segments,).
    """

    labels: tuple[Labels, ...]
    track: Labels
    channel: Labels
    first: Labels
    last: Labels

    def __len__(self) -> int:
        return len(self.channel)

    @staticmethod
    def of(tracks: Sequence[Track], pieces: Sequence[tuple[int, int, int, int]]) -> Segments:
        """Number pieces (track, channel, first, last) of tracks."""
        labels = tuple(np.full(track.magnitudes.shape, -1, dtype=np.int64) for track in tracks)
        for k, (track, channel, first, last) in enumerate(pieces):
            labels[track][first:last, channel] = k
        columns = np.array(pieces, dtype=np.int64).reshape(-1, 4).T
        return Segments(labels, *columns)

    @property
    def pieces(self) -> list[tuple[int, int, int, int]]:
        """Track, channel, first and last of each."""
        return list(zip(*(x.tolist() for x in (self.track, self.channel, self.first, self.last)), strict=True))


def local_noise(magnitudes: Array) -> Array:
    """Deviation of the noise around each sample of one channel, from its second differences, shape (samples,).

    The median of their size does not see single dips and jumps.
    """
    if len(magnitudes) < 3:
        return np.zeros(len(magnitudes))
    bends = np.abs(np.diff(magnitudes, 2))
    size = min(WINDOW, len(bends))
    count = len(bends) // size
    levels = 1.4826 / np.sqrt(6.0) * np.median(bends[: count * size].reshape(count, size), axis=1)
    middles = (np.arange(count) + 0.5) * size
    return np.interp(np.arange(len(magnitudes)) - 1.0, middles, levels)


def find_segments(
    tracks: Sequence[Track],
    noise: Array | None = None,
    splits: Sequence[Sequence[Sequence[int]]] | None = None,
    merges: Sequence[NDArray[np.bool_]] | None = None,
) -> Segments:
    """Find segments between dips of magnitudes.

    Args:
        tracks: The tracks.
        noise: Deviation of each channel's noise, shape (channels,); from its own roughness when None.
        splits: For each track and channel samples that begin a new segment although there is no dip.
        merges: For each track samples that are far from zero as a fit says, however steep they are, shape (samples,
            channels).
    """
    pieces = []
    for t, track in enumerate(tracks):
        for channel, m in enumerate(track.magnitudes.T):
            level = local_noise(m) if noise is None else np.full(len(m), noise[channel])
            low = is_steep(m) if merges is None else is_steep(m) & ~merges[t][:, channel]
            low |= m <= NEAR_ZERO * level
            cuts = [] if splits is None else splits[t][channel]
            around = max(1, round(TURN * track.rate))
            cuts = [cut for cut in cuts if not low[max(cut - around, 0) : cut + around].any()]
            for first, last in _runs(~low & track.usable[:, channel], cuts):
                if (m[first:last] > CLEAR * level[first:last]).any():
                    pieces.append((t, channel, first, last))
    return Segments.of(tracks, pieces)


def is_steep(magnitudes: Array) -> NDArray[np.bool_]:
    """Which samples of one channel change by more than about their own size to a neighbour, shape (samples,)."""
    steps = np.abs(np.diff(magnitudes, prepend=magnitudes[:1], append=magnitudes[-1:]))
    return magnitudes <= STEEP * np.maximum(steps[:-1], steps[1:])


def reversals(tracks: Sequence[Track], jumps: NDArray[np.bool_]) -> list[list[list[int]]]:
    """For each track and channel the samples where a joint turns round and friction may jump across zero.

    Args:
        tracks: The tracks.
        jumps: Which channel's torque jumps when which joint turns round, shape (channels, joints).
    """
    found = []
    for track in tracks:
        v = track.samples.v
        turns = (v[1:] > 0.0) != (v[:-1] > 0.0)
        found.append([(np.flatnonzero(turns[:, own].any(axis=1)) + 1).tolist() for own in jumps])
    return found


def _runs(inside: NDArray[np.bool_], cuts: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of stretches of samples that are inside, cut where that is asked for."""
    edges = np.flatnonzero(np.diff(inside.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
    runs = []
    for first, last in edges.tolist():
        ends = [first, *(cut for cut in sorted(cuts) if first < cut < last), last]
        runs += list(itertools.pairwise(ends))
    return runs
