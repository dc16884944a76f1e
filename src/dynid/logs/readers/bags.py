"""ROS bags: ROS 1, ROS 2 (sqlite3 and MCAP), without ROS.

A bag becomes columns with names such as `/joint_states/position/elbow`, and one `/joint_states/time` for each topic.
Messages stream by one at a time; only the numbers that were asked for are kept.
"""

from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.logs.readers.bag_file import BagFile, opened
from dynid.logs.readers.isolated import asked
from dynid.logs.readers.messages import Taker, Topic, listed
from dynid.logs.readers.source import Progress, RecordingError, Source, silent
from dynid.logs.readers.stamps import Numbers

SUFFIXES = (".bag", ".mcap", ".db3")

Stream = tuple[str, int]
"""A topic, and which of the kinds of messages on it."""


def is_bag(path: Path) -> bool:
    """Whether a path is that of a bag: a file by its ending, or a folder with the metadata of ROS 2."""
    return path.suffix.lower() in SUFFIXES or (path.is_dir() and (path / "metadata.yaml").exists())


def topics_of(path: Path) -> tuple[Topic, ...]:
    """All topics of a bag, by name; those that hold no numbers have no columns.

    Raises:
        RecordingError: If it is damaged or no bag.
    """
    if not path.exists():
        raise RecordingError(path, "there is no such file; check the name and the folder")
    state = path.stat()
    return _topics(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _topics(path: Path, _changed: int, _size: int) -> tuple[Topic, ...]:
    return tuple(Topic.from_dict(topic) for topic in asked(path, {"reader": "topics"})["topics"])


def read_topics(path: Path) -> tuple[Topic, ...]:
    """What `topics_of` gives, read in this process."""
    with opened(path) as file:
        return file.topics()


def bag(path: Path, progress: Progress = silent, topics: Sequence[Topic] | None = None) -> Source:
    """The columns of all topics of a bag, read in this process; topics may be known already.

    Topics that are read together share the stamps of the slowest. Commands are held until the next one, and are no
    clock: their positions are those of the columns plus the number of columns (`held_position`).
    """
    topics = read_topics(path) if topics is None else topics
    places = [(topic, k) for topic in topics if topic.columns for k in range(-1, len(topic.columns))]
    if not places:
        problem = "; ".join(topic.problem for topic in topics if topic.problem) or "there are no numbers in it"
        raise RecordingError(path, f"{problem}; its topics are {listed(topics)}")

    by_name = {topic.name: topic for topic in topics}

    def streams_of(positions: list[int]) -> dict[Stream, list[int]]:
        wanted: dict[str, list[int]] = {}
        for topic, k in (places[p % len(places)] for p in positions):
            if k not in wanted.setdefault(topic.name, []):
                wanted[topic.name].append(k)
        return {
            (name, k): columns
            for name, chosen in wanted.items()
            for k, columns in enumerate(by_name[name].streams(chosen))
        }

    def load(positions: list[int]) -> Sequence[np.ndarray]:
        streams = streams_of(positions)
        with opened(path) as file:
            read = {of: _numbers(file, by_name[of[0]], columns, progress) for of, columns in streams.items()}
        asked_for = [(*places[p % len(places)], p >= len(places)) for p in positions]
        return _on_one_clock([(topic.name, k, is_held) for topic, k, is_held in asked_for], streams, read)

    def pieces(positions: list[int], _stamps: bool) -> Iterator[tuple[int, Numbers]]:
        streams = streams_of(positions)
        if len(streams) > 1:  # the others are interpolated to the slowest, once it is known
            yield from ((k, Numbers(column)) for k, column in enumerate(load(positions)))
            return
        ((name, _), columns), *_ = streams.items()
        first: int | None = None
        with opened(path) as file:
            for stamps, values in _samples(file, by_name[name], columns, progress):
                first = int(stamps[0]) if first is None else first
                for k, place in enumerate(places[p % len(places)][1] for p in positions):
                    own = values[:, columns.index(place)] if place >= 0 else (stamps - first) / 1e9
                    yield k, Numbers(own)

    return Source(tuple(topic.column_name(k) for topic, k in places), load, pieces=pieces)


def held_position(position: int, columns: int) -> int:
    """Where a bag of so many columns has one of them as a command, which is held until the next one."""
    return position + columns


def _on_one_clock(
    places: Sequence[tuple[str, int, bool]],
    streams: dict[Stream, list[int]],
    read: dict[Stream, tuple[np.ndarray, np.ndarray]],
) -> list[np.ndarray]:
    """Columns at the stamps of the stream with the fewest messages that has more than commands.

    Those of other streams are interpolated to them, and commands held.

    Args:
        places: Topic of each column, which of the topic's columns it is (time below zero), and whether it is a command.
        streams: Columns of each stream.
        read: Stamps [ns] and numbers of each stream.
    """
    held = {(name, k) for name, k, is_held in places if is_held}
    measured = [of for of in read if not streams[of] or any((of[0], k) not in held for k in streams[of])]
    slowest = min(measured or read, key=lambda of: len(read[of][0]))
    first = read[slowest][0][0]
    clock = (read[slowest][0] - first) / 1e9  # a division rounds as text does
    columns = []
    for name, k, is_held in places:
        if k < 0:
            columns.append(clock)
            continue
        of = next(of for of, own in streams.items() if of[0] == name and k in own)
        stamps, numbers = read[of]
        values = numbers[:, streams[of].index(k)]
        if of == slowest:
            columns.append(values)
        elif is_held:
            columns.append(values[np.clip(np.searchsorted(stamps, read[slowest][0], side="right") - 1, 0, None)])
        else:
            columns.append(np.interp(clock, (stamps - first) / 1e9, values))
    return columns


def _numbers(file: BagFile, topic: Topic, columns: Sequence[int], progress: Progress) -> tuple[Array, Array]:
    """Stamps [ns], shape (samples,), and columns of a topic, shape (samples, columns), where all are present."""
    stamps, values = zip(*_samples(file, topic, columns, progress), strict=True)
    return np.concatenate(stamps), np.concatenate(values)


MESSAGES = 20_000
"""Messages whose numbers are held at a time."""

SIMULATED = 1_000_000_000
"""Stamp [ns] below which a clock is simulated: it begins at zero."""


def _samples(
    file: BagFile, topic: Topic, columns: Sequence[int], progress: Progress
) -> Iterator[tuple[np.ndarray, Array]]:
    """What `_numbers` gives, piece by piece.

    Stamps are those of headers, or of recording where no header has one. Before its clock is set, a driver writes zero:
    such messages have no time. Samples that repeat the one before in stamp and numbers alike are left out.
    """
    links = file.links_of(topic.name)
    first = _first_header(file, topic, columns)
    stamps, values = np.zeros(0, dtype=np.int64), np.zeros((0, len(columns)))
    for headers, recorded, numbers in _messages(file, topic, columns, progress):
        own = recorded if first is None else headers
        kept = headers > 0 if first is not None and first >= SIMULATED else np.ones(len(headers), dtype=bool)
        before = len(stamps[-1:])
        stamps, values = np.append(stamps[-1:], own[kept]), np.concatenate([values[-1:], numbers[kept]])
        new = np.ones(len(stamps), dtype=bool)
        new[1:] = (np.diff(stamps) != 0) | np.any(values[1:] != values[:-1], axis=1)
        new[:before] = False
        if len(links) > 1 and np.any(np.diff(np.append(stamps[:before], stamps[new])) <= 0):
            problem = f"{len(links)} senders publish the same joints on topic {topic.name}, and their messages mix"
            raise RecordingError(file.path, f"{problem}: two robots in one bag? Record each on a topic of its own")
        if new.any():
            yield stamps[new], values[new]


def _first_header(file: BagFile, topic: Topic, columns: Sequence[int]) -> int | None:
    """The first stamp of a header [ns] that is not zero, of the messages that hold all columns; None without any."""
    links = file.links_of(topic.name)
    take: Taker | None = None
    for header, _, message in file.messages(links):
        if not hasattr(message, "header"):
            return None
        take = take or Taker([topic.columns[c] for c in columns], file.names_field(topic.kind))
        if header > 0 and take(message) is not None:
            return header
    return None


def _messages(
    file: BagFile, topic: Topic, columns: Sequence[int], progress: Progress
) -> Iterator[tuple[np.ndarray, np.ndarray, Array]]:
    """Stamps of headers and of recording [ns], and numbers, of the messages that hold all columns, piece by piece."""
    links = file.links_of(topic.name)
    take: Taker | None = None
    headers, recorded, numbers, count = array("q"), array("q"), array("d"), 0
    total = sum(link.msgcount or 0 for link in links)

    def piece() -> tuple[np.ndarray, np.ndarray, Array]:
        values = np.array(numbers, dtype=np.float64).reshape(len(headers), -1)
        return np.array(headers, dtype=np.int64), np.array(recorded, dtype=np.int64), values

    for k, (header, moment, message) in enumerate(file.messages(links)):
        if take is None:
            take = Taker([topic.columns[c] for c in columns], file.names_field(topic.kind))
        row = take(message)
        if row is not None:
            headers.append(header)
            recorded.append(moment)
            numbers.extend(row)
        if len(headers) == MESSAGES:
            count += MESSAGES
            yield piece()
            headers, recorded, numbers = array("q"), array("q"), array("d")
        if k % 5000 == 4999 and total:
            progress(f"{file.path.name}: {min(1.0, k / total):.0%} of {topic.name}")
    if take is None or not count + len(headers):
        reason = "can be read" if take is None else take.complaint()
        raise RecordingError(file.path, f"no message of topic {topic.name} {reason}")
    if headers:
        yield piece()
