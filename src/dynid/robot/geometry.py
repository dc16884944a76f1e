"""How large bodies are: boxes around their shapes, corners of meshes, and capsules where a file has no shapes."""

import itertools
import math
import re
from pathlib import Path

import numpy as np

from dynid.arrays import Array, frozen
from dynid.robot.description import BodyDescription, Geometry
from dynid.robot.frames import pose
from dynid.robot.joints import rotation_about
from dynid.robot.robot import WORLD, Robot

LARGEST_MESH = 5e7
"""Mesh files of more bytes are skipped, so that a robot is looked at within seconds."""

THICKNESS = 0.04
"""Radius of capsules along links, in parts of the robot's reach."""

_STL_HEADER = 80
_NUMBER = rb"[ \t]++([-+]?(?:\d++\.?\d*+|\.\d++)(?:[eE][-+]?\d++)?)"
_TEXT_VERTEX = re.compile(rb"^[ \t]*v(?:ertex)?" + 3 * _NUMBER, re.MULTILINE)
_OBJ_FACE = re.compile(rb"^[ \t]*f((?:[ \t]++-?\d++[/\d-]*+){3,})", re.MULTILINE)
_STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def bounds(body: BodyDescription, *, complete: bool = False) -> Array | None:
    """Box around the geometry of a body.

    Boxes, spheres, cylinders and capsules are bounded exactly, meshes by their vertices. Meshes that were not
    found, are neither STL nor OBJ, or are larger than `LARGEST_MESH` are skipped.

    Args:
        body: The body.
        complete: Give None rather than a box that leaves out shapes.

    Returns:
        The smallest and the largest corner [m] in the body's own frame, shape (2, 3); None if nothing is known.
    """
    boxes = [box for geometry in body.geometry if (box := _bounds_of_shape(geometry)) is not None]
    if not boxes or (complete and len(boxes) < len(body.geometry)):
        return None
    corners = np.array(boxes)
    return np.stack([corners[:, 0].min(axis=0), corners[:, 1].max(axis=0)])


def outline(body: BodyDescription) -> Array | None:
    """Points [m] in the body's own frame whose convex hull holds the body, shape (points, 3).

    Meshes give their vertices, other shapes the corners of the smallest box around them in their own frame.

    Returns:
        The points; None if the size of one of its shapes is not known, or it has none.
    """
    points = [outline_of_shape(geometry) for geometry in body.geometry]
    known = [p for p in points if p is not None]
    return np.concatenate(known) if known and len(known) == len(points) else None


def outline_of_shape(geometry: Geometry) -> Array | None:
    """Points [m] in the body's frame whose convex hull holds one shape, shape (points, 3); None if they are unknown."""
    R, centre = geometry.placement[:3, :3], geometry.placement[:3, 3]
    if geometry.shape == "mesh":
        vertices = _vertices(geometry.mesh)
        return None if vertices is None else (vertices * np.array(geometry.size)) @ R.T + centre
    reach = _reach(geometry.shape, geometry.size, np.eye(3))
    if reach is None:
        return None
    return (np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * reach) @ R.T + centre


def _bounds_of_shape(geometry: Geometry) -> Array | None:
    """Box (2, 3) around one shape, or None when its size is not known."""
    R, centre = geometry.placement[:3, :3], geometry.placement[:3, 3]
    if geometry.shape == "mesh":
        placed = outline_of_shape(geometry)
        return None if placed is None else np.stack([placed.min(axis=0), placed.max(axis=0)])
    reach = _reach(geometry.shape, geometry.size, R)
    return None if reach is None else np.stack([centre - reach, centre + reach])


def _reach(shape: str, size: tuple[float, ...], R: Array) -> Array | None:
    """How far [m] a shape reaches from its centre along each axis of the body; None for a shape without size."""
    if not all(map(math.isfinite, size)) or min(size, default=0.0) < 0.0 or max(size, default=0.0) == 0.0:
        return None
    along_z = np.abs(R[:, 2])
    match shape, size:
        case "box", edges:
            return np.abs(R) @ (0.5 * np.array(edges))
        case "sphere", (radius,):
            return np.full(3, radius)
        case "cylinder", (radius, length):
            # The rim's reach along an axis is the radius times the sine of its angle to the cylinder's axis.
            return 0.5 * length * along_z + radius * np.sqrt(np.clip(1.0 - along_z**2, 0.0, None))
        case "capsule", (radius, length):
            return 0.5 * length * along_z + radius
    return None


def _vertices(path: Path | None) -> Array | None:
    """Vertices of an STL or OBJ file in its own units, shape (vertices, 3); None when it cannot be read.

    Meshes are only evidence, and may be untrusted: plain reading of numbers, no import library.
    """
    if path is None or path.suffix.lower() not in (".stl", ".obj"):
        return None
    try:
        if path.stat().st_size > LARGEST_MESH:
            return None
        content = path.read_bytes()
    except OSError:
        return None
    vertices = _binary_stl(content) if path.suffix.lower() == ".stl" else None
    if vertices is None:  # OBJ (`v x y z`), or STL in text (`vertex x y z`)
        found = _TEXT_VERTEX.findall(content)
        vertices = np.array([[float(number) for number in vertex] for vertex in found]).reshape(-1, 3)
    return vertices if len(vertices) and np.isfinite(vertices).all() else None


def triangles(path: Path | None) -> Array | None:
    """Triangles of an STL or OBJ file in its own units, shape (triangles, 3, 3); None when it cannot be read.

    Polygons of OBJ are cut into triangles from their first corner.
    """
    vertices = _vertices(path)
    if vertices is None or path is None:
        return None
    if path.suffix.lower() == ".stl":
        return vertices[: len(vertices) // 3 * 3].reshape(-1, 3, 3)
    corners = []
    try:
        for face in _OBJ_FACE.findall(path.read_bytes()):
            polygon = [int(corner.split(b"/")[0]) for corner in face.split()]
            at = [k - 1 if k > 0 else len(vertices) + k for k in polygon]
            corners += [(at[0], at[k], at[k + 1]) for k in range(1, len(at) - 1)]
        found = np.array(corners, dtype=np.intp).reshape(-1, 3)
    except (OSError, OverflowError, ValueError):  # gone, or with numbers of thousands of digits
        return None
    found = found[((found >= 0) & (found < len(vertices))).all(axis=1)]
    return vertices[found] if len(found) else None


def _binary_stl(content: bytes) -> Array | None:
    """Corners of the triangles of a binary STL file; None when it is none, such as an STL file in text."""
    start = _STL_HEADER + 4
    count = int.from_bytes(content[_STL_HEADER:start], "little")
    # Only the size distinguishes text from binary: binary files, too, may begin with the word "solid".
    if not count or len(content) < start + count * _STL_TRIANGLE.itemsize:
        return None
    triangles = np.frombuffer(content, dtype=_STL_TRIANGLE, count=count, offset=start)
    return triangles["corners"].reshape(-1, 3).astype(np.float64)


def capsules_along(robot: Robot, link: int) -> list[Geometry]:
    """Capsules from a link's joint to each joint that it carries, and of a last link beyond its centre of mass.

    That is all that a file without shapes says of a last link's length: it reaches half as far again as its centre of
    mass. Where that is near its joint, or not known, a short capsule along the joint's axis stands in. Placements are
    in the joint frame of the link.
    """
    radius = THICKNESS * reach(robot)
    ends = [joint.placement[:3, 3] for joint in robot.joints if joint.parent == link]
    if not ends and link != WORLD:
        p = robot.links[link].parameters
        end = _BEYOND_CENTRE * p[1:4] / p[0] if p[0] > 0.0 else np.zeros(3)
        is_long = 1.5 * radius < float(np.linalg.norm(end)) < reach(robot)
        ends = [end if is_long else 1.5 * radius * robot.joints[link].axis]
    return [around_segment(np.zeros(3), end, radius) for end in ends if np.linalg.norm(end) > 1e-6]


_BEYOND_CENTRE = 1.5
"""How far a last link without shapes reaches, in distances of its centre of mass from its joint."""


def around_segment(begin: Array, end: Array, radius: float, shape: str = "capsule") -> Geometry:
    """The capsule or cylinder of a radius [m] around the segment between two points [m]."""
    way = end - begin
    placement = along_z(way) if np.linalg.norm(way) > 0.0 else np.eye(4)
    return Geometry(shape, (radius, float(np.linalg.norm(way))), frozen(pose(translation=begin) @ placement))


def reach(robot: Robot) -> float:
    """How far [m] the last joint is from the ground along the longest chain of links; 1 where all joints meet."""
    lengths: list[float] = []
    for joint in robot.joints:
        below = 0.0 if joint.parent == WORLD else lengths[joint.parent]
        lengths.append(below + float(np.linalg.norm(joint.placement[:3, 3])))
    return max(lengths) or 1.0


def along_z(end: Array) -> Array:
    """Pose half way to a point [m], with z towards it, shape (4, 4)."""
    length = float(np.linalg.norm(end))
    z, target = np.array([0.0, 0.0, 1.0]), end / length
    axis = np.cross(z, target)
    sine = float(np.linalg.norm(axis))
    if sine < 1e-12:
        R = np.eye(3) if target[2] > 0.0 else np.diag([1.0, -1.0, -1.0])
    else:
        R = rotation_about(axis / sine, np.array([np.arctan2(sine, target[2])]))[0]
    return pose(R, 0.5 * end)
