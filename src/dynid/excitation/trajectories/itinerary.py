"""Motions one after the other, with rests between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Indices, frozen
from dynid.excitation.trajectories.moves import MovesSmoothly


@dataclass(frozen=True, eq=False)
class Rest:
    """Standing still.

    Attributes:
        position: Where [rad or m], shape (joints,).
        duration: How long [s].
    """

    position: Array
    duration: float

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """The position, and zeros, each of shape (samples, joints)."""
        q = np.broadcast_to(self.position, (len(times), len(self.position))).copy()
        return q, np.zeros_like(q), np.zeros_like(q)

    def jerk(self, times: Array) -> Array:
        """Zeros, shape (samples, joints)."""
        return np.zeros((len(times), len(self.position)))


@dataclass(frozen=True, eq=False)
class AtSpeed:
    """A motion on the same path, run so many times as fast.

    Attributes:
        motion: The motion.
        factor: How many times as fast.
    """

    motion: MovesSmoothly
    factor: float

    @property
    def duration(self) -> float:
        """How long it takes [s]."""
        return self.motion.duration / self.factor

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at times [s], each of shape (samples, joints)."""
        q, v, a = self.motion.states(self.factor * np.asarray(times, dtype=float))
        return q, self.factor * v, self.factor**2 * a

    def jerk(self, times: Array) -> Array:
        """Jerk at times [s], shape (samples, joints)."""
        return self.factor**3 * self.motion.jerk(self.factor * np.asarray(times, dtype=float))


@dataclass(frozen=True, eq=False)
class Itinerary:
    """Motions one after the other, each from where the one before it ends.

    Attributes:
        pieces: The motions; `Rest` where the robot stands still.
    """

    pieces: tuple[MovesSmoothly, ...]

    @cached_property
    def begins(self) -> Array:
        """When each piece begins, and the last one ends [s], shape (pieces + 1,)."""
        return frozen(np.cumsum([0.0, *(piece.duration for piece in self.pieces)]))

    @property
    def duration(self) -> float:
        """How long all of it takes [s]."""
        return float(self.begins[-1])

    @cached_property
    def joints(self) -> int:
        """Number of joints."""
        return self.pieces[0].states(np.zeros(1))[0].shape[1]

    @property
    def resting(self) -> float:
        """How long the robot stands still [s]."""
        return sum(piece.duration for piece in self.pieces if isinstance(piece, Rest))

    def at_speed(self, factor: float) -> Itinerary:
        """The same path, run so many times as fast; rests last as long as they do."""
        return Itinerary(tuple(one if isinstance(one, Rest) else AtSpeed(one, factor) for one in self.pieces))

    def moving_times(self, rate: float, *, rests: bool = False) -> Array:
        """Times [s] of all motions at a sampling rate [Hz] or more, and the ends of rests, or all of them, too."""
        skipped = [isinstance(one, Rest) and not rests for one in self.pieces]
        samples = [int(np.ceil(rate * one.duration)) + 1 for one in self.pieces]
        counts = [2 if skip else max(count, 2) for skip, count in zip(skipped, samples, strict=True)]
        ends = zip(self.begins[:-1], self.begins[1:], counts, strict=True)
        return np.concatenate([np.linspace(begin, end, count) for begin, end, count in ends])

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at times [s], each of shape (samples, joints)."""
        found = np.zeros((3, len(times), self.joints))
        for piece, which, along in self._parts(times):
            found[:, which] = piece.states(along)
        q, v, a = found
        return q, v, a

    def jerk(self, times: Array) -> Array:
        """Jerk at times [s], shape (samples, joints)."""
        found = np.zeros((len(times), self.joints))
        for piece, which, along in self._parts(times):
            found[which] = piece.jerk(along)
        return found

    def _parts(self, times: Array) -> list[tuple[MovesSmoothly, Indices, Array]]:
        """The pieces that times fall into, with the indices of these, and the times since the piece began [s]."""
        t = np.clip(np.asarray(times, dtype=float), 0.0, self.duration)
        at = np.clip(np.searchsorted(self.begins, t, side="right") - 1, 0, len(self.pieces) - 1)
        order = np.argsort(at, kind="stable")
        numbers, first = np.unique(at[order], return_index=True)
        parts = zip(numbers.tolist(), np.split(order, first[1:]), strict=True)
        return [(self.pieces[k], which, t[which] - self.begins[k]) for k, which in parts]
