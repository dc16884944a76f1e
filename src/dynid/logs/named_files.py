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
    if isinstance(data, Mapping):
        if "file" in data:
            yield place, data
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
    if isinstance(data, Mapping):
        found = {key: with_files(part, change, (*place, key)) for key, part in data.items()}
        return {**found, "file": change(data["file"], place)} if "file" in data else found
    if isinstance(data, list | tuple):
        return [with_files(part, change, (*place, k)) for k, part in enumerate(data)]
    return data


def with_capture_table(log: Any) -> Any:
    """A table `[[log]]` whose capture is a table, too, where it was the name of a file alone; likewise its plates.

    >>> with_capture_table({"capture": "walk.c3d"})
    {'capture': {'file': 'walk.c3d'}}
    """
    capture = log.get("capture") if isinstance(log, Mapping) else None
    if capture is None:
        return log
    capture = {"file": capture} if isinstance(capture, str) else capture
    if isinstance(capture, Mapping) and isinstance(capture.get("plates"), str):
        capture = {**capture, "plates": {"file": capture["plates"]}}
    return {**log, "capture": capture}
