"""Columns of the arrays of a file: signals, and constants beside them such as gains, which stand there once."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dynid.logs.readers.source import RecordingError, require_plausible

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ArrayColumns:
    """Which columns the arrays of a file make.

    A scalar is constant over all samples, and so is a vector where it has fewer entries than the file has columns of
    samples: one for each joint at most. A longer one of another length is a signal that does not fit the others.

    Attributes:
        path: The file.
        shapes: Shapes of its arrays, (samples,) or (samples, columns), by name.
        others: Names of those that are never constants, such as arrays of texts.
        labels: Names for the columns of arrays that have as many, such as those of joints.
    """

    path: Path
    shapes: Mapping[str, Shape]
    others: frozenset[str] = frozenset()
    labels: tuple[str, ...] = ()

    @cached_property
    def _counts(self) -> Mapping[int, int]:
        """How many columns there are of each length."""
        counts: dict[int, int] = {}
        for shape in self.shapes.values():
            for rows in shape[:1]:
                counts[rows] = counts.get(rows, 0) + (shape[1] if len(shape) > 1 else 1)
        return counts

    @cached_property
    def length(self) -> int:
        """Number of samples: the rows of those arrays that hold most of the numbers together."""
        return max(self._counts, key=lambda rows: (rows * self._counts[rows], rows), default=0)

    @cached_property
    def constants(self) -> frozenset[str]:
        """Names of scalars and of vectors with an entry for each column.

        >>> columns = ArrayColumns(Path("run.npz"), {"t": (500,), "q": (500, 12), "kp": (12,), "mass": (), "v": (499,)})
        >>> columns.length, sorted(columns.constants)
        (500, ['kp', 'mass'])
        """
        if self.length < 2:
            return frozenset()
        vectors = {name: math.prod(shape) for name, shape in self.shapes.items() if sum(n != 1 for n in shape) < 2}
        most = self._counts[self.length]
        short = (name for name, size in vectors.items() if size != self.length and 0 < size <= most)
        return frozenset(short) - self.others

    @property
    def count(self) -> int:
        """How many columns there are."""
        return sum(self._width(name) or 1 for name in self.shapes)

    @cached_property
    def places(self) -> tuple[tuple[str, int], ...]:
        """For each column of the file, its array and which of the array's columns or entries it is."""
        return tuple((name, k) for name in self.shapes for k in range(self._width(name) or 1))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns: `q[0]`, `q[1]`, ..., or `q.elbow`; the name of the array where it has one column.

        >>> ArrayColumns(Path("run.npz"), {"t": (500,), "q": (500, 2), "kp": (2,)}).names
        ('t', 'q[0]', 'q[1]', 'kp[0]', 'kp[1]')
        """
        widths = {name: self._width(name) for name in self.shapes}
        return tuple(
            name
            if widths[name] is None
            else f"{name}.{self.labels[k]}"
            if widths[name] == len(self.labels)
            else f"{name}[{k}]"
            for name, k in self.places
        )

    def _width(self, name: str) -> int | None:
        """How many columns an array has; None where its own name stands for its only one."""
        shape = self.shapes[name]
        if name in self.constants:
            return None if math.prod(shape) == 1 else math.prod(shape)
        return shape[1] if len(shape) == 2 else None

    def wanted(self, positions: Iterable[int]) -> dict[str, list[tuple[int, int]]]:
        """For each array that some columns are of: which of the columns, and which of its own that is."""
        found: dict[str, list[tuple[int, int]]] = {}
        for n, p in enumerate(positions):
            name, k = self.places[p]
            found.setdefault(name, []).append((n, k))
        return found

    def samples(self, names: Iterable[str]) -> int:
        """How many samples some arrays have.

        Raises:
            RecordingError: If they have different numbers, or more than there may be.
        """
        signals = [name for name in names if name not in self.constants]
        count = self.shapes[signals[0]][0] if signals else self.length
        for name in signals:
            if self.shapes[name][0] != count:
                problem = f"array '{name}' has {self.shapes[name][0]} samples, but '{signals[0]}' has {count}"
                raise RecordingError(self.path, f"{problem}; arrays of one log need the same number")
        require_plausible(self.path, count)
        return count
