"""Where the elements of an XML text stand, as byte offsets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from dynid.errors import RobotFileError

_ATTRIBUTE = re.compile(rb"""\s+([^\s=<>"'/]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_TAG_NAME = re.compile(rb"<([^\s/>]+)")
_UTF16 = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")


@dataclass(frozen=True)
class Span:
    """Where an attribute stands.

    Attributes:
        start: Offset of the white space before its name.
        value: Offset of the first byte of its value, within the quotes.
        stop: Offset behind the last byte of its value.
        text: The value as it is written.
    """

    start: int
    value: int
    stop: int
    text: str


@dataclass(eq=False)
class Node:
    """An element and where it stands; elements of a namespace have tags such as `URI}name`.

    Attributes:
        tag: Its name.
        attributes: Its attributes, as XML means them.
        line: Its line, from 1.
        start: Offset of its `<`.
        name: Its name as it is written, with its prefix.
        spans: Where its attributes stand, by their names as written.
        opened: Offset behind the `>` of its start tag.
        is_empty: Whether it is written as `<tag/>`.
        closed: Offset behind its last `>`.
        parent: The element that holds it.
        children: The elements that it holds.
    """

    tag: str
    attributes: Mapping[str, str]
    line: int
    start: int
    name: bytes
    spans: Mapping[str, Span]
    opened: int
    is_empty: bool
    closed: int = 0
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)

    def find(self, tag: str) -> Node | None:
        """The first child of a name."""
        return next(self.findall(tag), None)

    def findall(self, tag: str) -> Iterator[Node]:
        """The children of a name."""
        return (child for child in self.children if child.tag == tag)

    def iter(self) -> Iterator[Node]:
        """The element and all within it, in the order of the file."""
        yield self
        for child in self.children:
            yield from child.iter()


def locate(content: bytes, path: Path) -> Node:
    """Find all elements of an XML text.

    Args:
        content: The text, in an encoding in which ASCII characters are single bytes.
        path: Its file, for errors.

    Returns:
        The root element.

    Raises:
        RobotFileError: If the text is not well formed, declares entities, or has another encoding.
    """
    if content.startswith(_UTF16):
        raise RobotFileError(path, "is written in UTF-16, which cannot be edited in place; save it as UTF-8")
    parser = expat.ParserCreate(namespace_separator="}")
    open_nodes: list[Node] = []
    roots: list[Node] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        at = parser.CurrentByteIndex
        parent, line = open_nodes[-1] if open_nodes else None, parser.CurrentLineNumber
        node = Node(tag, attributes, line, at, *_start_tag(content, at, path, line), parent=parent)
        (parent.children if parent else roots).append(node)
        open_nodes.append(node)

    def end(_: str) -> None:
        node = open_nodes.pop()
        node.closed = node.opened if node.is_empty else content.index(b">", parser.CurrentByteIndex) + 1

    def refuse(*_: object) -> None:
        raise RobotFileError(path, "declares XML entities, which are not expanded for safety; write them out")

    parser.StartElementHandler, parser.EndElementHandler, parser.EntityDeclHandler = start, end, refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        problem = f"cannot be edited in place: {expat.ErrorString(error.code)}"
        raise RobotFileError(path, f"{problem}; save it as UTF-8", error.lineno) from error
    except (ValueError, LookupError) as error:  # an encoding of several bytes a character
        raise RobotFileError(path, f"cannot be edited in place ({error}); save it as UTF-8") from error
    return roots[0]


def _start_tag(content: bytes, at: int, path: Path, line: int) -> tuple[bytes, dict[str, Span], int, bool]:
    """Name and attributes of the start tag at an offset, the offset behind it, and whether it ends in `/>`."""
    name = _TAG_NAME.match(content, at)
    if name is None:
        raise RobotFileError(path, "has an encoding that cannot be edited in place; save it as UTF-8", line)
    spans: dict[str, Span] = {}
    stop = name.end()
    while found := _ATTRIBUTE.match(content, stop):
        group = 2 if found[2] is not None else 3
        stop = found.end()
        text = found[group].decode("latin-1")
        spans[found[1].decode("latin-1")] = Span(found.start(), found.start(group), found.end(group), text)
    close = content.index(b">", stop)
    return name[1], spans, close + 1, content[close - 1 : close] == b"/"
