"""The solid parts of a robot, and where they are: convex shapes for Coal, and capsules around them as lower bounds."""

from __future__ import annotations

import importlib.util
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array, Flags, Indices, frozen
from dynid.files import read_bytes
from dynid.model import link_poses
from dynid.robot import WORLD, Geometry, Robot, around_segment, capsules_along, outline_of_shape

_RIM = 24
"""Corners of the polygon around a cylinder's rim."""

_TINY = 1e-30
"""Squares of lengths below this [m^2] are those of a point."""

_MERGED = 1.2
"""Volume of the hull of all solids of a body over the sum of theirs, up to which the hull stands in for them."""


@dataclass(frozen=True, eq=False)
class Capsule:
    """All points within a radius of a segment.

    Attributes:
        begin: One end of the segment [m], shape (3,).
        end: The other end [m], shape (3,).
        radius: The radius [m].
    """

    begin: Array
    end: Array
    radius: float

    @staticmethod
    def around(points: Array) -> Capsule:
        """The smallest capsule around points (n, 3) along one of their principal axes."""
        _, _, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
        candidates = [_along(points, axis) for axis in (*axes, *np.eye(3))]
        return min(candidates, key=lambda one: one.volume)

    @property
    def volume(self) -> float:
        """Its volume [m^3]."""
        length = float(np.linalg.norm(self.end - self.begin))
        return math.pi * self.radius**2 * (length + 4.0 / 3.0 * self.radius)


def _along(points: Array, axis: Array) -> Capsule:
    """The capsule along an axis: its line goes through the middle of the box across it."""
    across = np.linalg.svd(axis[None, :])[2][1:]
    flat = points @ across.T
    middle = (flat.min(axis=0) + flat.max(axis=0)) / 2
    away = np.linalg.norm(flat - middle, axis=1)
    radius = float(away.max())
    along, cap = points @ axis, np.sqrt(np.maximum(radius**2 - away**2, 0.0))
    low, high = float((along + cap).min()), float((along - cap).max())
    if low > high:
        low = high = (low + high) / 2
    foot = middle @ across
    return Capsule(frozen(foot + low * axis), frozen(foot + high * axis), radius)


@dataclass(frozen=True, eq=False)
class Solid:
    """A convex part of a body: all points within a radius of the convex hull of some points.

    Attributes:
        body: Name of the body that it is part of.
        link: Index of the link that moves it; `WORLD` for what stands still.
        points: The points [m] in the joint frame of the link, shape (n, 3): two for a capsule, one for a sphere.
        radius: The radius [m]; zero for boxes, cylinders and hulls of meshes.
    """

    body: str
    link: int
    points: Array
    radius: float = 0.0

    @property
    def is_capsule(self) -> bool:
        """Whether the capsule around it is the solid itself, or stands in for it."""
        return len(self.points) <= 2 or not has_coal()

    @cached_property
    def capsule(self) -> Capsule:
        """The capsule around it, in the joint frame of its link."""
        if len(self.points) <= 2:
            return Capsule(self.points[0], self.points[-1], self.radius)
        return Capsule.around(self.points)

    @cached_property
    def corners(self) -> Array:
        """Points [m] whose convex hull holds it, shape (n, 3)."""
        if not self.radius:
            return self.points
        cube = self.radius * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
        return frozen((self.points[:, None, :] + cube).reshape(-1, 3))

    def furthest(self, directions: Array) -> Array:
        """The points of it that are furthest along unit directions in the joint frame [m]; both of shape (rows, 3)."""
        return self.points[np.argmax(directions @ self.points.T, axis=1)] + self.radius * directions

    @cached_property
    def shape(self) -> tuple[Any, Array]:
        """The shape for Coal, and its frame in the joint frame of the link, shape (4, 4)."""
        import coal

        if len(self.points) <= 2:
            around = around_segment(self.points[0], self.points[-1], self.radius)
            return coal.Capsule(*around.size), around.placement
        corners = coal.StdVec_Vec3s()
        corners.extend(list(self.points))
        return coal.ConvexBase.convexHull(corners, True, "Qt"), np.eye(4)


def has_coal() -> bool:
    """Whether Coal is installed: it comes with Pinocchio, which has no wheels for Windows."""
    return importlib.util.find_spec("coal") is not None


@dataclass(frozen=True)
class Solids:
    """The solids of a robot, and what was noticed on the way.

    Attributes:
        solids: All of them.
        unread: Mesh files that are missing or cannot be read, as "file of body"; capsules along the links stand in.
        is_bare: Whether the robot has no geometry at all: all solids are capsules along its links.
    """

    solids: tuple[Solid, ...]
    unread: tuple[str, ...]
    is_bare: bool


def solids_of(robot: Robot) -> Solids:
    """The solid parts of all links and of the base."""
    found: list[Solid] = []
    unread: list[str] = []
    bodies = [(link, body) for link, part in ((WORLD, robot.base), *enumerate(robot.links)) for body in part.bodies]
    is_bare = not any(body.geometry for _, body in bodies)
    firsts = dict(reversed(bodies))
    for link, body in bodies:
        own = [solid_of(body.name, link, body.placement, geometry) for geometry in body.geometry]
        lost = [geometry for geometry, solid in zip(body.geometry, own, strict=True) if solid is None]
        found += merged([solid for solid in own if solid is not None])
        unread += [f"{geometry.mesh.name if geometry.mesh else geometry.shape} of {body.name}" for geometry in lost]
        if lost or (is_bare and body is firsts[link]):
            along = [solid_of(body.name, link, np.eye(4), shape) for shape in capsules_along(robot, link)]
            found += [solid for solid in along if solid is not None]
    return Solids(tuple(found), tuple(dict.fromkeys(unread)), is_bare)


def solid_of(body: str, link: int, placement: Array, geometry: Geometry) -> Solid | None:
    """A shape of a body as a solid; None where its size is not known or its mesh cannot be read.

    Meshes are taken as their convex hulls, and cylinders as prisms around them.
    """
    kind, size = geometry.shape, geometry.size
    if kind == "mesh" or geometry.corners is not None:
        points = mesh_points(geometry.mesh) if geometry.corners is None else geometry.corners
        if points is None:
            return None
        points = hull_corners(points * (np.array(size) if kind == "mesh" else 1.0))
    elif not size or not all(map(math.isfinite, size)) or min(size) < 0.0 or max(size) == 0.0:
        return None
    elif kind in ("sphere", "capsule"):
        half = np.array([0.0, 0.0, size[1] / 2 if kind == "capsule" else 0.0])
        points = np.array([-half, half])
    elif kind == "cylinder":
        angles = np.arange(_RIM) * 2 * math.pi / _RIM
        around = size[0] / math.cos(math.pi / _RIM) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        points = np.concatenate([np.column_stack([around, np.full(_RIM, z)]) for z in (-size[1] / 2, size[1] / 2)])
    else:
        points = np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * np.array(size)
    at = placement @ geometry.placement
    radius = size[0] if kind in ("sphere", "capsule") else 0.0
    return Solid(body, link, frozen(points @ at[:3, :3].T + at[:3, 3]), radius)


def merged(solids: Sequence[Solid]) -> list[Solid]:
    """The solids of one body as one where their common hull is hardly larger than they are: fewer are looked at."""
    if len(solids) < 2 or any(solid.radius for solid in solids):
        return list(solids)
    from scipy.spatial import ConvexHull, QhullError

    points = hull_corners(np.concatenate([solid.points for solid in solids]))
    try:
        parts = sum(ConvexHull(solid.points).volume for solid in solids)
        whole = ConvexHull(points).volume
    except QhullError:  # flat
        return list(solids)
    return [replace(solids[0], points=points)] if whole <= _MERGED * parts else list(solids)


def hull_corners(points: Array) -> Array:
    """The corners of the convex hull of points, shape (n, 3); flat sets of points are kept as they are."""
    from scipy.spatial import ConvexHull, QhullError

    unique = np.unique(points, axis=0)
    try:
        return frozen(unique[ConvexHull(unique).vertices])
    except (QhullError, ValueError):  # flat, or fewer than four points: made a little thick
        thick = 1e-6 * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
        return frozen((unique[:, None, :] + thick).reshape(-1, 3))


def mesh_points(path: Path | None) -> Array | None:
    """Corners of a mesh file in its own units, shape (n, 3); None where it cannot be read.

    STL and OBJ are read here; other formats by Coal's loader, which expands nothing and reads no other file's mesh.
    """
    if path is None:
        return None
    found = outline_of_shape(Geometry("mesh", (1.0, 1.0, 1.0), np.eye(4), path))
    if found is not None or path.suffix.lower() in (".stl", ".obj") or not has_coal():
        return found
    import coal

    try:
        if b"<!ENTITY" in read_bytes(path).replace(b"\0", b""):
            return None
        mesh = coal.MeshLoader(coal.BV_OBBRSS).load(str(path), np.ones(3))
        points = np.array(mesh.vertices(), dtype=float).reshape(-1, 3)
    except Exception:  # a mesh library fails in as many ways as there are formats
        return None
    return points if len(points) and np.isfinite(points).all() else None


def capsule_around(solids: Sequence[Solid]) -> Capsule:
    """A capsule around all solids of one link, in its joint frame."""
    if len(solids) == 1:
        return solids[0].capsule
    return Capsule.around(np.concatenate([solid.corners for solid in solids]))


def closest_points(a0: Array, a1: Array, b0: Array, b1: Array) -> tuple[Array, Array]:
    """The nearest points of segments a and b, each between two points [m]; all arrays have the shape (..., 3).

    >>> x = np.eye(3)
    >>> a, b = closest_points(0 * x[0], x[0], x[2] - x[1], x[2] + x[1])
    >>> a.tolist(), b.tolist()
    ([0.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    """
    u, v, w = a1 - a0, b1 - b0, a0 - b0
    uu, uv, vv, uw, vw = (np.einsum("...k,...k", x, y) for x, y in ((u, u), (u, v), (v, v), (u, w), (v, w)))
    area = uu * vv - uv * uv
    is_parallel = area <= 1e-12 * uu * vv
    s = np.where(is_parallel, 0.0, (uv * vw - vv * uw) / np.where(is_parallel, 1.0, area))
    s = np.clip(s, 0.0, 1.0)
    t = np.clip((uv * s + vw) / np.maximum(vv, _TINY), 0.0, 1.0)
    s = np.clip((uv * t - uw) / np.maximum(uu, _TINY), 0.0, 1.0)
    return a0 + s[..., None] * u, b0 + t[..., None] * v


@dataclass(frozen=True, eq=False)
class MovingCapsules:
    """Capsules that move with links.

    Attributes:
        begin: Ends in the joint frames of their links [m], shape (n, 3).
        end: The other ends.
        radius: Radii [m], shape (n,).
        link: Indices of their links, shape (n,).
    """

    begin: Array
    end: Array
    radius: Array
    link: Indices

    @staticmethod
    def of(capsules: Sequence[Capsule], links: Sequence[int]) -> MovingCapsules:
        """Capsules in the joint frames of links."""
        begin = np.array([one.begin for one in capsules]).reshape(-1, 3)
        end = np.array([one.end for one in capsules]).reshape(-1, 3)
        return MovingCapsules(begin, end, np.array([one.radius for one in capsules]), np.array(links, dtype=np.intp))

    def placed(self, poses: LinkPoses) -> tuple[Array, Array]:
        """Ends of all capsules in all postures in the world, each of shape (n, samples, 3)."""
        R, p = poses.rotations[self.link], poses.origins[self.link]
        a = np.einsum("nsij,nj->nsi", R, self.begin) + p
        return a, np.einsum("nsij,nj->nsi", R, self.end) + p


@dataclass(frozen=True, eq=False)
class LinkPoses:
    """Joint frames of many postures; those of the world are the last, at the index `WORLD`.

    Attributes:
        robot: The robot.
        rotations: Shape (joints + 1, samples, 3, 3).
        origins: Shape (joints + 1, samples, 3).
        parts: Capsules that move with the links.
    """

    robot: Robot
    rotations: Array
    origins: Array
    parts: MovingCapsules

    @staticmethod
    def of(robot: Robot, q: Array, parts: MovingCapsules) -> LinkPoses:
        """Those of postures, shape (samples, nq)."""
        return LinkPoses(robot, *link_poses(robot, q), parts)

    @property
    def samples(self) -> int:
        """Number of postures."""
        return self.origins.shape[1]

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        return self.parts.placed(self)

    def ends(self, which: Indices, sample: Indices) -> tuple[Array, Array]:
        """Both ends of some parts in some postures in the world [m], each of shape (rows, 3)."""
        begin, end = self._ends
        return begin[which, sample], end[which, sample]

    def pulled(self, links: Indices, points: Array, along: Array) -> Array:
        """Slopes over positions of points [m] that move with links, along directions; row k is of posture k.

        Args:
            links: Index of each row's link, shape (rows,).
            points: The points in the world, shape (rows, 3).
            along: The directions, shape (rows, 3).
        """
        total = np.zeros((len(points), self.robot.nv))
        for k, joint in enumerate(self.robot.joints):
            moved = self._carries[links, k]
            if not moved.any():
                continue
            R, origin = self.rotations[k][moved], self.origins[k][moved]
            S = joint.subspace[:, 0]
            column = R @ S[:3] + np.cross(R @ S[3:], points[moved] - origin)
            total[moved, joint.v.start] += np.einsum("rk,rk->r", column, along[moved])
        return total

    @cached_property
    def _carries(self) -> Flags:
        """Whether joint k moves link i; the world's row, which nothing moves, is the last."""
        joints = self.robot.joints
        carries = np.zeros((len(joints) + 1, len(joints)), dtype=bool)
        for i in range(len(joints)):
            carries[i, list(self.robot.chain(i))] = True
        return carries
