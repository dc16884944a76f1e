"""What every reader gives: the names of a file's columns, and a way to read some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from dynid.errors import FileProblemError

Progress = Callable[[str], None]
"""Is told in a few words how far a long read has come."""


def silent(_: str) -> None:
    """Progress that nobody watches."""


class RecordingError(FileProblemError):
    """A file of a recording cannot be used."""


@dataclass(frozen=True)
class Source:
    """Columns of a file.

    Attributes:
        names: Names of the columns; positions in words where the file has none.
        load: Reads the columns at some positions, in ascending order; one after the other where they are large.
        named: Whether the names are the file's own.
        first_row: Row of the file (from 1, the header included) that holds the first sample.
    """

    names: tuple[str, ...]
    load: Callable[[list[int]], Iterable[np.ndarray]]
    named: bool = True
    first_row: int = 1
