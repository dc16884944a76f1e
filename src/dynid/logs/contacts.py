"""Where a robot touches its surroundings: contacts with their wrenches, and the body that it stands on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.robot import CHANNELS

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
        channels: Names of the channels that were measured, where these are not all six ("Fx", "Fy", "Fz", "Tx", "Ty",
            "Tz"). The wrench may have only their columns then, in this order. Rows of the dynamics that others act on
            do not count.

    >>> Contact("left_foot", [[0.0, 0.0, 300.0]]).wrench.tolist()
    [[0.0, 0.0, 300.0, 0.0, 0.0, 0.0]]
    """

    body: str
    wrench: Array | None = None
    pose: Array | None = None
    channels: Sequence[str] = CHANNELS

    def __post_init__(self) -> None:
        require_name(self.body, "a contact")
        object.__setattr__(self, "channels", _channels(self.channels))
        if self.wrench is not None:
            given = as_numbers(self.wrench, f"the wrench on '{self.body}'")
            if self.is_in_part and given.ndim == 2 and given.shape[1] == len(self.channels):
                whole = np.zeros((len(given), WRENCH))
                whole[:, [CHANNELS.index(name) for name in self.channels]] = given
                given = whole
            if given.ndim != 2 or given.shape[1] not in (FORCES, WRENCH):
                raise ShapeError(f"the wrench on '{self.body}'", f"(samples, {WRENCH})", given.shape)
            wrench = given if given.shape[1] == WRENCH else np.hstack([given, np.zeros_like(given)])
            object.__setattr__(self, "wrench", frozen(wrench))
        if self.pose is not None:
            object.__setattr__(self, "pose", checked_pose(self.pose, f"the plate under '{self.body}'"))

    @staticmethod
    def of_pressure(body: str, force: object, centre: object, pose: object = None) -> Contact:
        """The contact of a balance board, which measures the vertical force and where its centre of pressure is.

        Args:
            body: Name of the body in the robot's file that stands on it.
            force: Force along z of the board's frame on the robot [N], shape (samples,).
            centre: Centre of pressure, x and y in that frame [m], shape (samples, 2).
            pose: Pose of the board's frame in the world, shape (4, 4); that of the body when None.

        >>> Contact.of_pressure("feet", [700.0], [[0.1, 0.02]]).wrench.tolist()
        [[0.0, 0.0, 700.0, 14.0, -70.0, 0.0]]
        """
        push, at = as_numbers(force, "the force of a board"), as_numbers(centre, "the centre of pressure")
        if at.shape != (len(push), 2) or push.ndim != 1:
            raise ShapeError("the centre of pressure", f"({len(push)}, 2)", at.shape)
        wrench = np.stack([push, at[:, 1] * push, -at[:, 0] * push], axis=1)
        return Contact(body, wrench, pose, channels=("Fz", "Tx", "Ty"))  # type: ignore[arg-type]

    @property
    def is_in_part(self) -> bool:
        """Whether some channels were not measured."""
        return len(self.channels) < WRENCH

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


def _channels(stated: object) -> tuple[str, ...]:
    """Names of channels, in the order of a wrench where all are there.

    Raises:
        InvalidRequestError: If they are no names, none, or one stands twice.
        UnknownNameError: If one does not exist.
    """
    if isinstance(stated, str) or not isinstance(stated, Iterable):
        raise InvalidRequestError(f"channels are names, such as ('Fz', 'Tx', 'Ty'), not {stated!r:.60}")
    names = tuple(stated)
    for name in names:
        if name not in CHANNELS:
            raise UnknownNameError("channel of a wrench", str(name), CHANNELS)
    if not names or len(set(names)) < len(names):
        raise InvalidRequestError("channels name each channel that was measured once, and at least one")
    return CHANNELS if set(names) == set(CHANNELS) else names


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
