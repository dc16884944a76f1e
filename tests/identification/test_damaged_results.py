"""Results whose files are damaged are refused in a sentence: what the fuzzer found, kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dynid
from dynid.errors import DynidError
from tests.commands import run
from tests.practice_logs import LOGS, MODEL, PROCESSING, in_memory, log


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged") / "result"
    dynid.identify(MODEL.robot, in_memory(log(seconds=3.0)), MODEL.terms, processing=PROCESSING).save(folder)
    return folder


@pytest.fixture
def result(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "result"))


def _shorter_placement(record: dict[str, Any]) -> None:
    record["kinematics"][0]["placement"][1].pop()


def _other_axis(record: dict[str, Any]) -> None:
    record["kinematics"][0]["axis"] = [0.0, 1.0]


RECORDS = {"placement": _shorter_placement, "axis": _other_axis}


@pytest.mark.parametrize("damage", RECORDS.values(), ids=RECORDS)
def test_damaged_records_are_refused(damage: Callable[[dict[str, Any]], None], result: Path) -> None:
    path = result / "result.json"
    record = json.loads(path.read_text())
    damage(record)
    path.write_text(json.dumps(record))
    with pytest.raises(DynidError, match="damaged"):
        dynid.load_result(result)


def _factors(path: Path, **changes: np.ndarray) -> None:
    with np.load(path) as arrays:
        content = {name: arrays[name] for name in arrays.files} | changes
    with path.open("wb") as stream:
        np.savez(stream, **content)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"R0": np.ones((2, 2))},
        {"z0": np.array([np.nan])},
        {"R0": np.array(["x"])},
        {"head": np.zeros(3)},
        {"z0": 1e308},
    ],
    ids=["shape", "number", "text", "head", "enormous"],
)
def test_damaged_factors_are_refused(changes: dict[str, Any], result: Path) -> None:
    if isinstance(changes.get("z0"), float):
        with np.load(result / "log_1.factors") as arrays:
            changes = {"z0": np.full_like(arrays["z0"], changes["z0"])}
    _factors(result / "log_1.factors", **changes)
    with pytest.raises(DynidError, match="holds no factors"):
        dynid.load_result(result)


def test_damaged_curves_are_refused(result: Path) -> None:
    (result / "signs.npz").write_bytes(b"PK")
    with pytest.raises(DynidError, match=r"signs\.npz is damaged"):
        dynid.load_result(result)


ENORMOUS = [("q_2", 1e5), ("q_2", 1e25), ("tau_2", -1e308), ("tau_1", 1e200), ("t", 1e200)]


@pytest.mark.parametrize(("column", "value"), ENORMOUS)
def test_enormous_samples_give_our_own_errors_only(column: str, value: float, result: Path, tmp_path: Path) -> None:
    columns = log(1, seconds=1.5)
    columns[column][200] = value
    log_file = tmp_path / "log.csv"
    pl.DataFrame(columns).write_csv(log_file)
    experiment = tmp_path / "held_out.toml"
    experiment.write_text(LOGS)
    status, _, error = run("validate", result, experiment)
    assert (status, error.count("\n")) in ((0, 0), (2, 1))
