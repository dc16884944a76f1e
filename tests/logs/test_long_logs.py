"""Long logs: windows that equal the whole, and samples on disk that equal those in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dynid
from dynid.estimation import Factor, RowForm
from dynid.identification.log_factors import LogFactors, Reduction, reduced_log
from dynid.logs import Drive, Log, PreparedLog, Processing, on_disk, prepare, sample_of, transmission_of
from dynid.logs.processing import long_preparation
from dynid.logs.processing.automatic import LogScales
from dynid.logs.processing.outliers import NOISE_BLOCK
from dynid.logs.processing.windows import Windows
from dynid.model import Chunk, ChunkStore, DynamicModel, known_model, loaded, pieces

ROBOT = dynid.load_robot("builtin:two_link")
MODEL = known_model(ROBOT, ["viscous", "coulomb"], {})


def swinging(samples: int, rate: float = 200.0, seed: int = 0, **others: Any) -> Log:
    """A log of two links that swing, with friction, noise, and two outliers."""
    rng, t = np.random.default_rng(seed), np.arange(samples) / rate
    q = np.stack([np.sin(1.1 * t) + 0.3 * np.sin(3 * t), np.cos(1.7 * t) + 0.2 * np.sin(5 * t)], axis=1)
    v = np.gradient(q, t, axis=0)
    torque = DynamicModel(ROBOT).inverse_dynamics(q, v, np.gradient(v, t, axis=0)) + 0.5 * np.sign(v) + 0.1 * v
    torque += 0.02 * rng.standard_normal(q.shape)
    torque[[samples // 7, samples // 2], [0, 1]] += 50.0
    return Log(time=t, position=q + 1e-5 * rng.standard_normal(q.shape), torque=torque, **others)


def in_windows(log: Log, processing: Processing, delay: float, size: int, **options: Any) -> Chunk:
    """All samples of a log, processed in windows of so many."""
    scales = LogScales.of(log, is_even=True)
    rate = 1.0 / float(np.mean(np.diff(log.time)))
    transmission = transmission_of(Drive(), ROBOT)
    windows = Windows(log, transmission, processing, rate, delay, scales, False, size=size, **options)
    stored = ChunkStore().add(windows.of(0, len(log)))
    assert stored is not None
    return loaded(stored)


def whole(log: Log, processing: Processing, delay: float) -> Chunk:
    """The same, processed at once."""
    ready = prepare(log, MODEL, Drive(delay=delay), processing.but(outliers="repair"))
    return loaded(ready.segments[0])


STATED = Processing(lowpass=12.0, derivative="eighth_order", trim=40, velocity_threshold=(0.01, 0.01), idle="keep")


@pytest.mark.parametrize(
    ("change", "delay"),
    [
        ({}, 0.0),
        ({}, 0.0123),
        ({"decimate": (5,), "row_trim": 2}, 0.0),
        ({"rate": 50.0}, 0.0),
        ({"resample": 190.0}, 0.0),
        ({"resample": 190.0, "torque_lowpass": 20.0, "median": 5}, 0.004),
        ({"derivative": "savitzky_golay", "lowpass": None}, 0.0),
        ({"lowpass": 1.0}, 0.0),
    ],
    ids=str,
)
def test_windows_equal_the_whole(change: dict[str, Any], delay: float) -> None:
    log, processing = swinging(6_789), STATED.but(**change)
    at_once, parts = whole(log, processing, delay), in_windows(log, processing, delay, 20 * NOISE_BLOCK)
    assert len(parts) == len(at_once)
    for name in ("q", "v", "a", "torque"):
        one, other = getattr(at_once, name), getattr(parts, name)
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-9 * np.abs(one).max(), err_msg=name)
    one, two = (np.ones(at_once.torque.shape, bool) if x.keep is None else x.keep for x in (at_once, parts))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("terms", [["viscous", "coulomb"], ["viscous", "stribeck"], "auto"], ids=str)
def test_parameters_of_a_long_log_equal_those_of_the_same_log_in_memory(
    terms: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = swinging(8_000)
    fixed = {"lowpass": 12.0, "derivative": "eighth_order", "trim": 60, "decimate": [4], "row_trim": 2}
    processing: Any = {**fixed, "velocity_threshold": 0.02, "idle": "keep", "outliers": "keep"}
    drive = {"delay": 0.0}
    monkeypatch.setattr("dynid.identification.log_reading.SAMPLE_SAMPLES", 10**9)
    at_once = dynid.identify(ROBOT, log, terms, processing=processing, drive=drive)
    monkeypatch.setattr(long_preparation, "LONG_SAMPLES", 5_000)
    monkeypatch.setattr("dynid.identification.log_reading.SAMPLE_SAMPLES", 1_000)
    stored = dynid.identify(ROBOT, log, terms, processing=processing, drive=drive)
    assert any(finding.code == "log-sampled" for finding in stored.findings)
    assert stored.values == pytest.approx(at_once.values, rel=1e-9, abs=1e-9)
    assert stored.relative_error == pytest.approx(at_once.relative_error, rel=1e-9)


def test_gaps_and_rest_of_a_long_log_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    log = swinging(30_000)
    rest = Log(
        time=np.concatenate([log.time[:12_000] + 100.0, log.time[12_000:] + 103.0]),
        position=log.position,
        torque=log.torque,
    )
    still = np.arange(8_000) / 200.0
    noise = 1e-6 * np.random.default_rng(1).standard_normal((8_000, 2))
    before = Log(time=still, position=rest.position[0] + noise, torque=np.tile(rest.torque[0], (8_000, 1)) + noise)
    joint = long_preparation.joined([before, replace(rest, time=rest.time - 100.0 + 40.0)])
    monkeypatch.setattr(long_preparation, "LONG_SAMPLES", 5_000)
    ready = prepare(joint, MODEL, Drive(), Processing())
    codes = {finding.code: finding.values for finding in ready.findings}
    assert len(ready.segments) == 2
    assert codes["processing-idle"]["beginning"] == pytest.approx(40.0, abs=1.0)
    assert "time-gaps-split" in codes
    assert ready.samples == pytest.approx(30_000, rel=0.05)


def prepared(samples: int, seed: int = 0) -> PreparedLog:
    return prepare(swinging(samples, seed=seed), MODEL, Drive(), STATED.but(decimate=(5,), row_trim=2))


def test_samples_on_disk_equal_those_in_memory() -> None:
    ready = prepared(5_000)
    stored = on_disk(ready)
    for one, other in zip(ready.segments, stored.segments, strict=True):
        again = loaded(other)
        for name in ("q", "v", "a", "torque", "keep"):
            np.testing.assert_array_equal(getattr(loaded(one), name), getattr(again, name))
        assert sum(map(len, pieces(other, 777))) == len(one)
    np.testing.assert_array_equal(ready.times[0][:], stored.times[0][:])
    assert stored.times[0][-1] == ready.times[0][-1]
    assert on_disk(stored) is stored


@given(lengths=st.lists(st.integers(600, 4_000), min_size=1, max_size=6), most=st.integers(500, 9_000))
def test_a_sample_is_bounded_and_depends_on_lengths_only(lengths: list[int], most: int) -> None:
    logs = [_plain(length, k) for k, length in enumerate(lengths)]
    sample = sample_of(logs, most)
    assert sum(log.samples for log in sample) <= max(most, max(lengths)) + 4_000
    total = sum(lengths)
    if total <= most:
        assert [log.samples for log in sample] == lengths
    for log in sample:
        stamps = np.concatenate([times[:] for times in log.times])
        assert (np.diff(stamps) > 0).all()


def _plain(samples: int, number: int) -> PreparedLog:
    chunk = Chunk(*(np.full((samples, 2), float(number)) for _ in range(4)))
    return PreparedLog((chunk,), (np.arange(samples, dtype=np.float64) * 0.01,), Processing(), 100.0, 0.0, ())


def test_a_full_disk_is_said_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dynid.model.stored_chunks._write", full)
    with pytest.raises(dynid.DynidError, match="TMPDIR"):
        on_disk(prepared(2_000))


def test_files_of_samples_are_removed_with_the_samples() -> None:
    stored: Any = on_disk(prepared(2_000))
    file = stored.segments[0]._file
    assert file.exists()
    del stored
    assert not file.parent.exists()


@pytest.mark.parametrize("decimate", [(), (4,)], ids=str)
def test_parts_in_time_of_a_long_log_make_the_whole(decimate: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_preparation, "LONG_SAMPLES", 5_000)
    processing = STATED.but(decimate=decimate, row_trim=2 if decimate else 0, outliers="keep")
    reduction = Reduction(MODEL, MODEL, Drive(), processing, RowForm(), 300)
    log = swinging(9_000)
    whole_log = reduced_log(log, reduction)
    parts = [reduced_log(log, reduction, (k, 3)) for k in range(3)]
    assert whole_log is not None
    made = LogFactors.joined([part for part in parts if part is not None])
    assert made.log.samples == whole_log.log.samples
    for joint, factor in whole_log.reduced.torques.joints.items():
        other = made.reduced.torques.joints[joint]
        assert other.rows == factor.rows
        one, two = (_moments(x) for x in (factor, other))
        np.testing.assert_allclose(two, one, rtol=0, atol=1e-9 * np.abs(one).max())
    assert reduced_log(swinging(2_000), reduction, (1, 3)) is None


def _moments(factor: Factor) -> np.ndarray:
    whole = np.column_stack([factor.R, factor.z])
    moments = whole.T @ whole
    moments[-1, -1] += factor.squares
    return moments


def test_a_long_log_that_is_uneven_somewhere_is_resampled_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_preparation, "LONG_SAMPLES", 5_000)
    log = swinging(20_000)
    lost = [1_000, 9_100]  # between the stretches that choices are made by
    uneven = log.at(np.setdiff1d(np.arange(len(log)), [k + n for k in lost for n in (0, 1)]))
    assert prepare(uneven, MODEL, Drive(), Processing()).processing.resample == 200.0
    with pytest.raises(dynid.DynidError, match=r"processing\.resample"):
        prepare(uneven, MODEL, Drive(), Processing(automatic=False))


def test_outliers_of_all_parts_of_a_long_log_are_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_preparation, "LONG_SAMPLES", 5_000)
    log = swinging(9_000)
    reduction = Reduction(MODEL, MODEL, Drive(), Processing(), RowForm(), 300)
    whole_log = reduced_log(log, reduction)
    parts = [reduced_log(log, reduction, (k, 2)) for k in range(2)]
    assert whole_log is not None
    made = LogFactors.joined([part for part in parts if part is not None])
    one, other = (
        [finding.values for finding in each.log.findings if finding.code == "processing-outliers"]
        for each in (whole_log, made)
    )
    assert one == other
    assert one[0]["torques"] == 2
