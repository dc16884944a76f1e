"""Edits of XML text that leave every other byte as it is: comments, quotes, indentation, line ends, declaration.

Elements are located by byte offsets. An edit is a `Splice`, and `spliced` puts all splices of a file in at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dynid.robot.numbers import number_text
from dynid.robot.xml_locations import Node

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
