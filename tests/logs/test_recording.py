"""Recordings: one file or several, in the units that were declared."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dynid.errors import InvalidRequestError, ShapeError, UnknownNameError
from dynid.findings import Severity
from dynid.logs import log as module
from dynid.logs.log import Quantity, Recording, read_recording
from dynid.logs.tables import RecordingError, Table
from dynid.logs.timing import check_time, split_at_resets

TIME = np.arange(30) / 100
Q = np.column_stack([np.sin(TIME), np.cos(TIME)])
V = np.column_stack([np.cos(TIME), -np.sin(TIME)])
TORQUE = np.column_stack([3 * TIME, 5 - TIME])


def log(path: Path, time: np.ndarray = TIME, q: np.ndarray = Q) -> Path:
    names = ("t", "q_1", "q_2", "v_1", "v_2", "tau_1", "tau_2")
    table = np.column_stack([time, q, V, TORQUE])
    pl.DataFrame(dict(zip(names, table.T, strict=True))).write_csv(path)
    return path


def read(path: Path, **options: Any) -> Recording:
    arguments: dict[str, Any] = {
        "position": Quantity(path, "rad", "q_*"),
        "torque": Quantity(path, "N m", "tau_*"),
        "velocity": Quantity(path, "rad/s", "v_*"),
        "time": Quantity(path, "s", "t"),
    }
    return read_recording(**(arguments | options))


def test_a_recording_is_what_was_logged(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv")
    found = read(path)
    assert found.v is not None
    for array, expected in ((found.time, TIME), (found.q, Q), (found.v, V), (found.torque, TORQUE)):
        assert np.array_equal(array, expected)
        assert not array.flags.writeable
    assert found.source == (path,)
    assert found.findings == ()
    assert len(found[3:7]) == 4
    without = read(path, velocity=None, time=None, rate=100.0)
    assert without.v is None
    assert np.allclose(without.time, TIME, rtol=1e-15)


def test_units_become_si_units(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv")
    found = read(
        path,
        position=Quantity(path, ("deg", "mm"), "q_*"),
        velocity=Quantity(path, "deg/s", "v_*"),
        torque=Quantity(path, "A", "tau_*"),
        time=Quantity(path, "ms", "t"),
    )
    assert found.v is not None
    assert np.allclose(found.q, np.column_stack([np.radians(Q[:, 0]), 1e-3 * Q[:, 1]]), rtol=1e-15)
    assert np.allclose(found.v, np.radians(V), rtol=1e-15)
    assert np.allclose(found.time, 1e-3 * TIME, rtol=1e-15)
    assert np.array_equal(found.torque, TORQUE)
    for role, unit in (("position", "degs"), ("velocity", "rad"), ("torque", "mA"), ("time", "min")):
        with pytest.raises(UnknownNameError, match=f"no unit of {role} '{unit}'"):
            read(path, **{role: Quantity(path, unit, {"time": "t"}.get(role, "q_*"))})
    with pytest.raises(RecordingError, match="3 units are given for 2 columns of position"):
        read(path, position=Quantity(path, ("rad",) * 3, "q_*"))


def test_each_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = log(tmp_path / "log.csv")
    original, calls = module.read_groups, []

    def counted(file: Path, groups: list, **options: Any) -> Table:
        calls.append((file, len(groups)))
        return original(file, groups, **options)

    monkeypatch.setattr(module, "read_groups", counted)
    read(path)
    assert calls == [(path, 4)]


def test_quantities_may_be_in_files_of_different_formats(tmp_path: Path) -> None:
    (tmp_path / "time.txt").write_text("\n".join(map(repr, TIME.tolist())))
    np.savez(tmp_path / "q.npz", q=Q)
    pl.DataFrame({"a": TORQUE[:, 0], "b": TORQUE[:, 1]}).write_parquet(tmp_path / "torque.parquet")
    (tmp_path / "v.dat").write_text("\n".join(map(repr, V.ravel().tolist())))
    found = read_recording(
        Quantity(tmp_path / "q.npz", "rad"),
        Quantity(tmp_path / "torque.parquet", "N m"),
        Quantity(tmp_path / "v.dat", "rad/s", width=2),
        Quantity(tmp_path / "time.txt", "s"),
    )
    assert np.array_equal(np.column_stack([found.time, found.q, found.torque]), np.column_stack([TIME, Q, TORQUE]))
    assert np.array_equal(np.zeros(0) if found.v is None else found.v, V)
    assert len(found.source) == 4


def test_segments_are_cut_by_rows_or_seconds(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv")
    assert np.array_equal(read(path, rows=(5, 12)).q, Q[5:12])
    assert np.array_equal(read(path, rows=(None, 12)).q, Q[:12])
    assert np.array_equal(read(path, seconds=(0.05, 0.12)).q, Q[5:12])
    assert np.array_equal(read(path, seconds=(0.05, None)).torque, TORQUE[5:])
    for rows in ((5, 5), (-1, 5), (0, 31)):
        with pytest.raises(RecordingError, match=f"rows {rows[0]} to {rows[1]} are no segment of 30 samples"):
            read(path, rows=rows)
    with pytest.raises(RecordingError, match=r"no samples lie between 1 s and 2 s; time goes from 0 s to 0.29 s"):
        read(path, seconds=(1.0, 2.0))
    with pytest.raises(InvalidRequestError, match="not by both"):
        read(path, rows=(0, 1), seconds=(0.0, 1.0))


def test_time_or_a_rate_is_needed(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv")
    with pytest.raises(InvalidRequestError, match="either the column of time or a rate"):
        read(path, time=None)
    with pytest.raises(InvalidRequestError, match="either the column of time or a rate"):
        read(path, rate=100.0)
    with pytest.raises(InvalidRequestError, match="not positive"):
        read(path, time=None, rate=0.0)


def test_files_of_different_lengths_are_both_named(tmp_path: Path) -> None:
    path, other = log(tmp_path / "log.csv"), tmp_path / "torque.npz"
    np.savez(other, tau=TORQUE[:-1])
    with pytest.raises(RecordingError, match=r"torque.npz: it holds 29 samples, but .*log.csv holds 30"):
        read(path, torque=Quantity(other, "N m"))


def test_numbers_of_columns_must_agree(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv")
    with pytest.raises(RecordingError, match="1 columns of torque are chosen, but positions have 2"):
        read(path, torque=Quantity(path, "N m", "tau_1"))
    with pytest.raises(RecordingError, match="2 columns of time are chosen, but there is one"):
        read(path, time=Quantity(path, "s", "q_*"))
    with pytest.raises(ShapeError, match="torques"):
        Recording(TIME, Q, None, TORQUE[:, :1])


def test_time_going_backwards_is_refused_unless_it_is_to_be_split(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv", np.concatenate([TIME[:20], TIME[:10]]))
    with pytest.raises(RecordingError, match=r"time goes backwards by 0.19 s in row 22"):
        read(path)
    with pytest.raises(RecordingError, match=r"time goes backwards by 0.19 s in row 22"):
        read(path, rows=(10, 30))
    with pytest.raises(RecordingError, match="cut segments by rows instead"):
        read(path, seconds=(0.0, 0.1))
    assert len(read(path, rows=(0, 20))) == 20
    pieces = split_at_resets(read(path, allow_resets=True))
    assert [len(piece) for piece in pieces] == [20, 10]
    assert all(not piece.findings for piece in pieces)


def test_milliseconds_declared_as_seconds_are_found(tmp_path: Path) -> None:
    (finding,) = read(log(tmp_path / "log.csv", 1000 * TIME)).findings
    assert "is time in ms?" in finding.text


def test_degrees_declared_as_radians_are_found(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv", q=np.column_stack([np.linspace(-90, 90, 30), Q[:, 1]]))
    (finding,) = read(path).findings
    assert finding.severity is Severity.WARNING
    assert "positions in degrees? Column 'q_1'" in finding.text
    assert read(path, position=Quantity(path, "deg", "q_*")).findings == ()
    assert read(path, position=Quantity(path, "mm", "q_*")).findings == ()


@pytest.fixture
def datasets() -> Path:
    if "DYNID_DATASETS" not in os.environ:
        pytest.skip("DYNID_DATASETS is not set")
    return Path(os.environ["DYNID_DATASETS"])


def test_the_tx40_log_loads(datasets: Path) -> None:
    folder = datasets / "tx40"
    position, torque = Quantity(folder / "motor_position.csv", "rad"), Quantity(folder / "motor_torque.csv", "N m")
    found = read_recording(position, torque, rate=5000.0)
    assert found.q.shape == found.torque.shape == (45_000, 6)
    assert found.q[0, :3].tolist() == [3.1958e-05, 50.265, -70.685]  # the file's first row


def test_the_panda_log_loads_and_its_gaps_are_found(datasets: Path) -> None:
    folder = datasets / "panda"
    found = read_recording(
        Quantity(folder / "positions.txt", "rad", width=7),
        Quantity(folder / "torques.txt", "N m", width=7),
        Quantity(folder / "velocity.txt", "rad/s", width=7),
        Quantity(folder / "time.txt", "s"),
    )
    assert found.q.shape == found.torque.shape == (20_544, 7)
    assert found.v is not None
    assert found.v.shape == (20_544, 7)
    timing = check_time(found.time)
    assert timing.rate == pytest.approx(1000, rel=0.1)
    assert timing.largest_step == pytest.approx(8.8e-3, rel=0.01)  # as the datasets' README says
    assert timing.jitter > 0.05
    text = " ".join(finding.text for finding in found.findings)
    assert "longer than 1.5 periods" in text
    assert "Steps vary by" in text


def test_the_tiago_log_loads(datasets: Path) -> None:
    folder = datasets / "tiago"
    found = read_recording(
        Quantity(folder / "position.csv", "rad", range(1, 9)),
        Quantity(folder / "effort.csv", "A", range(1, 9)),
        Quantity(folder / "velocity.csv", "rad/s", range(1, 9)),
        Quantity(folder / "position.csv", "s", "t"),
        rows=(921, 6791),
    )
    assert found.q.shape == found.torque.shape == (6791 - 921, 8)
    assert 0 <= found.q[:, 0].min() < found.q[:, 0].max() < 0.36  # the torso comes first, a lift of 0.35 m


def test_a_recording_that_does_not_fit_into_memory_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.csv"
    path.write_text("q,tau\n1,2\n3,4\n")

    def exhausted(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("dynid.logs.log._check_lengths", exhausted)
    with pytest.raises(RecordingError, match="not enough memory for the recording"):
        read_recording(Quantity(path, "rad", "q"), Quantity(path, "N m", "tau"), rate=100.0)
