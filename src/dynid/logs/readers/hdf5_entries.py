"""The arrays of an HDF5 file that lie in the file itself: no link is followed, nothing is fetched from other files."""

from collections.abc import Iterator
from typing import Any

import numpy as np

DEPTH = 8
"""How deep groups in groups are looked at."""

MOST = 20_000
"""Entries that are looked at."""


BLOCK = 16_000_000
"""Bytes of an array that are read at once."""

WIDEST = 1000
"""Columns of an array that may be signals: wider ones are images."""


def entries(group: Any, prefix: str = "", seen: set[Any] | None = None, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """All arrays in a group and those within it; groups in circles are visited once, and links are not followed."""
    import h5py

    seen = set() if seen is None else seen
    for name in group:
        if name.startswith("#") or not isinstance(group.get(name, getlink=True), h5py.HardLink):
            continue
        item = group[name]
        if isinstance(item, h5py.Dataset):
            yield f"{prefix}{name}", item
        elif isinstance(item, h5py.Group) and depth < DEPTH and item.id not in seen:
            seen.add(item.id)
            yield from entries(item, f"{prefix}{name}/", seen, depth + 1)


def is_elsewhere(item: Any) -> bool:
    """Whether an array lies in other files, which HDF5 would fetch."""
    return bool(item.external) or bool(item.is_virtual)


def exact_kind(item: Any) -> np.dtype:
    """Doubles, but for whole numbers that these have no room for."""
    return item.dtype if item.dtype.kind in "iu" and item.dtype.itemsize == 8 else np.dtype(np.float64)
