"""Tracks: evenly sampled pieces of logs whose torques have no signs, and the regressor of what was logged.

A channel is one logged column. With D from logged values to joint torques (torque constants, gears, couplings),
joint torque = D' logged, so what was logged obeys `logged = D^-T W b`: couplings of motors need no care after that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.model.base_parameters import BaseParameters
from dynid.model.chunks import Chunk

SEARCH_RATE = 200.0
"""Samples a second [Hz] that signs are looked for with; faster logs are averaged."""

CHUNK_BYTES = 16_000_000
"""Size of the matrices of one chunk."""


@dataclass(frozen=True, eq=False)
class Track:
    """An evenly sampled piece of a log.

    Attributes:
        samples: States; its torques are magnitudes as logged, shape (samples, channels), and `keep` tells which
            channels of which samples may be used.
        rate: Samples a second [Hz].
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
