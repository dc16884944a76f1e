"""Motions of a design: their free coefficients, their states at the design's samples, and gradients pulled back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from dynid.arrays import Array, Indices, frozen
from dynid.excitation.trajectories.family import Family, ParametricTrajectory

_ROUNDING_VALUE = 1e-10
"""Singular values below this, relative to the largest, are zero."""


@dataclass(frozen=True, eq=False)
class FreeCoefficients:
    """Coefficients `C = fixed + directions x`, joint by joint.

    Attributes:
        family: The family of the motions.
        fixed: Coefficients that keep the conditions, shape (size, joints).
        directions: For each joint independent changes that keep them, shape (size, free of the joint). Unit steps along
            them are accelerations of about 1 rad/s^2 or positions of 1 rad.
    """

    family: Family
    fixed: Array
    directions: tuple[Array, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of free coefficients of each joint."""
        return tuple(part.shape[1] for part in self.directions)

    @property
    def slices(self) -> list[slice]:
        """Where each joint's free coefficients stand in x."""
        ends = np.cumsum([0, *self.sizes]).tolist()
        return [slice(begin, end) for begin, end in pairwise(ends)]

    def expand(self, x: Array) -> Array:
        """The coefficients, shape (size, joints), of free ones, shape (free,)."""
        C = self.fixed.copy()
        for j, part in enumerate(self.slices):
            C[:, j] += self.directions[j] @ x[part]
        return C

    def reduce(self, coefficients: Array) -> Array:
        """The free coefficients nearest to some, (size, joints) to (free,)."""
        change = coefficients - self.fixed
        parts = [np.linalg.lstsq(part, change[:, j], rcond=None)[0] for j, part in enumerate(self.directions)]
        return np.concatenate(parts).astype(float)

    def pull_back(self, slopes: Array) -> Array:
        """Slopes over x, shape (free,), of those over coefficients, shape (size, joints)."""
        return np.concatenate([part.T @ slopes[:, j] for j, part in enumerate(self.directions)])

    def trajectory(self, x: Array) -> ParametricTrajectory:
        """The motion of free coefficients, shape (free,)."""
        return ParametricTrajectory(self.family, self.expand(x))


def free_coefficients(
    family: Family, posture: Sequence[float | None], moving: Sequence[bool] | None = None
) -> FreeCoefficients:
    """The coefficients of motions that start and end at rest.

    Args:
        family: The family.
        posture: For each joint where it starts and ends [rad or m]; None where the design may choose.
        moving: For each joint whether it moves; the others stand still. All do when None.
    """
    at_rest = family.conditions()
    there = family.basis(np.array([0.0, family.duration]), 0)
    scale = _scale(family)
    fixed, directions = np.zeros((family.size, len(posture))), []
    for j, position in enumerate(posture):
        if moving is not None and not moving[j]:
            directions.append(frozen(family.rest()[:, None] if position is None else np.zeros((family.size, 0))))
        else:
            conditions = at_rest if position is None else np.concatenate([at_rest, there])
            directions.append(frozen(scale[:, None] * _null_space(conditions * scale)))
        fixed[:, j] = 0.0 if position is None else position * family.rest()
    return FreeCoefficients(family, frozen(fixed), tuple(directions))


def _scale(family: Family) -> Array:
    """For each coefficient the size that gives accelerations of about 1 rad/s^2; at most 1, shape (size,)."""
    times = np.linspace(0.0, family.cycle, 200)
    return 1.0 / np.maximum(1.0, np.abs(family.basis(times, 2)).max(axis=0))


def _null_space(rows: Array) -> Array:
    """An orthonormal basis of all x with rows x = 0, shape (columns, dimension)."""
    _, values, V = np.linalg.svd(rows)
    rank = int((values > _ROUNDING_VALUE * values[0]).sum())
    return V[rank:].T


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
        """So many samples, or one more where the end is looked at, too."""
        return Grid.at(free, free.family.times(samples))

    @staticmethod
    def at(free: FreeCoefficients, times: Array) -> Grid:
        """At times [s], evenly spaced over one cycle."""
        family = free.family
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


class Postures(Motion):
    """Any number of postures in which a robot stands still, as limits look at motions; q has the shape (n, joints)."""

    def __init__(self, q: Array) -> None:
        none = np.zeros_like(q)
        vars(self).update(states=(q, none, none), x=q.ravel())
