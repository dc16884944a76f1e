"""What the checks of a robot file look at, and the words that they share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from dynid.arrays import Array
from dynid.robot import inertia
from dynid.robot.description import BodyDescription, JointDescription
from dynid.robot.robot import Joint, Link, Robot

Named: TypeAlias = BodyDescription | Joint | Link


@dataclass(frozen=True, eq=False)
class Solid:
    """A body of positive mass, as files state it.

    Attributes:
        body: The body.
        link: The link that it is welded into.
        mass: Mass [kg].
        com: Centre of mass in the body's frame [m], shape (3,).
        at_com: Inertia about the centre of mass [kg m^2], shape (3, 3); exactly zero for a point.
    """

    body: BodyDescription
    link: Link
    mass: float
    com: Array
    at_com: Array

    @cached_property
    def gyration(self) -> float:
        """Largest radius of gyration [m]: so far away, the mass would have the largest principal moment."""
        return math.sqrt(float(np.abs(np.linalg.eigvalsh(self.at_com)).max()) / self.mass)


@dataclass(frozen=True, eq=False)
class Case:
    """What the checks look at.

    Attributes:
        robot: The robot.
        boxes: Box around the geometry [m] of each body whose geometry is all known, shape (2, 3).
    """

    robot: Robot
    boxes: Mapping[str, Array]

    @cached_property
    def owners(self) -> dict[str, Link]:
        """The link that each body is welded into."""
        return {body.name: link for link in (self.robot.base, *self.robot.links) for body in link.bodies}

    @cached_property
    def solids(self) -> tuple[Solid, ...]:
        """The bodies of positive mass."""
        bodies = self.robot.description.bodies
        return tuple(solid for body in bodies if (solid := _solid(body, self.owners[body.name])) is not None)

    @cached_property
    def scale(self) -> float:
        """Longest distance [m] in the robot's placements and to its centres of mass."""
        placed = (*self.robot.description.joints, *self.robot.description.bodies)
        points = [item.placement[:3, 3] for item in placed] + [solid.com for solid in self.solids]
        return float(np.linalg.norm(points, axis=1).max())

    @property
    def one_dof_joints(self) -> tuple[Joint, ...]:
        """The joints with limits of their own."""
        return tuple(joint for joint in self.robot.independent_joints if joint.kind.nv == 1)

    def extent(self, body: BodyDescription) -> float:
        """Longest edge [m] of the box around a body; zero when it is not known."""
        box = self.boxes.get(body.name)
        return 0.0 if box is None else float((box[1] - box[0]).max())


def _solid(body: BodyDescription, link: Link) -> Solid | None:
    if body.inertia is None or body.inertia[0] <= 0.0:
        return None
    mass, com, at_com = inertia.to_mass_com_inertia(body.inertia)
    if np.abs(at_com).max() <= 1e-13 * np.abs(body.inertia[4:]).max():
        at_com = np.zeros((3, 3))  # the remainder is rounding of the way to the frame and back
    return Solid(body, link, mass, com, at_com)


def states_inertia(body: BodyDescription) -> bool:
    """Whether the file gives the body a mass or an inertia other than zero."""
    return body.inertia is not None and bool(body.inertia.any())


def subject(kind: str, items: Sequence[Named]) -> str:
    """What a finding on one or several bodies or joints is about."""
    plural = {"body": "bodies", "joint": "joints"}[kind]
    return f"{kind} '{items[0].name}'" if len(items) == 1 else f"{len(items)} {plural}"


def names(items: Sequence[Named]) -> list[str]:
    """Names of bodies, joints or links."""
    return [item.name for item in items]


def line_of(item: BodyDescription | JointDescription) -> str:
    """Where the file defines it, when known."""
    return "" if item.line is None else f" (line {item.line})"
