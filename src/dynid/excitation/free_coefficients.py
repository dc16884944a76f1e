"""The coefficients that a design may choose: all that start and end at rest, and where they are told to.

Rest at both ends and a given posture are linear equations in the coefficients. Their solutions are a point and a null
space, so a solver that moves in the null space cannot break them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dynid.arrays import Array, frozen
from dynid.excitation.trajectories.family import Family, Trajectory

_ROUNDING = 1e-10
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

    def trajectory(self, x: Array) -> Trajectory:
        """The motion of free coefficients, shape (free,)."""
        return Trajectory(self.family, self.expand(x))


def free_coefficients(
    family: Family, posture: Sequence[float | None], moving: Sequence[bool] | None = None
) -> FreeCoefficients:
    """The coefficients of motions that start and end at rest.

    Args:
        family: The family.
        posture: For each joint where it starts and ends [rad or m]; None where the design may choose.
        moving: For each joint whether it moves; the others stand still. All do when None.
    """
    ends = np.array([0.0, family.duration])
    at_rest = np.concatenate([family.basis(ends, 1), family.basis(ends, 2)])
    there = family.basis(ends, 0)
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
    rank = int((values > _ROUNDING * values[0]).sum())
    return V[rank:].T
