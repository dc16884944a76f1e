"""Motions in phases of constant jerk, joint by joint."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Indices


@dataclass(frozen=True, eq=False)
class PhasedMotion:
    """Joints that each go through phases of constant jerk, one after the other; it can be followed (`Moves`).

    Attributes:
        begin: Positions at the start [rad or m], shape (joints,).
        velocity: Velocities at the start [rad/s or m/s], shape (joints,).
        durations: How long each phase lasts [s], shape (joints, phases); zero where one is missing.
        accelerations: At the start of each phase [rad/s^2 or m/s^2], shape (joints, phases).
        jerks: During each phase [rad/s^3 or m/s^3], shape (joints, phases).

    >>> fall = PhasedMotion(*map(np.array, ([0.0], [0.0], [[2.0]], [[-9.81]], [[0.0]])))
    >>> fall.states(np.array([2.0]))[0].tolist()
    [[-19.62]]
    """

    begin: Array
    velocity: Array
    durations: Array
    accelerations: Array
    jerks: Array

    def __repr__(self) -> str:
        return f"PhasedMotion({len(self.begin)} joints, {self.duration:.4g} s)"

    @cached_property
    def ends(self) -> Array:
        """Times [s] at which phases begin and end, shape (joints, phases + 1)."""
        return _summed(np.zeros(len(self.begin)), self.durations)

    @property
    def duration(self) -> float:
        """How long the slowest joint takes [s]; all take as long in synchronised motions."""
        return float(self.ends[:, -1].max())

    @cached_property
    def _starts(self) -> tuple[Array, Array]:
        """Positions and velocities at which phases begin and end, shape (joints, phases + 1)."""
        t, a, j = self.durations, self.accelerations, self.jerks
        v = _summed(self.velocity, t * (a + t * j / 2))
        return _summed(self.begin, t * (v[:, :-1] + t * (a / 2 + t * j / 6))), v

    def states(self, times: Array) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations at times [s], each of shape (samples, joints).

        Where accelerations jump, they are those of the phase that begins.
        """
        row, phase, t = self._where(times)
        q, v = (part[row, phase] for part in self._starts)
        a, j = self.accelerations[row, phase], self.jerks[row, phase]
        return q + t * (v + t * (a / 2 + t * j / 6)), v + t * (a + t * j / 2), a + t * j

    def jerk(self, times: Array) -> Array:
        """Jerk at times [s], shape (samples, joints)."""
        row, phase, _ = self._where(times)
        return self.jerks[row, phase]

    def _where(self, times: Array) -> tuple[Indices, Indices, Array]:
        """For each sample and joint the joint, its phase, and the time since that began, each (samples, joints)."""
        times = np.asarray(times, dtype=float)
        phase = np.column_stack([np.searchsorted(ends[1:-1], times, side="right") for ends in self.ends])
        row = np.broadcast_to(np.arange(len(self.begin)), phase.shape)
        since = np.clip(times[:, None], 0.0, self.ends[:, -1]) - self.ends[row, phase]
        return row, phase, since


def _summed(first: Array, steps: Array) -> Array:
    """First values and those after each step; (joints,) and (joints, steps) to (joints, steps + 1)."""
    return np.cumsum(np.column_stack([first, steps]), axis=1)
