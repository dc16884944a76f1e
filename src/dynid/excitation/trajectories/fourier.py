"""Fourier series: periodic motions of few frequencies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.excitation.trajectories.family import Family, ParametricTrajectory


@dataclass(frozen=True)
class Fourier(Family):
    """Motions `q(t) = c0 + sum_k c_k cos(k w t) + s_k sin(k w t)` (equation 3.54 of the UR5 thesis, b = -c).

    The coefficients of a joint are c0, c_1 ... c_n, s_1 ... s_n.

    Attributes:
        frequency: Base frequency w [rad/s].
        harmonics: Number n of multiples of it.
        periods: How many periods the motion lasts.

    >>> wave = Fourier(frequency=2.0, harmonics=1)
    >>> wave.basis(np.array([0.0]), 2).tolist()
    [[0.0, -4.0, -0.0]]
    """

    name: ClassVar[str] = "fourier"
    meaning: ClassVar[str] = "constant, cosines, sines"
    frequency: float
    harmonics: int
    periods: int = 1

    def __post_init__(self) -> None:
        if not (math.isfinite(self.frequency) and self.frequency > 0.0):
            raise InvalidRequestError(f"the base frequency must be a positive number of rad/s, not {self.frequency}")
        if self.harmonics < 1 or self.periods < 1:
            raise InvalidRequestError(
                f"a Fourier series needs a harmonic and a period or more, not {self.harmonics} and {self.periods}"
            )

    @property
    def size(self) -> int:
        """Number of coefficients of one joint."""
        return 2 * self.harmonics + 1

    @property
    def cycle(self) -> float:
        """Its period [s], after which the motion repeats."""
        return 2 * math.pi / self.frequency

    def basis(self, times: Array, derivative: int = 0) -> Array:
        """Waves of each harmonic and their derivatives, shape (samples, size)."""
        rates = self.frequency * np.arange(1, self.harmonics + 1)
        phase = np.outer(times, rates)
        cosine, sine = np.cos(phase), np.sin(phase)
        for _ in range(derivative):
            cosine, sine = -sine, cosine
        waves = (rates**derivative * cosine, rates**derivative * sine)
        constant = np.full((len(phase), 1), 1.0 if derivative == 0 else 0.0)
        return np.concatenate([constant, *waves], axis=1)

    def rest(self) -> Array:
        """The coefficients of a joint that stands still at position 1, shape (size,)."""
        return np.eye(self.size)[0]

    def reach(self, samples: int, derivative: int = 0) -> float:
        """A trigonometric polynomial of degree n exceeds its values at N even points by 1 / cos(pi n / N) at most."""
        angle = math.pi * self.harmonics / samples
        return 1.0 / math.cos(angle) if angle < math.pi / 2 else math.inf

    def samples(self, wanted: int) -> int:
        """As many as are wanted."""
        return wanted

    @property
    def swings(self) -> float:
        """The number of harmonics."""
        return self.harmonics

    @property
    def more_room(self) -> str:
        """Each harmonic adds two coefficients."""
        return (
            f"motions of {self.harmonics} harmonics cannot start and end at rest; state 2 or more in [excitation] "
            "harmonics"
        )

    def conditions(self) -> Array:
        """Rest at both ends; a series ends where it starts."""
        ends = np.array([0.0, self.duration])
        return np.concatenate([self.basis(ends, 1), self.basis(ends, 2)])

    def amplitudes(self, coefficients: Array) -> Array:
        """Amplitude [rad or m] of each harmonic, shape (harmonics, joints)."""
        n = self.harmonics
        return np.hypot(coefficients[1 : n + 1], coefficients[n + 1 :])


def fourier_motion(period: float, centre: Array, cosine: Array, sine: Array, periods: int = 1) -> ParametricTrajectory:
    """The motion `q(t) = centre + sum_k cosine_k cos(k w t) + sine_k sin(k w t)` with w = 2 pi / period.

    Args:
        period: Time after which it repeats [s].
        centre: Shape (joints,) [rad or m].
        cosine: Shape (joints, harmonics) [rad or m].
        sine: Shape (joints, harmonics) [rad or m].
        periods: How many periods it lasts.
    """
    family = Fourier(2 * math.pi / period, np.shape(sine)[1], periods)
    return ParametricTrajectory(
        family, np.concatenate([np.atleast_2d(centre), np.transpose(cosine), np.transpose(sine)])
    )
