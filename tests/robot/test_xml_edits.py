"""Edits of XML text mean what lxml's edits of the tree mean, and leave all other bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from dynid.errors import RobotFileError
from dynid.robot.formats.xml_edits import (
    NewElement,
    Node,
    insert_child,
    locate,
    remove_attributes,
    set_attributes,
    set_numbers,
    spliced,
)

PATH = Path("robot.xml")
SPACES = st.sampled_from([" ", "  ", "\t", "\n  ", "\r\n\t"])
VALUES = st.sampled_from(["1", "0.50 -2e-3", "a>b", "é", "&lt;&amp;", "", "it's so"])
BETWEEN = st.sampled_from(
    ["", " ", "\n  ", "<!-- <a b='1'/> -->", "<![CDATA[ <a> ]]>", "text &amp; more", "<?pi a='>'?>"]
)


@st.composite
def elements(draw: st.DrawFn, depth: int = 3) -> str:
    """The text of an element, formatted in an odd way."""
    tag = draw(st.sampled_from(["a", "link", "p:x", "ü"]))
    attributes = ""
    for name in draw(st.lists(st.sampled_from(["b", "c", "p:d", "ö"]), unique=True, max_size=3)):
        value = draw(VALUES)
        quote = '"' if "'" in value else draw(st.sampled_from("'\""))
        attributes += draw(SPACES) + name + draw(st.sampled_from(["=", " = "])) + quote + value + quote
    end = draw(st.sampled_from(["", " ", "\n"]))
    inside = draw(BETWEEN)
    for child in draw(st.lists(elements(depth - 1), max_size=3)) if depth else []:
        inside += child + draw(BETWEEN)
    if not inside and draw(st.booleans()):
        return f"<{tag}{attributes}{end}/>"
    return f"<{tag}{attributes}{end}>{inside}</{tag}{end}>"


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "iso-8859-1"]))
    declared = "utf-8" if encoding == "utf-8-sig" else encoding
    before = draw(st.sampled_from(["", "\n", "<!-- é > -->\r\n", "<!DOCTYPE robot>"]))
    inside = draw(st.lists(elements(), max_size=3))
    text = f'<?xml version="1.0" encoding="{declared}"?>{before}<robot xmlns:p="http://u">{"".join(inside)}</robot>\n'
    return text.encode(encoding)


def chosen(draw: st.DataObject, content: bytes) -> tuple[Node, etree._ElementTree, etree._Element]:
    """One element, as located in the text and as lxml has it."""
    nodes = list(locate(content, PATH).iter())
    tree = etree.fromstring(content).getroottree()
    k = draw.draw(st.integers(0, len(nodes) - 1))
    found = list(tree.iter("*"))
    assert len(found) == len(nodes)
    assert [element.sourceline for element in found] == [_line_of(node, content) for node in nodes]
    return nodes[k], tree, found[k]


def _line_of(node: Node, content: bytes) -> int:
    """The line on which the start tag ends is the one that lxml knows."""
    return 1 + content[: node.opened].count(b"\n")


def canonical(tree: etree._ElementTree) -> bytes:
    return etree.tostring(tree, method="c14n")


@given(documents(), st.data())
def test_attributes_are_set_as_in_the_tree(content: bytes, draw: st.DataObject) -> None:
    node, tree, element = chosen(draw, content)
    edits = set_attributes(node, {"b": "7", "new": "1 2"})
    after = spliced(content, edits)
    element.set("b", "7")
    element.set("new", "1 2")
    assert canonical(etree.fromstring(after).getroottree()) == canonical(tree)
    assert after[: node.start] == content[: node.start]
    assert after.endswith(content[node.opened :])


@given(documents(), st.data())
def test_attributes_are_removed_as_in_the_tree(content: bytes, draw: st.DataObject) -> None:
    node, tree, element = chosen(draw, content)
    after = spliced(content, remove_attributes(node, ("b", "c", "nothing")))
    for name in {"b", "c"} & set(element.attrib):
        del element.attrib[name]
    assert canonical(etree.fromstring(after).getroottree()) == canonical(tree)


@given(documents(), st.data(), st.booleans())
def test_children_are_inserted_as_in_the_tree_but_for_white_space(
    content: bytes, draw: st.DataObject, first: bool
) -> None:
    node, _, _ = chosen(draw, content)
    new = NewElement("inertial", {"k": "1"}, [NewElement("mass", {"value": "2"})])
    after = etree.fromstring(spliced(content, insert_child(content, node, new, first=first)))
    (found,) = after.iter("inertial")
    assert [(child.tag, child.get("value")) for child in found] == [("mass", "2")]
    parent = found.getparent()
    assert parent is not None
    siblings = list(parent.iterchildren("*"))
    assert siblings.index(found) == (0 if first else len(siblings) - 1)
    assert len(siblings) == len(node.children) + 1
    words = [text.split() for text in etree.fromstring(content).itertext(with_tail=True)]
    assert sorted(word for text in words for word in text) == sorted(
        word for text in after.itertext(with_tail=True) for word in text.split()
    )


def test_only_numbers_that_differ_have_a_new_text() -> None:
    content = b"<a x='1.0  2.50 3' y=\"\"/>"
    node = locate(content, PATH)
    assert spliced(content, set_numbers(node, "x", [1.0, 2.25, 3.0])) == b"<a x='1.0  2.25 3' y=\"\"/>"
    assert spliced(content, set_numbers(node, "x", [1.0 + 1e-14, 2.5, -0.0], 1e-13)) == b"<a x='1.0  2.50 0' y=\"\"/>"
    assert spliced(content, set_numbers(node, "z", [0.0])) == content
    assert spliced(content, set_numbers(node, "z", [1.5, -0.0])) == b'<a x=\'1.0  2.50 3\' y="" z="1.5 0"/>'


@pytest.mark.parametrize("content", [b"<a>", b"", b"<a b='1' b='2'/>", b"<a><p:b/></a>", b"<a>\xff</a>"])
def test_text_that_is_not_well_formed_is_a_clear_error(content: bytes) -> None:
    with pytest.raises(RobotFileError, match=r"robot\.xml"):
        locate(content, PATH)


def test_deep_and_wide_text_is_located() -> None:
    content = b"<r>" + b"<a>" * 200 + b"</a>" * 200 + b"<b c='1'/>" * 20000 + b"</r>"
    assert sum(1 for _ in locate(content, PATH).iter()) == 20201
