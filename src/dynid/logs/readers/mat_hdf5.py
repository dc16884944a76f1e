"""MATLAB files of version 7.3, which are HDF5: only columns that are asked for are held; other files are never read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dynid.logs.readers.source import Progress, silent

DEPTH = 8
"""How deep groups in groups are looked at; they are MATLAB's structs."""

MOST = 20_000
"""Entries that are looked at."""

BLOCK = 32_000_000
"""Bytes of an array that are read at once."""


def version_73(
    path: Path, progress: Progress = silent
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
