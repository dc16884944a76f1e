"""Data sets of episodes as the learning tools write them: LeRobot v2 and v3, and ALOHA's HDF5 files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import polars as pl

from dynid.arrays import Array


@dataclass(frozen=True)
class Episode:
    """What an arm did.

    Attributes:
        state: Positions, shape (frames, joints).
        action: Commands, shape (frames, joints).
        effort: Torques, shape (frames, joints), if there are any.
    """

    state: Array
    action: Array
    effort: Array | None = None

    def columns(self, number: int, first: int, rate: float) -> dict[str, Any]:
        """The columns of its frames, as LeRobot names them."""
        count, kind = len(self.state), pl.List(pl.Float32)
        listed = {"observation.state": self.state, "action": self.action}
        listed |= {} if self.effort is None else {"observation.effort": self.effort}
        frames = np.arange(count)
        return {key: pl.Series(values.tolist(), dtype=kind) for key, values in listed.items()} | {
            "timestamp": pl.Series(frames / rate, dtype=pl.Float32),
            "frame_index": frames,
            "episode_index": np.full(count, number),
            "index": first + frames,
            "task_index": np.zeros(count, dtype=int),
        }


def lerobot(
    folder: Path,
    episodes: Sequence[Episode],
    *,
    version: str,
    names: Any,
    rate: float = 50.0,
    per_file: int = 1000,
    image: bool = False,
    rates: Mapping[int, float] | None = None,
) -> Path:
    """Write a data set; version "v3.0" packs so many episodes into a file, and others have a file for each."""
    packed, chunk = version.startswith("v3"), "data/chunk-000"
    (folder / chunk).mkdir(parents=True)
    (folder / "meta").mkdir()
    first, starts = 0, []
    tables: list[pl.DataFrame] = []
    for number, episode in enumerate(episodes):
        columns = episode.columns(number, first, (rates or {}).get(number, rate))
        if image:
            frame = {"bytes": b"\x89PNG not an image", "path": f"frame_{number}.png"}
            columns["observation.images.top"] = [frame] * len(episode.state)
        tables.append(pl.DataFrame(columns))
        starts.append(first)
        first += len(episode.state)
    if packed:
        for k in range(0, len(tables), per_file):
            own = pl.concat(tables[k : k + per_file])
            own.write_parquet(folder / chunk / f"file-{k // per_file:03d}.parquet")
        _v3_episodes(folder, episodes, starts, per_file)
    else:
        for number, table in enumerate(tables):
            table.write_parquet(folder / chunk / f"episode_{number:06d}.parquet")
        lines = [{"episode_index": k, "tasks": ["move"], "length": len(e.state)} for k, e in enumerate(episodes)]
        (folder / "meta/episodes.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (folder / "meta/info.json").write_text(json.dumps(_info(episodes, version, names, rate, packed, image), indent=4))
    return folder


def _v3_episodes(folder: Path, episodes: Sequence[Episode], starts: Sequence[int], per_file: int) -> None:
    place = folder / "meta/episodes/chunk-000"
    place.mkdir(parents=True)
    numbers = np.arange(len(episodes))
    lengths = np.array([len(one.state) for one in episodes])
    pl.DataFrame(
        {
            "episode_index": numbers,
            "tasks": [["move"]] * len(episodes),
            "length": lengths,
            "data/chunk_index": np.zeros_like(numbers),
            "data/file_index": numbers // per_file,
            "dataset_from_index": np.array(starts),
            "dataset_to_index": np.array(starts) + lengths,
        }
    ).write_parquet(place / "file-000.parquet")


def _info(
    episodes: Sequence[Episode], version: str, names: Any, rate: float, packed: bool, image: bool
) -> dict[str, Any]:
    width = [episodes[0].state.shape[1]]
    features: dict[str, Any] = {
        key: {"dtype": "float32", "shape": width, "names": names} for key in ("action", "observation.state")
    }
    if episodes[0].effort is not None:
        features["observation.effort"] = {"dtype": "float32", "shape": width, "names": names}
    if image:
        features["observation.images.top"] = {"dtype": "image", "shape": [3, 48, 64], "names": ["c", "h", "w"]}
    for key, kind in (("timestamp", "float32"), ("frame_index", "int64"), ("episode_index", "int64")):
        features[key] = {"dtype": kind, "shape": [1], "names": None}
    name = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
    return {
        "codebase_version": version,
        "robot_type": "so101_follower",
        "total_episodes": len(episodes),
        "total_frames": sum(len(one.state) for one in episodes),
        "chunks_size": 1000,
        "fps": int(rate) if float(rate).is_integer() else rate,
        "splits": {"train": f"0:{len(episodes)}"},
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet" if packed else name,
        "features": features,
    }


def aloha(folder: Path, episodes: Sequence[Episode], *, rate: float = 50.0, sim: bool = False) -> Path:
    """Write a folder of ALOHA's episodes: episode_0.hdf5, ...; velocities are differences, and there are images."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, one in enumerate(episodes):
        with h5py.File(folder / f"episode_{number}.hdf5", "w") as file:
            file.attrs["sim"] = sim
            seen = file.create_group("observations")
            seen.create_dataset("qpos", data=one.state)
            seen.create_dataset("qvel", data=np.gradient(one.state, 1.0 / rate, axis=0))
            if one.effort is not None:
                seen.create_dataset("effort", data=one.effort)
            images = seen.create_group("images")
            images.create_dataset("cam_high", data=np.zeros((len(one.state), 4, 5, 3), dtype=np.uint8))
            file.create_dataset("action", data=one.action)
    return folder
