"""Slow motions from one posture to another, such as those from home and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array

_PEAK_SPEED, _PEAK_ACCELERATION = 15.0 / 8.0, 10.0 / 3.0**0.5
"""Largest slope and second derivative of the profile of slow motions."""


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
