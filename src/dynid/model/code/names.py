"""Names in generated text: identifiers are made, and what robot files say stands in comments that it cannot leave."""

from __future__ import annotations

import re
import string

from dynid.errors import InvalidRequestError

LONGEST_IDENTIFIER = 48
"""Characters of an identifier that is made of a name."""

LONGEST_NAME = 120
"""Characters of a name that are shown."""

_PLAIN = frozenset(string.ascii_letters + string.digits + " _.,:+=()[]")
"""Characters that mean nothing at the end of a comment, in C, C++, Python, CMake, XML, YAML and Markdown."""


def identifier(name: str) -> str:
    """An identifier of C, C++, Python, CMake and ROS made of any name.

    >>> identifier("UR-5 (v2)"), identifier("7*/x"), identifier("")
    ('ur_5_v2', 'robot_7_x', 'robot')
    """
    words = "_".join(re.findall(r"[a-z0-9]+", name.lower()))[:LONGEST_IDENTIFIER].rstrip("_")
    if not words or words[0].isdigit():
        words = f"robot_{words}".rstrip("_")
    return f"{words}_robot" if words in _RESERVED else words


def checked_identifier(name: str) -> str:
    """A prefix that a user states.

    Raises:
        InvalidRequestError: If it is no identifier.
    """
    if identifier(name) != name:
        raise InvalidRequestError(
            f"'{shown(name)}' is no name for generated code; use lower-case letters, digits and single underscores, "
            f"such as {identifier(name)}"
        )
    return name


def shown(name: str) -> str:
    r"""A name as it may stand in any comment or table: other than plain characters by their code points.

    >>> shown("arm */ \n x?"), shown("link_1")
    ('arm {2A}{2F} {A} x{3F}', 'link_1')
    """
    text = "".join(c if c in _PLAIN else f"{{{ord(c):X}}}" for c in name[:LONGEST_NAME])
    return text + ("..." if len(name) > LONGEST_NAME else "")


_RESERVED = frozenset(
    word
    for line in (
        "alignas alignof all and and_eq asm async atomic_cancel auto await bitand bitor bool break case catch",
        "char class clean compl concept const continue ctypes def default del delete do double dynid eigen",
        "elif else enum except explicit export extern false finally float for friend from global goto help if",
        "import in inline install int is lambda linux long main math mutable namespace new noexcept none",
        "nonlocal not not_eq nullptr numpy operator or or_eq pass private protected public raise register",
        "reinterpret_cast requires restrict return self short signal signed sizeof static std stdint string",
        "struct switch synchronized sys template test this thread_local throw time true try typedef typeid",
        "typename union unix unsigned using virtual void volatile while with xor xor_eq yield",
    )
    for word in line.split()
)
"""Words that mean something in one of the languages, in a build, or to the systems that they are for."""
