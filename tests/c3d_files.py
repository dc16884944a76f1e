"""C3D files of captures, written with ezc3d: plates of types 1 to 4, units, axes and labels as asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ezc3d
import numpy as np

from dynid import Capture, ForcePlate
from dynid.arrays import Array

DEPTH = 0.041
"""How far the sensors of a plate are below its surface [m]."""

HALF = (0.12, 0.2)
"""Half distances of the sensors of a plate of type 3 [m]."""

MATRIX = np.diag([500.0, 510.0, 1000.0, 300.0, 250.0, 150.0]) + 0.7 * np.arange(36.0).reshape(6, 6) / 36.0
"""A calibration matrix with crosstalk: newtons and newton metres by volts."""


def write_c3d(
    path: Path,
    capture: Capture,
    *,
    unit: str = "mm",
    kind: int = 2,
    reaction: bool = True,
    prefix: str = "",
    up: str = "z",
    extra: Mapping[str, Any] | None = None,
    analog_units: Sequence[str] | None = None,
    written_unit: str | None = None,
) -> Path:
    """Write a capture as a C3D file.

    Args:
        path: The file.
        capture: The capture, in a world whose z axis points upward.
        unit: Unit that lengths are written in, "m" or "mm".
        kind: Type of the plates, 1 to 4.
        reaction: Whether channels are what the plate exerts; else what the body does.
        prefix: What stands before each label.
        up: "z", or "y" for a laboratory whose y axis points upward.
        extra: Other parameters, as "GROUP:NAME": value.
        analog_units: Units of the channels as the file states them.
        written_unit: The unit that the file states, if not the true one.
    """
    file: Any = ezc3d.c3d()
    scale = {"m": 1.0, "mm": 1000.0}[unit]
    R = np.eye(3) if up == "z" else np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    rate = 1.0 / float(np.median(np.diff(capture.time)))
    point = file["parameters"]["POINT"]
    point["RATE"]["value"], point["LABELS"]["value"] = [rate], [prefix + name for name in capture.names]
    point["UNITS"]["value"] = [written_unit or unit]
    places = np.ones((4, len(capture.names), len(capture)))
    places[:3] = scale * (capture.markers @ R.T).transpose(2, 1, 0)
    file["data"]["points"] = places
    lost = ~np.isfinite(capture.markers).all(axis=2)
    file["data"]["meta_points"] = {"residuals": np.where(lost.T, -1.0, 0.0)[None]}
    if capture.plates:
        _add_plates(file, capture, scale, kind, 1.0 if reaction else -1.0, R, analog_units)
    _set(file, "POINT", "X_SCREEN", ["+X"])
    _set(file, "POINT", "Y_SCREEN", ["+" + up.upper()])
    for name, value in (extra or {}).items():
        group, _, own = name.partition(":")
        if value is None:
            del file["parameters"][group][own]
        else:
            _set(file, group, own, value)
    file.write(str(path))
    return path


def channels_of(plate: ForcePlate, kind: int, scale: float) -> tuple[Array, Array]:
    """Channels of a plate, shape (samples, channels), and its ORIGIN, in newtons and a unit of lengths."""
    force, moment = plate.wrench[:, :3], plate.wrench[:, 3:]
    origin = np.array([0.003, -0.002, -DEPTH])
    at_sensors = moment + np.cross(origin, force)
    if kind == 1:
        fx, fy, fz = force.T
        px, py = -moment[:, 1] / fz, moment[:, 0] / fz
        free = moment[:, 2] - (px * fy - py * fx)
        return np.column_stack([force, scale * px, scale * py, scale * free]), scale * np.array([0.0, 0.0, -DEPTH])
    if kind == 3:
        a, b = HALF
        origin = np.array([a, b, -DEPTH])
        mx, my, mz = (moment + np.cross([0.0, 0.0, -DEPTH], force)).T
        fx, fy, fz = force.T
        # Four equations for four vertical forces, two times two for the horizontal ones; the rest is divided evenly.
        z = np.linalg.solve(
            [[1, 1, 1, 1], [b, b, -b, -b], [-a, a, a, -a], [1, -1, 1, -1]], np.stack([fz, mx, my, 0 * fz])
        )
        x12, x34 = 0.5 * (fx - 0.5 * mz / b), 0.5 * (fx + 0.5 * mz / b)
        y14, y23 = 0.5 * (fy + 0.5 * mz / a), 0.5 * (fy - 0.5 * mz / a)
        return np.column_stack([x12, x34, y14, y23, *z]), scale * origin
    six = np.hstack([force, scale * at_sensors])
    if kind == 4:
        unit = np.diag([1.0, 1.0, 1.0, scale, scale, scale])
        return six @ np.linalg.inv(unit @ MATRIX).T, scale * origin
    return six, scale * origin


INTEGERS = ("USED", "TYPE", "ZERO", "CHANNEL")
"""Parameters of FORCE_PLATFORM that are integers; `add_parameter` makes all numbers real."""


def _set(file: Any, group: str, name: str, value: Any) -> None:
    """Set a parameter."""
    file.add_parameter(group, name, value)
    if group == "FORCE_PLATFORM" and name in INTEGERS:
        file["parameters"][group][name] |= {"type": ezc3d.ezc3d.INT, "value": np.array(value, dtype=int)}
    elif group == "FORCE_PLATFORM":
        file["parameters"][group][name] |= {"type": ezc3d.ezc3d.FLOAT, "value": np.array(value, dtype=float)}


def _add_plates(
    file: Any, capture: Capture, scale: float, kind: int, sign: float, R: Array, units: Sequence[str] | None
) -> None:
    """Force plates with their channels and parameters."""
    begin = [int(np.searchsorted(plate.time, capture.time[0] - 1e-9)) for plate in capture.plates]
    found = [channels_of(plate, kind, scale) for plate in capture.plates]
    found = [(x[k:], origin) for (x, origin), k in zip(found, begin, strict=True)]  # files begin at zero
    width = found[0][0].shape[1]
    ratio = round((1.0 / np.median(np.diff(capture.plates[0].time))) * np.median(np.diff(capture.time)))
    samples = ratio * len(capture)
    channels = [sign * x if kind != 1 else np.hstack([sign * x[:, :3], x[:, 3:5], sign * x[:, 5:]]) for x, _ in found]
    analogs = np.hstack([np.pad(x, ((0, max(0, samples - len(x))), (0, 0)), mode="edge")[:samples] for x in channels])
    file["data"]["analogs"] = analogs.T[None]
    analog = file["parameters"]["ANALOG"]
    labels = {3: ["Fx12", "Fx34", "Fy14", "Fy23", "Fz1", "Fz2", "Fz3", "Fz4"], 1: ["Fx", "Fy", "Fz", "Px", "Py", "Mz"]}
    own = labels.get(kind, ["Fx", "Fy", "Fz", "Mx", "My", "Mz"])
    analog["RATE"]["value"] = [ratio / float(np.median(np.diff(capture.time)))]
    analog["LABELS"]["value"] = [f"{name}{k + 1}" for k in range(len(found)) for name in own]
    analog["UNITS"]["value"] = list(units or ["N"] * analogs.shape[1])
    count = len(found)
    _set(file, "FORCE_PLATFORM", "USED", [count])
    _set(file, "FORCE_PLATFORM", "TYPE", [kind] * count)
    _set(file, "FORCE_PLATFORM", "ZERO", [0, 0])
    _set(file, "FORCE_PLATFORM", "ORIGIN", np.column_stack([origin for _, origin in found]))
    known = [plate.corners for plate in capture.plates if plate.corners is not None]
    corners = np.stack([scale * (each @ R.T).T for each in known], axis=2)
    _set(file, "FORCE_PLATFORM", "CORNERS", corners)
    _set(file, "FORCE_PLATFORM", "CHANNEL", np.arange(1.0, 1.0 + count * width).reshape(count, width).T)
    if kind == 4:
        unit = np.diag([1.0, 1.0, 1.0, scale, scale, scale])
        _set(file, "FORCE_PLATFORM", "CAL_MATRIX", np.stack([unit @ MATRIX] * count, axis=2))
