"""A capture: what cameras saw of markers, and what force plates measured meanwhile, in SI units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Flags, frozen
from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.findings import Finding
from dynid.logs.contacts import WRENCH, as_numbers, checked_pose


@dataclass(frozen=True, eq=False, repr=False)
class ForcePlate:
    """A force plate in the ground.

    Attributes:
        name: What it is called in reports.
        time: Time stamps [s] on the clock of the capture, shape (samples,); plates are sampled faster than markers.
        wrench: What the plate exerts on the body: forces [N], then torques [N m], along the axes of `pose` and about
            its origin, shape (samples, 6).
        pose: Pose of its frame in the world, shape (4, 4).
        corners: Corners of its surface in the world [m], one after the other around it, shape (4, 3); None where
            nobody says where they are.

    >>> square = [[0.0, 0.0, 0.0], [0.4, 0.0, 0.0], [0.4, 0.6, 0.0], [0.0, 0.6, 0.0]]
    >>> ForcePlate("plate 1", [0.0, 0.001], [[0.0, 0.0, 700.0, 0.0, 0.0, 0.0]] * 2, np.eye(4), square)
    ForcePlate 'plate 1': 2 samples in 0.001 s (1000 Hz), 0.4 m by 0.6 m
    """

    name: str
    time: Array
    wrench: Array
    pose: Array
    corners: Array | None = None

    def __post_init__(self) -> None:
        what = f"force plate '{self.name}'"
        time = checked_time(self.time, what)
        wrench = as_numbers(self.wrench, f"the wrench of {what}")
        if wrench.shape != (len(time), WRENCH):
            raise ShapeError(f"the wrench of {what}", f"({len(time)}, {WRENCH})", wrench.shape)
        checked = [(wrench, "the wrench")]
        if self.corners is not None:
            corners = as_numbers(self.corners, f"the corners of {what}")
            if corners.shape != (4, 3):
                raise ShapeError(f"the corners of {what}", "(4, 3)", corners.shape)
            checked.append((corners, "the corners"))
            object.__setattr__(self, "corners", frozen(corners))
        for values, part in checked:
            if not np.isfinite(values).all():
                at = np.argwhere(~np.isfinite(values))[0, 0]
                raise InvalidRequestError(f"{part} of {what} holds NaN or infinite numbers, the first in row {at}")
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "wrench", frozen(wrench))
        object.__setattr__(self, "pose", checked_pose(self.pose, what))

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        edges = [] if self.corners is None else np.linalg.norm(np.diff(self.corners[:3], axis=0), axis=1).tolist()
        size = f", {edges[0]:.3g} m by {edges[1]:.3g} m" if edges else ""
        return f"ForcePlate '{self.name}': {sampling(self.time)}{size}"


@dataclass(frozen=True, eq=False, repr=False)
class Capture:
    """Markers that were seen, and the force plates beside them, in a world frame whose z axis points upward.

    Attributes:
        time: Time stamps [s], shape (samples,).
        markers: Where the markers were [m], shape (samples, markers, 3); NaN where one was not seen.
        names: Names of the markers.
        plates: The force plates.
        name: What the capture is called in reports.
        source: The files it was read from.
        findings: What was noticed while it was read.

    Raises:
        ShapeError: If the arrays do not fit each other.
        InvalidRequestError: If time stamps do not increase, or a number is infinite.

    >>> capture = Capture([0.0, 0.01, 0.02], np.zeros((3, 2, 3)), ("LASI", "RASI"))
    >>> capture
    Capture: 3 samples in 0.02 s (100 Hz), 2 markers
    >>> capture.marker("RASI").shape
    (3, 3)
    """

    time: Array
    markers: Array
    names: Sequence[str]
    plates: Sequence[ForcePlate] = ()
    name: str = ""
    source: tuple[Path, ...] = ()
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        time = checked_time(self.time, "a capture")
        markers = as_numbers(self.markers, "the markers of a capture")
        names, plates = tuple(self.names), tuple(self.plates)
        if markers.shape != (len(time), len(names), 3):
            raise ShapeError("the markers of a capture", f"({len(time)}, {len(names)}, 3)", markers.shape)
        if np.isinf(markers).any():
            raise InvalidRequestError(f"marker '{names[np.argwhere(np.isinf(markers))[0, 1]]}' is infinitely far away")
        twice = [name for k, name in enumerate(names) if name in names[:k]]
        if twice:
            raise InvalidRequestError(f"a capture has two markers called '{twice[0]}'; give each its own name")
        for plate in plates:
            if not isinstance(plate, ForcePlate):
                raise InvalidRequestError(f"plates must be dynid.ForcePlate objects, not {plate!r:.60}")
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "markers", frozen(markers))
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "plates", plates)

    def __len__(self) -> int:
        return len(self.time)

    @property
    def is_seen(self) -> Flags:
        """Which markers were seen when, shape (samples, markers)."""
        return np.asarray(np.isfinite(self.markers).all(axis=2))

    def marker(self, name: str) -> Array:
        """Where a marker was [m], shape (samples, 3); NaN where it was not seen.

        Raises:
            UnknownNameError: If there is no such marker.
        """
        if name not in self.names:
            raise UnknownNameError("marker", name, self.names)
        return self.markers[:, self.names.index(name)]

    def at(self, rows: slice | np.ndarray) -> Capture:
        """Some of the samples of the markers: a slice, indices, or a mask; plates stay whole."""
        return replace(self, time=self.time[rows], markers=self.markers[rows])

    def __repr__(self) -> str:
        name = f" '{self.name}'" if self.name else ""
        several = "" if len(self.plates) == 1 else "s"
        plates = f", {len(self.plates)} force plate{several}" if self.plates else ""
        return f"Capture{name}: {sampling(self.time)}, {len(self.names)} markers{plates}"


@dataclass(frozen=True, eq=False)
class CaptureParts:
    """A capture as its file has it: along its own axes, with its own labels, and nothing mended.

    Attributes:
        time: Time stamps of the markers [s], shape (samples,).
        markers: Where they were [m] if the stated unit is right, shape (samples, markers, 3); NaN where one was not
            seen.
        labels: Labels of the markers, with prefixes.
        path: The file.
        plates: The force plates, with the signs of the file.
        up: The axis that points upward, such as "+z"; empty where the file does not state it.
        unit: The unit of lengths that the file states; empty where it states none.
        findings: What was noticed.
        zero: The stretch [s] in which plates are said to be unloaded; None where none is stated.
    """

    time: Array
    markers: Array
    labels: tuple[str, ...]
    path: Path
    plates: tuple[ForcePlate, ...] = ()
    up: str = ""
    unit: str = ""
    findings: tuple[Finding, ...] = ()
    zero: tuple[float, float] | None = None


def checked_time(time: object, what: str) -> Array:
    """Time stamps [s] as an array, shape (samples,).

    Raises:
        ShapeError: If they are no list of numbers.
        InvalidRequestError: If there are none, or they do not increase.
    """
    stamps = as_numbers(time, f"the time of {what}")
    if stamps.ndim != 1:
        raise ShapeError(f"the time of {what}", "(samples,)", stamps.shape)
    if not len(stamps):
        raise InvalidRequestError(f"{what} needs samples, and this one has none")
    backward = np.flatnonzero(~(np.diff(stamps) > 0.0)) if np.isfinite(stamps).all() else np.array([0])
    if len(backward):
        at = int(backward[0]) + 1
        raise InvalidRequestError(f"the time of {what} does not increase at sample {at}; sort or remove such samples")
    return frozen(stamps)


def sampling(time: Array) -> str:
    """How many samples there are, how long and how fast, in words."""
    length = float(time[-1] - time[0])
    rate = f" ({(len(time) - 1) / length:.4g} Hz)" if length > 0.0 else ""
    return f"{len(time)} samples in {length:.4g} s{rate}"
