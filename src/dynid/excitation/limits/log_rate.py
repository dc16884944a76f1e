"""Motions that a slow log still shows: their fastest oscillation against the sampling rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Indices
from dynid.errors import InvalidRequestError
from dynid.excitation.limits.limit import Check, Limit
from dynid.excitation.motion import Motion
from dynid.excitation.trajectories.family import Family
from dynid.excitation.trajectories.moves import MovesSmoothly


@dataclass(frozen=True)
class LogRateThresholds:
    """How fast a motion may be for the rate of its log."""

    share: float = 0.1
    """Largest frequency of a motion over the sampling rate. Central differences of ten samples a period are 6 %
    too small for velocities and 3 % for accelerations, beyond which derivatives are no longer those of the motion.
    By judgement."""


THRESHOLDS = LogRateThresholds()


@dataclass(frozen=True, eq=False)
class LogRateLimit(Limit):
    """The fastest oscillation of a family of motions. It is the same for all of them, so that it has no slacks.

    Attributes:
        fastest: Its frequency [Hz].
        rate: Sampling rate of the log [Hz].
    """

    fastest: float
    rate: float

    @staticmethod
    def of(family: Family, rate: float) -> LogRateLimit:
        """The limit on a family of motions at a sampling rate [Hz].

        Raises:
            InvalidRequestError: If they are too fast for it.
        """
        limit = LogRateLimit(family.swings / family.cycle, rate)
        if limit.fastest > limit.most * (1.0 + 1e-9):
            raise InvalidRequestError(
                f"this {family.name} motion has frequencies up to {limit.fastest:.3g} Hz, and a log at {rate:g} Hz "
                f"shows accelerations up to {limit.most:.3g} Hz (ten samples a period); lengthen the period, ask for "
                "fewer harmonics or waypoints, or state a higher rate"
            )
        return limit

    @property
    def most(self) -> float:
        """The largest frequency allowed [Hz]."""
        return THRESHOLDS.share * self.rate

    def slacks(self, motion: Motion) -> Array:
        """None: no coefficient changes it."""
        return np.zeros(0)

    def slopes(self, motion: Motion, which: Indices) -> Array:
        """None."""
        return np.zeros((0, len(motion.x)))

    def of_postures(self, q: Array) -> Array:
        """Postures have no frequency."""
        return np.ones(len(q))

    def checks(self, trajectory: MovesSmoothly, times: Array) -> list[Check]:
        """The frequency."""
        return [Check.of_size("frequency for the log rate", self.most, np.array([self.fastest]), "Hz")]
