"""The picture of the human body for the documentation: `python scripts/human_picture.py` writes docs/images/human.png.

The body from the front and from the side with its markers, and the planar model in a squat.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import numpy as np

import dynid
from dynid.report.rasteriser import Camera, picture, png
from dynid.report.robot_picture import Scene, scene
from dynid.robot import Robot
from dynid.robot.description import BodyDescription, Geometry

TARGET = Path(__file__).parents[1] / "docs" / "images" / "human.png"

SCALE = 330.0
"""Pixels per metre."""

MARKER = 0.012
"""Radius [m] of a marker as it is drawn."""

SQUAT = {"ankle_flexion": 0.35, "knee_flexion": 1.2, "hip_flexion": 1.1}
"""Posture [rad] of the planar model."""

FRONT = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
SIDE = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


def markers_only(robot: Robot) -> Robot:
    """The robot with markers as its only shapes."""

    def changed(body: BodyDescription) -> BodyDescription:
        is_marker = body.name.isupper() and body.inertia is None
        ball = Geometry("sphere", (MARKER,), np.eye(4))
        return replace(body, geometry=(ball,) if is_marker else (Geometry("sphere", (1e-6,), np.eye(4)),))

    links = tuple(replace(link, bodies=tuple(map(changed, link.bodies))) for link in robot.links)
    return replace(robot, links=links, base=replace(robot.base, bodies=tuple(map(changed, robot.base.bodies))))


def with_markers(robot: Robot, posture: np.ndarray) -> Scene:
    """A body and its markers, dark."""
    body, balls = scene(robot, posture), scene(markers_only(robot), posture)
    colours = np.concatenate([body.colours, np.full(balls.colours.shape, 0.15)])
    parts = np.concatenate([body.parts, balls.parts + len(robot.links) + 1])
    both = [np.concatenate([getattr(body, name), getattr(balls, name)]) for name in ("triangles", "normals")]
    return Scene(both[0], both[1], colours, parts)


def panel(one: Scene, axes: np.ndarray, low: float, high: float) -> np.ndarray:
    """A view of a scene whose height is the same for all [m]."""
    around = Camera.around(one.points, axes, 100)
    camera = replace(around, corner=np.array([around.corner[0], low]), size=np.array([around.size[0], high - low]))
    return picture(one.triangles, one.normals, one.colours, one.parts, replace(camera, scale=SCALE))


def main() -> None:
    """Draw and write it."""
    body = dynid.human(sex="female", height=1.7, mass=65.0)
    flat = dynid.human(sex="female", height=1.7, mass=65.0, planar=True)
    stands = with_markers(body, body.neutral)
    low = float(stands.points[:, 2].min())
    squat = with_markers(flat, np.array([SQUAT[joint.name] for joint in flat.joints]))
    panels = [panel(stands, axes, low - 0.05, low + 1.78) for axes in (FRONT, SIDE)]
    panels.append(panel(squat, SIDE, -0.05, 1.78))
    content = png(np.concatenate(panels, axis=1)).partition(",")[2]
    TARGET.write_bytes(base64.b64decode(content))


if __name__ == "__main__":
    main()
