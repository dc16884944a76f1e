"""How sure each sign is.

The margin of a sign is by how much the residual rises when it is the other way and everything else adapts: the fit,
and other signs if that helps. It is given in standard deviations of the noise, as the root of the rise over the noise's
variance; a margin of z makes the found sign exp(z^2 / 2) times as likely as the other. Errors of neighbouring samples
are alike, so n samples carry as much information as n / T independent ones, with T the sum of their autocorrelation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from dynid.arrays import Array
from dynid.estimation.signs.segments import Segments, Track, root_mean_squares
from dynid.estimation.signs.sign_energy import counted


@dataclass(frozen=True)
class SignMarginThresholds:
    """How sure a sign must be.

    Shown by `benchmarks/signs.py` (table in `docs/signs.md`) and `tests/estimation/test_signs.py`: no sure sign is
    wrong.
    """

    sure_margin: float = 6.0
    """Margin, in standard deviations of the noise, from which a sign is sure: odds of 1e7 and better."""

    likely_margin: float = 4.0
    """Margin from which a sign is likely (odds of 3000 and better); below it is undecided, and its segment is left out
    of the estimate."""


SIGN_THRESHOLDS = SignMarginThresholds()

SMALLEST_ERROR = 2e-5
"""Torques are not trusted further than this part of their size: energies of exact ones would drown in rounding."""

LONGEST_MEMORY = 1.0
"""Longest time [s] over which errors are looked at for likeness."""


class Word(StrEnum):
    """How sure a sign is, in a word."""

    SURE = "sure"
    LIKELY = "likely"
    UNDECIDED = "undecided"

    @staticmethod
    def of(margin: float) -> Word:
        """The word for a margin."""
        if margin >= SIGN_THRESHOLDS.sure_margin:
            return Word.SURE
        return Word.LIKELY if margin >= SIGN_THRESHOLDS.likely_margin else Word.UNDECIDED


@dataclass(frozen=True, eq=False)
class Noise:
    """The noise of each channel, as far as a fit shows it.

    Attributes:
        stds: Of single samples, shape (channels,).
        memory: T, over how many samples errors are alike, shape (channels,).
        information: Independent samples less what the fit has used up; not positive where nothing is determined.
    """

    stds: Array
    memory: Array
    information: float

    @property
    def weights(self) -> Array:
        """Factors that make errors of unit variance and as good as independent, shape (channels,)."""
        return 1.0 / (self.stds * np.sqrt(self.memory))


def noise_of(tracks: Sequence[Track], segments: Segments, residuals: Sequence[Array], used: int) -> Noise:
    """The noise of residuals.

    Args:
        tracks: The tracks.
        segments: Their segments; only samples in them count.
        residuals: What a fit leaves of signed torques of each track, shape (samples, channels).
        used: How many numbers the fit has chosen: parameters and signs.
    """
    sizes = root_mean_squares(tracks)
    channels = len(sizes)
    stds, memory, information = np.ones(channels), np.ones(channels), 0.0
    for c in range(channels):
        inside = [counted(track, labels)[:, c] >= 0 for track, labels in zip(tracks, segments.labels, strict=True)]
        errors = [np.where(own, left[:, c], 0.0) for own, left in zip(inside, residuals, strict=True)]
        count = sum(int(own.sum()) for own in inside)
        squares = sum(float(e @ e) for e in errors)
        floor = SMALLEST_ERROR * (sizes[c] or sizes.max() or 1.0)
        # Where no sample counts, nothing fits: the noise is as large as the torque.
        stds[c] = max(np.sqrt(squares / count), floor) if count else max(sizes[c], floor)
        if stds[c] > 2.0 * floor and count:
            memory[c] = _memory(errors, inside, max(track.rate for track in tracks))
        information += count / memory[c]
    left = information - used
    return Noise(stds * np.sqrt(information / left) if left > 0.0 else stds, memory, left)


def _memory(errors: Sequence[Array], inside: Sequence[np.ndarray], rate: float) -> float:
    """Sum of the autocorrelation over lags of both sides, up to where it has died out."""
    total = 1.0
    variance = sum(float(e @ e) for e in errors) / sum(int(own.sum()) for own in inside)
    for lag in range(1, max(2, int(LONGEST_MEMORY * rate))):
        pairs = sum(int(np.count_nonzero(own[lag:] & own[:-lag])) for own in inside)
        if pairs == 0:
            break
        likeness = sum(float(e[lag:] @ e[:-lag]) for e in errors) / pairs / variance
        if likeness <= 0.05:
            break
        total += 2.0 * likeness
    return total


def margins_of(rises: Array) -> Array:
    """Margins of rises of the residual in variances of the noise; none is below zero."""
    return np.sqrt(np.maximum(rises, 0.0))
