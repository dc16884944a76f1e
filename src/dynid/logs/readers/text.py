"""Delimited text of any kind and size, and flat text of one number per line."""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dynid.logs.readers.source import RecordingError, Source, cut_end, require_memory
from dynid.logs.readers.stamps import EPOCH, NOTHING, Numbers, of_texts
from dynid.logs.readers.text_layout import (
    PACKED,
    Layout,
    as_utf8,
    is_cell,
    is_number,
    layout_of_text,
    unpacked,
    without_damaged_end,
)

if TYPE_CHECKING:
    import polars as pl

Frame = Callable[[list[int], bool], "pl.DataFrame | None"]
"""Reads some columns as numbers, or as texts; None where lines have different numbers of fields."""

WORDS = [word for each in NOTHING for word in dict.fromkeys((each, each.upper(), each.capitalize(), each.title()))]
"""Words for nothing as Polars should read them."""


def text(path: Path, width: int | None = None) -> Source:
    """The columns of delimited text, or of flat text with so many numbers per sample."""
    if width is None and path.suffix.lower() not in PACKED and path.stat().st_size >= LARGE:
        return large_delimited(path)
    content = as_utf8(path, unpacked(path))
    return delimited(path, content) if width is None else flat(path, content, width)


def delimited(path: Path, content: bytes) -> Source:
    """The columns of delimited text, with or without a header."""
    layout, cut = without_damaged_end(layout_of_text(path, content), content.endswith((b"\n", b"\r")))
    damaged: dict[int, str] = {}

    def load(positions: list[int]) -> Sequence[np.ndarray]:
        by_numpy = None if layout.delimiter else _by_numpy(layout, positions)
        if by_numpy is not None:
            return by_numpy
        found = _loaded(lambda *wanted: _by_polars(layout, *wanted), positions)
        if found is None:
            return [numbers.whole for numbers in _by_lines(layout, positions, damaged)]
        damaged.update(_problems(layout, positions, found))
        return [numbers.whole for numbers in found]

    def stamps(position: int) -> Numbers:
        frame = _by_polars(layout, [position], True) if layout.delimiter else None
        if frame is None:
            return _by_lines(layout, [position], {}, stamps=True)[0]
        return of_texts(frame.to_series(0), stamps=True)

    notes = (cut_end(path, cut),) if cut else ()
    return Source(layout.names, load, layout.named, layout.first_row, stamps, notes, damaged=damaged)


def _loaded(read: Frame, positions: list[int]) -> list[Numbers] | None:
    """Columns as numbers, or where some hold texts, as what these say; None where lines do not fit."""
    frame = read(positions, False)
    if frame is not None:
        return [Numbers(frame.drop_in_place(name).to_numpy()) for name in list(frame.columns)]
    frame = read(positions, True)
    return None if frame is None else [of_texts(frame.drop_in_place(name)) for name in list(frame.columns)]


def _problems(layout: Layout, positions: list[int], columns: Sequence[Numbers]) -> Iterator[tuple[int, str]]:
    """What is wrong with samples that hold something else than numbers."""
    bad = {int(k): p for p, numbers in zip(positions, columns, strict=True) for k in numbers.misfits[:1000].tolist()}
    if not bad:
        return
    for k, line in enumerate(line for line in io.StringIO(layout.body.decode()) if line.strip()):
        if k in bad:
            field = next(iter(layout.fields(line)[bad[k] :]), "nothing")
            row, name = layout.first_row + k, layout.names[bad[k]]
            yield k, f"row {row} of column '{name}' holds '{field[:40]}' instead of a number; {_advice(k)}"


def _advice(sample: int) -> str:
    return f"repair or remove this line, or leave it out with rows (it is sample {sample}, counted from 0)"


def _columns(layout: Layout) -> list[str]:
    return [f"column_{p + 1}" for p in range(layout.width)]


def _by_polars(layout: Layout, positions: list[int], as_text: bool) -> "pl.DataFrame | None":
    import polars as pl

    names, wanted = _columns(layout), set(positions)
    is_number = {True: pl.String, False: pl.Float64}[as_text]
    schema = {name: is_number if p in wanted else pl.String for p, name in enumerate(names)}
    try:
        frame = pl.read_csv(
            io.BytesIO(layout.body),
            has_header=False,
            separator=layout.delimiter or ",",
            schema=schema,
            columns=[names[p] for p in positions],
            null_values=WORDS,
        )
    except pl.exceptions.PolarsError:
        return None
    marks = layout.body.count((layout.delimiter or ",").encode())
    if b'"' not in layout.body and marks != len(frame) * (len(names) - 1):
        return None  # ragged rows, which Polars reads past when it reads some columns only
    return frame


def _by_numpy(layout: Layout, positions: list[int]) -> Sequence[np.ndarray] | None:
    lines = [line for line in layout.body.decode().splitlines() if line.strip()]
    if any(len(line.split()) != layout.width for line in lines):
        return None  # NumPy would read past them when it reads some columns only
    try:
        return list(np.loadtxt(lines, ndmin=2, usecols=positions, comments=None, quotechar='"').T)
    except ValueError:
        return None


def _by_lines(layout: Layout, positions: list[int], damaged: dict[int, str], *, stamps: bool = False) -> list[Numbers]:
    """Columns line by line, where these are of all kinds; damaged lines become NaN and are noted."""
    import polars as pl

    columns: list[list[str | None]] = [[] for _ in positions]
    for row, line in enumerate(io.StringIO(layout.body.decode()), layout.first_row):
        if not line.strip() or line.lstrip()[0] in "#%":
            continue
        fields, sample = layout.fields(line), len(columns[0])
        problem = ""
        if not len(layout.names) <= len(fields) <= layout.width and (len(fields) != layout.width + 1 or fields[-1]):
            problem = f"row {row} has {len(fields)} fields instead of {layout.width}"
        bad = next((p for p in positions if not is_cell(fields[p])), None) if not problem else None
        if bad is not None:
            problem = f"row {row} of column '{layout.names[bad]}' holds '{fields[bad][:40]}' instead of a number"
        if problem:
            damaged[sample] = f"{problem}; {_advice(sample)}"
        for column, p in zip(columns, positions, strict=True):
            column.append(None if problem else fields[p])
    return [of_texts(pl.Series(column, dtype=pl.String), stamps=stamps) for column in columns]


def flat(path: Path, content: bytes, width: int) -> Source:
    """The columns of flat text, one number per line and `width` numbers per sample."""
    numbers = content.decode().split()
    try:
        values = np.array(numbers, dtype=np.float64)
    except ValueError as error:
        k, word = next((k, word) for k, word in enumerate(numbers, 1) if not is_number(word) or "," in word)
        raise RecordingError(path, f"number {k} is '{word[:40]}', but flat text holds numbers only") from error
    if len(values) % width:
        raise RecordingError(path, f"{len(values)} numbers are not a multiple of {width}; check width or a cut-off end")
    table = values.reshape(-1, width)
    return Source(tuple(map(str, range(width))), lambda positions: list(table[:, positions].T), named=False)


LARGE = 256_000_000
"""Size in bytes from which text is read as a stream."""

COPIES = 5
"""Copies of the numbers that the reader holds at its worst (measured)."""

READER = 300_000_000
"""Bytes that the reader itself takes."""

HEAD = 1_000_000
"""Bytes at the beginning from which the layout of the text is known, and at the end that show how it ends."""


@dataclass(frozen=True)
class _Large:
    """Text of which only the columns that are asked for are ever held."""

    path: Path
    layout: Layout
    cut: int | None

    def numbers(self, positions: list[int]) -> Iterable[np.ndarray]:
        """Columns as numbers, one after the other, so that no two copies of all of them are ever held."""
        width = len(self.layout.body) / max(1, self.layout.body.count(b"\n") + 1)
        require_memory(
            self.path, int(COPIES * 8 * len(positions) * self.path.stat().st_size / max(width, 1.0)) + READER
        )
        if not self.layout.delimiter:
            return list(self._by_numpy(positions))
        frame = self.frame(positions, as_text=False)
        if frame is not None:
            return (frame.drop_in_place(name).to_numpy() for name in list(frame.columns))
        return self._of_texts(positions)

    def _of_texts(self, positions: list[int]) -> Iterator[np.ndarray]:
        for p in positions:
            numbers = self.stamps(p)  # counted from the first, but for what is small
            if len(numbers.misfits):
                row, name = self.layout.first_row + int(numbers.misfits[0]), self.layout.names[p]
                raise RecordingError(self.path, f"row {row} of column '{name}' holds no number; remove or repair it")
            yield numbers.whole

    def stamps(self, position: int) -> Numbers:
        frame = self.frame([position], as_text=True) if self.layout.delimiter else None
        if frame is None:
            values = next(iter(self._by_numpy([position])))
            return Numbers(values - values[0], float(values[0])) if abs(values[0]) >= EPOCH else Numbers(values)
        series = frame.to_series(0)
        series = series if self.layout.delimiter == "," else series.str.replace(",", ".", literal=True)
        return of_texts(series, stamps=True)

    def frame(self, positions: list[int], *, as_text: bool) -> "pl.DataFrame | None":
        import polars as pl

        names, wanted = _columns(self.layout), set(positions)
        kind = {True: pl.String, False: pl.Float64}[as_text]
        scanned = pl.scan_csv(
            self.path,
            has_header=False,
            separator=self.layout.delimiter or ",",
            schema={name: kind if p in wanted else pl.String for p, name in enumerate(names)},
            skip_rows=self.layout.first_row - 1,
            decimal_comma=self.layout.delimiter != "," and not as_text,
            null_values=WORDS,
        )
        try:
            frame = scanned.select([names[p] for p in positions]).collect(engine="streaming")
        except pl.exceptions.PolarsError as error:
            if not as_text:
                return None
            what = " ".join(str(error).split())[:120]
            raise RecordingError(self.path, f"this cannot be read as columns of numbers ({what})") from error
        return frame.head(-1) if self.cut else frame

    def _by_numpy(self, positions: list[int]) -> Sequence[np.ndarray]:
        def lines() -> Iterator[str]:
            with self.path.open(encoding="utf-8-sig") as stream:
                for row, line in enumerate(stream, 1):
                    if row < self.layout.first_row or not line.strip():
                        continue
                    if len(line.split()) != self.layout.width:
                        if row == self.cut:
                            return
                        raise ValueError(f"row {row} has {len(line.split())} fields instead of {self.layout.width}")
                    yield line

        try:
            return list(np.loadtxt(lines(), ndmin=2, usecols=positions, comments=None).T)
        except (ValueError, UnicodeDecodeError) as error:
            what = " ".join(str(error).split())[:120]
            raise RecordingError(self.path, f"this cannot be read as columns of numbers ({what})") from error


def large_delimited(path: Path) -> Source:
    """The columns of delimited text, of which only those that are asked for are ever held."""
    with path.open("rb") as stream:
        head = stream.read(HEAD)
        stream.seek(max(0, path.stat().st_size - HEAD))
        tail = stream.read()
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise RecordingError(path, "this is not UTF-8 text, and too large to be converted; save it again as UTF-8")
    head = head[: head.rfind(b"\n") + 1] or head
    layout = layout_of_text(path, as_utf8(path, head))
    cut = _row_of_cut(path, layout, tail)
    large = _Large(path, layout, cut)
    notes = (cut_end(path, cut),) if cut else ()
    return Source(layout.names, large.numbers, layout.named, layout.first_row, large.stamps, notes)


def _row_of_cut(path: Path, layout: Layout, tail: bytes) -> int | None:
    """The row of a last line that was not written to its end, if there is one."""
    lines = tail[tail.find(b"\n") + 1 :] if len(tail) == HEAD else tail
    end = Layout(layout.delimiter, layout.names, layout.named, 0, lines.rstrip(), layout.width)
    try:
        _, row = without_damaged_end(end, tail.endswith((b"\n", b"\r")))
    except UnicodeDecodeError:
        return None
    if row is None:
        return None
    with path.open("rb") as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(HEAD), b"")) + 1
