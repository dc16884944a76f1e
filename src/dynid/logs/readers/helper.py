"""The helper process's side of `isolated`: answers requests to read files, one after the other, each within limits."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynid.logs.readers.column_store import pieces_of, written
from dynid.logs.readers.lerobot import episode_of, whole_file
from dynid.logs.readers.source import MEMORY, Progress, RecordingError, Source
from dynid.machine import available_bytes, used_bytes

if TYPE_CHECKING:
    from dynid.logs.readers.messages import Topic

Reader = Callable[[Path, Progress], Source]

SECONDS = (10.0, 5e-6)
"""Seconds of processor time that reading may take, and how many more for each byte of the file."""


def serve() -> None:
    """Answer requests on standard input, one a line, until it ends."""
    for line in sys.stdin:
        _say(_answer(json.loads(line)))


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    path, reader = Path(request["path"]), request["reader"]
    try:
        _limit(path)
        changed = whole_file(path).stat().st_mtime_ns
        if reader == "topics":
            return {"topics": [topic.to_dict() for topic in _topics(path, changed)]}
        if reader == "episodes":
            return {"episodes": sorted(_episodes(path))}
        if reader == "c3d":
            from dynid.logs.captures.c3d_file import written_c3d

            return written_c3d(path, Path(request["out"]))
        source = _source(path, reader, changed)
        if "positions" in request:
            positions, stamps = request["positions"], request["stamps"]
            pieces = pieces_of(source, positions, stamps=stamps)
            count, origins = written(path, Path(request["out"]), pieces, len(positions), whole=not stamps)
            damaged = {str(k): text for k, text in source.damaged.items()}
            return {"samples": count, "origins": origins, "damaged": damaged}
        notes = [note.to_dict() for note in source.notes]
        return {"names": source.names, "notes": notes, "unread": dict(source.unread), "samples": source.samples}
    except RecordingError as error:
        return {"problem": error.problem}
    except MemoryError:
        return {"problem": "there is not enough memory for it; name fewer columns, or cut it into several logs"}
    except OSError as error:
        return {"problem": f"the file cannot be read ({error.strerror or error})"}


def _readers() -> Mapping[str, Reader]:
    from dynid.logs.readers.bags import bag
    from dynid.logs.readers.hdf5_file import hdf5
    from dynid.logs.readers.json_records import json_lines, json_whole
    from dynid.logs.readers.mat import mat
    from dynid.logs.readers.npz_file import npz
    from dynid.logs.readers.parquet_file import parquet
    from dynid.logs.readers.torch_file import torch_file

    return {
        "bag": lambda path, progress: bag(path, progress, _topics(path, path.stat().st_mtime_ns)),
        "h5": hdf5,
        "hdf5": hdf5,
        "json": json_whole,
        "jsonl": json_lines,
        "mat": mat,
        "ndjson": json_lines,
        "npz": lambda path, _: npz(path),
        "parquet": lambda path, progress: parquet(whole_file(path), progress, episode_of(path)),
        "pt": torch_file,
        "pth": torch_file,
    }


def _episodes(path: Path) -> Mapping[int, tuple[int, int]]:
    from dynid.logs.readers.parquet_file import episodes_in

    return episodes_in(path)


@lru_cache(maxsize=1)
def _topics(path: Path, _changed: int) -> tuple[Topic, ...]:
    from dynid.logs.readers.bags import read_topics

    return read_topics(path)


@lru_cache(maxsize=1)
def _source(path: Path, reader: str, _changed: int) -> Source:
    """The columns of a file; kept for the next request, which is most often about the same file."""
    return _readers()[reader](path, lambda text: _say({"progress": text}))


def _limit(path: Path) -> None:
    """Limit memory and time by the size of the file, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    path = whole_file(path)
    files = [path] if path.is_file() else [file for file in path.iterdir() if file.is_file()]
    size = sum(file.stat().st_size for file in files)
    memory = used_bytes() + min(available_bytes(), MEMORY[0] + MEMORY[1] * size)
    spent = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(spent.ru_utime + spent.ru_stime + SECONDS[0] + SECONDS[1] * size) + 1
    limits = {resource.RLIMIT_CPU: seconds, resource.RLIMIT_FSIZE: MEMORY[0] + MEMORY[1] * size}
    if used_bytes():  # macOS does not say what is in use, and refuses limits below it
        limits[resource.RLIMIT_AS] = memory
    for what, value in limits.items():
        _, most = resource.getrlimit(what)
        with contextlib.suppress(OSError, ValueError):  # a system that refuses a limit still reads the file
            resource.setrlimit(what, (value if most == resource.RLIM_INFINITY else min(value, most), most))
