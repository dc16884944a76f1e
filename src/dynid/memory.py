"""The memory that may still be used."""

import os
import re
from pathlib import Path


def available_bytes() -> int:
    """Memory that may still be used: of the machine, of the container, or below the limit of this process."""
    free = min(_of_machine(), _of_container())
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            free = min(free, max(0, limit - used_bytes()))
    except ImportError:  # other systems have no such limits
        pass
    return free


def used_bytes() -> int:
    """Address space of this process; zero where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


_NOT_STATED = 1 << 62
"""Bytes where the system states none: let the machine decide."""


def _of_machine() -> int:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    return _NOT_STATED


def _of_container(group: Path = Path("/sys/fs/cgroup")) -> int:
    """What the control group leaves; files that are only kept for later reading give way."""
    try:
        limit, used = (int((group / f"memory.{name}").read_text(encoding="ascii")) for name in ("max", "current"))
        kept = re.search(r"^inactive_file (\d+)$", (group / "memory.stat").read_text(encoding="ascii"), re.MULTILINE)
        return max(0, limit - used + (int(kept.group(1)) if kept else 0))
    except (OSError, ValueError):  # no such limit
        return _NOT_STATED
