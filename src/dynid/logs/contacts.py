"""Where a robot touches its surroundings: contacts with their wrenches, and the body that it stands on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError

CONTACT = "contact "
"""What roles of wrenches in files begin with; the number of the contact follows."""

FORCES = 3
"""Channels of a sensor of forces alone, at a foot that is a point."""

WRENCH = 6
"""Channels of a force-torque sensor: three forces, then three torques."""


@dataclass(frozen=True, eq=False)
class Contact:
    """A body that the surroundings act on, and the wrench with which they do.

    Attributes:
        body: Name of the body in the robot's file.
        wrench: What the surroundings exert on the robot: forces [N], then torques [N m], along the axes of the body and
            about its origin, shape (samples, 6); forces alone at a foot that is a point, shape (samples, 3). None where
            it was not measured: the rows of the dynamics that it acts on then do not count.
        pose: Pose in the world of a force plate, whose axes and origin the wrench is along and about instead, shape
            (4, 4); None for a sensor in the body.

    >>> Contact("left_foot", [[0.0, 0.0, 300.0]]).wrench.tolist()
    [[0.0, 0.0, 300.0, 0.0, 0.0, 0.0]]
    """

    body: str
    wrench: Array | None = None
    pose: Array | None = None

    def __post_init__(self) -> None:
        if self.wrench is not None:
            given = np.asarray(self.wrench, dtype=np.float64)
            if given.ndim != 2 or given.shape[1] not in (FORCES, WRENCH):
                raise ShapeError(f"the wrench on '{self.body}'", f"(samples, {WRENCH})", given.shape)
            if not np.isfinite(given).all():
                at = int(np.flatnonzero(~np.isfinite(given).all(axis=1))[0])
                raise InvalidRequestError(
                    f"the wrench on '{self.body}' is NaN or infinite in sample {at}; cut the log there, or leave the "
                    "wrench out where it was not measured"
                )
            wrench = given if given.shape[1] == WRENCH else np.hstack([given, np.zeros_like(given)])
            object.__setattr__(self, "wrench", frozen(wrench))
        if self.pose is not None:
            object.__setattr__(self, "pose", checked_pose(self.pose, f"the plate under '{self.body}'"))

    def changed(self, change: Callable[[Array], Array]) -> Contact:
        """The contact with another wrench, such as some of the samples."""
        return self if self.wrench is None else replace(self, wrench=change(self.wrench))


@dataclass(frozen=True, eq=False)
class Stance:
    """A body that rests on the ground, so that the pose of the base follows from the positions of the joints.

    Attributes:
        body: Name of the body in the robot's file.
        pose: Its pose in the world, shape (4, 4); None for the pose that it has, up to the place, where all joints of
            the file are at zero and the base stands upright: soles are level there.
    """

    body: str
    pose: Array | None = None

    def __post_init__(self) -> None:
        if self.pose is not None:
            object.__setattr__(self, "pose", checked_pose(self.pose, f"'{self.body}'"))


def checked_pose(pose: object, what: str) -> Array:
    """A pose as an array, shape (4, 4).

    Raises:
        ShapeError: If it has another shape.
        InvalidRequestError: If it is no rotation and translation.
    """
    T = np.asarray(pose, dtype=np.float64)
    if T.shape != (4, 4):
        raise ShapeError(f"the pose of {what}", "(4, 4)", T.shape)
    R = T[:3, :3]
    is_rotation = np.allclose(R @ R.T, np.eye(3), atol=1e-6) and np.linalg.det(R) > 0.0
    if not (is_rotation and np.allclose(T[3], [0.0, 0.0, 0.0, 1.0])):
        raise InvalidRequestError(
            f"the pose of {what} is no rotation with a translation: its first three rows and columns must be "
            "orthogonal with determinant 1, and its last row 0 0 0 1"
        )
    return frozen(T)
