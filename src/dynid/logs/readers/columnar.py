"""NPZ files, without pickle, and Parquet."""

import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dynid.logs.readers.source import Progress, RecordingError, Source, silent
from dynid.logs.readers.stamps import Numbers, of_array, of_series

# What NumPy and zipfile raise on one wrong byte or another (found by flipping bytes).
_NPZ_DAMAGE = (ValueError, EOFError, RuntimeError, KeyError, tokenize.TokenError, zipfile.BadZipFile, zlib.error)


def npz(path: Path) -> Source:
    """The columns of the one- and two-dimensional arrays of an NPZ file."""
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

    def columns(positions: list[int], *, stamps: bool = False) -> Iterator[Numbers]:
        keys = list(dict.fromkeys(places[p][0] for p in positions))
        for key in keys:
            _check_array(path, key, *shapes[key], keys[0], shapes[keys[0]][0])
        try:
            with np.load(path, allow_pickle=False) as arrays:
                values = {key: arrays[key] for key in keys}
        except (*_NPZ_DAMAGE, OSError) as error:
            raise RecordingError(path, "the NPZ file is damaged; write or copy it again") from error
        for key, k in (places[p] for p in positions):
            found = of_array(values[key][:, k] if values[key].ndim == 2 else values[key], stamps=stamps)
            if found is None:
                raise RecordingError(path, f"array '{key}' holds texts that are neither numbers nor dates")
            yield found

    def load(positions: list[int]) -> list[np.ndarray]:
        return [numbers.whole for numbers in columns(positions)]

    return Source(tuple(names), load, stamps=lambda position: next(columns([position], stamps=True)))


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
    if kind.kind not in "biufMmUS":
        what = "Python objects" if kind.hasobject else str(kind)
        raise RecordingError(path, f"array '{key}' holds {what} instead of numbers; save it as floats")
    if len(shape) not in (1, 2):
        raise RecordingError(path, f"array '{key}' has the shape {shape}, but one or two dimensions are needed")
    if shape[0] != first[0]:
        raise RecordingError(path, f"array '{key}' has {shape[0]} samples, but '{other}' has {first[0]}")


def parquet(path: Path, progress: Progress = silent) -> Source:
    """The columns of a Parquet file."""
    import polars as pl

    damage = (pl.exceptions.PolarsError, pl.exceptions.PanicException)  # some wrong bytes make Polars panic
    try:
        schema = pl.read_parquet_schema(path)
    except damage as error:
        raise RecordingError(path, "this is no Parquet file, or it is damaged; write or copy it again") from error
    names = tuple(schema)

    def column(p: int, *, stamps: bool = True) -> Numbers:
        try:
            found = of_series(pl.read_parquet(path, columns=[names[p]])[names[p]], stamps=stamps)
        except (*damage, OSError) as error:
            raise RecordingError(path, "the Parquet file is damaged; write or copy it again") from error
        if found is None:
            raise RecordingError(path, f"column '{names[p]}' holds {schema[names[p]]} instead of numbers")
        return found

    def load(positions: list[int]) -> Iterator[np.ndarray]:
        for p in positions:
            if schema[names[p]].is_nested():
                raise RecordingError(path, f"column '{names[p]}' holds {schema[names[p]]} instead of numbers")
        for k, p in enumerate(positions, 1):  # one column at a time is held
            values = column(p, stamps=False).whole
            progress(f"{path.name}: {k} of {len(positions)} columns")
            yield values

    return Source(names, load, stamps=column)
