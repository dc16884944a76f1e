"""PyTorch files for tests, written by hand: the instructions of a pickle, and a zip of raw numbers beside it."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

STORAGES = {
    "float64": "DoubleStorage",
    "float32": "FloatStorage",
    "float16": "HalfStorage",
    "int64": "LongStorage",
    "int32": "IntStorage",
    "int16": "ShortStorage",
    "int8": "CharStorage",
    "uint8": "ByteStorage",
    "bool": "BoolStorage",
    "complex64": "ComplexFloatStorage",
}


@dataclass(frozen=True)
class Named:
    """What a pickle imports, such as "os system"."""

    name: str


@dataclass(frozen=True)
class Called:
    """What a pickle calls."""

    name: str
    arguments: Sequence[Any] = ()


@dataclass(frozen=True)
class Stored:
    """A storage in another entry of the archive."""

    key: str
    kind: str
    count: int


def tensor(values: np.ndarray, key: str, *, stride: Sequence[int] | None = None, offset: int = 0) -> Called:
    """What `torch.save` writes for a tensor whose numbers stand in an entry, by rows."""
    steps = tuple(np.array(values.strides) // values.itemsize) if stride is None else tuple(stride)
    storage = Stored(key, f"torch {STORAGES[str(values.dtype)]}", values.size)
    arguments = (storage, offset, values.shape, tuple(map(int, steps)), False, Called("collections OrderedDict"))
    return Called("torch._utils _rebuild_tensor_v2", arguments)


def instructions(value: Any) -> bytes:
    """The instructions of a pickle of protocol 2 that make a value."""
    if isinstance(value, Named):
        return b"c" + value.name.replace(" ", "\n").encode() + b"\n"
    if isinstance(value, Called):
        return instructions(Named(value.name)) + instructions(tuple(value.arguments)) + b"R"
    if isinstance(value, Stored):
        return instructions(("storage", Named(value.kind), value.key, "cpu", value.count)) + b"Q"
    if isinstance(value, dict):
        return b"}(" + b"".join(instructions(key) + instructions(one) for key, one in value.items()) + b"u"
    if isinstance(value, list):
        return b"](" + b"".join(map(instructions, value)) + b"e"
    if isinstance(value, tuple):
        return b"(" + b"".join(map(instructions, value)) + b"t"
    return pickle.dumps(value, protocol=2)[2:-1]  # numbers and texts, and arrays as NumPy writes them


def write_archive(path: Path, content: bytes, data: Mapping[str, bytes], *, order: str = "little") -> Path:
    """A file of `torch.save`: a pickle without its first and last instruction, and entries of numbers."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{path.stem}/data.pkl", b"\x80\x02" + content + b".")
        archive.writestr(f"{path.stem}/byteorder", order)
        for key, numbers in data.items():
            archive.writestr(f"{path.stem}/data/{key}", numbers)
        archive.writestr(f"{path.stem}/version", "3\n")
    return path


def torch_save(path: Path, values: Mapping[str, Any], *, kind: str = "float32") -> Path:
    """What `torch.save` writes of a dictionary: arrays as tensors of a kind of numbers, others as they are."""
    data: dict[str, bytes] = {}

    def stored(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: stored(one) for key, one in value.items()}
        if isinstance(value, list):
            return [stored(one) for one in value]
        if not isinstance(value, np.ndarray):
            return value
        array, key = np.ascontiguousarray(value, dtype=kind).reshape(value.shape), str(len(data))
        data[key] = array.tobytes()
        return tensor(array, key)

    return write_archive(path, instructions({key: stored(value) for key, value in values.items()}), data)
