"""Segments: stretches of a channel along which the torque keeps its sign.

A torque that changes its sign passes zero, so its magnitude dips; or it jumps, where Coulomb friction turns round. A
sample is near zero where its magnitude is within the noise, or where it changes by more than its own size from one
sample to the next. Stretches between such samples are segments; stretches that never rise clearly above the noise are
left to the refinement by sample.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.logs.quantisation import rounding_noise
from dynid.model import BaseParameters, Chunk


@dataclass(frozen=True)
class SegmentThresholds:
    """Where a torque without sign may pass zero.

    Shown by `benchmarks/signs.py` (table in `docs/signs.md`).
    """

    near_zero: float = 3.0
    """A magnitude below so many standard deviations of the noise is near zero: its sign is anybody's guess."""

    clear_magnitude: float = 6.0
    """Standard deviations of the noise above which a segment must rise somewhere; others are left to the refinement by
    sample."""

    steep_change: float = 0.75
    """A magnitude below this part of its change from sample to sample is near zero: it may have passed zero between
    them."""

    most_near_zero: float = 0.5
    """Largest magnitude, in root mean squares of its channel, that counts as near zero, and twice that for a clear
    one: where a model fits badly, the noise alone would leave no segment at all. Calibrated on the public logs of the
    SO-101, whose model leaves half of the torques."""

    turning_time: float = 0.05
    """Time [s] around a dip in which friction that turns round is taken to have caused it."""


SEGMENT_THRESHOLDS = SegmentThresholds()

NOISE_WINDOW = 100
"""Samples over which the noise is taken as one."""


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
    """Standard deviation of the noise around each sample of one channel, from its second differences, shape (samples,).

    The median of their size does not see single dips and jumps.
    """
    if len(magnitudes) < 3:
        return np.zeros(len(magnitudes))
    bends = np.abs(np.diff(magnitudes, 2))
    size = min(NOISE_WINDOW, len(bends))
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
        noise: Standard deviation of each channel's noise, shape (channels,); from its own roughness when None.
        splits: For each track and channel samples that begin a new segment although there is no dip.
        merges: For each track samples that are far from zero as a fit says, however steep they are, shape (samples,
            channels).
    """
    pieces = []
    rounding = rounding_noise(np.concatenate([track.magnitudes for track in tracks]))
    most = SEGMENT_THRESHOLDS.most_near_zero / SEGMENT_THRESHOLDS.near_zero * root_mean_squares(tracks)
    for t, track in enumerate(tracks):
        for channel, m in enumerate(track.magnitudes.T):
            level = local_noise(m) if noise is None else np.full(len(m), noise[channel])
            level = np.minimum(np.maximum(level, rounding[channel]), most[channel])
            low = is_steep(m) if merges is None else is_steep(m) & ~merges[t][:, channel]
            low |= m <= SEGMENT_THRESHOLDS.near_zero * level
            cuts = [] if splits is None else splits[t][channel]
            around = max(1, round(SEGMENT_THRESHOLDS.turning_time * track.rate))
            cuts = [cut for cut in cuts if not low[max(cut - around, 0) : cut + around].any()]
            for first, last in _runs(~low & track.usable[:, channel], cuts):
                if (m[first:last] > SEGMENT_THRESHOLDS.clear_magnitude * level[first:last]).any():
                    pieces.append((t, channel, first, last))
    return Segments.of(tracks, pieces)


def root_mean_squares(tracks: Sequence[Track]) -> Array:
    """Root of the mean squared magnitude of each channel, shape (channels,)."""
    squares = sum(np.sum(track.magnitudes**2, axis=0) for track in tracks)
    return np.sqrt(squares / sum(map(len, tracks)))


def is_steep(magnitudes: Array) -> NDArray[np.bool_]:
    """Which samples of one channel change by more than about their own size to a neighbour, shape (samples,)."""
    steps = np.abs(np.diff(magnitudes, prepend=magnitudes[:1], append=magnitudes[-1:]))
    return magnitudes <= SEGMENT_THRESHOLDS.steep_change * np.maximum(steps[:-1], steps[1:])


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


SEARCH_RATE = 200.0
"""Sampling rate [Hz] at which signs are searched; faster logs are averaged."""

CHUNK_BYTES = 16_000_000
"""Size of the matrices of one chunk."""


@dataclass(frozen=True, eq=False)
class Track:
    """An evenly sampled piece of a log.

    Attributes:
        samples: States; its torques are magnitudes as logged, shape (samples, channels), and `keep` says which
            channels of which samples may be used.
        rate: Sampling rate [Hz].
        start: Time of the first sample [s].
        log: Which log it is of, counted from 0.
    """

    samples: Chunk
    rate: float
    start: float = 0.0
    log: int = 0

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def magnitudes(self) -> Array:
        """What was logged without signs, shape (samples, channels)."""
        return self.samples.torque

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Which channels of which samples may be used, shape (samples, channels)."""
        keep = self.samples.keep
        return np.ones(self.magnitudes.shape, dtype=bool) if keep is None else keep

    @property
    def step(self) -> int:
        """How many samples are averaged to one for the search."""
        return max(1, min(round(self.rate / SEARCH_RATE), len(self) // 50))

    def thinned(self) -> Track:
        """The track for the search: magnitudes averaged over `step` samples, states from their middle."""
        step = self.step
        if step == 1:
            return self
        count = len(self) // step
        middle = slice(step // 2, count * step, step)
        blocks = self.magnitudes[: count * step].reshape(count, step, -1)
        own = self.samples
        keep = np.asarray(self.usable[: count * step].reshape(count, step, -1).all(axis=1), dtype=bool)
        thin = Chunk(own.q[middle], own.v[middle], own.a[middle], blocks.mean(axis=1), keep)
        return replace(self, samples=thin, rate=self.rate / step, start=self.start + (step // 2) / self.rate)


@dataclass(frozen=True, eq=False)
class ChannelRows:
    """The regressor of what was logged.

    Attributes:
        base: The base parameters b.
        transmission: D, shape (channels, joints): joint torques = D' logged.
    """

    base: BaseParameters
    transmission: Array

    @cached_property
    def mixing(self) -> Array:
        """D^-T, shape (channels, joints): logged = D^-T joint torques."""
        return np.asarray(np.linalg.inv(self.transmission).T, dtype=float)

    @cached_property
    def _layout(self):
        known = [self.base.model.names.index(name) for name in self.base.known]
        return self.base.model.layout([[*self.base.columns, *known]] * self.base.model.row_count)

    def of(self, samples: Chunk) -> Iterator[tuple[slice, list[Array], Array]]:
        """Rows of samples, a piece at a time.

        Yields:
            Which samples, for each channel W of shape (samples, base), and what known parameters add to the logged
            values, shape (samples, channels).
        """
        channels = len(self.transmission)
        n = len(self.base)
        width = (n + len(self.base.known)) * channels
        size = max(CHUNK_BYTES // (8 * width), 200)
        values = np.array(list(self.base.known.values()), dtype=float)
        for first in range(0, len(samples), size):
            part = slice(first, min(first + size, len(samples)))
            joints = self._layout.evaluate(samples.q[part], samples.v[part], samples.a[part])
            matrices = [self._mixed(joints, c) for c in range(channels)]
            known = np.stack([matrix[:, n:] @ values for matrix in matrices], axis=1)
            yield part, [matrix[:, :n] for matrix in matrices], known

    def _mixed(self, joints: list[Array], channel: int) -> Array:
        own, *others = np.flatnonzero(np.abs(self.mixing[channel]) > 0.0)
        first = joints[own] if self.mixing[channel, own] == 1.0 else self.mixing[channel, own] * joints[own]
        return sum((self.mixing[channel, j] * joints[j] for j in others), first)

    def predicted(self, samples: Chunk, values: Array) -> Array:
        """What base parameters b predict to be logged, with signs, shape (samples, channels)."""
        parts = [np.stack([W @ values for W in matrices], axis=1) + known for _, matrices, known in self.of(samples)]
        return np.concatenate(parts)
