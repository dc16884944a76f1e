"""A compiler where there is one: generated C becomes a shared library in a folder of this process."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

COMPILERS = ("cc", "gcc", "clang")
"""Looked for in this order."""

FLAGS = ("-std=c99", "-O2", "-fPIC", "-shared")
"""Always these, so that answers do not depend on the machine's environment."""

TIME_LIMIT = 300.0
"""Seconds after which a compiler is given up."""


def compiler() -> str | None:
    """Path of a compiler of C; None where there is none, or on Windows."""
    if sys.platform == "win32":
        return None
    return next((found for name in COMPILERS if (found := shutil.which(name))), None)


def built_library(files: Mapping[str, str], sources: tuple[str, ...]) -> Path | None:
    """Compile sources into a shared library.

    It lies in a new folder that only this user can open, and that goes when the process ends: nobody else can put
    code there.

    Args:
        files: Texts by file name.
        sources: Names of those to compile; the others are headers.

    Returns:
        The library; None where no compiler is there, or it fails.
    """
    found = compiler()
    if found is None:
        return None
    folder = Path(tempfile.mkdtemp(prefix="dynid-code-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="ascii")
    library = folder / "library.so"
    command = [found, *FLAGS, *sources, "-o", library.name, "-lm"]
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=TIME_LIMIT)
    except (OSError, subprocess.SubprocessError):
        return None
    return library
