"""Tables to captures: CSV, TSV and text of markers and force plates, TRC, and forces in MOT or STO files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.captures import LENGTHS, CaptureParts, ForcePlate, length_unit
from dynid.logs.captures.capture_columns import CaptureColumns, PlateColumns, capture_columns
from dynid.logs.captures.capture_head import BEGINNING, capture_head
from dynid.logs.captures.plate_channels import LEAST_FORCE
from dynid.logs.readers.isolated import Progress, RecordingError, silent
from dynid.logs.readers.source import Source
from dynid.logs.readers.text import delimited

TABLES = (".trc", ".csv", ".tsv", ".txt", ".mot", ".sto")
"""Endings of tables that may hold a capture."""

FORCES = (".mot", ".sto")
"""Those of tables that hold forces, and no markers."""

MOMENTS = {"nm": 1.0, "nmm": 1e-3, "ncm": 1e-2}
"""Units of moments [N m] without what stands between newtons and lengths."""


@dataclass(frozen=True)
class CaptureTableThresholds:
    """When a table is a capture, and in which unit its centres of pressure are."""

    markers: int = 4
    """Fewest markers: joint logs have places of a base or a hand, too. By judgement."""

    share: float = 0.6
    """Part of the columns that markers and force plates are at least. By judgement."""

    room: float = 30.0
    """Distance of a centre of pressure from the origin [m], of a table of forces alone that states no unit, from which
    on it is in millimetres. By judgement."""


THRESHOLDS = CaptureTableThresholds()


@dataclass(frozen=True, eq=False)
class _Content:
    """The numbers of a table.

    Attributes:
        path: The file.
        columns: What its columns are.
        values: The numbers, shape (samples, columns).
        time: Time stamps [s], shape (samples,).
        unit: The unit of lengths that the head states; empty where it states none.
        notes: What was noticed while it was read.
    """

    path: Path
    columns: CaptureColumns
    values: Array
    time: Array
    unit: str
    notes: tuple[Finding, ...]


def read_table_capture(path: Path, stated_unit: str | None = None, progress: Progress = silent) -> CaptureParts:
    """Read markers, and force plates where there are columns of them, from text.

    Args:
        path: The file.
        stated_unit: The unit of lengths, where the file states none or the wrong one.
        progress: Callback; receives a short description of each step.

    Raises:
        RecordingError: If it cannot be read, or has no markers.
    """
    found = _content(path, progress)
    markers = found.columns.markers
    if not markers:
        raise RecordingError(
            path,
            "it has no columns of markers; a marker LASI needs columns such as LASI_x, LASI_y and LASI_z (or a line of "
            "labels above one of axes, as in TRC files)",
        )
    order = [k for triple in markers.values() for k in triple]
    places = found.values[:, order].reshape(len(found.time), len(markers), 3)
    places[~places.any(axis=2) | ~np.isfinite(places).all(axis=2)] = np.nan  # zeros are what was not seen, as in C3D
    stated = found.unit or next((found.columns.units[k] for k in order if k in found.columns.units), "")
    if stated and stated not in LENGTHS:
        raise RecordingError(path, f"its markers have the unit '{stated}'; known are {', '.join(LENGTHS)}")
    unit, findings = length_unit(places, stated_unit or stated, path.name)
    plates, notes = _plates(found, unit)
    findings = [*([] if stated_unit else findings), *notes]
    return CaptureParts(found.time, unit * places, tuple(markers), path, plates, "", stated, tuple(findings))


def read_table_plates(path: Path, progress: Progress = silent) -> tuple[tuple[ForcePlate, ...], list[Finding]]:
    """Read the force plates of a table without markers, such as a MOT file; errors as `read_table_capture`."""
    found = _content(path, progress)
    if not any(plate.is_whole for plate in found.columns.plates):
        raise RecordingError(
            path,
            "it has no columns of a force plate; one needs Fx, Fy, Fz and either Mx, My, Mz about the origin of the "
            "markers or the centre of pressure Px, Py, Pz, each behind the plate's name, such as plate1_Fx",
        )
    at = [k for plate in found.columns.plates for k in plate.parts.get("pressure", {}).values()]
    is_large = bool(at) and float(np.nanquantile(np.abs(found.values[:, at]), 0.9)) > THRESHOLDS.room
    return _plates(found, LENGTHS.get(found.unit, 1e-3 if is_large else 1.0))


def is_table_capture(path: Path) -> bool:
    """Whether text is that of a capture: hardly anything but markers and force plates."""
    if path.suffix.lower() == ".trc":
        return True
    names = _first_names(path)
    found = capture_columns(names)
    plates = sum(len(part) for plate in found.plates for part in plate.parts.values())
    return len(found.markers) >= THRESHOLDS.markers and 3 * len(found.markers) + plates >= THRESHOLDS.share * len(names)


def has_plates_alone(path: Path) -> bool:
    """Whether text has columns of force plates, and no markers; in a joint log, they may be those of a wrist sensor."""
    found = capture_columns(_first_names(path))
    return not found.markers and any(plate.is_whole for plate in found.plates)


def _first_names(path: Path) -> tuple[str, ...]:
    """Names of the columns, from the beginning of a file alone; none where it is no such table."""
    if path.suffix.lower() not in TABLES or not path.is_file():
        return ()
    try:
        return _source(path, BEGINNING)[0].names
    except (RecordingError, OSError, ValueError):
        return ()


def _source(path: Path, most: int | None = None) -> tuple[Source, str, float | None]:
    """The columns of a table, the unit that its head states, and its rate [Hz]."""
    head = capture_head(path, most)
    return delimited(path, head.content), head.unit, head.rate


def _content(path: Path, progress: Progress) -> _Content:
    progress(f"Reading {path.name}")
    source, unit, rate = _source(path)
    columns = capture_columns(source.names)
    values = np.column_stack([np.asarray(x, dtype=float) for x in source.load(list(range(len(source.names))))])
    for sample, problem in source.damaged.items():
        raise RecordingError(path, f"sample {sample}: {problem}")
    return _Content(path, columns, values, _time(path, columns, values, rate), unit, tuple(source.notes))


def _time(path: Path, columns: CaptureColumns, values: Array, rate: float | None) -> Array:
    """Time stamps [s]: those of the file, or its frames at its rate."""
    if columns.time is not None:
        unit = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9}.get(columns.units.get(columns.time, ""), 1.0)
        return unit * values[:, columns.time]
    if rate is None:
        raise RecordingError(path, "it has neither a column of time nor states its rate; add a column 'time' [s]")
    if columns.frame is not None:
        return (values[:, columns.frame] - values[0, columns.frame]) / rate
    return np.arange(len(values)) / rate


def _plates(content: _Content, unit: float) -> tuple[tuple[ForcePlate, ...], list[Finding]]:
    """Force plates, and what was noticed; `unit` is that of lengths [m] where columns state none."""
    plates, findings = list[ForcePlate](), list[Finding](content.notes)
    for k, columns in enumerate(content.columns.plates, start=1):
        name = columns.name or f"plate {k}"
        if not columns.is_whole:
            reason = "it lacks columns: all of Fx, Fy, Fz, and Mx, My, Mz or a centre of pressure are needed"
            findings.append(Finding.of("plate-left-out", name, reason=reason))
            continue
        wrench = _wrench(content, columns, unit)
        if not np.isfinite(wrench).all():
            findings.append(Finding.of("plate-left-out", name, reason="its columns hold NaN or infinite numbers"))
            continue
        plates.append(ForcePlate(name, content.time, wrench, np.eye(4)))
    return tuple(plates), findings


def _wrench(content: _Content, columns: PlateColumns, unit: float) -> Array:
    """The wrench of a plate about the origin of the file, along its axes, shape (samples, 6)."""

    def part(name: str, factors: Mapping[str, float], usual: float) -> Array:
        own = columns.parts.get(name, {})
        found = np.zeros((len(content.time), 3))
        for axis, k in own.items():
            stated = content.columns.units.get(k, "").translate({ord(mark): None for mark in " .*·"})
            found[:, "xyz".index(axis)] = content.values[:, k] * factors.get(stated, usual)
        return found

    force = part("force", {"kn": 1e3}, 1.0)
    moment = part("moment", MOMENTS, 1.0)
    if "pressure" in columns.parts:  # without load there is none, and files have anything there
        is_loaded = np.linalg.norm(force, axis=1) > LEAST_FORCE
        moment += np.where(is_loaded[:, None], np.cross(part("pressure", LENGTHS, unit), force), 0.0)
    return np.hstack([force, moment])
