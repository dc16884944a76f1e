"""Samples on disk: a log that is too long for memory is passed over a piece at a time."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, overload

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.model.chunks import Chunk

PIECE_SAMPLES = 50_000
"""Samples of a piece, where nobody says how many."""

NUMBERS = ("q", "v", "a", "torque", "temperature", "weight")
FLAGS = ("keep", "measured")


class StoredChunk:
    """Samples of a log on disk, with their time stamps; slices of it are chunks in memory.

    Files are read, not mapped: pages of a map count as memory of the process for as long as it has them.

    Args:
        file: The file of its numbers, one sample after the other; flags stand in another beside it.
        widths: Number of columns of each array that it has.
        samples: Number of samples.
        store: What wrote it, whose folder lives as long as what is in it.
        own: First sample that counts for it and one after the last, where the others are those of its neighbours that
            filters need; all of them when None.
    """

    def __init__(
        self,
        file: Path,
        widths: dict[str, int],
        samples: int,
        store: ChunkStore,
        own: tuple[int, int] | None = None,
    ) -> None:
        self._file = file
        self._widths = widths
        self._samples = samples
        self._store = store
        self.own = (0, samples) if own is None else own

    def __len__(self) -> int:
        return self._samples

    def __getitem__(self, part: slice) -> Chunk:
        """Some of the samples, in memory."""
        first, last = self._ends(part)
        arrays: dict[str, np.ndarray] = {}
        for path, names, kind in ((self._file, NUMBERS, np.float64), (_flags(self._file), FLAGS, np.bool_)):
            own = [name for name in names if name in self._widths]
            width = sum(self._widths[name] for name in own) + (names is NUMBERS)
            whole = _read(path, np.dtype(kind), width, first, last)
            at = int(names is NUMBERS)  # the stamp is the first number
            for name in own:
                values = whole[:, at : at + self._widths[name]]
                if kind is np.float64 or not values.all():  # flags that are all set are the same as none
                    arrays[name] = np.ascontiguousarray(values)
                at += self._widths[name]
        return Chunk(**arrays)

    @property
    def times(self) -> StoredTimes:
        """The time stamps [s]."""
        return StoredTimes(self)

    def stamps(self, part: slice) -> Array:
        """Time stamps [s] of some samples, shape (samples,)."""
        first, last = self._ends(part)
        width = 1 + sum(self._widths[name] for name in NUMBERS if name in self._widths)
        return np.ascontiguousarray(_read(self._file, np.dtype(np.float64), width, first, last)[:, 0])

    def without_keep(self) -> StoredChunk:
        """The same samples, of which all count that were measured."""
        return _Measured(self._file, self._widths, self._samples, self._store, self.own)

    def _ends(self, part: slice) -> tuple[int, int]:
        first, last, step = part.indices(self._samples)
        if step != 1:
            raise InvalidRequestError(f"samples on disk are read in their order, not every {step}")
        return first, max(first, last)


class _Measured(StoredChunk):
    """Samples of which all count that were measured."""

    def __getitem__(self, part: slice) -> Chunk:
        return super().__getitem__(part).without_keep()


class StoredTimes:
    """Time stamps of samples on disk."""

    def __init__(self, chunk: StoredChunk) -> None:
        self._chunk = chunk

    def __len__(self) -> int:
        return len(self._chunk)

    @overload
    def __getitem__(self, part: int) -> float: ...

    @overload
    def __getitem__(self, part: slice) -> Array: ...

    def __getitem__(self, part: int | slice) -> float | Array:
        """A stamp [s], or those of some samples, shape (samples,)."""
        if isinstance(part, slice):
            step = part.step or 1
            return self._chunk.stamps(slice(part.start, part.stop))[::step]
        k = range(len(self))[part]
        return float(self._chunk.stamps(slice(k, k + 1))[0])


Segment = Chunk | StoredChunk
"""Consecutive samples of a log, in memory or on disk: they have a length, and slices of them are chunks."""

Times = Array | StoredTimes
"""Their time stamps [s]."""


def own_samples(segment: Segment) -> tuple[int, int]:
    """First sample of a segment that counts, and one after the last; the others are there for filters."""
    return (0, len(segment)) if isinstance(segment, Chunk) else segment.own


def pieces(segment: Segment, samples: int = PIECE_SAMPLES) -> Iterator[Chunk]:
    """The samples of a segment that count for it in their order, at most so many at a time."""
    begin, end = own_samples(segment)
    for first in range(begin, end, samples):
        yield segment[first : min(first + samples, end)]


def chunks_of(segments: Iterable[Segment]) -> Iterator[Chunk]:
    """The samples of segments in their order: chunks as they are, and what is on disk a piece at a time."""
    for segment in segments:
        if isinstance(segment, Chunk):
            yield segment
        else:
            yield from pieces(segment)


def loaded(segment: Segment) -> Chunk:
    """A segment in memory."""
    return segment if isinstance(segment, Chunk) else segment[:]


class ChunkStore:
    """Writes samples to disk, in pieces, in a folder that is removed when nobody holds its samples any more."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="dynid-samples-"))
        self._count = 0
        weakref.finalize(self, shutil.rmtree, str(self._folder), ignore_errors=True)  # also at the end of the process

    def add(self, parts: Iterator[tuple[Chunk, Array]], own: tuple[int, int] | None = None) -> StoredChunk | None:
        """Store the pieces of a segment with their stamps; None where they hold no sample.

        Args:
            parts: The pieces.
            own: First sample that counts and one after the last; all when None.

        Raises:
            InvalidRequestError: If the disk has no room for them.
        """
        self._count += 1
        file = self._folder / f"segment_{self._count}"
        widths, samples = dict[str, int](), 0
        try:
            with file.open("wb") as numbers, _flags(file).open("wb") as flags:
                for chunk, times in parts:
                    widths = widths or _widths(chunk)
                    _write(numbers, [times[:, None], *_arrays(chunk, NUMBERS, widths)], np.float64)
                    _write(flags, _arrays(chunk, FLAGS, widths), np.bool_)
                    samples += len(chunk)
        except OSError as error:
            free = shutil.disk_usage(self._folder).free
            raise InvalidRequestError(
                f"long logs need room for their samples in {self._folder.parent}, where {free / 1e9:.2g} GB "
                f"are free ({error.strerror or error}); name a larger folder in the environment variable TMPDIR"
            ) from error
        return StoredChunk(file, widths, samples, self, own) if samples else None


def _widths(chunk: Chunk) -> dict[str, int]:
    """Columns of the arrays of a chunk; flags are always stored, since later pieces may have some."""
    arrays = {name: getattr(chunk, name) for name in NUMBERS}
    own = {name: int(x.shape[1]) for name, x in arrays.items() if x is not None}
    return own | {name: int(chunk.torque.shape[1]) for name in FLAGS}


def _arrays(chunk: Chunk, names: Sequence[str], widths: dict[str, int]) -> list[np.ndarray]:
    arrays = {name: getattr(chunk, name) for name in names if name in widths}
    return [np.ones((len(chunk), widths[name]), dtype=bool) if x is None else x for name, x in arrays.items()]


def _write(stream: BinaryIO, arrays: Sequence[np.ndarray], kind: type) -> None:
    if arrays:
        stream.write(np.ascontiguousarray(np.concatenate(arrays, axis=1), dtype=kind).data)


def _flags(file: Path) -> Path:
    return file.with_suffix(".flags")


def _read(path: Path, kind: np.dtype, width: int, first: int, last: int) -> np.ndarray:
    """Samples of a file from first to before last, shape (samples, width)."""
    offset = first * width * kind.itemsize
    return np.fromfile(path, dtype=kind, count=(last - first) * width, offset=offset).reshape(-1, width)
