"""Logs: one file or several, in the units that were declared."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from dynid import load_robot
from dynid.errors import ShapeError, UnknownNameError
from dynid.findings import Severity
from dynid.logs import sources as module
from dynid.logs.log import Log
from dynid.logs.settings import LogSource, Quantity
from dynid.logs.sources import read_source
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


def at(path: Path, unit: str | tuple[str, ...], columns: Any = None, *, flat: bool = False) -> Quantity:
    columns = tuple(columns) if isinstance(columns, range) else columns
    return Quantity(file=str(path), unit=unit, columns=columns, flat=flat)


def read(path: Path, **options: Any) -> Log:
    arguments: dict[str, Any] = {
        "position": at(path, "rad", "q_*"),
        "torque": at(path, "N m", "tau_*"),
        "velocity": at(path, "rad/s", "v_*"),
        "time": at(path, "s", "t"),
    }
    allow_resets = options.pop("allow_resets", False)
    return read_source(LogSource(**(arguments | options)), allow_resets=allow_resets)


def test_a_log_is_what_was_logged(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv")
    found = read(path)
    assert found.velocity is not None
    for array, expected in ((found.time, TIME), (found.position, Q), (found.velocity, V), (found.torque, TORQUE)):
        assert np.array_equal(array, expected)
        assert not array.flags.writeable
    assert found.source == (path,)
    assert found.findings == ()
    assert len(found[3:7]) == 4
    without = read(path, velocity=None, time=None, rate=100.0)
    assert without.velocity is None
    assert np.allclose(without.time, TIME, rtol=1e-15)


def test_units_become_si_units(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv")
    found = read(
        path,
        position=at(path, ("deg", "mm"), "q_*"),
        velocity=at(path, "deg/s", "v_*"),
        torque=at(path, "A", "tau_*"),
        time=at(path, "ms", "t"),
    )
    assert found.velocity is not None
    assert np.allclose(found.position, np.column_stack([np.radians(Q[:, 0]), 1e-3 * Q[:, 1]]), rtol=1e-15)
    assert np.allclose(found.velocity, np.radians(V), rtol=1e-15)
    assert np.allclose(found.time, 1e-3 * TIME, rtol=1e-15)
    assert np.array_equal(found.torque, TORQUE)
    for role, unit in (("position", "degs"), ("velocity", "rad"), ("torque", "lbf"), ("time", "min")):
        with pytest.raises(UnknownNameError, match=f"no unit of {role} '{unit}'"):
            read(path, **{role: at(path, unit, {"time": "t"}.get(role, "q_*"))})
    with pytest.raises(RecordingError, match="3 units are given for 2 columns of position"):
        read(path, position=at(path, ("rad",) * 3, "q_*"))


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
    source = LogSource(
        position=at(tmp_path / "q.npz", "rad"),
        torque=at(tmp_path / "torque.parquet", "N m"),
        velocity=at(tmp_path / "v.dat", "rad/s", flat=True),
        time=at(tmp_path / "time.txt", "s"),
    )
    found = read_source(source, load_robot("builtin:two_link"))
    assert np.array_equal(
        np.column_stack([found.time, found.position, found.torque]), np.column_stack([TIME, Q, TORQUE])
    )
    assert np.array_equal(np.zeros(0) if found.velocity is None else found.velocity, V)
    assert len(found.source) == 4


def test_segments_are_cut_by_rows_or_seconds(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv")
    assert np.array_equal(read(path, rows=(5, 12)).position, Q[5:12])
    assert np.array_equal(read(path, rows=(None, 12)).position, Q[:12])
    assert np.array_equal(read(path, seconds=(0.05, 0.12)).position, Q[5:12])
    assert np.array_equal(read(path, seconds=(0.05, None)).torque, TORQUE[5:])
    for rows in ((5, 5), (-1, 5), (0, 31)):
        with pytest.raises(RecordingError, match=f"rows {rows[0]} to {rows[1]} are no segment of 30 samples"):
            read(path, rows=rows)
    with pytest.raises(RecordingError, match=r"no samples lie between 1 s and 2 s; time goes from 0 s to 0.29 s"):
        read(path, seconds=(1.0, 2.0))
    with pytest.raises(ValidationError, match="not by both"):
        read(path, rows=(0, 1), seconds=(0.0, 1.0))


def test_time_or_a_rate_is_needed(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv")
    with pytest.raises(ValidationError, match="either 'time' or 'rate'"):
        read(path, time=None)
    with pytest.raises(ValidationError, match="either 'time' or 'rate'"):
        read(path, rate=100.0)
    with pytest.raises(ValidationError, match="greater than 0"):
        read(path, time=None, rate=0.0)


def test_files_of_different_lengths_are_both_named(tmp_path: Path) -> None:
    path, other = log(tmp_path / "log.csv"), tmp_path / "torque.npz"
    np.savez(other, tau=TORQUE[:-1])
    with pytest.raises(RecordingError, match=r"torque.npz: it holds 29 samples, but .*log.csv holds 30"):
        read(path, torque=at(other, "N m"))


def test_numbers_of_columns_must_agree(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv")
    with pytest.raises(RecordingError, match="1 columns of torque are chosen, but positions have 2"):
        read(path, torque=at(path, "N m", "tau_1"))
    with pytest.raises(RecordingError, match="2 columns of time are chosen, but there is one"):
        read(path, time=at(path, "s", "q_*"))
    with pytest.raises(ShapeError, match="torques"):
        Log(TIME, Q, TORQUE[:, :1])


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
    assert (finding.code, finding.values["unit"]) == ("time-steps-long", "ms")


def test_degrees_declared_as_radians_are_found(tmp_path: Path) -> None:
    path = log(tmp_path / "log.csv", q=np.column_stack([np.linspace(-90, 90, 30), Q[:, 1]]))
    (finding,) = read(path).findings
    assert (finding.code, finding.severity) == ("positions-in-degrees", Severity.WARNING)
    assert finding.values["column"] == "q_1"
    assert read(path, position=at(path, "deg", "q_*")).findings == ()
    assert read(path, position=at(path, "mm", "q_*")).findings == ()


@pytest.fixture
def datasets() -> Path:
    if "DYNID_DATASETS" not in os.environ:
        pytest.skip("DYNID_DATASETS is not set")
    return Path(os.environ["DYNID_DATASETS"])


def test_the_tx40_log_loads(datasets: Path) -> None:
    folder = datasets / "tx40"
    position, torque = at(folder / "motor_position.csv", "rad"), at(folder / "motor_torque.csv", "N m")
    found = read_source(LogSource(position=position, torque=torque, rate=5000.0))
    assert found.position.shape == found.torque.shape == (45_000, 6)
    assert found.position[0, :3].tolist() == [3.1958e-05, 50.265, -70.685]  # the file's first row


def test_the_panda_log_loads_and_its_gaps_are_found(datasets: Path) -> None:
    folder = datasets / "panda"
    source = LogSource(
        position=at(folder / "positions.txt", "rad", flat=True),
        torque=at(folder / "torques.txt", "N m", flat=True),
        velocity=at(folder / "velocity.txt", "rad/s", flat=True),
        time=at(folder / "time.txt", "s"),
    )
    found = read_source(source, load_robot("builtin:panda"))
    assert found.position.shape == found.torque.shape == (20_544, 7)
    assert found.velocity is not None
    assert found.velocity.shape == (20_544, 7)
    timing = check_time(found.time)
    assert timing.rate == pytest.approx(1000, rel=0.1)
    assert timing.largest_step == pytest.approx(8.8e-3, rel=0.01)  # as the datasets' README says
    assert timing.jitter > 0.05
    assert [finding.code for finding in found.findings] == ["time-gaps", "time-jitter"]


def test_the_tiago_log_loads(datasets: Path) -> None:
    folder = datasets / "tiago"
    source = LogSource(
        position=at(folder / "position.csv", "rad", range(1, 9)),
        torque=at(folder / "effort.csv", "A", range(1, 9)),
        velocity=at(folder / "velocity.csv", "rad/s", range(1, 9)),
        time=at(folder / "position.csv", "s", "t"),
        rows=(921, 6791),
    )
    found = read_source(source)
    assert found.position.shape == found.torque.shape == (6791 - 921, 8)
    assert (
        0 <= found.position[:, 0].min() < found.position[:, 0].max() < 0.36
    )  # the torso comes first, a lift of 0.35 m


def test_a_log_that_does_not_fit_into_memory_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.csv"
    path.write_text("q,tau\n1,2\n3,4\n")

    def exhausted(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("dynid.logs.sources._check_lengths", exhausted)
    with pytest.raises(RecordingError, match="not enough memory for the log"):
        read_source(LogSource(position=at(path, "rad", "q"), torque=at(path, "N m", "tau"), rate=100.0))
