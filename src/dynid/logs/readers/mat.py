"""MATLAB files: version 4 to 7 with SciPy, version 7.3 (which is HDF5) with h5py. Nothing in them is ever run."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dynid.logs.readers.array_columns import ArrayColumns
from dynid.logs.readers.column_store import joined
from dynid.logs.readers.hdf5_entries import MOST, entries, exact_kind, is_elsewhere
from dynid.logs.readers.matlab_objects import (
    ObjectTable,
    Variable,
    numbers_of,
    object_number,
    table_of_version_5,
    variables_of,
)
from dynid.logs.readers.source import Progress, RecordingError, Source, silent
from dynid.logs.readers.stamps import Numbers, SamePiece, of_array

Shape = tuple[int, ...]

DEPTH = 8
"""How deep structs in structs are looked at."""

MOST_STRUCTS = 100
"""Entries of an array of structs that are looked at, such as the signals of a Simulink scope."""

ADVICE = "save numbers as full(...) arrays (of a timeseries, its Time and Data), not objects, cells or sparse matrices"


@dataclass(frozen=True, eq=False)
class _Content:
    """What a MAT file holds.

    Attributes:
        shapes: Shapes of the arrays of numbers, by name.
        parts: Reads columns of some, piece by piece: which array, and its columns as rows of an array of shape
            (columns, samples).
        others: What else there is: names, each with what it is.
    """

    shapes: dict[str, Shape]
    parts: Callable[[Mapping[str, list[int]]], Iterator[tuple[str, np.ndarray]]]
    others: dict[str, str]


def mat(path: Path, progress: Progress = silent) -> Source:
    """The columns of the numeric arrays of a MAT file, those in structs and objects as `struct.field`.

    Arrays with fewer rows than columns are turned round: logs have more samples than signals.
    """
    try:
        with path.open("rb") as stream:
            head = stream.read(520)
        is_hdf5 = b"MATLAB 7.3" in head[:128] or b"\x89HDF\r\n\x1a\n" in (head[:8], head[512:])
        content = _version_73(path, progress) if is_hdf5 else _version_5(path, progress)
    except (RecordingError, MemoryError):
        raise
    except Exception as error:  # on untrusted bytes the libraries raise anything
        raise RecordingError(path, "this is no MAT file, or it is damaged; write or copy it again") from error
    if not content.shapes:
        found = ", ".join(f"{name} ({what})" for name, what in list(content.others.items())[:20]) or "nothing"
        raise RecordingError(path, f"it holds no arrays of numbers, but {found}; {ADVICE}")
    return _columns(path, content)


def _columns(path: Path, content: _Content) -> Source:
    shapes = content.shapes.items()
    arrays = ArrayColumns(path, {name: (max(own), min(own)) if min(own) > 1 else (max(own),) for name, own in shapes})

    def pieces(positions: list[int], stamps: bool) -> Iterator[tuple[int, Numbers]]:
        wanted = arrays.wanted(positions)
        samples = arrays.samples(wanted)
        columns = {name: [0] if name in arrays.constants else [k for _, k in own] for name, own in wanted.items()}
        convert = [SamePiece(lambda values: of_array(values, stamps=stamps), np.concatenate) for _ in positions]
        try:
            for name, values in content.parts(columns):
                if name in arrays.constants:
                    yield from ((n, Numbers(np.full(samples, float(values[0, k])))) for n, k in wanted[name])
                    continue
                for (n, _), column in zip(wanted[name], values, strict=True):
                    yield n, convert[n](column) or Numbers(np.zeros(0))
        except (RecordingError, MemoryError, GeneratorExit):
            raise
        except Exception as error:
            raise RecordingError(path, "the MAT file is damaged; write or copy it again") from error

    def load(positions: list[int]) -> Iterator[np.ndarray]:
        return joined(pieces(positions, False), len(positions))

    return Source(arrays.names, load, unread=content.others, pieces=pieces)


NUMERIC = frozenset(
    ("double", "single", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "logical")
)


def _version_5(path: Path, progress: Progress) -> _Content:
    from scipy.io import loadmat, whosmat
    from scipy.io.matlab import matfile_version

    if matfile_version(str(path))[0] == 0:  # version 4 has no objects
        kinds = [Variable(name, tuple(shape), kind) for name, shape, kind in whosmat(str(path))]
    else:
        kinds = list(variables_of(path))
    shapes = {one.name: squeezed(one.shape) for one in kinds if one.kind in NUMERIC and is_flat(one.shape)}
    structs = [one.name for one in kinds if one.kind in ("struct", "object") and one.shape == (1, 1)]
    held = loadmat(str(path), variable_names=structs) if structs else {}
    others = {one.name: _described(one) for one in kinds if one.name not in shapes and one.name not in structs}
    inner: dict[str, np.ndarray] = {}
    opaque: dict[str, Any] = {}
    for name in structs:
        members = dict(_members(name, held[name]))
        opaque |= {key: values for key, values in members.items() if _is_opaque(values)}
        inner |= {key: values for key, values in members.items() if key not in opaque}
        others |= {} if members else {name: "a struct without numbers"}
    if any(one.is_object for one in kinds):
        opaque |= {_text(value["s0"][0]): value for value in _opaque_variables(path)}
    if opaque:
        inner |= _objects(path, opaque, others)
    shapes |= {key: squeezed(values.shape) for key, values in inner.items()}

    def read(name: str, columns: list[int]) -> np.ndarray:
        progress(f"{path.name}: array {name}")
        try:
            values = inner[name] if name in inner else loadmat(str(path), variable_names=[name])[name]
            if np.iscomplexobj(values):
                raise RecordingError(path, f"array '{name}' holds complex numbers; save their real parts")
            values = values.reshape(squeezed(values.shape), order="F")
            upright = values.T if values.shape[0] < values.shape[1] else values
            return upright.T if columns == list(range(upright.shape[1])) else upright[:, columns].T
        except MemoryError as error:
            problem = (
                f"there is not enough memory for array '{name}', which this version of MAT files holds in one piece"
            )
            raise RecordingError(path, f"{problem}; save it in MATLAB with '-v7.3', which is read in parts") from error

    def parts(wanted: Mapping[str, list[int]]) -> Iterator[tuple[str, np.ndarray]]:
        yield from ((name, read(name, columns)) for name, columns in wanted.items())  # one array at a time is held

    return _Content(shapes, parts, others)


def _described(one: Variable) -> str:
    return f"a MATLAB object of class {one.kind}" if one.is_object else one.kind


def is_flat(shape: Shape) -> bool:
    """Whether an array has one or two dimensions, but for those of length one, as Simulink adds them."""
    return len(shape) >= 2 and min(shape) > 0 and sum(size > 1 for size in shape) <= 2


def squeezed(shape: Shape) -> Shape:
    """The shape with two dimensions."""
    if len(shape) == 2:
        return tuple(shape)
    sizes = [size for size in shape if size > 1]
    return (*sizes, 1, 1)[:2]


def _is_opaque(values: np.ndarray) -> bool:
    return values.dtype.names is not None and set(values.dtype.names) >= {"s0", "s1", "s2", "arr"}


def _text(value: Any) -> str:
    return value.decode("latin1") if isinstance(value, bytes) else str(value)


def _opaque_variables(path: Path) -> Iterator[np.ndarray]:
    """Variables that are objects, which SciPy calls 'None' all alike: each is read from a file of its own."""
    from scipy.io import loadmat
    from scipy.io.matlab import varmats_from_mat

    with path.open("rb") as stream:
        parts = varmats_from_mat(stream)
    for name, part in parts:
        value = loadmat(part).get("None") if name == "None" else None
        if isinstance(value, np.ndarray) and _is_opaque(value):
            yield value


def _objects(path: Path, opaque: dict[str, Any], others: dict[str, str]) -> dict[str, np.ndarray]:
    """Arrays of numbers in the properties of objects; objects without any stay among the others."""
    table = table_of_version_5(path)
    found: dict[str, np.ndarray] = {}
    for name, value in opaque.items():
        others[name] = f"a MATLAB object of class {_text(value['s2'][0])}"
        number = object_number(value["arr"][0])
        if table is None or number is None:
            continue
        try:
            own = dict(numbers_of(table, number, name, _arrays))
        except (ValueError, IndexError, KeyError):
            continue
        found |= own
    return found


def _arrays(name: str, values: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Arrays of numbers in a value: itself, or those in a struct."""
    if isinstance(values, np.ndarray) and values.size and values.dtype.kind in "biuf" and is_flat(values.shape):
        yield name, values
    elif isinstance(values, np.ndarray) and values.dtype.names and values.shape == (1, 1):
        yield from ((key, inner) for key, inner in _members(name, values) if not _is_opaque(inner))


def _members(name: str, struct: Any, depth: int = 0) -> Iterator[tuple[str, np.ndarray]]:
    """Numeric arrays in a struct and in structs within it."""
    for field in struct.dtype.names or ():
        values = struct[field][0, 0]
        if not isinstance(values, np.ndarray) or not values.size:
            continue
        if _is_opaque(values):
            yield f"{name}.{field}", values
        elif values.dtype.names and depth < DEPTH:
            for k, one in enumerate(values.flat[:MOST_STRUCTS]):
                inner = f"{name}.{field}" if values.size == 1 else f"{name}.{field}[{k}]"
                yield from _members(inner, np.array([[one]], dtype=values.dtype), depth + 1)
        elif values.dtype.kind in "biufc" and is_flat(values.shape):
            yield f"{name}.{field}", values


BLOCK = 16_000_000
"""Bytes of an array that are read at once."""


def _version_73(path: Path, progress: Progress) -> _Content:
    """What a file of version 7.3 holds; arrays that lie in other files, which HDF5 would fetch, do not count."""
    import h5py

    shapes: dict[str, Shape] = {}
    places: dict[str, str | np.ndarray] = {}
    others: dict[str, str] = {}
    with h5py.File(path, "r") as file:
        table = _table_of_version_73(file)
        for name, item in entries(file):
            key = name.replace("/", ".")
            if _is_numeric(item):
                shapes[key], places[key] = item.shape[::-1], item.name  # HDF5 has the last index first
            else:
                others[key] = _kind(item)
                for inner, values in _in_object(table, key, item):
                    places[inner] = values if isinstance(values, np.ndarray) else values.name
                    shapes[inner] = values.shape if isinstance(values, np.ndarray) else values.shape[::-1]
            if len(shapes) + len(others) >= MOST:
                break
    shapes = {key: squeezed(shape) for key, shape in shapes.items()}

    def parts(wanted: Mapping[str, list[int]]) -> Iterator[tuple[str, np.ndarray]]:
        with h5py.File(path, "r") as file:
            for key, columns in wanted.items():
                place = places[key]
                if isinstance(place, np.ndarray):
                    yield key, place.T[columns]
                    continue
                for share, values in _read(file[place], columns):
                    yield key, values
                    progress(f"{path.name}: {share:.0%} of {key}")

    return _Content(shapes, parts, others)


def _kind(item: Any) -> str:
    if is_elsewhere(item):
        return "an array in another file"
    kind = item.attrs.get("MATLAB_class", b"")
    kind = kind.decode("latin1") if isinstance(kind, bytes) else str(kind)
    is_object = "MATLAB_object_decode" in item.attrs and kind != "function_handle"
    return f"a MATLAB object of class {kind}" if is_object else kind or str(item.dtype)


def _table_of_version_73(file: Any) -> ObjectTable | None:
    """The table of objects; None where there is none that can be read."""
    import h5py

    try:
        cells = file["#subsystem#/MCOS"][()].ravel()

        def cell(k: int) -> Any:
            item = file[cells[k]]
            is_plain = isinstance(item, h5py.Dataset) and item.dtype == np.uint32 and (item.size or 0) < 1000
            return item[()].T if is_plain else item

        return ObjectTable.of(file[cells[0]][()].tobytes(), cell)
    except (KeyError, ValueError, IndexError, AttributeError, TypeError, OSError):
        return None


def _in_object(table: ObjectTable | None, key: str, item: Any) -> list[tuple[str, Any]]:
    """Arrays of numbers in the properties of an object, by name."""
    number = object_number(item[()]) if table is not None and "MATLAB_object_decode" in item.attrs else None
    if table is None or number is None:
        return []
    try:
        return list(numbers_of(table, number, key, _datasets))
    except (ValueError, IndexError, KeyError, AttributeError, TypeError, OSError):
        return []


def _datasets(name: str, item: Any) -> Iterator[tuple[str, Any]]:
    """Arrays of numbers in a value: itself, or those in a struct; single numbers are read."""
    import h5py

    if isinstance(item, np.ndarray):
        yield name, item
    elif isinstance(item, h5py.Dataset) and _is_numeric(item):
        yield name, item[()].T if item.size == 1 else item
    elif isinstance(item, h5py.Group):
        yield from ((f"{name}.{inner.replace('/', '.')}", one) for inner, one in entries(item) if _is_numeric(one))


def _is_numeric(item: Any) -> bool:
    plain = "MATLAB_object_decode" not in item.attrs and "MATLAB_empty" not in item.attrs
    return not is_elsewhere(item) and plain and item.dtype.kind in "biuf" and not _is_text(item) and is_flat(item.shape)


def _is_text(item: Any) -> bool:
    return item.attrs.get("MATLAB_class", b"") in (b"char", "char")


def _read(dataset: Any, columns: list[int]) -> Iterator[tuple[float, np.ndarray]]:
    """Columns of an array in blocks of shape (columns, samples), each with the share read by then.

    Samples are along the longer side of the array.
    """
    if len(dataset.shape) != 2:
        values = dataset[()].reshape(squeezed(dataset.shape[::-1])[::-1])
        yield 1.0, (values.T if values.shape[0] > values.shape[1] else values)[columns].astype(exact_kind(dataset))
        return
    turned = dataset.shape[0] > dataset.shape[1]
    width, samples = sorted(dataset.shape)
    step = max(1, BLOCK // (width * dataset.dtype.itemsize))
    for start in range(0, samples, step):
        part = slice(start, min(start + step, samples))
        block = dataset[part, :].T if turned else dataset[:, part]
        yield part.stop / samples, block[columns].astype(exact_kind(dataset), copy=False)
