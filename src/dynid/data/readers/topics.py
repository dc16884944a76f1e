"""Topics of a bag: which numbers their messages hold, and what the columns that these become are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dynid.data.readers.messages import Field


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
