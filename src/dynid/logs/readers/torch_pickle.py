"""The pickle of a PyTorch file, read without running it: tensors, arrays, containers, numbers and texts, nothing else.

A pickle is a program that may call anything. Here its instructions are only read (`pickletools`), and those that build
containers, numbers, texts and bytes are followed. What a pickle would import is kept as a name. A call is looked up by
that name among the functions of `_CALLS`, which describe tensors and arrays; any other name refuses the file.
"""

import math
import pickletools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np


class RefusedError(Exception):
    """A pickle holds something that is not read; the message says what, in half a sentence."""


def _refused(what: str) -> RefusedError:
    return RefusedError(f"it holds {what}, which is no tensor, array, list, number or text")


STORAGES = MappingProxyType(
    {
        "DoubleStorage": "float64",
        "FloatStorage": "float32",
        "HalfStorage": "float16",
        "BFloat16Storage": "bfloat16",
        "LongStorage": "int64",
        "IntStorage": "int32",
        "ShortStorage": "int16",
        "CharStorage": "int8",
        "ByteStorage": "uint8",
        "BoolStorage": "bool",
        "ComplexFloatStorage": "complex64",
        "ComplexDoubleStorage": "complex128",
    }
)
"""Kinds of numbers by the storages of PyTorch that hold them."""

KINDS = frozenset((*STORAGES.values(), "uint64", "uint32", "uint16"))
"""Kinds of numbers of tensors; complex ones are known, but make no columns."""

MOST_DIMENSIONS = 16


@dataclass(frozen=True, eq=False)
class Name:
    """What a pickle would import."""

    name: str


@dataclass(frozen=True, eq=False)
class Storage:
    """An entry of the archive with numbers.

    Attributes:
        key: Its name below `data/`.
        kind: Kind of its numbers; nothing where the tensor says it.
    """

    key: str
    kind: str


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor: where its numbers are in a storage.

    Attributes:
        storage: The storage.
        kind: Kind of its numbers, one of `KINDS`.
        offset: Place of the first number in the storage.
        shape: Sizes of its dimensions.
        strides: Numbers from one entry to the next, by dimension.
    """

    storage: Storage
    kind: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def reach(self) -> int:
        """Numbers of the storage up to the last one that the tensor uses."""
        if 0 in self.shape:
            return 0
        return self.offset + sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True)) + 1


@dataclass(frozen=True)
class Kind:
    """A type of numbers of NumPy, by its code such as `f8`, and its order of bytes; empty where it is none of these."""

    code: str
    order: str = "<"


@dataclass(eq=False)
class Pending:
    """An array of NumPy, or a kind of numbers, that the pickle fills in later (BUILD)."""

    value: Any = None


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any, *_: Any) -> Tensor:
    return _checked(storage, storage.kind, offset, shape, strides)


def _tensor_of_kind(storage: Any, offset: Any, shape: Any, strides: Any, _grad: Any, _hooks: Any, kind: Any, *_: Any):
    return _checked(storage, kind.name.removeprefix("torch."), offset, shape, strides)


def _checked(storage: Any, kind: Any, offset: Any, shape: Any, strides: Any) -> Tensor:
    sizes, steps = _sizes(shape), _sizes(strides)
    if not isinstance(storage, Storage) or kind not in KINDS or len(sizes) != len(steps):
        raise ValueError("no tensor")
    (first,) = _sizes((offset,))
    return Tensor(storage, kind, first, sizes, steps)


def _sizes(values: Any) -> tuple[int, ...]:
    """Whole numbers that are not negative."""
    if not isinstance(values, tuple | list) or len(values) > MOST_DIMENSIONS:
        raise ValueError("no sizes")
    if not all(type(n) is int and 0 <= n < 2**62 for n in values):
        raise ValueError("sizes that are no counts")
    return tuple(values)


def _first(value: Any, *_: Any) -> Any:
    return value


def _ordered(*pairs: Any) -> dict[Any, Any]:
    return _pairs([one for pair in pairs[0] for one in pair]) if pairs else {}


def _kind(code: Any, *_: Any) -> Pending:
    return Pending(Kind(code if re.fullmatch(r"[iu][1248]|f[248]|b1", code) else ""))


def _latin(text: Any, encoding: Any = "") -> bytes:
    """Bytes that old protocols write as a text."""
    if encoding != "latin1":
        raise ValueError("another encoding")
    return text.encode("latin1")


def _no_bytes() -> bytes:
    return b""


def _scalar(kind: Any, content: Any) -> Any:
    return _array((), kind, content, by_columns=False)


def _from_buffer(content: Any, kind: Any, shape: Any, order: Any) -> Any:
    return _array(shape, kind, content, by_columns=order == "F")


def _array(shape: Any, kind: Any, content: Any, *, by_columns: bool) -> np.ndarray | None:
    """An array of numbers, of bytes as they are in the pickle; None where it holds something else."""
    sizes, found = _sizes(shape), kind.value
    if not isinstance(found, Kind) or not found.code or not isinstance(content, bytes | bytearray):
        return None
    dtype = np.dtype(found.order + found.code)
    if math.prod(sizes) * dtype.itemsize != len(content):
        raise ValueError("an array of another size")
    return np.frombuffer(bytes(content), dtype).reshape(sizes, order="F" if by_columns else "C")


_MULTIARRAY = ("numpy._core.multiarray", "numpy.core.multiarray")
_NUMERIC = ("numpy._core.numeric", "numpy.core.numeric")

_CALLS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "torch._utils._rebuild_tensor": _tensor,
        "torch._utils._rebuild_tensor_v2": _tensor,
        "torch._utils._rebuild_tensor_v3": _tensor_of_kind,
        "torch._utils._rebuild_parameter": _first,
        "torch._utils._rebuild_parameter_with_state": _first,
        "torch.Size": _first,
        "torch.device": _first,
        "collections.OrderedDict": _ordered,
        "numpy.dtype": _kind,
        "_codecs.encode": _latin,
        "__builtin__.bytes": _no_bytes,
        "builtins.bytes": _no_bytes,
        **{f"{module}._reconstruct": lambda *_: Pending() for module in _MULTIARRAY},
        **{f"{module}.scalar": _scalar for module in _MULTIARRAY},
        **{f"{module}._frombuffer": _from_buffer for module in _NUMERIC},
    }
)
"""What may be called, by name, and our own function for it."""

_UNTYPED = ("torch.storage.UntypedStorage", "torch.UntypedStorage")
_TYPES = frozenset(("numpy.ndarray", *_UNTYPED, *(f"torch.{name}" for name in (*STORAGES, *KINDS))))
"""What may be named as an argument."""


class _Reader:
    """Follows the instructions of a pickle; `value` is what it describes.

    Attributes:
        stack: Values that are not yet used.
        marks: Lengths of the stack at the marks.
        memo: Values that are used again.
    """

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def value(self, content: bytes) -> Any:
        for code, argument, _ in pickletools.genops(content):
            if code.name in _VALUES:
                self.stack.append(argument)
            elif code.name in _CONSTANTS:
                self.stack.append(_CONSTANTS[code.name])
            elif code.name in _STEPS:
                _STEPS[code.name](self, argument)
            elif code.name not in ("PROTO", "FRAME", "STOP"):
                raise _refused(f"the instruction {code.name}")
        (found,) = self.stack
        return found

    def marked(self) -> list[Any]:
        """What lies above the last mark, taken off."""
        at = self.marks.pop()
        found = self.stack[at:]
        del self.stack[at:]
        return found

    def some(self, count: int) -> list[Any]:
        """Values from the top, taken off."""
        found = [self.stack.pop() for _ in range(count)]
        return found[::-1]

    def add(self, value: Any) -> None:
        self.stack.append(value)

    def named(self, name: str) -> None:
        if name not in _CALLS and name not in _TYPES:
            raise _refused(name)
        self.stack.append(Name(name))

    def call(self) -> None:
        function, arguments = self.some(2)
        if not isinstance(function, Name) or function.name not in _CALLS:
            raise _refused("a call of something that is no name")
        self.stack.append(_CALLS[function.name](*arguments))

    def storage(self) -> None:
        what, kind, key, *_ = self.stack.pop()
        if what != "storage" or not isinstance(kind, Name) or not isinstance(key, str):
            raise ValueError("no storage")
        self.stack.append(Storage(key, STORAGES.get(kind.name.removeprefix("torch."), "")))

    def build(self) -> None:
        """Fill in an array or a kind of numbers; attributes of dictionaries and tensors are left out."""
        state = self.stack.pop()
        target = self.stack[-1]
        if not isinstance(target, Pending):
            if not isinstance(target, dict | Tensor):
                raise _refused("the state of something that is no array")
        elif isinstance(target.value, Kind):
            if state[1] in ("<", ">", "|", "="):
                target.value = Kind(target.value.code if state[4] is None else "", state[1].replace("=", "<"))
        else:
            _, shape, kind, by_columns, content = state
            target.value = _array(shape, kind, content, by_columns=bool(by_columns))

    def append(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, list):
            raise _refused("entries of something that is no list")
        target.extend(values)

    def set_items(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, dict):
            raise _refused("entries of something that is no dictionary")
        target.update(_pairs(values))


def _pairs(values: list[Any]) -> dict[Any, Any]:
    """A dictionary of keys and values in turn; keys are plain, since hashes of nested ones may overflow the stack."""
    if not all(isinstance(key, str | bytes | int | float | None) for key in values[::2]):
        raise _refused("a dictionary with keys that are no texts or numbers")
    return dict(zip(values[::2], values[1::2], strict=True))


_NUMBERS = ("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT")
_TEXTS = ("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8")
_BYTES = ("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8")
_VALUES = frozenset((*_NUMBERS, *_TEXTS, *_BYTES))
"""Instructions whose argument is a number, a text or bytes."""

_CONSTANTS = MappingProxyType({"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()})

_STEPS: Mapping[str, Callable[[_Reader, Any], Any]] = MappingProxyType(
    {
        "MARK": lambda reader, _: reader.marks.append(len(reader.stack)),
        "POP": lambda reader, _: reader.stack.pop(),
        "POP_MARK": lambda reader, _: reader.marked(),
        **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), lambda r, at: r.memo.update({at: r.stack[-1]})),
        "MEMOIZE": lambda reader, _: reader.memo.update({len(reader.memo): reader.stack[-1]}),
        **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), lambda r, at: r.add(r.memo[at])),
        "EMPTY_LIST": lambda reader, _: reader.add([]),
        "LIST": lambda reader, _: reader.add(reader.marked()),
        "APPEND": lambda reader, _: reader.append(reader.some(1)),
        "APPENDS": lambda reader, _: reader.append(reader.marked()),
        "TUPLE": lambda reader, _: reader.add(tuple(reader.marked())),
        "TUPLE1": lambda reader, _: reader.add(tuple(reader.some(1))),
        "TUPLE2": lambda reader, _: reader.add(tuple(reader.some(2))),
        "TUPLE3": lambda reader, _: reader.add(tuple(reader.some(3))),
        "EMPTY_DICT": lambda reader, _: reader.add({}),
        "DICT": lambda reader, _: reader.add(_pairs(reader.marked())),
        "SETITEM": lambda reader, _: reader.set_items(reader.some(2)),
        "SETITEMS": lambda reader, _: reader.set_items(reader.marked()),
        "GLOBAL": lambda reader, name: reader.named(".".join(name.split(" ", 1))),
        "STACK_GLOBAL": lambda reader, _: reader.named(".".join(reader.some(2))),
        "REDUCE": lambda reader, _: reader.call(),
        "BUILD": lambda reader, _: reader.build(),
        "BINPERSID": lambda reader, _: reader.storage(),
    }
)
"""Instructions that are followed, besides those of values and constants."""


def described(content: bytes) -> Any:
    """What a pickle describes: `Tensor`, `Pending` arrays, dictionaries, lists, tuples, numbers, texts, bytes and None.

    Raises:
        RefusedError: If it holds anything else; it names what.
        Exception: Any other where it is damaged.
    """
    return _Reader().value(content)
