"""Files: what one is, and writing them whole or not at all, never over a user's file without being asked."""

import errno
import io
import os
import re
import shutil
import socket
import stat
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

from dynid.errors import DynidError, FileProblemError, ForeignOutputError, OutputExistsError, remember_written


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


def expanded_path(name: str, folder: Path) -> str:
    """A path that a file states, with the values of its environment variables (`${NAME}`).

    Errors, findings and results show the path as it was written (`dynid.errors.as_written`). Addresses (`https://...`)
    are no paths: there a value would leave this machine.

    Args:
        name: The path.
        folder: Folder that it is relative to.

    Raises:
        ValueError: If a variable is not set, or stands in an address; the message names no value.

    >>> expanded_path("run.csv", Path("logs"))
    'logs/run.csv'
    """
    if "$" not in name:
        return str(folder / Path(name))
    if "://" in name:
        raise ValueError("has an environment variable in an address, where none is expanded; write the address")
    parts = Path(name).parts
    last = max(k for k, part in enumerate(parts) if "$" in part)
    head, value = Path(*parts[: last + 1]), Path(os.path.expandvars(Path(*parts[: last + 1])))
    if "$" in str(value):
        raise ValueError("uses an environment variable that is not set; set it, or write the path")
    rest = parts[last + 1 :]
    places = (folder / value, (folder / value).absolute(), Path(os.path.realpath(folder / value)))
    for base, path in zip((folder, folder.absolute(), folder.absolute()), places, strict=True):
        written = head if value.is_absolute() else base / head
        remember_written(str(path), str(written))
        remember_written(str(path.joinpath(*rest)), str(written.joinpath(*rest)))
    if not rest:
        remember_written(value.name, head.name)
    return str(Path(folder / value, *rest))


def cache_folder(part: str) -> Path:
    """Folder for what can be made again: in `$DYNID_CACHE`, or in the user's cache folder of this system.

    Args:
        part: What it holds, such as "logs"; a folder of its own.
    """
    stated = os.environ.get("DYNID_CACHE")
    if stated:
        return Path(stated).expanduser().resolve() / part
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 (never an error)
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "dynid" / part
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "dynid" / "Cache" / part
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "dynid" / part


LARGEST_FILE = 200_000_000
"""Bytes of the largest file that is read as a whole: robots, experiments, results, meshes."""


def read_bytes(path: Path) -> bytes:
    """The content of a file that is read as a whole.

    Raises:
        OSError: If it cannot be read, is enormous, or no regular file: a pipe would wait, a device has no end.
    """
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, and no regular file", str(path))
    if status.st_size > LARGEST_FILE:
        size = f"it has {status.st_size / 1e6:.0f} MB, and at most {LARGEST_FILE / 1e6:.0f} are read"
        raise OSError(errno.EFBIG, size, str(path))
    return path.read_bytes()


def read_arrays(path: Path) -> dict[str, Any]:
    """All arrays of an archive of NumPy (NPZ), by name; nothing in it is unpickled.

    Raises:
        OSError: If it cannot be read, or its arrays are enormous.
        ValueError: If it is damaged, or no such archive.
    """
    import numpy as np

    content = io.BytesIO(read_bytes(path))
    try:
        with zipfile.ZipFile(content) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > LARGEST_FILE:
            raise OSError(errno.EFBIG, f"its arrays have {size / 1e6:.0f} MB", str(path))
        content.seek(0)
        with np.load(content, allow_pickle=False) as arrays:
            found = {name: arrays[name] for name in arrays.files}
            if not all(isinstance(array, np.ndarray) for array in found.values()):
                raise ValueError("files that are no arrays")
            return found
    except OSError:
        raise
    except Exception as error:  # zipfile, zlib, ast and tokenize have each their own
        raise ValueError(f"no archive of arrays ({error})") from error


def write_text(path: Path, text: str, *, overwrite: bool = False) -> None:
    """Write a text file as `write_bytes` does, in UTF-8."""
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        problem = "it would hold a name that is not UTF-8; rename that file or folder"
        raise OutputError(path, OSError(errno.EILSEQ, problem)) from error
    write_bytes(path, content, overwrite=overwrite)


def write_bytes(
    path: Path, content: bytes, *, overwrite: bool = False, check: Callable[[Path], None] | None = None
) -> None:
    """Write a file in one step: readers see the old file or the whole new one.

    Args:
        path: The file.
        content: Its content.
        overwrite: Whether an existing file may be replaced.
        check: Looks at the new file, under another name in the same folder, before it is put in place; if it raises,
            nothing is written.

    Raises:
        OutputExistsError: If the file exists and may not be replaced.
        OutputError: If it cannot be written.
    """
    try:
        if path.exists():
            _refuse_to_replace(path, overwrite)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}.", suffix=path.suffix)
    except OSError as error:
        raise OutputError(path, error) from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        if check is not None:
            check(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise OutputError(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


class InUseError(DynidError):
    """Another run writes to the same place.

    Attributes:
        path: The place.
    """

    def __init__(self, path: Path, owner: str, lock: Path) -> None:
        self.path = str(path)
        super().__init__(
            f"{path} is being written by another run{owner}; wait for it, name another folder, or delete {lock} if "
            "that run is gone"
        )


_RESERVED: set[Path] = set()
"""Places that this process has reserved."""


@contextmanager
def reserved(folder: Path) -> Iterator[None]:
    """Reserve a place for one run: a lock file beside it names the process and its host, and goes with the run.

    The system releases the lock of a process that is killed; its file is then taken over by the next run. That of
    another host is left, because nobody here knows whether that run is gone.

    Args:
        folder: The file or folder that will be written; its own parent folder is made.

    Raises:
        InUseError: If another run has reserved it.
        OutputError: If the lock cannot be written.
    """
    try:
        place = folder.resolve()
        lock = place.parent / f".{place.name}.lock"
        if place not in _RESERVED:
            place.parent.mkdir(parents=True, exist_ok=True)
        handle = None if place in _RESERVED else _lock(lock, folder)
    except OSError as error:
        raise OutputError(folder, error) from error
    if handle is None:  # by a caller
        yield
        return
    _RESERVED.add(place)
    try:
        yield
    finally:
        _RESERVED.discard(place)
        with suppress(OSError):
            lock.unlink()  # while it is locked: whoever waits for it sees that it is gone
        os.close(handle)


def _lock(lock: Path, folder: Path) -> int:
    """Open and lock a lock file, and write whose it is."""
    host = socket.gethostname()
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            said = os.pread(handle, 1000, 0).decode(errors="replace").split() if hasattr(os, "pread") else []
            owner = f" (process {said[0]} on {said[1]})" if len(said) == 2 else ""
            if not _is_locked(handle) or (len(said) == 2 and said[1] != host):
                raise InUseError(folder, owner, lock)
            if not lock.exists() or os.fstat(handle).st_ino != lock.stat().st_ino:
                os.close(handle)  # its run has ended meanwhile, and the file is gone
                continue
            os.ftruncate(handle, 0)
            os.write(handle, f"{os.getpid()} {host}\n".encode())
        except BaseException:
            with suppress(OSError):
                os.close(handle)
            raise
        return handle


def _is_locked(handle: int) -> bool:
    """Lock an open file for this process; False where another has."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # file systems without locks: two runs at once are then the user's care
        return True
    return True


def require_replaceable(folder: Path, written: Collection[str] | None, built: Collection[str] = ()) -> None:
    """Refuse a folder that holds other files than those that were written into it.

    Args:
        folder: The folder.
        written: Paths in it of the files that were written; None where it holds nothing of that kind.
        built: Names of folders in it that tools leave.

    Raises:
        ForeignOutputError: If it does.
    """
    if written is None:
        raise ForeignOutputError(folder)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if not path.is_dir() and name.as_posix() not in written and not set(built) & set(name.parts):
            raise ForeignOutputError(folder, name.as_posix())


def replace_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Write a folder, whole or not at all; one that is there is replaced, and stays as it is where that fails.

    Args:
        folder: The folder; a link stays a link, to the new content.
        fill: Writes the content into a new folder that it is given.

    Raises:
        InUseError: If another run has reserved it.
        OutputError: If it cannot be written.
    """
    with reserved(folder):
        _replace_folder(folder, fill)


def _replace_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    try:
        place = folder.resolve()
        made = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}."))
    except OSError as error:
        raise OutputError(folder, error) from error
    try:
        made.chmod(0o755)
        fill(made)
        _put_in_place(made, place)
    except OSError as error:
        raise OutputError(folder, error) from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _put_in_place(made: Path, place: Path) -> None:
    """Move a folder to its place; what is there changes places with it, or is moved aside first, and deleted last."""
    if not place.exists():
        made.replace(place)
        return
    if _exchange(made, place):
        return
    aside = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}."))
    old = aside / "old"
    try:
        place.replace(old)
        try:
            made.replace(place)
        except OSError:
            old.replace(place)
            raise
    except OSError:
        if not old.exists():
            aside.rmdir()
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Have two folders change places in one step, so that none is missing meanwhile; whether the system can do that."""
    if sys.platform != "linux":
        return False
    import ctypes

    try:
        rename: Any = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE
    return rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0


def _refuse_to_replace(path: Path, overwrite: bool) -> None:
    if not overwrite:
        raise OutputExistsError(path)
    if path.is_dir():
        raise OutputError(path, IsADirectoryError(errno.EISDIR, "it is a folder"))
    if (
        not path.stat().st_mode & 0o222
    ):  # replacing needs no right to write to the old file, but it was locked on purpose
        raise OutputError(path, PermissionError(errno.EACCES, "it is read-only"))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")


def read_toml_text(path: Path, error_type: type[FileProblemError]) -> str:
    """The text of a TOML file, without a byte-order mark; what is wrong with the file is raised as `error_type`."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except OSError as error:
        raise error_type(path, f"cannot be read ({error.strerror or error}); check the path") from error
    except UnicodeDecodeError as error:
        raise error_type(path, "is no text in UTF-8, as TOML files are; save it so") from error


def parse_toml(text: str, source: Path | str, error_type: type[FileProblemError]) -> dict[str, Any]:
    """The values of TOML text; what is wrong with it is raised as `error_type`, naming the source."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise error_type(source, f"is not valid TOML: {error}") from error


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    r"""Line, counted from 1, of the deepest part of a key's path that can be found.

    Args:
        text: The TOML file.
        path: Names of tables and keys, with the index in arrays of tables, such as ("log", 1, "rate").

    >>> line_of('a = 1\n[[log]]\nrate = 5\n[[log]]\nrate = 6\n', ("log", 1, "rate"))
    5
    """
    found: tuple[int, int] | None = None  # how deep, and where
    table: tuple[str | int, ...] = ()
    counts: dict[tuple[str | int, ...], int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header is not None:
            table = _names(header[2])
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            here = table
        elif key is not None:
            here = (*table, *_names(key[1]))
        else:
            continue
        depth = _common(here, tuple(path))
        if depth and depth == len(here) and (found is None or depth > found[0]):
            found = (depth, number)
    return None if found is None else found[1]


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in text.split("."))


def _common(one: tuple[str | int, ...], other: tuple[str | int, ...]) -> int:
    return next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


class FileKind(StrEnum):
    """What a file or folder holds, in words."""

    ROBOT = "a robot"
    EXPERIMENT = "an experiment"
    LOG = "a log"
    RESULT = "a result"
    TRAJECTORY = "an exciting trajectory"
    UNKNOWN = "unknown"


_ROBOTS = (".urdf", ".xacro", ".mjcf")
_LOGS = (".csv", ".tsv", ".txt", ".dat", ".json", ".jsonl", ".ndjson", ".parquet", ".npz", ".mat", ".pt", ".pth")
_LOGS += (".hdf5", ".h5", ".c3d", ".trc", ".bag", ".mcap", ".db3", ".gz", ".bz2", ".xz")
_FOLDERS = {
    "result.json": FileKind.RESULT,
    "excitation.json": FileKind.TRAJECTORY,
    "metadata.yaml": FileKind.LOG,
}
"""Files that say what a folder holds."""

_USES = {
    FileKind.ROBOT: "look at it with 'dynid inspect {path}'; to identify it from a log, 'dynid init {path} LOG'",
    FileKind.EXPERIMENT: "run it with 'dynid identify {path} --out result'",
    FileKind.LOG: "write an experiment for it with 'dynid init ROBOT {path}'",
    FileKind.RESULT: "see it with 'dynid report {path}', test it with 'dynid validate {path} LOG'",
    FileKind.TRAJECTORY: "see it with 'dynid view {path} --robot ROBOT'; with its log, 'dynid init ROBOT LOG'",
}


def kind_of(path: str | os.PathLike[str]) -> FileKind:
    """What a file or folder holds, from its name and its first bytes; never an error.

    >>> kind_of("builtin:ur5").value
    'a robot'
    """
    if str(path).startswith("builtin:"):
        return FileKind.ROBOT
    path = Path(path)
    try:
        if path.is_dir():
            return next((kind for name, kind in _FOLDERS.items() if (path / name).is_file()), FileKind.UNKNOWN)
        if not path.is_file():
            return FileKind.UNKNOWN
        return _kind_by_content(path, path.suffix.lower())
    except (OSError, ValueError, RecursionError):
        return FileKind.UNKNOWN


def _kind_by_content(path: Path, suffix: str) -> FileKind:
    if suffix in _ROBOTS:
        return FileKind.ROBOT
    if suffix == ".toml":
        keys = tomllib.loads(path.read_text(encoding="utf-8-sig")).keys()
        return (
            FileKind.EXPERIMENT if keys & {"robot", "log"} else FileKind.ROBOT if "joint" in keys else FileKind.UNKNOWN
        )
    with path.open("rb") as stream:
        start = stream.read(20_000)
    if suffix == ".xml":
        root = re.search(rb"<([A-Za-z_][\w:.-]*)", re.sub(rb"<!--.*?-->", b"", start, flags=re.DOTALL))
        return FileKind.ROBOT if root and root[1] in (b"robot", b"mujoco") else FileKind.UNKNOWN
    if suffix == ".json":
        schema = re.search(rb'"schema"\s*:\s*"dynid-(\w+)', start)
        return {b"trajectory": FileKind.TRAJECTORY, b"excitation": FileKind.TRAJECTORY, b"result": FileKind.RESULT}.get(
            schema[1] if schema else b"", FileKind.LOG
        )
    return FileKind.LOG if suffix in _LOGS else FileKind.UNKNOWN


def use_of(path: str | os.PathLike[str], expected: str, *kinds: FileKind) -> str:
    """What a file is and the command that takes it, where something else was expected; empty where it may be that.

    Args:
        path: The file or folder.
        expected: What was expected, in words.
        kinds: The kinds that may be it.
    """
    kind = kind_of(path)
    if kind in (*kinds, FileKind.UNKNOWN):
        return ""
    return f"is {kind.value}, and {expected} was expected; {_USES[kind].format(path=path)}"
