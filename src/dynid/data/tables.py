"""Columns of numbers from the files that robots leave behind: delimited or flat text, Parquet and NPZ.

Each format becomes a `_Source`: the names of its columns, and a function that reads some of them. Choosing columns and
checking their values is then the same for all.
"""

from __future__ import annotations

import difflib
import fnmatch
import io
import re
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from dynid.arrays import Array
from dynid.errors import DynidError

Columns: TypeAlias = str | int | Sequence[str | int] | None
"""Which columns: a name, a pattern such as "q_*", a position (from 0), several of these, or None for all."""

TEXT = (".csv", ".tsv", ".txt", ".dat")

# What NumPy and zipfile raise on one wrong byte or another (found by flipping bytes).
_NPZ_DAMAGE = (ValueError, EOFError, RuntimeError, KeyError, tokenize.TokenError, zipfile.BadZipFile, zlib.error)


class RecordingError(DynidError):
    """A file of a recording cannot be used.

    Attributes:
        path: The file.
        problem: What is wrong, where, and what to try.
    """

    def __init__(self, path: Path | str, problem: str) -> None:
        self.path = str(path).encode(errors="replace").decode()  # names of files need not be text
        self.problem = problem
        super().__init__(f"{self.path}: {problem}")


@dataclass(frozen=True, eq=False)
class Table:
    """Groups of columns of one file.

    Attributes:
        path: The file.
        groups: The values of each group, shape (samples, columns of the group).
        names: The names of each group's columns; positions in words where the file has no names.
        first_row: Row of the file (from 1, the header included) that holds the first sample.
    """

    path: Path
    groups: tuple[Array, ...]
    names: tuple[tuple[str, ...], ...]
    first_row: int


@dataclass(frozen=True)
class _Source:
    names: tuple[str, ...]
    load: Callable[[list[int]], Sequence[np.ndarray]]
    named: bool = True
    first_row: int = 1


def read_columns(path: Path, *, columns: Columns = None, width: int | None = None, count: int | None = None) -> Array:
    """Read columns of one file.

    Args:
        path: A file that ends in .csv, .tsv, .txt, .dat, .parquet or .npz.
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


def read_groups(path: Path, groups: Sequence[Columns], *, width: int | None = None) -> Table:
    """Read several groups of columns of one file at once; arguments and errors are those of `read_columns`."""
    source = _source(path, width)
    chosen = [_positions(path, source, columns) for columns in groups]
    wanted = sorted({position for positions in chosen for position in positions})
    values = dict(zip(wanted, source.load(wanted), strict=True))
    if not wanted or not len(values[wanted[0]]):
        raise RecordingError(path, "there are no rows of numbers; check that the whole log was saved")
    for position in wanted:
        _check_finite(path, source, position, values[position])
    return Table(
        path,
        tuple(np.column_stack([values[p] for p in positions]).astype(np.float64, copy=False) for positions in chosen),
        tuple(tuple(source.names[p] for p in positions) for positions in chosen),
        source.first_row,
    )


def _source(path: Path, width: int | None) -> _Source:
    suffix = path.suffix.lower()
    try:
        if path.is_dir():
            raise RecordingError(path, "this is a folder, but a file is needed")
        if not path.exists():
            raise RecordingError(path, "there is no such file; check the name and the folder")
        if suffix not in (*TEXT, ".parquet", ".npz"):
            raise RecordingError(
                path, f"files that end in '{suffix}' cannot be read; use {', '.join(TEXT)}, .parquet, .npz"
            )
        if path.stat().st_size == 0:
            raise RecordingError(path, "the file is empty")
        if width is not None and (suffix not in TEXT or width < 1):
            raise RecordingError(path, f"width = {width} does not fit; it is for flat text, and at least 1")
        if suffix in TEXT:
            content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
            _check_text(path, content)
            return _delimited(path, content) if width is None else _flat(path, content, width)
        return _parquet(path) if suffix == ".parquet" else _npz(path)
    except OSError as error:
        raise RecordingError(path, f"the file cannot be read ({error.strerror or error})") from error


def _check_text(path: Path, content: bytes) -> None:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise RecordingError(
            path, f"this is not UTF-8 text (byte {error.start + 1}); save it again as UTF-8"
        ) from error
    if not content.strip():
        raise RecordingError(path, "the file is empty")


def _positions(path: Path, source: _Source, columns: Columns) -> list[int]:
    if columns is None:
        return list(range(len(source.names)))
    items = [columns] if isinstance(columns, str | int) else columns
    found = [position for item in items for position in _matches(path, source, item)]
    if len(set(found)) < len(found):
        raise RecordingError(path, f"a column is chosen twice: {_listed([source.names[p] for p in found])}")
    return found


def _matches(path: Path, source: _Source, item: str | int) -> list[int]:
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
    found = found or sorted((p for p in range(last + 1) if fnmatch.fnmatchcase(names[p], item)), key=_natural(names))
    if not found:
        close = difflib.get_close_matches(item, names, n=1)
        advice = f"did you mean '{close[0]}'? " if close else ""
        raise RecordingError(path, f"there is no column '{item}'; {advice}the columns are {_listed(names)}")
    return found


def _natural(names: Sequence[str]) -> Callable[[int], list[tuple[int, str]]]:
    def key(position: int) -> list[tuple[int, str]]:
        parts = re.findall(r"[0-9]+|[^0-9]+", names[position])
        return [(int(part), "") if part[0] in "0123456789" else (-1, part) for part in parts]

    return key


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")


def _check_finite(path: Path, source: _Source, position: int, values: np.ndarray) -> None:
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        problem = f"column '{source.names[position]}' holds {len(bad)} values that are NaN, Inf or missing"
        raise RecordingError(path, f"{problem}, the first in row {source.first_row + bad[0]}; repair or cut these rows")


@dataclass(frozen=True)
class _Layout:
    """How delimited text is laid out; no delimiter is any white space."""

    delimiter: str | None
    names: tuple[str, ...]
    named: bool
    first_row: int
    body: bytes

    def fields(self, line: str) -> list[str]:
        return [field.strip().strip('"').strip() for field in line.strip(" \r\n").split(self.delimiter)]


def _delimited(path: Path, content: bytes) -> _Source:
    layout = _layout(path, content)

    def load(positions: list[int]) -> Sequence[np.ndarray]:
        try:
            # Polars takes no blanks around numbers, NumPy does; neither says well where text is.
            values = _by_polars(layout, positions) if layout.delimiter else None
            return _by_numpy(layout, positions) if values is None else values
        except ValueError as error:
            raise _first_misfit(path, layout, positions) from error

    return _Source(layout.names, load, layout.named, layout.first_row)


def _layout(path: Path, content: bytes) -> _Layout:
    start, row, title = 0, 1, ""
    line = ""
    for raw in io.BytesIO(content):
        line = raw.decode().strip(" \r\n")
        if line.strip() and line[0] not in "#%":
            break
        title = line.lstrip("#% ") or title
        start, row = start + len(raw), row + 1
    delimiter = next((mark for mark in "\t;," if mark in line), None)
    layout = _Layout(delimiter, (), False, row, b"")
    end = content.find(b"\n", start) + 1 or len(content)
    following = content[end : content.find(b"\n", end) + 1 or len(content)].decode()
    first, second, titled = layout.fields(line), layout.fields(following), layout.fields(title)
    if delimiter is None and len(second) == 1 and not any(map(_is_number, first)):
        first = [line]  # one column, whose name holds blanks
    if _is_header(first, second):
        names, named, start, row = first, True, end, row + 1
    else:
        named = len(titled) == len(first) and bool(title)
        names = titled if named else [str(position) for position in range(len(first))]
    below = content[start:].rstrip()
    body = below.lstrip(b"\r\n")
    row += below[: len(below) - len(body)].count(b"\n")  # blank lines below the header
    if not body:
        raise RecordingError(path, "there are no rows of numbers below the header; check that the whole log was saved")
    if delimiter != "," and delimiter is not None:
        body = body.replace(b",", b".")  # numbers as in 0,5 where the delimiter leaves the comma free
    if named and following.strip() and len(second) != len(first):
        problem = f"the header has {len(first)} fields, but row {row} has {len(second)}"
        raise RecordingError(path, f"{problem}; check the delimiter and that names hold none")
    return _Layout(delimiter, tuple(names), named, row, body)


def _is_header(first: list[str], second: list[str]) -> bool:
    """Whether the first line names columns: text above a number, or no number at all."""
    above = any(not _is_number(a) and _is_number(b) for a, b in zip(first, second, strict=False) if a)
    return above or not any(map(_is_number, first))


def _is_number(field: str) -> bool:
    try:
        float(field.replace(",", "."))
    except ValueError:
        return False
    return "_" not in field  # Python reads 1_000 as a number


def _by_polars(layout: _Layout, positions: list[int]) -> Sequence[np.ndarray] | None:
    import polars as pl

    names = [f"column_{p + 1}" for p in range(len(layout.names))]
    schema = {names[p]: pl.Float64 if p in positions else pl.String for p in range(len(names))}
    try:
        frame = pl.read_csv(
            io.BytesIO(layout.body),
            has_header=False,
            separator=layout.delimiter or ",",
            schema=schema,
            columns=[names[p] for p in positions],
        )
    except pl.exceptions.PolarsError:
        return None
    marks = layout.body.count((layout.delimiter or ",").encode())
    if b'"' not in layout.body and marks != len(frame) * (len(names) - 1):
        return None  # ragged rows, which Polars reads past when it reads some columns only
    return [frame[names[p]].to_numpy() for p in positions]


def _by_numpy(layout: _Layout, positions: list[int]) -> Sequence[np.ndarray]:
    lines = [line for line in layout.body.decode().splitlines() if line.strip()]
    if any(len(line.split(layout.delimiter)) != len(layout.names) for line in lines):
        raise ValueError("ragged rows")  # NumPy would read past them when it reads some columns only
    options = {"delimiter": layout.delimiter, "usecols": positions, "comments": None, "quotechar": '"'}
    return list(np.loadtxt(lines, ndmin=2, **options).T)


def _first_misfit(path: Path, layout: _Layout, positions: list[int]) -> RecordingError:
    for row, line in enumerate(io.StringIO(layout.body.decode()), layout.first_row):
        fields = layout.fields(line)
        if line.strip() and len(fields) != len(layout.names):
            return RecordingError(path, f"row {row} has {len(fields)} fields instead of {len(layout.names)}")
        for p in positions if line.strip() else ():
            if not _is_number(fields[p]):
                problem = f"row {row} of column '{layout.names[p]}' holds '{fields[p][:40]}' instead of a number"
                return RecordingError(path, problem)
    return RecordingError(path, "this cannot be read as columns of numbers")


def _flat(path: Path, content: bytes, width: int) -> _Source:
    numbers = content.decode().split()
    try:
        values = np.array(numbers, dtype=np.float64)
    except ValueError as error:
        k, text = next((k, text) for k, text in enumerate(numbers, 1) if not _is_number(text) or "," in text)
        raise RecordingError(path, f"number {k} is '{text[:40]}', but flat text holds numbers only") from error
    if len(values) % width:
        raise RecordingError(path, f"{len(values)} numbers are not a multiple of {width}; check width or a cut-off end")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):  # found here because rows of samples are not rows of the file
        raise RecordingError(path, f"{len(bad)} numbers are NaN or Inf, the first is number {bad[0] + 1} of the file")
    table = values.reshape(-1, width)
    return _Source(tuple(map(str, range(width))), lambda positions: list(table[:, positions].T), named=False)


def _parquet(path: Path) -> _Source:
    import polars as pl

    damage = (pl.exceptions.PolarsError, pl.exceptions.PanicException)  # some wrong bytes make Polars panic
    try:
        schema = pl.read_parquet_schema(path)
    except damage as error:
        raise RecordingError(path, "this is no Parquet file, or it is damaged; write or copy it again") from error
    names = tuple(schema)

    def load(positions: list[int]) -> Sequence[np.ndarray]:
        for p in positions:
            if not schema[names[p]].is_numeric():
                raise RecordingError(path, f"column '{names[p]}' holds {schema[names[p]]} instead of numbers")
        try:
            frame = pl.read_parquet(path, columns=[names[p] for p in positions])
        except (*damage, OSError) as error:
            raise RecordingError(path, "the Parquet file is damaged; write or copy it again") from error
        return [frame[names[p]].cast(pl.Float64).to_numpy() for p in positions]

    return _Source(names, load)


def _npz(path: Path) -> _Source:
    try:
        shapes = _npz_shapes(path)
    except _NPZ_DAMAGE as error:
        raise RecordingError(path, "this is no NPZ file, or it is damaged; write or copy it again") from error
    places: list[tuple[str, int]] = []
    names: list[str] = []
    for key, (shape, _) in shapes.items():
        width = shape[1] if len(shape) == 2 else 1
        places += [(key, k) for k in range(width)]
        names += [f"{key}[{k}]" for k in range(width)] if len(shape) == 2 else [key]

    def load(positions: list[int]) -> Sequence[np.ndarray]:
        keys = list(dict.fromkeys(places[p][0] for p in positions))
        for key in keys:
            _check_array(path, key, *shapes[key], keys[0], shapes[keys[0]][0])
        try:
            with np.load(path, allow_pickle=False) as arrays:
                values = {key: arrays[key] for key in keys}
        except (*_NPZ_DAMAGE, OSError) as error:
            raise RecordingError(path, "the NPZ file is damaged; write or copy it again") from error
        return [
            (values[key] if values[key].ndim == 2 else values[key][:, None])[:, k]
            for key, k in (places[p] for p in positions)
        ]

    return _Source(tuple(names), load)


def _npz_shapes(path: Path) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """Shapes and types of all arrays, from their heads alone."""
    shapes = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            with archive.open(member) as stream:
                version = np.lib.format.read_magic(stream)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, _, kind = read(stream)
            shapes[member.removesuffix(".npy")] = shape, kind
    return shapes


def _check_array(
    path: Path, key: str, shape: tuple[int, ...], kind: np.dtype, other: str, first: tuple[int, ...]
) -> None:
    if kind.kind not in "biuf":
        what = "Python objects" if kind.hasobject else str(kind)
        raise RecordingError(path, f"array '{key}' holds {what} instead of numbers; save it as floats")
    if len(shape) not in (1, 2):
        raise RecordingError(path, f"array '{key}' has the shape {shape}, but one or two dimensions are needed")
    if shape[0] != first[0]:
        raise RecordingError(path, f"array '{key}' has {shape[0]} samples, but '{other}' has {first[0]}")
