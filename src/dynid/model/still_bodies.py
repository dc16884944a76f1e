"""Where bodies of a floating robot touch what stands still."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import UnknownNameError
from dynid.model.observed import BASE
from dynid.robot import Robot, skew


@dataclass(frozen=True, eq=False)
class StillBody:
    """A body that stands still: all of it, or the point at its origin alone.

    Attributes:
        link: Index of its link.
        point: Where its origin is in the link's joint frame [m], shape (3,).
        is_point: Whether only the origin stands, and the body may turn about it.
    """

    link: int
    point: Array
    is_point: bool

    def rows(self, motions: Array) -> Array:
        """The part of motions (linear; angular) of the link, shape (..., 6, n), that the contact takes away."""
        if not self.is_point:
            return motions
        return motions[..., :3, :] - skew(self.point) @ motions[..., 3:, :]


def place_on_link(robot: Robot, body: str, where: str = "") -> tuple[int, Array]:
    """The link that a body, or `BASE`, belongs to, and its pose in that link's joint frame, shape (4, 4).

    Raises:
        UnknownNameError: If the floating base carries no such body; `where` says what it is for.
    """
    if body == BASE:
        return 0, np.eye(4)
    places = {each.name: (i, each.placement) for i in carried_links(robot) for each in robot.links[i].bodies}
    if body not in places:
        raise UnknownNameError("body", body, places, f" {where}" if where else "")
    return places[body]


def carried_links(robot: Robot) -> list[int]:
    """Indices of the links that move with the first joint, the floating base; a file may hold other trees, too."""
    return [i for i in range(len(robot.links)) if 0 in robot.chain(i)]
