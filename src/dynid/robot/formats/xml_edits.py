"""Where the elements of an XML text stand, as byte offsets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from dynid.errors import RobotFileError
from dynid.robot.formats.xml_files import number_text, with_version

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
        parser.Parse(with_version(content), True)
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


_INDENT = re.compile(rb"(\r?\n|\r)[ \t]*\Z")


@dataclass(frozen=True)
class Splice:
    """Bytes from `start` to `end` are replaced by `text`."""

    start: int
    end: int
    text: bytes


@dataclass(frozen=True)
class NewElement:
    """An element that is to be written; names and values are plain ASCII without special characters."""

    tag: str
    attributes: Mapping[str, str]
    children: Sequence[NewElement] = ()


def spliced(content: bytes, splices: Iterable[Splice]) -> bytes:
    """The text with all splices put in; those at one place in the order given."""
    parts, at = [], 0
    for splice in sorted(splices, key=lambda splice: (splice.start, splice.end)):
        parts += [content[at : splice.start], splice.text]
        at = splice.end
    return b"".join([*parts, content[at:]])


def set_attributes(node: Node, values: Mapping[str, str]) -> list[Splice]:
    """Give attributes new values; those that are not there are added behind the last one."""
    splices = []
    end = max([node.start + 1 + len(node.name), *(span.stop + 1 for span in node.spans.values())])
    for name, value in values.items():
        if name not in node.spans:
            splices.append(Splice(end, end, f' {name}="{value}"'.encode("ascii")))
        elif node.spans[name].text != value:
            splices.append(Splice(node.spans[name].value, node.spans[name].stop, value.encode("ascii")))
    return splices


def set_numbers(node: Node, attribute: str, values: Sequence[float], rounding: float = 0.0) -> list[Splice]:
    """Give an attribute new numbers; numbers that are within `rounding` of those in the file keep their text."""
    text = node.spans[attribute].text if attribute in node.spans else ""
    words = list(re.finditer(r"\S+", text))
    try:
        old = [float(word[0]) for word in words]
    except ValueError:
        old = []
    if len(old) < len(values):
        is_needed = text or any(abs(value) > rounding for value in values)
        return set_attributes(node, {attribute: number_text(*values)}) if is_needed else []
    at = node.spans[attribute].value
    return [
        Splice(at + word.start(), at + word.end(), number_text(new).encode("ascii"))
        for word, before, new in zip(words, old, values, strict=False)
        if abs(new - before) > rounding
    ]


def remove_attributes(node: Node, names: Iterable[str]) -> list[Splice]:
    """Take attributes away, with the white space before them."""
    found = [node.spans[name] for name in names if name in node.spans]
    return [Splice(span.start, span.stop + 1, b"") for span in found]


def insert_child(content: bytes, node: Node, child: NewElement, *, first: bool = False) -> list[Splice]:
    """Put a new element into another as its first or last, indented as the file is."""
    if node.children:
        neighbour = node.children[0 if first else -1]
        line_start, step = _indent(content, neighbour.start), _step(content, neighbour)
        text = _written(child, line_start, step)
        if first:
            return [Splice(neighbour.start, neighbour.start, text + line_start)]
        return [Splice(neighbour.closed, neighbour.closed, line_start + text)]
    around, step = _indent(content, node.start), _step(content, node)
    line_start = around + step if around else b""
    text = line_start + _written(child, line_start, step)
    if node.is_empty:
        return [Splice(node.opened - 2, node.opened, b">" + text + around + b"</" + node.name + b">")]
    inside = content[node.opened : node.closed]
    has_line_end = _INDENT.search(inside[: inside.rindex(b"</")]) is not None
    return [Splice(node.opened, node.opened, text + (b"" if has_line_end else around))]


def _written(element: NewElement, line_start: bytes, step: bytes) -> bytes:
    attributes = "".join(f' {name}="{value}"' for name, value in element.attributes.items())
    head = f"<{element.tag}{attributes}".encode("ascii")
    if not element.children:
        return head + b"/>"
    within = line_start + step if line_start else b""
    inside = b"".join(within + _written(child, within, step) for child in element.children)
    return head + b">" + inside + line_start + f"</{element.tag}>".encode("ascii")


def _indent(content: bytes, at: int) -> bytes:
    """The line end and the white space right before an offset; nothing where something else stands before it."""
    found = _INDENT.search(content, max(0, at - 1000), at)
    return found[0] if found else b""


def _step(content: bytes, node: Node) -> bytes:
    """What one level of the file's indentation adds; two spaces where that cannot be seen."""
    if node.parent is not None:
        outer, inner = _indent(content, node.parent.start).lstrip(b"\r\n"), _indent(content, node.start).lstrip(b"\r\n")
        if inner.startswith(outer) and len(inner) > len(outer):
            return inner[len(outer) :]
    return b"  "


WARNING = b"Warning by dynid: "
"""How a comment begins that says so; one of an earlier export is taken out."""

_WARNED = re.compile(rb"<!--\s*" + re.escape(WARNING) + rb".*?-->\r?\n?", re.DOTALL)


def with_warning(content: bytes, text: str) -> bytes:
    """The text of a file with a comment before its root element that says not to trust it, and why.

    Args:
        content: The text, in an encoding in which ASCII characters are single bytes.
        text: Why; empty for none. What XML does not allow in comments is written otherwise.
    """
    content = _WARNED.sub(b"", content)
    if not text:
        return content
    words = " ".join(text.split())
    words = "".join(letter for letter in words if letter.isprintable())
    while "--" in words:
        words = words.replace("--", "- -")
    comment = b"<!-- " + WARNING + words.encode("ascii", "backslashreplace") + b" -->\n"
    declaration = re.match(rb"(?:\xef\xbb\xbf)?(?:<\?xml.*?\?>[ \t]*(?:\r?\n)?)?", content, re.DOTALL)
    at = declaration.end() if declaration else 0
    return content[:at] + comment + content[at:]
