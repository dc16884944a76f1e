"""A group of columns, or the field of a topic, that may hold a quantity: one column per joint."""

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dynid.arrays import Array
from dynid.experiment.first.naming import Label, Quality, shared_start
from dynid.logs import read_groups


@dataclass(frozen=True)
class Candidate:
    """Columns that may hold a quantity.

    Attributes:
        role: "time", "position", "velocity", "torque", "current", "kp" or "kd"; nothing for a list of numbers that may
            be any.
        file: The file.
        columns: Positions of the columns in the file; names of joints in messages of bags.
        labels: What each column's name says; empty where there are no names.
        numbers: The number of each column's joint by its name; None where it has none.
        quality: How well it serves as a measurement.
        words: Words of the columns, and of the file where it holds nothing else.
        names: Names of all columns of the file; None where it has none.
        width: For flat text of one number a line, how many make a sample.
        topic: The topic, in a bag.
        field: The field of its messages.
        is_ordered: Whether the columns were stated one by one, in the order of the joints.
        rank: Breaks ties; the least is the best.
    """

    role: str
    file: Path
    columns: tuple[int, ...] | tuple[str, ...]
    labels: tuple[Label, ...] = ()
    numbers: tuple[int | None, ...] = ()
    quality: Quality = Quality.PLAIN
    words: frozenset[str] = frozenset()
    names: tuple[str, ...] | None = None
    width: int | None = None
    topic: str | None = None
    field: str | None = None
    is_ordered: bool = False
    rank: int = 0

    def only(self, keep: Sequence[int]) -> "Candidate":
        """Some of the columns, in this order."""
        return replace(
            self,
            columns=tuple(self.columns[k] for k in keep),
            labels=tuple(self.labels[k] for k in keep) if self.labels else (),
            numbers=tuple(self.numbers[k] for k in keep) if self.numbers else (),
        )

    @property
    def pattern(self) -> str:
        """How the columns are stated: a pattern that matches them and no others, or a list."""
        if self.topic is not None:
            return f"{self.topic}/{self.field}"
        if self.names is None:
            at = [int(k) for k in self.columns]
            is_range = len(at) > 1 and at == list(range(at[0], at[-1] + 1))
            return f"{at[0]}..{at[-1]}" if is_range else ",".join(map(str, at))
        own = [self.names[int(k)] for k in self.columns]
        if len(own) == 1:
            return own[0]
        head = shared_start(own)
        tail = shared_start([name[len(head) :][::-1] for name in own])[::-1]
        for pattern in (f"{head}*{tail}", f"{head}?{tail}"):
            if len(head) + len(tail) and [n for n in self.names if fnmatch.fnmatchcase(n, pattern)] == sorted(
                own, key=self.names.index
            ):
                return pattern
        return ",".join(own)

    @property
    def shown(self) -> str:
        """How the columns are called in sentences."""
        own = self.pattern
        if ("," in own or "?" in own) and self.names is not None:
            own = f"{self.names[int(self.columns[0])]} .. {self.names[int(self.columns[-1])]}"
        return f"columns {own}" if self.names is None and self.topic is None else own

    @property
    def stated(self) -> tuple[str | int, ...]:
        """The columns as an experiment states them: by name, or by position where there are no names or not unique."""
        names = self.names
        chosen = [] if names is None else [names[int(k)] for k in self.columns]
        unique = names is not None and all(names.count(name) == 1 for name in chosen) and all(chosen)
        return tuple(chosen) if unique else tuple(self.columns)

    @property
    def spelled(self) -> list[str] | list[int]:
        """The columns as the file's reader calls them."""
        if self.topic is None:
            return [int(k) for k in self.columns]
        return [f"{self.topic}/{self.field}/{key}" for key in self.columns]

    def values(self) -> Array:
        """Its numbers as logged, shape (samples, columns)."""
        columns = None if self.width is not None else self.spelled
        return read_groups(self.file, [columns], width=self.width, finite=False).groups[0]
