"""A page on this machine that shows a robot in motion, with viser."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from dynid import excitation
from dynid.arrays import Array
from dynid.cli.page_guard import HOST, PageGuard, free_port, guarded
from dynid.errors import DynidError, InvalidRequestError, ShapeError
from dynid.files import read_bytes
from dynid.model import DynamicModel
from dynid.report.clearance_figure import Clearances, clearances_of
from dynid.report.drawn_bodies import Shape, capsules, poses, quaternion, shapes
from dynid.report.rendering import metres
from dynid.robot import WORLD, JointKind, Robot, as_robot, reach

COLOURS = ((0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (230, 159, 0), (86, 180, 233))
FRAMES_A_SECOND = 40.0

LOOKED_AT = 2000
"""Samples of a motion in which the smallest distance is looked for."""

ALERT = (200, 0, 0)
"""Colour of the line between the nearest points."""

DOTS, DOT = 9, 0.011
"""Dots of that line, and their radius in parts of the robot's reach."""

NOTHING_NEAR = "<p style='font-size:75%'>There is nothing that the robot could touch.</p>"

RATE = 125.0
"""Sampling rate [Hz] at which coefficients are shown."""


class ViewerMissingError(DynidError):
    """The viewer's packages are not installed."""

    def __init__(self) -> None:
        super().__init__("dynid view needs viser and trimesh, which are not installed; run pip install 'dynid[view]'")


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion of a robot.

    Attributes:
        time: Time [s] since its start, ascending, shape (samples,).
        q: Positions, shape (samples, nq).
        v: Velocities, shape (samples, nv).
        torque: Torques [N m or N], shape (samples, nv): measured ones, or those that the robot's file says it needs.
        measured: Whether the torques were measured.
    """

    time: Array
    q: Array
    v: Array
    torque: Array
    measured: bool

    def index_at(self, time: float) -> int:
        """The last sample that is not later than a time [s]."""
        return int(np.clip(np.searchsorted(self.time, time, side="right") - 1, 0, len(self.time) - 1))


@dataclass(frozen=True)
class Gauge:
    """How much of a limit a motion uses.

    Attributes:
        joint: The joint.
        what: "position", "velocity" or "torque".
        value: The value [rad, m, rad/s, m/s, N m or N].
        share: Share of the limit that it uses; above 1 is beyond it, and NaN where none is stated.
    """

    joint: str
    what: str
    value: float
    share: float


def view(
    motion: excitation.Followable,
    robot: Robot | str | os.PathLike[str],
    *,
    port: int = 8080,
    announce: Callable[[str], None] = print,
) -> None:
    """Show a robot moving along a trajectory or a log, on a page on this machine, until interrupted.

    Args:
        motion: The path of a trajectory or a log, what `excite` returned, a `Log` of joint positions, or arrays (t, q).
        robot: The robot: a path, `builtin:NAME`, or a loaded one.
        port: Port of the page.
        announce: Callback; receives the page's address, whose token nobody else knows.

    Raises:
        ViewerMissingError: If viser is not installed.
    """
    loaded = excitation.robot_of_motion(as_robot(robot), motion)
    shown = motion_to_show(motion, loaded)
    clearances = clearances_to_show(motion, loaded, shown)
    with suppress(KeyboardInterrupt):
        serve(loaded, shown, port, announce, clearances=clearances)


def motion_to_show(motion: excitation.Followable, robot: Robot) -> Motion:
    """The motion of a trajectory or a log: a file, read without strictness, or anything that can be followed.

    Raises:
        FileProblemError: If the time or positions are missing, or there are not as many as joints.
        ShapeError: If there are not as many positions in memory as joints.
        InvalidRequestError: If the robot has joints of several degrees of freedom.
    """
    if any(joint.kind.nv > 1 for joint in robot.joints):
        raise InvalidRequestError(f"'{robot.name}' has joints of several degrees of freedom, which cannot be shown yet")
    is_file = isinstance(motion, str | os.PathLike)
    found = excitation.read_trajectory(motion, robot, strict=False) if is_file else excitation.as_motion(motion, robot)
    if not isinstance(found, excitation.Trajectory):
        found = excitation.Trajectory(*excitation.samples(found, RATE))
    if found.q.shape[1] != robot.nv:
        raise ShapeError("positions of the motion", f"(samples, {robot.nv})", found.q.shape)
    if len(found) < 3:
        raise InvalidRequestError(f"a motion to look at needs at least 3 samples, and there are {len(found)}")
    v = np.gradient(found.q, found.t, axis=0) if found.v is None else found.v
    torque = found.torque
    if torque is None:
        a = np.gradient(v, found.t, axis=0) if found.a is None else found.a
        torque = DynamicModel(robot).inverse_dynamics(found.q, v, a)
    return Motion(found.t - found.t[0], found.q, v, torque, found.torque is not None)


def clearances_to_show(motion: excitation.Followable, robot: Robot, shown: Motion) -> Clearances | None:
    """How near a robot comes to itself and its surroundings; None where there is nothing that it could touch.

    The surroundings are those of the design, where the motion is one, and a floor below the base otherwise.

    Raises:
        FileProblemError: If the design's file of surroundings, or the robot's SRDF file, cannot be used.
    """
    settings = excitation.surroundings_of_motion(motion, robot)
    model = excitation.collisions_of(settings, robot, excitation.joint_limits(settings, robot)).model
    if not model.pairs:
        return None
    some = np.unique(np.linspace(0, len(shown.time) - 1, LOOKED_AT).astype(int))
    return clearances_of(model, settings.clearance, shown.time[some], shown.q[some])


def gauges(robot: Robot, motion: Motion, index: int) -> list[Gauge]:
    """How much of each limit a sample uses: positions from the middle of their range, the others from zero."""
    found = []
    for joint in robot.independent_joints:
        limits, row = joint.limits, joint.v.start
        q, v, tau = float(motion.q[index, row]), float(motion.v[index, row]), float(motion.torque[index, row])
        middle, half = 0.5 * (limits.lower + limits.upper), 0.5 * (limits.upper - limits.lower)
        bounded = joint.kind is not JointKind.CONTINUOUS and np.isfinite(half) and half > 0.0
        found += [
            Gauge(joint.name, "position", q, abs(q - middle) / half if bounded else np.nan),
            Gauge(joint.name, "velocity", v, _share(v, limits.velocity)),
            Gauge(joint.name, "torque", tau, _share(tau, limits.effort)),
        ]
    return found


def _share(value: float, limit: float) -> float:
    return abs(value) / limit if np.isfinite(limit) and limit > 0.0 else np.nan


def serve(
    robot: Robot,
    motion: Motion,
    port: int,
    announce: Callable[[str], None],
    running: Callable[[], bool] = lambda: True,
    clearances: Clearances | None = None,
) -> None:
    """Show a motion on a port of this machine, until `running`, which is asked before each frame, says to end.

    The page answers only at the address that is announced, which holds a token; see `page_guard`.

    Raises:
        ViewerMissingError: If viser is not installed.
        UnguardedViewerError: If the installed viser cannot be guarded.
    """
    try:
        import trimesh  # pyright: ignore[reportMissingImports]
        import viser  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ViewerMissingError from error
    guard = PageGuard()
    port = free_port(port)
    with guarded(guard):
        server = viser.ViserServer(host=HOST, port=port, label="dynid", verbose=False)
    try:
        guard.require_in_place()
        announce(guard.address(server.get_port()))
        frames = _scene(server, robot, trimesh, clearances)
        _play(server, robot, motion, frames, running, clearances)
    finally:
        server.stop()


def _scene(server: Any, robot: Robot, trimesh: Any, clearances: Clearances | None) -> list[Any]:
    server.scene.set_up_direction("+z")
    size = reach(robot)
    height = 0.0 if clearances is None else clearances.model.floor or 0.0
    server.scene.add_grid(
        "/ground", width=3.0 * size, height=3.0 * size, cell_size=0.1, section_size=0.5, position=(0.0, 0.0, height)
    )
    if clearances is not None:
        _add_surroundings(server, clearances.model, trimesh, size)

    @server.on_client_connect
    def _look(client: Any) -> None:
        client.camera.position = (1.1 * size, 1.1 * size, 0.9 * size)
        client.camera.look_at = (0.0, 0.0, 0.35 * size)

    frames = [server.scene.add_frame(f"/joint_{i}", show_axes=False) for i in range(len(robot.joints))]
    for k, (shape, mesh) in enumerate(_meshes(robot, trimesh)):
        parent = "/base" if shape.link == WORLD else f"/joint_{shape.link}"
        server.scene.add_mesh_simple(
            f"{parent}/shape_{k}",
            np.asarray(mesh.vertices, dtype=np.float32),
            np.asarray(mesh.faces, dtype=np.uint32),
            color=(150, 150, 150) if shape.link == WORLD else COLOURS[shape.link % len(COLOURS)],
            wxyz=quaternion(shape.placement[:3, :3]),
            position=shape.placement[:3, 3],
        )
    return frames


def _add_surroundings(server: Any, model: excitation.CollisionModel, trimesh: Any, size: float) -> None:
    """Walls, as large as a robot of some size [m] reaches, and boxes."""
    for k, wall in enumerate(wall for wall in model.walls if wall.offset != model.floor):
        along = np.linalg.svd(wall.normal[None, :])[2][1:]
        middle = wall.offset * wall.normal
        corners = middle + 1.5 * size * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) @ along
        faces = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.uint32)
        look = {"color": (122, 135, 148), "opacity": 0.25, "side": "double"}
        server.scene.add_mesh_simple(f"/surroundings/wall_{k}", corners.astype(np.float32), faces, **look)
    for k, box in enumerate(model.boxes):
        hull = trimesh.convex.convex_hull(box.points)
        vertices, faces = np.asarray(hull.vertices, dtype=np.float32), np.asarray(hull.faces, dtype=np.uint32)
        server.scene.add_mesh_simple(
            f"/surroundings/box_{k}", vertices, faces, color=(184, 168, 148), flat_shading=True
        )


def _meshes(robot: Robot, trimesh: Any) -> Iterator[tuple[Shape, Any]]:
    """Shapes with their triangles; capsules instead of meshes that cannot be read."""
    without: set[int] = set()
    for shape in shapes(robot):
        try:
            yield shape, _mesh(shape, trimesh)
        except Exception:  # a mesh library fails in as many ways as there are formats
            if shape.link not in without:
                without.add(shape.link)
                for capsule in capsules(robot, shape.link):
                    yield capsule, _mesh(capsule, trimesh)


def _content(path: Path) -> BytesIO:
    """A mesh file as bytes, from which no other file is read.

    Raises:
        OSError: If it cannot be read, is enormous, or no regular file.
        ValueError: If it declares XML entities.
    """
    content = read_bytes(path)
    if b"<!ENTITY" in content.replace(b"\0", b""):
        raise ValueError("XML entities")
    return BytesIO(content)


def _mesh(shape: Shape, trimesh: Any) -> Any:
    """Triangles of a shape in its own frame."""
    if shape.kind == "mesh" and shape.mesh is not None:
        mesh = trimesh.load_mesh(_content(shape.mesh), file_type=shape.mesh.suffix[1:].lower(), process=False)
        mesh = mesh.to_mesh() if hasattr(mesh, "to_mesh") else mesh
        if not len(mesh.faces):
            raise ValueError("no triangles")
        mesh.apply_scale(list(shape.size) or [1.0, 1.0, 1.0])
        return mesh
    if shape.kind == "box":
        return trimesh.creation.box(extents=shape.size)
    if shape.kind == "sphere":
        return trimesh.creation.icosphere(radius=shape.size[0])
    if shape.kind == "cylinder":
        return trimesh.creation.cylinder(radius=shape.size[0], height=shape.size[1])
    capsule = trimesh.creation.capsule(radius=shape.size[0], height=shape.size[1])
    capsule.apply_translation(-capsule.bounds.mean(axis=0))
    return capsule


class _NearestLine:
    """A dotted line between the parts of the robot and its surroundings that are nearest to each other.

    Dots follow a robot in motion at once; a browser updates the points of a line too late.
    """

    def __init__(self, server: Any, clearances: Clearances) -> None:
        self.clearances = clearances
        radius = DOT * reach(clearances.model.robot)
        sizes = [radius, *[0.6 * radius] * (DOTS - 2), radius]
        self.dots = [
            server.scene.add_icosphere(f"/nearest/dot_{k}", radius=size, color=ALERT, subdivisions=2)
            for k, size in enumerate(sizes)
        ]

    def moved(self, q: Array) -> str:
        """Move it to a posture, shape (nq,); what the panel says of it."""
        found = self.clearances.model.nearest_points(q)
        if found is None:
            return ""
        for dot, point in zip(self.dots, np.linspace(found.first, found.second, DOTS), strict=True):
            dot.position = point
        return clearance_text(self.clearances, found)


def clearance_text(clearances: Clearances, now: excitation.Nearest) -> str:
    """The smallest distance at a moment and along the whole motion, as HTML; names are escaped."""
    pair, smallest, when = clearances.nearest
    rows = [("now", now.pair, now.distance, ""), ("smallest", pair, smallest, f" at {when:.2f} s")]
    lines = []
    for what, name, distance, at in rows:
        text = f"{metres(distance)}{at}"
        if distance < clearances.required:
            text = f"<b style='color:#b23a00'>{text} !</b>"
        lines.append(f"<tr><td>{what}</td><td style='white-space:nowrap'>{text}</td><td>{escape(name)}</td></tr>")
    head = f"<tr><th colspan=3>clearance (required: {metres(clearances.required)})</th></tr>"
    return f"<table style='font-size:75%;width:100%'>{head}{''.join(lines)}</table>"


def _play(
    server: Any,
    robot: Robot,
    motion: Motion,
    frames: list[Any],
    running: Callable[[], bool],
    clearances: Clearances | None,
) -> None:
    duration = float(motion.time[-1])
    playing = server.gui.add_checkbox("Play", initial_value=True)
    speed = server.gui.add_slider("Speed", min=0.1, max=4.0, step=0.1, initial_value=1.0)
    now = server.gui.add_slider("Time [s]", min=0.0, max=duration, step=duration / 1000, initial_value=0.0)
    distances, table = server.gui.add_html(NOTHING_NEAR), server.gui.add_html("")
    line = None if clearances is None else _NearestLine(server, clearances)
    last = time.monotonic()
    while running():
        tick = time.monotonic()
        if playing.value:
            now.value = (float(now.value) + (tick - last) * float(speed.value)) % duration
        last = tick
        index = motion.index_at(float(now.value))
        for frame, T in zip(frames, poses(robot, motion.q[index]), strict=True):
            frame.wxyz, frame.position = quaternion(T[:3, :3]), T[:3, 3]
        if line is not None:
            distances.content = line.moved(motion.q[index])
        table.content = gauge_table(gauges(robot, motion, index), motion.measured)
        time.sleep(max(0.0, 1.0 / FRAMES_A_SECOND - (time.monotonic() - tick)))


def gauge_table(found: list[Gauge], measured: bool) -> str:
    """Positions, velocities and torques of a moment with their shares of limits, as HTML; names are escaped."""
    rows = []
    for k in range(0, len(found), 3):
        cells = "".join(
            f"<td style='text-align:right;white-space:nowrap'>{_cell(gauge)}</td>" for gauge in found[k : k + 3]
        )
        rows.append(f"<tr><td>{escape(found[k].joint)}</td>{cells}</tr>")
    torque = "torque (measured)" if measured else "torque (needed)"
    head = f"<tr><th>joint</th><th>position</th><th>velocity</th><th>{torque}</th></tr>"
    return f"<table style='font-size:75%;width:100%'>{head}{''.join(rows)}</table>"


def _cell(gauge: Gauge) -> str:
    share = "" if np.isnan(gauge.share) else f" ({gauge.share:.0%})"
    text = f"{gauge.value:.2f}{share}"
    return f"<b style='color:#b23a00'>{text} !</b>" if gauge.share > 1.0 else text
