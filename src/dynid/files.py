"""Writing files whole or not at all, and never over a user's file without being asked."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from dynid.errors import DynidError, OutputExistsError


class OutputError(DynidError):
    """An output cannot be written.

    Attributes:
        path: The file that was to be written.
    """

    def __init__(self, path: Path, error: OSError) -> None:
        self.path = str(path)
        super().__init__(f"{path} cannot be written ({error.strerror or error}); check the folder and its permissions")


def is_file(path: Path) -> bool:
    """Whether a file is there and can be looked at; never an error."""
    try:
        return path.is_file()
    except OSError:
        return False


def write_text(path: Path, text: str, *, overwrite: bool = False) -> None:
    """Write a text file as `write_bytes` does, in UTF-8."""
    write_bytes(path, text.encode(), overwrite=overwrite)


def write_bytes(path: Path, content: bytes, *, overwrite: bool = False) -> None:
    """Write a file in one step: readers see the old file or the whole new one.

    Args:
        path: The file.
        content: Its content.
        overwrite: Whether an existing file may be replaced.

    Raises:
        OutputExistsError: If the file exists and may not be replaced.
        OutputError: If it cannot be written.
    """
    try:
        if path.exists() and not overwrite:
            raise OutputExistsError(path)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise OutputError(path, error) from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise OutputError(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
