"""What every reader gives: the names of a file's columns, and a way to read some of them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dynid.arrays import available_bytes, used_bytes  # noqa: F401 (readers take both from here)
from dynid.errors import FileProblemError
from dynid.findings import Finding
from dynid.logs.readers.stamps import Numbers

Progress = Callable[[str], None]
"""Callback; receives a short description of each step."""


def silent(_: str) -> None:
    """Progress that nobody watches."""


class RecordingError(FileProblemError):
    """A file of a log cannot be used."""


@dataclass(frozen=True)
class Source:
    """Columns of a file.

    Attributes:
        names: Names of the columns; positions in words where the file has none.
        load: Reads the columns at some positions, in ascending order; one after the other where they are large.
        named: Whether the names are the file's own.
        first_row: Row of the file (from 1, the header included) that holds the first sample.
        stamps: Reads one column as stamps since the first of them, with all their digits; None where `load` gives all.
        notes: What was noticed.
        unread: What the file holds beside columns: names, each with what it is.
        damaged: What is wrong with samples that cannot be read, by their index; known once columns are loaded.
    """

    names: tuple[str, ...]
    load: Callable[[list[int]], Iterable[np.ndarray]]
    named: bool = True
    first_row: int = 1
    stamps: Callable[[int], Numbers] | None = None
    notes: tuple[Finding, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    damaged: dict[int, str] = field(default_factory=dict)


def cut_end(path: Path, row: int) -> Finding:
    """A finding on a last line that was not written to its end."""
    return Finding.of("log-end-damaged", path.name, row=row)


def require_memory(path: Path, needed: int) -> None:
    """Refuse to read what does not fit.

    Raises:
        RecordingError: If so many bytes are not there.
    """
    free = available_bytes()
    if needed > free:
        problem = f"reading it takes about {needed / 1e9:.2g} GB of memory, and {free / 1e9:.2g} GB are free"
        raise RecordingError(path, f"{problem}; name fewer columns, cut it into several logs, or save it as Parquet")
