"""MATLAB files of both kinds: arrays, structs, and what cannot be read."""

from __future__ import annotations

import contextlib
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from dynid.logs.readers.mat import mat
from dynid.logs.tables import RecordingError, read_columns
from tests.mat_files import Instance, Q, T, version_73, with_objects


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


VERSIONS = ["5", "7.3"]

SERIES = Instance(
    "timeseries", {"Name": "arm", "Data_": Q, "Time_": T[:, None], "IsTimeFirst_": np.array([[1]], dtype=np.uint8)}
)
CODE = Instance("containers.Map", {"serialization": "no numbers"})


@pytest.mark.parametrize("version", VERSIONS)
def test_arrays_beside_objects_are_read(version: str, tmp_path: Path) -> None:
    path = with_objects(tmp_path / "log.mat", {"map": CODE, "q": Q, "t": T[:, None], "again": CODE}, version)
    assert np.array_equal(read_columns(path, columns=["t", "q"]), np.column_stack([T, Q]))
    with pytest.raises(RecordingError, match=r"'again' is a MATLAB object of class containers.Map.* as arrays"):
        read_columns(path, columns="again")


@pytest.mark.parametrize("version", VERSIONS)
def test_files_of_nothing_but_objects_without_numbers_name_them(version: str, tmp_path: Path) -> None:
    path = with_objects(tmp_path / "log.mat", {"map": CODE}, version)
    with pytest.raises(RecordingError, match=r"no arrays of numbers, but map \(a MATLAB object of class cont"):
        read_columns(path)


@pytest.mark.parametrize("version", VERSIONS)
def test_time_and_data_of_a_timeseries_are_columns(version: str, tmp_path: Path) -> None:
    path = with_objects(tmp_path / "log.mat", {"arm": SERIES, "tau": 2 * Q}, version)
    found = read_columns(path, columns=["arm.Time", "arm.Data", "tau"])
    assert np.array_equal(found, np.column_stack([T, Q, 2 * Q]))
    with pytest.raises(RecordingError, match="'arm' is a MATLAB object of class timeseries"):
        read_columns(path, columns=["arm"])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_timeseries_may_keep_start_and_step_instead_of_stamps(version: str, tmp_path: Path) -> None:
    numbers = {"Start_": 1.0, "Increment_": 0.01, "Length_": float(len(T))}
    info = Instance("tsdata.timemetadata", {key: np.array([[value]]) for key, value in numbers.items()})
    data = np.transpose(Q[:, :, None], (1, 2, 0))  # as Simulink has it: signals x 1 x samples
    series = Instance("timeseries", {"Data_": data, "Time_": np.zeros((0, 1)), "TimeInfo_": info})
    path = with_objects(tmp_path / "log.mat", {"arm": series}, version)
    assert np.allclose(read_columns(path, columns=["arm.Time", "arm.Data"]), np.column_stack([1.0 + T, Q]))


def test_objects_within_structs_are_found(tmp_path: Path) -> None:
    path = with_objects(tmp_path / "log.mat", {"run": {"arm": SERIES, "tau": 2 * Q}})
    assert np.array_equal(read_columns(path, columns=["run.arm.Data", "run.tau"]), np.column_stack([Q, 2 * Q]))


def test_variables_of_a_table_are_columns(tmp_path: Path) -> None:
    table = Instance("table", {"data": [T[:, None], Q], "varnames": ["t", "q"]})
    path = with_objects(tmp_path / "log.mat", {"log": table})
    assert np.array_equal(read_columns(path, columns=["log.t", "log.q"]), np.column_stack([T, Q]))


@pytest.mark.parametrize("version", VERSIONS)
def test_dimensions_of_length_one_do_not_count(version: str, tmp_path: Path) -> None:
    path = with_objects(tmp_path / "log.mat", {"q": np.transpose(Q[:, :, None], (1, 2, 0))}, version)
    assert np.array_equal(read_columns(path, columns="q"), Q)


def test_damaged_tables_of_objects_cost_nothing_else(tmp_path: Path) -> None:
    path = with_objects(tmp_path / "log.mat", {"q": Q, "arm": SERIES})
    content, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(60):
        wrong = bytearray(content)
        wrong[int(rng.integers(1200, len(content)))] ^= int(rng.integers(1, 256))
        path.write_bytes(wrong)
        with contextlib.suppress(RecordingError):
            assert np.array_equal(np.column_stack(list(mat(path).load([0, 1]))), Q)
