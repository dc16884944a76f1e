"""Logs that are wrong by themselves: wrapped angles, held samples, coarse clocks; mended, and good ones left alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dynid import Drive, Log, identify, read_log
from dynid.arrays import Array
from dynid.findings import Finding, Severity
from dynid.logs import Processing, mended
from dynid.logs.tables import RecordingError
from tests.regret_cases import UR5
from tests.truth_logs import Motion, Practice, Sensors, exactness, white

PRACTICE = Practice(UR5, Motion(), Sensors(500, white(1e-5), torque=white(0.02)))
CONTINUOUS = Motion(20.0, 0.1, (1, 2, 3), size=2.5)
"""A motion of more than a revolution."""


def coded(log: Log, code: str) -> Finding:
    (found,) = [finding for finding in log.findings if finding.code == code]
    return found


def wrapped(q: Array) -> Array:
    """Angles between minus a half and half a revolution."""
    return (q + np.pi) % (2 * np.pi) - np.pi


@pytest.mark.parametrize("rate", [30.0, 500.0])
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_wrapped_angles_are_unwrapped(rate: float, noise: float) -> None:
    log = replace(PRACTICE, motion=CONTINUOUS).but(rate=rate, position=white(noise)).log(3)
    found = mended(replace(log, position=wrapped(log.position)), UR5.robot)
    turns = (found.position - log.position) / (2 * np.pi)
    assert np.abs(turns - np.round(turns[0])).max() < 1e-9
    joints = coded(found, "positions-wrapped").values["joints"]
    jumps = np.abs(np.diff(wrapped(log.position), axis=0)) > np.pi
    assert sum(joints.values()) == jumps.sum()


def test_angles_from_zero_to_a_revolution_go_to_the_joints_limits() -> None:
    log = PRACTICE.log(3)
    found = mended(replace(log, position=log.position % (2 * np.pi)), UR5.robot)
    moved = np.abs(np.diff(log.position % (2 * np.pi), axis=0)).max(axis=0) > np.pi
    assert moved.any()
    assert found.position[:, moved] == pytest.approx(log.position[:, moved], abs=1e-9)


def test_wrapped_angles_are_unwrapped_across_gaps() -> None:
    log = replace(PRACTICE, motion=CONTINUOUS).log(3)
    q = wrapped(log.position)
    wraps = np.abs(np.diff(q, axis=0)) > np.pi
    jumps = np.flatnonzero(wraps[:, wraps.sum(axis=0).argmax()])
    kept = np.ones(len(log), dtype=bool)
    kept[jumps[0] - 3 : jumps[0] + 4] = False
    found = mended(replace(log, position=q).at(kept), UR5.robot)
    turns = (found.position - log.position[kept]) / (2 * np.pi)
    assert np.abs(turns - np.round(turns[0])).max() < 1e-9


def test_outliers_and_real_steps_are_no_revolutions() -> None:
    log = PRACTICE.log(3)
    q = log.position.copy()
    q[1000:1003, 2] += 4.0
    q[5000:, 3] += 3.7
    assert not mended(replace(log, position=q), UR5.robot).findings


def test_motors_that_turn_by_revolutions_between_samples_are_left_alone() -> None:
    log = PRACTICE.but(rate=50.0).log(3)
    drive = Drive(ratios=(300.0,) * 6, positions="motor")
    motors = replace(log, position=300.0 * log.position)
    assert np.abs(np.diff(motors.position, axis=0)).max() > 2 * np.pi
    assert (mended(motors, UR5.robot, drive).position == motors.position).all()


def test_sliding_joints_do_not_wrap() -> None:
    from tests.truth_logs import random_arm

    robot = random_arm(3, 3, sliding=1.0)
    t = np.arange(0.0, 10.0, 0.01)
    q = np.column_stack([np.sin(t), 4.0 * np.sin(t), np.cos(t)])
    q[500:, 1] += 2 * np.pi
    assert not mended(Log(t, q, q), robot).findings


def held(x: Array, run: int, first: int = 0) -> Array:
    rows = np.maximum((np.arange(len(x)) - first) // run * run + first, 0)
    return x[rows]


@pytest.mark.parametrize("run", [2, 5, 10])
def test_held_positions_are_taken_once(run: int) -> None:
    log = PRACTICE.log(3)
    found = mended(replace(log, position=held(log.position, run)), UR5.robot)
    note = coded(found, "samples-held-taken-once")
    assert note.values["signals"] == pytest.approx({"positions": 500.0 / run}, rel=0.02)
    true = np.isin(log.time, found.time)
    assert found.position == pytest.approx(log.position[true])
    assert len(found) == pytest.approx(len(log) / run, abs=2)


def test_held_torques_and_velocities_are_interpolated() -> None:
    log = PRACTICE.but(velocity="exact", torque=white(0.0)).log(3)
    assert log.velocity is not None
    found = mended(replace(log, torque=held(log.torque, 10, 3), velocity=held(log.velocity, 5)), UR5.robot)
    note = coded(found, "samples-held-taken-once")
    assert note.values["signals"] == pytest.approx({"torques": 50.0, "velocities": 100.0}, rel=0.02)
    rough = np.abs(held(log.torque, 10, 3) - log.torque).mean()
    assert np.abs(found.torque - log.torque).mean() < 0.5 * rough
    assert len(found) == len(log)


def test_held_samples_are_named_where_processing_is_stated() -> None:
    log = PRACTICE.log(3)
    stated = Processing(lowpass=10.0)
    found = mended(replace(log, position=held(log.position, 10)), UR5.robot, None, stated)
    note = coded(found, "samples-held")
    assert note.severity is Severity.ERROR
    assert note.values["rate"] == pytest.approx(50.0, rel=0.02)
    assert len(found) == len(log)
    found = mended(replace(log, torque=held(log.torque, 10)), UR5.robot, None, stated)
    assert coded(found, "samples-held").severity is Severity.WARNING


def test_a_log_with_held_samples_identifies_the_robot() -> None:
    practice = PRACTICE.but(position=white(0.0), torque=white(0.0))
    log = practice.log(3)
    wrong = replace(log, position=held(log.position, 10), torque=held(log.torque, 10))
    result = identify(UR5.robot, wrong, UR5.terms, physical={"fit": False})
    assert np.quantile(list(exactness(result, UR5.parameters).values()), 0.9) < 40  # 2 % of the largest of its unit


@pytest.mark.parametrize("step", [1e-4, 1e-3, 5e-3])
@pytest.mark.parametrize("rate", [100.0, 1000.0])
def test_coarse_encoders_and_rest_are_not_held(step: float, rate: float) -> None:
    slow = Motion(20.0, 0.02, (1, 2), size=0.3, resting=(0, 1))
    log = replace(PRACTICE, motion=slow).but(rate=rate, position=white(0.0), step=step).log(3)
    resting = replace(log, torque=np.where(log.time[:, None] % 4.0 < 2.0, log.torque[:1], log.torque))
    assert not mended(resting, UR5.robot).findings


def test_a_single_coarse_signal_is_not_held() -> None:
    log = PRACTICE.log(3)
    torque = log.torque.copy()
    torque[:, 2] = held(torque[:, [2]], 10)[:, 0]
    assert not mended(replace(log, torque=torque), UR5.robot).findings


def in_files(folder: Path, log: Log, stamps: Array) -> Path:
    names = [f"{letter}_{k}" for letter in ("q", "tau") for k in range(1, 7)]
    rows = np.column_stack([stamps, log.position, log.torque])
    np.savetxt(folder / "log.csv", rows, delimiter=",", header=",".join(["t", *names]), comments="", fmt="%.9g")
    return folder / "log.csv"


def read(path: Path) -> Log:
    return read_log(path, UR5.robot, position="q_*", torque="tau_*", time="t")


def test_stamps_of_a_coarse_clock_are_spread(tmp_path: Path) -> None:
    log = PRACTICE.but(rate=1000.0).log(3)[:3000]
    stamps = np.floor(log.time[3] * 100 + log.time * 100 * 1.0003) / 100
    found = read(in_files(tmp_path, log, stamps))
    note = coded(found, "time-clock-coarse")
    assert note.severity is Severity.NOTE
    assert note.values == pytest.approx({"share": 0.9, "clock_ms": 10.0, "rate": 1000.3}, rel=1e-3)
    assert np.diff(found.time) == pytest.approx(1.0 / 1000.3, rel=1e-3)
    assert len(found) == len(log)


def test_stamps_of_a_coarse_clock_are_spread_beside_gaps() -> None:
    log = PRACTICE.but(rate=1000.0).log(3)
    kept = (log.time < 5.0) | (log.time > 5.4)
    cut = log.at(kept)
    found = mended(replace(cut, time=np.round(cut.time, 2)), UR5.robot)
    assert coded(found, "time-clock-coarse").severity is Severity.NOTE
    assert found.time - found.time[0] == pytest.approx(cut.time - cut.time[0], abs=1.5e-3)


def test_single_repeated_stamps_go_between_their_neighbours() -> None:
    log = PRACTICE.log(3)
    stamps = log.time.copy()
    stamps[[100, 2000]] = stamps[[99, 1999]]
    found = mended(replace(log, time=stamps), UR5.robot)
    assert (np.diff(found.time) > 0.0).all()
    assert np.abs(found.time - log.time).max() <= 0.5 / 500 + 1e-9
    assert coded(found, "time-clock-coarse").severity is Severity.WARNING


def test_rows_that_were_written_twice_are_dropped() -> None:
    log = PRACTICE.log(3)
    twice = np.sort(np.concatenate([np.arange(len(log)), [10, 500, 501]]))
    found = mended(log.at(twice), UR5.robot)
    assert coded(found, "samples-repeated").values == {"count": 3}
    assert found.time.tolist() == log.time.tolist()


def test_time_that_goes_backwards_is_refused(tmp_path: Path) -> None:
    log = PRACTICE.log(3)[:100]
    stamps = log.time.copy()
    stamps[50:] -= 0.05
    with pytest.raises(RecordingError, match="row 52"):
        read(in_files(tmp_path, log, stamps))


@pytest.mark.parametrize(
    ("rate", "factor", "code", "unit"),
    [
        (100.0, 1e3, "time-steps-long", "ms"),
        (2000.0, 1e3, "time-steps-long", "ms"),
        (10_000.0, 1e3, "time-steps-long", "ms"),
        (1000.0, 1e6, "time-steps-long", "us"),
        (1000.0, 1e9, "time-steps-long", "ns"),
        (30.0, 1e-3, "time-steps-short", "ms"),
        (1000.0, 1e-3, "time-steps-short", "ms"),
        (125.0, 1e-6, "time-steps-short", "us"),
    ],
)
def test_another_unit_of_time_is_named(rate: float, factor: float, code: str, unit: str) -> None:
    log = PRACTICE.but(rate=rate).log(3)[: int(5 * rate)]
    finding = coded(mended(replace(log, time=factor * log.time, first_stamp=0.0), UR5.robot), code)
    assert finding.values["unit"] == unit
    assert finding.values["factor"] == pytest.approx(1.0 / factor)
    assert finding.values["rate"] == pytest.approx(rate, rel=1e-6)


@pytest.mark.parametrize("rate", [5.0, 20.0, 30.0, 100.0, 1000.0, 8000.0])
def test_usual_rates_are_not_doubted(rate: float) -> None:
    for motion in (Motion(), Motion(60.0, 0.02, (1, 2, 3, 5)), Motion(12.0, 0.6, (1, 2), size=0.4)):
        log = replace(PRACTICE, motion=motion).but(rate=rate).log(3)
        assert not mended(log, UR5.robot).findings


def test_time_that_stands_still_is_refused(tmp_path: Path) -> None:
    log = PRACTICE.log(3)[:300]
    stamps = log.time.copy()
    stamps[200:] = stamps[200]
    with pytest.raises(RecordingError, match="row 203"):
        read(in_files(tmp_path, log, stamps))
