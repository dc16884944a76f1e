"""`init` on logs whose time stamps are infinite, or differ by next to nothing: an experiment, or one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dynid.cli import app

SAMPLES = 200
PLACES = {
    "first": slice(1),
    "middle": slice(60, 61),
    "last": slice(-1, None),
    "half": slice(0, 100),
    "all": slice(0),
}


def table(stamps: np.ndarray) -> dict[str, np.ndarray]:
    q = np.sin(np.outer(np.arange(SAMPLES) / 200.0, [1.0, 2.0]))
    return {"t": stamps, "q_1": q[:, 0], "q_2": q[:, 1], "tau_1": q[:, 1], "tau_2": q[:, 0]}


def ends_well(file: Path) -> None:
    result = CliRunner().invoke(app, ["init", "builtin:two_link", str(file), "--out", str(file.with_suffix(".toml"))])
    assert result.exit_code in (0, 2), result.exception
    assert result.exit_code == 0 or "Traceback" not in result.output


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("number", [np.inf, -np.inf, 1.7e308])
def test_infinite_stamps_end_in_an_experiment_or_a_sentence(place: str, number: float, tmp_path: Path) -> None:
    stamps = np.arange(SAMPLES) / 200.0
    stamps[PLACES[place]] = number
    pl.DataFrame(table(stamps)).write_csv(tmp_path / "log.csv")
    ends_well(tmp_path / "log.csv")


@pytest.mark.parametrize("name", ["t", "time_ns"])
def test_steps_of_next_to_nothing_do_too(name: str, tmp_path: Path) -> None:
    columns: dict[str, Any] = table(np.arange(SAMPLES) * 5e-322)
    columns[name] = columns.pop("t")
    np.savez(tmp_path / "log.npz", **columns)
    ends_well(tmp_path / "log.npz")
