"""Time stamps of all kinds: seconds since the first sample, with all their digits, from every format."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.io import savemat

from dynid import Log, init, read_log

STEP = 2_000_001  # nanoseconds: steps of 2 ms that no double since 1970 has
NANOSECONDS = 1_772_366_400_005_000_000 + STEP * np.arange(300)
Q = np.sin(np.arange(300) / 20)


def iso(mark: str = "T", zone: str = "Z", digits: int = 9, point: str = ".") -> list[str]:
    found = []
    for moment in NANOSECONDS.tolist():
        whole = dt.datetime.fromtimestamp(moment // 10**9, dt.UTC).replace(tzinfo=None)
        fraction = f"{moment % 10**9:09d}"[:digits]
        found.append(f"{whole.isoformat(mark)}{point}{fraction}{zone}")
    return found


def numbers(power: int) -> list[str]:
    return [f"{n // 10**power}.{n % 10**power:0{power}d}" if power else str(n) for n in NANOSECONDS.tolist()]


TEXTS: dict[str, tuple[list[str], str]] = {
    "ISO 8601": (iso(), "s"),
    "with a blank": (iso(" ", ""), "s"),
    "with a zone": (iso("T", "+05:30"), "s"),
    "with a short zone": (iso(" ", " -0300"), "s"),
    "epoch in s": (numbers(9), "s"),
    "epoch in ms": (numbers(6), "ms"),
    "epoch in us": (numbers(3), "us"),
    "epoch in ns": (numbers(0), "ns"),
}


def checked(log: Log, tolerance: float = 1e-12) -> None:
    assert len(log) == len(Q)
    assert np.abs(log.time - (NANOSECONDS - NANOSECONDS[0]) / 1e9).max() <= tolerance
    assert np.array_equal(log.position[:, 0], Q)


@pytest.mark.parametrize("case", TEXTS)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_stamps_in_text(case: str, delimiter: str, tmp_path: Path) -> None:
    texts, unit = TEXTS[case]
    path = tmp_path / "log.csv"
    rows = [delimiter.join((text, repr(x), repr(x))) for text, x in zip(texts, Q.tolist(), strict=True)]
    path.write_text("\n".join([delimiter.join(("stamp", "q", "tau")), *rows]) + "\n")
    checked(read_log(path, position="q", torque="tau", time="stamp", units={"time": unit}))


@pytest.mark.parametrize("digits", [3, 6])
@pytest.mark.parametrize("point", [",", "."])
def test_digits_of_stamps_may_be_few_and_follow_a_comma(digits: int, point: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    texts = iso(" ", "", digits, point)
    path.write_text("stamp;q\n" + "".join(f"{text};{x!r}\n" for text, x in zip(texts, Q.tolist(), strict=True)))
    log = read_log(path, position="q", torque={"file": path, "columns": "q"}, time="stamp")
    checked(log, 10.0**-digits)


def test_quoted_stamps_with_commas(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    texts = iso(" ", "", 6, ",")
    path.write_text("stamp,q,tau\n" + "".join(f'"{s}",{x!r},{x!r}\n' for s, x in zip(texts, Q.tolist(), strict=True)))
    checked(read_log(path, position="q", torque="tau", time="stamp"), 1e-6)


def test_dates_and_times_of_day_in_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("".join(f"{s} {x!r}\n" for s, x in zip(iso(" ", ""), Q.tolist(), strict=True)))
    checked(read_log(path, position=2, torque={"file": path, "columns": 2}, time=[0, 1]), 2e-11)


def test_seconds_and_nanoseconds_in_two_columns(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"{n // 10**9},{n % 10**9},{x!r},{x!r}\n" for n, x in zip(NANOSECONDS.tolist(), Q.tolist(), strict=True)]
    path.write_text("sec,nanosec,q,tau\n" + "".join(rows))
    log = read_log(path, position="q", torque="tau", time=["sec", "nanosec"], units={"time": ["s", "ns"]})
    assert np.abs(np.diff(log.time) - STEP / 1e9).max() < 1e-12


def _parquet(path: Path, stamps: pl.Series) -> Path:
    pl.DataFrame({"stamp": stamps, "q": Q, "tau": Q}).write_parquet(path / "log.parquet")
    return path / "log.parquet"


def _npz(path: Path, stamps: np.ndarray) -> Path:
    np.savez(path / "log.npz", stamp=stamps, q=Q, tau=Q)
    return path / "log.npz"


def _json(path: Path, stamps: list, *, lines: bool = False) -> Path:
    records = [{"stamp": s, "q": x, "tau": x} for s, x in zip(stamps, Q.tolist(), strict=True)]
    file = path / ("log.jsonl" if lines else "log.json")
    file.write_text("\n".join(map(json.dumps, records)) if lines else json.dumps(records))
    return file


def _mat(path: Path) -> Path:
    savemat(path / "log.mat", {"stamp": NANOSECONDS[:, None], "q": Q[:, None], "tau": Q[:, None]})
    return path / "log.mat"


FILES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "Parquet, dates": (lambda path: _parquet(path, pl.Series(NANOSECONDS).cast(pl.Datetime("ns"))), "s"),
    "Parquet, dates with a zone": (
        lambda path: _parquet(path, pl.Series(NANOSECONDS).cast(pl.Datetime("ns", "Europe/Berlin"))),
        "s",
    ),
    "Parquet, spans": (lambda path: _parquet(path, pl.Series(NANOSECONDS).cast(pl.Duration("ns"))), "s"),
    "Parquet, texts": (lambda path: _parquet(path, pl.Series(iso())), "s"),
    "Parquet, whole numbers": (lambda path: _parquet(path, pl.Series(NANOSECONDS)), "ns"),
    "NPZ, dates": (lambda path: _npz(path, NANOSECONDS.astype("datetime64[ns]")), "s"),
    "NPZ, texts": (lambda path: _npz(path, np.array(iso())), "s"),
    "NPZ, whole numbers": (lambda path: _npz(path, NANOSECONDS.astype(np.uint64)), "ns"),
    "JSON, texts": (lambda path: _json(path, iso()), "s"),
    "JSON, whole numbers": (lambda path: _json(path, NANOSECONDS.tolist()), "ns"),
    "lines of JSON": (lambda path: _json(path, iso(), lines=True), "s"),
    "MAT, whole numbers": (_mat, "ns"),
}


@pytest.mark.parametrize("case", FILES)
def test_stamps_in_other_formats(case: str, tmp_path: Path) -> None:
    write, unit = FILES[case]
    checked(read_log(write(tmp_path), position="q", torque="tau", time="stamp", units={"time": unit}))


def test_cuts_by_seconds_count_from_the_first_stamp_or_from_1970(tmp_path: Path) -> None:
    path = _json(tmp_path, iso())
    columns = {"position": "q", "torque": "tau", "time": "stamp"}
    start = NANOSECONDS[0] / 1e9
    assert len(read_log(path, **columns, seconds=(0.1, 0.2))) == 50
    assert len(read_log(path, **columns, seconds=(start + 0.1, start + 0.2))) == 50


@pytest.mark.parametrize("case", TEXTS)
def test_init_reads_stamps(case: str, tmp_path: Path) -> None:
    texts, _ = TEXTS[case]
    path = tmp_path / "log.csv"
    values = np.column_stack([np.sin(NANOSECONDS / 3e8 + k) for k in range(4)]).tolist()
    rows = [",".join((text, *map(repr, row))) for text, row in zip(texts, values, strict=True)]
    path.write_text("timestamp,q_1,q_2,tau_1,tau_2\n" + "\n".join(rows) + "\n")
    first = init("builtin:two_link", path, folder=tmp_path)
    (tmp_path / "first.toml").write_text(first.text)
    log = read_log(path, "builtin:two_link")
    assert np.abs(log.time - (NANOSECONDS - NANOSECONDS[0]) / 1e9).max() < 1e-9
