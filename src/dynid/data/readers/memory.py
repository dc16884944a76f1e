"""How much memory there is, so that a file that does not fit is refused before the machine gives up."""

from __future__ import annotations

import os
from pathlib import Path

from dynid.data.readers.source import RecordingError


def available_bytes() -> int:
    """Memory that may still be used: of the machine, or below the limit of this process."""
    free = _of_machine()
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            free = min(free, max(0, limit - used_bytes()))
    except ImportError:  # other systems have no such limits
        pass
    return free


def used_bytes() -> int:
    """Address space of this process; zero where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def _of_machine() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    return 1 << 62  # unknown: let the machine decide


def require_memory(path: Path, needed: int) -> None:
    """Refuse to read what does not fit.

    Raises:
        RecordingError: If so many bytes are not there.
    """
    free = available_bytes()
    if needed > free:
        problem = f"reading it takes about {needed / 1e9:.2g} GB of memory, and {free / 1e9:.2g} GB are free"
        raise RecordingError(path, f"{problem}; name fewer columns, cut it into several logs, or save it as Parquet")
