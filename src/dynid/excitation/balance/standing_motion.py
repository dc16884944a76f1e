"""A motion of a robot on its feet: rests in postures, and moves from one to the next; exact at any time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Flags, Indices
from dynid.excitation.balance.closed_legs import ClosedLegs
from dynid.excitation.balance.standing_moves import on_the_way

_BASE_POSITIONS, _BASE_VELOCITIES = 7, 6


@dataclass(frozen=True, eq=False)
class StandingMotion:
    """Rests and moves, one after the other.

    It moves as trajectories do, with the states of the joints; `whole_states` has those of the base, too.

    Attributes:
        legs: The robot on its feet.
        begins: When each piece begins, and when the last ends [s], shape (pieces + 1,).
        starts: Where each starts, shape (pieces, nq); a rest ends where it starts.
        ends: Where each ends, shape (pieces, nq).
    """

    legs: ClosedLegs
    begins: Array
    starts: Array
    ends: Array

    @property
    def duration(self) -> float:
        """How long it takes [s]."""
        return float(self.begins[-1])

    @property
    def joints(self) -> int:
        """Number of joints."""
        return self.starts.shape[1] - _BASE_POSITIONS

    @cached_property
    def is_move(self) -> Flags:
        """Whether each piece is a move, shape (pieces,)."""
        return np.asarray((self.starts != self.ends).any(axis=1))

    @property
    def seconds_moving(self) -> float:
        """How long the robot moves [s]."""
        return float(np.diff(self.begins)[self.is_move].sum())

    def pieces_at(self, times: Array) -> Indices:
        """The index of the piece that each time [s] is in, shape (samples,)."""
        found = np.searchsorted(self.begins, times, side="right") - 1
        return np.clip(found, 0, len(self.starts) - 1)

    def whole_states(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions (samples, nq), velocities and accelerations (samples, nv) with those of the base, at times [s]."""
        times = np.clip(np.asarray(times, dtype=float), 0.0, self.duration)
        piece = self.pieces_at(times)
        q = self.starts[piece].copy()
        v, a = np.zeros((2, len(times), self.legs.stance.robot.nv))
        rows = np.flatnonzero(self.is_move[piece])
        if len(rows):
            which = piece[rows]
            lasts = np.diff(self.begins)[which]
            u = np.clip((times[rows] - self.begins[which]) / lasts, 0.0, 1.0)
            found = on_the_way(self.legs, self.starts[which], self.ends[which], u)
            q[rows], v[rows], a[rows] = found.q, found.v / lasts[:, None], found.a / lasts[:, None] ** 2
        return q, v, a

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations of the joints at times [s], each of shape (samples, joints)."""
        q, v, a = self.whole_states(times)
        return q[:, _BASE_POSITIONS:], v[:, _BASE_VELOCITIES:], a[:, _BASE_VELOCITIES:]

    def at_speed(self, factor: float) -> StandingMotion:
        """The same postures, with moves so many times as fast; rests last as long as they do."""
        lasts = np.diff(self.begins)
        lasts = np.where(self.is_move, lasts / factor, lasts)
        return StandingMotion(self.legs, np.concatenate([[0.0], np.cumsum(lasts)]), self.starts, self.ends)
