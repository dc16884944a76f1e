"""Where a robot touches its surroundings: contacts with their wrenches, and the body that it stands on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
        require_name(self.body, "a contact")
        if self.wrench is not None:
            given = as_numbers(self.wrench, f"the wrench on '{self.body}'")
            if given.ndim != 2 or given.shape[1] not in (FORCES, WRENCH):
                raise ShapeError(f"the wrench on '{self.body}'", f"(samples, {WRENCH})", given.shape)
            wrench = given if given.shape[1] == WRENCH else np.hstack([given, np.zeros_like(given)])
            object.__setattr__(self, "wrench", frozen(wrench))
        if self.pose is not None:
            object.__setattr__(self, "pose", checked_pose(self.pose, f"the plate under '{self.body}'"))

    def require_samples(self, count: int) -> None:
        """Refuse a wrench that has another number of samples than its log, or holes.

        Raises:
            ShapeError: If it has another number.
            InvalidRequestError: If numbers are NaN or infinite.
        """
        if self.wrench is None:
            return
        if len(self.wrench) != count:
            raise ShapeError(f"the wrench on '{self.body}'", f"({count}, {WRENCH})", self.wrench.shape)
        holes = np.flatnonzero(~np.isfinite(self.wrench).all(axis=1))
        if len(holes):
            raise InvalidRequestError(
                f"the wrench on '{self.body}' is NaN or infinite in sample {holes[0]}; give it as Log.with_gaps(...), "
                "which fills short gaps, or leave it out where it was not measured"
            )

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
        require_name(self.body, "a stance")
        if self.pose is not None:
            object.__setattr__(self, "pose", checked_pose(self.pose, f"'{self.body}'"))

    @staticmethod
    def several(stated: object) -> tuple[Stance, ...]:
        """Bodies that rest, of what users write: one or several, each by name or as a `Stance`.

        Raises:
            InvalidRequestError: If it is something else.
        """
        found = []
        for part in stated if isinstance(stated, list | tuple) else (stated,):
            if not isinstance(part, Stance | str):
                raise InvalidRequestError(
                    f"stance is the name of a body, a dynid.Stance(body, pose) or a list of these, not {part!r:.60}"
                )
            found.append(Stance(part) if isinstance(part, str) else part)
        return tuple(found)


def contacts_of(stated: object) -> tuple[Contact, ...]:
    """Contacts, of what users write: one, or several.

    Raises:
        InvalidRequestError: If it is something else.
    """
    parts = (stated,) if isinstance(stated, Contact) else stated
    if not isinstance(parts, Iterable) or isinstance(parts, str):
        raise InvalidRequestError(f"contacts must be a list of dynid.Contact objects, not {stated!r:.60}")
    found = tuple(parts)
    for part in found:
        if not isinstance(part, Contact):
            raise InvalidRequestError(f"contacts must be dynid.Contact objects, not {part!r:.60}")
    return found


def require_name(body: object, what: str) -> None:
    """Refuse what is no name of a body.

    Raises:
        InvalidRequestError: If it is none.
    """
    if not isinstance(body, str):
        raise InvalidRequestError(f"the body of {what} is a name of the robot's file, not {body!r:.60}")


def as_numbers(values: object, what: str) -> Array:
    """Something like an array as one of numbers.

    Raises:
        InvalidRequestError: If it holds something else.
    """
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidRequestError(f"{what} must be an array of numbers: {error}") from error


def checked_pose(pose: object, what: str) -> Array:
    """A pose as an array, shape (4, 4).

    Raises:
        ShapeError: If it has another shape.
        InvalidRequestError: If it is no rotation and translation.
    """
    T = as_numbers(pose, f"the pose of {what}")
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
