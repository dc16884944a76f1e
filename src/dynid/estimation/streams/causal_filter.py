"""Causal filters of streams: a low-pass and its derivatives, exact at uneven times.

A Butterworth low-pass is a sum of modes, `F(s) = sum r / (s - p)`, and `s F(s)`, `s^2 F(s)` are the same modes with
other weights: filtered positions, velocities and accelerations come from one state, as in a state-variable filter.
Between samples signals are taken as straight lines, for which the modes are advanced exactly, however long the interval
is. Whatever else is filtered with F, such as torques, is delayed by the same time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError

ORDER = 4
"""Order of the low-pass: two derivatives of it still fall with frequency, by two orders."""

FORGOTTEN = 1e-5
"""Part of the slowest mode that is left of a beginning, when outputs count."""


@dataclass(frozen=True)
class CausalFilter:
    """How positions and torques of a stream are filtered.

    Attributes:
        cutoff: Cut-off frequency [Hz] of what makes velocities and accelerations of positions, and of torques alike: a
            few times above the motion, below half the sampling rate.
        rows: Cut-off frequency [Hz] of a second low-pass, which equations go through as they are, all columns and
            torques; None for none.
    """

    cutoff: float = 20.0
    rows: float | None = 10.0

    def __post_init__(self) -> None:
        for name in ("cutoff", "rows"):
            value = getattr(self, name)
            if name == "rows" and value is None:
                continue
            if not (isinstance(value, (int, float)) and math.isfinite(value) and value > 0.0):
                raise InvalidRequestError(f"{name} of a causal filter is a positive frequency [Hz], not {value!r}")

    @property
    def longest_step(self) -> float:
        """Interval between samples [s] over which no straight line can be drawn: filters begin anew after it."""
        return 0.5 / self.cutoff


class StateFilter:
    """A low-pass with its first derivatives, of several channels.

    Args:
        cutoff: Cut-off frequency [Hz].
        derivatives: How many derivatives beside the low-passed channels, up to two.

    Attributes:
        settled: Time [s] after a begin until which outputs depend on what was before.
    """

    def __init__(self, cutoff: float, derivatives: int = 0) -> None:
        from dynid.estimation.streams.sample_loops import advance

        self._advance = advance
        omega = 2.0 * math.pi * cutoff
        angles = math.pi * (2.0 * np.arange(ORDER // 2) + 1.0 + ORDER) / (2.0 * ORDER)
        upper = omega * np.exp(1j * angles)
        poles = np.concatenate([upper, upper.conj()])
        weights = [omega**ORDER / np.prod([p - other for other in poles if other != p]) for p in upper]
        self._poles = upper
        self._outputs = np.array([2.0 * np.array(weights) * upper**k for k in range(derivatives + 1)])
        self.settled = -math.log(FORGOTTEN) / float(np.min(-upper.real))
        self._state = np.zeros((len(upper), 0), dtype=complex)
        self._last = np.zeros(0)
        self.begin(np.zeros(1))
        self.advance(np.zeros(0), np.zeros((0, 1)))  # compile now

    def begin(self, values: Array) -> None:
        """Begin as if the channels had always had these values, shape (channels,)."""
        self._state = -values / self._poles[:, None]
        self._last = values.astype(float)

    def advance(self, steps: Array, values: Array) -> Array:
        """The outputs at samples.

        Args:
            steps: Interval before each sample [s], shape (samples,); zero is none.
            values: Values of the channels, shape (samples, channels).

        Returns:
            Low-passed channels and their derivatives, shape (derivatives + 1, samples, channels).
        """
        z = steps[:, None] * self._poles
        moved = np.where(z == 0.0, 1.0, z)
        one = np.expm1(moved) / moved
        two = np.where(z == 0.0, 0.0, (one - 1.0) / moved) * steps[:, None]
        both = np.where(z == 0.0, 0.0, one) * steps[:, None]
        found = np.empty((len(self._outputs), *values.shape))
        values = np.ascontiguousarray(values, dtype=float)
        self._advance(self._state, self._last, values, np.exp(z), both - two, two, self._outputs, found)
        return found
