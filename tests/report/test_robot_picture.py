"""Pictures of robots: what is in front hides what is behind, meshes are read, and files need no graphics card."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from dynid import human, load_robot
from dynid.report.rasteriser import Camera, picture, png
from dynid.report.robot_picture import DrawnInertia, Surfaces, robot_pictures, scene
from dynid.robot import triangles

VIEW = np.eye(3)  # right, up, towards the viewer

CUBE = """
v -1 -1 0
v 1 -1 0
v 1 1 0
v -1 1 0
f 1 2 3 4
f -4/1/1 -3//2 -2
"""

ARM = """<robot name="arm"><link name="base"/>
<link name="upper"><collision><geometry><mesh filename="{mesh}" scale="0.1 0.1 0.1"/></geometry></collision>
<inertial><origin xyz="0 0 0.1"/><mass value="2"/>
<inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="continuous"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.5"/>
<axis xyz="0 1 0"/></joint></robot>"""


def square(z: float, half: float) -> np.ndarray:
    a, b, c, d = ((-half, -half, z), (half, -half, z), (half, half, z), (-half, half, z))
    return np.array([[a, b, c], [a, c, d]])


def drawn(bodies: np.ndarray, colours: np.ndarray, size: int = 40) -> np.ndarray:
    normals = np.tile([0.0, 0.0, 1.0], (len(bodies), 3, 1))
    camera = Camera.around(np.array([[-1.0, -1.0, 0.0], [1.0, 1.0, 0.0]]), VIEW, size, margin=0.0)
    return picture(bodies, normals, colours, np.arange(len(bodies)) // 2, camera)


def test_what_is_in_front_hides_what_is_behind() -> None:
    red, blue = np.tile([1.0, 0.0, 0.0], (2, 1)), np.tile([0.0, 0.0, 1.0], (2, 1))
    for near, far in ((1.0, 0.0), (0.0, 1.0)):
        bodies = np.concatenate([square(near, 0.5), square(far, 1.0)])
        image = drawn(bodies, np.concatenate([red, blue])).astype(int)
        middle, border = image[20, 20], image[3, 3]
        assert (middle[0] > middle[2]) == (near > far)
        assert border[2] > border[0]
        assert image[..., 3].min() == 255


def test_pictures_cover_what_bodies_cover_and_nothing_else() -> None:
    half = 0.5
    image = drawn(square(0.0, half), np.ones((2, 3)), size=80)
    assert image[..., 3].mean() / 255 == pytest.approx(half**2, rel=0.06)


def test_png_files_hold_the_picture() -> None:
    image = np.random.default_rng(0).integers(0, 256, (7, 5, 4), dtype=np.uint8)
    content = base64.b64decode(png(image).removeprefix("data:image/png;base64,"))
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", content[16:24]) == (5, 7)
    length = struct.unpack(">I", content[33:37])[0]
    assert zlib.crc32(content[37 : 41 + length]) == struct.unpack(">I", content[41 + length : 45 + length])[0]
    rows = np.frombuffer(zlib.decompress(content[41 : 41 + length]), dtype=np.uint8).reshape(7, 21)
    assert (rows[:, 0] == 2).all()  # each row less the one above it
    assert np.array_equal(np.cumsum(rows[:, 1:], axis=0, dtype=np.uint8).reshape(7, 5, 4), image)


def test_meshes_are_read_and_what_cannot_be_is_a_capsule(tmp_path: Path) -> None:
    mesh = tmp_path / "cube.obj"
    mesh.write_text(CUBE)
    found = triangles(mesh)
    assert found is not None
    assert found.shape == (3, 3, 3)
    assert np.array_equal(found[0], found[2])  # negative numbers count from the last vertex
    stl = tmp_path / "cube.stl"
    record = np.zeros(2, dtype=[("n", "<f4", 3), ("c", "<f4", (3, 3)), ("a", "<u2")])
    record["c"] = found[:2]
    stl.write_bytes(bytes(80) + struct.pack("<I", 2) + record.tobytes())
    again = triangles(stl)
    assert again is not None
    assert np.array_equal(again, found[:2])
    counts = {}
    for name in ("cube.obj", "cube.stl", "missing.stl"):
        path = tmp_path / "arm.urdf"
        path.write_text(ARM.format(mesh=name))
        robot = load_robot(path)
        bodies = scene(robot, robot.neutral)
        counts[name] = np.count_nonzero(bodies.parts == 0)
        assert bodies.triangles.shape == bodies.normals.shape == (len(bodies.parts), 3, 3)
    assert counts["cube.obj"] == 3
    assert counts["cube.stl"] == 2
    assert counts["missing.stl"] > 100


def test_ellipses_are_the_outlines_of_ellipsoids_and_pictures_are_always_the_same(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(ARM.format(mesh="none.stl"))
    robot = load_robot(tmp_path / "arm.urdf")
    radius = 0.2
    ball = DrawnInertia(0, "identified", "ball", 2.0, np.array([0.1, 0.0, 0.3]), 0.4 * 2.0 * radius**2 * np.eye(3))
    views = robot_pictures(robot, robot.neutral, [ball])
    assert len(views) == 4
    (one,) = robot_pictures(robot, robot.neutral, ())
    assert one.ellipses == ()
    scales = {round(view.ellipses[0].a / radius, 0) for view in views}
    assert len(scales) == 1  # a ball is a circle of the same size from all sides
    for view in views:
        (ellipse,) = view.ellipses
        assert ellipse.a == pytest.approx(ellipse.b, abs=0.2)
        assert 0.0 < ellipse.x < view.width
        assert 0.0 < ellipse.y < view.height
    assert robot_pictures(robot, robot.neutral, [ball]) == views


def test_joints_of_one_body_that_has_shapes_are_drawn_as_that_body_only() -> None:
    robot = human(sex="male", height=1.8, mass=80.0)
    drawn = {link for link, _ in Surfaces.of(robot).of_links}
    assert drawn == {i for i, link in enumerate(robot.links) if any(body.geometry for body in link.bodies)}
