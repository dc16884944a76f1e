"""The harder limits of the UR5 thesis (equation 3.57): sums of the amplitudes of all harmonics.

A motion never exceeds the sum of its amplitudes, so these limits hold at all times without looking at any; they leave
less room than the motion needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Indices
from dynid.errors import InvalidRequestError
from dynid.excitation.limits.joint_bounds import QUANTITIES, JointBounds
from dynid.excitation.limits.limit import Check, Limit
from dynid.excitation.motion import Motion
from dynid.excitation.trajectories.family import MovesSmoothly, ParametricTrajectory
from dynid.excitation.trajectories.fourier import Fourier

_ROUNDED = 1e-4
"""Amplitudes [rad or m] are rounded off at zero, where they have a kink, by this much and upwards."""


@dataclass(frozen=True, eq=False)
class AmplitudeLimit(Limit):
    """`sum_k (k w)^d amplitude_k <= half` for positions (d = 0, with the constant's distance from the middle) to jerks.

    Attributes:
        bounds: What the sums are limited by.
        factor: Part of the limits that a design may use.
    """

    knows_curvature = True

    bounds: JointBounds
    factor: float = 1.0

    def slacks(self, motion: Motion) -> Array:
        """One for each quantity of each joint; 1 where it is not limited, shape (4 * joints,)."""
        family = _fourier(motion.grid.free.family)
        return (1.0 - self._sums(family, motion.coefficients, _ROUNDED) / (self.factor * self.bounds.half)).ravel()

    def slopes(self, motion: Motion, which: Indices) -> Array:
        """Only the joint's own coefficients matter."""
        J = np.zeros((len(which), len(motion.x)))
        free = motion.grid.free
        for row, (k, j) in enumerate(zip(*np.divmod(which, len(free.slices)), strict=True)):
            parts, sizes, factors = self._parts(motion, int(k), int(j))
            slope = (parts * (factors / sizes)[:, None]).T  # (2, waves)
            J[row, free.slices[j]] = -(self._ordered(slope) @ free.directions[j]) / self._room(k, j)
        return J

    def curvature(self, motion: Motion, which: Indices, weights: Array) -> Array:
        """Of each amplitude across its direction: 1 / amplitude."""
        H = np.zeros((len(motion.x), len(motion.x)))
        free = motion.grid.free
        for k, j, weight in zip(*np.divmod(which, len(free.slices)), weights, strict=True):
            parts, sizes, factors = self._parts(motion, int(k), int(j))
            own = np.zeros((2 * len(sizes), 2 * len(sizes)))
            for n, (pair, size, factor) in enumerate(zip(parts, sizes, factors, strict=True)):
                both = [n, n + len(sizes)]
                own[np.ix_(both, both)] = factor * (np.eye(2) / size - np.outer(pair, pair) / size**3)
            order = self._order(len(sizes))
            own = own[np.ix_(order, order)]
            D = free.directions[j]
            H[free.slices[j], free.slices[j]] += weight / self._room(k, j) * (D.T @ own @ D)
        return H

    def _room(self, k: int, j: int) -> float:
        return float(self.factor * self.bounds.half[k, j])

    def _parts(self, motion: Motion, k: int, j: int) -> tuple[Array, Array, Array]:
        """Of one sum the cosine and sine of each wave, shape (waves, 2), its size and factor; the constant first."""
        family = _fourier(motion.grid.free.family)
        C, n = motion.coefficients[:, j], family.harmonics
        constant = [C[0] - self.bounds.middle[0, j], 0.0]
        parts = np.concatenate([[constant], np.column_stack([C[1 : n + 1], C[n + 1 :]])])
        factors = np.concatenate([[1.0 if k == 0 else 0.0], (family.frequency * np.arange(1, n + 1)) ** k])
        return parts, np.sqrt(np.sum(parts**2, axis=1) + _ROUNDED**2), factors

    @staticmethod
    def _order(waves: int) -> Indices:
        """Where the coefficients of a joint stand among all cosines, then all sines."""
        return np.concatenate([np.arange(waves), waves + 1 + np.arange(waves - 1)])

    def _ordered(self, both: Array) -> Array:
        """Values of cosines and sines, shape (2, waves), in the order of coefficients."""
        return both.reshape(-1)[self._order(both.shape[1])]

    def _sums(self, family: Fourier, C: Array, rounded: float) -> Array:
        """The sums, shape (4, joints)."""
        n = family.harmonics
        rates = family.frequency * np.arange(1, n + 1)
        size = np.sqrt(C[1 : n + 1] ** 2 + C[n + 1 :] ** 2 + rounded**2)
        sums = np.array([rates**k @ size for k in range(4)], dtype=float)
        sums[0] += np.sqrt((C[0] - self.bounds.middle[0]) ** 2 + rounded**2)
        return sums

    def checks(self, trajectory: MovesSmoothly, times: Array) -> list[Check]:
        """One for each limited quantity of each joint; none for motions without amplitudes."""
        if not isinstance(trajectory, ParametricTrajectory):
            return []
        sums = self._sums(_fourier(trajectory.family), trajectory.coefficients, 0.0)
        found = []
        for check in self.bounds.checks(trajectory, times[:1]):
            quantity, _, joint = check.name.partition(" of ")
            k, j = QUANTITIES.index(quantity), self.bounds.names.index(joint)
            total = float(sums[k, j] * trajectory.speed**k)
            half = float(self.bounds.half[k, j])
            found.append(Check(f"amplitudes of {check.name}", (-half, half), (0.0, total), check.unit))
        return found

    def tightened(self, factor: float) -> AmplitudeLimit:
        """With a part of all limits."""
        return replace(self, factor=self.factor * factor)


def _fourier(family: object) -> Fourier:
    if not isinstance(family, Fourier):
        raise InvalidRequestError("limits on amplitudes are for Fourier trajectories only; limit samples instead")
    return family
