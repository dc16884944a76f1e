"""ROS bags: ROS 1, ROS 2 (sqlite3 and MCAP), without ROS.

A bag becomes columns with names such as `/joint_states/position/elbow`, and one `/joint_states/time` for each topic.
Messages stream by one at a time; only the numbers that were asked for are kept.
"""

from array import array
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.logs.readers.bag_file import BagFile, opened
from dynid.logs.readers.isolated import asked
from dynid.logs.readers.messages import Taker, Topic, listed
from dynid.logs.readers.source import Progress, RecordingError, Source, silent

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
    """The columns of all topics of a bag, read in this process; topics may be known already."""
    topics = read_topics(path) if topics is None else topics
    places = [(topic, k) for topic in topics if topic.columns for k in range(-1, len(topic.columns))]
    if not places:
        problem = "; ".join(topic.problem for topic in topics if topic.problem) or "there are no numbers in it"
        raise RecordingError(path, f"{problem}; its topics are {listed(topics)}")

    def load(positions: list[int]) -> Sequence[np.ndarray]:
        wanted: dict[str, list[int]] = {}
        for p in positions:
            wanted.setdefault(places[p][0].name, []).append(places[p][1])
        by_name = {topic.name: topic for topic in topics}
        streams: dict[Stream, list[int]] = {
            (name, k): columns
            for name, chosen in wanted.items()
            for k, columns in enumerate(by_name[name].streams(chosen))
        }
        with opened(path) as file:
            read = {of: _numbers(file, by_name[of[0]], columns, progress) for of, columns in streams.items()}
        return _on_one_clock([(places[p][0].name, places[p][1]) for p in positions], streams, read)

    return Source(tuple(topic.column_name(k) for topic, k in places), load)


def _on_one_clock(
    places: Sequence[tuple[str, int]],
    streams: dict[Stream, list[int]],
    read: dict[Stream, tuple[np.ndarray, np.ndarray]],
) -> list[np.ndarray]:
    """Columns at the stamps of the stream with the fewest messages; the others are interpolated to them."""
    slowest = min(read, key=lambda of: len(read[of][0]))
    first = read[slowest][0][0]
    clock = (read[slowest][0] - first) / 1e9  # a division rounds as text does
    columns = []
    for name, k in places:
        if k < 0:
            columns.append(clock)
            continue
        of = next(of for of, own in streams.items() if of[0] == name and k in own)
        stamps, numbers = read[of]
        values = numbers[:, streams[of].index(k)]
        columns.append(values if of == slowest else np.interp(clock, (stamps - first) / 1e9, values))
    return columns


def _numbers(file: BagFile, topic: Topic, columns: Sequence[int], progress: Progress) -> tuple[Array, Array]:
    """Stamps [ns], shape (samples,), and columns of a topic, shape (samples, columns), where all are present."""
    links = file.links_of(topic.name)
    messages = file.messages(links)
    take: Taker | None = None
    headers, recorded, numbers = array("q"), array("q"), array("d")
    total = sum(link.msgcount or 0 for link in links)
    for k, (header, moment, message) in enumerate(messages):
        if take is None:
            take = Taker([topic.columns[c] for c in columns], file.names_field(topic.kind))
        row = take(message)
        if row is not None:
            headers.append(header)
            recorded.append(moment)
            numbers.extend(row)
        if k % 5000 == 4999 and total:
            progress(f"{file.path.name}: {min(1.0, k / total):.0%} of {topic.name}")
    if take is None or not headers:
        reason = "can be read" if take is None else take.complaint()
        raise RecordingError(file.path, f"no message of topic {topic.name} {reason}")
    values = np.frombuffer(numbers, dtype=np.float64).reshape(len(headers), -1)
    kept, stamps = _stamps(np.frombuffer(headers, dtype=np.int64), np.frombuffer(recorded, dtype=np.int64))
    stamps, values = _once(stamps, values if kept is None else values[kept])
    if len(links) > 1 and np.any(np.diff(stamps) <= 0):
        problem = f"{len(links)} senders publish the same joints on topic {topic.name}, and their messages mix"
        raise RecordingError(file.path, f"{problem}: two robots in one bag? Record each on a topic of its own")
    return stamps, values


def _stamps(headers: np.ndarray, recorded: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Which samples have a time (all when None), and it: that of headers, or of recording where no header has one.

    Before its clock is set, a driver writes zero: such messages have no time. A simulated clock begins at zero, though.
    """
    stamped = headers > 0
    if not stamped.any():
        return None, recorded
    if stamped.all() or headers[stamped][0] < 1_000_000_000:
        return None, headers
    return stamped, headers[stamped]


def _once(stamps: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Samples without those that repeat the one before in stamp and numbers alike."""
    again = np.zeros(len(stamps), dtype=bool)
    again[1:] = (np.diff(stamps) == 0) & np.all(values[1:] == values[:-1], axis=1)
    return (stamps[~again], values[~again]) if again.any() else (stamps, values)
