"""Numba's decorator, with a folder for what it compiles wherever dynid is installed.

Numba keeps compiled code beside the source or in the user's cache folder. In a container that runs as another user than
the one that installed dynid, and without a home, neither can be written, and Numba refuses to decorate anything. The
code then goes to a folder of this process, which is removed with it: compiled anew each time, and nobody else can put
code there. `NUMBA_CACHE_DIR` names a folder that lasts.
"""

import atexit
import logging
import shutil
import tempfile
from typing import Any

from numba import config, njit
from numba.core.caching import FunctionCache

logger = logging.getLogger(__name__)

__all__ = ["has_folder", "njit", "require_folder"]


def _probe() -> None:
    """A function whose code would be kept."""


def has_folder() -> bool:
    """Whether Numba has a folder for compiled code."""
    try:
        FunctionCache(_probe)
    except RuntimeError:
        return False
    return True


def require_folder() -> None:
    """Give Numba a temporary folder where it has none; says so."""
    if has_folder():
        return
    folder = tempfile.mkdtemp(prefix="dynid-compiled-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    settings: Any = config
    settings.CACHE_DIR = folder
    logger.warning(
        "compiled code cannot be kept: neither dynid's folder nor the user's cache can be written; "
        "set NUMBA_CACHE_DIR to a folder that can, or every start takes some seconds longer"
    )


require_folder()
