"""Pictures of a robot, drawn on any machine: its bodies as they stand, with centres of mass and inertia ellipsoids.

A link's ellipsoid is the body of even density that has the link's mass, centre of mass and inertia. With Sigma the
second moments of mass about its centre, its half axes are the roots of 5/m times the eigenvalues of Sigma. Seen along
an axis it is the ellipse of the matching block of 5/m Sigma.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.report.drawn_bodies import Shape, capsules, poses, shapes
from dynid.report.figure import PALETTE
from dynid.report.rasteriser import Camera, picture, png
from dynid.robot import WORLD, Joint, JointKind, Robot, along_z, reach, triangles

READ_MESHES = (".stl", ".obj")
"""Endings of mesh files that are drawn; others may be untrusted input of large libraries."""

MOST_TRIANGLES = 200_000
"""Meshes of more triangles are drawn as their convex hulls."""

WHOLE, VIEW = 560, 440
"""Longer side [px] of the picture of a robot alone, and of those with inertias."""

_RADIUS = 0.055
"""Radius of the drums of joints without shapes, in parts of the robot's reach."""

FACETS = 28
"""Facets around a cylinder."""

ELEVATION = np.deg2rad(20.0)
AZIMUTHS = tuple(np.deg2rad(a) for a in (-50.0, -20.0, 25.0, 55.0))
"""From where a robot is looked at, from the x axis; the view that shows most of its width is taken."""


@dataclass(frozen=True, eq=False)
class DrawnInertia:
    """Mass, centre of mass and inertia of a link, as one source states them.

    Attributes:
        link: Index of the link.
        source: "file" or "identified"; "a" or "b" where results are compared.
        title: What is shown of it under the pointer.
        mass: Mass [kg].
        centre: Centre of mass [m] in the joint frame, shape (3,).
        inertia: Inertia about it [kg m^2] along the axes of the joint frame, shape (3, 3).
    """

    link: int
    source: str
    title: str
    mass: float
    centre: Array
    inertia: Array


@dataclass(frozen=True)
class Ellipse:
    """An ellipsoid as it is seen: centre and half axes in pixels, and the angle of the first [degrees]."""

    number: int
    source: str
    title: str
    colour: str
    x: float
    y: float
    a: float
    b: float
    angle: float


@dataclass(frozen=True)
class Picture:
    """A picture of something in space.

    Attributes:
        key: Unique on a page.
        view: From where it is seen.
        width: Width [px].
        height: Height [px].
        image: The bodies, as the address of a PNG file.
        bar: Length of a scale bar [px].
        bar_text: The same in words.
    """

    key: str
    view: str
    width: int
    height: int
    image: str
    bar: float
    bar_text: str


@dataclass(frozen=True)
class RobotPicture(Picture):
    """A picture of a robot.

    Attributes:
        ellipses: Ellipsoids of links.
    """

    ellipses: tuple[Ellipse, ...]


def ellipsoid(mass: float, inertia: Array) -> Array:
    """Matrix (3, 3) of the ellipsoid of even density, `x' E^-1 x <= 1`, of an inertia about the centre of mass [m^2].

    >>> np.sqrt(np.diag(ellipsoid(3.0, 0.4 * 3.0 * 0.1**2 * np.eye(3)))).round(6).tolist()  # a ball of 10 cm
    [0.1, 0.1, 0.1]
    """
    Sigma = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return 5.0 / mass * Sigma


def robot_pictures(robot: Robot, posture: Array, inertias: Sequence[DrawnInertia]) -> tuple[RobotPicture, ...]:
    """The robot with its inertias, from four sides; without any inertia only the first view, larger.

    Args:
        robot: The robot.
        posture: Positions, shape (nq,).
        inertias: What is known of its links.
    """
    bodies = scene(robot, posture)
    views = views_of(robot, bodies.points)
    chosen = views.pop("")
    if not inertias:
        return (_drawn("robot", "", bodies, Camera.around(bodies.points, chosen, WHOLE)),)
    placed = _placed(robot, posture, inertias)
    points = np.concatenate([bodies.points, _within(bodies.points, placed)])
    cameras = {
        view: Camera.around(points, axes, VIEW) for view, axes in {"from one side, above": chosen, **views}.items()
    }
    scale = min(camera.scale for camera in cameras.values())
    same = {view: replace(camera, scale=scale) for view, camera in cameras.items()}
    return tuple(_drawn(f"view{k}", view, bodies, camera, placed) for k, (view, camera) in enumerate(same.items()))


@dataclass(frozen=True, eq=False)
class Scene:
    """All bodies of a robot in the world.

    Attributes:
        triangles: Corners [m], shape (n, 3, 3).
        normals: Normals at the corners, shape (n, 3, 3).
        colours: Red, green and blue, shape (n, 3).
        parts: Index of the link of each, shape (n,).
    """

    triangles: Array
    normals: Array
    colours: Array
    parts: np.ndarray

    @property
    def points(self) -> Array:
        """All corners, shape (3 n, 3)."""
        return self.triangles.reshape(-1, 3)


def scene(robot: Robot, posture: Array) -> Scene:
    """A robot at some positions, shape (nq,).

    Links without a shape that can be read are capsules between joints, with a drum about each joint's axis.
    """
    return Surfaces.of(robot).at(posture)


@dataclass(frozen=True, eq=False)
class Surfaces:
    """The surfaces of a robot's links, to be drawn in many postures.

    Attributes:
        robot: The robot.
        of_links: Indices of links, with triangles and normals at their corners in the joint frame, (n, 2, 3, 3).
    """

    robot: Robot
    of_links: tuple[tuple[int, Array], ...]

    @staticmethod
    def of(robot: Robot, facets: int = FACETS, most: int = MOST_TRIANGLES) -> "Surfaces":
        """Read the shapes of a robot.

        Args:
            robot: The robot.
            facets: Facets around a cylinder.
            most: Meshes of more triangles are replaced by their convex hulls.
        """
        found = []
        for shape in [*shapes(robot, READ_MESHES), *_drums(robot)]:
            own = _moved(_surface(shape, facets, most), shape.placement)
            if not len(own):  # a mesh that cannot be read
                stand_ins = [_moved(_surface(one, facets), one.placement) for one in capsules(robot, shape.link)]
                own = np.concatenate([own, *stand_ins])
            found.append((shape.link, own))
        return Surfaces(robot, tuple(found))

    def at(self, posture: Array) -> Scene:
        """All of them at some positions, shape (nq,)."""
        frames = poses(self.robot, posture)
        rods = [(shape.link, _moved(_surface(shape), shape.placement)) for shape in _rods(self.robot, posture)]
        every = [*self.of_links, *rods]
        both = np.concatenate([own if link == WORLD else _moved(own, frames[link]) for link, own in every])
        parts = np.repeat([link for link, _ in every], [len(own) for _, own in every])
        tints = np.array([_tint(link) for link in range(WORLD, len(self.robot.links))])
        return Scene(both[:, 0], both[:, 1], tints[parts - WORLD], parts)


def _moved(surface: Array, placement: Array) -> Array:
    R = placement[:3, :3]
    return np.stack([surface[:, 0] @ R.T + placement[:3, 3], surface[:, 1] @ R.T], axis=1)


def _tint(link: int) -> Array:
    if link == WORLD:
        return np.full(3, 0.66)
    colour = np.array([int(PALETTE[link % 8][k : k + 2], 16) / 255.0 for k in (1, 3, 5)])
    return 0.4 * colour + 0.6 * np.array([0.86, 0.88, 0.9])


def _bare_joints(robot: Robot) -> list[tuple[int, Joint]]:
    """Joints of one degree of freedom that move links without shapes; of several on one body, if that has none."""
    moved = list(range(len(robot.joints)))  # the link that each joint moves in the end
    for k in reversed(range(len(moved))):
        if robot.joints[k].parent != WORLD and robot.links[robot.joints[k].parent].is_virtual:
            moved[robot.joints[k].parent] = moved[k]
    return [
        (k, joint)
        for k, joint in enumerate(robot.joints)
        if joint.kind.nv == 1 and not any(body.geometry for body in robot.links[moved[k]].bodies)
    ]


def _drums(robot: Robot) -> list[Shape]:
    """Drums about the axes of joints between links without shapes."""
    radius, found = _RADIUS * reach(robot), []
    for k, joint in _bare_joints(robot):
        if joint.kind is JointKind.PRISMATIC:
            found.append(Shape(k, "box", (1.7 * radius,) * 3, along_z(1e-9 * joint.axis)))
        else:
            found.append(Shape(k, "cylinder", (radius, 2.1 * radius), along_z(1e-9 * joint.axis)))
    return found


def _rods(robot: Robot, posture: Array) -> list[Shape]:
    """Rods of prismatic joints that are out, where their links have no shapes."""
    found = []
    for k, joint in _bare_joints(robot):
        out = -float(joint.positions(posture)[0]) * joint.axis
        if joint.kind is JointKind.PRISMATIC and np.linalg.norm(out) > 1e-6:
            rod = (0.4 * _RADIUS * reach(robot), float(np.linalg.norm(out)))
            found.append(Shape(k, "cylinder", rod, along_z(out)))
    return found


def _surface(shape: Shape, facets: int = FACETS, most: int = MOST_TRIANGLES) -> Array:
    """Triangles of a shape in its own frame, and normals at their corners, shape (n, 2, 3, 3)."""
    angle = np.linspace(-0.5 * np.pi, 0.5 * np.pi, facets // 2 + 1)
    round_side = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    match shape.kind, shape.size:
        case "box", edges:
            return _flat(0.5 * np.array(edges) * _cube())
        case "sphere", (radius,):
            return _revolved(radius * round_side, round_side, facets)
        case "cylinder", (r, length):
            h = 0.5 * length
            line = np.array([[0.0, -h], [r, -h], [r, -h], [r, h], [r, h], [0.0, h]])
            return _revolved(line, np.repeat([[0.0, -1.0], [1.0, 0.0], [0.0, 1.0]], 2, axis=0), facets)
        case "capsule", (radius, length):
            shift = np.stack([0.0 * angle, 0.5 * length * np.where(angle < 0.0, -1.0, 1.0)], axis=1)
            return _revolved(radius * round_side + shift, round_side, facets)
        case "mesh", scale:
            found = triangles(shape.mesh)
            if found is not None:
                return _flat(np.array(scale) * (found if len(found) <= most else _hull(found)))
    return np.zeros((0, 2, 3, 3))


def _hull(found: Array) -> Array:
    from scipy.spatial import ConvexHull

    corners = found.reshape(-1, 3)
    return corners[ConvexHull(corners).simplices]


def _flat(corners: Array) -> Array:
    """Triangles, (n, 3, 3), with their own normals, (n, 2, 3, 3)."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return np.stack([corners, np.repeat(normals[:, None], 3, axis=1)], axis=1)


def _cube() -> Array:
    """Triangles of the cube with corners at plus and minus one, shape (12, 3, 3)."""
    square = np.array([[-1.0, -1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]])
    faces = [np.roll(side * square, turn, axis=1) for turn in range(3) for side in (1.0, -1.0)]
    return np.array([face[list(corners)] for face in faces for corners in ((0, 1, 2), (0, 2, 3))])


def _revolved(line: Array, normals: Array, facets: int) -> Array:
    """The surface that points (radius, z) with such normals, each (k, 2), make about the z axis; (n, 2, 3, 3)."""
    facet = 4.0 * np.pi * float(line[:, 0].max()) / facets
    sizes = np.linalg.norm(np.diff(line, axis=0), axis=1)
    at = np.concatenate([k + np.arange(n := max(1, round(size / facet))) / n for k, size in enumerate(sizes.tolist())])
    at = np.append(at, len(line) - 1.0)  # facets of bounded size, of which the boxes in a picture are small
    angle = np.linspace(0.0, 2.0 * np.pi, facets + 1)
    pieces = []
    for values in (line, normals):
        r, z = (np.interp(at, np.arange(len(line)), column) for column in values.T)
        rings = np.stack([np.outer(r, np.cos(angle)), np.outer(r, np.sin(angle)), np.outer(z, angle**0)], axis=-1)
        a, b, c, d = rings[:-1, :-1], rings[:-1, 1:], rings[1:, 1:], rings[1:, :-1]
        pieces.append(np.concatenate([np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)]).reshape(-1, 3, 3))
    return np.stack(pieces, axis=1)


def views_of(robot: Robot, points: Array) -> dict[str, Array]:
    """Axes of each view by where it is seen from: right, up, towards the viewer; the first has no name."""
    g = float(np.linalg.norm(robot.gravity))
    up = -robot.gravity / g if g > 0.0 else np.array([0.0, 0.0, 1.0])
    x = np.eye(3)[int(abs(up[0]) > 0.9)]
    x = x - (x @ up) * up
    x = x / float(np.linalg.norm(x))
    y = np.asarray(np.cross(up, x), dtype=float)

    def looked(azimuth: float) -> Array:
        towards = np.cos(ELEVATION) * (np.cos(azimuth) * x + np.sin(azimuth) * y) + np.sin(ELEVATION) * up
        right = np.asarray(np.cross(up, towards), dtype=float)
        right = right / float(np.linalg.norm(right))
        return np.stack([right, np.asarray(np.cross(towards, right), dtype=float), towards])

    best = max(AZIMUTHS, key=lambda azimuth: float(np.ptp(points @ looked(azimuth)[0])))
    return {
        "": looked(best),
        "from the side": np.stack([x, up, -y]),
        "from the front": np.stack([y, up, x]),
        "from above": np.stack([x, y, up]),
    }


def _placed(
    robot: Robot, posture: Array, inertias: Sequence[DrawnInertia]
) -> list[tuple[DrawnInertia, int, Array, Array]]:
    """Each inertia with the number of its joint, its centre of mass and its ellipsoid in the world."""
    frames, found = poses(robot, posture), []
    for one in inertias:
        if one.mass > 0.0:
            R, origin = frames[one.link][:3, :3], frames[one.link][:3, 3]
            E = R @ ellipsoid(one.mass, one.inertia) @ R.T
            found.append((one, robot.joints[one.link].number, R @ one.centre + origin, E))
    return found


def _within(points: Array, placed: Sequence[tuple[DrawnInertia, int, Array, Array]]) -> Array:
    """Corners of the boxes around ellipsoids, but none farther from the robot than its own size."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = float((high - low).max())
    corners = [
        centre + side * np.sqrt(np.maximum(np.diag(E), 0.0)) for _, _, centre, E in placed for side in (-1.0, 1.0)
    ]
    return np.clip(np.array(corners).reshape(-1, 3), low - room, high + room)


def _drawn(
    key: str,
    view: str,
    bodies: Scene,
    camera: Camera,
    placed: Sequence[tuple[DrawnInertia, int, Array, Array]] = (),
) -> RobotPicture:
    """A picture of one view."""
    width, height = camera.pixels
    ellipses = tuple(_ellipse(one, number, centre, E, camera) for one, number, centre, E in placed)
    image = png(picture(bodies.triangles, bodies.normals, bodies.colours, bodies.parts, camera))
    return RobotPicture(key, view, width, height, image, *scale_bar(camera), ellipses)


def scale_bar(camera: Camera) -> tuple[float, str]:
    """The length of a scale bar for a picture [px], and the same in words."""
    length = 0.3 * float(camera.size[0])
    step = 10.0 ** np.floor(np.log10(length))
    bar = max(step * k for k in (1.0, 2.0, 5.0) if step * k <= length)
    return round(bar * camera.scale, 1), f"{bar:g} m" if bar >= 1.0 else f"{100 * bar:g} cm"


def _ellipse(one: DrawnInertia, number: int, centre: Array, E: Array, camera: Camera) -> Ellipse:
    x, y, _ = camera.project(centre)
    flat = camera.axes[:2] * np.array([[1.0], [-1.0]])
    values, axes = np.linalg.eigh(flat @ E @ flat.T)
    b, a = (camera.scale * np.sqrt(np.maximum(values, 0.0))).tolist()
    angle = float(np.rad2deg(np.arctan2(axes[1, 1], axes[0, 1])))
    of_result = {"a": 0, "b": 1}.get(one.source, one.link % 8)
    return Ellipse(
        number, one.source, one.title, PALETTE[of_result], *(round(float(n), 1) for n in (x, y, a, b, angle))
    )
