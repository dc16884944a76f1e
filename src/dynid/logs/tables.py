"""Columns of numbers from the files that robots leave behind: text, Parquet, NPZ, JSON, MAT, HDF5, PyTorch, ROS bags.

Each format becomes a `Source`: the names of its columns, and a function that reads some of them. Choosing columns and
checking their values is then the same for all.
"""

import difflib
import fnmatch
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import numpy as np

from dynid.arrays import Array
from dynid.files import FileKind, use_of
from dynid.findings import Finding
from dynid.logs.column_order import joint_order
from dynid.logs.readers.bags import SUFFIXES as BAGS
from dynid.logs.readers.bags import held_position, is_bag
from dynid.logs.readers.column_store import Column, ColumnStore
from dynid.logs.readers.isolated import isolated
from dynid.logs.readers.lerobot import whole_file
from dynid.logs.readers.source import Progress, RecordingError, Source, silent
from dynid.logs.readers.stamps import EPOCH, since_first
from dynid.logs.readers.text import text
from dynid.logs.readers.text_layout import PACKED

Columns: TypeAlias = str | int | Sequence[str | int] | None
"""Which columns: a name, a pattern such as "q_*", a position (from 0), several of these, or None for all."""

TEXT = (".csv", ".tsv", ".txt", ".dat")

BINARY = (".parquet", ".npz", ".mat", ".hdf5", ".h5", ".pt", ".pth", ".json", ".jsonl", ".ndjson")

CAPTURES = (".c3d", ".trc")
"""Endings of captures, which have no columns: `[[log]]` names them as `capture`."""

TOGETHER = 4
"""Columns that are put in their places together."""

TILE = 8192
"""Samples that are put there at a time: few enough for the cache, since neighbours in memory come from all columns."""


@dataclass(frozen=True, eq=False)
class Table:
    """Groups of columns of one file.

    Attributes:
        path: The file.
        groups: The values of each group, shape (samples, columns of the group).
        names: The names of each group's columns; positions in words where the file has no names.
        places: Places of each group's columns in the file, from 0.
        first_row: Row of the file (from 1, the header included) that holds the first sample.
        origins: What was taken off the columns of groups of stamps, by group.
        damaged: What is wrong with samples that could not be read, by their index.
        notes: What was noticed while the file was read.
    """

    path: Path
    groups: tuple[Array, ...]
    names: tuple[tuple[str, ...], ...]
    places: tuple[tuple[int, ...], ...]
    first_row: int
    origins: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    damaged: Mapping[int, str] = field(default_factory=dict)
    notes: tuple[Finding, ...] = ()

    def __len__(self) -> int:
        return len(self.groups[0])

    def joined(self) -> Array:
        """The columns of all groups, shape (samples, columns)."""
        return np.column_stack(self.groups)

    def require_finite(self, part: slice) -> None:
        """Refuse NaN, infinite or missing numbers in some samples.

        Raises:
            RecordingError: It names the first column with such numbers, and their first row.
        """
        if all(_is_finite(values[part]) for values in self.groups):
            return
        self.require_measured(part)
        for name, values in self._columns():
            bad = np.flatnonzero(~np.isfinite(values[part]))
            if len(bad):
                problem = f"column '{name}' holds {len(bad)} values that are NaN, Inf or missing, the first in row "
                row = self.first_row + part.start + int(bad[0])
                raise RecordingError(
                    self.path, f"{problem}{row}; repair these rows, or cut them off with rows or seconds"
                )

    def require_undamaged(self, part: slice) -> None:
        """Refuse damaged samples.

        Raises:
            RecordingError: It names the row of the first.
        """
        first = min((sample for sample in self.damaged if part.start <= sample < part.stop), default=None)
        if first is not None:
            more = sum(part.start <= sample < part.stop for sample in self.damaged) - 1
            raise RecordingError(self.path, self.damaged[first] + (f" (and {more} more)" if more else ""))

    def require_measured(self, part: slice, group: int | None = None) -> None:
        """Refuse columns, of one group or of all, without a single number in some samples.

        Raises:
            RecordingError: It names the first such column.
        """
        for name, values in self._columns(group):
            if len(values[part]) and not np.isfinite(values[part]).any():
                problem = f"column '{name}' holds nothing but NaN, Inf or missing values: it was not measured"
                raise RecordingError(self.path, f"{problem}; choose another, or lock or leave out its joint")

    def _columns(self, group: int | None = None) -> Iterator[tuple[str, Array]]:
        for own in range(len(self.groups)) if group is None else (group,):
            yield from ((name, self.groups[own][:, k]) for k, name in enumerate(self.names[own]))


def read_columns(path: Path, *, columns: Columns = None, width: int | None = None, count: int | None = None) -> Array:
    """Read columns of one file.

    Args:
        path: A file that ends in .csv, .tsv, .txt, .dat (also packed: .csv.gz), .parquet, .npz, .json, .jsonl, .ndjson,
            .mat, .hdf5, .h5, .pt, .pth, .bag, .mcap or .db3, or the folder of a ROS 2 bag; an episode in a file of
            several, as file-000.parquet#episode_000012.
        columns: Which columns, in this order; what a pattern matches is sorted as people count (q_2 before q_10).
        width: For flat text, how many numbers make a sample.
        count: How many columns there must be; any number when None.

    Returns:
        The values as they are in the file, shape (samples, columns), all finite.

    Raises:
        RecordingError: If the file or a column is missing, or holds anything but finite numbers.
    """
    table = read_groups(path, [columns], width=width)
    found = table.names[0]
    if count is not None and len(found) != count:
        raise RecordingError(path, f"{len(found)} columns are chosen ({_listed(found)}) instead of {count}")
    return table.groups[0]


def read_groups(
    path: Path,
    groups: Sequence[Columns],
    *,
    width: int | None = None,
    progress: Progress = silent,
    finite: bool = True,
    damaged: bool = False,
    joints: Sequence[str] = (),
    stamps: Collection[int] = (),
    commands: Collection[int] = (),
) -> Table:
    """Read several groups of columns of one file at once; other arguments and errors are those of `read_columns`.

    Args:
        path: The file.
        groups: Columns of each group.
        width: For flat text, how many numbers make a sample.
        progress: Callback; receives a short description of each step.
        finite: Whether every number must be finite; otherwise the caller says in which samples.
        damaged: Whether samples may be damaged, which are NaN then; the caller says which may be.
        joints: Names of joints, in whose order what a pattern matches is put where names of columns say that.
        stamps: Groups of time stamps: those that count from 1970 are counted from the first, with all their digits.
        commands: Groups of commands: from another topic of a bag, they are held until the next one.
    """
    source = source_of(path, width, progress)
    chosen = [_positions(path, source, columns, joints) for columns in groups]
    places = tuple(map(tuple, chosen))
    if is_bag(path):
        for k in commands:
            chosen[k] = [held_position(p, len(source.names)) for p in chosen[k]]
    wanted = sorted({position for positions in chosen for position in positions})
    try:
        values = _filled(source, wanted, chosen)
    except MemoryError as error:
        problem = "there is not enough memory for it; name fewer columns, or cut it into several logs"
        raise RecordingError(path, problem) from error
    count = len(values[0]) if values else 0
    if not count:
        raise RecordingError(path, "there are no rows of numbers; check that the whole log was saved")
    table = Table(
        path,
        values,
        tuple(tuple(source.names[p] for p in positions) for positions in places),
        places,
        source.first_row,
        {group: _since_first(source, values[group], chosen[group]) for group in stamps},
        source.damaged,
        tuple(source.notes),
    )
    if not damaged:
        table.require_undamaged(slice(0, count))
    if finite:
        table.require_finite(slice(0, count))
    return table


@dataclass(frozen=True, eq=False)
class StoredTable:
    """Groups of columns of one file on disk.

    Attributes:
        table: Everything but the numbers, in whose place there are zeros that take no memory.
        columns: The columns of each group.
    """

    table: Table
    columns: tuple[tuple[Column, ...], ...]

    @property
    def size(self) -> int:
        """Bytes that the columns take."""
        return 8 * len(self.table) * sum(map(len, self.columns))

    def loaded(self) -> Table:
        """The table in memory."""
        groups = tuple(np.empty((len(self.table), len(columns))) for columns in self.columns)
        for values, columns in zip(groups, self.columns, strict=True):
            for k, column in enumerate(columns):
                values[:, k] = column.read()
        return replace(self.table, groups=groups)


def stored_groups(
    path: Path,
    groups: Sequence[Columns],
    *,
    width: int | None = None,
    progress: Progress = silent,
    joints: Sequence[str] = (),
    stamps: Collection[int] = (),
    **_: bool,
) -> StoredTable:
    """Read several groups of columns of one file to disk; arguments and errors are those of `read_groups`.

    Neither NaN nor damaged samples are refused.
    """
    source = source_of(path, width, progress)
    chosen = [_positions(path, source, columns, joints) for columns in groups]
    wanted = sorted({position for positions in chosen for position in positions})
    store = ColumnStore(path)
    columns, _origins = store.take(source, wanted)
    by_place = dict(zip(wanted, columns, strict=True))
    count = len(columns[0]) if columns else 0
    if not count:
        raise RecordingError(path, "there are no rows of numbers; check that the whole log was saved")
    stored = [[by_place[p] for p in positions] for positions in chosen]
    origins = {group: [0.0] * len(chosen[group]) for group in stamps}
    for own in stamps:
        for k, p in enumerate(chosen[own]):
            if abs(stored[own][k].first_number()) >= EPOCH:
                (stored[own][k],), (origins[own][k],) = store.take(source, [p], stamps=True)
    table = Table(
        path,
        tuple(np.broadcast_to(0.0, (count, len(positions))) for positions in chosen),
        tuple(tuple(source.names[p] for p in positions) for positions in chosen),
        tuple(map(tuple, chosen)),
        source.first_row,
        {group: tuple(own) for group, own in origins.items()},
        source.damaged,
        tuple(source.notes),
    )
    return StoredTable(table, tuple(map(tuple, stored)))


def _since_first(source: Source, values: Array, positions: Sequence[int]) -> tuple[float, ...]:
    """Count large stamps from the first, in place, and give what was taken off."""
    origins = [0.0] * len(positions)
    for k, p in enumerate(positions):
        there = np.flatnonzero(np.isfinite(values[:, k]))
        if len(there) and abs(values[there[0], k]) >= EPOCH:
            numbers = since_first(values[:, k].copy()) if source.stamps is None else source.stamps(p)
            values[:, k], origins[k] = numbers.values, numbers.origin
    return tuple(origins)


def _is_finite(values: Array) -> bool:
    return all(np.isfinite(values[first : first + TILE]).all() for first in range(0, len(values), TILE))


def _filled(source: Source, wanted: list[int], chosen: Sequence[Sequence[int]]) -> tuple[Array, ...]:
    """The values of each group; columns are let go of when they are in their places."""
    groups: tuple[Array, ...] = ()
    columns = zip(wanted, source.load(wanted), strict=True)
    while some := list(islice(columns, TOGETHER)):
        groups = groups or tuple(np.empty((len(some[0][1]), len(positions))) for positions in chosen)
        places = [
            (group, positions.index(p), column)
            for p, column in some
            for group, positions in zip(groups, chosen, strict=True)
            if p in positions
        ]
        for first in range(0, len(some[0][1]), TILE):
            part = slice(first, first + TILE)
            for group, k, column in places:
                group[part, k] = column[part]
    return groups


def source_of(path: Path, width: int | None = None, progress: Progress = silent) -> Source:
    """The columns of a file, by its ending; `width` is for flat text."""
    file = whole_file(path)
    suffix = file.suffix.lower()
    try:
        if is_bag(path) and width is None:
            return isolated(path, "bag", progress)
        if path.is_dir():
            raise RecordingError(path, _other(path) or _folder_problem(path))
        if not file.exists():
            raise RecordingError(path, "there is no such file; check the name and the folder")
        is_text = suffix in TEXT or (suffix in PACKED and Path(path.stem).suffix.lower() in TEXT)
        if not is_text and suffix not in (*BINARY, *BAGS):
            usable = ", ".join((*TEXT, *BINARY, *BAGS))
            usable += "; of a compressed bag, name its folder" if suffix in (".zstd", ".zst") else ""
            usable += f"; text may be packed ({TEXT[0]}{suffix})" if suffix in PACKED else ""
            raise RecordingError(path, _other(path) or f"files that end in '{suffix}' cannot be read; use {usable}")
        if file.stat().st_size == 0:
            raise RecordingError(path, "the file is empty")
        if width is not None and (not is_text or width < 1):
            raise RecordingError(path, f"width = {width} does not fit; it is for flat text, and at least 1")
        return text(path, width) if is_text else isolated(path, suffix.removeprefix("."), progress)
    except OSError as error:
        raise RecordingError(path, f"the file cannot be read ({error.strerror or error})") from error


def is_log_name(path: Path) -> bool:
    """Whether the ending of a file, or of one that an episode is in, is one of those that can be read."""
    suffix = whole_file(path).suffix.lower()
    return suffix in (*TEXT, *BINARY, *BAGS, *CAPTURES) or (suffix in PACKED and Path(path.stem).suffix.lower() in TEXT)


def _other(path: Path) -> str:
    """What a file is that is no log, and what takes it."""
    return use_of(path, "a log", FileKind.LOG, FileKind.TRAJECTORY)


def _folder_problem(path: Path) -> str:
    """What is wrong with a folder that is no bag."""
    parts = sorted(file.name for file in path.iterdir() if file.suffix in BAGS or file.suffix == ".zstd")
    if not parts:
        return "this is a folder, but a file is needed"
    return f"this is the folder of a bag without its metadata.yaml; make it with 'ros2 bag reindex', or name {parts[0]}"


def _positions(path: Path, source: Source, columns: Columns, joints: Sequence[str] = ()) -> list[int]:
    items = () if columns is None else [columns] if isinstance(columns, str | int) else columns
    found = [position for item in items for position in _matches(path, source, item)]
    if columns is None:
        found = list(range(len(source.names)))
    if len(set(found)) < len(found):
        raise RecordingError(path, f"a column is chosen twice: {_listed([source.names[p] for p in found])}")
    if states_order(columns) or not source.named:
        return found
    order = joint_order([source.names[p] for p in found], joints)
    return found if order is None else [found[k] for k in order]


def states_order(columns: Columns) -> bool:
    """Whether columns are named one by one, so that their order is that of the joints."""
    return columns is not None and not isinstance(columns, str) and (isinstance(columns, int) or len(columns) > 1)


def _matches(path: Path, source: Source, item: str | int) -> list[int]:
    names, last = source.names, len(source.names) - 1
    if isinstance(item, int):
        if not 0 <= item <= last:
            raise RecordingError(path, f"there is no column {item}; columns are counted from 0 to {last}")
        return [item]
    if not source.named:
        raise RecordingError(path, f"there are no names, so give positions from 0 to {last} instead of '{item}'")
    # A name is taken literally first, and `key` stands for the columns key[0], key[1], ... of a 2-D array.
    exact = [p for p, name in enumerate(names) if name == item]
    if len(exact) > 1:
        raise RecordingError(path, f"{len(exact)} columns are called '{item}'; give positions instead")
    found = exact or [p for p, name in enumerate(names) if re.fullmatch(re.escape(item) + r"\[\d+\]", name)]
    found = found or [p for p, name in enumerate(names) if _without_unit(name) == item]
    found = found or sorted((p for p in range(last + 1) if fnmatch.fnmatchcase(names[p], item)), key=_natural(names))
    if not found:
        if item in source.unread:
            what = source.unread[item]
            advice = "save its Time and Data as arrays" if "timeseries" in what else "save its numbers as arrays"
            raise RecordingError(path, f"'{item}' is {what}, which holds no column of its own; {advice}")
        close = difflib.get_close_matches(item, names, n=1)
        advice = f"did you mean '{close[0]}'? " if close else ""
        raise RecordingError(path, f"there is no column '{item}'; {advice}the columns are {_listed(names)}")
    return found


def _without_unit(name: str) -> str:
    """The name of a column that states its unit in brackets, such as `q1 [deg]`."""
    return re.sub(r"\s*(\[[^\]]*\]|\([^)]*\))$", "", name)


def _natural(names: Sequence[str]) -> Callable[[int], list[tuple[int, str]]]:
    def key(position: int) -> list[tuple[int, str]]:
        parts = re.findall(r"[0-9]+|[^0-9]+", names[position])
        return [(int(part), "") if part[0] in "0123456789" else (-1, part) for part in parts]

    return key


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
