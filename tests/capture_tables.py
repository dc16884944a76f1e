"""Captures as tables: CSV with one header, TRC and MOT, and as Motive, Nexus and Qualisys export them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from dynid import Capture
from dynid.arrays import Array

AXES = ("x", "y", "z")

Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""Turns a world whose z axis points upward into one whose y axis does."""


def _rows(values: Iterable[Array], mark: str, digits: int = 9) -> list[str]:
    """Lines of numbers; empty fields where there are none."""
    return [mark.join("" if np.isnan(x) else f"{x:.{digits}g}" for x in row) for row in values]


def plate_columns(capture: Capture, time: Array) -> list[tuple[Array, Array, Array]]:
    """Force, centre of pressure and free moment of each plate in the world at some times, (samples, 3) each."""
    found = []
    for plate in capture.plates:
        R, p = plate.pose[:3, :3], plate.pose[:3, 3]
        wrench = np.column_stack([np.interp(time, plate.time, column) for column in plate.wrench.T])
        force, about = wrench[:, :3] @ R.T, wrench[:, 3:] @ R.T
        about += np.cross(p, force)
        fz = np.where(np.abs(force[:, 2]) > 5.0, force[:, 2], np.inf)
        at = np.column_stack([-about[:, 1] / fz, about[:, 0] / fz, np.zeros(len(fz))])
        found.append((force, at, about - np.cross(at, force)))
    return found


def csv(path: Path, capture: Capture, unit: str = "m", shown: str | None = None, mark: str = ",") -> Path:
    """One header: LASI_x, and wrenches about the origin as plate1_Fx, at the markers' times."""
    scale = {"m": 1.0, "mm": 1000.0}[unit]
    ending = f" [{unit}]" if shown is None else shown
    names = ["time [s]", *(f"{name}_{axis}{ending}" for name in capture.names for axis in AXES)]
    columns = [capture.time[:, None], scale * capture.markers.reshape(len(capture), -1)]
    for k, (force, at, free) in enumerate(plate_columns(capture, capture.time), start=1):
        names += [f"plate{k}_{part}{axis}" for part in "FM" for axis in AXES]
        columns += [force, free + np.cross(at, force)]
    path.write_text("\n".join([mark.join(names), *_rows(np.hstack(columns), mark)]) + "\n")
    return path


def trc(path: Path, capture: Capture, unit: str = "mm") -> Path:
    """TRC with the y axis upward, as OpenSim has it."""
    scale, count = {"m": 1.0, "mm": 1000.0}[unit], len(capture)
    rate = f"{1.0 / np.median(np.diff(capture.time)):.6g}"
    keys = [
        "DataRate",
        "CameraRate",
        "NumFrames",
        "NumMarkers",
        "Units",
        "OrigDataRate",
        "OrigDataStartFrame",
        "OrigNumFrames",
    ]
    stated = [rate, rate, str(count), str(len(capture.names)), unit, rate, "1", str(count)]
    head = [["PathFileType", "4", "(X/Y/Z)", path.name], keys, stated]
    head.append(["Frame#", "Time", *(text for name in capture.names for text in (name, "", ""))])
    head.append(["", "", *(f"{axis}{k + 1}" for k in range(len(capture.names)) for axis in "XYZ")])
    places = scale * (capture.markers @ Y_UP.T).reshape(count, -1)
    values = np.column_stack([np.arange(1.0, count + 1), capture.time, places])
    path.write_text("\n".join([*("\t".join(row) for row in head), "", *_rows(values, "\t")]) + "\n")
    return path


def mot(path: Path, capture: Capture) -> Path:
    """Forces with centres of pressure, at the plates' times, with the y axis upward."""
    time = capture.plates[0].time
    names, columns = ["time"], [time[:, None]]
    for k, parts in enumerate(plate_columns(capture, time), start=1):
        for part, words in zip(parts, ("ground_force_v", "ground_force_p", "ground_torque_"), strict=True):
            names += [f"{k}_{words}{axis}" for axis in AXES]
            columns.append(part @ Y_UP.T)
    head = ["forces", "version=1", f"nRows={len(time)}", f"nColumns={len(names)}", "inDegrees=yes", "endheader"]
    path.write_text("\n".join([*head, "\t".join(names), *_rows(np.hstack(columns), "\t")]) + "\n")
    return path


def motive(path: Path, capture: Capture) -> Path:
    """CSV as Motive exports it: labels, numbers and kinds above the axes; metres."""
    labels = [name for name in capture.names for _ in AXES]
    head = [
        ["Format Version", "1.23", "Capture Frame Rate", "100.000000", "Length Units", "Meters"],
        [],
        ["", "Type", *("Marker" for _ in labels)],
        ["", "Name", *labels],
        ["", "ID", *(f"00{k // 3:03X}:ABC" for k in range(len(labels)))],
        ["", "", *("Position" for _ in labels)],
        ["Frame", "Time (Seconds)", *("XYZ"[k % 3] for k in range(len(labels)))],
    ]
    values = np.column_stack([np.arange(len(capture)), capture.time, capture.markers.reshape(len(capture), -1)])
    path.write_text("\n".join([*(",".join(row) for row in head), *_rows(values, ",")]) + "\n")
    return path


def nexus(path: Path, capture: Capture, subject: str = "Anna") -> Path:
    """CSV as Nexus exports it: trajectories below devices, at a rate, without time; millimetres."""
    head = [
        ["Devices"],
        ["1000"],
        ["", "", "Amp - 1", ""],
        ["Frame", "Sub Frame", "V1", "V2"],
        ["", "", "V", "V"],
        ["1", "0", "0.5", "0.25"],
        [],
        ["Trajectories"],
        ["100"],
        ["", "", *(text for name in capture.names for text in (f"{subject}:{name}", "", ""))],
        ["Frame", "Sub Frame", *("XYZ"[k % 3] for k in range(3 * len(capture.names)))],
        ["", "", *("mm" for _ in range(3 * len(capture.names)))],
    ]
    places = 1000.0 * capture.markers.reshape(len(capture), -1)
    values = np.column_stack([np.arange(1.0, len(capture) + 1), np.zeros(len(capture)), places])
    path.write_text("\n".join([*(",".join(row) for row in head), *_rows(values, ",")]) + "\n")
    return path


def qualisys(path: Path, capture: Capture) -> Path:
    """TSV as Qualisys Track Manager exports it, without a line of axes; millimetres."""
    head = [
        ["NO_OF_FRAMES", str(len(capture))],
        ["NO_OF_MARKERS", str(len(capture.names))],
        ["FREQUENCY", "100"],
        ["DATA_INCLUDED", "3D"],
        ["MARKER_NAMES", *capture.names],
    ]
    values = 1000.0 * capture.markers.reshape(len(capture), -1)
    path.write_text("\n".join([*("\t".join(row) for row in head), *_rows(values, "\t")]) + "\n")
    return path


MARKERS: Sequence[tuple[str, Callable[[Path, Capture], Path]]] = (
    ("walk.csv", csv),
    ("walk.trc", trc),
    ("motive.csv", motive),
    ("nexus.csv", nexus),
    ("qualisys.tsv", qualisys),
)
"""Names of files, and what writes them."""
