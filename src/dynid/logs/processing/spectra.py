"""Spectra of a log: the bandwidth of the motion, how much noise there is, and from where on noise dominates.

The motion's bandwidth is the frequency below which lies all but a ten-thousandth of the power of positions. The level
of noise is that of the upper quarter of the spectrum, where no motion is left; above the frequency where the spectrum
comes down to it, a position holds more noise than motion.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.logs.processing.power_density import power_density

WINDOW = 8192
"""Longest window of a spectrum, in samples."""

REST = 1e-4
"""Share of the power of positions that lies above the motion's bandwidth: a hundredth of their size."""


@dataclass(frozen=True, eq=False)
class Spectra:
    """What spectra of positions show.

    Attributes:
        bandwidth: Of the motion: the highest of all joints [Hz].
        crossing: Where the motion drowns in noise: the highest of all joints [Hz].
        noise: Standard deviation of each joint's position noise [rad or m], shape (joints,).
        frequency: Frequencies of the spectra [Hz], shape (frequencies,).
        power: Power densities of positions [rad^2/Hz or m^2/Hz], shape (frequencies, joints).
    """

    bandwidth: float
    crossing: float
    noise: Array
    frequency: Array
    power: Array

    def speed_noise(self, cutoff: float) -> Array:
        """Standard deviation of noise in velocities after a low-pass [rad/s or m/s], shape (joints,).

        What a velocity holds between five times the motion's bandwidth and the cut-off counts as noise; below, the
        level is taken to be the same.
        """
        band = (self.frequency > min(5.0 * self.bandwidth, 0.5 * cutoff)) & (self.frequency <= cutoff)
        if not band.any():
            return np.zeros(len(self.noise))
        level = np.median(self.power[band], axis=0)
        return 2.0 * np.pi * np.sqrt(level * cutoff**3 / 3.0)


def spectra_of(segments: Sequence[Array], rate: float) -> Spectra | None:
    """Look at the spectra of positions.

    Args:
        segments: Positions [rad or m] of even segments, shape (samples, joints) each.
        rate: Sampling rate [Hz].

    Returns:
        What they show; None where all segments are too short, or nothing moves.
    """
    longest = max(segments, key=len)
    if len(longest) < 64:
        return None
    frequency, power = _spectrum(longest, rate)
    floor = np.median(power[frequency >= 0.75 * frequency[-1]], axis=0)
    moves = np.ptp(longest, axis=0) > 20.0 * np.sqrt(floor * rate / 2)
    if not moves.any():
        return None
    motion = np.maximum(power - floor, 0.0) * (power > 4.0 * floor)
    bandwidths = [_bandwidth(frequency, column) for column in motion.T[moves]]
    crossings = [_crossing(frequency, column, level) for column, level in zip(power.T, floor, strict=True)]
    return Spectra(
        bandwidth=max(bandwidths),
        crossing=max(crossing for crossing, moving in zip(crossings, moves, strict=True) if moving),
        noise=np.sqrt(floor * rate / 2),
        frequency=frequency,
        power=power,
    )


def _spectrum(x: Array, rate: float) -> tuple[Array, Array]:
    """Frequencies [Hz] and power densities of signals, averaged over half-overlapping windows."""
    size = min(len(x), WINDOW, max(256, len(x) // 2))
    frequency, power = power_density(x, rate, size)
    return frequency[1:], power[1:]


def _bandwidth(frequency: Array, motion: Array) -> float:
    """Frequency [Hz] below which lies all but a small share of the power."""
    total = np.cumsum(motion)
    if total[-1] == 0.0:
        return float(frequency[0])
    return float(frequency[np.searchsorted(total, (1.0 - REST) * total[-1])])


def _crossing(frequency: Array, power: Array, floor: float) -> float:
    """Lowest frequency [Hz] from which on half of the next bins are no more than twice the floor."""
    near = power <= 2.0 * floor
    width = max(8, len(near) // 100)
    share = np.convolve(near, np.ones(width) / width, mode="valid")
    drowned = np.flatnonzero(share >= 0.5)
    return float(frequency[drowned[0]] if len(drowned) else frequency[-1])
