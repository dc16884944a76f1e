"""Windows of a long log on disk are those of the same log in memory, whatever the format and whatever is wrong."""

from __future__ import annotations

import gc
import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynid import DynidError, load_robot
from dynid.logs import Log, LogSource, Processing, RecordingError, mended, read_source, stored_log
from dynid.logs.readers import column_store
from dynid.logs.readers.bags import bag
from dynid.logs.readers.json_records import json_lines
from dynid.logs.readers.mat import mat
from dynid.logs.readers.npz_file import npz
from dynid.logs.readers.parquet_file import parquet
from dynid.logs.readers.source import Source
from dynid.logs.stored_log import StoredLog
from tests.bag_files import joint_states, write_bag

ROBOT = load_robot("builtin:two_link")
COLUMNS = {"time": "t", "position": "q_*", "torque": "tau_*"}


@pytest.fixture(autouse=True)
def _everything_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_log, "LONG_LOG", 0)
    monkeypatch.setattr(column_store, "BLOCK", 64)
    for module in ("column_store", "text", "npz_file", "parquet_file"):
        monkeypatch.setattr(f"dynid.logs.readers.{module}.BLOCK", 64, raising=False)
    monkeypatch.setattr("dynid.logs.long_time.BLOCK", 64)
    monkeypatch.setattr("dynid.logs.long_mending.BLOCK", 64)
    monkeypatch.setattr("dynid.logs.readers.text.LARGE", 1)
    monkeypatch.setattr("dynid.logs.readers.text.CHUNK", 3000)


def columns(count: int = 1000) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    t = np.arange(count) / 200.0
    q = 0.5 * np.sin(np.outer(t, [3.0, 5.0])) + 1e-4 * rng.normal(size=(count, 2))
    tau = np.cos(np.outer(t, [3.0, 5.0])) + 0.01 * rng.normal(size=(count, 2))
    return {"t": t, "q_1": q[:, 0], "q_2": q[:, 1], "tau_1": tau[:, 0], "tau_2": tau[:, 1]}


def source_of(path: Path, **others: Any) -> LogSource:
    named = {role: {"file": str(path), "columns": columns} for role, columns in COLUMNS.items()}
    return LogSource.model_validate(named | others)


def both(source: LogSource) -> tuple[Log, StoredLog]:
    """The log in memory, and on disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dynid.logs.readers.text.LARGE", 1 << 40)
        log = mended(read_source(source, ROBOT), ROBOT)
    stored = read_source(source, ROBOT, may_store=True)
    assert isinstance(stored, StoredLog), [note.text for note in stored.findings]
    assert len(stored) == len(log)
    return log, stored


def assert_equal(window: Log, whole: Log) -> None:
    for name in ("time", "position", "torque", "velocity", "temperature", "missing"):
        one, other = getattr(window, name), getattr(whole, name)
        assert (one is None) == (other is None), name
        assert one is None or np.array_equal(one, other), name
    for name in ("name", "weight", "source", "first_stamp"):
        assert getattr(window, name) == getattr(whole, name)


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values in values by their way."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        inner = flat(value) if isinstance(value, Mapping) else {"": value}
        found |= {f"{key}.{way}": one for way, one in inner.items()}
    return found


def assert_same(source: LogSource) -> StoredLog:
    log, stored = both(source)
    for rows in (slice(None), slice(10, 11), slice(50, 300), slice(-70, None)):
        assert_equal(stored[rows], log[rows])
        assert np.array_equal(stored.stamps(rows), log.time[rows])
    assert [note.code for note in stored.findings] == [note.code for note in log.findings]
    for one, other in zip(stored.findings, log.findings, strict=True):
        assert flat(one.values) == pytest.approx(flat(other.values), rel=1e-9, nan_ok=True)
    return stored


def write_csv(path: Path, table: dict[str, np.ndarray]) -> None:
    pl.DataFrame(table).write_csv(path)


def write_gzip(path: Path, table: dict[str, np.ndarray]) -> None:
    path.write_bytes(gzip.compress(pl.DataFrame(table).write_csv().encode()))


def write_lines(path: Path, table: dict[str, np.ndarray]) -> None:
    rows = pl.DataFrame(table).rows(named=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_quoted(path: Path, table: dict[str, np.ndarray]) -> None:
    path.write_text(pl.DataFrame(table).write_csv(quote_style="always"))


def write_semicolons(path: Path, table: dict[str, np.ndarray]) -> None:
    path.write_text(pl.DataFrame(table).write_csv(separator=";").replace(".", ","))


def write_blanks(path: Path, table: dict[str, np.ndarray]) -> None:
    np.savetxt(path, np.column_stack(list(table.values())), header=" ".join(table))


def write_npz(path: Path, table: dict[str, Any]) -> None:
    np.savez(path, **table)


def write_by_columns(path: Path, table: dict[str, np.ndarray]) -> None:
    q, tau = (np.asfortranarray(np.column_stack([table[f"{x}_1"], table[f"{x}_2"]])) for x in ("q", "tau"))
    np.savez_compressed(path, t=table["t"], q_=q, tau_=tau)


def write_mat(path: Path, table: dict[str, np.ndarray]) -> None:
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, values in table.items():
            file.create_dataset(name, data=values[None, :]).attrs["MATLAB_class"] = np.bytes_("double")
    with path.open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file".ljust(512))


FORMATS: dict[str, tuple[str, Callable[[Path, dict[str, np.ndarray]], object]]] = {
    "csv": ("log.csv", write_csv),
    "gzip": ("log.csv.gz", write_gzip),
    "quotes": ("quoted.csv", write_quoted),
    "decimal commas": ("semicolons.csv", write_semicolons),
    "blanks": ("log.txt", write_blanks),
    "parquet": ("log.parquet", lambda path, table: pl.DataFrame(table).write_parquet(path, row_group_size=130)),
    "npz": ("log.npz", write_npz),
    "npz by columns": ("log.npz", write_by_columns),
    "json lines": ("log.jsonl", write_lines),
    "mat 7.3": ("log.mat", write_mat),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_windows_of_a_stored_log_are_those_of_the_log_in_memory(kind: str, tmp_path: Path) -> None:
    name, write = FORMATS[kind]
    write(tmp_path / name, columns())
    assert_same(source_of(tmp_path / name))


@pytest.mark.parametrize("kind", ["mcap", "bag"])
def test_so_are_those_of_bags(kind: str, tmp_path: Path) -> None:
    table = columns(300)
    q, tau = (np.column_stack([table[f"{x}_1"], table[f"{x}_2"]]) for x in ("q", "tau"))
    names = [joint.name for joint in ROBOT.independent_joints]
    messages = joint_states(kind, names, table["t"], q, tau, start=1_700_000_000_000_000_000)
    path = write_bag(tmp_path / "run", kind, {"/joint_states": ("sensor_msgs/msg/JointState", messages)})
    file = {"file": str(path)}
    assert_same(LogSource.model_validate({"position": file, "torque": file}))


READERS: dict[str, Callable[[Path], Source]] = {
    "parquet": parquet,
    "npz": npz,
    "npz by columns": npz,
    "json lines": json_lines,
    "mat 7.3": mat,
}


@pytest.mark.parametrize("stamps", [False, True])
@pytest.mark.parametrize("kind", READERS)
def test_pieces_of_a_file_are_the_whole(
    kind: str, stamps: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, write = FORMATS[kind]
    table = columns() | ({"t": NANOSECONDS} if stamps else {})
    write(tmp_path / name, table)

    def read() -> tuple[int, list[np.ndarray], list[float]]:
        source = READERS[kind](tmp_path / name)
        positions = [source.names.index("t")] if stamps else list(range(len(source.names)))
        parts: list[list[np.ndarray]] = [[] for _ in positions]
        origins = [0.0] * len(positions)
        for k, numbers in column_store.pieces_of(source, positions, stamps=stamps):
            parts[k].append(numbers.values)
            origins[k] = numbers.origin
        return len(parts[0]), [np.concatenate(part) for part in parts], origins

    one, whole, origins = read()
    for constant in ("parquet_file.PIECE", "npz_file.ROWS", "json_records.RECORDS", "mat.BLOCK"):
        monkeypatch.setattr(f"dynid.logs.readers.{constant}", 37)
    many, pieces, same = read()
    assert one == 1
    assert many > 5
    assert all(map(np.array_equal, pieces, whole))
    assert same == origins


def test_pieces_of_a_bag_are_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = columns(300)
    q = np.column_stack([table["q_1"], table["q_2"]])
    messages = joint_states("mcap", ["one", "two"], table["t"], q, q, start=1_700_000_000_000_000_000)
    messages = [message for k, message in enumerate(messages) for _ in range(1 + (k % 20 == 19))]  # some are twice
    path = write_bag(tmp_path / "run", "mcap", {"/joint_states": ("sensor_msgs/msg/JointState", messages)})
    source = bag(path)
    whole = list(source.load(list(range(len(source.names)))))
    assert len(whole[0]) == 300
    monkeypatch.setattr("dynid.logs.readers.bags.MESSAGES", 20)
    assert source.pieces is not None
    pieces = list(column_store.joined(source.pieces(list(range(len(source.names))), False), len(source.names)))
    assert all(map(np.array_equal, pieces, whole))


NANOSECONDS = np.arange(1000) * 5_000_000 + 1_700_000_000_123_456_789


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz", "json lines"])
def test_stamps_since_1970_keep_all_their_digits(kind: str, tmp_path: Path) -> None:
    name, write = FORMATS[kind]
    write(tmp_path / name, columns() | {"t": NANOSECONDS})
    stored = assert_same(source_of(tmp_path / name, time={"file": str(tmp_path / name), "columns": "t", "unit": "ns"}))
    assert np.array_equal(stored.stamps(slice(None)), (NANOSECONDS - NANOSECONDS[0]) * 1e-9)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_dates_are_read_alike(kind: str, tmp_path: Path) -> None:
    dates = pl.from_numpy(NANOSECONDS, ["t"]).select(pl.col("t").cast(pl.Datetime("ns")))["t"]
    frame = pl.DataFrame(columns()).with_columns(dates)
    path = tmp_path / f"log.{kind}"
    frame.write_csv(path) if kind == "csv" else frame.write_parquet(path)
    assert_same(source_of(path))


@pytest.mark.parametrize("damage", ["0.5,0.1,oops,0.2,0.3", "0.5,0.1", "0.5,0.1,0.2,0.3,0.4,0.5"])
def test_a_damaged_line_is_named_alike(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = pl.DataFrame(columns()).write_csv().splitlines()
    (tmp_path / "log.csv").write_text("\n".join([*lines[:700], damage, *lines[700:], "1.0,0.1"]))
    source = source_of(tmp_path / "log.csv")
    with pytest.raises(RecordingError) as stored:
        read_source(source, ROBOT, may_store=True)
    monkeypatch.setattr("dynid.logs.readers.text.LARGE", 1 << 40)
    with pytest.raises(RecordingError) as in_memory:
        read_source(source, ROBOT)
    assert str(stored.value) == str(in_memory.value)
    assert "row 701" in str(stored.value)
    cut = source_of(tmp_path / "log.csv", rows=(0, 600))
    assert_same(cut)


WRONG: dict[str, Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]] = {
    "time goes backwards": lambda table: table | {"t": np.where(np.arange(1000) == 500, 0.1, table["t"])},
    "not measured": lambda table: table | {"q_2": np.full(1000, np.nan)},
    "too many columns": lambda table: table | {"q_3": table["q_1"]},
    "time never advances": lambda table: table | {"t": np.zeros(1000)},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_errors_are_the_same_sentences(wrong: str, tmp_path: Path) -> None:
    write_csv(tmp_path / "log.csv", WRONG[wrong](columns()))
    said = []
    for may_store in (True, False):
        with pytest.raises(DynidError) as error:
            read_source(source_of(tmp_path / "log.csv"), ROBOT, may_store=may_store)  # type: ignore[call-overload]
        said.append(str(error.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("cut", [{"rows": (100, 777)}, {"seconds": (1.0, 3.3)}, {"rows": (None, 400)}])
def test_cuts_are_the_same(cut: dict[str, Any], tmp_path: Path) -> None:
    write_csv(tmp_path / "log.csv", columns())
    assert_same(source_of(tmp_path / "log.csv", **cut))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=3, max_size=3).map(sorted))
def test_windows_do_not_depend_on_each_other(stored: StoredLog, edges: list[int]) -> None:
    a, b, c = edges
    if a < b < c:
        one, two, both = stored[a:b], stored[b:c], stored[a:c]
        assert np.array_equal(np.concatenate([one.position, two.position]), both.position)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> StoredLog:
    path = tmp_path_factory.mktemp("stored") / "log.csv"
    write_csv(path, columns())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_log, "LONG_LOG", 0)
        found = read_source(source_of(path), ROBOT, may_store=True)
    assert isinstance(found, StoredLog)
    return found


def test_the_temporary_files_go_with_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    write_csv(tmp_path / "log.csv", columns())
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    log = read_source(source_of(tmp_path / "log.csv"), ROBOT, may_store=True)
    assert isinstance(log, StoredLog)
    assert list((tmp_path / "temporary").iterdir())
    del log
    gc.collect()
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
def test_a_full_disk_is_refused_with_where_to_look(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, write = FORMATS[kind]
    write(tmp_path / name, columns())
    monkeypatch.setattr(column_store, "SPARE", 1 << 62)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(RecordingError, match=rf"GB are free in {tmp_path}; set TMPDIR to a folder on a larger disk"):
        read_source(source_of(tmp_path / name), ROBOT, may_store=True)
    gc.collect()
    assert not list(tmp_path.glob("dynid-[!h]*"))


def test_a_short_log_stays_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_log, "LONG_LOG", 10**6)
    write_csv(tmp_path / "log.csv", columns())
    log = read_source(source_of(tmp_path / "log.csv"), ROBOT, may_store=True)
    assert isinstance(log, Log)
    assert_equal(log, read_source(source_of(tmp_path / "log.csv"), ROBOT))


def wrapped(table: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    q = table["q_1"] + 2.0 * table["t"]
    return table | {"q_1": (q + np.pi) % (2 * np.pi) - np.pi}


def test_wrapped_angles_are_unwrapped_alike(tmp_path: Path) -> None:
    write_csv(tmp_path / "log.csv", wrapped(columns()))
    stored = assert_same(source_of(tmp_path / "log.csv"))
    assert "positions-wrapped" in [note.code for note in stored.findings]


def test_a_log_at_rest_or_with_coarse_encoders_is_not_taken_for_held(tmp_path: Path) -> None:
    table = columns()
    for name in ("q_1", "q_2"):
        table[name] = np.round(0.05 * table[name], 3)
    write_csv(tmp_path / "log.csv", table)
    assert_same(source_of(tmp_path / "log.csv"))


def test_samples_that_are_held_are_taken_once_in_memory(tmp_path: Path) -> None:
    table = columns()
    for name in ("q_1", "q_2", "tau_1", "tau_2"):
        table[name] = np.repeat(table[name][::4], 4)
    write_csv(tmp_path / "log.csv", table)
    log = read_source(source_of(tmp_path / "log.csv"), ROBOT, may_store=True)
    assert [note.code for note in log.findings] == ["log-in-memory"]
    stated = Processing.model_validate({"resample": "none"})
    stored = read_source(source_of(tmp_path / "log.csv"), ROBOT, may_store=True, processing=stated)
    expected = mended(read_source(source_of(tmp_path / "log.csv"), ROBOT), ROBOT, None, stated).findings
    assert [note.code for note in expected] == ["samples-held"]
    assert flat(expected[0].values) == pytest.approx(flat(stored.findings[0].values))


def with_holes(table: dict[str, np.ndarray], *, seed: int = 0) -> dict[str, np.ndarray]:
    """Single cells, short and long gaps, gaps at both ends and at the edges of blocks."""
    rng = np.random.default_rng(seed)
    table = {name: values.copy() for name, values in table.items()}
    for name, values in table.items():
        values[rng.integers(0, len(values), 12)] = np.nan
        if name != "t":
            for start in rng.integers(0, len(values), 4):
                values[start : start + rng.integers(2, 30)] = np.nan
    table["q_1"][60:67], table["tau_1"][:5], table["tau_2"][120:200] = np.nan, np.nan, np.nan
    table["q_2"][:3] = np.nan
    return table


@pytest.mark.parametrize(("kind", "seed"), [("csv", 0), ("quotes", 1), ("parquet", 2)])
def test_missing_cells_are_filled_alike(kind: str, seed: int, tmp_path: Path) -> None:
    name, write = FORMATS[kind]
    write(tmp_path / name, with_holes(columns(), seed=seed))
    stored = assert_same(source_of(tmp_path / name))
    assert "cells-missing" in [note.code for note in stored.findings]


def test_a_slow_column_is_filled_alike(tmp_path: Path) -> None:
    table = columns()
    table["tau_1"][np.arange(1000) % 7 != 0] = np.nan
    table["q_2"][np.arange(1000) % 3 != 0] = np.nan
    write_csv(tmp_path / "log.csv", table)
    assert_same(source_of(tmp_path / "log.csv"))


def test_gaps_of_wrapped_angles_are_filled_alike(tmp_path: Path) -> None:
    write_csv(tmp_path / "log.csv", with_holes(wrapped(columns())))
    log, stored = both(source_of(tmp_path / "log.csv"))
    assert np.allclose(stored[:].position, log.position, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("count", [1, 2, 501, 1000])
def test_quantiles_of_blocks_are_those_of_the_whole(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_store, "FEW", 0)
    values = np.round(np.random.default_rng(count).exponential(size=count), 2) * 1e-3
    for share in (0.02, 0.5, 0.75):
        found = column_store.quantile_of(lambda: iter(np.array_split(values, 7)), count, share)
        assert found == (np.median(values) if share == 0.5 else np.quantile(values, share))


CLOCKS: dict[str, Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]] = {
    "coarse": lambda table: table | {"t": np.floor(table["t"] * 100.0) / 100.0},
    "a few late stamps": lambda table: (
        table | {"t": np.where(np.arange(1000) % 97 == 50, np.roll(table["t"], 1), table["t"])}
    ),
    "written twice": lambda table: {
        name: np.repeat(values, 1 + (np.arange(1000) % 64 == 0)) for name, values in table.items()
    },
    "irregular": lambda table: table | {"t": np.floor(np.cumsum(0.002 + 0.006 * (np.arange(1000) % 3)) * 100) / 100},
}


@pytest.mark.parametrize("clock", CLOCKS)
def test_repeated_stamps_are_mended_alike(clock: str, tmp_path: Path) -> None:
    write_csv(tmp_path / "log.csv", CLOCKS[clock](columns()))
    stored = assert_same(source_of(tmp_path / "log.csv"))
    assert stored.findings
