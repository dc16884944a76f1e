"""Reading in a process of its own: untrusted files may crash their readers, or ask for all memory or all time.

SciPy, HDF5 and Polars end the whole process on some wrong bytes, which no `except` can catch, and a few kilobytes may
unpack to more than any machine holds. A helper process reads for us instead, within limits. It is begun at its first
use, ends with us, and is begun anew after a crash.
"""

import atexit
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dynid.findings import Finding
from dynid.logs.readers.source import Progress, RecordingError, Source, silent
from dynid.logs.readers.stamps import Numbers

_helper: subprocess.Popen[str] | None = None

_folders: dict[int, str] = {}
"""Folders of the helpers' temporary files by their process, which we remove even if they are killed."""


def isolated(path: Path, reader: str, progress: Progress = silent) -> Source:
    """The columns of a file, read by one of the readers of `helper` in a process of its own."""
    with _kernel_ahead(path):
        known = asked(path, {"reader": reader}, progress)
    damaged: dict[int, str] = {}

    def store(folder: Path, positions: list[int], stamps: bool) -> tuple[int, list[float]]:
        request = {"reader": reader, "positions": positions, "stamps": stamps, "out": str(folder.absolute())}
        answer = asked(path, request, progress)
        damaged.update({int(k): text for k, text in answer["damaged"].items()})
        return answer["samples"], answer["origins"]

    def load(positions: list[int]) -> Iterator[np.ndarray]:
        with tempfile.TemporaryDirectory(prefix="dynid-") as folder:
            count, _ = store(Path(folder), positions, False)
            for k in range(len(positions)):
                yield np.fromfile(Path(folder) / str(k), dtype=np.float64, count=count)

    def stamps(position: int) -> Numbers:
        with tempfile.TemporaryDirectory(prefix="dynid-") as folder:
            count, origins = store(Path(folder), [position], True)
            return Numbers(np.fromfile(Path(folder) / "0", dtype=np.float64, count=count), origins[0])

    notes = tuple(Finding.from_dict(note) for note in known["notes"])
    names, unread = tuple(known["names"]), known["unread"]
    return Source(
        names, load, stamps=stamps, notes=notes, unread=unread, damaged=damaged, samples=known["samples"], store=store
    )


def episodes_of(path: Path) -> tuple[int, ...]:
    """Numbers of the episodes in a Parquet file; errors as `asked`."""
    return tuple(asked(path, {"reader": "episodes"})["episodes"])


LARGE = 10_000_000
"""Size of a file [bytes] from which on its log is surely worth the compiled kernel."""


@contextlib.contextmanager
def _kernel_ahead(path: Path) -> Iterator[None]:
    """Load the compiled kernel that a long log needs later, while the helper begins and we only wait for it."""
    if not path.is_file() or path.stat().st_size < LARGE:  # an episode is short
        yield
        return
    from dynid.model.kernels.kernel import compiled_kernel

    thread = threading.Thread(target=compiled_kernel)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def asked(path: Path, request: dict[str, Any], progress: Progress = silent) -> dict[str, Any]:
    """The helper's answer to a request about a file.

    Raises:
        RecordingError: If the file cannot be read, or its reader crashed or went beyond its limits.
    """
    request = {**request, "path": str(path.absolute())}  # the helper began in a folder that may not be this one
    answer = None if _helper is None or _helper.poll() is not None else _tried(request, progress)
    if answer is None:  # there was no helper, or damaged files that it read before spoilt its memory
        answer = _tried(request, progress)
    if answer is None:
        problem = "the file is damaged so badly that its reader crashed or found no end"
        raise RecordingError(path, f"{problem}; write or copy it again")
    if "problem" in answer:
        raise RecordingError(path, answer["problem"])
    return answer


def _tried(request: dict[str, Any], progress: Progress) -> dict[str, Any] | None:
    """The answer of the helper, which is begun where there is none, or None where it died of the request."""
    global _helper
    if _helper is not None and _helper.poll() is not None:
        _ended(_helper)
        _helper = None
    if _helper is None:
        _helper = _begun()
    answer = _answered(_helper, request, progress)
    if answer is None:
        _ended(_helper)
        _helper = None
    return answer


def _answered(helper: subprocess.Popen[str], request: dict[str, Any], progress: Progress) -> dict[str, Any] | None:
    """The answer, or None where the helper died of the request."""
    assert helper.stdin is not None
    assert helper.stdout is not None
    try:
        helper.stdin.write(json.dumps(request) + "\n")
        helper.stdin.flush()
        for line in helper.stdout:
            answer = json.loads(line)
            if "progress" not in answer:
                return answer
            progress(answer["progress"])
    except OSError:
        pass
    return None


def _begun() -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-c", "from dynid.logs.readers.helper import serve; serve()"]
    known = os.pathsep.join(part for part in sys.path if part)
    folder = tempfile.mkdtemp(prefix="dynid-helper-")
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": known, "TMPDIR": folder, "TEMP": folder, "TMP": folder},
    )
    _folders[process.pid] = folder
    atexit.register(_ended, process)
    return process


def _ended(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    shutil.rmtree(_folders.pop(process.pid, ""), ignore_errors=True)
