"""Episodes of learning data sets are logs: LeRobot v2 and v3, and ALOHA's HDF5 files, read to the published layouts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import polars as pl
import pytest

from dynid.logs import RecordingError, files_of, read_columns, source_of, stands_for_many
from tests.episode_files import Episode, aloha, lerobot

NAMES = ["elbow.pos", "jaw.pos"]


def episodes(count: int) -> list[Episode]:
    rng = np.random.default_rng(2)
    made = (rng.normal(size=(3, 20 + 3 * k, 2)).astype(np.float32).astype(float) for k in range(count))
    return [Episode(*numbers) for numbers in made]


def paths(folder: Path) -> list[Path]:
    return [Path(file.name) for file in files_of(folder)]


@pytest.mark.parametrize("version", ["v2.0", "v2.1", "v3.0"])
@pytest.mark.parametrize("names", [NAMES, {"motors": NAMES}, {"jaw.pos": 1, "elbow.pos": 0}])
def test_each_episode_of_a_data_set_is_a_log_with_the_names_of_its_joints(
    version: str, names: Any, tmp_path: Path
) -> None:
    made = episodes(5)
    lerobot(tmp_path / "set", made, version=version, names=names, per_file=3)
    found = paths(tmp_path / "set")
    assert stands_for_many(str(tmp_path / "set"))
    assert len(found) == 5
    for path, own in zip(found, made, strict=True):
        assert source_of(path).names[:4] == tuple(
            f"{key}.{n}" for key in ("observation.state", "action") for n in NAMES
        )
        np.testing.assert_array_equal(read_columns(path, columns="observation.state.*"), own.state)
        np.testing.assert_array_equal(read_columns(path, columns="action.jaw.pos")[:, 0], own.action[:, 1])
        np.testing.assert_allclose(np.diff(read_columns(path, columns="timestamp")[:, 0]), 0.02, rtol=1e-4)


@pytest.mark.parametrize("names", [None, ["one"], ["a", "a"], "text", {"motors": [1, 2]}, [["a", "b"]]])
def test_names_that_do_not_fit_leave_numbers(names: Any, tmp_path: Path) -> None:
    lerobot(tmp_path / "set", episodes(1), version="v2.1", names=names)
    assert source_of(paths(tmp_path / "set")[0]).names[:2] == ("observation.state[0]", "observation.state[1]")


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_images_are_passed_over(version: str, tmp_path: Path) -> None:
    lerobot(tmp_path / "set", episodes(2), version=version, names=NAMES, image=True)
    source = source_of(paths(tmp_path / "set")[1])
    assert not any("image" in name for name in source.names)
    assert "observation.images.top" in source.unread


def test_a_file_of_several_episodes_stands_for_all_of_them(tmp_path: Path) -> None:
    folder = lerobot(tmp_path / "set", episodes(4), version="v3.0", names=NAMES, per_file=2)
    file = folder / "data/chunk-000/file-001.parquet"
    assert [path.name for path in paths(file)] == [f"file-001.parquet#episode_00000{k}" for k in (2, 3)]
    assert len(paths(folder / "data/chunk-000")) == 4
    assert len(files_of(f"{folder}/data/*/*.parquet")) == 4


def test_an_episode_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder = lerobot(tmp_path / "set", episodes(2), version="v3.0", names=NAMES)
    path = folder / "data/chunk-000/file-000.parquet#episode_000007"
    with pytest.raises(RecordingError, match="no episode 7; its episodes are 0 to 1"):
        source_of(path)


def test_rows_of_an_episode_that_do_not_stand_together_are_refused(tmp_path: Path) -> None:
    folder = lerobot(tmp_path / "set", episodes(2), version="v3.0", names=NAMES)
    file = folder / "data/chunk-000/file-000.parquet"
    table = pl.read_parquet(file)
    pl.concat([table, table.head(5)]).write_parquet(file)
    with pytest.raises(RecordingError, match="do not stand together"):
        files_of(folder)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("{", "damaged"),
        ("[" * 100_000, "damaged"),
        ("[]", "no JSON object"),
        (json.dumps({"codebase_version": "v1.6"}), "from v2.0 on"),
        (" " * 11_000_000, "10 MB"),
    ],
)
def test_a_description_that_is_of_no_use_is_refused(content: str, what: str, tmp_path: Path) -> None:
    folder = lerobot(tmp_path / "set", episodes(1), version="v2.1", names=NAMES)
    (folder / "meta/info.json").write_text(content)
    with pytest.raises(RecordingError, match=what):
        files_of(folder)


def test_a_data_set_without_its_episodes_is_refused(tmp_path: Path) -> None:
    folder = lerobot(tmp_path / "set", episodes(1), version="v2.1", names=NAMES)
    (folder / "data/chunk-000/episode_000000.parquet").unlink()
    with pytest.raises(RecordingError, match="without episodes"):
        files_of(folder)


def test_arrays_of_an_hdf5_file_are_columns(tmp_path: Path) -> None:
    made = episodes(12)
    found = paths(aloha(tmp_path, made))
    assert [path.name for path in found][8:] == [f"episode_{k}.hdf5" for k in (8, 9, 10, 11)]
    for path, own in zip(found, made, strict=True):
        np.testing.assert_array_equal(read_columns(path, columns="observations.qpos"), own.state)
        np.testing.assert_array_equal(read_columns(path, columns="action"), own.action)
    source = source_of(found[0])
    assert not any("image" in name for name in source.names)
    assert "observations.images.cam_high" in source.unread


def test_a_file_that_says_that_it_was_simulated_is_taken_at_its_word(tmp_path: Path) -> None:
    for sim in (True, False):
        (path,) = paths(aloha(tmp_path / str(sim), episodes(1), sim=sim))
        assert [note.code for note in source_of(path).notes] == (["log-simulated"] if sim else [])


def test_nothing_is_fetched_from_other_files(tmp_path: Path) -> None:
    (path,) = paths(aloha(tmp_path / "set", episodes(1)))
    secret = tmp_path / "secret.hdf5"
    with h5py.File(secret, "w") as file:
        file["numbers"] = np.arange(20.0)
    (tmp_path / "raw").write_bytes(np.arange(20.0).tobytes())
    layout = h5py.VirtualLayout((20,), float)
    layout[:] = h5py.VirtualSource(secret, "numbers", (20,))
    with h5py.File(path, "a") as file:
        file["linked"] = h5py.ExternalLink(str(secret), "numbers")
        file["soft"] = h5py.SoftLink("/observations/qpos")
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("raw", (20,), float, external=[(str(tmp_path / "raw"), 0, 160)])
        file["circle"] = file["observations"]
    names = " ".join(source_of(path).names)
    assert not any(word in names for word in ("linked", "soft", "virtual", "raw"))


def test_an_hdf5_file_without_signals_or_damaged_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.hdf5"
    with h5py.File(path, "w") as file:
        file["images"] = np.zeros((5, 4, 4, 3))
    with pytest.raises(RecordingError, match="images"):
        source_of(path)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(RecordingError, match="damaged"):
        source_of(path)
