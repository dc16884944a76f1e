"""Trapezoids and double-S profiles as families for design: rest at each of some waypoints, at equal times.

With the time of each way and the parts of it that its phases take fixed, these motions are linear in the waypoints, so
that a design can move those. `double_s.synchronised` gives the fastest motions through waypoints that are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dynid.arrays import Array
from dynid.excitation.trajectories.double_s import phased
from dynid.excitation.trajectories.family import JERK, MOST_COEFFICIENTS, TimedFamily
from dynid.excitation.trajectories.phased_motion import PhasedMotion


class _WaypointFamily(TimedFamily):
    """From waypoint to waypoint with one profile in phases of equal time."""

    waypoints: int
    profile: ClassVar[PhasedMotion]
    """The way from 0 to 1 in a time of 1."""

    def __post_init__(self) -> None:
        self._require(("waypoints", self.waypoints, 2, MOST_COEFFICIENTS))

    @property
    def size(self) -> int:
        """The number of waypoints."""
        return self.waypoints

    @property
    def _phases(self) -> int:
        """Number of phases of a cycle."""
        return (self.waypoints - 1) * self.profile.durations.shape[1]

    @property
    def swings(self) -> float:
        """Two ways are one to and fro."""
        return 0.5 * (self.waypoints - 1)

    @property
    def more_room(self) -> str:
        """The last waypoint is the first."""
        return (
            f"a motion through {self.waypoints} waypoints that ends where it starts stands still; state 3 or more in "
            "[excitation] waypoints"
        )

    def basis(self, times: Array, derivative: int = 0) -> Array:
        """The profile between two waypoints, shape (samples, size)."""
        ways = self.waypoints - 1
        along = self.within(times) / self.period * ways
        way = np.minimum(np.floor(along + 1e-9), ways - 1).astype(int)
        place = np.round(along - way, 12)  # ends of phases belong to the next one, whatever rounding says
        values = [*self.profile.states(place), self.profile.jerk(place)][derivative][:, 0]
        values = values * (ways / self.period) ** derivative
        rows = np.zeros((len(place), self.size))
        rows[np.arange(len(place)), way] = (1.0 if derivative == 0 else 0.0) - values
        rows[np.arange(len(place)), way + 1] = values
        return rows

    def rest(self) -> Array:
        """All waypoints alike."""
        return np.ones(self.size)

    def reach(self, samples: int, derivative: int = 0) -> float:
        """Nothing is exceeded: all extremes are at ends of phases."""
        return 1.0

    def samples(self, wanted: int) -> int:
        """As many in each phase, its start among them."""
        return self._phases * -(-wanted // self._phases)

    def conditions(self) -> Array:
        """The last waypoint is the first; rest is there at all of them."""
        return np.eye(self.size)[:1] - np.eye(self.size)[-1:]


def _profile(accelerations: list[float], jerks: list[float]) -> PhasedMotion:
    """From 0 to 1 in a time of 1, with phases of equal time; accelerations are those at the start of each."""
    count = len(accelerations)
    durations = np.full((1, count), 1.0 / count)
    return phased(np.zeros(1), (durations, np.array([accelerations]), np.array([jerks])))


@dataclass(frozen=True)
class Trapezoid(_WaypointFamily):
    """Trapezoids of velocity: a third of each way's time for acceleration, constant velocity and deceleration.

    Accelerations jump, so jerks have no limit. The coefficients are the waypoints' positions.

    Attributes:
        period: How long a cycle lasts [s].
        waypoints: How many there are, that at the start and that at the end among them.
        periods: How many cycles the motion lasts.
    """

    name: ClassVar[str] = "trapezoid"
    meaning: ClassVar[str] = "positions of the waypoints"
    derivatives: ClassVar[int] = JERK - 1
    profile: ClassVar[PhasedMotion] = _profile([4.5, 0.0, -4.5], [0.0, 0.0, 0.0])
    period: float
    waypoints: int
    periods: int = 1


@dataclass(frozen=True)
class DoubleS(_WaypointFamily):
    """Double-S profiles with seven phases of equal time on each way.

    The coefficients are the waypoints' positions.

    Attributes:
        period: How long a cycle lasts [s].
        waypoints: How many there are, that at the start and that at the end among them.
        periods: How many cycles the motion lasts.
    """

    name: ClassVar[str] = "double-s"
    meaning: ClassVar[str] = "positions of the waypoints"
    profile: ClassVar[PhasedMotion] = _profile(
        [0.0, 6.125, 6.125, 0.0, 0.0, -6.125, -6.125], [42.875, 0.0, -42.875, 0.0, -42.875, 0.0, 42.875]
    )
    period: float
    waypoints: int
    periods: int = 1
