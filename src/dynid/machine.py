"""What this machine gives: threads, ours over rows and samples and one each for the linear algebra inside, and memory.

Matrices here are many and small. BLAS's own threads would wait for each other more than they work.
"""

import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


NAME = "dynid"
"""What names of our threads begin with."""


@cache
def _pool(_process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores(), thread_name_prefix=NAME)


_ALONE = threading.local()


@contextmanager
def in_one_thread() -> Iterator[None]:
    """While it lasts, `parallel` works in the thread that calls it: other processes have the other processors."""
    before = getattr(_ALONE, "asked", False)
    _ALONE.asked = True
    try:
        yield
    finally:
        _ALONE.asked = before


def parallel(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Do work on all items, in threads where there are several; results in the items' order.

    Work that one of our threads divides again is done by that thread: if all waited, none would be left to work.
    """
    waiting = list(items)
    alone = getattr(_ALONE, "asked", False) or cores() < 2
    if len(waiting) < 2 or alone or threading.current_thread().name.startswith(NAME):
        return [work(item) for item in waiting]
    return list(_pool(os.getpid()).map(work, waiting))  # a forked process needs threads of its own


def single_threaded_blas() -> AbstractContextManager:
    """While it lasts, BLAS and LAPACK calls use one thread each."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1, user_api="blas")


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
