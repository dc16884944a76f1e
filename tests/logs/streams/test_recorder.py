"""Recordings of streams are logs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dynid
from dynid.errors import InvalidRequestError, OutputExistsError
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


def test_recordings_have_a_largest_size(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(recorder, "LARGEST", 8 * 13 * 5)
    kept = Recorder(tmp_path / "run.npz", SampleForm(1, 1))
    for k in range(20):
        kept.add(Sample(float(k), np.zeros(1), np.zeros(1)))
    assert kept.samples + kept.lost == 20
    assert kept.lost > 0
    kept.finish()
