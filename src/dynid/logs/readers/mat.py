"""MATLAB files: version 5 to 7 with SciPy, version 7.3 (which is HDF5) with h5py. Nothing in them is ever run."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dynid.logs.readers.source import Progress, RecordingError, Source, silent

Shape = tuple[int, ...]

DEPTH = 8
"""How deep structs in structs (groups in groups of HDF5) are looked at."""

MOST_STRUCTS = 100
"""Entries of an array of structs that are looked at, such as the signals of a Simulink scope."""

ADVICE = "save numbers as full(...) arrays, not objects (such as timeseries), cells or sparse matrices"


def mat(path: Path, progress: Progress = silent) -> Source:
    """The columns of the numeric arrays of a MAT file, those in structs as `struct.field`.

    Arrays with fewer rows than columns are turned round: logs have more samples than signals.
    """
    try:
        with path.open("rb") as stream:
            is_hdf5 = b"MATLAB 7.3" in stream.read(128)
        if is_hdf5:
            shapes, read, others = _version_73(path, progress)
            if not shapes:
                found = ", ".join(others[:20]) or "nothing"
                raise RecordingError(path, f"it holds no arrays of numbers, but {found}; {ADVICE}")
            return _columns(path, shapes, read)
        return _columns(path, *_version_5(path, progress))
    except (RecordingError, MemoryError):
        raise
    except Exception as error:  # on untrusted bytes the libraries raise anything
        raise RecordingError(path, "this is no MAT file, or it is damaged; write or copy it again") from error


def _columns(path: Path, shapes: dict[str, Shape], read: Callable[[str, list[int]], np.ndarray]) -> Source:
    places = [(name, k) for name, shape in shapes.items() for k in range(min(shape))]
    names = [f"{name}[{k}]" if min(shapes[name]) > 1 else name for name, k in places]

    def load(positions: list[int]) -> Iterator[np.ndarray]:
        wanted: dict[str, list[int]] = {}
        for name, k in (places[p] for p in positions):
            wanted.setdefault(name, []).append(k)
        first = next(iter(wanted))
        for name in wanted:
            if max(shapes[name]) != max(shapes[first]):
                problem = f"array '{name}' has {max(shapes[name])} samples, but '{first}' has {max(shapes[first])}"
                raise RecordingError(path, problem)
        for name, columns in wanted.items():  # one array at a time is held
            try:
                values = read(name, columns)
            except (RecordingError, MemoryError):
                raise
            except Exception as error:
                raise RecordingError(path, "the MAT file is damaged; write or copy it again") from error
            yield from values
            del values

    return Source(tuple(names), load)


def _version_5(path: Path, progress: Progress) -> tuple[dict[str, Shape], Callable[[str, list[int]], np.ndarray]]:
    from scipy.io import loadmat, whosmat

    kinds = whosmat(str(path))
    numeric = ("double", "single", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "logical")
    shapes = {name: tuple(shape) for name, shape, kind in kinds if kind in numeric and len(shape) == 2 and min(shape)}
    structs = [name for name, shape, kind in kinds if kind == "struct" and tuple(shape) == (1, 1)]
    held = loadmat(str(path), variable_names=structs) if structs else {}
    inner = {key: values for name in structs for key, values in _members(name, held[name])}
    shapes |= {key: values.shape for key, values in inner.items()}
    if not shapes:
        found = ", ".join(f"{name} ({kind})" for name, _, kind in kinds) or "nothing"
        raise RecordingError(path, f"it holds no arrays of numbers, but {found}; {ADVICE}")

    def read(name: str, columns: list[int]) -> np.ndarray:
        progress(f"{path.name}: array {name}")
        try:
            values = inner[name] if name in inner else loadmat(str(path), variable_names=[name])[name]
            if np.iscomplexobj(values):
                raise RecordingError(path, f"array '{name}' holds complex numbers; save their real parts")
            upright = values.T if values.shape[0] < values.shape[1] else values
            return upright.T if columns == list(range(upright.shape[1])) else upright[:, columns].T
        except MemoryError as error:
            problem = (
                f"there is not enough memory for array '{name}', which this version of MAT files holds in one piece"
            )
            raise RecordingError(path, f"{problem}; save it in MATLAB with '-v7.3', which is read in parts") from error

    return shapes, read


def _members(name: str, struct: Any, depth: int = 0) -> Iterator[tuple[str, np.ndarray]]:
    """Numeric arrays in a struct and in structs within it."""
    for field in struct.dtype.names or ():
        values = struct[field][0, 0]
        if not isinstance(values, np.ndarray) or not values.size:
            continue
        if values.dtype.names and depth < DEPTH:
            for k, one in enumerate(values.flat[:MOST_STRUCTS]):
                inner = f"{name}.{field}" if values.size == 1 else f"{name}.{field}[{k}]"
                yield from _members(inner, np.array([[one]], dtype=values.dtype), depth + 1)
        elif values.dtype.kind in "biufc" and values.ndim == 2:
            yield f"{name}.{field}", values


MOST = 20_000
"""Entries that are looked at."""

BLOCK = 32_000_000
"""Bytes of an array that are read at once."""


def _version_73(
    path: Path, progress: Progress
) -> tuple[dict[str, tuple[int, ...]], Callable[[str, list[int]], np.ndarray], list[str]]:
    """Shapes of the arrays of numbers by name, a function that reads columns of one, and the names of all else.

    The function gives columns as rows of an array, shape (columns, samples). Arrays that lie in other files, which HDF5
    would fetch, do not count.
    """
    import h5py

    shapes: dict[str, tuple[int, ...]] = {}
    places: dict[str, str] = {}
    others: list[str] = []
    with h5py.File(path, "r") as file:
        for name, item in _entries(file, "", set(), 0):
            key = name.replace("/", ".")
            if _is_numeric(item):
                shapes[key], places[key] = item.shape[::-1], name  # HDF5 has the last index first
            else:
                others.append(key)
            if len(shapes) + len(others) >= MOST:
                break

    def read(key: str, columns: list[int]) -> np.ndarray:
        with h5py.File(path, "r") as file:
            return _read(file[places[key]], columns, lambda share: progress(f"{path.name}: {share:.0%} of {key}"))

    return shapes, read, others


def _entries(group: Any, prefix: str, seen: set[Any], depth: int) -> Iterator[tuple[str, Any]]:
    """All arrays in a group and those within it; groups in circles are visited once, and links are not followed."""
    import h5py

    for name in group:
        if name.startswith("#") or not isinstance(group.get(name, getlink=True), h5py.HardLink):
            continue
        item = group[name]
        if isinstance(item, h5py.Dataset):
            yield f"{prefix}{name}", item
        elif isinstance(item, h5py.Group) and depth < DEPTH and item.id not in seen:
            seen.add(item.id)
            yield from _entries(item, f"{prefix}{name}/", seen, depth + 1)


def _is_numeric(item: Any) -> bool:
    own = not item.external and not item.is_virtual
    plain = "MATLAB_object_decode" not in item.attrs and "MATLAB_empty" not in item.attrs
    return own and plain and item.dtype.kind in "biuf" and len(item.shape) == 2 and bool(min(item.shape))


def _read(dataset: Any, columns: list[int], said: Callable[[float], None]) -> np.ndarray:
    """Columns of an array, block by block, shape (columns, samples); samples are along its longer side."""
    turned = dataset.shape[0] > dataset.shape[1]
    width, samples = sorted(dataset.shape)
    values = np.empty((len(columns), samples))
    step = max(1, BLOCK // (width * dataset.dtype.itemsize))
    for start in range(0, samples, step):
        part = slice(start, min(start + step, samples))
        block = dataset[part, :].T if turned else dataset[:, part]
        values[:, part] = block[columns]
        said(part.stop / samples)
    return values
