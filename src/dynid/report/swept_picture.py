"""Pictures of the space that a robot sweeps, and of the robot where it is nearest to something.

The floor, walls and boxes around it are drawn, too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.excitation import CollisionModel, Nearest, Solid, Wall
from dynid.model import link_poses
from dynid.report.rasteriser import Camera, blended, coverage, enlarged, picture, png, smooth
from dynid.report.robot_picture import Picture, Scene, Surfaces, scale_bar, views_of
from dynid.robot import Robot

POSTURES = 300
"""Postures whose outlines make the swept space."""

SIDE = 620
"""Longer side of a picture [px]."""

_COARSER = 3
"""Pixels of the picture along each side of one of the swept space."""

_EVERY = 25
"""One of so many corners is looked at for the way that a robot moves."""

_DIRECTIONS = 80
"""Directions in which the corners of a hull are the outermost points of a shape."""

_SWEPT = np.array([0.0, 114.0, 178.0]) / 255.0
_BOX = np.array([0.72, 0.66, 0.58])
"""Colours of the swept space and of boxes."""

_BEYOND = 0.5
"""Walls and boxes are drawn where they are nearer to the swept space than this part of its size."""


@dataclass(frozen=True)
class DrawnPlane:
    """A floor or a wall in a picture.

    Attributes:
        name: Its name.
        outline: Corners, as the points of an SVG polygon.
        lines: A grid on it, as the path of an SVG element.
        in_front: Whether it hides the robot.
        is_floor: Whether it is the floor.
    """

    name: str
    outline: str
    lines: str
    in_front: bool
    is_floor: bool


@dataclass(frozen=True)
class Label:
    """A name in a picture: where its middle is, from the left and from the top [px]."""

    text: str
    x: float
    y: float


@dataclass(frozen=True)
class SweptPicture(Picture):
    """A picture of the space that a robot sweeps, and of the robot.

    Attributes:
        planes: The floor and walls.
        labels: Names of walls and boxes.
        nearest: Both nearest points: x and y of each [px]; None where nothing is looked at.
        grid: Distance between lines on the floor [m]; zero where there is none.
    """

    planes: tuple[DrawnPlane, ...]
    labels: tuple[Label, ...]
    nearest: tuple[float, float, float, float] | None
    grid: float


@dataclass(frozen=True, eq=False)
class Hulls:
    """Coarse convex hulls of a robot's shapes.

    Attributes:
        links: Index of the link of each corner, shape (n,).
        corners: Corners in the joint frames of their links [m], shape (n, 3).
        triangles: Indices of the corners of each triangle, shape (m, 3).
    """

    links: np.ndarray
    corners: Array
    triangles: np.ndarray

    @staticmethod
    def of(surfaces: Surfaces) -> "Hulls":
        """The hulls of some surfaces; what is flat is kept as it is."""
        from scipy.spatial import ConvexHull, QhullError

        turn = np.arange(_DIRECTIONS) * np.pi * (3.0 - np.sqrt(5.0))  # evenly on a sphere
        z = 1.0 - (2.0 * np.arange(_DIRECTIONS) + 1.0) / _DIRECTIONS
        around = np.stack([np.sqrt(1.0 - z**2) * np.cos(turn), np.sqrt(1.0 - z**2) * np.sin(turn), z], axis=1)
        links, corners, triangles, count = [], [], [], 0
        for link, surface in surfaces.of_links:
            points = surface[:, 0].reshape(-1, 3)
            some = points[np.unique(np.argmax(points @ around.T, axis=0))]
            try:
                faces = ConvexHull(some).simplices
            except (QhullError, ValueError):
                some, faces = points, np.arange(len(points)).reshape(-1, 3)
            links.append(np.full(len(some), link))
            corners.append(some)
            triangles.append(faces + count)
            count += len(some)
        return Hulls(np.concatenate(links), np.concatenate(corners), np.concatenate(triangles))

    def along(self, robot: Robot, path: Array, every: int = 1) -> Array:
        """Corners, or one of so many, in the world in each posture of a path (samples, nq), shape (samples, n, 3)."""
        R, p = link_poses(robot, path)
        links, corners = self.links[::every], self.corners[::every]
        return np.einsum("nsij,nj->sni", R[links], corners) + p[links].transpose(1, 0, 2)


def swept_pictures(
    robot: Robot, path: Array, posture: Array, model: CollisionModel | None, nearest: Nearest | None, key: str
) -> tuple[SweptPicture, ...]:
    """The robot and what it sweeps, from one side and from where the swept space is largest: above, mostly.

    Args:
        robot: The robot.
        path: Positions along its motion, shape (samples, nq).
        posture: Where the robot itself is drawn, shape (nq,).
        model: What it is kept away from; None where nothing is looked at.
        nearest: What is nearest in that posture.
        key: What keys of the pictures begin with.
    """
    surfaces = Surfaces.of(robot)
    hulls = Hulls.of(surfaces)
    swept = hulls.along(robot, evenly_spaced(robot, hulls, path))
    low, high = swept.min(axis=(0, 1)), swept.max(axis=(0, 1))
    room = _BEYOND * float((high - low).max())
    boxes = [] if model is None else model.boxes
    boxes = [one for one in boxes if (one.points.max(axis=0) > low - room).all()]
    boxes = [one for one in boxes if (one.points.min(axis=0) < high + room).all()]
    corners = np.concatenate([swept.reshape(-1, 3), *(one.points for one in boxes)])
    planes = [] if model is None else list(_rectangles(model.walls, corners, room))
    corners = np.concatenate([corners, *(one.corners for one in planes)])
    bodies = _with_boxes(surfaces.at(posture), boxes)
    views = views_of(robot, corners)
    chosen = {"from one side, above": views.pop("")}
    largest = max(views, key=lambda view: float(np.prod(np.ptp(corners @ views[view][:2].T, axis=0))))
    chosen[largest] = views[largest]
    found = []
    for k, (view, axes) in enumerate(chosen.items()):
        camera = Camera.around(corners, axes, SIDE, 0.03)
        small = replace(camera, scale=camera.scale / _COARSER)
        opacity = _opacity(enlarged(smooth(smooth(coverage(swept, hulls.triangles, small))), *camera.pixels))
        found.append(_drawn(f"{key}-{k}", view, camera, bodies, opacity, planes, boxes, nearest))
    return tuple(found)


def evenly_spaced(robot: Robot, hulls: Hulls, path: Array) -> Array:
    """Some postures of a path (samples, nq), evenly spaced by the way of the corner that moves most."""
    corners = hulls.along(robot, path, every=_EVERY)
    way = np.cumsum(np.linalg.norm(np.diff(corners, axis=0), axis=2).max(axis=1, initial=0.0))
    way = np.concatenate([[0.0], way])
    at = np.searchsorted(way, np.linspace(0.0, way[-1], POSTURES))
    return path[np.unique(np.minimum(at, len(path) - 1))]


def _opacity(share: Array) -> Array:
    """How opaque the swept space is: more so where the robot passes more often; in few steps, for small files."""
    return np.round(40.0 * 0.75 * np.maximum(share, 0.0) ** 0.4) / 40.0


def _with_boxes(bodies: Scene, boxes: Sequence[Solid]) -> Scene:
    from scipy.spatial import ConvexHull

    triangles = [one.points[ConvexHull(one.points).simplices] for one in boxes]
    count = sum(map(len, triangles))
    if not count:
        return bodies
    corners = np.concatenate(triangles)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return Scene(
        np.concatenate([bodies.triangles, corners]),
        np.concatenate([bodies.normals, np.repeat(normals[:, None], 3, axis=1)]),
        np.concatenate([bodies.colours, np.tile(_BOX, (count, 1))]),
        np.concatenate([bodies.parts, np.repeat(1000 + np.arange(len(boxes)), [len(one) for one in triangles])]),
    )


@dataclass(frozen=True, eq=False)
class _Rectangle:
    """The part of a wall that is drawn.

    Attributes:
        wall: The wall.
        corners: Its corners in the world [m], shape (4, 3).
        lines: A grid on it: ends of lines [m], shape (lines, 2, 3).
        step: Distance between lines [m].
    """

    wall: Wall
    corners: Array
    lines: Array
    step: float

    @property
    def is_floor(self) -> bool:
        return float(self.wall.normal[2]) > 0.999

    def seen(self, camera: Camera) -> DrawnPlane:
        """As it is seen."""
        outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in camera.project(self.corners)[:, :2])
        ends = camera.project(self.lines)[..., :2]
        grid = "".join(f"M{a[0]:.1f} {a[1]:.1f}L{b[0]:.1f} {b[1]:.1f}" for a, b in ends)
        in_front = float(self.wall.normal @ camera.axes[2]) < -1e-6
        return DrawnPlane(self.wall.name, outline, grid, in_front, self.is_floor)


def _rectangles(walls: Sequence[Wall], points: Array, room: float) -> Iterator[_Rectangle]:
    """Walls nearer than some room [m] to points (n, 3), as large as these, and with the same grid."""
    step = _step(float(np.ptp(points, axis=0).max()))
    for wall in walls:
        if (points @ wall.normal).min() - wall.offset > room:
            continue
        along = np.eye(3)[0 if abs(wall.normal[2]) > 0.9 else 2]
        along = along - (along @ wall.normal) * wall.normal
        along = along / float(np.linalg.norm(along))
        axes: Array = np.stack([along, np.asarray(np.cross(wall.normal, along), dtype=float)])
        flat = points @ axes.T
        low, high = np.floor(flat.min(axis=0) / step) * step, np.ceil(flat.max(axis=0) / step) * step
        corners = np.array([low, [high[0], low[1]], high, [low[0], high[1]]], dtype=float)
        lines = [[[x, low[1]], [x, high[1]]] for x in np.arange(low[0], high[0] + 0.5 * step, step)]
        lines += [[[low[0], y], [high[0], y]] for y in np.arange(low[1], high[1] + 0.5 * step, step)]
        foot = wall.offset * wall.normal
        yield _Rectangle(wall, corners @ axes + foot, np.array(lines, dtype=float) @ axes + foot, step)


def _step(size: float) -> float:
    """A round distance between lines: five to twelve on a size."""
    rough = max(size, 1e-6) / 5.0
    power = 10.0 ** np.floor(np.log10(rough))
    return float(max(power * k for k in (1.0, 2.0, 5.0) if power * k <= rough))


def _drawn(
    key: str,
    view: str,
    camera: Camera,
    bodies: Scene,
    opacity: Array,
    planes: Sequence[_Rectangle],
    boxes: Sequence[Solid],
    nearest: Nearest | None,
) -> SweptPicture:
    """One view."""
    width, height = camera.pixels
    robot = picture(bodies.triangles, bodies.normals, bodies.colours, bodies.parts, camera)
    image = png(blended(robot, _SWEPT, opacity))
    ends = None
    if nearest is not None:
        (x0, y0), (x1, y1) = (camera.project(point)[:2].round(1).tolist() for point in (nearest.first, nearest.second))
        ends = (x0, y0, x1, y1)
    walls = [(one.wall.name, one.corners) for one in planes if not one.is_floor]
    named = [(name, camera.project(points)) for name, points in (*walls, *((box.body, box.points) for box in boxes))]
    labels = tuple(_label(name, seen, width) for name, seen in named)
    grid = planes[0].step if planes else 0.0
    drawn = tuple(one.seen(camera) for one in planes)
    return SweptPicture(key, view, width, height, image, *scale_bar(camera), drawn, labels, ends, grid)


def _label(text: str, seen: Array, width: int) -> Label:
    """A name in the middle of what is seen, above it; within a picture of some width [px]."""
    room = min(4.0 * len(text), 0.5 * width)
    x = float(np.clip((seen[:, 0].min() + seen[:, 0].max()) / 2, room, width - room))
    return Label(text, round(x, 1), round(max(float(seen[:, 1].min()) - 6.0, 14.0), 1))
