"""JSON: arrays of records, objects of columns, and lines of records. Nothing in them is ever run.

Names of nested values are those of their way: `state.q[0]` is the first number of the list `q` in the object `state`.
Lists beside a list of names, as in joint states, are called by these: `position.elbow`.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from dynid.logs.readers.column_store import joined
from dynid.logs.readers.source import Progress, RecordingError, Source, cut_end, silent
from dynid.logs.readers.stamps import Numbers, SamePiece, of_array, of_texts

DEPTH = 8
"""How deep objects in objects are looked at."""

MOST = 20_000
"""Columns that are looked at."""

RECORDS = 50_000
"""Records that are held at a time."""

LOOKED_AT = 1000
"""Records at the beginning that show which columns there are."""

NAMES = ("name", "names", "joint_names", "joints")
"""Lists of texts that name what other lists of the same length hold."""


def json_whole(path: Path, progress: Progress = silent) -> Source:
    """The columns of a JSON file: an array of records, an object of columns, or one that holds either."""
    progress(f"{path.name}: reading")
    text = path.read_bytes()
    try:
        content, cut = _parsed(path, text)
    except _SeveralValuesError:
        return json_lines(path, progress)
    columns: dict[str, list[Any]] = {}
    for name, values in _columns(content):
        columns[name] = values
        if len(columns) >= MOST:
            break
    if not columns:
        raise RecordingError(path, "it holds neither records nor columns of numbers; write one object for each sample")
    names = tuple(columns)

    def column(p: int, *, stamps: bool = True) -> Numbers:
        return _numbers(path, names[p], columns[names[p]], stamps)

    def load(positions: list[int]) -> list[np.ndarray]:
        for p in positions:
            if len(columns[names[p]]) != len(columns[names[positions[0]]]):
                counts = f"{len(columns[names[p]])} values, but '{names[positions[0]]}' has"
                problem = f"column '{names[p]}' has {counts} {len(columns[names[positions[0]]])}"
                raise RecordingError(path, f"{problem}; columns of one log need the same number")
        return [column(p, stamps=False).whole for p in positions]

    notes = (cut_end(path, cut),) if cut else ()
    return Source(names, load, stamps=column, notes=notes)


class _SeveralValuesError(Exception):
    """The file holds one JSON value after the other."""


def _parsed(path: Path, content: bytes) -> tuple[Any, int | None]:
    """The content, and the row of a last record that was not written to its end."""
    try:
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig").rstrip(
            "\0 \r\n\t"
        )
    except UnicodeDecodeError as error:
        raise RecordingError(
            path, f"this is not UTF-8 text (byte {error.start + 1}); save it again as UTF-8"
        ) from error
    try:
        return json.loads(text), None
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise _SeveralValuesError from error
        records = _records_before_end(text)
        if records:
            return records, text.count("\n") + 1
        raise RecordingError(path, _complaint(error.lineno, error.colno, error.msg)) from error
    except (RecursionError, ValueError) as error:
        raise RecordingError(path, "this JSON is nested too deeply or holds numbers without end") from error


def _complaint(line: int, column: int, what: str) -> str:
    return f"line {line}, column {column} is no JSON ({what[0].lower()}{what[1:]}); repair it, or export the log again"


AT_END = 40
"""Characters before the end within which JSON that breaks off was cut, and not damaged: a number or a name."""


def _records_before_end(text: str) -> list[Any]:
    """Records of an array that ends within one of them; none where something else is wrong."""
    decoder, records, place = json.JSONDecoder(), [], text.find("[") + 1
    if text.lstrip()[:1] != "[":
        return []
    while True:
        while place < len(text) and text[place] in " \r\n\t,":
            place += 1
        try:
            record, place = decoder.raw_decode(text, place)
        except (json.JSONDecodeError, RecursionError) as error:
            is_cut = isinstance(error, json.JSONDecodeError) and (place >= len(text) or len(text) - error.pos < AT_END)
            return records if is_cut else []
        records.append(record)


def _columns(content: Any, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, list[Any]]]:
    """Columns of records, of lists, and of objects that hold either; a single member of an object gives no name."""
    if _is_indexed(content) and prefix:
        content = list(content.values())
    if isinstance(content, list):
        yield from _of_list(content, prefix)
    elif isinstance(content, Mapping) and depth < DEPTH:
        if isinstance(content.get("columns"), list) and isinstance(content.get("data"), list):  # as pandas splits
            rows = [row for row in content["data"] if isinstance(row, list)]
            for k, name in enumerate(content["columns"]):
                yield f"{prefix}{name}", [row[k] if k < len(row) else None for row in rows]
            return
        tables = {key: value for key, value in content.items() if _is_table(value)}
        for key, value in tables.items():
            inner = f"{prefix}{key}"
            is_alone = len(tables) == 1 and not _is_indexed(value)
            is_alone = is_alone and (isinstance(value, Mapping) or isinstance(value[0], Mapping))
            yield from _columns(value, prefix if is_alone else _below(inner, value), depth + 1)


def _below(name: str, value: Any) -> str:
    is_nested = isinstance(value, Mapping) or (value and isinstance(value[0], Mapping))
    return f"{name}." if is_nested and not _is_indexed(value) else name


def _is_indexed(value: Any) -> bool:
    """Whether an object is a column with its rows as keys, as pandas writes them."""
    return isinstance(value, Mapping) and bool(value) and all(str(k).isdigit() for k in islice(value, 50))


def _is_table(value: Any) -> bool:
    """Whether a member may hold samples: lists of more than one value, or objects with such."""
    if isinstance(value, list):
        return len(value) > 1
    return isinstance(value, Mapping) and (_is_indexed(value) or any(map(_is_table, islice(value.values(), 100))))


def _of_list(content: list[Any], prefix: str) -> Iterator[tuple[str, list[Any]]]:
    """Columns of a list of records, of samples that are lists, or of numbers."""
    if any(isinstance(value, Mapping) for value in content[:LOOKED_AT]):
        flat = [dict(flattened(record)) if isinstance(record, Mapping) else {} for record in content]
        for name in dict.fromkeys(name for record in flat for name in record):
            yield f"{prefix}{name}", [record.get(name) for record in flat]
    elif content and all(isinstance(value, list) for value in content):
        width = max(map(len, content))
        if width > len(content) and len({len(row) for row in content}) == 1:  # one list for each column
            content, width = [list(sample) for sample in zip(*content, strict=True)], len(content)
        for k in range(width):
            name = f"{prefix}[{k}]" if prefix else str(k)
            yield name, [row[k] if k < len(row) else None for row in content]
    elif prefix:
        yield prefix, content


def flattened(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Values of a record that are neither lists nor objects, by their way."""
    if isinstance(value, Mapping) and depth < DEPTH:
        labels = next((value[key] for key in NAMES if _are_labels(value.get(key))), None)
        for key, inner in value.items():
            below = f"{name}.{key}" if name else str(key)
            if labels is not None and isinstance(inner, list) and len(inner) == len(labels) and inner is not labels:
                for label, each in zip(labels, inner, strict=True):
                    yield from flattened(each, f"{below}.{label}", depth + 1)
            else:
                yield from flattened(inner, below, depth + 1)
    elif isinstance(value, list) and depth < DEPTH:
        for k, inner in enumerate(value[:MOST]):
            yield from flattened(inner, f"{name}[{k}]", depth + 1)
    elif name and (value is None or isinstance(value, int | float | str)):
        yield name, value


def _are_labels(value: Any) -> bool:
    texts = isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)
    return texts and len(set(value)) == len(value)


def _numbers(path: Path, name: str, values: Sequence[Any], stamps: bool) -> Numbers:
    """A column as numbers."""
    import polars as pl

    is_large = any(isinstance(value, int) and abs(value) >= 2**63 for value in values)
    if all(isinstance(value, int) for value in values) and not is_large:
        return of_array(np.array(values, dtype=np.int64), stamps=stamps) or Numbers(np.zeros(0))
    if all(value is None or isinstance(value, int | float) for value in values):
        given = np.array([math.nan if value is None else float(value) for value in values])
        return of_array(given, stamps=stamps) or Numbers(given)
    texts = [value if value is None or isinstance(value, str) else repr(value) for value in values]
    if all(text is None or len(text) < 100 for text in texts):
        found = of_texts(pl.Series(texts, dtype=pl.String), stamps=stamps)
        if not len(found.misfits):
            return found
        texts = [texts[int(found.misfits[0])]]
    shown = next((text for text in texts if text is not None), "")
    raise RecordingError(path, f"column '{name}' holds '{shown[:40]}' instead of numbers")


def json_lines(path: Path, progress: Progress = silent) -> Source:
    """The columns of a file with one JSON record on each line, of which only what is asked for is ever held."""
    names: dict[str, None] = {}
    for _, record in islice(_records(path, {}), LOOKED_AT):
        names.update(dict.fromkeys(name for name, _ in flattened(record)))
        if len(names) > MOST:
            break
    if not names:
        raise RecordingError(path, 'it holds no records; write one object on each line, such as {"t": 0.0, ...}')
    own, damaged = tuple(names), dict[int, str]()
    last = _cut_line(path)

    def pieces(positions: list[int], stamps: bool) -> Iterator[tuple[int, Numbers]]:
        names = [own[p] for p in positions]
        convert = [
            SamePiece(lambda values, name=name: _numbers(path, name, values, stamps), _chained) for name in names
        ]
        values: list[list[Any]] = [[] for _ in names]
        for k, (row, record) in enumerate(_records(path, damaged, last), 1):
            found = dict(flattened(record))
            for name, column in zip(names, values, strict=True):
                column.append(found.get(name))
            if k % RECORDS == 0:
                yield from ((n, numbers) for n, one in enumerate(convert) if (numbers := one(values[n])) is not None)
                values = [[] for _ in names]
                progress(f"{path.name}: line {row}")
        if values and values[0]:
            yield from ((n, numbers) for n, one in enumerate(convert) if (numbers := one(values[n])) is not None)

    def load(positions: list[int]) -> Iterator[np.ndarray]:
        return joined(pieces(positions, False), len(positions))

    notes = (cut_end(path, last),) if last else ()
    return Source(own, load, notes=notes, damaged=damaged, pieces=pieces)


def _chained(parts: list[list[Any]]) -> list[Any]:
    return [value for part in parts for value in part]


def _records(path: Path, damaged: dict[int, str], last: int | None = None) -> Iterator[tuple[int, Any]]:
    """Rows and records; those of lines that are damaged are empty, and what is wrong with them noted."""
    sample = 0
    with path.open("rb") as stream:
        for row, line in enumerate(stream, 1):
            text = line.strip(b"\xef\xbb\xbf\0 \r\n\t,")
            if not text or row == last or text in (b"[", b"]"):
                continue
            try:
                record = json.loads(text)
            except (ValueError, RecursionError) as error:
                what = getattr(error, "msg", "nested too deeply")
                rest = f"repair or remove it, or leave it out with rows (it is sample {sample}, counted from 0)"
                damaged[sample] = f"line {row} is no JSON ({what[0].lower()}{what[1:]}); {rest}"
                record = {}
            yield row, record
            sample += 1


def _cut_line(path: Path) -> int | None:
    """The row of a last line that was not written to its end."""
    row, line = 0, b""
    with path.open("rb") as stream:
        for row, line in enumerate(stream, 1):  # noqa: B007 (the last of them)
            pass
    if line.endswith(b"\n") or not line.strip(b"\0 \r\n\t"):
        return None
    try:
        json.loads(line.strip(b"\xef\xbb\xbf\0 \r\n\t,"))
    except (ValueError, RecursionError):
        return row
    return None
