"""ROS bags: ROS 1, ROS 2 (sqlite3 and MCAP), without ROS.

A bag becomes columns with names such as `/joint_states/position/elbow`, and one `/joint_states/time` for each topic.
Messages stream by one at a time; only the numbers that were asked for are kept.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dynid.data.readers.messages import Field, Taker, fields_of, has_names, is_harmless, keys_of
from dynid.data.readers.source import Progress, RecordingError, Source, silent

SUFFIXES = (".bag", ".mcap", ".db3")

PEEK = 50
"""Messages of a topic that are looked at for the names of joints."""

MOST_COLUMNS = 2000
"""Columns of one topic above which it holds no joints but something else, such as a map."""


@dataclass(frozen=True)
class Topic:
    """A topic of a bag whose messages hold numbers.

    Attributes:
        name: Its name, such as "/joint_states".
        kind: Type of its messages, such as "sensor_msgs/msg/JointState".
        columns: Fields and keys of its columns, in the order of the messages.
        problem: Why its messages cannot be read; empty when they can.
    """

    name: str
    kind: str
    columns: tuple[tuple[Field, str], ...]
    problem: str = ""

    def keys(self, field: str) -> tuple[str, ...]:
        """Names of the joints (or positions in the list) of one of its fields."""
        return tuple(key for own, key in self.columns if own.name == field)

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of its fields."""
        return tuple(dict.fromkeys(field.name for field, _ in self.columns))


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
    with _opened(path) as bag:
        return tuple(bag.topic(name) for name in sorted({link.topic for link in bag.links}))


def bag(path: Path, progress: Progress = silent) -> Source:
    """The columns of all topics of a bag."""
    topics = topics_of(path)
    places = [(topic, k) for topic in topics if topic.columns for k in range(-1, len(topic.columns))]
    if not places:
        problem = "; ".join(topic.problem for topic in topics if topic.problem) or "there are no numbers in it"
        raise RecordingError(path, f"{problem}; its topics are {listed(topics)}")

    def load(positions: list[int]) -> Sequence[np.ndarray]:
        wanted: dict[str, list[int]] = {}
        for p in positions:
            wanted.setdefault(places[p][0].name, []).append(places[p][1])
        by_name = {topic.name: topic for topic in topics}
        with _opened(path) as opened:
            read = {name: opened.numbers(by_name[name], chosen, progress) for name, chosen in wanted.items()}
        return _on_one_clock(places, positions, wanted, read)

    return Source(tuple(column_name(topic, k) for topic, k in places), load)


def column_name(topic: Topic, column: int) -> str:
    """Name of a column of a topic; -1 is its time."""
    if column < 0:
        return f"{topic.name}/time"
    field, key = topic.columns[column]
    return f"{topic.name}/{field.name}/{key}".rstrip("/")


def listed(topics: Sequence[Topic]) -> str:
    """Topics with their types, for messages."""
    shown = ", ".join(f"{topic.name} ({topic.kind})" for topic in topics[:20])
    return shown + (", ..." if len(topics) > 20 else "") if topics else "none"


def _on_one_clock(
    places: Sequence[tuple[Topic, int]],
    positions: Sequence[int],
    wanted: dict[str, list[int]],
    read: dict[str, tuple[np.ndarray, np.ndarray]],
) -> list[np.ndarray]:
    """Columns at the stamps of the topic with the fewest messages; the others are interpolated to them."""
    slowest = min(read, key=lambda name: len(read[name][0]))
    first = read[slowest][0][0]
    clock = (read[slowest][0] - first) / 1e9  # a division rounds as text does
    columns = []
    for p in positions:
        topic, k = places[p]
        stamps, numbers = read[topic.name]
        if k < 0:
            columns.append(clock)
            continue
        values = numbers[:, [c for c in wanted[topic.name] if c >= 0].index(k)]
        same = topic.name == slowest
        columns.append(values if same else np.interp(clock, (stamps - first) / 1e9, values))
    return columns


@contextmanager
def _opened(path: Path) -> Iterator[_Bag]:
    """An open bag; whatever its library raises on damaged bytes becomes one of our errors."""
    try:
        with _reader(path) as reader:
            yield _Bag(path, reader)
    except RecordingError:
        raise
    except Exception as error:  # the library meets bytes of strangers, and raises whatever these lead to
        what = " ".join(str(error).split())[:120] or type(error).__name__
        problem = f"the bag is damaged, cut off or no bag ({what}); copy it again, or repair it with 'rosbag reindex' "
        raise RecordingError(path, f"{problem}or 'mcap recover'") from error


def _reader(path: Path) -> Any:
    if path.is_file() and path.stat().st_size == 0:
        raise RecordingError(path, "the file is empty")
    if path.suffix.lower() == ".bag":
        from rosbags.rosbag1 import Reader as Reader1

        return Reader1(path)
    from rosbags.rosbag2 import Reader as Reader2

    if path.suffix.lower() == ".db3":
        _check_database(path)
    return Reader2(path)


def _check_database(path: Path) -> None:
    """Refuse a damaged database at once: its library may otherwise read part of it without a word."""
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        pages, size = (connection.execute(f"PRAGMA {key}").fetchone()[0] for key in ("page_count", "page_size"))
        if pages * size > path.stat().st_size:
            raise RecordingError(path, "the bag is cut off; copy it again")
    finally:
        connection.close()


class _Bag:
    """An open bag."""

    def __init__(self, path: Path, reader: Any) -> None:
        self.path = path
        self.reader = reader
        self.links = reader.connections
        self.is_ros1 = path.suffix.lower() == ".bag"
        self._stores: dict[str, Any] = {}

    def topic(self, name: str) -> Topic:
        """A topic, with the columns that its first messages show."""
        links = [link for link in self.links if link.topic == name]
        kind = links[0].msgtype
        if any(link.msgtype != kind for link in links):
            return Topic(name, kind, (), f"topic {name} holds messages of several types")
        try:
            types = self._store(links[0]).fielddefs
            fields = tuple(fields_of(kind, types))
            names = has_names(kind, types) if fields else None
        except Exception:  # a definition that cannot be read is a problem of this topic alone
            return Topic(
                name, kind, (), f"the message type {kind} of topic {name} is unknown: no definition in the bag"
            )
        columns: dict[tuple[Field, str], None] = {}
        if fields:
            for k, (_, message) in enumerate(self._messages(links)):
                own = None if names is None else [str(key) for key in getattr(message, names)]
                for field in fields:
                    columns |= dict.fromkeys((field, key) for key in keys_of(message, field, own))
                if k + 1 == PEEK or len(columns) > MOST_COLUMNS:
                    break
        ordered = sorted(columns, key=lambda column: fields.index(column[0]))
        return Topic(name, kind, tuple(ordered) if len(ordered) <= MOST_COLUMNS else ())

    def numbers(self, topic: Topic, columns: Sequence[int], progress: Progress) -> tuple[np.ndarray, np.ndarray]:
        """Stamps [ns], shape (samples,), and columns of a topic, shape (samples, columns), where all are present."""
        links = [link for link in self.links if link.topic == topic.name]
        names = has_names(topic.kind, self._store(links[0]).fielddefs)
        take = Taker([topic.columns[c] for c in columns if c >= 0], names)
        stamps, numbers, total = array("q"), array("d"), sum(link.msgcount or 0 for link in links)
        for k, (stamp, message) in enumerate(self._messages(links)):
            row = take(message)
            if row is not None:
                stamps.append(stamp)
                numbers.extend(row)
            if k % 5000 == 4999 and total:
                progress(f"{self.path.name}: {min(1.0, k / total):.0%} of {topic.name}")
        if not stamps:
            raise RecordingError(self.path, f"no message of topic {topic.name} {take.complaint()}")
        times = np.frombuffer(stamps, dtype=np.int64)
        if len(links) > 1 and np.any(np.diff(times) <= 0):
            problem = f"{len(links)} senders publish the same joints on topic {topic.name}, and their messages mix"
            raise RecordingError(self.path, f"{problem}: two robots in one bag? Record each on a topic of its own")
        return times, np.frombuffer(numbers, dtype=np.float64).reshape(len(stamps), -1)

    def _messages(self, links: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Messages with their stamps [ns]: those of their headers, or when they were recorded where these are zero."""
        for link, recorded, raw in self.reader.messages(connections=links):
            store = self._store(link)
            read: Callable[..., Any] = store.deserialize_ros1 if self.is_ros1 else store.deserialize_cdr
            message = read(raw, link.msgtype)
            header = getattr(message, "header", None)
            stamp = 0 if header is None else header.stamp.sec * 1_000_000_000 + header.stamp.nanosec
            yield stamp or recorded, message

    def _store(self, link: Any) -> Any:
        """Types of the messages of a connection: those that the bag defines, or else those of ROS."""
        if link.msgtype not in self._stores:
            from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

            text = link.msgdef.data
            if not text:
                store = get_typestore(Stores.ROS1_NOETIC if self.is_ros1 else Stores.LATEST)
                store.get_msgdef(link.msgtype)
            else:
                is_idl = link.msgdef.format.name == "IDL"
                types = get_types_from_idl(text) if is_idl else get_types_from_msg(text, link.msgtype)
                if not is_harmless(types):
                    raise ValueError("names in a message definition are none")
                store = get_typestore(Stores.EMPTY)
                store.register({name: ([], fields) for name, (_, fields) in types.items()})
            self._stores[link.msgtype] = store
        return self._stores[link.msgtype]
