"""MATLAB objects in MAT files: the numbers that their properties hold, without running any of their code.

The layout is not published by MathWorks; it is the one that readers such as matio and MatFileHandler have found. A
variable that is an object holds a number; all properties of all objects lie in a table beside the variables (MCOS). A
`timeseries` becomes `name.Time` and `name.Data`, a `table` or `timetable` one column for each variable, and other
objects `name.Property`.
"""

import io
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = 0xDD000000
"""First number of a variable that is an object."""

DEPTH = 4
"""How deep objects in objects are looked at."""

_HEAD = 4096
"""Bytes of a variable that hold its class, shape and name."""

_CLASSES = (
    *("unknown", "cell", "struct", "object", "char", "sparse", "double", "single", "int8", "uint8", "int16", "uint16"),
    *("int32", "uint32", "int64", "uint64", "function", "opaque"),
)


@dataclass(frozen=True)
class Variable:
    """A variable of a MAT file of version 5 to 7.

    Attributes:
        name: Its name.
        shape: Its shape; empty for objects.
        kind: Its class, such as "double" or "struct"; that of an object is its own, such as "timeseries".
        is_object: Whether it is an object.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    is_object: bool = False


def variables_of(path: Path) -> Iterator[Variable]:
    """All variables of a MAT file of version 5 to 7, from their heads alone.

    Raises:
        ValueError: If the file is damaged.
    """
    size = path.stat().st_size
    with path.open("rb") as stream:
        mark = stream.read(128)[126:128]
        if mark not in (b"IM", b"MI"):
            raise ValueError("no MAT file of version 5")
        order = "<" if mark == b"IM" else ">"
        while stream.tell() + 8 <= size:
            kind, count = struct.unpack(f"{order}II", stream.read(8))
            place = stream.tell()
            if kind not in (14, 15) or place + count > size:
                raise ValueError("a variable that ends too early")
            head = stream.read(min(count, _HEAD))
            head = zlib.decompressobj().decompress(head, _HEAD)[8:] if kind == 15 else head
            found = _variable(head, order)
            if found is not None:
                yield found
            stream.seek(place + count)


def _variable(head: bytes, order: str) -> Variable | None:
    """A variable by its head; None for the table of objects, which has no name."""
    parts = _elements(head, order)
    flags = int(np.frombuffer(next(parts)[:4], dtype=f"{order}u4")[0])
    kind = _CLASSES[flags & 0xFF] if flags & 0xFF < len(_CLASSES) else "unknown"
    if kind == "opaque":
        name, _, own = (next(parts).decode("latin1") for _ in range(3))
        return Variable(name, (), own, is_object=True)
    shape = np.frombuffer(next(parts), dtype=f"{order}i4")
    name = next(parts).decode("latin1")
    is_logical = bool(flags & 0x200) and kind == "uint8"
    return Variable(name, tuple(shape.tolist()), "logical" if is_logical else kind) if name else None


def _elements(data: bytes, order: str) -> Iterator[bytes]:
    """The parts of a variable, one after the other."""
    place = 0
    while place + 8 <= len(data):
        kind, count = struct.unpack_from(f"{order}II", data, place)
        if kind >> 16:  # a small part lies in its own tag
            small = struct.unpack_from(f"{order}HH", data, place)
            length = small[1] if order == "<" else small[0]
            yield data[place + 4 : place + 4 + min(length, 4)]
            place += 8
        else:
            yield data[place + 8 : place + 8 + count]
            place += 8 + -(-count // 8) * 8


@dataclass(frozen=True, eq=False)
class ObjectTable:
    """Properties of all objects of a file.

    Attributes:
        names: Names of classes and properties; they are counted from 1.
        classes: Indices of the names of classes, counted from 1.
        objects: For each object, counted from 1: its class and the block of its properties (saved by its own code, or
            as they are).
        blocks: Blocks of properties of both kinds: index of the name, kind, and value or index of its cell.
        cells: Values of properties, as the file has them; read when they are asked for.
    """

    names: tuple[str, ...]
    classes: tuple[int, ...]
    objects: tuple[tuple[int, int, int], ...]
    blocks: tuple[tuple[tuple[tuple[int, int, int], ...], ...], ...]
    cells: Callable[[int], Any]

    @staticmethod
    def of(metadata: bytes, cells: Callable[[int], Any]) -> "ObjectTable":
        """Read the table from its first cell.

        Raises:
            ValueError, IndexError: If it is damaged.
        """
        head = np.frombuffer(metadata[: 4 * (len(metadata) // 4)], dtype="<u4")
        count, offsets = int(head[1]), (head[2:8] // 4).astype(int).tolist()
        names = metadata[40 : 4 * offsets[0]].split(b"\0")[:count]
        classes = head[offsets[0] : offsets[1]].reshape(-1, 4)
        objects = head[offsets[2] : offsets[3]].reshape(-1, 6)
        blocks = tuple(
            tuple(_blocks(head[a:b].tolist())) for a, b in ((offsets[1], offsets[2]), (offsets[3], offsets[4]))
        )
        return ObjectTable(
            tuple(name.decode("utf-8", "replace") for name in names),
            tuple(classes[:, 1].tolist()),
            tuple((int(row[0]), int(row[3]), int(row[4])) for row in objects),
            blocks,
            cells,
        )

    def class_of(self, number: int) -> str:
        """The class of an object."""
        return self.names[self.classes[self.objects[number][0]] - 1]

    def properties(self, number: int) -> dict[str, Any]:
        """Properties of an object, by name; numbers that stand in the table itself are left out."""
        _, saved, plain = self.objects[number]
        block = self.blocks[0][saved] if saved else self.blocks[1][plain]
        return {self.names[name - 1]: self.cells(value + 2) for name, kind, value in block if kind == 1}


def _blocks(words: Sequence[int]) -> Iterator[tuple[tuple[int, int, int], ...]]:
    place = 0
    while place < len(words):
        count = words[place]
        own = words[place + 1 : place + 1 + 3 * count]
        if len(own) < 3 * count:
            raise ValueError("a block of properties that ends too early")
        yield tuple((own[k], own[k + 1], own[k + 2]) for k in range(0, 3 * count, 3))
        place += -(-(1 + 3 * count) // 2) * 2


def object_number(values: Any) -> int | None:
    """The number of the object that a variable stands for; None where it is something else, or an array of objects."""
    words = np.asarray(values).ravel() if isinstance(values, np.ndarray) and values.dtype.kind == "u" else np.zeros(0)
    if len(words) < 6 or int(words[0]) != MAGIC:
        return None
    return int(words[-2]) if int(np.prod(words[2 : 2 + int(words[1])])) == 1 else None


def table_of_version_5(path: Path) -> ObjectTable | None:
    """The table of objects of a MAT file of version 5 to 7; None where there is none that can be read."""
    from scipy.io import loadmat

    space = loadmat(str(path), variable_names=["__function_workspace__"]).get("__function_workspace__")
    if space is None:
        return None
    content = np.asarray(space).astype(np.uint8).tobytes()
    inner = loadmat(io.BytesIO(b"objects".ljust(124) + content[:4] + content[8:]))
    for value in inner.values():
        for name in getattr(getattr(value, "dtype", None), "names", None) or ():
            wrapped = value[name][0, 0]
            cells = wrapped["arr"][0] if getattr(wrapped.dtype, "names", None) else wrapped
            cells = cells.ravel()
            if len(cells) > 2 and cells[0].dtype == np.uint8:
                return ObjectTable.of(cells[0].tobytes(), lambda k, cells=cells: cells[k])
    return None


def numbers_of(
    table: ObjectTable, number: int, name: str, arrays: Callable[[str, Any], Iterator[tuple[str, Any]]], depth: int = 0
) -> Iterator[tuple[str, Any]]:
    """Arrays of numbers in the properties of an object, by name.

    Args:
        table: All objects.
        number: The object.
        name: What it is called.
        arrays: Arrays of numbers in a value of the file, such as a struct, by name.
        depth: How deep it lies in others.
    """
    properties = table.properties(number)
    kind = table.class_of(number)
    if kind in ("table", "timetable"):
        yield from _of_table(properties, name, arrays)
        return
    found = False
    for key, value in properties.items():
        inner = object_number(value if isinstance(value, np.ndarray) else None)
        own = f"{name}.{key.rstrip('_')}"
        if inner is not None and depth < DEPTH and 0 < inner < len(table.objects):
            below = list(numbers_of(table, inner, own, arrays, depth + 1))
            yield from below
            if kind == "timeseries" and key.startswith("TimeInfo") and not found:
                yield from _even_time(dict(below), own, name)
        else:
            for each, values in arrays(own, value):
                found = found or each == f"{name}.Time"
                yield each, values


def _even_time(info: dict[str, Any], own: str, name: str) -> Iterator[tuple[str, Any]]:
    """Time of a `timeseries` that keeps start, step and length instead of stamps."""
    start, step, length = (info.get(f"{own}.{key}") for key in ("Start", "Increment", "Length"))
    known = [np.asarray(value).ravel() for value in (start, step, length) if isinstance(value, np.ndarray)]
    if len(known) == 3 and all(len(value) == 1 for value in known):
        first, each, count = (float(value[0]) for value in known)
        if np.isfinite(each) and 1 < count < 1e9:
            yield f"{name}.Time", (first + each * np.arange(int(count)))[:, None]


def _of_table(
    properties: dict[str, Any], name: str, arrays: Callable[[str, Any], Iterator[tuple[str, Any]]]
) -> Iterator[tuple[str, Any]]:
    """Columns of a table, by the names of its variables; those of a timetable lie in a struct."""
    inner = properties.get("any", properties)
    if isinstance(inner, np.ndarray) and inner.dtype.names:
        inner = {key: inner[key][0, 0] for key in inner.dtype.names}
    if not isinstance(inner, dict):
        return
    data, labels = inner.get("data"), inner.get("varnames", inner.get("varNames"))
    if isinstance(data, np.ndarray) and data.dtype == object and isinstance(labels, np.ndarray):
        for label, values in zip(labels.ravel(), data.ravel(), strict=False):
            yield from arrays(f"{name}.{np.asarray(label).ravel()[0] if np.size(label) else label}", values)
    if isinstance(inner.get("rowTimes"), np.ndarray):
        yield from arrays(f"{name}.Time", inner["rowTimes"])
