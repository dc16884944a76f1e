"""Waves of commanded positions: chirps and multisines with random phases, for all joints at once or in turn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dynid.arrays import Array

WaveKind = Literal["multisine", "chirp", "log-chirp"]
"""Sines of several frequencies at once; or one whose frequency rises linearly, or exponentially, with time."""

REST_SHARE = 0.03
"""Part of the time that commands stand still before the waves, and after them."""

RAMP_SHARE = 0.1
"""Part of a wave in which its envelope rises, and in which it falls."""

LINES = 16
"""Frequencies of a multisine."""


@dataclass(frozen=True)
class CommandWave:
    """The wave of one joint, between -1 and 1.

    Attributes:
        kind: Its kind.
        low: Lowest frequency [Hz].
        high: Highest frequency [Hz].
        tilt: Amplitudes fall with the frequency to this power: with 0 all are equal, with 1 all speeds are.
        seed: Seed of its phases.
    """

    kind: WaveKind
    low: float
    high: float
    tilt: float
    seed: int

    def values(self, t: Array, duration: float) -> Array:
        """The wave at times from its beginning [s], shape (samples,); zero before it begins and after it ends.

        Args:
            t: The times [s], shape (samples,).
            duration: How long it lasts [s].
        """
        inside = (t > 0.0) & (t < duration)
        wave = self._multisine(t, duration) if self.kind == "multisine" else self._chirp(t, duration)
        ramp = RAMP_SHARE * duration
        rise = np.clip(np.minimum(t, duration - t) / ramp, 0.0, 1.0)
        wave = np.where(inside, wave * rise**2 * (3.0 - 2.0 * rise), 0.0)
        largest = float(np.abs(wave).max(initial=0.0))
        return wave / largest if largest > 0.0 else wave

    def _multisine(self, t: Array, duration: float) -> Array:
        rng = np.random.default_rng((self.seed, 7))
        f = np.geomspace(self.low, self.high, LINES) * rng.uniform(0.95, 1.05, LINES)
        phases = rng.uniform(0.0, 2.0 * math.pi, LINES)
        return np.sin(2.0 * math.pi * np.multiply.outer(t, f) + phases) @ f**-self.tilt

    def _chirp(self, t: Array, duration: float) -> Array:
        phase = np.random.default_rng((self.seed, 8)).uniform(0.0, 2.0 * math.pi)
        s = np.clip(t / duration, 0.0, 1.0)
        if self.kind == "chirp":
            f = self.low + (self.high - self.low) * s
            turns = duration * (self.low * s + 0.5 * (self.high - self.low) * s**2)
        else:
            ratio = self.high / self.low
            f = self.low * ratio**s
            turns = self.low * duration * (ratio**s - 1.0) / math.log(ratio) if ratio != 1.0 else self.low * t
        return f**-self.tilt * np.sin(2.0 * math.pi * turns + phase)


def wave_values(waves: Sequence[CommandWave], t: Array, duration: float, *, in_turn: bool) -> Array:
    """Waves of all joints at times [s], shape (samples, joints), each between -1 and 1; at rest at both ends.

    Args:
        waves: The wave of each joint.
        t: Times [s] from 0 to the duration, shape (samples,).
        duration: How long all of it lasts [s].
        in_turn: Whether one joint moves after the other.
    """
    rest = REST_SHARE * duration
    whole = duration - 2.0 * rest
    each = whole / len(waves) if in_turn else whole
    starts = [rest + k * each if in_turn else rest for k in range(len(waves))]
    return np.column_stack([wave.values(t - start, each) for wave, start in zip(waves, starts, strict=True)])
