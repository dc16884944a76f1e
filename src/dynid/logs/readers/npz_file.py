"""NPZ files, without pickle."""

import contextlib
import math
import shutil
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from dynid.logs.readers.array_columns import ArrayColumns
from dynid.logs.readers.column_store import joined
from dynid.logs.readers.source import RecordingError, Source
from dynid.logs.readers.stamps import Numbers, SamePiece, of_array

ROWS = 100_000
"""Rows of an array of NPZ that are read together."""

# What NumPy and zipfile raise on one wrong byte or another (found by flipping bytes).
_NPZ_DAMAGE = (ValueError, EOFError, RuntimeError, KeyError, tokenize.TokenError, zipfile.BadZipFile, zlib.error)


def npz(path: Path) -> Source:
    """The columns of the one- and two-dimensional arrays of an NPZ file; scalars and short vectors are constant."""
    try:
        shapes = _npz_shapes(path)
    except _NPZ_DAMAGE as error:
        raise RecordingError(path, "this is no NPZ file, or it is damaged; write or copy it again") from error
    others = frozenset(key for key, (_, kind) in shapes.items() if kind.kind not in "biuf")
    arrays = ArrayColumns(path, {key: shape for key, (shape, _) in shapes.items()}, others)

    def pieces(positions: list[int], stamps: bool) -> Iterator[tuple[int, Numbers]]:
        wanted = arrays.wanted(positions)
        for key in wanted:
            _check_array(path, key, *shapes[key], is_constant=key in arrays.constants)
        samples = arrays.samples(wanted)
        as_numbers = [SamePiece(lambda values: of_array(values, stamps=stamps), np.concatenate) for _ in positions]
        try:
            for key, values in _npz_values(path, wanted, arrays.constants):
                rows = np.tile(values.reshape(1, -1), (samples, 1)) if key in arrays.constants else values
                for n, k in wanted[key]:
                    found = as_numbers[n](rows[:, k] if rows.ndim == 2 else rows)
                    if found is None:
                        raise RecordingError(path, f"array '{key}' holds texts that are neither numbers nor dates")
                    yield n, found
        except (*_NPZ_DAMAGE, OSError) as error:
            raise RecordingError(path, "the NPZ file is damaged; write or copy it again") from error

    def load(positions: list[int]) -> Iterator[np.ndarray]:
        return joined(pieces(positions, False), len(positions))

    return Source(arrays.names, load, pieces=pieces)


def _npz_values(path: Path, keys: Iterable[str], constants: Collection[str]) -> Iterator[tuple[str, np.ndarray]]:
    """Arrays of an NPZ file: those that are constants, and then some rows of each other at a time."""
    with zipfile.ZipFile(path) as archive, contextlib.ExitStack() as stack:
        members = {name.removesuffix(".npy"): name for name in archive.namelist()}
        reads = {key: _npz_rows(stack.enter_context(archive.open(members[key]))) for key in keys}
        yield from ((key, next(reads.pop(key))) for key in list(reads) if key in constants)
        while reads:
            parts = {key: next(read, None) for key, read in reads.items()}
            found = {key: part for key, part in parts.items() if part is not None}
            if len(found) < len(reads):
                return
            yield from found.items()


def _npz_rows(stream: IO[bytes]) -> Iterator[np.ndarray]:
    """Rows of an array in parts; those of arrays in the order of columns are put in a temporary file before."""
    shape, by_columns, kind = _npz_head(stream)
    shape = shape or (1,)
    samples, width = shape[0], math.prod(shape[1:]) * kind.itemsize
    if by_columns and len(shape) > 1:
        with tempfile.TemporaryFile() as file:
            shutil.copyfileobj(stream, file)
            if file.tell() != samples * width:
                raise ValueError("the array is cut off")
            for first in range(0, max(samples, 1), ROWS):
                count = min(ROWS, samples - first)
                parts = []
                for k in range(shape[1]):
                    file.seek((k * samples + first) * kind.itemsize)
                    parts.append(np.frombuffer(file.read(count * kind.itemsize), dtype=kind))
                yield np.column_stack(parts) if parts else np.zeros((count, 0))
        return
    for first in range(0, max(samples, 1), ROWS):
        size = min(ROWS, samples - first) * width
        content = stream.read(size)
        if len(content) != size:
            raise ValueError("the array is cut off")
        yield np.frombuffer(content, dtype=kind).reshape(-1, *shape[1:])


def _npz_head(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape of an array, whether it is in the order of columns, and its type."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(stream)


def _npz_shapes(path: Path) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """Shapes and types of all arrays, from their heads alone."""
    shapes = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            with archive.open(member) as stream:
                shape, _, kind = _npz_head(stream)
            shapes[member.removesuffix(".npy")] = shape, kind
    return shapes


def _check_array(path: Path, key: str, shape: tuple[int, ...], kind: np.dtype, *, is_constant: bool) -> None:
    if kind.kind not in "biufMmUS":
        what = "Python objects" if kind.hasobject else str(kind)
        raise RecordingError(path, f"array '{key}' holds {what} instead of numbers; save it as floats")
    if len(shape) not in (1, 2) and not is_constant:
        raise RecordingError(path, f"array '{key}' has the shape {shape}, but one or two dimensions are needed")
