"""The harder limits of the UR5 thesis (equation 3.57): sums of the amplitudes of all harmonics.

A motion never exceeds the sum of its amplitudes, so these limits hold at all times without looking at any; they leave
less room than the motion needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.excitation.limits.joint_bounds import QUANTITIES, JointBounds
from dynid.excitation.limits.limit import Check, Limit
from dynid.excitation.motion import Motion
from dynid.excitation.trajectories.family import Trajectory
from dynid.excitation.trajectories.fourier import Fourier

_ROUNDED = 1e-4
"""Amplitudes [rad or m] are rounded off at zero, where they have a kink, by this much and upwards."""


@dataclass(frozen=True, eq=False)
class AmplitudeLimit(Limit):
    """`sum_k (k w)^d amplitude_k <= half`, for positions (d = 0, with the constant's distance from the middle) to jerks.

    Attributes:
        bounds: What the sums are limited by.
        factor: Part of the limits that a design may use.
    """

    bounds: JointBounds
    factor: float = 1.0

    def slacks(self, motion: Motion) -> Array:
        """One for each quantity of each joint; 1 where it is not limited, shape (4 * joints,)."""
        family = _fourier(motion.grid.free.family)
        return (1.0 - self._sums(family, motion.coefficients, _ROUNDED) / (self.factor * self.bounds.half)).ravel()

    def slopes(self, motion: Motion, which: Array) -> Array:
        """Only the joint's own coefficients matter."""
        family = _fourier(motion.grid.free.family)
        C, n = motion.coefficients, family.harmonics
        rates = family.frequency * np.arange(1, n + 1)
        joints = C.shape[1]
        J = np.zeros((len(which), len(motion.x)))
        slices = motion.grid.free.slices
        for row, index in enumerate(which):
            k, j = divmod(int(index), joints)
            if not np.isfinite(self.bounds.half[k, j]):
                continue
            cosine, sine = C[1 : n + 1, j], C[n + 1 :, j]
            size = np.sqrt(cosine**2 + sine**2 + _ROUNDED**2)
            slope = np.concatenate([[0.0], rates**k * cosine / size, rates**k * sine / size])
            if k == 0:
                distance = C[0, j] - self.bounds.middle[0, j]
                slope[0] = distance / np.sqrt(distance**2 + _ROUNDED**2)
            J[row, slices[j]] = -(slope @ motion.grid.free.directions[j]) / (self.factor * self.bounds.half[k, j])
        return J

    def _sums(self, family: Fourier, C: Array, rounded: float) -> Array:
        """The sums, shape (4, joints)."""
        n = family.harmonics
        rates = family.frequency * np.arange(1, n + 1)
        size = np.sqrt(C[1 : n + 1] ** 2 + C[n + 1 :] ** 2 + rounded**2)
        sums = np.array([rates**k @ size for k in range(4)])
        sums[0] += np.sqrt((C[0] - self.bounds.middle[0]) ** 2 + rounded**2)
        return sums

    def checks(self, trajectory: Trajectory, times: Array) -> list[Check]:
        """One for each limited quantity of each joint."""
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
