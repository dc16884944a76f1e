"""The files that a log names, as plain data: in its quantities, and in those of its contacts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Place = tuple[str | int, ...]
"""Where a part of plain data is: its keys and numbers from the outside in."""


def quantities_in(data: Any, place: Place = ()) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    """The quantities of plain data, which name a file, with their places.

    >>> log = {"position": {"file": "run.csv"}, "contact": [{"body": "foot", "wrench": {"file": "plate.csv"}}]}
    >>> [place for place, _ in quantities_in(log)]
    [('position',), ('contact', 0, 'wrench')]
    """
    if isinstance(data, Mapping) and "file" in data:
        yield place, data
    elif isinstance(data, Mapping):
        for key, part in data.items():
            yield from quantities_in(part, (*place, key))
    elif isinstance(data, list | tuple):
        for k, part in enumerate(data):
            yield from quantities_in(part, (*place, k))


def with_files(data: Any, change: Callable[[Any, Place], Any], place: Place = ()) -> Any:
    """Plain data with other names of files.

    Args:
        data: The data.
        change: Gives the new name for a name and the place of its quantity.
        place: Where the data are.

    >>> with_files({"contact": [{"wrench": {"file": "plate.csv"}}]}, lambda name, _: f"logs/{name}")
    {'contact': [{'wrench': {'file': 'logs/plate.csv'}}]}
    """
    if isinstance(data, Mapping) and "file" in data:
        return {**data, "file": change(data["file"], place)}
    if isinstance(data, Mapping):
        return {key: with_files(part, change, (*place, key)) for key, part in data.items()}
    if isinstance(data, list | tuple):
        return [with_files(part, change, (*place, k)) for k, part in enumerate(data)]
    return data


def with_capture_table(log: Any) -> Any:
    """A table `[[log]]` whose capture is a table, too, where it was the name of a file alone.

    >>> with_capture_table({"capture": "walk.c3d"})
    {'capture': {'file': 'walk.c3d'}}
    """
    if isinstance(log, Mapping) and isinstance(log.get("capture"), str):
        return {**log, "capture": {"file": log["capture"]}}
    return log
