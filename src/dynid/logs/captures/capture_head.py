"""Lines above the numbers of a capture as text: labels over axes, as programs of cameras export them, to one header.

TRC, and the tables of Motive, Nexus and Qualisys have a line of labels, each over three columns of x, y and z.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dynid.logs.readers.source import RecordingError
from dynid.logs.readers.text_layout import PREAMBLE, as_utf8, delimiter_of, fields_of, is_number

BEGINNING = 300_000
"""Bytes of a table that show what it holds: a hundred lines of a hundred columns."""

_AXIS = re.compile(r"([xyz])\d*(?:\s*[\[(](.*)[\])])?", re.IGNORECASE)
_WORDS = {"unit": ("units", "length units", "unit"), "rate": ("datarate", "capture frame rate", "frequency")}
"""Words of heads before a unit of lengths or a rate, or above it."""


@dataclass(frozen=True)
class CaptureHead:
    """A capture as text of one header.

    Attributes:
        content: The text: a header, then lines of numbers, in the rows of the file.
        unit: The unit of lengths that the head states; empty where it states none.
        rate: The rate [Hz] that it states; None where it states none.
    """

    content: bytes
    unit: str = ""
    rate: float | None = None


def capture_head(path: Path, most: int | None = None) -> CaptureHead:
    """Read text of a capture, and put one header where its head has several lines.

    Args:
        path: The file.
        most: Bytes of it that are read; all when None.

    Raises:
        RecordingError: If the file is empty, or there are no lines of numbers.
    """
    with path.open("rb") as stream:
        content = stream.read(-1 if most is None else most)
    if most is not None and len(content) == most:
        content = content[: content.rfind(b"\n") + 1]
    content = as_utf8(path, content)
    if not content.strip():
        raise RecordingError(path, "the file is empty")
    begin = _trajectories(content)
    lines = content[begin:].split(b"\n", PREAMBLE + 1)[: PREAMBLE + 1]
    texts = [line.decode().strip("\r\n") for line in lines]
    first = next((k for k in range(len(texts)) if _is_of_numbers(texts[k])), None)
    if first is None:
        raise RecordingError(path, "it has no lines of numbers below a header; check that the capture was saved whole")
    delimiter = delimiter_of(texts[first])
    rows = [fields_of(text, delimiter) for text in texts[:first]]
    width = len(fields_of(texts[first], delimiter))
    unit, rate = _stated(rows, "unit").lower(), _stated(rows, "rate")
    names, before = _names(rows, width), content[:begin].count(b"\n")
    if names is None:
        start = _header(rows, width)
        above = b"#\n" * (before + start)
        return CaptureHead(above + content[begin + sum(len(line) + 1 for line in lines[:start]) :], unit, _number(rate))
    names, own = names
    above = b"#\n" * max(0, before + first - 1)
    mark = delimiter or "\t"
    body = content[begin + sum(len(line) + 1 for line in lines[:first]) :]
    return CaptureHead(above + mark.join(names).encode() + b"\n" + body, own or unit, _number(rate))


def _trajectories(content: bytes) -> int:
    """Where markers begin: Nexus writes devices and trajectories one below the other."""
    match = re.search(rb"^Trajectories\b[^\n]*\n", content, re.MULTILINE)
    return match.end() if match else 0


def _is_of_numbers(line: str) -> bool:
    """Whether a line holds numbers of several columns, the first of which is one."""
    fields = fields_of(line, delimiter_of(line))
    filled = [field for field in fields if field]
    return len(filled) > 3 and is_number(fields[0]) and all(map(is_number, filled))


def _names(rows: Sequence[Sequence[str]], width: int) -> tuple[list[str], str] | None:
    """Names of columns by labels over axes, and the unit below these; None where one line has all names."""
    stated = next((row for row in rows if row and row[0].upper() == "MARKER_NAMES"), None)
    if stated is not None and rows[-1] is stated:  # Qualisys, without a line of axes
        before = ["Frame", "Time"][: max(0, width - 3 * len(stated[1:]))]
        return [*before, *(f"{label}_{axis}" for label in stated[1:] for axis in "xyz")], ""
    for k in reversed(range(len(rows))):
        axes = {column: match for column, name in enumerate(rows[k]) if (match := _AXIS.fullmatch(name))}
        if len(axes) < 3:
            continue
        labels = _labels(rows[:k], sorted(axes))
        if labels is None:
            return None
        below = [row[min(axes)] for row in rows[k + 1 :] if len(row) > min(axes) and row[min(axes)]]
        unit = axes[min(axes)].group(2) or next(iter(below), "")
        leading = max((row for row in rows[: k + 1]), key=lambda row: sum(map(_is_leading, row[:2])))
        names = [*leading[: min(axes)], *[""] * max(0, min(axes) - len(leading))]
        for column in range(min(axes), width):
            names.append(f"{labels[column]}_{axes[column].group(1)}" if column in labels else f"unnamed {column}")
        return names, unit.lower()
    return None


def _header(rows: Sequence[Sequence[str]], width: int) -> int:
    """Which line is the only one of names: the last as wide as the numbers, or the one above it, where it has units."""
    wide = [k for k, row in enumerate(rows) if len(row) == width]
    if not wide:
        return 0
    return wide[-2] if len(wide) > 1 and wide[-2] == wide[-1] - 1 else wide[-1]


def _is_leading(name: str) -> bool:
    """Whether a column is called after frames or time."""
    return bool(re.match(r"(sub )?(frame|time|field)", name, re.IGNORECASE))


def _labels(rows: Sequence[Sequence[str]], columns: Sequence[int]) -> dict[int, str] | None:
    """The label above each column of an axis; None where no line has labels. Rotations of bodies are left out."""
    turned = {k for row in rows for k in columns if k < len(row) and row[k].lower() == "rotation"}
    columns = [k for k in columns if k not in turned]
    best: dict[int, str] = {}
    for row in rows:
        found, last = dict[int, str](), ""
        for column in columns:
            last = (row[column] if column < len(row) else "") or last
            found[column] = last
        counts = len(set(found.values()))
        if all(found.values()) and counts > len(set(best.values())) and 3 * counts >= len(columns):
            best = found
    return best or None


def _stated(rows: Sequence[Sequence[str]], what: str) -> str:
    """What a head states, beside its word or below it; empty where it does not."""
    for k, row in enumerate(rows):
        for column, name in enumerate(row):
            if name.lower() in _WORDS[what]:
                is_above = k + 1 < len(rows) and len(rows[k + 1]) == len(row) and len(row) > 2 and k == 1
                return rows[k + 1][column] if is_above else next(iter(row[column + 1 : column + 2]), "")
        if what == "rate" and len([field for field in row if field]) == 1 and is_number(row[0]) and k < 2:
            return row[0]  # Nexus
    return ""


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ".")) or None
    except ValueError:
        return None
