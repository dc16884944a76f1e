"""Recordings: what was logged, from one file or from one for each quantity, in SI units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.findings import Finding, Severity, prose
from dynid.logs.readers.source import Progress, silent
from dynid.logs.tables import Columns, RecordingError, Table, read_groups
from dynid.logs.timing import check_time, findings, require_order

UNITS: Mapping[str, Mapping[str, float]] = {
    "position": {"rad": 1.0, "deg": math.pi / 180, "m": 1.0, "mm": 1e-3},
    "velocity": {"rad/s": 1.0, "deg/s": math.pi / 180, "m/s": 1.0, "mm/s": 1e-3},
    "torque": {"N m": 1.0, "Nm": 1.0, "N": 1.0, "A": 1.0},
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
}
"""Units of each quantity, as multiples of SI units; amperes stay amperes."""

Span = tuple[int | None, int | None]
Seconds = tuple[float | None, float | None]


@dataclass(frozen=True)
class Quantity:
    """Where a quantity is logged.

    Attributes:
        file: The file.
        unit: Its unit, one of `UNITS`; one for each column where they differ.
        columns: Which columns; all when None.
        width: For flat text, how many numbers make a sample.
    """

    file: Path
    unit: str | tuple[str, ...]
    columns: Columns = None
    width: int | None = None


@dataclass(frozen=True, eq=False)
class Recording:
    """What was logged, in SI units but on the side (motor or joint) that it was logged on.

    Attributes:
        time: Stamps [s], shape (samples,).
        q: Positions [rad or m], shape (samples, n).
        v: Velocities [rad/s or m/s], shape (samples, n); None when they were not logged.
        torque: Torques, forces or currents [N m, N or A], shape (samples, n).
        source: The files it was read from.
        findings: What was noticed on reading.
    """

    time: Array
    q: Array
    v: Array | None
    torque: Array
    source: tuple[Path, ...] = ()
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        samples, n = len(self.time), self.q.shape[-1]
        for what, values in (("positions", self.q), ("velocities", self.v), ("torques", self.torque)):
            if values is not None and values.shape != (samples, n):
                raise ShapeError(what, f"({samples}, {n})", values.shape)

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, part: slice) -> Recording:
        """Some of the samples."""
        v = None if self.v is None else self.v[part]
        return replace(self, time=self.time[part], q=self.q[part], v=v, torque=self.torque[part])


def read_recording(
    position: Quantity,
    torque: Quantity,
    velocity: Quantity | None = None,
    time: Quantity | None = None,
    rate: float | None = None,
    rows: Span | None = None,
    seconds: Seconds | None = None,
    *,
    allow_resets: bool = False,
    progress: Progress = silent,
) -> Recording:
    """Read a recording; each file is read once, and only the columns that are needed.

    Args:
        position: Where positions are.
        torque: Where torques, forces or currents are.
        velocity: Where velocities are, if they were logged.
        time: Where time stamps are.
        rate: Samples a second [Hz], when there are no stamps.
        rows: Samples to keep, counted from 0; the first is kept, the last is not, None is an open end.
        seconds: Stamps to keep [s], as they are logged; the first is kept, the last is not, None is an open end.
        allow_resets: Whether time may go backwards or repeat, for `split_at_resets`.
        progress: Is told how far a long read has come.

    Returns:
        The recording, with findings on its time stamps and units.

    Raises:
        RecordingError: If a file cannot be used, files have different lengths, or nothing is left of a cut.
        InvalidRequestError: If not exactly one of time and rate is given, or both cuts, or a cut is no span.
        UnknownNameError: If there is no such unit.
    """
    if (time is None) == (rate is None):
        raise InvalidRequestError("give either the column of time or a rate in Hz, one of the two")
    if rate is not None and not 0 < rate < math.inf:
        raise InvalidRequestError(f"a rate of {rate} Hz is not positive")
    if rows is not None and seconds is not None:
        raise InvalidRequestError("cut a segment by rows or by seconds, not by both")
    given = {"position": position, "torque": torque, "velocity": velocity, "time": time}
    where = {role: quantity for role, quantity in given.items() if quantity is not None}
    try:
        return _recorded(where, rate, rows, seconds, allow_resets, progress)
    except MemoryError as error:
        problem = "there is not enough memory for the recording; name fewer columns, or cut it into several logs"
        raise RecordingError(position.file, problem) from error


def _recorded(
    where: Mapping[str, Quantity],
    rate: float | None,
    rows: Span | None,
    seconds: Seconds | None,
    allow_resets: bool,
    progress: Progress,
) -> Recording:
    """What `read_recording` gives, of arguments that were checked."""
    position, time = where["position"], where.get("time")
    tables = _read_each_file_once(where, progress)
    _check_lengths(tables)
    values = {role: _in_si(role, quantity, *tables[role]) for role, quantity in where.items()}
    _check_widths(where, values)
    q = values["position"]
    stamps = values["time"][:, 0] if time is not None else np.arange(len(q)) / (rate or 1.0)
    source = tuple(dict.fromkeys(quantity.file for quantity in where.values()))
    whole = Recording(stamps, q, values.get("velocity"), values["torque"], source)
    part = _part(whole, rows, seconds)
    for table in {id(table): table for table, _ in tables.values()}.values():
        table.require_finite(part)
    cut = _owned(whole if part == slice(0, len(whole)) else whole[part])
    notes = _degrees(position, tables["position"][0].names[tables["position"][1]], cut.q)
    if time is not None and len(cut) > 1:
        timing = check_time(cut.time, first_row=tables["time"][0].first_row + part.start)
        if not allow_resets:
            require_order(timing, time.file)
        notes += findings(timing)
    return replace(cut, findings=notes)


def _read_each_file_once(where: Mapping[str, Quantity], progress: Progress) -> dict[str, tuple[Table, int]]:
    """For each quantity, the table of its file and which of the table's groups it is."""
    files: dict[tuple[Path, int | None], list[str]] = {}
    for role, quantity in where.items():
        files.setdefault((quantity.file, quantity.width), []).append(role)
    tables: dict[str, tuple[Table, int]] = {}
    for (path, width), roles in files.items():
        table = read_groups(path, [where[role].columns for role in roles], width=width, progress=progress, finite=False)
        tables |= {role: (table, k) for k, role in enumerate(roles)}
    return tables


def _check_lengths(tables: Mapping[str, tuple[Table, int]]) -> None:
    first, *others = (table for table, _ in tables.values())
    count = len(first.groups[0])
    for other in others:
        if len(other.groups[0]) != count:
            problem = f"it holds {len(other.groups[0])} samples, but {first.path} holds {count}"
            raise RecordingError(other.path, f"{problem}; files of one recording need the same number")


def _in_si(role: str, quantity: Quantity, table: Table, group: int) -> Array:
    values = table.groups[group]
    units = (quantity.unit,) * values.shape[1] if isinstance(quantity.unit, str) else quantity.unit
    for unit in units:
        if unit not in UNITS[role]:
            raise UnknownNameError(f"unit of {role}", unit, UNITS[role], f" ({quantity.file})")
    if len(units) != values.shape[1]:
        problem = f"{len(units)} units are given for {values.shape[1]} columns of {role}"
        raise RecordingError(quantity.file, f"{problem}; give one for all or one for each")
    factors = np.array([UNITS[role][unit] for unit in units])
    return values if np.all(factors == 1.0) else values * factors


def _check_widths(where: Mapping[str, Quantity], values: Mapping[str, Array]) -> None:
    n = values["position"].shape[1]
    for role, array in values.items():
        needed = 1 if role == "time" else n
        if array.shape[1] != needed:
            reason = "there is one" if role == "time" else f"positions have {n} ({where['position'].file})"
            problem = f"{array.shape[1]} columns of {role} are chosen, but {reason}"
            raise RecordingError(where[role].file, f"{problem}; choose columns by name, pattern or position")


def _part(recording: Recording, rows: Span | None, seconds: Seconds | None) -> slice:
    """The samples of a cut, as a slice with both ends."""
    count, time = len(recording), recording.time
    if rows is not None:
        first, last = rows[0] or 0, count if rows[1] is None else rows[1]
        if not 0 <= first < last <= count:
            problem = f"rows {first} to {last} are no segment of {count} samples"
            raise RecordingError(recording.source[0], f"{problem}; count from 0, the last is not included")
        return slice(first, last)
    if seconds is None:
        return slice(0, count)
    if not np.all(np.diff(time) >= 0):  # also where a stamp is missing
        raise RecordingError(
            recording.source[-1], "time goes backwards or lacks stamps, so cut segments by rows instead of seconds"
        )
    start, end = -math.inf if seconds[0] is None else seconds[0], math.inf if seconds[1] is None else seconds[1]
    first, last = (int(k) for k in np.searchsorted(time, [start, end]))
    if first >= last:
        problem = f"no samples lie between {start:g} s and {end:g} s"
        raise RecordingError(recording.source[-1], f"{problem}; time goes from {time[0]:.6g} s to {time[-1]:.6g} s")
    return slice(first, last)


def _owned(recording: Recording) -> Recording:
    """The same, read-only and without holding on to more than its own samples."""

    def own(values: Array) -> Array:
        values = values if values.base is None else values.copy()
        values.flags.writeable = False
        return values

    v = None if recording.v is None else own(recording.v)
    return replace(recording, time=own(recording.time), q=own(recording.q), v=v, torque=own(recording.torque))


def _degrees(position: Quantity, names: tuple[str, ...], q: Array) -> tuple[Finding, ...]:
    """A warning where positions declared in rad sweep as far as degrees do, yet stay within what degrees can be."""
    units = (position.unit,) * q.shape[1] if isinstance(position.unit, str) else position.unit
    swept = np.ptp(q, axis=0)
    likely = [k for k, unit in enumerate(units) if unit == "rad" and swept[k] > 50 and np.abs(q[:, k]).max() <= 400]
    if not likely:
        return ()
    widest = max(likely, key=lambda k: swept[k])
    text = f"Are positions in degrees? Column '{names[widest]}' of {position.file} sweeps {swept[widest]:.4g} rad, "
    text += (
        f"{swept[widest] / (2 * math.pi):.3g} turns; declare the unit 'deg', or ignore this if it is a geared motor's."
    )
    return (prose(Severity.WARNING, "positions", text),)
