"""Cells without a number: short gaps cost nothing, torques that were not measured do not count, and nothing is cut off."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dynid import Log, identify, init, read_log
from dynid.logs.missing_cells import filled
from tests.truth_logs import exact_practice, exactness

Damage = Callable[[dict[str, np.ndarray]], None]

RNG = np.random.default_rng(5)


def cells(share: float, *prefixes: str) -> Damage:
    """A share of the cells of some columns, at random."""

    def spoil(columns: dict[str, np.ndarray]) -> None:
        rng = np.random.default_rng(2)
        for name, column in columns.items():
            if name.split("_")[0] in prefixes:
                column[rng.random(len(column)) < share] = np.nan

    return spoil


def gap(first: float, length: int, *names: str) -> Damage:
    """Some samples in a row of some columns, from a share of the log on."""

    def spoil(columns: dict[str, np.ndarray]) -> None:
        for name in names:
            start = round(first * len(columns["t"]))
            columns[name][start : start + length] = np.nan

    return spoil


def both(*damages: Damage) -> Damage:
    return lambda columns: [damage(columns) for damage in damages][0]


def three_cells(columns: dict[str, np.ndarray]) -> None:
    for name, share in (("q_1", 0.36), ("tau_2", 0.5), ("q_2", 0.64)):
        columns[name][round(share * len(columns["t"]))] = np.nan


def slower_torques(columns: dict[str, np.ndarray]) -> None:
    """Torques in every second row only, as tables of several sources have."""
    for name in columns:
        if name.startswith("tau"):
            columns[name][1::2] = np.nan


DAMAGES: dict[str, tuple[Damage, float]] = {
    "three cells": (three_cells, 0.999),
    "two percent of all cells": (cells(0.02, "t", "q", "tau"), 0.9),
    "a short gap of a position": (gap(0.3, 5, "q_1"), 0.999),
    "a long gap of a torque": (gap(0.3, 400, "tau_1"), 0.85),
    "a long gap of a position": (gap(0.4, 200, "q_2"), 0.85),
    "a long gap of time": (gap(0.4, 200, "t"), 0.85),
    "gaps at start and end": (both(gap(0.0, 30, "q_1"), gap(0.0, 50, "tau_2"), gap(0.98, 999, "q_2")), 0.9),
    "torques in every second row": (slower_torques, 0.5),
}
"""What is missing, and the share of the torques that count at least."""


@pytest.mark.parametrize("name", DAMAGES)
def test_exact_logs_with_gaps_give_exact_parameters(name: str, tmp_path: Path) -> None:
    practice = exact_practice(1)
    truth, log = practice.truth, practice.log(1)
    columns = {key: np.array(values) for key, values in log.to_frame().to_dict().items()}
    damage, share = DAMAGES[name]
    damage(columns)
    path = tmp_path / "log.csv"
    pl.DataFrame(columns, nan_to_null=True).write_csv(path)
    read = read_log(path, truth.robot)
    note = next(finding for finding in read.findings if finding.code == "cells-missing")
    assert note.values["cells"] == sum(int(np.isnan(column).sum()) for column in columns.values())
    assert note.values["share"] >= share
    result = identify(truth.robot, read, truth.terms, estimation={"bootstrap": False}, physical={"fit": False})
    errors = exactness(result, truth.parameters)
    assert max(errors.values()) <= 1.0, {key: error for key, error in errors.items() if error > 1.0}
