"""Delimited text that is too large to hold: its columns are read as a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from dynid.logs.readers.source import RecordingError, Source, require_memory
from dynid.logs.readers.text import Layout, check_text, layout_of_text

LARGE = 256_000_000
"""Size in bytes from which text is read as a stream."""

COPIES = 5
"""Copies of the numbers that the reader holds at its worst (measured)."""

READER = 300_000_000
"""Bytes that the reader itself takes."""

HEAD = 1_000_000
"""Bytes at the beginning that tell how the text is laid out."""


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
            return _by_polars(path, layout, positions) if layout.delimiter else _by_numpy(path, layout, positions)
        except (ValueError, UnicodeDecodeError) as error:
            what = " ".join(str(error).split())[:120]
            raise RecordingError(path, f"this cannot be read as columns of numbers ({what})") from error

    return Source(layout.names, load, layout.named, layout.first_row)


def _by_polars(path: Path, layout: Layout, positions: list[int]) -> Iterable[np.ndarray]:
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


def _by_numpy(path: Path, layout: Layout, positions: list[int]) -> Sequence[np.ndarray]:
    def lines() -> Iterator[str]:
        with path.open(encoding="utf-8-sig") as stream:
            for row, line in enumerate(stream, 1):
                if row >= layout.first_row and line.strip():
                    if len(line.split()) != len(layout.names):
                        raise ValueError(f"row {row} has {len(line.split())} fields instead of {len(layout.names)}")
                    yield line

    return list(np.loadtxt(lines(), ndmin=2, usecols=positions, comments=None).T)
