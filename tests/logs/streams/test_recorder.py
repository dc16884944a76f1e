"""Recordings of streams are logs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest

import dynid
from dynid.errors import InvalidRequestError, OutputExistsError
from dynid.files import OutputError
from dynid.logs.streams import recorder
from dynid.logs.streams.recorder import Recorder
from dynid.logs.streams.samples import Sample, SampleForm


def test_what_is_recorded_is_read_as_a_log(tmp_path: Path) -> None:
    kept = Recorder(tmp_path / "run.npz", SampleForm(2, 2))
    t = 0.01 * np.arange(200)
    q = np.stack([np.sin(t), np.cos(2 * t)], axis=1)
    for s, row in zip(t.tolist(), q, strict=True):
        kept.add(Sample(s, row, 2.0 * row))
    assert kept.finish() == tmp_path / "run.npz"
    log = dynid.read_log(tmp_path / "run.npz", "builtin:two_link")
    assert np.array_equal(log.position, q)
    assert np.array_equal(log.torque, 2.0 * q)


def test_files_of_others_stay_and_nothing_is_written_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    assert Recorder(path, SampleForm(1, 1)).finish() is None
    assert not path.exists()
    path.write_text("mine")
    with pytest.raises(OutputExistsError):
        Recorder(path, SampleForm(1, 1))
    with pytest.raises(InvalidRequestError, match=r"\.npz"):
        Recorder(tmp_path / "run.csv", SampleForm(1, 1))


def test_a_folder_that_takes_nothing_is_known_before_anything_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in ("missing", "file"):
        with pytest.raises(OutputError):
            Recorder(tmp_path / folder / "run.npz", SampleForm(1, 1))


def test_a_recording_is_kept_where_its_name_was_taken_or_its_folder_went_meanwhile(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "elsewhere"))
    for name in ("taken", "gone"):
        (tmp_path / name).mkdir()
        kept = Recorder(tmp_path / name / "run.npz", SampleForm(1, 1))
        kept.add(Sample(0.5, np.ones(1), np.ones(1)))
        if name == "taken":
            kept.path.write_text("mine")
        else:
            (tmp_path / name).rmdir()
        path = kept.finish()
        assert path is not None
        assert path.parent == tmp_path / ("taken" if name == "taken" else "elsewhere")
        assert path.name.startswith("run-")
        assert np.load(path)["t"] == [0.5]
    assert (tmp_path / "taken" / "run.npz").read_text() == "mine"


def test_a_disk_that_is_full_ends_the_recording_and_keeps_what_there_is(tmp_path: Path, monkeypatch) -> None:
    kept = Recorder(tmp_path / "run.npz", SampleForm(1, 1))
    kept.add(Sample(0.0, np.zeros(1), np.zeros(1)))
    whole = kept._spool

    class Full:
        def __getattr__(self, name: str) -> object:
            return getattr(whole, name)

        def write(self, _: bytes) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept, "_spool", Full())
    for k in range(1, 4):
        kept.add(Sample(float(k), np.zeros(1), np.zeros(1)))
    assert (kept.samples, kept.lost) == (1, 3)
    path = kept.finish()
    assert path is not None
    assert np.load(path)["t"].tolist() == [0.0]


def test_recordings_have_a_largest_size(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(recorder, "LARGEST", 8 * 13 * 5)
    kept = Recorder(tmp_path / "run.npz", SampleForm(1, 1))
    for k in range(20):
        kept.add(Sample(float(k), np.zeros(1), np.zeros(1)))
    assert kept.samples + kept.lost == 20
    assert kept.lost > 0
    kept.finish()
