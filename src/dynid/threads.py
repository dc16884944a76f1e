"""Threads: ours over rows and samples, one each for the linear algebra inside.

Matrices here are many and small. BLAS's own threads would wait for each other more than they work.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache
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
