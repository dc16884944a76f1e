"""Reading untrusted XML: no entity is expanded, nothing is fetched, every error names its line. Numbers as text."""

import re
from pathlib import Path
from typing import TypeAlias

from lxml import etree

from dynid.errors import RobotFileError
from dynid.files import read_bytes
from dynid.robot.formats.xacro_files import expanded, is_xacro
from dynid.robot.joints import LARGEST_NUMBER

Element: TypeAlias = etree._Element  # lxml has no public name for the class of elements


def robot_bytes(path: Path) -> bytes:
    """The text of a robot file; that of a xacro file expanded.

    Raises:
        RobotFileError: If it is missing, unreadable, or cannot be expanded.
    """
    if is_xacro(path):
        return expanded(path)
    try:
        return read_bytes(path)
    except OSError as error:
        raise RobotFileError(path, f"cannot be read ({error.strerror or error}); check it") from error


_NO_VERSION = re.compile(rb"""\A(\s*<\?xml\s+version\s*=\s*["'])0\.0(?=["'])""")


def with_version(content: bytes) -> bytes:
    """XML with a version that parsers know, of the same length: exporters of many public URDF files write 0.0."""
    return _NO_VERSION.sub(rb"\g<1>1.0", content)


def read_xml(path: Path) -> Element:
    """Parse an XML file, a xacro file after its expansion, and give its root element.

    Raises:
        RobotFileError: If the file is missing, unreadable, not XML, or declares entities.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    content = with_version(robot_bytes(path))
    if not content.strip():
        raise RobotFileError(path, "the file is empty; a robot file in XML was expected")
    if b"<!ENTITY" in content.replace(b"\0", b""):  # without the zeros of UTF-16
        raise RobotFileError(path, "declares XML entities, which are not expanded for safety; write them out")
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        message = " ".join((error.msg or "").split()).partition(", line ")[0]
        raise RobotFileError(path, f"is not well-formed XML: {message}", error.lineno) from error


def number_text(*values: float) -> str:
    """Numbers with all their digits, separated by spaces, and no minus before a zero."""
    return " ".join(f"{float(value) + 0.0!r}".removesuffix(".0") for value in values)


class ElementReader:
    """Reads attributes of XML elements; every error names the file, the line and what was expected."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def error(self, element: Element, problem: str) -> RobotFileError:
        """An error at an element."""
        return RobotFileError(self.path, problem, element.sourceline)

    def text(self, element: Element, attribute: str, default: str | None = None) -> str:
        """An attribute that must be there, unless there is a default."""
        value = element.get(attribute, default)
        if value is None or (not value.strip() and default is None):
            raise self.error(element, f"<{element.tag}> lacks the attribute '{attribute}'")
        return value

    def numbers(self, element: Element, attribute: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """As many finite numbers as the default has, separated by spaces."""
        text = element.get(attribute)
        if text is None:
            return default
        try:
            values = tuple(float(word) for word in text.split())
        except ValueError:
            values = ()
        if len(values) != len(default) or "_" in text or not all(abs(value) <= LARGEST_NUMBER for value in values):
            count = {1: "one finite number", 3: "three finite numbers"}.get(len(default), f"{len(default)} numbers")
            raise self.error(element, f"{_shown(element, attribute, text)}; expected {count}")
        return values

    def number(self, element: Element, attribute: str, default: float | None = None) -> float:
        """A finite number that must be there, unless there is a default."""
        if default is None:
            self.text(element, attribute)
        return self.numbers(element, attribute, (default or 0.0,))[0]


def _shown(element: Element, attribute: str, text: str) -> str:
    shown = text if len(text) <= 60 else text[:57] + "..."
    return f'<{element.tag}> has {attribute}="{shown}"'
