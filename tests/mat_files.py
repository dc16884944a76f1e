"""MATLAB files for tests."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

T = np.arange(50) / 100
Q = np.column_stack([np.sin(T), np.cos(T)])


def version_73(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    """A file as MATLAB writes it with -v7.3: HDF5 behind 512 bytes, with indices turned round."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, values in arrays.items():
            file[name] = values.T
    with path.open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file, written by a test".ljust(124) + b"\x00\x02IM")
    return path


def with_object(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    raise NotImplementedError
