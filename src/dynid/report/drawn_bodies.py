"""What is drawn of each link: the shapes of its file, or capsules between joints where it has none that can be read."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.model import joint_poses
from dynid.robot import WORLD, Robot, capsules_along, pose

MESHES = (".stl", ".obj", ".ply", ".glb", ".gltf", ".dae")
"""Mesh files that viewers read."""


@dataclass(frozen=True, eq=False)
class Shape:
    """Something solid on a link.

    Attributes:
        link: Index of the link; `WORLD` for what stands still.
        kind: "box", "sphere", "cylinder", "capsule" or "mesh".
        size: As `description.Geometry.size`.
        placement: Its frame in the joint frame of the link, shape (4, 4).
        mesh: The mesh file.
    """

    link: int
    kind: str
    size: tuple[float, ...]
    placement: Array
    mesh: Path | None = None


def shapes(robot: Robot, meshes: Collection[str] = MESHES) -> list[Shape]:
    """What to draw: the file's shapes for links that have any, capsules for the others.

    Args:
        robot: The robot.
        meshes: Endings of mesh files that can be read.
    """
    found = []
    for index, link in [(WORLD, robot.base), *enumerate(robot.links)]:
        own = [
            Shape(index, geometry.shape, geometry.size, body.placement @ geometry.placement, geometry.mesh)
            for body in link.bodies
            for geometry in body.geometry
            if geometry.shape != "mesh" or (geometry.mesh is not None and geometry.mesh.suffix.lower() in meshes)
        ]
        found += own or capsules(robot, index)
    return found


def capsules(robot: Robot, link: int) -> list[Shape]:
    """Capsules along a link."""
    return [Shape(link, one.shape, one.size, one.placement) for one in capsules_along(robot, link)]


def poses(robot: Robot, q: Array) -> Array:
    """Poses of all joint frames in the world, shape (joints, 4, 4), at positions of shape (nq,)."""
    rotations, origins = joint_poses(robot, q[None, :])
    return np.array([pose(R, p) for R, p in zip(rotations[:, 0], origins[:, 0], strict=True)])


def quaternion(R: Array) -> Array:
    """Unit quaternion (w, x, y, z) of a rotation (3, 3), w not negative."""
    from scipy.spatial.transform import Rotation

    return np.roll(Rotation.from_matrix(R).as_quat(canonical=True), 1)
