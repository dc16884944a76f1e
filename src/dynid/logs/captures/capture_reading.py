"""Reading a capture: C3D, TRC or a table to markers and force plates in SI units, mended where that is certain."""

import os
from dataclasses import replace
from pathlib import Path

from dynid.errors import InvalidRequestError
from dynid.logs import Progress, RecordingError, local_file, silent
from dynid.logs.captures import AXES, LENGTHS, Capture, CaptureParts, mended_plates, plain_labels, read_c3d, upright
from dynid.logs.captures.capture_table import TABLES, is_table_capture, read_table_capture, read_table_plates
from dynid.logs.captures.exchanged_markers import without_exchanges
from dynid.logs.captures.lost_markers import without_frozen, without_jumps
from dynid.logs.captures.marker_gaps import GAPS, without_gaps

C3D = ".c3d"
"""Ending of C3D files."""


def read_capture(
    path: str | os.PathLike[str],
    *,
    plates: str | os.PathLike[str] | None = None,
    unit: str | None = None,
    up: str | None = None,
    subject: str | None = None,
    longest_gap: float = GAPS.longest,
    mend: bool = True,
    name: str | None = None,
    progress: Progress = silent,
) -> Capture:
    """Read markers and force plates: C3D, TRC, or a table (CSV, TSV, text) with columns such as LASI_x, LASI_y, LASI_z.

    What is certain is mended, and said in the findings of the capture: units, axes, labels that were exchanged, markers
    that jump or freeze, short gaps, offsets and signs of force plates.

    Args:
        path: The file, or its address.
        plates: A table of what the force plates measured, on the same clock and axes, where it is a file of its own
            (CSV, TSV, text, MOT, STO): columns such as plate1_Fx, and moments about the origin or a centre of pressure.
        unit: Unit of lengths, such as "mm", where the file states none or the wrong one.
        up: The axis that points upward, such as "y" or "-z", where the file states it wrongly.
        subject: Whose markers are wanted, in a file of several persons.
        longest_gap: Longest gap of a marker that is filled [s].
        mend: Whether markers and plates are mended; else they are as the file has them, in SI units.
        name: What the capture is called in reports; the name of its file when None.
        progress: Callback; receives a short description of each step.

    Raises:
        RecordingError: If the file cannot be read, or holds no markers.
        InvalidRequestError: If what is stated is no unit or axis.
        UnknownNameError: If there is no such subject.
    """
    if unit is not None and unit not in LENGTHS:
        raise InvalidRequestError(f"unit = {unit!r} is no unit of lengths; choose from {', '.join(LENGTHS)}")
    parts = _parts(local_file(os.fspath(path), progress), unit, progress)
    if plates is not None:
        others, notes = read_table_plates(local_file(os.fspath(plates), progress), progress)
        parts = replace(parts, plates=(*parts.plates, *others), findings=(*parts.findings, *notes))
    parts = upright(parts, _axis(up), "+y" if parts.path.suffix.lower() == ".trc" else "+z")
    labels, kept, notes = plain_labels(parts.labels, parts.path, subject)
    capture = Capture(
        time=parts.time,
        markers=parts.markers[:, kept],
        names=labels,
        plates=parts.plates,
        name=name or parts.path.name,
        source=(parts.path,),
        findings=(*parts.findings, *notes),
    )
    return mended_capture(capture, longest_gap, parts.zero) if mend else capture


def mended_capture(
    capture: Capture, longest_gap: float = GAPS.longest, zero: tuple[float, float] | None = None
) -> Capture:
    """A capture in which labels stay on their markers, and offsets of plates are taken out; `read_capture` does this.

    Args:
        capture: The capture.
        longest_gap: Longest gap of a marker that is filled [s].
        zero: The stretch [s] in which plates are said to be unloaded.
    """
    time, names = capture.time, capture.names
    markers, findings = capture.markers, list(capture.findings)
    for step in (without_frozen, without_exchanges, without_jumps):
        markers, notes = step(time, markers, names)
        findings += notes
    markers, notes = without_gaps(time, markers, names, longest_gap)
    plates, others = mended_plates(capture.plates, zero)
    return replace(capture, markers=markers, plates=plates, findings=(*findings, *notes, *others))


def labels_in(path: Path, progress: Progress = silent) -> tuple[str, ...]:
    """Labels of the markers in a file, with the names of subjects; errors as `read_capture`."""
    return _parts(local_file(str(path), progress), None, progress).labels


def _parts(path: Path, unit: str | None, progress: Progress) -> CaptureParts:
    """What a file holds, by its ending."""
    if not path.exists():
        raise RecordingError(path, "there is no such file; check the name and the folder")
    if path.suffix.lower() == C3D:
        return read_c3d(path, unit, progress)
    if path.suffix.lower() not in TABLES:
        raise RecordingError(path, f"a capture is a file that ends in {', '.join((C3D, *TABLES))}")
    return read_table_capture(path, unit, progress)


def _axis(up: str | None) -> str | None:
    """An axis as users write it, such as "y", in full."""
    if up is None:
        return None
    axis = up.lower() if up[:1] in "+-" else f"+{up.lower()}"
    if axis not in AXES:
        raise InvalidRequestError(f"up = {up!r} is no axis; choose from x, y, z, -x, -y, -z")
    return axis


def is_capture(*paths: Path) -> bool:
    """Whether a file is that of a capture: by its ending, or a table that holds hardly anything but markers."""
    return any(
        path.suffix.lower() == C3D or (path.suffix.lower() in TABLES and is_table_capture(path)) for path in paths
    )
