"""Logs that are longer than memory: read to disk in pieces, mended there, and used a part at a time."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dynid.findings import Finding
from dynid.logs import sources, stored_log
from dynid.logs.log import Log
from dynid.logs.long_filling import LongSignals, filled_on_disk
from dynid.logs.long_mending import NotStoredError, advancing_on_disk, ends_of, mended_on_disk
from dynid.logs.long_time import filled_time, in_blocks, long_timing
from dynid.logs.readers.column_store import Column, ColumnStore
from dynid.logs.readers.source import Progress, RecordingError
from dynid.logs.settings import Drive, LogSource, Processing, Quantity
from dynid.logs.stored_log import StoredLog
from dynid.logs.tables import StoredTable, stored_groups
from dynid.logs.time_units import speed_between
from dynid.logs.timing import findings_on_time, require_order
from dynid.logs.units import KELVIN, UNITS
from dynid.robot import Robot


def long_log(
    source: LogSource,
    where: Mapping[str, Quantity],
    robot: Robot,
    drive: Drive | None,
    processing: Processing | None,
    progress: Progress,
) -> Log | StoredLog:
    """The log, on disk where it is long; arguments and errors are those of `read_source`."""
    if any(quantity.time is not None or quantity.flat for quantity in where.values()):
        return sources.log_of(source, where, sources.read_each_file_once(where, robot, progress), robot, drive)
    stored = sources.read_each_file_once(where, robot, progress, stored_groups)
    files = {id(table): table for table, _ in stored.values()}.values()
    why = ""
    if sum(table.size for table in files) > stored_log.LONG_LOG:
        try:
            return _stored(source, where, stored, robot, drive, processing)
        except NotStoredError as error:
            why = str(error)
    loaded = {id(table): table.loaded() for table in files}
    log = sources.log_of(
        source, where, {role: (loaded[id(table)], k) for role, (table, k) in stored.items()}, robot, drive
    )
    if why:
        log = replace(log, findings=(*log.findings, Finding.of("log-in-memory", "log", reason=why)))
    return log


def _stored(
    source: LogSource,
    where: Mapping[str, Quantity],
    stored: Mapping[str, tuple[StoredTable, int]],
    robot: Robot,
    drive: Drive | None,
    processing: Processing | None,
) -> StoredLog:
    tables, units, notes = sources.decided(
        source, where, {role: (table.table, k) for role, (table, k) in stored.items()}, robot, drive
    )
    columns = {role: _in_si(role, table.columns[k], units[role]) for role, (table, k) in stored.items()}
    count = len(columns["position"][0])
    store = ColumnStore(where["position"].path)
    files = tuple(dict.fromkeys(quantity.path for quantity in where.values()))
    time, origin = Column(None, count, rate=source.rate or 1.0), 0.0
    if "time" in columns:
        time, origin = _time(store, columns.pop("time"), sources.origin_of(*tables["time"], units["time"]))
    part = sources.part_of(source, count, lambda: filled_time(store, time).blocks(), files, origin)
    notes += sources.undamaged(tables, part)
    names = {role: table.names[k] for role, (table, k) in tables.items()}
    signals = {role: tuple(column.part(part) for column in own) for role, own in columns.items()}
    log = LongSignals(store, time.part(part), signals, {"time": ("time",), **names}, first=part.start)
    _require_measured(log, tables)
    log = filled_on_disk(log)
    sources.check_robot(where, len(log.signals["position"]), robot)
    ends = np.array([ends_of(column) for column in log.signals["position"]])
    notes += sources.in_degrees(where, units, tuple(names["position"]), ends[:, 0], ends[:, 1], robot)
    stamps = where.get("time")
    log = log if stamps is None else advancing_on_disk(log)
    found = StoredLog(
        time=log.time,
        signals=log.signals,
        missing=log.missing,
        name=source.name or "",
        weight=source.weight,
        load=source.carried,
        wrench_body=None if source.wrench is None else source.wrench.body,
        source=tuple(dict.fromkeys(table.path for table, _ in tables.values())),
        findings=(),
        first_stamp=time.first_number(),
    )
    if stamps is not None:
        timing = long_timing(log.time, tables["time"][0].first_row + log.first)
        require_order(timing, stamps.path)
        at_joints = drive is None or drive.positions == "joint"
        notes += tuple(findings_on_time(timing, _speed(found) if at_joints else math.nan))
    return mended_on_disk(replace(found, findings=(*notes, *log.findings)), store, robot, drive, processing)


def _in_si(role: str, columns: Sequence[Column], units: Sequence[str]) -> tuple[Column, ...]:
    """Columns in SI units, as `in_si` gives them."""
    if role == "temperature":
        shifts = [KELVIN if unit == "K" else 0.0 for unit in units]
        return tuple(replace(column, shift=shift) for column, shift in zip(columns, shifts, strict=True))
    return tuple(replace(column, scale=UNITS[role][unit]) for column, unit in zip(columns, units, strict=True))


def _time(store: ColumnStore, columns: Sequence[Column], origin: float) -> tuple[Column, float]:
    """Stamps [s] of a column, or the sum of several, and what was taken off them."""
    if len(columns) == 1:
        return columns[0], origin

    def summed(first: int, last: int) -> np.ndarray:
        return np.column_stack([column.read(first, last) for column in columns]).sum(axis=1)

    whole = store.made(in_blocks(len(columns[0]), summed))
    first = whole.first_number() if origin else 0.0
    return replace(whole, shift=first), origin + first


def _require_measured(log: LongSignals, tables: Mapping[str, tuple[object, int]]) -> None:
    """Refuse columns without a single number."""
    for role in ("time", "position", "torque"):
        for name, column in zip(log.names[role], (log.time,) if role == "time" else log.signals[role], strict=False):
            if not any(np.isfinite(block).any() for _, block in column.blocks()):
                problem = f"column '{name}' holds nothing but NaN, Inf or missing values: it was not measured"
                path = tables[role][0].path  # type: ignore[attr-defined]
                raise RecordingError(path, f"{problem}; choose another, or lock or leave out its joint")


def _speed(log: StoredLog) -> float:
    """What `speed_of` gives."""
    return speed_between(*log.at(np.unique(np.linspace(0, len(log) - 1, 200).astype(int))))
