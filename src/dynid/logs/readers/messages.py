"""Numbers in messages: which there are, by type, and how to take them out of one message after the other."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

NAMES = ("name", "joint_names", "dof_names")
"""Fields that name the entries of all lists of a message, such as those of `sensor_msgs/JointState`."""

NUMBERS = ("float32", "float64", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "bool")
"""Types that count as numbers; uint8 is left out, for images and other blobs are lists of it."""

INTERFACES = ("position", "velocity", "effort")
"""Interfaces of `control_msgs/DynamicJointState` that are looked for."""

DEPTH = 4
"""How deep fields of fields are looked at."""


@dataclass(frozen=True)
class Field:
    """A field of a message type that holds numbers.

    Attributes:
        path: Names of the attributes that lead to it, such as ("actual", "positions").
        is_list: Whether it holds a list of numbers, or one.
    """

    path: tuple[str, ...]
    is_list: bool

    @property
    def name(self) -> str:
        """Its name, such as "actual.positions"."""
        return ".".join(self.path)

    def of(self, message: Any) -> Any:
        """Its value in a message."""
        for part in self.path:
            message = _interface(message, part) if isinstance(message, list) else getattr(message, part)
        return message


def _interface(entries: list[Any], name: str) -> list[float]:
    """One interface of all joints of a `control_msgs/DynamicJointState`; NaN for joints without it."""
    return [dict(zip(one.interface_names, one.values, strict=False)).get(name, np.nan) for one in entries]


def fields_of(kind: str, types: Mapping[str, Any], prefix: tuple[str, ...] = ()) -> Iterator[Field]:
    """All fields of a message type that hold numbers; headers, stamps and blobs are left out.

    Args:
        kind: Name of the type, such as "sensor_msgs/msg/JointState".
        types: Definitions by name, as the library of bags has them: (constants, fields).
        prefix: Attributes that lead to it.
    """
    if kind not in types or len(prefix) >= DEPTH or kind.startswith(("std_msgs/msg/Header", "builtin_interfaces/")):
        return
    for name, (node, inner) in types[kind][1]:
        path = (*prefix, name)
        if int(node) == 1 and inner[0] in NUMBERS:
            yield Field(path, is_list=False)
        elif int(node) == 2:
            yield from fields_of(inner, types, path)
        elif int(node) in (3, 4) and inner[0][1] == "control_msgs/msg/InterfaceValue":
            yield from (Field((*path, interface), is_list=True) for interface in INTERFACES)
        elif int(node) in (3, 4) and int(inner[0][0]) == 1 and inner[0][1][0] in NUMBERS:
            yield Field(path, is_list=True)


def has_names(kind: str, types: Mapping[str, Any]) -> str | None:
    """The field of a type that names the entries of its lists, if it has one."""
    for name, (node, inner) in types[kind][1]:
        if name in NAMES and int(node) in (3, 4) and int(inner[0][0]) == 1 and inner[0][1][0] == "string":
            return name
    return None


def is_harmless(types: Mapping[str, Any]) -> bool:
    """Whether definitions hold plain names only, so that code may be made of them, and cost no more than they hold.

    Fields of types without content take no bytes, so that a short message could declare any number of them.
    """
    empty = _without_content(types)
    return all(
        all(part.isidentifier() and not keyword.iskeyword(part) for part in kind.split("/"))
        and all(name.isidentifier() and _part(of) not in empty for name, of in fields)
        for kind, (_, fields) in types.items()
    )


def _part(of: Any) -> str:
    """The message type that a field is of, or holds a list of; empty for numbers and text."""
    node, inner = of
    if int(node) in (3, 4):
        node, inner = inner[0]
    return inner if int(node) == 2 else ""


def _without_content(types: Mapping[str, Any]) -> set[str]:
    """Types whose messages take no bytes."""
    empty: set[str] = set()
    while True:
        more = {kind for kind, (_, fields) in types.items() if all(_part(of) in empty for _, of in fields)}
        if more == empty:
            return empty
        empty = more


def keys_of(field: Field, value: Any, names: Sequence[str] | None) -> list[str]:
    """Names of the numbers of a field in one message: those of joints, positions in the list, or none for one."""
    if not field.is_list:
        return [""]
    if names is not None:
        return list(names) if len(names) == len(value) else []
    return [str(k) for k in range(len(value))]


class Taker:
    """Takes some columns out of messages; messages that lack one of them give nothing.

    Most messages name the same joints as the one before, so places are looked up only when names or lengths change.
    """

    def __init__(self, columns: Sequence[tuple[Field, str]], names: str | None) -> None:
        self.names = names
        self.wanted: dict[Field, list[str]] = {}
        for field, key in columns:
            self.wanted.setdefault(field, []).append(key)
        by_field = [(field, key) for field, keys in self.wanted.items() for key in keys]
        self._order = [by_field.index(column) for column in columns]
        self._is_in_order = self._order == list(range(len(columns)))
        self._seen: Any = None
        self._places: list[list[int]] | None = None
        self.missing = ""

    def __call__(self, message: Any) -> list[float] | None:
        """The numbers of one message in the order of the columns."""
        names = None if self.names is None else getattr(message, self.names)
        values = [field.of(message) for field in self.wanted]
        lengths = [len(value) if field.is_list else 0 for field, value in zip(self.wanted, values, strict=True)]
        if self._seen != (names, lengths):
            self._seen, self._places = (names, lengths), self._found(values, names)
        if self._places is None:
            return None
        row: list[float] = []
        for field, value, places in zip(self.wanted, values, self._places, strict=True):
            row += np.asarray(value, dtype=np.float64)[places].tolist() if field.is_list else [float(value)]
        return row if self._is_in_order else [row[k] for k in self._order]

    def _found(self, values: Sequence[Any], names: Sequence[str] | None) -> list[list[int]] | None:
        """Places of the wanted numbers in the lists of a message, or None where one is missing."""
        found = []
        for (field, keys), value in zip(self.wanted.items(), values, strict=True):
            place = {key: k for k, key in enumerate(keys_of(field, value, names))}
            self.missing = next((key for key in keys if key not in place), "")
            if self.missing:
                return None
            found.append([place[key] for key in keys])
        return found

    def complaint(self) -> str:
        """Why no message was of use."""
        keys = ", ".join(dict.fromkeys(key for keys in self.wanted.values() for key in keys))
        return f"holds all of {keys} at once; '{self.missing}' was missing last"


@dataclass(frozen=True)
class Topic:
    """A topic of a bag whose messages hold numbers.

    Attributes:
        name: Its name, such as "/joint_states".
        kind: Type of its messages, such as "sensor_msgs/msg/JointState".
        columns: Fields and keys of its columns, in the order of the messages.
        together: Positions of the columns that came in one message, and how many such messages were seen; one entry for
            each kind of message, as an arm and a gripper may publish on the same topic.
        problem: Why its messages cannot be read; empty when they can.
    """

    name: str
    kind: str
    columns: tuple[tuple[Field, str], ...] = ()
    together: tuple[tuple[frozenset[int], int], ...] = ()
    problem: str = ""

    def keys(self, field: str) -> tuple[str, ...]:
        """Names of the joints (or positions in the list) of one of its fields."""
        return tuple(key for own, key in self.columns if own.name == field)

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of its fields."""
        return tuple(dict.fromkeys(field.name for field, _ in self.columns))

    def column_name(self, column: int) -> str:
        """Name of one of its columns; -1 is its time."""
        if column < 0:
            return f"{self.name}/time"
        field, key = self.columns[column]
        return f"{self.name}/{field.name}/{key}".rstrip("/")

    def streams(self, columns: Sequence[int]) -> list[list[int]]:
        """Columns grouped so that those of a group come in one message; the most that do are the first group."""
        left, groups = [c for c in columns if c >= 0], []
        while left:
            best = max(self.together, key=lambda kind: (len(kind[0].intersection(left)), kind[1]))[0].intersection(left)
            groups.append([c for c in left if c in best] or left)
            left = [c for c in left if c not in groups[-1]]
        return groups or [[]]

    def keys_at_similar_rates(self, field: str) -> tuple[str, ...]:
        """Keys of a field that come about as often as the most frequent of its messages."""
        column = {key: c for c, (own, key) in enumerate(self.columns) if own.name == field}
        counts = {key: sum(seen for kind, seen in self.together if c in kind) for key, c in column.items()}
        return tuple(key for key, count in counts.items() if 2 * count >= max(counts.values()))

    def to_dict(self) -> dict[str, Any]:
        """Itself as plain data."""
        return {
            "name": self.name,
            "kind": self.kind,
            "columns": [[field.path, field.is_list, key] for field, key in self.columns],
            "together": [[sorted(kind), seen] for kind, seen in self.together],
            "problem": self.problem,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Topic:
        """A topic from plain data."""
        columns = tuple((Field(tuple(path), is_list), key) for path, is_list, key in data["columns"])
        together = tuple((frozenset(kind), seen) for kind, seen in data["together"])
        return Topic(data["name"], data["kind"], columns, together, data["problem"])


def listed(topics: Sequence[Topic]) -> str:
    """Topics with their types, for messages."""
    shown = ", ".join(f"{topic.name} ({topic.kind})" for topic in topics[:20])
    return shown + (", ..." if len(topics) > 20 else "") if topics else "none"
