"""PyTorch files (`.pt`, `.pth`) of tensors, without PyTorch. Nothing in them is ever run (`torch_pickle`)."""

import math
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dynid.logs.readers.array_columns import ArrayColumns, Shape
from dynid.logs.readers.column_store import joined
from dynid.logs.readers.source import MEMORY, Progress, RecordingError, Source, silent
from dynid.logs.readers.stamps import Numbers, of_array
from dynid.logs.readers.torch_pickle import Pending, RefusedError, Tensor, described

DEPTH = 8
"""How deep dictionaries and lists are looked at."""

MOST = 20_000
"""Entries of dictionaries and lists, and columns, that are looked at."""

MOST_OF_LIST = 100
"""Entries of a list that are looked at one by one, where they do not make one array."""

MOST_IN_LISTS = 1_000_000
"""Numbers and tensors in all lists together that are read; more where the file itself has more bytes for them."""

OLD = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
"""How files of PyTorch before 1.6 begin."""

ADVICE = "save plain tensors: torch.save({'time': time, 'dof_pos': positions, ...}, path)"


def torch_file(path: Path, progress: Progress = silent) -> Source:
    """The columns of the tensors of a PyTorch file, and of NumPy arrays, lists and numbers beside them.

    Names are those of dictionaries, `outer.inner` where these are nested. Dimensions of length one are left out.
    Scalars, and vectors with an entry for each joint, are columns that are constant (`ArrayColumns`).
    """
    try:
        with zipfile.ZipFile(path) as archive:
            content = _Content(path, archive)
            steps, known = content.pickle(archive), _Shapes()
            leaves = dict(_leaves("", described(steps), known, [0]))
        content.check_lists(leaves, known, max(MOST_IN_LISTS, len(steps)))
        shapes = {name: squeezed(shape) for name, (shape, _) in leaves.items() if shape is not None}
        for name in shapes:
            content.check(leaves[name][1])
    except RefusedError as error:
        raise RecordingError(path, f"{error}; nothing of the file was loaded: {ADVICE}") from error
    except (RecordingError, MemoryError):
        raise
    except Exception as error:  # on untrusted bytes the libraries raise anything
        raise RecordingError(path, _no_archive(path)) from error
    others = {name: _kind(value) for name, (shape, value) in leaves.items() if shape is None}
    others |= {name: f"a tensor of shape {shape}" for name, shape in shapes.items() if len(shape) > 2 or 0 in shape}
    shapes = {name: shape for name, shape in shapes.items() if name not in others}
    if not shapes:
        found = ", ".join(f"{name} ({what})" for name, what in list(others.items())[:20]) or "nothing"
        raise RecordingError(path, f"it holds no tensors with samples, but {found}; {ADVICE}")

    def read(names: list[str]) -> Iterator[tuple[str, np.ndarray]]:
        try:
            with zipfile.ZipFile(path) as archive:
                for name in names:  # one tensor at a time is held
                    progress(f"{path.name}: {name}")
                    yield name, content.array(leaves[name][1], archive).reshape(shapes[name])
        except (RecordingError, MemoryError, GeneratorExit):
            raise
        except Exception as error:
            raise RecordingError(path, "the PyTorch file is damaged; write or copy it again") from error

    return _columns(ArrayColumns(path, shapes, labels=_labels(leaves)), read, others)


Read = Callable[[list[str]], Iterator[tuple[str, np.ndarray]]]
"""Reads arrays by their names, one after the other."""


def _columns(arrays: ArrayColumns, read: Read, others: dict[str, str]) -> Source:
    path = arrays.path
    if arrays.count > MOST:
        raise RecordingError(path, f"it holds {arrays.count} columns, and at most {MOST} are read; {ADVICE}")

    def pieces(positions: list[int], stamps: bool) -> Iterator[tuple[int, Numbers]]:
        wanted = arrays.wanted(positions)
        samples = arrays.samples(wanted)
        for name, array in read(list(wanted)):
            upright = array.reshape(1 if name in arrays.constants else samples, -1)
            for n, k in wanted[name]:
                column = of_array(np.broadcast_to(upright[:, k], samples), stamps=stamps)
                if column is None:
                    raise RecordingError(path, f"'{name}' holds numbers that are too large; save it as floats")
                yield n, column

    def load(positions: list[int]) -> Iterator[np.ndarray]:
        return joined(pieces(positions, False), len(positions))

    return Source(arrays.names, load, unread=others, pieces=pieces, samples=arrays.length)


class _Content:
    """The archive of a PyTorch file: a pickle, and entries of raw numbers."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path = path
        self._last = ("", b"")
        self.sizes = {info.filename: info.file_size for info in archive.infolist()}
        self.most = MEMORY[0] + MEMORY[1] * path.stat().st_size
        if sum(self.sizes.values()) > self.most:
            size = f"{sum(self.sizes.values()) / 1e9:.2g} GB of {path.stat().st_size / 1e9:.2g} GB"
            raise RecordingError(path, f"it would unpack to {size}: it is damaged or made to harm; write it again")
        pickles = [name for name in self.sizes if name == "data.pkl" or name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise RecordingError(path, "it is a zip file, but not one that torch.save wrote; write it again with that")
        self.prefix = pickles[0].removesuffix("data.pkl")
        if any(name.startswith(f"{self.prefix}code/") for name in self.sizes):
            raise RecordingError(path, f"it holds a TorchScript model, and no log; {ADVICE}")
        order = f"{self.prefix}byteorder"
        self.is_big = order in self.sizes and archive.read(order).strip() == b"big"

    def pickle(self, archive: zipfile.ZipFile) -> bytes:
        """The pickle that says how numbers make tensors."""
        return archive.read(f"{self.prefix}data.pkl")

    def check_lists(self, leaves: "Mapping[str, Leaf]", shapes: "_Shapes", most: int) -> None:
        """Refuse lists of more than there may be, before anything goes through them: few bytes may name a list often.

        Raises:
            RecordingError: If they hold more than `most` numbers and tensors, or take more memory than there may be.
        """
        lists = {name: leaf for name, leaf in leaves.items() if isinstance(leaf[1], list | tuple) and leaf[0]}
        count = sum(shapes.entries(value) for _, value in lists.values())
        if count > most:
            problem = f"its lists hold {count:.3g} entries, and at most {most:.3g} are read of a file of its size"
            raise RecordingError(self.path, f"{problem}; {ADVICE}")
        for name, (shape, _) in lists.items():
            if 8 * math.prod(shape or ()) > self.most:
                raise RecordingError(self.path, f"list '{name}' of shape {shape} is larger than such a file can hold")

    def check(self, value: Any) -> None:
        """Refuse tensors that reach beyond their numbers, and arrays beyond what there may be.

        Raises:
            RecordingError: If one does.
        """
        for tensor in _tensors(value):
            entry = f"{self.prefix}data/{tensor.storage.key}"
            if entry not in self.sizes:
                raise RecordingError(
                    self.path, f"its entry '{entry}' is missing: it is damaged; write or copy it again"
                )
            if tensor.reach * _size(tensor.kind) > self.sizes[entry]:
                problem = f"a tensor of shape {tensor.shape} reaches beyond its {self.sizes[entry]} bytes"
                raise RecordingError(self.path, f"{problem}: it is damaged; write or copy it again")

    def array(self, value: Any, archive: zipfile.ZipFile) -> np.ndarray:
        """The numbers of a value."""
        if isinstance(value, Tensor):
            return self._of_tensor(value, archive)
        if isinstance(value, Pending):
            return value.value
        if isinstance(value, list | tuple):
            return np.array([self.array(one, archive) for one in value])
        return np.asarray(value)

    def _of_tensor(self, tensor: Tensor, archive: zipfile.ZipFile) -> np.ndarray:
        width, place = _size(tensor.kind), f"{self.prefix}data/{tensor.storage.key}"
        if 8 * math.prod(tensor.shape) > self.most:
            raise RecordingError(self.path, f"a tensor of shape {tensor.shape} is larger than such a file can hold")
        if self._last[0] != place:  # tensors of a list may share one storage
            self._last = (place, archive.read(place))
        raw = self._last[1]
        is_brain = tensor.kind == "bfloat16"
        plain = np.dtype("uint16" if is_brain else tensor.kind)
        kind = plain.newbyteorder(">" if self.is_big else "<")
        flat = np.frombuffer(raw, kind, count=len(raw) // width)
        flat = (flat.astype(np.uint32) << 16).view(np.float32) if is_brain else flat
        strides = tuple(flat.itemsize * step for step in tensor.strides)
        return np.lib.stride_tricks.as_strided(flat[tensor.offset :], tensor.shape, strides, writeable=False)


def _size(kind: str) -> int:
    """Bytes of a number."""
    return 2 if kind == "bfloat16" else np.dtype(kind).itemsize


def _tensors(value: Any) -> Iterator[Tensor]:
    """Tensors of a value that has a shape."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _tensors(one)


class _Shapes:
    """Shapes of values: tensors, arrays and numbers, and lists of such that are alike; None for all others."""

    def __init__(self) -> None:
        self._known: dict[int, Shape | None] = {}
        self._entries: dict[int, int] = {}

    def entries(self, value: Any) -> int:
        """Numbers and tensors of a value whose shape was looked at, each as often as lists name it."""
        return self._entries.get(id(value), 1)

    def of(self, value: Any, depth: int = 0) -> Shape | None:
        if isinstance(value, bool | int | float):
            return ()
        if isinstance(value, Tensor):
            return None if value.kind.startswith("complex") else value.shape
        if isinstance(value, Pending):
            return value.value.shape if isinstance(value.value, np.ndarray) else None
        if isinstance(value, np.ndarray):
            return value.shape
        if not isinstance(value, list | tuple) or not value or depth > DEPTH:
            return None
        if id(value) not in self._known:
            self._known[id(value)] = None  # a list that holds itself has no shape
            inner = {self.of(one, depth + 1) for one in value}
            shape = inner.pop() if len(inner) == 1 else None
            self._known[id(value)] = None if shape is None else (len(value), *shape)
            self._entries[id(value)] = sum(map(self.entries, value))
        return self._known[id(value)]


Leaf = tuple[Shape | None, Any]
"""The shape of a value, None where it is no array of numbers, and the value."""


def _leaves(name: str, value: Any, shapes: _Shapes, seen: list[int], depth: int = 0) -> Iterator[tuple[str, Leaf]]:
    """Values of a dictionary and of those within it, by name."""
    seen[0] += 1
    if seen[0] > MOST:
        raise RefusedError(f"it holds more than {MOST} entries")
    shape = shapes.of(value)
    if isinstance(value, dict) and depth < DEPTH:
        for key, one in value.items():
            own = str(key) if isinstance(key, str | int | float) else f"({type(key).__name__})"
            yield from _leaves(f"{name}.{own}" if name else own, one, shapes, seen, depth + 1)
    elif isinstance(value, list | tuple) and shape is None and depth < DEPTH and not _are_texts(value):
        for k, one in enumerate(value[:MOST_OF_LIST]):
            yield from _leaves(f"{name or 'list'}[{k}]", one, shapes, seen, depth + 1)
    else:
        yield name or "tensor", (shape, value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(one, str) for one in value)


def _labels(leaves: Mapping[str, Leaf]) -> tuple[str, ...]:
    """Names of joints, where a list is called so: the order of columns may be another than that of the robot."""
    for word in ("joint", "dof"):
        for name, (_, value) in leaves.items():
            if word in name.lower() and _are_texts(value) and len(set(value)) == len(value):
                return tuple(value)
    return ()


def squeezed(shape: Shape) -> Shape:
    """A shape without dimensions of length one.

    >>> squeezed((500, 1, 12)), squeezed((1, 500, 12)), squeezed((1, 1))
    ((500, 12), (500, 12), ())
    """
    return tuple(size for size in shape if size != 1)


def _kind(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"a tensor of {value.kind}"
    if isinstance(value, Pending):
        return "an array of something other than numbers"
    if _are_texts(value):
        return "a list of texts"
    return {str: "a text", bytes: "bytes", type(None): "nothing"}.get(type(value), f"a {type(value).__name__}")


def _no_archive(path: Path) -> str:
    """What is wrong with a file that is no archive of tensors, from its first bytes."""
    with path.open("rb") as stream:
        head = stream.read(20)
    if head.startswith(OLD):
        return "it was written by PyTorch before version 1.6, whose files are not read; load it there and save it again"
    if head[:1] == b"\x80":
        return f"it is a pickle, and no file of torch.save, so nothing of it was loaded; {ADVICE}"
    return "this is no PyTorch file, or it is damaged; write or copy it again"
