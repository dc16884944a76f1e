"""Columns of numbers in temporary files, of which any part can be read: for logs that are longer than memory."""

import errno
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.logs.readers.source import RecordingError, Source
from dynid.logs.readers.stamps import Numbers, since_first

BLOCK = 1 << 18
"""Samples of a column that are looked at together."""

SPARE = 200_000_000
"""Bytes that temporary files leave free on their disk."""

PREFIX = "dynid-"
"""How names of temporary folders begin."""

Pieces = Iterable[tuple[int, Numbers]]
"""Which column, and its next numbers."""


def require_space(path: Path, folder: Path, needed: int = 0) -> None:
    """Refuse to fill the disk of temporary files.

    Raises:
        RecordingError: If so many bytes, and some to spare, are not free.
    """
    free = shutil.disk_usage(folder).free
    if needed + SPARE > free:
        what = f"about {needed / 1e9:.2g} GB" if needed else "more space"
        problem = f"reading it takes {what} for temporary files, and {free / 1e9:.2g} GB are free in {_place(folder)}"
        advice = "set TMPDIR to a folder on a larger disk, name fewer columns, or cut the log"
        raise RecordingError(path, f"{problem}; {advice}")


def _place(folder: Path) -> Path:
    """The folder of all temporary files."""
    return next((one for one in folder.parents if not any(part.startswith(PREFIX) for part in one.parts)), folder)


def written(path: Path, folder: Path, pieces: Pieces, count: int, *, whole: bool = True) -> tuple[int, list[float]]:
    """Write columns to files of a folder; gives their length, and what was taken off each.

    Args:
        path: The file that is read.
        folder: Where the columns go, as "0", "1", ...
        pieces: The numbers.
        count: How many columns there are.
        whole: Whether what was taken off is added again.

    Raises:
        RecordingError: If the disk is full, or columns have different lengths.
    """
    origins, lengths = [0.0] * count, [0] * count
    try:
        with ExitStack() as stack:
            files = [stack.enter_context((folder / str(k)).open("wb")) for k in range(count)]
            for k, numbers in pieces:
                require_space(path, folder)
                values = numbers.whole if whole else numbers.values
                files[k].write(np.ascontiguousarray(values, dtype=np.float64).data)
                lengths[k] += len(values)
                origins[k] = 0.0 if whole else numbers.origin
    except OSError as error:
        if error.errno == errno.EFBIG:
            problem = "it unpacks to far more than a file of its size should hold"
            raise RecordingError(path, f"{problem}; write or copy it again, or cut it into several logs") from error
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            problem = f"there is no space left for temporary files in {_place(folder)}"
            raise RecordingError(path, f"{problem}; set TMPDIR to a folder on a larger disk") from error
        raise
    if len(set(lengths)) > 1:
        raise RecordingError(path, f"its columns have different lengths ({min(lengths)} and {max(lengths)})")
    return (lengths[0] if lengths else 0), origins


def pieces_of(source: Source, positions: list[int], *, stamps: bool = False) -> Pieces:
    """The numbers of some columns, piece by piece, or one column after the other where the reader has no pieces."""
    if source.pieces is not None:
        yield from source.pieces(positions, stamps)
    elif stamps:
        read = source.stamps or (lambda p: since_first(next(iter(source.load([p])))))
        yield from ((k, read(p)) for k, p in enumerate(positions))
    else:
        yield from ((k, Numbers(column)) for k, column in enumerate(source.load(positions)))


def joined(pieces: Pieces, count: int) -> Iterator[Array]:
    """Columns as they are in memory, one after the other."""
    parts: list[list[Array]] = [[] for _ in range(count)]
    for k, numbers in pieces:
        parts[k].append(numbers.whole)
    for part in parts:
        column = np.concatenate(part or [np.zeros(0)])
        part.clear()
        yield column


@dataclass(frozen=True, eq=False)
class Column:
    """A column of numbers on disk, or some of its samples in a row, in other units.

    Attributes:
        file: Its numbers, as plain doubles; None for those of an even clock: 0, 1, 2, ... divided by `rate`.
        length: How many samples it has.
        first: The first of its samples in the file.
        scale: What numbers are multiplied with.
        shift: What is taken off numbers then.
        rate: Rate of an even clock [Hz].
        store: Keeps the file.
    """

    file: Path | None
    length: int
    first: int = 0
    scale: float = 1.0
    shift: float = 0.0
    rate: float = 1.0
    store: object = None

    def __len__(self) -> int:
        return self.length

    def read(self, first: int = 0, last: int | None = None) -> Array:
        """Some samples, shape (samples,)."""
        last = self.length if last is None else min(last, self.length)
        first = max(first, 0)
        if self.file is None:
            return np.arange(self.first + first, self.first + last) / self.rate
        values = np.fromfile(self.file, dtype=np.float64, count=max(last - first, 0), offset=8 * (self.first + first))
        if self.scale != 1.0:
            values *= self.scale
        if self.shift:
            values -= self.shift
        return values

    def blocks(self, *, before: int = 0) -> Iterator[tuple[int, Array]]:
        """All samples in blocks: the first of each, and it with so many samples before it."""
        for first in range(0, self.length, BLOCK):
            yield first, self.read(first - before, first + BLOCK)

    def first_number(self) -> float:
        """The first of its numbers that is neither NaN nor infinite; zero where there is none."""
        for _, block in self.blocks():
            there = np.flatnonzero(np.isfinite(block))
            if len(there):
                return float(block[there[0]])
        return 0.0

    def part(self, rows: slice) -> "Column":
        """Samples in a row; both ends are stated."""
        return replace(self, first=self.first + rows.start, length=rows.stop - rows.start)


class ColumnStore:
    """A temporary folder of columns, removed when nothing uses them any more, or the process ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._made = 0
        self.remove = weakref.finalize(self, shutil.rmtree, str(self.folder), ignore_errors=True)

    def take(self, source: Source, positions: list[int], *, stamps: bool = False) -> tuple[list[Column], list[float]]:
        """Columns of a source, and what was taken off each where they are stamps."""
        folder = self._new()
        folder.mkdir()
        require_space(self.path, folder, 8 * len(positions) * source.samples)
        if source.store is not None:
            count, origins = source.store(folder, positions, stamps)
        else:
            pieces = pieces_of(source, positions, stamps=stamps)
            count, origins = written(self.path, folder, pieces, len(positions), whole=not stamps)
        return [Column(folder / str(k), count, store=self) for k in range(len(positions))], origins

    def made(self, blocks: Iterable[Array]) -> Column:
        """A column of blocks of numbers."""
        folder = self._new()
        folder.mkdir()
        count, _ = written(self.path, folder, ((0, Numbers(block)) for block in blocks), 1)
        return Column(folder / "0", count, store=self)

    def without(self, column: Column) -> None:
        """Give the space of a column back that is not used any more."""
        if column.store is self and column.file is not None:
            column.file.unlink(missing_ok=True)

    def _new(self) -> Path:
        self._made += 1
        return self.folder / str(self._made)


Blocks = Callable[[], Iterator[Array]]
"""Begins to go through some numbers, block by block."""


FEW = 2_000_000
"""Numbers that are sorted in memory."""

DIGIT = 16
"""Bits of numbers that are counted in one pass."""


def order_statistics(blocks: Blocks, ranks: Iterable[int]) -> list[float]:
    """Numbers at some places in ascending order, of numbers that are not negative, in four passes over their bits."""
    ranks = list(ranks)
    found = {rank: (0, rank) for rank in ranks}  # the bits that are known, and the rank among those that share them
    for shift in range(64 - DIGIT, -1, -DIGIT):
        counts = {prefix: np.zeros(1 << DIGIT, dtype=np.int64) for prefix, _ in found.values()}
        for block in blocks():
            bits = np.ascontiguousarray(block, dtype=np.float64).view(np.int64) >> shift
            for prefix, count in counts.items():
                own = bits if shift == 64 - DIGIT else bits[(bits >> DIGIT) == prefix]
                count += np.bincount(own & ((1 << DIGIT) - 1), minlength=1 << DIGIT)
        for rank, (prefix, within) in found.items():
            below = np.cumsum(counts[prefix])
            digit = int(np.searchsorted(below, within, side="right"))
            found[rank] = (prefix << DIGIT) | digit, within - (int(below[digit - 1]) if digit else 0)
    return [float(np.array(found[rank][0], dtype=np.int64).view(np.float64)) for rank in ranks]


def quantile_of(blocks: Blocks, count: int, share: float) -> float:
    """What `numpy.quantile` gives for so many numbers that are not negative; half is their median."""
    if count <= FEW:
        values = np.concatenate(list(blocks()))
        return float(np.median(values) if share == 0.5 else np.quantile(values, share))
    place = (count - 1) * share
    low = min(int(place), count - 1)
    near = order_statistics(blocks, sorted({low, min(low + 1, count - 1)}))
    return float(np.quantile(near, place - low)) if share != 0.5 else float(np.mean(near if place > low else near[:1]))
