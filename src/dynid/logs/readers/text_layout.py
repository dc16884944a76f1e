"""How text of numbers is laid out: its encoding, comments, header, units, delimiter and marks of decimals."""

import bz2
import csv
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from dynid.logs.readers.source import RecordingError
from dynid.logs.readers.stamps import INFINITE, NOTHING
from dynid.machine import available_bytes

PACKED = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
"""Packed text, by the second ending: log.csv.gz."""

HEAD = 100_000
"""Bytes at the beginning that the first lines of numbers are in."""

MOST_UNPACKED = 2 * 10**9
"""Bytes that a packed file may unpack to: a few kilobytes could fill any memory."""

RATIO = 100
"""Bytes that a packed file that is read as a stream may unpack to, for each of its own: text of numbers has 3 to 20."""

PREAMBLE = 100
"""Lines at the beginning among which the header is looked for."""

_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}:\d{2}:\d{2}|\d{8}T\d{6}")


def unpacked(path: Path) -> bytes:
    """The content of a file of text, unpacked if it is packed.

    Raises:
        RecordingError: If it is damaged, or would not fit into memory.
    """
    opener = PACKED.get(path.suffix.lower())
    if opener is None:
        return path.read_bytes()
    limit = min(available_bytes() // 4, MOST_UNPACKED)
    try:
        with opener(path, "rb") as stream:
            content = stream.read(limit + 1)
    except (EOFError, lzma.LZMAError, zlib.error, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise RecordingError(path, "the packed file is damaged or cut off; unpack it, or copy it again") from error
    if len(content) > limit:
        raise RecordingError(path, f"it unpacks to more than {limit / 1e9:.2g} GB; unpack it to a file first")
    return content


def unpacked_chunks(path: Path, size: int) -> Iterator[bytes]:
    """The content of a file of text in chunks of so many bytes, unpacked if it is packed.

    Raises:
        RecordingError: If it is damaged, or has no end in sight.
    """
    opener = PACKED.get(path.suffix.lower())
    limit = max(MOST_UNPACKED, RATIO * path.stat().st_size)
    total = 0
    try:
        with path.open("rb") if opener is None else opener(path, "rb") as stream:
            while chunk := stream.read(size):
                total += len(chunk)
                if opener is not None and total > limit:
                    problem = f"it unpacks to more than {limit / 1e9:.2g} GB"
                    raise RecordingError(path, f"{problem}; unpack it to a file first")
                yield chunk
    except (EOFError, lzma.LZMAError, zlib.error, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise RecordingError(path, "the packed file is damaged or cut off; unpack it, or copy it again") from error


def as_utf8(path: Path, content: bytes, before: int = 0) -> bytes:
    """Text in UTF-8 without marks at its beginning, from UTF-8, UTF-16 or the encoding of Windows.

    Args:
        path: The file.
        content: Its text, or a part that follows so many bytes.
        before: Number of these bytes.

    Raises:
        RecordingError: If it is no text.
    """
    content = content.rstrip(b"\x00") if not content.startswith((b"\xff\xfe", b"\xfe\xff")) else content
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or _is_wide(content[:400]):
        kind = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-16-le"
        content = content.decode(kind, "ignore").rstrip("\x00").encode()
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        if re.search(rb"[\x00-\x08\x0e-\x1f\x7f]", content):
            raise RecordingError(
                path, f"this is not UTF-8 text (byte {before + error.start + 1}); save it again as UTF-8"
            ) from error
        content = content.decode("cp1252", "replace").encode()
    if not content or content.isspace():
        raise RecordingError(path, "the file is empty")
    return content


def _is_wide(head: bytes) -> bool:
    """Whether every second byte is zero, as in UTF-16 without a mark."""
    return len(head) >= 8 and not any(head[1::2]) and all(head[0 : len(head) // 2 * 2 : 2])


@dataclass(frozen=True)
class Layout:
    """How delimited text is laid out; no delimiter is any white space.

    Attributes:
        delimiter: What fields are separated by.
        names: Names of the columns; counted from 0 where there are none.
        named: Whether the names are the file's own.
        first_row: Row of the file, from 1, at which numbers begin.
        body: The text from there on.
        width: Fields of each line; more than columns where lines end with a delimiter.
    """

    delimiter: str | None
    names: tuple[str, ...]
    named: bool
    first_row: int
    body: bytes
    width: int = 0

    def fields(self, line: str) -> list[str]:
        """The fields of a line."""
        return fields_of(line, self.delimiter)


def fields_of(line: str, delimiter: str | None) -> list[str]:
    """The fields of a line, without blanks and quotes around them."""
    line = line.strip(" \r\n")
    if '"' in line and delimiter is not None:
        with suppress(csv.Error):  # a carriage return within the line, or a quote that is never closed
            return [field.strip() for field in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))]
    return [field.strip().strip('"').strip() for field in line.split(delimiter)]


def layout_of_text(path: Path, content: bytes) -> Layout:
    """How delimited text is laid out, from its beginning or from all of it.

    Raises:
        RecordingError: If there are no numbers, or lines do not fit the header.
    """
    start, row, title, line, stated = 0, 1, "", "", None
    for raw in io.BytesIO(content):
        line = raw.decode().strip(" \r\n")
        mark = re.fullmatch(r"sep=(.)", line, re.IGNORECASE) if row == 1 else None  # as Excel writes it
        stated = mark.group(1) if mark else stated
        if line.strip() and line[0] not in "#%" and not mark:
            break
        title = line.lstrip("#% ") or title
        start, row = start + len(raw), row + 1
    delimiter = stated or delimiter_of(line)
    second = fields_of(_line(content, _end(content, start)), delimiter)
    if delimiter is None and len(second) == 1 and not any(map(is_number, fields_of(line, None))):
        first = [line.strip()]  # one column, whose name holds blanks
    else:
        first = fields_of(line, delimiter)
    layout = _with_names(content, start, row, first, fields_of(title, delimiter) if title else [], delimiter)
    if _begins_otherwise(layout):
        found = _after_preamble(content) if stated is None else None
        if found is None and layout.named and len(_first(layout)) != layout.width:
            problem = f"the header has {len(first)} fields, but row {layout.first_row} has {len(_first(layout))}"
            raise RecordingError(path, f"{problem}; check the delimiter and that names hold none")
        layout = found or layout
    if not layout.body:
        raise RecordingError(path, "there are no rows of numbers below the header; check that the whole log was saved")
    return layout


def _begins_otherwise(layout: Layout) -> bool:
    """Whether the first lines do not have as many fields as the header, or as the first of them."""
    lines = [line for line in layout.body[:HEAD].decode(errors="ignore").splitlines()[:3] if line.strip()]
    first = _first(layout)
    if layout.named:
        return bool(first) and len(first) != layout.width
    return not all(map(is_cell, first)) and any(len(layout.fields(line)) != layout.width for line in lines)


def delimiter_of(line: str) -> str | None:
    """What separates the fields of a line; None for white space."""
    numbers = line.split()
    if len(numbers) > 1 and all(re.fullmatch(r"[+-]?\d+(,\d+)?([eE][+-]?\d+)?", number) for number in numbers):
        return "\t" if "\t" in line else None  # commas are those of decimals
    return next((mark for mark in "\t;,|" if mark in line), None)


def _end(content: bytes, start: int) -> int:
    """Where the line after the one at a place begins."""
    return content.find(b"\n", start) + 1 or len(content)


def _line(content: bytes, start: int) -> str:
    return content[start : _end(content, start)].decode()


def _first(layout: Layout) -> list[str]:
    """Fields of the first line of numbers."""
    line = _line(layout.body, 0)
    return layout.fields(line) if line.strip() else []


def _with_names(
    content: bytes, start: int, row: int, first: list[str], titled: list[str], delimiter: str | None
) -> Layout:
    """The layout of text whose first line that is no comment is at a place, in a row, and has these fields."""
    end = _end(content, start)
    second = fields_of(_line(content, end), delimiter)
    width = len(first)
    if _is_header(first, second):
        names, named, start, row = first, True, end, row + 1
        third = fields_of(_line(content, _end(content, end)), delimiter)
        if _is_units(second, third):
            shown = [unit.strip("[]()") for unit in [*second, *[""] * width][:width]]
            names = [f"{name} [{unit}]" if name and unit else name for name, unit in zip(names, shown, strict=True)]
            start, row = _end(content, end), row + 1
            second = third
        if len(second) == width + 1 and not second[-1]:  # lines end with a delimiter, the header does not
            width += 1
    else:
        named = len(titled) == len(first) and bool(titled)
        names = titled if named else [str(position) for position in range(len(first))]
    while len(names) > 1 and named and not names[-1]:
        names = names[:-1]
    below = content[start:].rstrip(b" \r\n") if delimiter == "\t" else content[start:].rstrip()
    body = below.lstrip(b"\r\n")
    row += below[: len(below) - len(body)].count(b"\n")  # blank lines below the header
    if delimiter != ",":
        body = body.replace(b",", b".")  # numbers as in 0,5 where the delimiter leaves the comma free
    return Layout(delimiter, tuple(names), named, row, body, width)


def _after_preamble(content: bytes) -> Layout | None:
    """The layout of text that begins with lines about the recording: names stand above the first line of numbers."""
    places, start = [], 0
    while start < len(content) and len(places) < PREAMBLE:
        places.append(start)
        start = _end(content, start)
    lines = [_line(content, place) for place in places]
    for k in range(1, len(lines) - 1):
        delimiter = delimiter_of(lines[k])
        own, following = fields_of(lines[k], delimiter), fields_of(lines[k + 1], delimiter)
        numbers = sum(map(is_number, own))
        if len(own) < 2 or len(own) != len(following) or 2 * numbers < len(own):
            continue
        names = [j for j in range(k) if _names_columns(fields_of(lines[j], delimiter), len(own))]
        if not names:
            return None
        above = names[-1]
        if len(names) > 1 and names[-2] == above - 1 and _is_units(fields_of(lines[above], delimiter), own):
            above -= 1
        return _with_names(content, places[above], above + 1, fields_of(lines[above], delimiter), [], delimiter)
    return None


def _names_columns(fields: Sequence[str], count: int) -> bool:
    return len(fields) == count and not any(is_number(field) or _DATE.search(field) for field in fields)


def _is_header(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether the first line names columns: text above a number, or neither number nor date at all."""
    pairs = zip(first, second, strict=False)
    above = any(not is_number(a) and is_number(b) for a, b in pairs if a and a.lower() not in NOTHING)
    return above or not any(is_number(field) or _DATE.search(field) for field in first)


_UNIT = re.compile(r"[\[(]?[a-zA-Zµ°%/*^·. \d-]{0,12}[\])]?")


def _is_units(second: Sequence[str], third: Sequence[str]) -> bool:
    """Whether a line below the header states units: short words above numbers."""
    words = [field for field in second if field]
    if not words or any(is_number(field) or _DATE.search(field) for field in second):
        return False
    are_short = all(_UNIT.fullmatch(field) and field.lower() not in NOTHING[1:] for field in words)
    return are_short and len(third) >= len(second) and any(map(is_number, third))


def is_number(field: str) -> bool:
    """Whether a field holds a number, or a word for one."""
    try:
        float(field.replace(",", "."))
    except ValueError:
        return False
    return "_" not in field  # Python reads 1_000 as a number


def is_cell(field: str) -> bool:
    """Whether a field holds a number, a date, or a word for nothing."""
    return is_number(field) or field.strip().lower() in (*NOTHING, *INFINITE) or bool(_DATE.search(field))


def without_damaged_end(layout: Layout, is_ended: bool) -> tuple[Layout, int | None]:
    """The layout without a last line that was not written to its end, and the row of that line.

    Args:
        layout: The layout of the whole text.
        is_ended: Whether the last line ends as lines do.
    """
    place = layout.body.rfind(b"\n") + 1
    before = layout.body[:place].rstrip(b"\r\n")
    if not place or not before:
        return layout, None
    last = layout.fields(layout.body[place:].decode())
    previous = layout.fields(before[before.rfind(b"\n") + 1 :].decode())
    if len(previous) != layout.width:
        return layout, None
    is_cut = len(last) < layout.width
    if not is_cut and not is_ended and len(last) == layout.width:
        is_cut = any(kind(previous[-1]) and not kind(last[-1]) for kind in (is_number, _DATE.search))
    if not is_cut:
        return layout, None
    return replace(layout, body=before), layout.first_row + before.count(b"\n") + 1
