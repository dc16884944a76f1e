"""Spectra of a log: the bandwidth of the motion, how much noise there is, and from where on noise dominates.

The motion's bandwidth is the frequency below which lies all but a ten-thousandth of the power of positions. The level
of noise is that of the upper quarter of the spectrum, where no motion is left; above the frequency where the spectrum
comes down to it, a position holds more noise than motion.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.logs.processing.power_density import power_density

LONGEST_WINDOW = 8192
"""Longest window of a spectrum, in samples."""


@dataclass(frozen=True)
class MotionThresholds:
    """What of a log is motion, and what is noise."""

    above_bandwidth: float = 1e-4
    """Share of the power of positions that lies above the motion's bandwidth: a hundredth of their size. Shown by
    `benchmarks/regret.py` (table in `docs/accuracy.md`)."""

    above_core: float = 1e-2
    """Share of the power of positions above the core of the motion: a tenth of their size, which no noise of a usable
    log reaches. Shown by `benchmarks/regret.py` (table in `docs/accuracy.md`)."""

    still_range: float = 0.02
    """Range of positions, relative to that of the joint that moves most, below which a joint is held still: controllers
    let joints sway. Shown by `tests/logs/test_cutoff.py` and by the logs `resting` and `barely_moving` of
    `benchmarks/regret.py`."""

    range_over_noise: float = 20.0
    """The same in standard deviations of its noise, whose own range is about eight. By judgement; not calibrated."""

    power_over_noise: float = 4.0
    """Factor over the level of the noise from which the density of a frequency counts as motion. By judgement;
    `tests/logs/test_automatic.py` finds known bandwidths and noise with it."""

    line_over_noise: float = 30.0
    """The same above the frequency where a position drowns in noise. Densities of noise are the mean of few windows, so
    that one of some hundreds exceeds four times its level, and there are as many; thirty times none does. Shown by
    `tests/logs/test_automatic.py`."""


THRESHOLDS = MotionThresholds()


@dataclass(frozen=True, eq=False)
class Spectra:
    """What spectra of positions show.

    Attributes:
        bandwidth: Of the motion: the highest of all joints that move [Hz].
        core: Frequency up to which the motion certainly goes, whatever the noise [Hz].
        crossings: Where the motion of each joint drowns in noise [Hz], shape (joints,).
        moves: Which joints move, and are not just held where they are, shape (joints,).
        noise: Standard deviation of each joint's position noise [rad or m], shape (joints,).
        frequency: Frequencies of the spectra [Hz], shape (frequencies,).
        power: Power densities of positions [rad^2/Hz or m^2/Hz], shape (frequencies, joints).
    """

    bandwidth: float
    core: float
    crossings: Array
    moves: NDArray[np.bool_]
    noise: Array
    frequency: Array
    power: Array

    @property
    def crossing(self) -> float:
        """Where the motion drowns in noise: the highest of all joints that move [Hz]."""
        return float(self.crossings[self.moves].max())

    def acceleration_noise(self) -> Array:
        """Mean square of the noise in accelerations up to each frequency, relative to that of the motion.

        What lies above the frequency at which a joint's motion drowns in noise counts as noise. About so much too small
        do inertias come out that are identified with such accelerations.

        Returns:
            Array of shape (frequencies, joints); zero for joints that do not move.
        """
        power = self.frequency[:, None] ** 4 * self.power
        is_noise = self.frequency[:, None] > self.crossings
        motion = np.where(is_noise, 0.0, power).sum(axis=0)
        share = np.where(is_noise, power, 0.0).cumsum(axis=0) / np.where(motion > 0.0, motion, np.inf)
        return np.where(self.moves, share, 0.0)

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


def spectra_of(segments: Sequence[Array], rate: float, slides: Sequence[bool] = ()) -> Spectra | None:
    """Look at the spectra of positions.

    Args:
        segments: Positions [rad or m] of even segments, shape (samples, joints) each.
        rate: Sampling rate [Hz].
        slides: Which joints are prismatic; none when empty. Ranges of metres and of radians are not compared.

    Returns:
        What they show; None where all segments are too short, or nothing moves.
    """
    longest = max(segments, key=len)
    if len(longest) < 64:
        return None
    frequency, power = _spectrum(longest, rate)
    floor = np.median(power[frequency >= 0.75 * frequency[-1]], axis=0)
    moves = _moves(longest, np.sqrt(floor * rate / 2), slides)
    if not moves.any():
        return None
    crossings = np.array([_crossing(frequency, column, level) for column, level in zip(power.T, floor, strict=True)])
    drowned = frequency[:, None] > crossings
    over = np.where(drowned, THRESHOLDS.line_over_noise, THRESHOLDS.power_over_noise)
    motion = np.maximum(power - floor, 0.0) * (power > over * floor)
    return Spectra(
        bandwidth=max(_bandwidth(frequency, column, THRESHOLDS.above_bandwidth) for column in motion.T[moves]),
        core=max(_bandwidth(frequency, column, THRESHOLDS.above_core) for column in motion.T[moves]),
        crossings=crossings,
        moves=moves,
        noise=np.sqrt(floor * rate / 2),
        frequency=frequency,
        power=power,
    )


def _spectrum(x: Array, rate: float) -> tuple[Array, Array]:
    """Frequencies [Hz] and power densities of signals, averaged over half-overlapping windows."""
    size = min(len(x), LONGEST_WINDOW, max(256, len(x) // 2))
    frequency, power = power_density(x, rate, size)
    return frequency[1:], power[1:]


def _moves(positions: Array, noise: Array, slides: Sequence[bool]) -> NDArray[np.bool_]:
    """Which joints move: by more than their noise, and not just a little beside another joint of the same kind."""
    ranges = np.ptp(positions, axis=0)
    kinds = np.array(slides or [False] * len(ranges), dtype=bool)
    most = np.zeros(len(ranges))
    for kind in (kinds, ~kinds):
        most[kind] = ranges[kind].max(initial=0.0)
    return (ranges > THRESHOLDS.range_over_noise * noise) & (ranges > THRESHOLDS.still_range * most)


def _bandwidth(frequency: Array, motion: Array, rest: float) -> float:
    """Frequency [Hz] above which lies only so small a share of the power."""
    total = np.cumsum(motion)
    if total[-1] == 0.0:
        return float(frequency[0])
    return float(frequency[np.searchsorted(total, (1.0 - rest) * total[-1])])


def _crossing(frequency: Array, power: Array, floor: float) -> float:
    """Lowest frequency [Hz] from which on half of the next bins are no more than twice the floor."""
    near = power <= 2.0 * floor
    width = max(8, len(near) // 100)
    share = np.convolve(near, np.ones(width) / width, mode="valid")
    drowned = np.flatnonzero(share >= 0.5)
    return float(frequency[drowned[0]] if len(drowned) else frequency[-1])
