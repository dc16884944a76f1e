"""MATLAB files of both kinds: arrays, structs, and what cannot be read."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from dynid.logs.readers.mat import mat
from dynid.logs.tables import RecordingError, read_columns
from tests.mat_files import Q, T, version_73


@pytest.fixture(params=["5", "7.3"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "log.mat"
    if request.param == "7.3":
        return version_73(path, {"t": T[:, None], "q": Q, "data/tau": 2 * Q.T})
    savemat(path, {"t": T[:, None], "q": Q, "data": {"tau": 2 * Q.T, "name": "run"}})
    return path


def test_arrays_and_structs_are_columns(file: Path) -> None:
    assert np.array_equal(read_columns(file, columns="q"), Q)
    assert np.array_equal(read_columns(file, columns=["t"])[:, 0], T)
    assert np.array_equal(read_columns(file, columns="data.tau"), 2 * Q)  # lying arrays are set upright


def test_a_file_of_objects_says_so(tmp_path: Path) -> None:
    path = tmp_path / "log.mat"
    savemat(path, {"cells": np.array([[1, "a"]], dtype=object), "text": "no numbers"})
    with pytest.raises(RecordingError, match=r"holds no arrays of numbers, but cells \(cell\), text \(char\)"):
        read_columns(path)
    other = version_73(tmp_path / "other.mat", {"cells": np.zeros((1, 1))})
    with h5py.File(other, "r+") as file:
        file["cells"].attrs["MATLAB_object_decode"] = 3
    with pytest.raises(RecordingError, match="holds no arrays of numbers, but cells"):
        read_columns(other)


def test_arrays_of_other_lengths_are_told(tmp_path: Path) -> None:
    savemat(tmp_path / "log.mat", {"q": Q, "tau": Q[:-1]})
    with pytest.raises(RecordingError, match="'tau' has 49 samples, but 'q' has 50"):
        read_columns(tmp_path / "log.mat", columns=["q", "tau"])


def test_signals_of_a_simulink_scope_are_columns(tmp_path: Path) -> None:
    signals = np.array([[(Q[:, :1],), (Q,)]], dtype=[("values", object)])
    savemat(tmp_path / "log.mat", {"scope": {"time": T[:, None], "signals": signals}})
    found = read_columns(tmp_path / "log.mat", columns=["scope.time", "scope.signals[1].values"])
    assert np.array_equal(found, np.column_stack([T, Q]))


def test_complex_numbers_are_told_and_others_beside_them_read(tmp_path: Path) -> None:
    savemat(tmp_path / "log.mat", {"q": Q + 1j, "tau": Q.astype(np.float32), "count": np.arange(50)[None, :]})
    with pytest.raises(RecordingError, match="array 'q' holds complex numbers"):
        read_columns(tmp_path / "log.mat", columns="q")
    assert np.allclose(read_columns(tmp_path / "log.mat", columns=["tau", "count"])[:, 2], np.arange(50))


def test_version_4_is_read(tmp_path: Path) -> None:
    savemat(tmp_path / "log.mat", {"q": Q.T}, format="4")
    assert np.array_equal(read_columns(tmp_path / "log.mat", columns="q"), Q)


@pytest.mark.parametrize("turned", [False, True])
def test_version_73_is_read_in_blocks(turned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynid.logs.readers.mat.BLOCK", 100)
    path = version_73(tmp_path / "log.mat", {"q": Q.T if turned else Q})
    assert np.array_equal(np.column_stack(list(mat(path).load([1, 0]))), Q[:, ::-1])
