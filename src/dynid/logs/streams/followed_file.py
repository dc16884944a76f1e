"""A file that another program is writing: its lines as they come, whole ones only, also where it begins anew."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import BinaryIO

from dynid.errors import DynidError
from dynid.logs.readers.source import RecordingError
from dynid.logs.streams.inbox import Inbox
from dynid.logs.streams.line_form import FOLLOWED, LineForm
from dynid.logs.streams.samples import MalformedSampleError

FEWEST_LINES = 25
"""Lines from which on columns are looked for: their names, units and times need some numbers."""

MOST_LINES = 2000
"""Lines after which columns that were not found are an error."""

LONGEST_LINE = 100_000
"""Bytes of a line; of longer ones, which are no text of samples, the rest is skipped."""

BLOCK = 1_000_000
"""Bytes that are read at a time."""

POLL = 0.05
"""How often a file is looked at [s]."""


@dataclass
class GrowingText:
    """The lines of a file that grows; the last one is waited for until it is ended.

    Attributes:
        path: The file, which need not be there yet.
        begun: How often it was begun anew: cut off, or replaced by another.
        too_long: Lines that were longer than `LONGEST_LINE`.
    """

    path: Path
    begun: int = 0
    too_long: int = 0
    _stream: BinaryIO | None = None
    _rest: bytes = b""
    _skips: bool = False

    def new_lines(self) -> Iterator[str]:
        """Lines that were added since the last call; those of a file that was replaced first, to its end."""
        if self._stream is None and not self._opened():
            return
        assert self._stream is not None
        if os.fstat(self._stream.fileno()).st_size < self._stream.tell():  # cut off, and begun anew
            self._stream.seek(0)
            self._begin_anew()
        while block := self._stream.read(BLOCK):
            yield from self._lines(block)
        if self._is_replaced():
            self._stream.close()
            self._stream = None
            if self._opened():
                self._begin_anew()
                yield from self.new_lines()

    @property
    def is_there(self) -> bool:
        """Whether there is such a file."""
        return self._stream is not None

    def close(self) -> None:
        """Let go of the file."""
        if self._stream is not None:
            self._stream.close()

    def _opened(self) -> bool:
        try:
            self._stream = self.path.open("rb")
        except FileNotFoundError:  # not yet, or between two files of a rotation
            return False
        except OSError as error:
            raise RecordingError(self.path, f"it cannot be read ({error.strerror})") from error
        return True

    def _begin_anew(self) -> None:
        self._rest, self._skips = b"", False
        self.begun += 1

    def _is_replaced(self) -> bool:
        assert self._stream is not None
        try:
            return self.path.stat().st_ino != os.fstat(self._stream.fileno()).st_ino
        except FileNotFoundError:
            return False

    def _lines(self, block: bytes) -> Iterator[str]:
        *whole, self._rest = (self._rest + block).split(b"\n")
        for line in whole:
            if self._skips or len(line) > LONGEST_LINE:
                self.too_long += not self._skips
                self._skips = False
                continue
            yield line.decode("utf-8-sig", "replace").rstrip("\r")
        if len(self._rest) > LONGEST_LINE:
            self.too_long += not self._skips
            self._rest, self._skips = b"", True


@dataclass
class FollowedFile:
    """Samples of a file that grows.

    Attributes:
        path: The file.
        form_of: How lines are read, of the first lines in a file of their own.
        inbox: Where samples go.
    """

    path: Path
    form_of: Callable[[Path], LineForm]
    inbox: Inbox
    _form: LineForm | None = None
    _head: list[str] = field(default_factory=list)
    _count: int = 0
    _problem: str = ""

    def __post_init__(self) -> None:
        if self.path.suffix.lower() not in FOLLOWED:
            raise RecordingError(
                self.path, f"only text can be followed while it grows ({', '.join(FOLLOWED)}); use --replay for others"
            )

    def run(self, stop: Event) -> None:
        """Follow the file until told to stop.

        Raises:
            DynidError: If there are many lines, and their columns cannot be found.
        """
        text, begun, too_long = GrowingText(self.path), 0, 0
        try:
            while not stop.is_set():
                for line in text.new_lines():
                    if text.begun > begun:
                        begun, self._head, self._count = text.begun, [], 0
                    self._take(line)
                for _ in range(text.too_long - too_long):
                    self.inbox.refuse("too-long")
                too_long = text.too_long
                self._hint(is_there=text.is_there)
                stop.wait(POLL)
        finally:
            text.close()

    def _hint(self, *, is_there: bool) -> None:
        """Say why nothing is read yet."""
        name, lines = self.path.name, len(self._head)
        if self._form is not None:
            self.inbox.hint = ""
        elif not is_there:
            self.inbox.hint = f"there is no {name} yet"
        elif self._problem:
            self.inbox.hint = f"{name}: {self._problem}"
        else:
            self.inbox.hint = f"{name} has {lines} lines so far; its columns are looked for after {FEWEST_LINES}"

    def _take(self, line: str) -> None:
        if self._form is not None:
            self._read(line)
            return
        self._head.append(line)
        count = len(self._head)
        if count < FEWEST_LINES or (count > FEWEST_LINES and count & (count - 1) and count < MOST_LINES):
            return  # again at 32, 64, 128, ...
        with tempfile.TemporaryDirectory(prefix="dynid-") as folder:
            snapshot = Path(folder) / self.path.name
            snapshot.write_text("\n".join(self._head) + "\n", encoding="utf-8")
            try:
                self._form = self.form_of(snapshot)
            except DynidError as error:
                self._problem = str(error).replace(f"{snapshot}: ", "")
                if count >= MOST_LINES:
                    raise RecordingError(self.path, self._problem) from error
                return
        waiting, self._head = self._head, []
        for earlier in waiting:
            self._read(earlier)

    def _read(self, line: str) -> None:
        """Take the sample of a line; what stands before the first one is a header."""
        if not line.strip() or line.lstrip()[:1] in "#%":
            return
        assert self._form is not None
        try:
            sample = self._form.read(line, self._count)
        except MalformedSampleError as error:
            if self._count:
                self.inbox.refuse(error.kind)
            return
        self._count += 1
        self.inbox.put(sample)
