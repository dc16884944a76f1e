"""Reading in a process of its own: native libraries that may crash on damaged files take that process with them only.

MAT files (SciPy, HDF5) and Parquet are read by libraries that end the whole process on some wrong bytes, which no
`except` can catch; flipping bytes made all three do so. A helper process reads for us instead. It is begun at its first
use, ends with us, and is begun anew after a crash.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dynid.data.readers.source import RecordingError, Source

_helper: subprocess.Popen[str] | None = None


def isolated(path: Path, reader: str) -> Source:
    """The columns of a file, read by one of `_readers` in a process of its own."""
    names = tuple(_asked(path, {"reader": reader, "path": str(path)})["names"])

    def load(positions: list[int]) -> Sequence[np.ndarray]:
        with tempfile.TemporaryDirectory(prefix="dynid-") as folder:
            file = Path(folder) / "columns.npy"
            _asked(path, {"reader": reader, "path": str(path), "positions": positions, "out": str(file)})
            return list(np.load(file, allow_pickle=False))

    return Source(names, load)


def _asked(path: Path, request: dict[str, Any]) -> dict[str, Any]:
    """The helper's answer to a request."""
    global _helper
    if _helper is None or _helper.poll() is not None:
        _helper = _begun()
    assert _helper.stdin is not None
    assert _helper.stdout is not None
    try:
        _helper.stdin.write(json.dumps(request) + "\n")
        _helper.stdin.flush()
        line = _helper.stdout.readline()
    except OSError:
        line = ""
    if not line:
        _helper.kill()
        _helper.wait()
        _helper.stdin.close()
        _helper.stdout.close()
        _helper = None
        raise RecordingError(path, "the file is damaged so badly that its reader crashed; write or copy it again")
    answer = json.loads(line)
    if "problem" in answer:
        raise RecordingError(path, answer["problem"])
    return answer


def _begun() -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from dynid.data.readers.isolated import serve; serve()"]
    known = os.pathsep.join(part for part in sys.path if part)
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": known},
    )
    atexit.register(_ended, process)
    return process


def _ended(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def _readers() -> Mapping[str, Callable[[Path], Source]]:
    from dynid.data.readers.mat import mat
    from dynid.data.readers.parquet import parquet

    return {"mat": mat, "parquet": parquet}


def serve() -> None:
    """Answer requests on standard input, one a line, until it ends: the helper's side."""
    readers = _readers()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_answer(readers, json.loads(line))) + "\n")
        sys.stdout.flush()


def _answer(readers: Mapping[str, Callable[[Path], Source]], request: dict[str, Any]) -> dict[str, Any]:
    try:
        source = readers[request["reader"]](Path(request["path"]))
        if "positions" in request:
            columns = source.load(request["positions"])
            np.save(Path(request["out"]), np.array([np.asarray(column, dtype=np.float64) for column in columns]))
        return {"names": source.names}
    except RecordingError as error:
        return {"problem": error.problem}
    except MemoryError:
        return {"problem": "there is not enough memory for it; name fewer columns, or cut it into several logs"}
    except OSError as error:
        return {"problem": f"the file cannot be read ({error.strerror or error})"}
