"""Parquet files: the columns of numbers, also those in lists and structs, of all rows or of one episode."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dynid.logs.readers.column_store import joined
from dynid.logs.readers.lerobot import EPISODES, data_set_of, labels_of
from dynid.logs.readers.source import Progress, RecordingError, Source, silent
from dynid.logs.readers.stamps import Numbers, SamePiece, of_series

PIECE = 1_000_000
"""Samples of a column that are read together: row groups are mostly smaller, and read once then."""

DEPTH = 8
"""How deep lists and structs are looked at."""

MOST_ENTRIES = 10_000
"""Entries of the lists of a column that make columns: more are those of an image."""

MOST_EPISODES = 1_000_000
"""Episodes that a file may have."""

Way = tuple[Any, ...]
"""A column, and which entry of its lists or which field of its structs."""


@dataclass(frozen=True, eq=False)
class _Content:
    """What a Parquet file holds.

    Attributes:
        path: The file.
        places: Names of its columns of numbers, each with its way.
        unread: What else there is: columns, each with what they hold.
        start: The first row that is read.
        count: How many rows are read.
    """

    path: Path
    places: tuple[tuple[str, Way], ...]
    unread: Mapping[str, str]
    start: int
    count: int


def parquet(path: Path, progress: Progress = silent, episode: int | None = None) -> Source:
    """The columns of a Parquet file, or of the rows of one episode; images are passed over without being decoded."""
    data_set = data_set_of(path)
    with _damage_in_words(path, "this is no Parquet file, or it is damaged"):
        content = _content(path, {} if data_set is None else data_set.names, episode)

    def pieces(positions: list[int], stamps: bool) -> Iterator[tuple[int, Numbers]]:
        with _damage_in_words(path, "the Parquet file is damaged"):
            yield from _pieces(content, positions, stamps, progress)

    def load(positions: list[int]) -> Iterator[np.ndarray]:
        return joined(pieces(positions, False), len(positions))

    names, first = tuple(name for name, _ in content.places), content.start + 1
    return Source(names, load, unread=content.unread, pieces=pieces, samples=content.count, first_row=first)


@contextmanager
def _damage_in_words(path: Path, what: str) -> Iterator[None]:
    """Errors of Polars as those of a log: some wrong bytes make it panic."""
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise RecordingError(path, f"{what}; write or copy it again") from error


def _content(path: Path, known: Mapping[str, Sequence[str]], episode: int | None) -> _Content:
    """What a file holds, by its schema and the first row that is read."""
    import polars as pl

    schema = pl.read_parquet_schema(path)
    start, count = 0, int(pl.scan_parquet(path).select(pl.len()).collect().item())
    if episode is not None:
        start, count = _rows_of(path, episode)
    unread = {name: "bytes, such as images" for name, kind in schema.items() if _holds_bytes(kind)}
    nested = [name for name, kind in schema.items() if kind.is_nested() and name not in unread]
    head = pl.scan_parquet(path).select(nested).slice(start, 1).collect() if nested else pl.DataFrame()
    places: list[tuple[str, Way]] = []
    for name in (name for name in schema if name not in unread):
        own = list(_inner(name, schema[name], head[name] if name in nested else None))
        if len(own) > MOST_ENTRIES:
            unread[name] = f"more than {MOST_ENTRIES} numbers a row, such as those of images"
        else:
            places += _labelled(name, own, known)
    return _Content(path, tuple(places), unread, start, count)


def _pieces(content: _Content, positions: list[int], stamps: bool, progress: Progress) -> Iterator[tuple[int, Numbers]]:
    """The numbers of columns, piece by piece; a part of one column of the file at a time is held."""
    import polars as pl

    path, count = content.path, content.count
    as_numbers = [SamePiece(lambda series: of_series(series, stamps=stamps), pl.concat) for _ in positions]
    columns: dict[str, list[int]] = {}
    for k, p in enumerate(positions):
        columns.setdefault(content.places[p][1][0], []).append(k)
    for first in range(0, count, PIECE):
        rows = content.start + first, min(PIECE, count - first)
        for name, own in columns.items():
            column = pl.scan_parquet(path).select(name).slice(*rows).collect()[name]
            for k in own:
                place, way = content.places[positions[k]]
                series = _entry(column, way[1:])
                is_plain = not stamps and series.dtype.is_float()
                found = Numbers(series.cast(pl.Float64).to_numpy()) if is_plain else as_numbers[k](series)
                if found is None:
                    raise RecordingError(path, f"column '{place}' holds {series.dtype} instead of numbers")
                yield k, found
        progress(f"{path.name}: {min(1.0, (first + PIECE) / count):.0%}")


def _holds_bytes(kind: Any) -> bool:
    """Whether a column, or anything within it, holds bytes."""
    import polars as pl

    if isinstance(kind, pl.Struct):
        return any(_holds_bytes(field.dtype) for field in kind.fields)
    if isinstance(kind, pl.List | pl.Array):
        return _holds_bytes(kind.inner)
    return kind == pl.Binary


def _entry(series: Any, way: Sequence[Any]) -> Any:
    """One entry of lists, or one field of structs, of a column."""
    import polars as pl

    for step in way:
        series = series.arr.to_list() if isinstance(series.dtype, pl.Array) else series
        series = series.struct.field(step) if isinstance(step, str) else series.list.get(step, null_on_oob=True)
    return series


def _inner(name: str, kind: Any, first: Any, way: Way = ()) -> Iterator[tuple[str, Way]]:
    """Names and ways of the columns in a column, as many as lists have entries in the first row."""
    import polars as pl

    way = way or (name,)
    if isinstance(kind, pl.Array):
        kind, first = pl.List(kind.inner), None if first is None else first.arr.to_list()
    if isinstance(kind, pl.Struct) and len(way) < DEPTH:
        for field in kind.fields:
            below = None if first is None else first.struct.field(field.name)
            yield from _inner(f"{name}.{field.name}", field.dtype, below, (*way, field.name))
    elif isinstance(kind, pl.List) and len(way) < DEPTH and first is not None and len(first):
        count = int(first.list.len()[0] or 0)
        for k in range(min(count, MOST_ENTRIES + 1)):
            yield from _inner(f"{name}[{k}]", kind.inner, first.list.get(k), (*way, k))
    else:
        yield name, way


def _labelled(
    name: str, own: Sequence[tuple[str, Way]], known: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, Way]]:
    """The columns of a list by the names that the data set has for its entries."""
    is_list = bool(own) and all(len(way) == 2 and isinstance(way[1], int) for _, way in own)
    labels = labels_of(known.get(name, ()), len(own), name) if is_list else [each for each, _ in own]
    yield from ((label, way) for label, (_, way) in zip(labels, own, strict=True))


def episodes_in(path: Path) -> dict[int, tuple[int, int]]:
    """First row and number of rows of each episode of a file; empty where it has no column of episodes.

    Raises:
        RecordingError: If the file is damaged, or rows of an episode do not stand together.
    """
    return dict(_episodes(path, path.stat().st_mtime_ns))


@lru_cache(maxsize=8)
def _episodes(path: Path, _changed: int) -> Mapping[int, tuple[int, int]]:
    import polars as pl

    with _damage_in_words(path, "the Parquet file is damaged"):
        if EPISODES not in pl.read_parquet_schema(path):
            return {}
        column = pl.scan_parquet(path).select(pl.col(EPISODES).cast(pl.Int64)).collect()[EPISODES]
    found: dict[int, tuple[int, int]] = {}
    for number, first, count in _runs(column.to_numpy()):
        if number in found:
            problem = f"rows of episode {number} do not stand together, but again at row {first + 1}"
            raise RecordingError(path, f"{problem}; sort the file by episode_index and frame_index")
        found[number] = first, count
        if len(found) > MOST_EPISODES:
            raise RecordingError(path, f"it has more than {MOST_EPISODES} episodes; split it into several files")
    return found


def _runs(column: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """The runs of equal numbers in a column."""
    edges = np.flatnonzero(np.diff(column)) + 1
    starts = np.concatenate([[0], edges]) if len(column) else edges
    ends = np.concatenate([edges, [len(column)]])
    yield from ((int(column[a]), int(a), int(b - a)) for a, b in zip(starts, ends, strict=False))


def _rows_of(path: Path, episode: int) -> tuple[int, int]:
    """First row of an episode, and how many it has."""
    found = episodes_in(path)
    if episode not in found:
        known = f"its episodes are {min(found)} to {max(found)}" if found else "it has no column episode_index"
        raise RecordingError(path, f"there is no episode {episode}; {known}")
    return found[episode]
