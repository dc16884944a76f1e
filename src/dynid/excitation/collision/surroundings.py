"""What stands around a robot: the floor, walls and boxes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, frozen
from dynid.excitation.collision.solids import Solid, solid_of
from dynid.excitation.settings import ExcitationSettings
from dynid.model import joint_poses
from dynid.robot import WORLD, Geometry, Robot, pose, rotation_from_rpy

FLOOR = "floor"
"""Name of the floor."""


@dataclass(frozen=True, eq=False)
class Wall:
    """A plane that the robot stays in front of: all points x with normal . x >= offset.

    Attributes:
        name: Its name.
        normal: Unit normal towards the robot in the world frame, shape (3,).
        offset: Its distance [m] from the origin along the normal.
    """

    name: str
    normal: Array
    offset: float


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What stands around a robot.

    Attributes:
        walls: The floor and walls.
        boxes: Boxes that stand still.
        floor: Why there is no floor, or at which height it is, in words.
    """

    walls: tuple[Wall, ...]
    boxes: tuple[Solid, ...]
    floor: str


def surroundings_of(
    settings: ExcitationSettings, robot: Robot, solids: Sequence[Solid], postures: Array
) -> Surroundings:
    """The surroundings that settings state, and a floor below the base of a standing robot.

    Args:
        settings: The settings.
        robot: The robot.
        solids: Its solids.
        postures: Random postures within its limits, shape (postures, joints).
    """
    height, said = _floor(settings, robot, solids, postures)
    walls = [] if height is None else [Wall(FLOOR, frozen([0.0, 0.0, 1.0]), height)]
    for k, wall in enumerate(settings.wall):
        normal = np.array(wall.normal) / np.linalg.norm(wall.normal)
        walls.append(Wall(wall.name or f"wall {k + 1}", frozen(normal), float(normal @ np.array(wall.point))))
    return Surroundings(tuple(walls), tuple(_boxes(settings)), said)


def _boxes(settings: ExcitationSettings) -> Iterator[Solid]:
    for k, box in enumerate(settings.obstacle):
        at = pose(rotation_from_rpy(*box.rpy), np.array(box.centre))
        solid = solid_of(box.name or f"box {k + 1}", WORLD, np.eye(4), Geometry("box", box.size, frozen(at)))
        assert solid is not None  # sizes are positive
        yield solid


def _floor(
    settings: ExcitationSettings, robot: Robot, solids: Sequence[Solid], postures: Array
) -> tuple[float | None, str]:
    """The height of the floor [m], None without, and what is said of it.

    A robot stands on the floor where its gravity points down the base's z axis, and its first link does not swing below
    the base, as that of a pendulum. The floor goes through the base's
    origin, or below what does not move, where that reaches further down, such as a pedestal.
    """
    if settings.floor is False:
        return None, "no floor, as stated"
    if settings.floor is not None and settings.floor is not True:
        return float(settings.floor), f"floor at {settings.floor:g} m, as stated"
    down = -robot.gravity[2] / max(float(np.linalg.norm(robot.gravity)), 1e-12)
    if robot.has_floating_base and settings.floor is None:
        return None, "no floor: the base floats"
    if down < _UPRIGHT and settings.floor is None:
        return None, "no floor: the robot hangs, or is mounted on a wall"
    lowest = [float(solid.corners[:, 2].min()) for solid in solids if solid.link == WORLD]
    height = min([0.0, *lowest])
    if settings.floor is None and _share_below(robot, solids, postures, height) > _SELDOM:
        return None, "no floor: the first link swings below the base"
    return height, f"floor at {height:.3g} m, below the base"


def _share_below(robot: Robot, solids: Sequence[Solid], postures: Array, height: float) -> float:
    """The share of postures in which a link that the base carries is below a height [m]."""
    rotations, origins = joint_poses(robot, postures)
    below = np.zeros(len(postures), dtype=bool)
    for solid in solids:
        if solid.link != WORLD and robot.joints[solid.link].parent == WORLD:
            z = solid.corners @ rotations[solid.link][:, 2, :].T + origins[solid.link][:, 2]
            below |= z.min(axis=0) < height - _SAME_HEIGHT
    return float(below.mean())


_SAME_HEIGHT, _SELDOM = 0.05, 0.1
"""A robot whose first link is lower than its base by more than this [m], in more than this share of random postures,
does not stand on the floor."""

_UPRIGHT = 0.9
"""Cosine of the angle between gravity and down below which a robot does not stand on the floor."""
