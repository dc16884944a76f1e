"""Trajectories: Fourier series, which are exact at any time, samples with splines between them, and slow motions.

Whatever has a `duration` and `states(times)` can be followed, checked and written: see `Moves`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError

_PEAK_SPEED, _PEAK_ACCELERATION = 15.0 / 8.0, 10.0 / 3.0**0.5
"""Largest slope and second derivative of the profile of slow motions."""


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


@dataclass(frozen=True)
class Fourier:
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

    @property
    def duration(self) -> float:
        """How long the motion lasts [s]."""
        return self.periods * self.cycle

    def basis(self, times: Array, derivative: int = 0) -> Array:
        """Position per unit of each coefficient, or a derivative of it over time, shape (samples, size).

        Args:
            times: Times [s] from the start, shape (samples,).
            derivative: 0 position, 1 velocity, 2 acceleration, 3 jerk.
        """
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

    def reach(self, samples: int) -> float:
        """By which factor a motion may exceed its largest value at so many evenly spaced samples of a cycle.

        It holds for the position about any middle, and for velocity, acceleration and jerk about zero: a trigonometric
        polynomial of degree n exceeds its values at N even points by 1 / cos(pi n / N) at most.
        """
        angle = math.pi * self.harmonics / samples
        return 1.0 / math.cos(angle) if angle < math.pi / 2 else math.inf

    def amplitudes(self, coefficients: Array) -> Array:
        """Amplitude [rad or m] of each harmonic, shape (harmonics, joints)."""
        n = self.harmonics
        return np.hypot(coefficients[1 : n + 1], coefficients[n + 1 :])


@dataclass(frozen=True, eq=False)
class ParametricTrajectory:
    """A Fourier series for each joint, given by its coefficients: exact at any time.

    Attributes:
        family: Its base frequency, harmonics and periods.
        coefficients: Its coefficients, shape (size of the family, joints).
        speed: How fast it is run; 1 as designed.
    """

    family: Fourier
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

    def _derivative(self, times: Array, derivative: int) -> Array:
        along = self.speed * np.asarray(times, dtype=float)
        return self.speed**derivative * (self.family.basis(along, derivative) @ self.coefficients)


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


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A trajectory as samples, with splines between them.

    Where velocities and accelerations are given, pieces of degree five meet them; else the positions' spline of degree
    five (less for few rows) gives them.

    Attributes:
        t: Times [s], increasing, shape (samples,).
        q: Positions [rad or m], shape (samples, joints).
        v: Velocities [rad/s or m/s], shape (samples, joints); None where they are not known.
        a: Accelerations [rad/s^2 or m/s^2], shape (samples, joints); None where they are not known.
        torque: Measured torques [N m or N], shape (samples, joints), of a log; None otherwise.
    """

    t: Array
    q: Array
    v: Array | None = None
    a: Array | None = None
    torque: Array | None = None

    def __post_init__(self) -> None:
        t = frozen(self.t)
        object.__setattr__(self, "t", t)
        if t.ndim != 1 or len(t) < 2 or not (np.diff(t) > 0.0).all():
            late = np.flatnonzero(np.diff(t, axis=0) <= 0.0)
            found = f"row {late[0] + 2} is not later than the one before" if len(late) else f"it has {len(t)}"
            raise InvalidRequestError(f"a trajectory needs two rows or more, with increasing times; {found}")
        for name, what in (("q", "positions"), ("v", "velocities"), ("a", "accelerations"), ("torque", "torques")):
            values = getattr(self, name)
            if values is None:
                continue
            values = frozen(values)
            object.__setattr__(self, name, values)
            if values.ndim != 2 or len(values) != len(t):
                raise ShapeError(f"{what} of a trajectory", f"({len(t)}, joints)", values.shape)

    def __repr__(self) -> str:
        known = "".join(f", {name}" for name in "va" if getattr(self, name) is not None)
        return f"Trajectory({len(self.t)} samples of q{known}; {self.q.shape[1]} joints, {self.duration:.4g} s)"

    def __len__(self) -> int:
        return len(self.t)

    @property
    def duration(self) -> float:
        """How long it takes [s]."""
        return float(self.t[-1] - self.t[0])

    @cached_property
    def _spline(self) -> object:
        from scipy.interpolate import BPoly, make_interp_spline

        if self.v is not None and self.a is not None:
            return BPoly.from_derivatives(self.t, np.stack([self.q, self.v, self.a], axis=1))
        degree = min(5, len(self.t) - 1)
        return make_interp_spline(self.t, self.q, k=degree - 1 + degree % 2)

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at times [s] since the first, each of shape (samples, joints)."""
        t = np.clip(self.t[0] + np.asarray(times), self.t[0], self.t[-1])
        spline = self._spline
        q, v, a = (np.asarray(spline(t, nu=k) if k else spline(t)) for k in range(3))  # type: ignore[operator]
        return q, v, a


@dataclass(frozen=True, eq=False)
class PointToPoint:
    """From rest to rest along a straight line of the joints, with the profile 10 s^3 - 15 s^4 + 6 s^5.

    Attributes:
        begin: Positions at the start [rad or m], shape (joints,).
        end: Positions at the end, shape (joints,).
        duration: How long it takes [s].
    """

    begin: Array
    end: Array
    duration: float

    @staticmethod
    def slow(begin: Array, end: Array, velocity: Array, acceleration: Array, part: float = 0.1) -> PointToPoint:
        """As fast as a part of the limits of velocities and accelerations allows; all arrays are of shape (joints,)."""
        way = np.abs(end - begin)
        by_speed = _PEAK_SPEED * way / (part * velocity)
        by_acceleration = np.sqrt(_PEAK_ACCELERATION * way / (part * acceleration))
        return PointToPoint(begin, end, max(float(by_speed.max()), float(by_acceleration.max()), 1.0))

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at times [s], each of shape (samples, joints)."""
        s = np.clip(np.asarray(times, dtype=float) / self.duration, 0.0, 1.0)[:, None]
        way = self.end - self.begin
        return (
            self.begin + way * (10 * s**3 - 15 * s**4 + 6 * s**5),
            way * (30 * s**2 - 60 * s**3 + 30 * s**4) / self.duration,
            way * (60 * s - 180 * s**2 + 120 * s**3) / self.duration**2,
        )

    def jerk(self, times: Array) -> Array:
        """Jerk at times [s], shape (samples, joints)."""
        s = np.clip(np.asarray(times, dtype=float) / self.duration, 0.0, 1.0)[:, None]
        return (self.end - self.begin) * (60 - 360 * s + 360 * s**2) / self.duration**3
