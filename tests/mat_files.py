"""MATLAB files for tests."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True)
class Instance:
    """A MATLAB object: its class, and its properties (arrays, texts, or other objects)."""

    kind: str
    properties: dict[str, Any]


def with_objects(path: Path, variables: dict[str, Any], version: str = "5") -> Path:
    """A file with objects among its variables, laid out as MATLAB does, in version 5 (or 7.3)."""
    table = _Table()
    if version == "7.3":
        return _with_objects_73(path, variables, table)
    numbers = {name: table.add(value) for name, value in variables.items() if isinstance(value, Instance)}
    body = b"".join(
        _opaque(name, variables[name].kind, _matrix("", table.reference(numbers[name])))
        if name in numbers
        else _value(name, value, table)
        for name, value in variables.items()
    )
    wrapper = _opaque("", "FileWrapper__", _cell("", [_value("", cell, table) for cell in table.cells()]))
    inner = b"\x00\x01IM\0\0\0\0" + _struct("", {"MCOS": wrapper})
    space = _matrix("", np.frombuffer(inner, dtype=np.uint8)[None, :])
    head = b"MATLAB 5.0 MAT-file, written by a test".ljust(116) + struct.pack("<Q", 128 + len(body)) + b"\x00\x01IM"
    path.write_bytes(head + body + space)
    return path


class _Table:
    """The table of all objects: names, classes, objects, and cells with what their properties hold."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.classes: list[str] = []
        self.objects: list[tuple[int, list[tuple[int, int, int]]]] = []
        self.values: list[Any] = []

    def name(self, text: str) -> int:
        if text not in self.names:
            self.names.append(text)
        return self.names.index(text) + 1

    def add(self, instance: Instance) -> tuple[int, int]:
        """Numbers of an object and of its class."""
        if instance.kind not in self.classes:
            self.classes.append(instance.kind)
        kind = self.classes.index(instance.kind) + 1
        properties: list[tuple[int, int, int]] = []
        for key, value in instance.properties.items():
            held = self.reference(self.add(value)) if isinstance(value, Instance) else value
            properties.append((self.name(key), 1, len(self.values)))
            self.values.append(held)
        self.objects.append((kind, properties))
        return len(self.objects), kind

    @staticmethod
    def reference(numbers: tuple[int, int]) -> np.ndarray:
        return np.array([[0xDD000000], [2], [1], [1], [numbers[0]], [numbers[1]]], dtype=np.uint32)

    def cells(self) -> list[Any]:
        """The first cell says where all properties are; the second is empty."""
        kinds = [self.name(kind) for kind in self.classes]
        names = b"".join(name.encode() + b"\0" for name in self.names)
        names += b"\0" * (-len(names) % 8)
        regions = [
            [0, 0, 0, 0, *(word for kind in kinds for word in (0, kind, 0, 0))],
            [0, 0],
            [0] * 6 + [word for k, (kind, _) in enumerate(self.objects, 1) for word in (kind, 0, 0, 0, k, k)],
            [0, 0, *(word for _, properties in self.objects for word in _block(properties))],
            [0, 0],
        ]
        offsets = [40 + len(names)]
        for region in regions:
            offsets.append(offsets[-1] + 4 * len(region))
        offsets += [offsets[-1]] * (8 - len(offsets))
        words = np.array([word for region in regions for word in region], dtype="<u4").tobytes()
        head = np.array([4, len(self.names), *offsets], dtype="<u4").tobytes()
        first = np.frombuffer(head + names + words, dtype=np.uint8)[:, None]
        return [first, np.zeros((0, 0)), *self.values]


def _block(properties: list[tuple[int, int, int]]) -> list[int]:
    words = [len(properties), *(word for each in properties for word in each)]
    return words + [0] * (len(words) % 2)


def _part(kind: int, data: bytes) -> bytes:
    return struct.pack("<II", kind, len(data)) + data + b"\0" * (-len(data) % 8)


def _start(kind: int, name: str, shape: tuple[int, ...]) -> bytes:
    flags = _part(6, struct.pack("<II", kind, 0))
    return flags + _part(5, np.array(shape, dtype="<i4").tobytes()) + _part(1, name.encode())


KINDS = {"float64": (6, 9), "uint8": (9, 2), "uint32": (13, 6), "int64": (14, 12), "uint64": (15, 13)}


def _matrix(name: str, values: np.ndarray) -> bytes:
    kind, code = KINDS[values.dtype.name]
    return _part(14, _start(kind, name, values.shape) + _part(code, values.tobytes(order="F")))


def _opaque(name: str, kind: str, content: bytes) -> bytes:
    texts = b"".join(_part(1, text.encode()) for text in (name, "MCOS", kind))
    return _part(14, _part(6, struct.pack("<II", 17, 0)) + texts + content)


def _cell(name: str, values: list[bytes]) -> bytes:
    return _part(14, _start(1, name, (len(values), 1)) + b"".join(values))


def _struct(name: str, fields: dict[str, bytes]) -> bytes:
    width = 32
    names = b"".join(key.encode().ljust(width, b"\0") for key in fields)
    start = _start(2, name, (1, 1)) + struct.pack("<HHI", 5, 4, width)
    return _part(14, start + _part(1, names) + b"".join(fields.values()))


def _value(name: str, value: Any, table: _Table) -> bytes:
    if isinstance(value, Instance):
        return _opaque("", value.kind, _matrix("", table.reference(table.add(value))))
    if isinstance(value, dict):
        return _struct(name, {key: _value("", each, table) for key, each in value.items()})
    if isinstance(value, list):
        return _cell(name, [_value("", each, table) for each in value])
    if isinstance(value, str):
        text = _part(4, value.encode("utf-16-le"))
        return _part(14, _start(4, name, (1, len(value))) + text)
    return _matrix(name, value)


def _with_objects_73(path: Path, variables: dict[str, Any], table: _Table) -> Path:
    arrays = {name: value for name, value in variables.items() if not isinstance(value, Instance)}
    version_73(path, arrays)
    with h5py.File(path, "r+") as file:
        for name, value in variables.items():
            if isinstance(value, Instance):
                file[name] = table.reference(table.add(value)).T
                file[name].attrs["MATLAB_class"] = np.bytes_(value.kind)
                file[name].attrs["MATLAB_object_decode"] = np.int32(3)
        references = []
        for k, cell in enumerate(table.cells()):
            place = f"#refs#/{k}"
            if isinstance(cell, str):
                file[place] = np.frombuffer(cell.encode("utf-16-le"), dtype=np.uint16)[:, None]
                file[place].attrs["MATLAB_class"] = np.bytes_("char")
            else:
                file[place] = cell.T
            references.append(file[place].ref)
        kind = h5py.special_dtype(ref=h5py.Reference)
        file.create_dataset("#subsystem#/MCOS", data=np.array([references], dtype=kind), dtype=kind)
        file["#subsystem#/MCOS"].attrs["MATLAB_class"] = np.bytes_("FileWrapper__")
    return path
