"""MATLAB files: version 5 to 7 with SciPy, version 7.3 (which is HDF5) with h5py. Nothing in them is ever run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dynid.data.readers.source import RecordingError, Source

Shape = tuple[int, ...]


def mat(path: Path) -> Source:
    """The columns of the numeric arrays of a MAT file, those in structs as `struct.field`.

    Arrays with fewer rows than columns are turned round: logs have more samples than signals.
    """
    try:
        with path.open("rb") as stream:
            is_hdf5 = b"MATLAB 7.3" in stream.read(128)
        return _columns(path, *(_hdf5(path) if is_hdf5 else _version_5(path)))
    except RecordingError:
        raise
    except Exception as error:  # the libraries meet bytes of strangers, and raise whatever these lead to
        raise RecordingError(path, "this is no MAT file, or it is damaged; write or copy it again") from error


def _columns(path: Path, shapes: dict[str, Shape], read: Callable[[str], np.ndarray]) -> Source:
    places = [(name, k) for name, shape in shapes.items() for k in range(min(shape))]
    names = [f"{name}[{k}]" if min(shapes[name]) > 1 else name for name, k in places]

    def load(positions: list[int]) -> Sequence[np.ndarray]:
        keys = list(dict.fromkeys(places[p][0] for p in positions))
        for key in keys:
            if max(shapes[key]) != max(shapes[keys[0]]):
                problem = f"array '{key}' has {max(shapes[key])} samples, but '{keys[0]}' has {max(shapes[keys[0]])}"
                raise RecordingError(path, problem)
        try:
            values = {key: _upright(read(key)) for key in keys}
        except Exception as error:
            raise RecordingError(path, "the MAT file is damaged; write or copy it again") from error
        return [values[key][:, k] for key, k in (places[p] for p in positions)]

    return Source(tuple(names), load)


def _upright(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    return values.T if values.shape[0] < values.shape[1] else values


def _version_5(path: Path) -> tuple[dict[str, Shape], Callable[[str], np.ndarray]]:
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
        raise RecordingError(path, f"it holds no arrays of numbers, but {found}; save numbers, not objects or cells")

    def read(name: str) -> np.ndarray:
        return inner[name] if name in inner else loadmat(str(path), variable_names=[name])[name]

    return shapes, read


def _members(name: str, struct: Any, depth: int = 0) -> Iterator[tuple[str, np.ndarray]]:
    """Numeric arrays in a struct and in structs within it."""
    for field in struct.dtype.names or ():
        values = struct[field][0, 0]
        if not isinstance(values, np.ndarray) or not values.size:
            continue
        if values.dtype.names and values.shape == (1, 1) and depth < 4:
            yield from _members(f"{name}.{field}", values, depth + 1)
        elif values.dtype.kind in "biuf" and values.ndim == 2:
            yield f"{name}.{field}", values


def _hdf5(path: Path) -> tuple[dict[str, Shape], Callable[[str], np.ndarray]]:
    import h5py

    shapes: dict[str, Shape] = {}
    others: list[str] = []

    def visit(name: str, item: Any) -> None:
        if name.startswith("#") or not isinstance(item, h5py.Dataset):
            return
        plain = "MATLAB_object_decode" not in item.attrs and "MATLAB_empty" not in item.attrs
        if plain and item.dtype.kind in "biuf" and len(item.shape) == 2 and min(item.shape):
            shapes[name.replace("/", ".")] = item.shape[::-1]  # HDF5 has the last index first
        else:
            others.append(name)

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    if not shapes:
        found = ", ".join(others[:20]) or "nothing"
        raise RecordingError(path, f"it holds no arrays of numbers, but {found}; save numbers, not objects or cells")

    def read(name: str) -> np.ndarray:
        with h5py.File(path, "r") as file:
            dataset: Any = file[name.replace(".", "/")]
            return np.asarray(dataset[()]).T

    return shapes, read
