"""Distances that a robot keeps: from itself, the floor, walls and boxes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dynid.arrays import Array, Indices
from dynid.errors import InvalidRequestError
from dynid.excitation.collision.collision_model import CollisionModel
from dynid.excitation.interior_point import NEAR_LIMIT
from dynid.excitation.limits.limit import Check, Limit
from dynid.excitation.motion import FreeCoefficients, Grid, Motion, Postures
from dynid.excitation.trajectories.moves import Moves

ROOM = 0.06
"""Distance [m] beyond the clearance at which a pair is far: its slack is 1, and the design does not feel it."""


COARSE = 16
"""One of so many samples is looked at first."""


@lru_cache(maxsize=8)
def fine_grid(free: FreeCoefficients, samples: int) -> Grid:
    """So many samples of motions, or what suits their family."""
    return Grid.of(free, free.family.samples(samples))


@dataclass(frozen=True, eq=False)
class ClearanceLimit(Limit):
    """Distances of pairs of solids, at finer samples than the design's own: a tool moves far between those.

    Attributes:
        model: All pairs, for the check of a motion.
        moving: The pairs that a design looks at.
        clearance: Smallest distance [m].
        samples: How many samples it looks at, where a motion may have so many.
    """

    model: CollisionModel
    moving: CollisionModel
    clearance: float
    samples: int

    @property
    def _needed(self) -> float:
        """The distance [m] that a design keeps: a part of the room is left for values between samples."""
        return self.clearance + (1.0 - self.factor) * ROOM

    def _fine(self, motion: Motion) -> Motion:
        """A motion at the fine samples; postures are what they are."""
        return motion if isinstance(motion, Postures) else Motion(fine_grid(motion.grid.free, self.samples), motion.x)

    def slacks(self, motion: Motion) -> Array:
        """One for each pair at each fine sample, shape (samples * pairs,); once one is broken, others are bounds."""
        q = self._fine(motion).states[0]
        if not np.ptp(q, axis=0).any():  # at rest: one posture is all
            q = q[:1]
        for some in (q[::COARSE], q):  # most motions that break it do so there, too
            distances = self.moving.clearances(some, self._needed + NEAR_LIMIT * ROOM, enough=self._needed)
            if (distances <= self._needed).any():
                break
        return ((distances - self._needed) / ROOM).ravel()

    def of_postures(self, q: Array) -> Array:
        """That of the nearest pair of each posture."""
        distances = self.moving.clearances(q, self._needed + NEAR_LIMIT * ROOM)
        return ((distances - self._needed) / ROOM).min(axis=1, initial=1.0)

    def slopes(self, motion: Motion, which: Indices) -> Array:
        """From the nearest points of both."""
        fine = self._fine(motion)
        sample, pair = np.divmod(which, len(self.moving.pairs))
        _, over_q = self.moving.slopes(fine.states[0][sample], pair)
        nothing = np.zeros_like(over_q)
        return fine.pull_back_rows(sample, (over_q / ROOM, nothing, nothing))

    def require_clear(self, posture: Array, key: str) -> None:
        """Refuse a posture, shape (joints,), that a key of `[excitation]` states, where it is too near to something."""
        nearest, _ = self.model.nearest(posture[None, :])
        worst = int(np.argmin(nearest))
        if nearest[worst] < self.clearance:
            pair, distance = self.model.pairs[worst].name, float(nearest[worst])
            found = "overlap" if distance <= 0.0 else f"are {distance:.3g} m apart"
            raise InvalidRequestError(
                f"in the {key} posture {pair} {found}, and {self.clearance:g} m is needed; state another one in "
                f"[excitation] {key}, a smaller clearance, or the pair in ignore_pairs if it may touch"
            )

    def checks(self, trajectory: Moves, times: Array) -> list[Check]:
        """One for each pair that comes near, and for the nearest one in any case."""
        q = trajectory.states(times)[0]
        nearest, at = self.model.nearest(q, below=self.clearance + ROOM)
        shown = nearest < self.clearance + ROOM
        if not shown.any():
            nearest, at = self.model.nearest(q)
            shown[int(np.argmin(nearest))] = True
        return [
            Check(
                f"clearance of {self.model.pairs[k].name}",
                (self.clearance, math.inf),
                (float(nearest[k]), math.inf),
                "m",
                symmetric=False,
                time=float(times[at[k]]),
                room=ROOM,
            )
            for k in np.flatnonzero(shown)
        ]
