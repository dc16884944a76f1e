"""Which axis of a capture points upward, and the turn that makes it z."""

import re
import warnings
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.captures import CaptureParts, ForcePlate
from dynid.robot import pose

AXES = ("+x", "-x", "+y", "-y", "+z", "-z")
"""Axes that may point upward."""

LOW = re.compile(r"(hee|heel|toe|ank|ankle|foot|feet|met\d|calc|mt\d)[a-z0-9]*$", re.IGNORECASE)
HIGH = re.compile(
    r"([lr]?asi|[lr]?psi|asis|psis|sho|shoulder|acr|head|[lr][fb]hd|c7|clav|strn|pelvis|sacr)$", re.IGNORECASE
)
"""Labels of markers on feet, and of markers from the pelvis upward."""


@dataclass(frozen=True)
class CaptureAxesThresholds:
    """When the data say which axis points upward."""

    level: float = 0.9
    """Cosine of the angle between the normal of a plate and an axis from which the plate is level: 26 degrees.
    By judgement."""

    height: float = 0.25
    """Distance [m] of markers from the pelvis upward above those of feet, along the axis, that says so: of somebody who
    lies on the ground it is less, and nothing is said. By judgement."""

    share: float = 0.6
    """Part of that distance that must be along the axis. By judgement."""


THRESHOLDS = CaptureAxesThresholds()


def upright(parts: CaptureParts, up: str | None = None, usual: str = "+z") -> CaptureParts:
    """The same capture in a frame whose z axis points upward.

    Args:
        parts: What was read.
        up: The axis that points upward, where it is known.
        usual: That of such files, where nothing says more.
    """
    seen, why = _seen(parts)
    findings, subject = [], parts.path.name
    axis = up or parts.up or seen or usual
    if not up and parts.up and seen and seen != parts.up:
        findings.append(Finding.of("capture-axes-disagree", subject, stated=parts.up, seen=seen, reason=why))
        axis = seen
    elif not up and not parts.up and (seen or usual) != "+z":
        findings.append(
            Finding.of("capture-up-guessed", subject, axis=axis, reason=why or "such files usually have it so")
        )
    if axis == "+z":
        return replace(parts, findings=(*parts.findings, *findings))
    R = turn(axis)
    findings.append(Finding.of("capture-turned", subject, axis=axis))
    return replace(
        parts,
        markers=parts.markers @ R.T,
        plates=tuple(turned(plate, R) for plate in parts.plates),
        up="+z",
        findings=(*parts.findings, *findings),
    )


def turn(axis: str) -> Array:
    """The rotation, (3, 3), that brings an axis upward, about another axis where one turn is enough.

    >>> turn("+y") @ np.array([0.0, 1.0, 0.0])
    array([0., 0., 1.])
    """
    sign = -1.0 if axis.startswith("-") else 1.0
    match axis[-1]:
        case "x":  # about y
            return np.array([[0.0, 0.0, -sign], [0.0, 1.0, 0.0], [sign, 0.0, 0.0]])
        case "y":  # about x
            return np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -sign], [0.0, sign, 0.0]])
    return np.eye(3) if sign > 0.0 else np.diag([1.0, -1.0, -1.0])


def turned(plate: ForcePlate, R: Array) -> ForcePlate:
    """A plate in a turned world; its wrench is along its own axes, of which z is normal to its surface."""
    if plate.corners is None:  # along the axes of the world
        return replace(plate, wrench=plate.wrench @ np.kron(np.eye(2), R.T))
    return replace(plate, pose=pose(R) @ plate.pose, corners=plate.corners @ R.T)


def _seen(parts: CaptureParts) -> tuple[str, str]:
    """The axis that points upward by plates and markers, and why; empty where they do not say."""
    places = np.nanmedian(parts.markers.reshape(-1, 3), axis=0) if np.isfinite(parts.markers).any() else np.zeros(3)
    votes = [_axis(_above(plate, places), THRESHOLDS.level) for plate in parts.plates if plate.corners is not None]
    if votes and votes[0] and len(set(votes)) == 1:
        return votes[0], "markers are on that side of the force plates"
    return _by_labels(parts.labels, parts.markers)


def _above(plate: ForcePlate, places: Array) -> Array:
    """The normal of a plate [1], on the side where the markers are."""
    normal = plate.pose[:3, 2]
    return normal * (1.0 if float(normal @ (places - plate.pose[:3, 3])) > 0.0 else -1.0)


def _by_labels(labels: tuple[str, ...], markers: Array) -> tuple[str, str]:
    """The axis that points from feet to pelvis and head."""
    low = [k for k, label in enumerate(labels) if LOW.search(label)]
    high = [k for k, label in enumerate(labels) if HIGH.search(label)]
    if not low or not high:
        return "", ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # samples without these markers
        way = np.nanmedian(np.nanmean(markers[:, high], axis=1) - np.nanmean(markers[:, low], axis=1), axis=0)
    length = float(np.linalg.norm(way))
    if not length > THRESHOLDS.height:
        return "", ""
    return _axis(way / length, THRESHOLDS.share), f"markers of pelvis and head are {length:.2g} m above those of feet"


def _axis(direction: Array, share: float) -> str:
    """The axis that a direction nearly is; empty for none."""
    k = int(np.argmax(np.abs(direction)))
    return ("+" if direction[k] > 0.0 else "-") + "xyz"[k] if abs(direction[k]) > share else ""
