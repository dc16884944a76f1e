"""Reduced logs in files: kept by content, so that a run that was interrupted computes only what is missing.

A run has a folder of its own with the reduced logs that it needs, which is removed with it. Beside it, a cache in the
user's cache folder keeps them for later runs; both share the files where the system can.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dynid.errors import DynidError
from dynid.files import cache_folder, read_bytes, write_bytes
from dynid.identification.log_factors import LogFactors, LogFactorsError, Reduction

LARGEST_CACHE = 10 * 10**9
"""Bytes that are kept; beyond them, the reduced logs that were used longest ago are removed."""

HELD = 64
"""Logs whose factors are held in memory; those of more are read from disk whenever they are needed."""

STALE = 2 * 24 * 3600.0
"""Seconds after which the folder of a run that was killed is removed."""

RUN = "run-"


class FactorCache:
    """The reduced logs of one run, and those that are kept for later ones.

    Args:
        keep: Whether they are kept for later runs, and those of earlier runs are used.
        folder: The folder of the cache; `factors` in the user's cache folder (`$DYNID_CACHE`) when None.
        largest: Bytes that are kept.
    """

    def __init__(self, *, keep: bool = True, folder: Path | None = None, largest: int = LARGEST_CACHE) -> None:
        self._kept = (cache_folder("factors") if folder is None else folder) if keep else None
        self._largest = largest
        if self._kept is not None:
            try:
                self._kept.mkdir(parents=True, exist_ok=True)
                if not os.access(self._kept, os.W_OK):
                    self._kept = None
            except OSError:  # a cache that cannot be written is none: results do not depend on it
                self._kept = None
        self._run = Path(tempfile.mkdtemp(prefix=RUN, dir=self._kept))
        weakref.finalize(self, shutil.rmtree, self._run, ignore_errors=True)

    def find(self, number: int, key: str, reduction: Reduction) -> LogFactors | None:
        """A log that an earlier run reduced, as one of this run; None where there is none, or it is damaged.

        Args:
            number: Number of the log in this run, counted from 0.
            key: What it is kept under.
            reduction: How it was reduced.
        """
        if self._kept is None:
            return None
        place = self._place(self._kept, key)
        try:
            found = LogFactors.from_bytes(read_bytes(place), reduction, place)
            self._share(place, number)
        except (OSError, LogFactorsError):
            with suppress(OSError):
                place.unlink()
            return None
        with suppress(OSError):  # in a shared cache it may be another user's
            os.utime(place)  # used now
        return found

    def put(self, number: int, key: str, content: bytes) -> None:
        """Keep a log that was reduced.

        Raises:
            OutputError: If it cannot be written for this run; the cache need not be writable.
        """
        own = self._own(number)
        write_bytes(own, content, overwrite=True)
        if self._kept is None or not key:
            return
        place = self._place(self._kept, key)
        with suppress(OSError, DynidError):
            place.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(place, content, overwrite=True)
            self._share(place, number)

    def load(self, number: int, reduction: Reduction) -> LogFactors:
        """A reduced log of this run.

        Raises:
            LogFactorsError: If its file is gone or damaged.
        """
        path = self._own(number)
        try:
            return LogFactors.from_bytes(read_bytes(path), reduction, path)
        except OSError as error:
            raise LogFactorsError(path, f"cannot be read ({error.strerror or error}); identify again") from error

    def trim(self) -> None:
        """Remove what was used longest ago, beyond the size of the cache, and folders of runs that were killed."""
        if self._kept is None:
            return
        for folder in self._kept.glob(f"{RUN}*"):
            with suppress(OSError):
                if folder != self._run and time.time() - folder.stat().st_mtime > STALE:
                    shutil.rmtree(folder, ignore_errors=True)
        entries = sorted(_entries(self._kept), key=lambda entry: -entry[0])
        total = 0
        for _, size, path in entries:
            total += size
            if total > self._largest:
                path.unlink(missing_ok=True)

    def _own(self, number: int) -> Path:
        return self._run / f"{number}.npz"

    def _share(self, place: Path, number: int) -> None:
        own = self._own(number)
        other = own.with_suffix(".new")  # the old one stays until the new one is there
        other.unlink(missing_ok=True)
        try:
            os.link(place, other)
        except OSError:
            shutil.copyfile(place, other)
        other.replace(own)

    @staticmethod
    def _place(folder: Path, key: str) -> Path:
        return folder / key[:2] / f"{key}.npz"


def _entries(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """When each entry of a cache was used, its size and its file."""
    for path in folder.glob("*/*.npz"):
        if re.fullmatch(r"[0-9a-f]{64}", path.stem):
            with suppress(OSError):
                status = path.stat()
                yield status.st_mtime, status.st_size, path
