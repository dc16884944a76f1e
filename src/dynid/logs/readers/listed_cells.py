"""Delimited text with lists in its cells: each list becomes columns of its own, so that all else reads plain text.

`type,timestamp,positions` above `STATE,20.1,"[0.1, 0.2]"` becomes `type,timestamp,positions[0],positions[1]`. Where a
file of names of joints lies beside the log, its names stand in place of the numbers: `positions.elbow`.
"""

import csv
import io
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dynid.logs.readers.text_layout import delimiter_of, fields_of, is_number

NAME_FILES = ("joint_list.txt", "joint_names.txt", "joints.txt")
"""Files beside a log that name its joints, one a line."""

MOST_NAMES = 100_000
"""Bytes that a file of names may have."""

HEAD = 50
"""Lines at the beginning among which the first with lists is looked for."""

_LIST = re.compile(rb'"?\[([^\[\]"\n]*)\]"?')
"""A list in a cell, with the quotes around it."""

_BETWEEN = re.compile(rb"[,;\s]+")


@dataclass(frozen=True)
class ListedCells:
    """How lists lie in the cells of delimited text.

    Attributes:
        header: The line of names that stands above them, as it is.
        names: Names of all columns, those of lists spelled out.
        delimiter: What separates cells.
    """

    header: bytes
    names: tuple[str, ...]
    delimiter: str

    def whole(self, content: bytes) -> bytes:
        """Text, or the beginning of it, with the header and each list spelled out."""
        place = content.index(self.header)
        row = io.StringIO()
        csv.writer(row, delimiter=self.delimiter, lineterminator="").writerow(self.names)
        return content[:place] + row.getvalue().encode() + self.body(content[place + len(self.header) :])

    def body(self, content: bytes) -> bytes:
        """Lines below the header with each list spelled out."""
        mark = self.delimiter.encode()
        return _LIST.sub(lambda found: mark.join(_BETWEEN.split(found[1].strip())), content)


def listed_cells(path: Path, content: bytes) -> ListedCells | None:
    """How lists lie in the cells of a text; None where there are none.

    Args:
        path: The file; names of joints are looked for beside it.
        content: Its text in UTF-8, or the beginning of it.
    """
    if b"[" not in content:
        return None
    above = b""
    for line in content.split(b"\n", HEAD)[:HEAD]:
        own = line.strip()
        if own and not own.startswith((b"#", b"%")):
            found = _below(path, above, own) if b"[" in own and above else None
            if found is not None:
                return found
            above = line.rstrip(b"\r")
    return None


def _below(path: Path, above: bytes, line: bytes) -> ListedCells | None:
    """The lists of a line of numbers below a line of names; None where it has none."""
    header = above.decode()
    delimiter = delimiter_of(header) or ","
    cells = fields_of(line.decode(), delimiter)
    names = fields_of(header, delimiter)
    lists = [_entries(cell) for cell in cells]
    if len(names) != len(cells) or not any(lists) or any(map(is_number, names)):
        return None
    joints = names_beside(path)
    spelled = [
        column
        for name, entries in zip(names, lists, strict=True)
        for column in (columns_of(name, len(entries), joints) if entries else (name,))
    ]
    return ListedCells(above, tuple(spelled), delimiter)


def _entries(cell: str) -> list[str]:
    """The numbers of a list in a cell; none where it holds something else."""
    if not (cell.startswith("[") and cell.endswith("]")):
        return []
    entries = re.split(r"[,;\s]+", cell[1:-1].strip())
    return entries if all(map(is_number, entries)) else []


def columns_of(name: str, count: int, joints: Sequence[str]) -> tuple[str, ...]:
    """Names of the columns that a list makes: by joints where there are as many, otherwise by numbers.

    >>> columns_of("positions", 2, ["hip", "knee"]), columns_of("tau", 2, ["hip"])
    (('positions.hip', 'positions.knee'), ('tau[0]', 'tau[1]'))
    """
    if count == len(joints):
        return tuple(f"{name}.{joint}" for joint in joints)
    return tuple(f"{name}[{k}]" for k in range(count))


def is_name_file(path: Path) -> bool:
    """Whether a file names joints, by its own name."""
    return path.name.lower() in NAME_FILES


def names_beside(path: Path) -> tuple[str, ...]:
    """Names of joints in a file that lies beside a log; empty where there is none, or it holds something else."""
    for name in NAME_FILES:
        with suppress(OSError, UnicodeDecodeError):
            own = path.parent / name
            if own.is_file() and own.stat().st_size <= MOST_NAMES:
                lines = [line.strip() for line in own.read_text(encoding="utf-8-sig").splitlines()]
                found = tuple(line for line in lines if line)
                if found and len(set(found)) == len(found) and not any(map(is_number, found)):
                    return found
    return ()
