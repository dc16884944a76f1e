"""What all families of trajectories have in common: every joint's motion is linear in coefficients of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError


class Family(ABC):
    """Motions `q(t) = basis(t) c`, with one vector of coefficients c for each joint."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of coefficients of one joint."""

    @property
    @abstractmethod
    def duration(self) -> float:
        """How long the motion lasts [s]."""

    @property
    def cycle(self) -> float:
        """Time [s] after which the motion repeats; its duration where it does not."""
        return self.duration

    @abstractmethod
    def basis(self, times: Array, derivative: int = 0) -> Array:
        """Position per unit of each coefficient, or a derivative of it over time.

        Args:
            times: Times [s] from the start, shape (samples,).
            derivative: 0 position, 1 velocity, 2 acceleration, 3 jerk.

        Returns:
            Array of shape (samples, size).
        """

    @abstractmethod
    def rest(self) -> Array:
        """The coefficients of a joint that stands still at position 1, shape (size,)."""

    @abstractmethod
    def reach(self, samples: int) -> float:
        """By which factor a motion may exceed its largest value at so many evenly spaced samples of a cycle.

        It holds for the position about any middle, and for velocity, acceleration and jerk about zero.
        """


@runtime_checkable
class Moves(Protocol):
    """Anything that can be followed: states at any time from 0 to its duration [s]."""

    @property
    def duration(self) -> float:
        """How long it takes [s]."""
        ...

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at times [s], each of shape (samples, joints)."""
        ...


class MovesSmoothly(Moves, Protocol):
    """The same with jerks, which limits may bound."""

    def jerk(self, times: Array) -> Array:
        """Jerk [rad/s^3 or m/s^3] at times [s], shape (samples, joints)."""
        ...


@dataclass(frozen=True, eq=False)
class ParametricTrajectory:
    """A trajectory of a family, given by its coefficients: exact at any time.

    Attributes:
        family: The family it is of.
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
        if not self.speed > 0.0:
            raise InvalidRequestError(f"the speed of a trajectory must be positive, not {self.speed:g}")
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

    def times(self, rate: float) -> Array:
        """Times [s] from the start up to the end, at a sampling rate [Hz]."""
        return np.arange(int(self.duration * rate * (1.0 + 1e-12)) + 1) / rate

    def _derivative(self, times: Array, derivative: int) -> Array:
        along = self.speed * np.asarray(times, dtype=float)
        return self.speed**derivative * (self.family.basis(along, derivative) @ self.coefficients)
