"""Errors that users meet: one base class, each error carries its data.

Every message is one sentence or two: what was found, where, what was expected, and what to try.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


_WRITTEN: dict[str, str] = {}
"""Beginnings of paths that hold values of environment variables, and how they were written."""


def remember_written(path: str, written: str) -> None:
    """Have messages and results show a path, and what is below it, as it was written: with `${VARIABLE}`.

    Single words are left, since a message may hold them for another reason.
    """
    if re.search(r"\w", path) and re.search(r"[/\\.]", path) and path != written:
        _WRITTEN[path] = written


def as_written(text: str) -> str:
    """A text in which paths with values of environment variables stand as they were written in a file.

    >>> remember_written("/home/ann/secret", "${DATA}")
    >>> as_written("/home/ann/secret/run.csv: there is no such file")
    '${DATA}/run.csv: there is no such file'
    """
    for path in sorted(_WRITTEN, key=len, reverse=True):  # the longest, which may begin with another
        if path in text:
            text = re.sub(rf"(?<![\w.$-]){re.escape(path)}(?![\w$-])", lambda _, path=path: _WRITTEN[path], text)
    return text


class DynidError(Exception):
    """Base of all errors that dynid raises on purpose; the command line turns it into exit status 2.

    Values of environment variables in paths are not shown: messages have the paths as they were written.
    """

    def __init__(self, *parts: object) -> None:
        super().__init__(*(as_written(part) if isinstance(part, str) else part for part in parts))


class FileProblemError(DynidError):
    """A file or folder is not what it should be.

    Attributes:
        path: The file or folder, or the name of what is built in.
        problem: What is wrong, what was expected and what to try.
        line: Line of the file (from 1) where it is wrong, when that is known.
    """

    def __init__(self, path: Path | str, problem: str, line: int | None = None) -> None:
        self.path = str(path).encode(errors="replace").decode()  # names of files need not be text
        self.problem = problem
        self.line = line
        where = self.path if line is None else f"{self.path}, line {line}"
        super().__init__(f"{where}: {problem}")


class RobotFileError(FileProblemError):
    """A robot file cannot be read as a robot."""


class UnknownNameError(DynidError):
    """A name that should be one of a known list is not.

    Attributes:
        kind: What the name should name, for example "joint".
        name: The name that was given.
        known: The names that would be valid.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], where: str = "") -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(known)
        super().__init__(f"there is no {kind} '{name}'{where}; {self._advice()}")

    def _advice(self) -> str:
        close = difflib.get_close_matches(self.name, self.known, n=1)
        if close:
            return f"did you mean '{close[0]}'?"
        shown = ", ".join(self.known[:20]) + (", ..." if len(self.known) > 20 else "")
        return f"choose from {shown}" if self.known else f"there are no {self.kind}s to choose from"


class ShapeError(DynidError):
    """An array has another shape than the robot or the model needs.

    Attributes:
        what: What the array holds.
        expected: The shape that was expected, in words.
        found: The shape that was found.
    """

    def __init__(self, what: str, expected: str, found: tuple[int, ...]) -> None:
        self.what = what
        self.expected = expected
        self.found = found
        super().__init__(f"{what} must have the shape {expected}, not {found}")


class NotAConfigurationError(DynidError):
    """Values given as a state are none that the robot can be in.

    Attributes:
        joint: The joint whose values are wrong.
        problem: Why they are no state.
    """

    def __init__(self, joint: str, problem: str) -> None:
        self.joint = joint
        self.problem = problem
        super().__init__(f"joint '{joint}' cannot be in this state: {problem}")


class InvalidRequestError(DynidError):
    """What was asked for contradicts the robot or itself."""


class TooLargeError(DynidError):
    """What was asked for does not fit into memory.

    Attributes:
        what: What would have to be computed.
        needed: Memory that it takes [bytes].
        available: Memory that is free [bytes].
    """

    def __init__(self, what: str, needed: int, available: int, advice: str) -> None:
        self.what = what
        self.needed = needed
        self.available = available
        sizes = [f"{size / 1e9:,.{0 if size >= 1e10 else 1 if size >= 1e8 else 3}f} GB" for size in (needed, available)]
        super().__init__(f"{what} would take about {sizes[0]} of memory, and {sizes[1]} are free; {advice}")


class OutputExistsError(DynidError):
    """An output would overwrite a file.

    Attributes:
        path: The file that exists.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = str(path)
        super().__init__(
            f"{self.path} exists already and is left as it is; choose another name, or add --force "
            "(in Python: overwrite=True)"
        )


class ForeignOutputError(OutputExistsError):
    """An output would replace a folder that holds files of others, which no option allows.

    Attributes:
        path: The folder.
        found: What is in it; None where it holds nothing that dynid wrote.
    """

    def __init__(self, path: Path | str, found: str | None = None) -> None:
        self.path, self.found = str(path), found
        what = "is there, and dynid did not write it" if found is None else f"holds {found}, which dynid did not write"
        DynidError.__init__(self, f"{self.path} {what}: it is left as it is, also with --force; choose another name")
