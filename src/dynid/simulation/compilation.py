"""Compiling the simulation with Numba, once, and again when any of its files changes."""

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from dynid.model import NO_COMPILE

IS_COMPILED = not os.environ.get(NO_COMPILE)
"""Whether loops are compiled."""


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function with Numba, unless compilation is switched off."""
    return _compiled(function, is_inner=False)


def inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that only compiled ones call: it needs no way in from Python, which takes long to make."""
    return _compiled(function, is_inner=True)


def _compiled(function: Callable[..., Any], *, is_inner: bool) -> Callable[..., Any]:
    if not IS_COMPILED:
        return function
    from dynid.model.kernels.cached_code import njit

    options: dict[str, Any] = {"no_cpython_wrapper": is_inner, "no_cfunc_wrapper": True}
    dispatcher: Any = njit(nogil=True, error_model="numpy", **options)(function)
    dispatcher._cache = _cache_class()(function)  # what Numba's own `cache=True` does, with another class
    return dispatcher


@cache
def _cache_class() -> Any:
    """Numba's cache, but for all files together: its own looks only at the file that a function stands in.

    A compiled function holds those that it calls, so it is out of date when the file of any of them has changed.
    """
    from numba.core.caching import FunctionCache, IndexDataCacheFile

    files = sorted(Path(__file__).parent.glob("*.py"))
    stamp = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()

    class ForgivingIndex(IndexDataCacheFile):
        def _load_index(self) -> dict[Any, Any]:
            try:
                return super()._load_index()
            except Exception:  # an older version's index names classes that are gone: unpickling it may raise anything
                return {}

    class PackageCache(FunctionCache):
        def __init__(self, function: Any) -> None:
            super().__init__(function)
            stamp_of_file = self._cache_file._source_stamp
            self._cache_file = ForgivingIndex(self._cache_path, self._impl.filename_base, stamp_of_file)

        def _index_key(self, sig: Any, codegen: Any) -> Any:
            return (*super()._index_key(sig, codegen), stamp)

        def is_filled(self) -> bool:
            return any(stamp in key for key in self._cache_file._load_index())

    return PackageCache


def is_cached(function: Any) -> bool:
    """Whether a function was compiled before, by this version on this machine, or need not be."""
    return not IS_COMPILED or function._cache.is_filled()
