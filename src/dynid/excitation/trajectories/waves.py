"""Waves of other frequencies than the first harmonics: multisines and sweeps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.polynomial import Polynomial as Powers

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.excitation.trajectories.family import MOST_COEFFICIENTS, TimedFamily

_MOST_LINE = 10_000
"""Multiples of the base frequency at most."""

_LEAST_LINE = 0.01
"""Oscillations of a sweep in a period at least."""

_STEP = Powers([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
"""From 0 to 1, with first and second derivatives of zero at both ends."""


@dataclass(frozen=True)
class Multisine(TimedFamily):
    """Waves at some multiples of a base frequency: `q(t) = c0 + sum_k c_k cos(n_k w t) + s_k sin(n_k w t)`.

    The coefficients of a joint are c0, c_1 ... c_n, s_1 ... s_n.

    Attributes:
        period: That of the base frequency [s].
        lines: Which multiples of it, increasing.
        periods: How many cycles the motion lasts.
    """

    name: ClassVar[str] = "multisine"
    meaning: ClassVar[str] = "constant, cosines, sines"
    period: float
    lines: tuple[int, ...]
    periods: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", tuple(self.lines))
        self._require(("lines", len(self.lines), 1, MOST_COEFFICIENTS // 2))
        if not all(isinstance(line, int) and 1 <= line <= _MOST_LINE for line in self.lines) or (
            list(self.lines) != sorted(set(self.lines))
        ):
            raise InvalidRequestError(
                f"the lines of a multisine are whole multiples of its base frequency, increasing, from 1 to "
                f"{_MOST_LINE}, not {list(self.lines)}"
            )

    @staticmethod
    def between(period: float, lowest: float, highest: float, count: int, periods: int = 1) -> Multisine:
        """With so many lines from a lowest to a highest frequency [Hz], evenly spaced on a logarithmic scale.

        >>> Multisine.between(10.0, 0.1, 1.6, 5).lines
        (1, 2, 4, 8, 16)
        """
        low, high = max(1, round(lowest * period)), round(highest * period)
        if high - low + 1 < count:
            raise InvalidRequestError(
                f"between {lowest:g} and {highest:g} Hz there are {max(high - low + 1, 0)} multiples of the base "
                f"frequency of {1 / period:.4g} Hz, and {count} lines are asked for; widen [excitation] band, lengthen "
                "period, or lower harmonics"
            )
        lines: list[int] = []
        for k, wished in enumerate(np.geomspace(low, high, count)):
            least = lines[-1] + 1 if lines else low
            lines.append(min(max(round(float(wished)), least), high - (count - 1 - k)))
        return Multisine(period, tuple(lines), periods)

    @property
    def size(self) -> int:
        """A constant, and two coefficients for each line."""
        return 2 * len(self.lines) + 1

    @property
    def swings(self) -> float:
        """Those of the highest line."""
        return self.lines[-1]

    @property
    def more_room(self) -> str:
        """Two lines or more."""
        return f"a multisine of {len(self.lines)} lines cannot start and end at rest; state 2 or more"

    def basis(self, times: Array, derivative: int = 0) -> Array:
        """Waves of each line and their derivatives, shape (samples, size)."""
        rates = 2 * math.pi / self.period * np.array(self.lines)
        phase = np.outer(times, rates) + derivative * math.pi / 2
        constant = np.full((len(phase), 1), 1.0 if derivative == 0 else 0.0)
        return np.concatenate([constant, rates**derivative * np.cos(phase), rates**derivative * np.sin(phase)], axis=1)

    def rest(self) -> Array:
        """The constant."""
        return np.eye(self.size)[0]

    def reach(self, samples: int, derivative: int = 0) -> float:
        """As that of a Fourier series with all harmonics up to the highest line."""
        angle = math.pi * self.lines[-1] / samples
        return 1.0 / math.cos(angle) if angle < math.pi / 2 else math.inf

    def samples(self, wanted: int) -> int:
        """As many as are wanted."""
        return wanted


@dataclass(frozen=True)
class Chirp(TimedFamily):
    """Sweeps from one frequency to another: `q(t) = c0 + w(t) / f(t) (c cos p(t) + s sin p(t))`.

    The frequency f [Hz] of the phase p grows, or falls, linearly with time, and amplitudes fall with it, so that fast
    waves are no faster than slow ones; the envelope w rises from zero and falls back to it, so that the motion starts
    and ends at rest. A joint has the coefficients c0, c and s: all joints sweep through the same frequencies, each with
    its own amplitude and phase.

    Attributes:
        period: How long the sweep takes [s].
        first: Frequency at the start [Hz].
        last: Frequency at the end [Hz].
        ramp: Part of the period in which the envelope rises, and in which it falls.
        periods: How often it is repeated.
    """

    name: ClassVar[str] = "chirp"
    meaning: ClassVar[str] = "constant, cosine, sine"
    period: float
    first: float
    last: float
    ramp: float = 0.15
    periods: int = 1

    def __post_init__(self) -> None:
        self._require()
        least, most = _LEAST_LINE / self.period, _MOST_LINE / self.period
        if not all(least <= part <= most for part in (self.first, self.last)):
            raise InvalidRequestError(
                f"a chirp of {self.period:g} s sweeps between frequencies from {least:g} to {most:g} Hz, not from "
                f"{self.first:g} to {self.last:g} Hz; state another [excitation] band"
            )
        if not 0.01 <= self.ramp <= 0.5:
            raise InvalidRequestError(f"the envelope of a chirp rises in a part of 0.01 to 0.5, not {self.ramp:g}")

    @property
    def size(self) -> int:
        """A constant, and two coefficients for amplitude and phase."""
        return 3

    @property
    def swings(self) -> float:
        """As many as the highest frequency would have."""
        return max(self.first, self.last) * self.period

    @property
    def more_room(self) -> str:
        """It always has room."""
        return "a chirp cannot start and end at rest"

    def basis(self, times: Array, derivative: int = 0) -> Array:
        """By the product rule, of the envelope and the waves, shape (samples, 3)."""
        t = self.within(times)
        orders = range(derivative + 1)
        envelope, waves = [self._envelope(t, k) for k in orders], self._waves(t, derivative)
        slope = (self.last - self.first) / self.period
        f = self.first + slope * t
        slower = [math.factorial(k) * (-slope) ** k / f ** (k + 1) for k in orders]
        sizes = [sum(math.comb(n, k) * envelope[k] * slower[n - k] for k in range(n + 1)) for n in orders]
        moving = sum(math.comb(derivative, k) * sizes[k] * waves[derivative - k] for k in orders)
        constant = np.full(len(t), 1.0 if derivative == 0 else 0.0)
        return np.column_stack([constant, np.real(moving), np.imag(moving)])

    def _envelope(self, t: Array, derivative: int) -> Array:
        """A derivative of w, shape (samples,)."""
        rise = self.ramp * self.period
        step = _STEP.deriv(derivative) if derivative else _STEP
        begin, end = t < rise, t > self.period - rise
        values = np.full(len(t), 0.0 if derivative else 1.0)
        values[begin] = step(t[begin] / rise) / rise**derivative
        values[end] = (-1.0) ** derivative * step((self.period - t[end]) / rise) / rise**derivative
        return values

    def _waves(self, t: Array, derivative: int) -> list[Array]:
        """`exp(i p)` and its derivatives; the next one of `g exp(i p)` is `(g' + i p' g) exp(i p)`."""
        sweep = 2 * math.pi * Powers([0.0, self.first, (self.last - self.first) / (2 * self.period)])
        wave = np.exp(1j * sweep(t))
        factor, waves = Powers([1.0 + 0.0j]), [wave]
        for _ in range(derivative):
            factor = factor.deriv() + 1j * sweep.deriv() * factor
            waves.append(factor(t) * wave)
        return waves

    def rest(self) -> Array:
        """The constant."""
        return np.eye(3)[0]

    def reach(self, samples: int, derivative: int = 0) -> float:
        """As that of a wave a little faster than the highest frequency: the envelope bends it, too."""
        angle = math.pi * (self.swings + 1.0 / self.ramp) / samples
        return 1.0 / math.cos(angle) if angle < math.pi / 2 else math.inf

    def samples(self, wanted: int) -> int:
        """As many as are wanted."""
        return wanted
