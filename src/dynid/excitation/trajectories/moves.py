"""What can be followed: whatever has a duration and states at any time."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from dynid.arrays import Array


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
