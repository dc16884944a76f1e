"""The page of the live view: the robot's surfaces, packed so that a browser can draw them in any posture."""

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.report.drawn_bodies import poses
from dynid.report.rendering import rendered_live
from dynid.report.robot_picture import Surfaces, views_of
from dynid.robot import WORLD, Robot

FACETS = 16
"""Facets around a cylinder: a browser draws all of them many times a second."""

MOST_TRIANGLES = 6_000
"""Triangles of a mesh; of larger ones the convex hull is drawn."""

SCALE = ("#440154", "#443a83", "#31688e", "#21908d", "#35b779", "#8fd744", "#fde725")
"""Colours from not determined to determined (viridis): they get lighter all the way, for all eyes and in print."""

_STEPS = 32767
"""Steps of coordinates from the middle of a link to its border."""


@dataclass(frozen=True, eq=False)
class LiveScene:
    """A robot as the page draws it.

    Attributes:
        robot: The robot.
    """

    robot: Robot

    @property
    def segments(self) -> tuple[int, ...]:
        """Indices of the links that are coloured."""
        return self.robot.solid_links

    @property
    def names(self) -> tuple[str, ...]:
        """Names of these links, in the same order."""
        return tuple(self.robot.links[i].name for i in self.segments)

    def packed(self, posture: Array) -> dict[str, Any]:
        """Plain data for the page: surfaces, the links that they belong to, and where to look from.

        Args:
            posture: Positions, shape (nq,), from which the view is chosen.
        """
        surfaces = Surfaces.of(self.robot, FACETS, MOST_TRIANGLES)
        scene = surfaces.at(posture)
        return {
            "robot": self.robot.name,
            "segments": list(self.names),
            "joints": [joint.name for joint in self.robot.axes],
            "parts": [_part(link, self._segment_of(link), own) for link, own in surfaces.of_links if len(own)],
            "view": views_of(self.robot, scene.points)[""].tolist(),
            "size": float(np.linalg.norm(np.ptp(scene.points, axis=0))),
            "scale": SCALE,
            "up": _up(self.robot),
            "floating": self.robot.has_floating_base,
        }

    def _segment_of(self, link: int) -> int:
        """Which segment a link is, or is on the way to; -1 for what does not move."""
        if link == WORLD:
            return -1
        moved = link
        while moved not in self.segments:  # a step between two joints that move one body
            moved = next((k for k, joint in enumerate(self.robot.joints) if joint.parent == moved), -1)
            if moved < 0:
                return -1
        return self.segments.index(moved)

    def frames(self, posture: Array) -> list[float]:
        """Poses of all links, 12 numbers each: the rows of rotation and translation, to 0.1 mm."""
        return np.round(poses(self.robot, posture)[:, :3].ravel(), 4).tolist()


def _up(robot: Robot) -> list[float]:
    """The direction against gravity, shape (3,)."""
    g = float(np.linalg.norm(robot.gravity))
    return (-robot.gravity / g).tolist() if g else [0.0, 0.0, 1.0]


def _part(link: int, segment: int, own: Array) -> dict[str, Any]:
    """Surfaces of a link: corners in whole steps, and normals in 127 steps."""
    corners, normals = own[:, 0].reshape(-1, 3), own[:, 1].reshape(-1, 3)
    middle = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    step = max(float(np.abs(corners - middle).max()), 1e-9) / _STEPS
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    turned = np.round(127 * normals / np.maximum(lengths, 1e-12)).astype(np.int8)
    return {
        "link": link,
        "segment": segment,
        "middle": middle.tolist(),
        "step": step,
        "corners": _text(np.round((corners - middle) / step).astype("<i2")),
        "normals": _text(turned),
    }


def _text(values: np.ndarray) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")


def live_page(scene: LiveScene, posture: Array, source: str) -> tuple[bytes, str]:
    """The page, and the hashes of the scripts that it may run.

    Args:
        scene: The robot.
        posture: Positions, shape (nq,), from which the view is chosen.
        source: Where samples come from, in words.
    """
    page, hashes = rendered_live(scene=scene.packed(posture), robot=scene.robot.name, source=source)
    return page.encode(errors="replace"), hashes
