"""Delimited text of any kind and size, and flat text of one number per line."""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.logs.readers.source import RecordingError, Source, require_memory


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
    """The columns of flat text, one number per line and `width` numbers per sample."""
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


LARGE = 256_000_000
"""Size in bytes from which text is read as a stream."""

COPIES = 5
"""Copies of the numbers that the reader holds at its worst (measured)."""

READER = 300_000_000
"""Bytes that the reader itself takes."""

HEAD = 1_000_000
"""Bytes at the beginning from which the layout of the text is known."""


def large_delimited(path: Path) -> Source:
    """The columns of delimited text, of which only those that are asked for are ever held."""
    with path.open("rb") as stream:
        head = stream.read(HEAD).removeprefix(b"\xef\xbb\xbf")
    head = head[: head.rfind(b"\n") + 1] or head
    check_text(path, head)
    layout = layout_of_text(path, head)
    width = len(layout.body) / max(1, layout.body.count(b"\n") + 1)

    def load(positions: list[int]) -> Iterable[np.ndarray]:
        numbers = len(positions) * path.stat().st_size / max(width, 1.0)
        require_memory(path, int(COPIES * 8 * numbers) + READER)
        try:
            return (
                _streamed_by_polars(path, layout, positions)
                if layout.delimiter
                else _streamed_by_numpy(path, layout, positions)
            )
        except (ValueError, UnicodeDecodeError) as error:
            what = " ".join(str(error).split())[:120]
            raise RecordingError(path, f"this cannot be read as columns of numbers ({what})") from error

    return Source(layout.names, load, layout.named, layout.first_row)


def _streamed_by_polars(path: Path, layout: Layout, positions: list[int]) -> Iterable[np.ndarray]:
    import polars as pl

    names = [f"column_{p + 1}" for p in range(len(layout.names))]
    schema = {names[p]: pl.Float64 if p in positions else pl.String for p in range(len(names))}
    try:
        frame = pl.scan_csv(
            path,
            has_header=False,
            separator=layout.delimiter or ",",
            schema=schema,
            skip_rows=layout.first_row - 1,
            decimal_comma=layout.delimiter != ",",
        )
        columns = frame.select([names[p] for p in positions]).collect(engine="streaming")
    except pl.exceptions.PolarsError as error:
        raise ValueError(str(error)) from error
    # Columns are handed over one by one, so that no two copies of all of them are ever held.
    return (columns.drop_in_place(names[p]).to_numpy() for p in positions)


def _streamed_by_numpy(path: Path, layout: Layout, positions: list[int]) -> Sequence[np.ndarray]:
    def lines() -> Iterator[str]:
        with path.open(encoding="utf-8-sig") as stream:
            for row, line in enumerate(stream, 1):
                if row >= layout.first_row and line.strip():
                    if len(line.split()) != len(layout.names):
                        raise ValueError(f"row {row} has {len(line.split())} fields instead of {len(layout.names)}")
                    yield line

    return list(np.loadtxt(lines(), ndmin=2, usecols=positions, comments=None).T)
