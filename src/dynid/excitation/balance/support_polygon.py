"""The support polygon: the convex hull of all points in which a robot touches the ground."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError

_FLAT = 1e-4
"""Polygons that are thinner than this [m] are lines."""


@dataclass(frozen=True, eq=False)
class SupportPolygon:
    """A convex polygon on the ground.

    Attributes:
        corners: Its corners x, y [m] in the world, anticlockwise, shape (corners, 2).
    """

    corners: Array

    @staticmethod
    def around(points: Array) -> SupportPolygon:
        """The convex hull of points on the ground [m], shape (points, 2).

        Raises:
            InvalidRequestError: If they lie on a line.
        """
        from scipy.spatial import ConvexHull, QhullError

        try:
            hull = ConvexHull(points)
        except (QhullError, ValueError) as error:
            raise _no_area(points) from error
        found = SupportPolygon(frozen(points[hull.vertices]))
        if found.inner_radius < _FLAT:
            raise _no_area(points)
        return found

    @cached_property
    def edges(self) -> tuple[Array, Array]:
        """Unit normals to the outside, shape (edges, 2), and their distances from the origin [m], shape (edges,)."""
        along = np.roll(self.corners, -1, axis=0) - self.corners
        normals = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.linalg.norm(along, axis=1)[:, None]
        return normals, np.einsum("ek,ek->e", normals, self.corners)

    @cached_property
    def inner_circle(self) -> tuple[Array, float]:
        """Centre, shape (2,), and radius [m] of the largest circle in it: no point is further from all edges."""
        from scipy.optimize import linprog

        normals, offsets = self.edges
        rows = np.column_stack([normals, np.ones(len(normals))])
        found = linprog([0.0, 0.0, -1.0], A_ub=rows, b_ub=offsets, bounds=[(None, None), (None, None), (0.0, None)])
        return (np.asarray(found.x[:2]), float(found.x[2])) if found.success else (self.corners.mean(axis=0), 0.0)

    @property
    def inner_radius(self) -> float:
        """The radius of that circle [m]."""
        return self.inner_circle[1]

    def clearance(self, points: Array) -> Array:
        """Distance [m] of points (..., 2) from the nearest edge; negative outside, shape (...)."""
        normals, offsets = self.edges
        return np.asarray((offsets - points @ normals.T).min(axis=-1))

    def inside(self, margin: float, count: int, rng: np.random.Generator) -> Array:
        """So many random points at least a margin [m] away from all edges, evenly spread, shape (count, 2)."""
        low, high = self.corners.min(axis=0), self.corners.max(axis=0)
        points = rng.uniform(low, high, (20 * count + 200, 2))
        found = points[self.clearance(points) >= margin][:count]
        if len(found) == count:
            return found
        centre, radius = self.inner_circle  # little room: the whole polygon, made smaller about that circle's centre
        points = np.concatenate([centre[None], points[self.clearance(points) >= 0.0]])
        points = points[rng.integers(len(points), size=count - len(found))]
        return np.concatenate([found, centre + max(1.0 - margin / radius, 0.0) * (points - centre)])


def _no_area(points: Array) -> InvalidRequestError:
    shown = ", ".join(f"({x:.3g}, {y:.3g})" for x, y in points[:4])
    return InvalidRequestError(
        f"the robot touches the ground on a line or in a point only, at {shown} m, and has no support polygon; name "
        "more bodies that it stands on, or state the size of its soles in [excitation.balance] half_size"
    )
