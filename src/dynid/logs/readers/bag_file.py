"""An open bag: its connections, types and messages, and what is wrong with untrusted ones."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from dynid.logs.readers.messages import Field, Topic, fields_of, has_names, is_harmless, keys_of
from dynid.logs.readers.source import RecordingError

PEEK = 1000
"""Messages of a topic that are looked at for the names of joints, at its beginning and again in its middle."""

MOST_COLUMNS = 2000
"""Columns of one topic above which it holds no joints but something else, such as a map."""

BEGINNINGS = {".bag": b"#ROSBAG V", ".mcap": b"\x89MCAP0\r\n", ".db3": b"SQLite format 3\0"}
"""How files of bags begin, by their ending."""

ZSTANDARD = b"\x28\xb5\x2f\xfd"
"""How data that Zstandard compressed begin."""


@contextmanager
def opened(path: Path) -> Iterator[BagFile]:
    """An open bag; whatever its library raises on damaged bytes becomes one of our errors."""
    try:
        with _reader(path) as reader:
            yield BagFile(path, reader)
    except (RecordingError, MemoryError):
        raise
    except Exception as error:  # on untrusted bytes the library raises anything
        what = " ".join(str(error).split())[:120] or type(error).__name__
        problem = f"the bag is damaged, cut off or no bag ({what}); copy it again, or repair it with 'rosbag reindex', "
        raise RecordingError(path, f"{problem}'ros2 bag reindex' or 'mcap recover'") from error


def _reader(path: Path) -> Any:
    for file in (path,) if path.is_file() else sorted(path.iterdir()):
        _check_file(file)
    if path.suffix.lower() == ".bag":
        from rosbags.rosbag1 import Reader as Reader1

        return Reader1(path)
    from rosbags.rosbag2 import Reader as Reader2

    return Reader2(path)


def _check_file(path: Path) -> None:
    """Refuse what a library of bags would take long, or read only in part, to find out."""
    if not path.is_file():
        raise RecordingError(path, "a bag holds files only, but this is none")
    if path.stat().st_size == 0:
        raise RecordingError(path, "the file is empty")
    with path.open("rb") as stream:
        start = stream.read(16)
    expected = BEGINNINGS.get(path.suffix.lower(), b"")
    if start[: len(expected)] != expected:
        what = "is compressed: name the folder of the bag instead" if start[:4] == ZSTANDARD else "is no bag"
        raise RecordingError(path, f"the file is called {path.suffix}, but it {what} (it begins with {start[:8]!r})")
    if path.suffix.lower() == ".db3":
        _check_database(path)


def _check_database(path: Path) -> None:
    """Refuse a database that is cut off, or whose tables are made of anything but stored values."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        pages, size = (connection.execute(f"PRAGMA {key}").fetchone()[0] for key in ("page_count", "page_size"))
        if pages * size > path.stat().st_size:
            raise RecordingError(path, "the bag is cut off; copy it again")
        for kind, name, text in connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall():
            plain = kind in ("table", "index") and not str(text).upper().startswith("CREATE VIRTUAL")
            if kind == "table" and plain:
                plain = all(
                    column[6] == 0 for column in connection.execute("SELECT * FROM pragma_table_xinfo(?)", (name,))
                )
            if not plain:
                raise RecordingError(
                    path, f"the database holds '{str(name)[:40]}', which computes: that is no bag of ROS 2"
                )
    finally:
        connection.close()


class BagFile:
    """An open bag."""

    def __init__(self, path: Path, reader: Any) -> None:
        self.path = path
        self.reader = reader
        self.links = reader.connections
        self.is_ros1 = path.suffix.lower() == ".bag"
        self._stores: dict[str, Any] = {}

    def links_of(self, name: str) -> list[Any]:
        """Connections of a topic: one for each sender, or for each description of it."""
        return [link for link in self.links if link.topic == name]

    def names_field(self, kind: str) -> str | None:
        """The field of a message type that names the entries of its lists, if it has one."""
        return has_names(kind, self._stores[kind].fielddefs)

    def topics(self) -> tuple[Topic, ...]:
        """All topics, by name; those that hold no numbers have no columns."""
        return tuple(self._topic(name) for name in sorted({link.topic for link in self.links}))

    def _topic(self, name: str) -> Topic:
        links = self.links_of(name)
        kind = links[0].msgtype
        if any(link.msgtype != kind for link in links):
            return Topic(name, kind, problem=f"topic {name} holds messages of several types")
        try:
            types = self._store(links[0]).fielddefs
            fields = tuple(islice(fields_of(kind, types), MOST_COLUMNS + 1))
            names = has_names(kind, types) if fields else None
        except Exception:  # a definition that cannot be read is a problem of this topic alone
            problem = f"the message type {kind} of topic {name} is unknown: no definition in the bag"
            return Topic(name, kind, problem=problem)
        return self._with_columns(Topic(name, kind), links, fields, names)

    def _with_columns(self, topic: Topic, links: Sequence[Any], fields: Sequence[Field], names: str | None) -> Topic:
        """A topic with the columns that its first messages and those in its middle show."""
        if not fields or len(fields) > MOST_COLUMNS:
            return topic
        columns: dict[tuple[Field, str], None] = {}
        seen: dict[frozenset[tuple[Field, str]], int] = {}
        for message in self._examples(links, any(field.is_list for field in fields)):
            own = None if names is None else [str(key) for key in getattr(message, names)]
            present = [(field, key) for field in fields for key in keys_of(field, field.of(message), own)]
            columns |= dict.fromkeys(present)
            if len(columns) > MOST_COLUMNS:
                return topic
            kind = frozenset(present)
            seen[kind] = seen.get(kind, 0) + 1
        rank = {field: k for k, field in enumerate(fields)}
        ordered = sorted(columns, key=lambda column: rank[column[0]])
        place = {column: k for k, column in enumerate(ordered)}
        together = tuple((frozenset(place[column] for column in kind), count) for kind, count in seen.items())
        return Topic(topic.name, topic.kind, tuple(ordered), together)

    def _examples(self, links: Sequence[Any], vary: bool) -> Iterator[Any]:
        """Messages of a topic from its beginning and its middle; one is enough where all are alike."""
        count = PEEK if vary else 1
        yield from (message for _, _, message in islice(self.messages(links), count))
        if vary and sum(link.msgcount or 0 for link in links) > PEEK:
            middle = (self.reader.start_time + self.reader.end_time) // 2
            yield from (message for _, _, message in islice(self.messages(links, middle), count))

    def messages(self, links: Sequence[Any], start: int | None = None) -> Iterator[tuple[int, int, Any]]:
        """Stamps of headers [ns] (zero without any), times of recording [ns], and messages."""
        stores = {link.msgtype: self._store(link) for link in links}
        reads: dict[str, Callable[..., Any]] = {
            kind: store.deserialize_ros1 if self.is_ros1 else store.deserialize_cdr for kind, store in stores.items()
        }
        for link, recorded, raw in self.reader.messages(connections=links, start=start):
            if raw[:4] == ZSTANDARD:
                problem = "its messages are compressed; name the folder of the bag, whose metadata.yaml says how"
                raise RecordingError(self.path, problem)
            message = reads[link.msgtype](raw, link.msgtype)
            header = getattr(message, "header", None)
            stamp = 0 if header is None else header.stamp.sec * 1_000_000_000 + header.stamp.nanosec
            yield stamp, recorded, message

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
                    raise ValueError("a message definition holds names that are none, or lists of nothing")
                store = get_typestore(Stores.EMPTY)
                store.register({name: ([], fields) for name, (_, fields) in types.items()})
            self._stores[link.msgtype] = store
        return self._stores[link.msgtype]
