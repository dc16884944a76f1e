"""JSON logs: records, columns and lines, nested or not; the same numbers come back from all of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynid import identify, init, read_log
from dynid.logs.tables import RecordingError, read_columns, read_groups, source_of
from tests.practice_logs import log

T = np.arange(40) / 100
Q = np.column_stack([np.sin(T), np.cos(T)])
TAU = 3 * Q
ALL = np.column_stack([T, Q, TAU])


def records() -> list[dict[str, Any]]:
    rows = zip(T.tolist(), Q.tolist(), TAU.tolist(), strict=True)
    return [{"t": t, "q": q, "tau": tau, "mode": "run"} for t, q, tau in rows]


def states() -> list[dict[str, Any]]:
    stamps = [{"sec": k // 100, "nanosec": k % 100 * 10_000_000} for k in range(len(T))]
    rows = zip(stamps, Q.tolist(), TAU.tolist(), strict=True)
    return [
        {"header": {"stamp": stamp}, "name": ["elbow", "wrist"], "position": q, "effort": tau} for stamp, q, tau in rows
    ]


def lines(values: list[Any]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


NESTED = ["t", "q", "tau"]

GOOD: dict[str, tuple[str, str, list[str]]] = {
    "records": ("a.json", json.dumps(records()), NESTED),
    "records, indented": ("a.json", json.dumps(records(), indent=2), NESTED),
    "lines": ("a.jsonl", lines(records()), NESTED),
    "lines of another ending": ("a.ndjson", lines(records()), NESTED),
    "lines called JSON": ("a.json", lines(records()), NESTED),
    "records in an object": ("a.json", json.dumps({"version": 1, "samples": records()}), NESTED),
    "records in objects": ("a.json", json.dumps({"run": {"robot": "arm", "data": records()}}), NESTED),
    "columns": ("a.json", json.dumps({"t": T.tolist(), "q": Q.tolist(), "tau": TAU.tolist()}), NESTED),
    "columns that lie": ("a.json", json.dumps({"t": T.tolist(), "q": Q.T.tolist(), "tau": TAU.T.tolist()}), NESTED),
    "columns of pandas": (
        "a.json",
        json.dumps(
            {
                n: {str(k): x for k, x in enumerate(c)}
                for n, c in zip("abcde", np.column_stack([T, Q, TAU]).T.tolist(), strict=True)
            }
        ),
        ["a", "b", "c", "d", "e"],
    ),
    "split of pandas": (
        "a.json",
        json.dumps({"columns": list("abcde"), "index": list(range(40)), "data": ALL.tolist()}),
        ["a", "b", "c", "d", "e"],
    ),
    "nested": (
        "a.json",
        json.dumps(
            [{"time": r["t"], "state": {"q": r["q"]}, "drives": [{"tau": x} for x in r["tau"]]} for r in records()]
        ),
        ["time", "state.q", "drives[0].tau", "drives[1].tau"],
    ),
    "with a mark and zeros": ("a.jsonl", "\ufeff" + lines(records()) + "\0\0\0", NESTED),
    "a cut last line": ("a.jsonl", lines(records()) + '{"t": 0.4, "q": [0.1', NESTED),
    "a cut last record": ("a.json", json.dumps(records(), indent=1)[:-2] + ',\n {"t": 0.4, "q": [0.1', NESTED),
}


@pytest.mark.parametrize("case", GOOD)
def test_numbers_come_back(case: str, tmp_path: Path) -> None:
    name, text, columns = GOOD[case]
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    table = read_groups(path, [columns])
    assert np.array_equal(table.groups[0], np.column_stack([T, Q, TAU]))
    assert [note.code for note in table.notes] == (["log-end-damaged"] if "cut" in case else [])


def test_names_beside_lists_are_those_of_joint_states(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(lines(states()))
    assert "position.elbow" in source_of(path).names
    assert np.array_equal(
        read_columns(path, columns=["effort.wrist", "position.elbow"]), np.column_stack([TAU[:, 1], Q[:, 0]])
    )
    found = read_log(
        path,
        position="position.*",
        torque="effort.*",
        time=["header.stamp.sec", "header.stamp.nanosec"],
        units={"time": ["s", "ns"]},
    )
    assert np.allclose(found.time, T)


def test_missing_values_and_texts_for_them_are_missing_cells(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"t": t, "q": float(np.sin(t)), "tau": t} for t in T.tolist()]
    rows[7]["q"], rows[9]["tau"], rows[11]["tau"] = None, "NaN", float("nan")
    del rows[20]["tau"]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(rows))
    found = read_log(path, position="q", torque="tau", time="t")
    assert found.missing is not None
    assert np.flatnonzero(found.missing[:, 0]).tolist() == [9, 11, 20]
    assert np.allclose(found.position[:, 0], np.sin(T), atol=1e-12)


BAD: dict[str, tuple[str, str, str]] = {
    "no JSON": ("a.json", '{"t": [1, 2],\n "q": oops}', r"line 2, column 7 is no JSON \(expecting value\)"),
    "no records": ("a.json", '{"robot": "arm"}', "neither records nor columns"),
    "a damaged line": ("a.jsonl", '{"t": 1}\n{"t": oops}\n{"t": 3}\n', r"line 2 is no JSON .*sample 1, counted from 0"),
    "texts": ("a.json", '[{"t": "a"}, {"t": "b"}]', "column 't' holds 'a' instead of numbers"),
    "nothing but brackets": ("a.json", "[" * 100_000, "nested too deeply|is no JSON"),
    "numbers without end": ("a.json", f'[{{"t": {"1" * 5000}}}]', "numbers without end"),
    "no lines": ("a.jsonl", "1\n2\n", "no records"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_read_is_named(case: str, tmp_path: Path) -> None:
    name, text, words = BAD[case]
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(RecordingError, match=words):
        read_columns(path)


def test_damaged_lines_may_be_cut_off_by_rows(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    rows = lines([{"t": t, "q": t, "tau": t} for t in T.tolist()]).splitlines()
    path.write_text("\n".join([rows[0], "{damaged", *rows[2:]]) + "\n")
    columns: dict[str, Any] = {"position": "q", "torque": "tau", "time": "t"}
    assert len(read_log(path, **columns, rows=(2, None))) == len(T) - 2
    with pytest.raises(RecordingError, match="line 2 is no JSON"):
        read_log(path, **columns)


def _plain(columns: dict[str, np.ndarray]) -> str:
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return json.dumps([dict(zip(columns, row, strict=True)) for row in rows])


def _lists(columns: dict[str, np.ndarray]) -> str:
    q, tau = (np.column_stack([columns[f"{name}_{k}"] for k in (1, 2)]).tolist() for name in ("q", "tau"))
    rows = zip(columns["t"].tolist(), q, tau, strict=True)
    return json.dumps([{"t": t, "q": each, "tau": torque} for t, each, torque in rows])


@pytest.mark.parametrize("write", [_plain, _lists])
def test_init_and_identify_read_json(write: Callable[[dict[str, np.ndarray]], str], tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(write(log(seconds=4.0)))
    first = init("builtin:two_link", path, folder=tmp_path)
    text = first.text.replace('terms = "auto"', 'terms = ["viscous", "coulomb"]')
    (tmp_path / "first.toml").write_text(text + "\n[physical]\nfit = false\n")
    assert identify(tmp_path / "first.toml").relative_error < 0.05


def test_damage_in_the_middle_of_a_line_is_no_cut_end(tmp_path: Path) -> None:
    records = [{"t": k / 100, "q": k} for k in range(500)]
    text = json.dumps(records).replace('"q": 100}', '"q": nan}')
    (tmp_path / "log.json").write_text(text)
    with pytest.raises(RecordingError, match="is no JSON"):
        source_of(tmp_path / "log.json")
