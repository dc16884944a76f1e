"""Families of motions for design: linear in their coefficients, exact at any time."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError

JERK = 3
"""The highest derivative that limits may bound."""

MOST_COEFFICIENTS = 1000
"""Coefficients of a joint at most: bases of more do not fit into memory."""

_MOST_PERIODS = 1_000_000
"""Repetitions at most."""

_SAME_TIME = 1e-12
"""Times nearer than this part of a period are the same."""


class Family(ABC):
    """Motions of one joint that are sums of basis functions of time: positions are `basis(times) @ coefficients`.

    A design moves the coefficients. Because positions, velocities and accelerations are linear in them, so are the
    limits of joints, and rest and posture at both ends are linear equations.
    """

    name: ClassVar[str]
    """What users call it."""

    meaning: ClassVar[str]
    """What the coefficients of a joint are, in their order."""

    derivatives: ClassVar[int] = JERK
    """The highest derivative that is finite everywhere: 3 where jerks are, 2 where accelerations jump."""

    periods: int
    """How many cycles the motion lasts."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of coefficients of one joint."""

    @property
    @abstractmethod
    def cycle(self) -> float:
        """Time [s] after which the motion repeats."""

    @property
    def duration(self) -> float:
        """How long the motion lasts [s]."""
        return self.periods * self.cycle

    @abstractmethod
    def basis(self, times: Array, derivative: int = 0) -> Array:
        """Position per unit of each coefficient, or a derivative of it over time, shape (samples, size).

        Args:
            times: Times [s] from the start, shape (samples,).
            derivative: 0 position, 1 velocity, 2 acceleration, 3 jerk.
        """

    @abstractmethod
    def rest(self) -> Array:
        """The coefficients of a joint that stands still at position 1, shape (size,)."""

    @abstractmethod
    def reach(self, samples: int, derivative: int = 0) -> float:
        """By which factor a motion may exceed its largest value at so many evenly spaced samples of a cycle.

        It holds for the position about any middle, and for velocity, acceleration and jerk about zero.
        """

    @abstractmethod
    def samples(self, wanted: int) -> int:
        """How many evenly spaced samples of a cycle suit a design: at least those wanted, kinks among them."""

    def times(self, samples: int) -> Array:
        """So many evenly spaced times [s] of a cycle; the end, where it is as at the start, is left out."""
        return np.linspace(0.0, self.cycle, samples, endpoint=False)

    @property
    @abstractmethod
    def swings(self) -> float:
        """How often a joint may swing to and fro in a cycle: the number of the fastest harmonic."""

    @property
    @abstractmethod
    def more_room(self) -> str:
        """Why motions cannot start and end at rest where there are too few coefficients, and what to state."""

    def conditions(self) -> Array:
        """Rows whose products with the coefficients are zero for motions from rest to rest that end where they start.

        Where accelerations jump, a motion that starts at rest need not start without acceleration.
        """
        ends = np.array([0.0, self.duration])
        closed = np.diff(self.basis(ends, 0), axis=0)
        return np.concatenate([closed, *(self.basis(ends, k) for k in range(1, self.derivatives))])


class TimedFamily(Family):
    """Motions over one period, which may be repeated."""

    period: float
    """How long a cycle lasts [s]."""

    @property
    def cycle(self) -> float:
        """Its period [s]."""
        return self.period

    def within(self, times: Array) -> Array:
        """Times [s] since their cycle began, shape (samples,); the end is that of the last cycle."""
        times = np.clip(np.asarray(times, dtype=float), 0.0, self.duration)
        return times - self.period * np.minimum(np.floor(times / self.period + _SAME_TIME), self.periods - 1)

    def _require(self, *counts: tuple[str, int, int, int]) -> None:
        """Refuse a period that is none, and counts (name, value, least, most) beyond their range."""
        if not (math.isfinite(self.period) and self.period > 0.0):
            raise InvalidRequestError(f"the period must be a positive number of seconds, not {self.period}")
        for what, value, least, most in (*counts, ("periods", self.periods, 1, _MOST_PERIODS)):
            if not (isinstance(value, int) and least <= value <= most):
                raise InvalidRequestError(
                    f"the number of {what} of a {self.name} motion must be {least} to {most}, not {value}"
                )


@dataclass(frozen=True, eq=False)
class ParametricTrajectory:
    """A motion of a family for each joint, given by its coefficients: exact at any time.

    Attributes:
        family: The family.
        coefficients: Its coefficients, shape (size of the family, joints).
        speed: How fast it is run; 1 as designed.
    """

    family: Family
    coefficients: Array
    speed: float = 1.0

    def __post_init__(self) -> None:
        values = frozen(self.coefficients)
        if values.ndim != 2 or len(values) != self.family.size:
            raise ShapeError("coefficients", f"({self.family.size}, joints)", values.shape)
        if not np.isfinite(values).all():
            raise InvalidRequestError("the coefficients of a trajectory must be finite numbers")
        if not 0.0 < self.speed < math.inf:
            raise InvalidRequestError(f"the speed of a trajectory must be a positive number, not {self.speed:g}")
        object.__setattr__(self, "coefficients", values)

    @property
    def duration(self) -> float:
        """How long it lasts [s]."""
        return self.family.duration / self.speed

    @property
    def joints(self) -> int:
        """Number of joints."""
        return self.coefficients.shape[1]

    def at_speed(self, factor: float) -> ParametricTrajectory:
        """The same path, run so many times as fast."""
        return replace(self, speed=self.speed * factor)

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at times [s], each of shape (samples, joints)."""
        q, v, a = (self._derivative(times, k) for k in range(3))
        return q, v, a

    def jerk(self, times: Array) -> Array:
        """Jerk [rad/s^3 or m/s^3] at times [s], shape (samples, joints)."""
        return self._derivative(times, 3)

    def _derivative(self, times: Array, derivative: int) -> Array:
        along = self.speed * np.asarray(times, dtype=float)
        return self.speed**derivative * (self.family.basis(along, derivative) @ self.coefficients)
