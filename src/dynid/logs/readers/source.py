"""What every reader gives: the names of a file's columns, and a way to read some of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dynid.errors import FileProblemError
from dynid.findings import Finding
from dynid.logs.readers.stamps import Numbers
from dynid.machine import available_bytes

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
        notes: What was noticed; of long text, known once columns are loaded.
        unread: What the file holds beside columns: names, each with what it is.
        damaged: What is wrong with samples that cannot be read, by their index; known once columns are loaded.
        pieces: Reads the columns at some positions piece by piece: which of the positions, and its next numbers; as
            stamps since the first where that is asked for. None where a column is only read as a whole.
        samples: About how many samples there are, where that is known before they are read.
        store: Writes the columns at some positions to files of a folder, as stamps where that is asked for; gives their
            length, and what was taken off each. None where `pieces` and `load` are all there is.
    """

    names: tuple[str, ...]
    load: Callable[[list[int]], Iterable[np.ndarray]]
    named: bool = True
    first_row: int = 1
    stamps: Callable[[int], Numbers] | None = None
    notes: Sequence[Finding] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    damaged: dict[int, str] = field(default_factory=dict)
    pieces: Callable[[list[int], bool], Iterable[tuple[int, Numbers]]] | None = None
    samples: int = 0
    store: Callable[[Path, list[int], bool], tuple[int, list[float]]] | None = None


def cut_end(path: Path, row: int) -> Finding:
    """A finding on a last line that was not written to its end."""
    return Finding.of("log-end-damaged", path.name, row=row)


MEMORY = (2 * 10**9, 50)
"""Bytes that reading may take, in memory or unpacked on disk, and how many more for each byte of the file."""


def require_plausible(path: Path, samples: int) -> None:
    """Refuse columns that are far longer than a file of its size can be: nothing was ever written to them.

    Raises:
        RecordingError: If there are so many samples.
    """
    most = MEMORY[0] + MEMORY[1] * path.stat().st_size
    if 8 * samples > most:
        problem = f"a column would take {8 * samples / 1e9:.2g} GB, and the file has {path.stat().st_size / 1e9:.2g} GB"
        raise RecordingError(path, f"{problem}: it is damaged or holds nothing; write or copy it again")


def require_memory(path: Path, needed: int) -> None:
    """Refuse to read what does not fit.

    Raises:
        RecordingError: If so many bytes are not there.
    """
    free = available_bytes()
    if needed > free:
        problem = f"reading it takes about {needed / 1e9:.2g} GB of memory, and {free / 1e9:.2g} GB are free"
        raise RecordingError(path, f"{problem}; name fewer columns, cut it into several logs, or save it as Parquet")
