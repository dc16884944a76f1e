"""Logs at addresses such as `s3://bucket/run.parquet`: fetched once by fsspec, and kept in a folder of the user's."""

import hashlib
import json
import os
import re
import shutil
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from dynid.files import cache_folder
from dynid.logs.readers.source import Progress, RecordingError, silent

ADDRESS = "address.txt"
"""File beside a fetched one that says where it is from."""

VERSIONS = (
    *("ETag", "etag", "size", "mtime", "LastModified", "Last-Modified", "last_modified", "updated", "created"),
    *("Content-MD5", "Digest", "md5Hash", "content_md5"),
)
"""What file systems say of a file that changes with its content."""


def is_url(name: str | os.PathLike[str]) -> bool:
    """Whether a name is an address that is fetched; `file:///logs/run.csv` is a path.

    >>> is_url("s3://bucket/run.csv"), is_url("run.csv"), is_url("file:///logs/run.csv")
    (True, False, False)
    """
    return re.match(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+://", os.fspath(name)) is not None


def shown(name: str) -> str:
    """A name for messages: an address without user, password and query, which may hold keys."""
    if not is_url(name):
        return name
    parts = urlsplit(name)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def local_file(name: str, progress: Progress = silent) -> Path:
    """The file of a name: a path as it is; an address fetched to the folder of fetched files, unless it is there.

    A fetched file stands under a name from its address and from what the file system says of its content (ETag, size,
    time of change), so that a changed file is fetched anew.

    Raises:
        RecordingError: If it cannot be fetched.
    """
    if not is_url(name):
        return Path(name)
    system, path = _system(name)
    try:
        facts = system.info(path)
    except Exception as error:
        raise _unfetched(name, error) from error
    version = {key: str(facts[key]) for key in VERSIONS if facts.get(key) is not None}
    key = hashlib.sha256(json.dumps([name, version]).encode()).hexdigest()[:32]
    folder = cache_folder("logs") / key
    place = folder / (PurePosixPath(urlsplit(name).path).name or PurePosixPath(path).name or "log")
    is_known = bool(version.keys() - {"size"})  # a size alone may stay the same where the content does not
    if is_known and place.is_file() and (folder / ADDRESS).is_file():
        return place
    progress(f"Fetching {place.name}")
    made: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".fetching."))
        system.get_file(path, str(made / place.name))
        (made / ADDRESS).write_text(name, encoding="utf-8")
        if not (is_known and (folder / ADDRESS).is_file()):  # else somebody has fetched it meanwhile
            shutil.rmtree(folder, ignore_errors=True)
            made.replace(folder)
    except Exception as error:
        if not place.is_file():
            raise _unfetched(name, error) from error
    finally:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)
    return place


def address_of(path: Path) -> str | None:
    """The address that a file was fetched from; None where it was not."""
    if path.parent.parent != cache_folder("logs"):
        return None
    try:
        return (path.parent / ADDRESS).read_text(encoding="utf-8")
    except OSError:
        return None


def listed_addresses(pattern: str) -> list[str]:
    """Addresses of the files that match a pattern.

    Raises:
        RecordingError: If the file system does not answer, or lists no files.
    """
    system, path = _system(pattern)
    try:
        return [str(system.unstrip_protocol(one)) for one in system.glob(path) if not system.isdir(one)]
    except Exception as error:
        raise _unfetched(pattern, error) from error


def _system(name: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
    if "::" in name:
        raise RecordingError(shown(name), "chained addresses are not fetched; name the file itself")
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        problem = "addresses are fetched by fsspec, which is not installed; run pip install 'dynid[cluster]'"
        raise RecordingError(shown(name), problem) from error
    try:
        system, path = url_to_fs(name)
    except Exception as error:
        raise _unfetched(name, error) from error
    return system, str(path)


def _unfetched(name: str, error: Exception) -> RecordingError:
    """The error on an address, in one line and without its query."""
    words = " ".join(str(error).replace(name, shown(name)).split())[:200] or type(error).__name__
    if isinstance(error, ImportError):
        return RecordingError(shown(name), f"cannot be fetched yet ({words}); install that with pip")
    return RecordingError(shown(name), f"cannot be fetched ({words}); check the address and your rights")
