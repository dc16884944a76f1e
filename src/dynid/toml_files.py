"""TOML files: read with clear errors, and where in them a key stands, which Python's reader does not say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dynid.errors import FileProblemError

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")


def read_toml_text(path: Path, error_type: type[FileProblemError]) -> str:
    """The text of a TOML file, without a byte-order mark; what is wrong with the file is raised as `error_type`."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise error_type(path, f"cannot be read ({error.strerror or error}); check the path") from error
    except UnicodeDecodeError as error:
        raise error_type(path, "is no text in UTF-8, as TOML files are; save it so") from error


def parse_toml(text: str, source: Path | str, error_type: type[FileProblemError]) -> dict[str, Any]:
    """The values of TOML text; what is wrong with it is raised as `error_type`, naming the source."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise error_type(source, f"is not valid TOML: {error}") from error


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
