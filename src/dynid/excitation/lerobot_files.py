"""LeRobot data sets of one episode, which `lerobot-replay` plays: version 3.0, or 2.1 for older programs.

Version 3.0 has `data/chunk-000/file-000.parquet`, `meta/info.json`, `meta/stats.json`, `meta/tasks.parquet` and
`meta/episodes/chunk-000/file-000.parquet`; version 2.1 `data/chunk-000/episode_000000.parquet` and tables of lines in
`meta`. Actions are the commands, and `observation.state` the positions that are expected.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from dynid.arrays import Array
from dynid.excitation.replay_frames import ReplayFrames

if TYPE_CHECKING:
    import polars as pl

Files = dict[str, bytes | str]
"""Contents of files, by path."""

COUNTERS = {"timestamp": "float32", "frame_index": "int64", "episode_index": "int64", "index": "int64"}
COUNTERS |= {"task_index": "int64"}
"""Columns that every data set has, with their types."""


def replay_files(kind: str, frames: ReplayFrames, robot: str, warning: str = "") -> Files:
    """The files of a replay, by the ends of their names.

    Args:
        kind: "lerobot" or "lerobot2" for a data set of version 3.0 or 2.1; "actions" for a table and JSON.
        frames: Its frames.
        robot: What the robot is called, for a headline.
        warning: What whoever plays it must know, in one line; empty for nothing.
    """
    if kind == "actions":
        return {"actions.csv": frames.csv(warning), "actions.json": frames.json(warning)}
    found = data_set_files(frames, warning or "exciting motion", version=VERSIONS[kind])
    title = f"# Exciting motion for {robot or 'a robot'}\n\nActions for `lerobot-replay`.\n"
    card = f"{title}\n**WARNING: {warning}**\n" if warning else title
    return {f"{kind}/{path}": content for path, content in {"README.md": card, **found}.items()}


VERSIONS = {"lerobot": "v3.0", "lerobot2": "v2.1"}
"""Versions of LeRobot's layout, by formats of replays."""


def data_set_files(frames: ReplayFrames, task: str, *, version: str) -> Files:
    """The files of a data set with one episode, by path.

    Args:
        frames: Its frames.
        task: What the episode is, in words.
        version: "v3.0" or "v2.1".
    """
    table, count = _table(frames), len(frames.actions)
    stats = {key: _statistics(values) for key, values in _columns(frames).items()}
    info = json.dumps(_info(frames, version), indent=4) + "\n"
    if version == "v2.1":
        return {
            "data/chunk-000/episode_000000.parquet": _parquet(table),
            "meta/info.json": info,
            "meta/tasks.jsonl": _line({"task_index": 0, "task": task}),
            "meta/episodes.jsonl": _line({"episode_index": 0, "tasks": [task], "length": count}),
            "meta/episodes_stats.jsonl": _line({"episode_index": 0, "stats": stats}),
        }
    return {
        "data/chunk-000/file-000.parquet": _parquet(table),
        "meta/info.json": info,
        "meta/stats.json": json.dumps(stats, indent=4) + "\n",
        "meta/tasks.parquet": _parquet(_frame({"task_index": [0], "task": [task]})),
        "meta/episodes/chunk-000/file-000.parquet": _parquet(_frame(_episode(task, count))),
    }


def _frame(columns: dict[str, Any]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(columns)


def _parquet(table: pl.DataFrame) -> bytes:
    stream = io.BytesIO()
    table.write_parquet(stream, compression="snappy")
    return stream.getvalue()


def _line(data: dict[str, Any]) -> str:
    return json.dumps(data) + "\n"


def _columns(frames: ReplayFrames) -> dict[str, Array]:
    """The columns of all frames, each of shape (frames, entries)."""
    count = np.arange(len(frames.actions))
    none = np.zeros_like(count)
    counters = (frames.times, count, none, count, none)
    own: dict[str, Array] = {key: values[:, None].astype(float) for key, values in zip(COUNTERS, counters, strict=True)}
    return {"action": frames.actions, "observation.state": frames.states, **own}


def _table(frames: ReplayFrames) -> pl.DataFrame:
    import polars as pl

    width = frames.actions.shape[1]
    kinds = {"float32": pl.Float32, "int64": pl.Int64}
    columns: dict[str, pl.Series] = {}
    for key, values in _columns(frames).items():
        if key in COUNTERS:
            columns[key] = pl.Series(key, values[:, 0]).cast(kinds[COUNTERS[key]])
        else:
            columns[key] = pl.Series(key, values.astype(np.float32), dtype=pl.Array(pl.Float32, width))
    return pl.DataFrame(columns)


def _episode(task: str, count: int) -> dict[str, Any]:
    """The row of the one episode in the table of episodes of version 3.0."""
    places = ("data/chunk_index", "data/file_index", "meta/episodes/chunk_index", "meta/episodes/file_index")
    return {
        "episode_index": [0],
        "tasks": [[task]],
        "length": [count],
        "dataset_from_index": [0],
        "dataset_to_index": [count],
        **{place: [0] for place in places},
    }


def _statistics(values: Array) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"count": [len(values)]}
    for key, measure in {"min": np.min, "max": np.max, "mean": np.mean, "std": np.std}.items():
        found[key] = np.asarray(measure(values, axis=0), dtype=float).tolist()
    return found


def _info(frames: ReplayFrames, version: str) -> dict[str, Any]:
    names, count = list(frames.numbers.names), len(frames.actions)
    features: dict[str, Any] = {
        key: {"dtype": "float32", "shape": [len(names)], "names": names} for key in ("action", "observation.state")
    }
    features |= {key: {"dtype": kind, "shape": [1], "names": None} for key, kind in COUNTERS.items()}
    is_packed = version != "v2.1"
    path = (
        "chunk-{chunk_index:03d}/file-{file_index:03d}"
        if is_packed
        else ("chunk-{episode_chunk:03d}/episode_{episode_index:06d}")
    )
    sizes = {"data_files_size_in_mb": 100, "video_files_size_in_mb": 200}
    return {
        "codebase_version": version,
        "robot_type": None,
        "total_episodes": 1,
        "total_frames": count,
        "total_tasks": 1,
        **({} if is_packed else {"total_videos": 0, "total_chunks": 1}),
        "chunks_size": 1000,
        **(sizes if is_packed else {}),
        "fps": frames.rate,
        "splits": {"train": "0:1"},
        "data_path": f"data/{path}.parquet",
        "video_path": None,
        "features": features,
    }
