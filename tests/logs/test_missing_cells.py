"""Cells without a number: short gaps cost nothing, torques that were not measured do not count, nothing is cut off."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dynid import DynamicModel, Log, identify, read_log
from dynid.errors import InvalidRequestError
from dynid.findings import Severity
from dynid.logs.missing_cells import filled
from tests.truth_logs import exact_practice, exactness

Damage = Callable[[dict[str, np.ndarray]], None]


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
    def spoil(columns: dict[str, np.ndarray]) -> None:
        for damage in damages:
            damage(columns)

    return spoil


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
    assert {f.code for f in result.findings if f.severity is not Severity.NOTE} <= {"cells-missing"}
    errors = exactness(result, truth.parameters)
    assert max(errors.values()) <= 1.0, {key: error for key, error in errors.items() if error > 1.0}


def test_no_part_of_a_log_is_cut_off_because_of_three_cells(tmp_path: Path) -> None:
    practice = exact_practice(1)
    columns = {key: np.array(values) for key, values in practice.log(1).to_frame().to_dict().items()}
    three_cells(columns)
    path = tmp_path / "log.csv"
    pl.DataFrame(columns).write_csv(path)
    read = read_log(path, practice.truth.robot)
    assert len(read) == len(columns["t"])
    assert read.missing is not None
    assert int(read.missing.sum()) == 1


WORDS = ["", "nan", "NaN", "NA", "N/A", "null", "None", "inf", "-Infinity"]


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_every_word_for_nothing_is_the_same(word: str, delimiter: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    t = np.arange(60) / 100
    rows = [[f"{x!r}" for x in row] for row in np.column_stack([t, np.sin(t), np.cos(t)]).tolist()]
    rows[20][1], rows[30][2] = word, word
    path.write_text("\n".join(delimiter.join(row) for row in [["t", "q_1", "tau_1"], *rows]) + "\n")
    log = read_log(path, position="q_1", torque="tau_1", time="t")
    assert np.abs(log.position[:, 0] - np.sin(t)).max() < 1e-12
    assert log.missing is not None
    assert np.flatnonzero(log.missing).tolist() == [30]


def test_cells_of_columns_that_are_not_used_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("t,q,tau,other\n" + "".join(f"{k / 100},{k},{k},\n" for k in range(30)))
    assert not read_log(path, position="q", torque="tau", time="t").findings


def test_noisy_positions_are_interpolated_as_well_as_their_noise_allows() -> None:
    rng, t = np.random.default_rng(1), np.arange(3000) / 500
    q = np.sin(2 * t)[:, None]
    noisy = q + 1e-4 * rng.normal(size=q.shape)
    noisy[rng.random(q.shape) < 0.05] = np.nan
    log = Log.with_gaps(t, noisy, np.ones(q.shape))
    assert len(log) > 2990
    assert np.abs(log.position - np.interp(log.time, t, q[:, 0])[:, None]).max() < 8e-4


def test_motion_that_is_too_fast_for_a_gap_splits_the_log() -> None:
    t = np.arange(2000) / 200
    q = np.sin(2 * math.pi * 20 * t)  # ten samples a period
    gaps = q.copy()
    gaps[[300, *range(700, 712)]] = np.nan
    log = Log.with_gaps(t, gaps, np.ones(len(t)))
    assert np.isin(t[700:712], log.time).sum() == 0
    assert np.abs(log.position[300] - q[300]) < 0.1


def test_wrapped_angles_are_not_interpolated_across_their_jump() -> None:
    t = np.arange(1000) / 100
    q = 1.5 * t
    wrapped = (q + math.pi) % (2 * math.pi) - math.pi
    at = int(np.flatnonzero(np.diff(wrapped) < -3.0)[0])
    wrapped[at - 1 : at + 2] = np.nan
    log = Log.with_gaps(t, wrapped, np.ones(len(t)))
    turns = (log.position[:, 0] - q) / (2 * math.pi)
    assert np.abs(turns - np.round(turns)).max() < 1e-9


def test_velocities_that_are_hardly_there_are_left_out() -> None:
    t = np.arange(100) / 100
    q = np.sin(t)
    v = np.full(100, np.nan)
    v[::10] = 1.0
    log = Log.with_gaps(t, q, q, v)
    assert log.velocity is None
    assert "velocities-missing" in [finding.code for finding in log.findings]


def test_whole_arrays_are_not_copied() -> None:
    t, x = np.arange(10.0), np.zeros((10, 2))
    assert filled(t, {"position": x, "torque": x}, {}).signals["position"] is x


def test_a_joint_without_velocities_costs_the_velocities_and_no_rows() -> None:
    t = np.arange(200) / 100
    q, v = np.sin(t)[:, None] * np.ones(7), np.cos(t)[:, None] * np.ones(7)
    v[:, 3] = np.nan
    found = Log.with_gaps(time=t, position=q, torque=q, velocity=v)
    assert found.velocity is None
    assert len(found) == 200


def test_temperatures_without_a_number_are_left_out() -> None:
    t = np.arange(200) / 100
    q = np.sin(t)[:, None]
    found = Log.with_gaps(time=t, position=q, torque=q, temperature=np.full((200, 1), np.nan))
    assert found.temperature is None
    assert "temperatures-missing" in [finding.code for finding in found.findings]


def test_a_joint_whose_torques_were_never_measured_does_not_count() -> None:
    t = np.arange(0.0, 4.0, 0.005)
    q = np.stack([0.6 * np.sin(1.3 * t) + 0.3 * np.sin(3.0 * t), 0.7 * np.cos(1.9 * t)], axis=1)
    v = np.gradient(q, t, axis=0)
    model = DynamicModel("builtin:two_link")
    torque = model.inverse_dynamics(q, v, np.gradient(v, t, axis=0), np.nan_to_num(model.reference))
    torque[:, 1] = np.nan
    log = Log.with_gaps(t, q, torque)
    assert log.missing is not None
    assert log.missing[:, 1].all()
    assert not log.missing[:, 0].any()
    result = identify(model.robot, log, physical={"fit": False})
    assert [f.values["joints"] for f in result.findings if f.code == "processing-unmeasured"] == [{"joint_2": 1.0}]
    with pytest.raises(InvalidRequestError, match="position 2"):
        Log.with_gaps(t, np.where([True, False], q, np.nan), torque)
