"""The solid parts of a robot: convex shapes for Coal, and capsules around them for a quick lower bound."""

from __future__ import annotations

import importlib.util
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array, frozen
from dynid.files import read_bytes
from dynid.robot import WORLD, Geometry, Robot, capsules_along, outline_of_shape

_RIM = 24
"""Corners of the polygon around a cylinder's rim."""


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
    """A convex part of a body.

    Attributes:
        body: Name of the body that it is part of.
        link: Index of the link that moves it; `WORLD` for what stands still.
        placement: Its frame in the joint frame of the link, shape (4, 4).
        kind: "box", "sphere", "cylinder", "capsule" or "hull".
        size: As `Geometry.size`; empty for a hull.
        points: Corners [m] in its frame whose convex hull holds it, shape (n, 3); of spheres and capsules the ends of
            their segment.
    """

    body: str
    link: int
    placement: Array
    kind: str
    size: tuple[float, ...]
    points: Array

    @property
    def is_capsule(self) -> bool:
        """Whether the capsule around it is the solid itself."""
        return self.kind in ("capsule", "sphere") or not has_coal()

    @cached_property
    def capsule(self) -> Capsule:
        """The capsule around it, in the joint frame of its link."""
        R, origin = self.placement[:3, :3], self.placement[:3, 3]
        placed = self.points @ R.T + origin
        if self.kind in ("capsule", "sphere"):
            return Capsule(frozen(placed[0]), frozen(placed[-1]), self.size[0])
        return Capsule.around(placed)

    def furthest(self, directions: Array) -> Array:
        """The points of it that are furthest along unit directions in its frame [m]; both of shape (rows, 3)."""
        match self.kind:
            case "sphere" | "capsule":
                ends = self.points[(directions[:, 2] > 0.0).astype(int)]
                return ends + self.size[0] * directions
            case "cylinder":
                flat = directions[:, :2]
                around = self.size[0] * flat / np.maximum(np.linalg.norm(flat, axis=1), 1e-12)[:, None]
                return np.column_stack([around, np.copysign(self.size[1] / 2, directions[:, 2])])
        return self.points[np.argmax(directions @ self.points.T, axis=1)]

    @cached_property
    def shape(self) -> Any:
        """The shape for Coal."""
        import coal

        match self.kind:
            case "box":
                return coal.Box(*self.size)
            case "sphere":
                return coal.Sphere(self.size[0])
            case "cylinder":
                return coal.Cylinder(*self.size)
            case "capsule":
                return coal.Capsule(*self.size)
        corners = coal.StdVec_Vec3s()
        corners.extend(list(self.points))
        return coal.ConvexBase.convexHull(corners, True, "Qt")


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
    described = any(body.geometry for _, body in _bodies(robot))
    for link, body in _bodies(robot):
        own = [(geometry, solid_of(body.name, link, body.placement, geometry)) for geometry in body.geometry]
        lost = [geometry for geometry, solid in own if solid is None]
        found += [solid for _, solid in own if solid is not None]
        unread += [f"{geometry.mesh.name if geometry.mesh else geometry.shape} of {body.name}" for geometry in lost]
        stands_in = lost or (not described and body is _first(robot, link))
        if stands_in:
            found += [_capsule(body.name, link, shape) for shape in capsules_along(robot, link)]
    return Solids(tuple(found), tuple(dict.fromkeys(unread)), not described)


def _bodies(robot: Robot) -> Iterator[tuple[int, Any]]:
    for link, part in ((WORLD, robot.base), *enumerate(robot.links)):
        yield from ((link, body) for body in part.bodies)


def _first(robot: Robot, link: int) -> Any:
    return (robot.base if link == WORLD else robot.links[link]).bodies[0]


def _capsule(body: str, link: int, shape: Geometry) -> Solid:
    solid = solid_of(body, link, np.eye(4), shape)
    assert solid is not None
    return solid


def solid_of(body: str, link: int, placement: Array, geometry: Geometry) -> Solid | None:
    """A shape of a body as a solid; None where its size is not known or its mesh cannot be read.

    Meshes are taken as their convex hulls.
    """
    at = frozen(placement @ geometry.placement)
    kind, size = geometry.shape, geometry.size
    if geometry.corners is not None:
        return Solid(body, link, at, "hull", (), hull_corners(geometry.corners))
    if kind == "mesh":
        points = mesh_points(geometry.mesh)
        if points is None:
            return None
        return Solid(body, link, at, "hull", (), hull_corners(points * np.array(size)))
    if not size or not all(map(math.isfinite, size)) or min(size) < 0.0 or max(size) == 0.0:
        return None
    if kind in ("sphere", "capsule"):
        half = np.array([0.0, 0.0, size[1] / 2 if kind == "capsule" else 0.0])
        return Solid(body, link, at, kind, size, frozen([-half, half]))
    if kind == "cylinder":
        angles = np.arange(_RIM) * 2 * math.pi / _RIM
        around = size[0] / math.cos(math.pi / _RIM) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        ends = [np.column_stack([around, np.full(_RIM, z)]) for z in (-size[1] / 2, size[1] / 2)]
        return Solid(body, link, at, kind, size, frozen(np.concatenate(ends)))
    corners = np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * np.array(size)
    return Solid(body, link, at, "box", size, frozen(corners))


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
    corners = []
    for solid in solids:
        cube = np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * solid.capsule.radius
        is_round = solid.kind in ("capsule", "sphere")
        placed = solid.points @ solid.placement[:3, :3].T + solid.placement[:3, 3]
        corners.append((placed[:, None, :] + (cube if is_round else np.zeros((1, 3)))).reshape(-1, 3))
    return Capsule.around(np.concatenate(corners))
