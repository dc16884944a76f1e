"""Where in a TOML file a key stands: Python's reader does not say."""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    r"""Line, counted from 1, of the deepest part of a key's path that can be found.

    Args:
        text: The TOML file.
        path: Names of tables and keys, with the index in arrays of tables, such as ("log", 1, "rate").

    >>> line_of('a = 1\n[[log]]\nrate = 5\n[[log]]\nrate = 6\n', ("log", 1, "rate"))
    5
    """
    found: tuple[int, int] | None = None  # how deep, and where
    table: tuple[str | int, ...] = ()
    counts: dict[tuple[str | int, ...], int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header is not None:
            table = _names(header[2])
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            here = table
        elif key is not None:
            here = (*table, *_names(key[1]))
        else:
            continue
        depth = _common(here, tuple(path))
        if depth and depth == len(here) and (found is None or depth > found[0]):
            found = (depth, number)
    return None if found is None else found[1]


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in text.split("."))


def _common(one: tuple[str | int, ...], other: tuple[str | int, ...]) -> int:
    return next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
