"""Delimited text of any kind, and flat text of one number a line."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.logs.readers.source import RecordingError, Source


def check_text(path: Path, content: bytes) -> None:
    """Refuse what is no text of numbers."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise RecordingError(
            path, f"this is not UTF-8 text (byte {error.start + 1}); save it again as UTF-8"
        ) from error
    if not content.strip():
        raise RecordingError(path, "the file is empty")


@dataclass(frozen=True)
class Layout:
    """How delimited text is laid out; no delimiter is any white space."""

    delimiter: str | None
    names: tuple[str, ...]
    named: bool
    first_row: int
    body: bytes

    def fields(self, line: str) -> list[str]:
        """The fields of a line."""
        return [field.strip().strip('"').strip() for field in line.strip(" \r\n").split(self.delimiter)]


def delimited(path: Path, content: bytes) -> Source:
    """The columns of delimited text, with or without a header."""
    layout = layout_of_text(path, content)

    def load(positions: list[int]) -> Sequence[np.ndarray]:
        try:
            # Polars takes no blanks around numbers, NumPy does; neither says well where text is.
            values = _by_polars(layout, positions) if layout.delimiter else None
            return _by_numpy(layout, positions) if values is None else values
        except ValueError as error:
            raise _first_misfit(path, layout, positions) from error

    return Source(layout.names, load, layout.named, layout.first_row)


def layout_of_text(path: Path, content: bytes) -> Layout:
    """How delimited text is laid out, from its beginning or from all of it."""
    start, row, title = 0, 1, ""
    line = ""
    for raw in io.BytesIO(content):
        line = raw.decode().strip(" \r\n")
        if line.strip() and line[0] not in "#%":
            break
        title = line.lstrip("#% ") or title
        start, row = start + len(raw), row + 1
    delimiter = next((mark for mark in "\t;," if mark in line), None)
    layout = Layout(delimiter, (), False, row, b"")
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
    return Layout(delimiter, tuple(names), named, row, body)


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


def _by_polars(layout: Layout, positions: list[int]) -> Sequence[np.ndarray] | None:
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


def _by_numpy(layout: Layout, positions: list[int]) -> Sequence[np.ndarray]:
    lines = [line for line in layout.body.decode().splitlines() if line.strip()]
    if any(len(line.split(layout.delimiter)) != len(layout.names) for line in lines):
        raise ValueError("ragged rows")  # NumPy would read past them when it reads some columns only
    options = {"delimiter": layout.delimiter, "usecols": positions, "comments": None, "quotechar": '"'}
    return list(np.loadtxt(lines, ndmin=2, **options).T)


def _first_misfit(path: Path, layout: Layout, positions: list[int]) -> RecordingError:
    for row, line in enumerate(io.StringIO(layout.body.decode()), layout.first_row):
        fields = layout.fields(line)
        if line.strip() and len(fields) != len(layout.names):
            return RecordingError(path, f"row {row} has {len(fields)} fields instead of {len(layout.names)}")
        for p in positions if line.strip() else ():
            if not _is_number(fields[p]):
                problem = f"row {row} of column '{layout.names[p]}' holds '{fields[p][:40]}' instead of a number"
                return RecordingError(path, problem)
    return RecordingError(path, "this cannot be read as columns of numbers")


def flat(path: Path, content: bytes, width: int) -> Source:
    """The columns of flat text, one number a line and `width` numbers a sample."""
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
    return Source(tuple(map(str, range(width))), lambda positions: list(table[:, positions].T), named=False)
