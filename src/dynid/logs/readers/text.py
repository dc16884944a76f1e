"""Delimited text of any kind and size, and flat text of one number per line."""

import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dynid.findings import Finding
from dynid.logs.readers import text_layout
from dynid.logs.readers.column_store import joined
from dynid.logs.readers.listed_cells import ListedCells, listed_cells
from dynid.logs.readers.source import RecordingError, Source, cut_end, require_memory
from dynid.logs.readers.stamps import NOTHING, Numbers, SamePiece, of_texts
from dynid.logs.readers.text_layout import PACKED, Layout, as_utf8, is_cell, is_number, layout_of_text

if TYPE_CHECKING:
    import polars as pl

Frame = Callable[[list[int], bool], "pl.DataFrame | None"]
"""Reads some columns as numbers, or as texts; None where lines have different numbers of fields."""

WORDS = [word for each in NOTHING for word in dict.fromkeys((each, each.upper(), each.capitalize(), each.title()))]
"""Words for nothing as Polars should read them."""


def text(path: Path, width: int | None = None) -> Source:
    """The columns of delimited text, or of flat text with so many numbers per sample."""
    if width is None and path.stat().st_size * (8 if path.suffix.lower() in PACKED else 1) >= LARGE:
        return large_delimited(path)
    content = as_utf8(path, text_layout.unpacked(path))
    if width is not None:
        return flat(path, content, width)
    lists = listed_cells(path, content)
    return delimited(path, content if lists is None else lists.whole(content))


def delimited(path: Path, content: bytes) -> Source:
    """The columns of delimited text, with or without a header."""
    layout, cut = text_layout.without_damaged_end(layout_of_text(path, content), content.endswith((b"\n", b"\r")))
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


def _problems(
    layout: Layout, positions: list[int], columns: Sequence[Numbers], sample: int = 0
) -> Iterator[tuple[int, str]]:
    """What is wrong with samples that hold something else than numbers, where some samples are above the layout's."""
    bad = {int(k): p for p, numbers in zip(positions, columns, strict=True) for k in numbers.misfits[:1000].tolist()}
    if not bad:
        return
    for k, line in enumerate(line for line in io.StringIO(layout.body.decode()) if line.strip()):
        if k in bad:
            field = next(iter(layout.fields(line)[bad[k] :]), "nothing")
            row, name = layout.first_row + k, layout.names[bad[k]]
            problem = f"row {row} of column '{name}' holds '{field[:40]}' instead of a number"
            yield sample + k, f"{problem}; {_advice(sample + k)}"


def _advice(sample: int) -> str:
    return f"repair or remove this line, or leave it out with rows (it is sample {sample}, counted from 0)"


def _columns(layout: Layout) -> list[str]:
    return [f"column_{p + 1}" for p in range(layout.width)]


def _by_polars(layout: Layout, positions: list[int], as_text: bool) -> "pl.DataFrame | None":
    import polars as pl

    names, wanted = _columns(layout), set(positions)
    kind = {True: pl.String, False: pl.Float64}[as_text]
    schema = {name: kind if p in wanted else pl.String for p, name in enumerate(names)}
    frame = None
    for words in (None, WORDS):  # looking for words takes as long as all the rest, and most logs have none
        with contextlib.suppress(pl.exceptions.PolarsError):
            frame = pl.read_csv(
                io.BytesIO(layout.body),
                has_header=False,
                separator=layout.delimiter or ",",
                schema=schema,
                columns=[names[p] for p in positions],
                null_values=words,
            )
            break
    if frame is None:
        return None
    marks = _count(layout.body, (layout.delimiter or ",").encode())
    if b'"' not in layout.body and marks != len(frame) * (len(names) - 1):
        return None  # ragged rows, which Polars reads past when it reads some columns only
    return frame


def _count(text: bytes, mark: bytes) -> int:
    """How often a mark of one byte is in a text: NumPy counts frequent ones five times as fast as `bytes.count`."""
    return (
        int(np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == ord(mark))) if len(mark) == 1 else text.count(mark)
    )


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
    return [of_texts(texts, stamps=stamps) for texts in _texts_by_lines(layout, positions, damaged)]


def _texts_by_lines(
    layout: Layout, positions: list[int], damaged: dict[int, str], sample: int = 0
) -> "list[pl.Series]":
    """Columns of texts line by line, the first of which is a sample; damaged lines are empty and noted."""
    import polars as pl

    columns: list[list[str | None]] = [[] for _ in positions]
    for row, line in enumerate(io.StringIO(layout.body.decode()), layout.first_row):
        if not line.strip() or line.lstrip()[0] in "#%":
            continue
        fields, own = layout.fields(line), sample + len(columns[0])
        problem = ""
        if not len(layout.names) <= len(fields) <= layout.width and (len(fields) != layout.width + 1 or fields[-1]):
            problem = f"row {row} has {len(fields)} fields instead of {layout.width}"
        bad = next((p for p in positions if not is_cell(fields[p])), None) if not problem else None
        if bad is not None:
            problem = f"row {row} of column '{layout.names[bad]}' holds '{fields[bad][:40]}' instead of a number"
        if problem:
            damaged[own] = f"{problem}; {_advice(own)}"
        for column, p in zip(columns, positions, strict=True):
            column.append(None if problem else fields[p])
    return [pl.Series(column, dtype=pl.String) for column in columns]


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


LARGE = 32_000_000
"""Size in bytes from which text is read as a stream; packed text already from an eighth of it."""

COPIES = 3
"""Copies of the numbers that are held where all columns are wanted in memory, at the worst (measured)."""

READER = 300_000_000
"""Bytes that the reader itself takes."""

HEAD = 1_000_000
"""Bytes at the beginning from which the layout of the text is known."""

CHUNK = 16_000_000
"""Bytes of the text that are read together."""


@dataclass(frozen=True, eq=False)
class _Stream:
    """Text of which a block of lines is held at a time.

    Attributes:
        path: The file.
        layout: Its layout, with the first of its lines.
        damaged: What is wrong with samples that cannot be read, filled while they are read.
        notes: What was noticed, filled likewise.
        lists: How lists lie in cells; None where there are none.
    """

    path: Path
    layout: Layout
    damaged: dict[int, str]
    notes: list[Finding]
    lists: ListedCells | None = None

    def samples(self) -> int:
        """About how many samples there are; zero for packed text."""
        width = len(self.layout.body) / max(1, self.layout.body.count(b"\n") + 1)
        return 0 if self.path.suffix.lower() in PACKED else int(self.path.stat().st_size / max(width, 1.0))

    def load(self, positions: list[int]) -> Iterator[np.ndarray]:
        """Columns as numbers, one after the other."""
        require_memory(self.path, COPIES * 8 * len(positions) * self.samples() + READER)
        return joined(self.pieces(positions, False), len(positions))

    def stamps(self, position: int) -> Numbers:
        """One column as stamps since the first of them."""
        parts = [numbers for _, numbers in self.pieces([position], True)]
        misfits = np.concatenate([part.misfits for part in parts]) if parts else np.zeros(0, dtype=int)
        return Numbers(np.concatenate([part.values for part in parts]), parts[-1].origin, misfits)

    def pieces(self, positions: list[int], stamps: bool) -> Iterator[tuple[int, Numbers]]:
        """Columns as numbers, block by block; misfits are counted in the file."""
        import polars as pl

        convert = [SamePiece(lambda texts: of_texts(texts, stamps=stamps), pl.concat) for _ in positions]
        sample = 0
        for row, body in self._blocks():
            block = replace(self.layout, first_row=row, body=body)
            count = 0
            for k, numbers in enumerate(self._numbers(block, positions, convert, stamps, sample)):
                count = len(numbers.values)
                yield k, replace(numbers, misfits=numbers.misfits + sample)
            sample += count

    def _numbers(
        self, block: Layout, positions: list[int], convert: list[SamePiece], stamps: bool, sample: int
    ) -> Sequence[Numbers]:
        """Columns of a block that begins with a sample."""
        if not stamps:
            plain = _plain(block, positions)
            if plain is not None:
                return plain
        frame = _by_polars(block, positions, True) if block.delimiter else None
        texts = _texts_by_lines(block, positions, self.damaged, sample) if frame is None else frame.get_columns()
        found = [
            numbers for one, texts_of in zip(convert, texts, strict=True) if (numbers := one(texts_of)) is not None
        ]
        if frame is not None:
            counted = replace(block, first_row=self.layout.first_row + sample)
            self.damaged.update(_problems(counted, positions, found, sample))
        return found

    def _blocks(self) -> Iterator[tuple[int, bytes]]:
        """Blocks of lines as UTF-8, each with the row of its first; without a last line that was cut off."""
        row, before = self.layout.first_row, 0
        chunks = _lines(self.path, self.layout.first_row - 1)
        chunk = next(chunks, b"")
        while chunk:
            following = next(chunks, b"")
            body = b"" if chunk.isspace() else as_utf8(self.path, chunk, before)
            body = body if self.lists is None else self.lists.body(body)
            body = body if self.layout.delimiter == "," else body.replace(b",", b".")
            if not following:
                body = body.rstrip(b" \r\n") if self.layout.delimiter == "\t" else body.rstrip()
                ended = chunk.endswith((b"\n", b"\r"))
                end, cut = text_layout.without_damaged_end(replace(self.layout, first_row=row, body=body), ended)
                body = end.body
                if cut and not self.notes:
                    self.notes.append(cut_end(self.path, cut))
            if body:
                yield row, body
            row, before, chunk = row + _count(chunk, b"\n"), before + len(chunk), following


def _plain(block: Layout, positions: list[int]) -> list[Numbers] | None:
    """Columns of a block that holds nothing but numbers; None for others."""
    if not block.delimiter:
        columns = _by_numpy(block, positions)
        return None if columns is None else [Numbers(column) for column in columns]
    frame = _by_polars(block, positions, False)
    return None if frame is None else [Numbers(column.to_numpy()) for column in frame.get_columns()]


def _lines(path: Path, skipped: int) -> Iterator[bytes]:
    """The text below some lines in chunks of whole lines, the last with at least two where there are as many."""
    last, rest = b"", b""
    for chunk in text_layout.unpacked_chunks(path, CHUNK):
        rest += chunk
        while skipped and (place := rest.find(b"\n") + 1):
            rest, skipped = rest[place:], skipped - 1
        place = rest.rfind(b"\n") + 1
        if skipped or not place:
            if len(rest) > 4 * CHUNK:
                raise RecordingError(path, f"a line has more than {4 * CHUNK / 1e6:.0f} MB; this is no text of numbers")
            continue
        if last:
            yield last
        last, rest = rest[:place], rest[place:]
    if last or rest:
        yield last + rest


def large_delimited(path: Path) -> Source:
    """The columns of delimited text, of which a block of lines is held at a time."""
    head = next(text_layout.unpacked_chunks(path, HEAD), b"")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise RecordingError(path, "this is not UTF-8 text, and too large to be converted; save it again as UTF-8")
    whole = head[: head.rfind(b"\n") + 1] or head
    whole = as_utf8(path, whole)
    lists = listed_cells(path, whole)
    layout = layout_of_text(path, whole if lists is None else lists.whole(whole))
    stream = _Stream(path, layout, {}, [], lists)
    return Source(
        layout.names,
        stream.load,
        layout.named,
        layout.first_row,
        stream.stamps,
        stream.notes,
        damaged=stream.damaged,
        pieces=stream.pieces,
        samples=stream.samples(),
    )
