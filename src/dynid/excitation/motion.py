"""A motion at the samples of a design, and the way from slopes over its states to slopes over its free coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Indices, frozen
from dynid.excitation.free_coefficients import FreeCoefficients


@dataclass(frozen=True, eq=False)
class Grid:
    """The samples of a design: evenly spaced over one cycle.

    Attributes:
        free: The free coefficients.
        times: Times [s], shape (samples,).
        bases: Position, velocity, acceleration and jerk per unit of each coefficient, each of shape (samples, size).
    """

    free: FreeCoefficients
    times: Array
    bases: tuple[Array, Array, Array, Array]

    @staticmethod
    def of(free: FreeCoefficients, samples: int) -> Grid:
        """So many samples."""
        family = free.family
        times = np.linspace(0.0, family.cycle, samples, endpoint=False)
        q, v, a, j = (frozen(family.basis(times, k)) for k in range(4))
        return Grid(free, frozen(times), (q, v, a, j))

    def motion(self, x: Array) -> Motion:
        """The motion of free coefficients, shape (free,)."""
        return Motion(self, x)

    @cached_property
    def reduced(self) -> tuple[tuple[Array, ...], ...]:
        """For each joint the four bases per unit of its free coefficients, shape (samples, free of the joint)."""
        return tuple(tuple(basis @ part for basis in self.bases) for part in self.free.directions)


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion at the samples of a grid.

    Attributes:
        grid: The samples.
        x: Values of the free coefficients, shape (free,).
    """

    grid: Grid
    x: Array

    @cached_property
    def coefficients(self) -> Array:
        """All coefficients, shape (size, joints)."""
        return self.grid.free.expand(self.x)

    @cached_property
    def states(self) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations, each of shape (samples, joints)."""
        q, v, a, _ = self.grid.bases
        C = self.coefficients
        return q @ C, v @ C, a @ C

    def pull_back(self, slopes: Sequence[Array]) -> Array:
        """Slopes over x, shape (free,), of those over q, v and a, each of shape (samples, joints)."""
        over_coefficients = np.zeros_like(self.coefficients)
        for basis, part in zip(self.grid.bases[:3], slopes, strict=True):
            over_coefficients += basis.T @ part
        return self.grid.free.pull_back(over_coefficients)

    def pull_back_rows(self, samples: Indices, slopes: Sequence[Array]) -> Array:
        """Slopes over x, shape (rows, free), of numbers that depend on one sample each.

        Args:
            samples: The sample of each row, shape (rows,).
            slopes: Of each row over q, v and a of its sample, each of shape (rows, joints).
        """
        J = np.empty((len(samples), len(self.x)))
        for j, where in enumerate(self.grid.free.slices):
            q, v, a, _ = self.grid.reduced[j]
            J[:, where] = (
                slopes[0][:, j, None] * q[samples]
                + slopes[1][:, j, None] * v[samples]
                + slopes[2][:, j, None] * a[samples]
            )
        return J
