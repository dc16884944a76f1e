"""Logs show what their sensors would, and repeat by their seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dynid import DynamicModel, DynidError, load_robot
from dynid.logs.drive import Transmission
from dynid.logs.tables import read_columns
from dynid.logs.timing import check_time
from dynid.settings import checked
from dynid.simulation.closed_loop import SimulatedRobot, follow
from dynid.simulation.sensors import measure, torque_constants
from dynid.simulation.settings import Sensors
from dynid.simulation.simulated_log import write_log, write_truth
from tests.simulated import gentle

ROBOT = load_robot("builtin:two_link")
SIMULATED = SimulatedRobot.of(DynamicModel(ROBOT))
RUN = follow(SIMULATED, gentle(ROBOT, period=4.0))


def test_perfect_sensors_show_the_truth() -> None:
    log = measure(RUN, Sensors())
    assert np.array_equal(log.position, RUN.q)
    assert np.array_equal(log.torque, RUN.torque)
    assert np.array_equal(log.time, RUN.time)


def test_a_drive_undoes_what_it_logged() -> None:
    drive = Transmission.of([100, -50], [(1, 0, 30.0)], [0.1, 0.2], [0.3, -0.1])
    log = measure(RUN, Sensors(), drive)
    assert np.abs(log.position).max() > 10 * np.abs(RUN.q).max()
    assert np.allclose(drive.joint_positions(np.array(log.position)), RUN.q)
    assert np.allclose(drive.joint_torques(np.array(log.torque)), RUN.torque)


def test_encoders_have_steps() -> None:
    log = measure(RUN, Sensors(encoder=0.001))
    assert np.allclose(log.position / 0.001, np.round(log.position / 0.001), atol=1e-9)
    assert np.abs(log.position - RUN.q).max() <= 0.0005 + 1e-12


def test_noise_has_its_size_and_repeats_by_its_seed() -> None:
    logs = [measure(RUN, Sensors(noise=(0.1, 0.5)), seed=seed) for seed in (1, 1, 2)]
    assert np.array_equal(logs[0].torque, logs[1].torque)
    assert not np.array_equal(logs[0].torque, logs[2].torque)
    assert np.std(logs[0].torque - RUN.torque, axis=0) == pytest.approx([0.1, 0.5], rel=0.05)
    noise = measure(RUN, Sensors(signal_to_noise=50.0)).torque - RUN.torque
    ratio = np.mean(RUN.torque**2, axis=0) / np.mean(noise**2, axis=0)
    assert 10 * np.log10(ratio) == pytest.approx([50, 50], abs=0.5)


def test_a_specimen_keeps_its_torque_constants() -> None:
    sensors = Sensors(torque_constant_error=0.01)
    ratios = [measure(RUN, sensors, seed=seed, specimen=3).torque / RUN.torque for seed in (1, 2)]
    expected = 1.0 / torque_constants(sensors, 2, specimen=3)
    for ratio in ratios:
        assert np.nanmedian(ratio, axis=0) == pytest.approx(expected)
    assert np.std(torque_constants(sensors, 10_000)) == pytest.approx(0.01, rel=0.05)


def test_torques_are_late_by_the_delay() -> None:
    log = measure(RUN, Sensors(delay=0.01))
    assert np.allclose(log.torque[10:], RUN.torque[:-10], atol=1e-9)


def test_jitter_and_dropped_samples_show_in_the_stamps_and_leave_values_true() -> None:
    log = measure(RUN, Sensors(jitter=0.1, dropped=0.05), seed=4)
    timing = check_time(log.time)
    assert timing.is_ordered
    assert timing.jitter == pytest.approx(0.14, rel=0.2)  # a step has the jitter of two samples
    assert len(log) == pytest.approx(0.95 * len(RUN.time), rel=0.02)
    expected = np.column_stack([np.interp(log.time, RUN.time, column) for column in RUN.q.T])
    assert np.allclose(log.position, expected, atol=1e-5)


def test_saturation_cuts() -> None:
    assert np.abs(measure(RUN, Sensors(saturation=1.0)).torque).max() == 1.0


@pytest.mark.parametrize(
    "wrong", [{"noise": -1.0}, {"encoder": -0.1}, {"delay": -1.0}, {"dropped": 1.0}, {"jitter": float("nan")}]
)
def test_impossible_sensors_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(DynidError, match=next(iter(wrong))):
        checked(Sensors, wrong)


@pytest.mark.parametrize("name", ["log.csv", "log.parquet", "log.npz"])
def test_logs_are_read_back_as_they_were_and_the_truth_is_apart(tmp_path: Path, name: str) -> None:
    log = measure(RUN, Sensors(noise=0.1))
    write_log(tmp_path / name, log, ROBOT)
    assert np.array_equal(read_columns(tmp_path / name, columns="tau_*"), log.torque)
    assert np.array_equal(read_columns(tmp_path / name, columns="q_*"), log.position)
    write_truth(tmp_path / "truth.npz", SIMULATED, RUN)
    with np.load(tmp_path / "truth.npz", allow_pickle=False) as truth:
        assert dict(zip(truth["names"].tolist(), truth["parameters"], strict=True))["m2"] == ROBOT.parameters[10]
        assert np.array_equal(truth["torque"], RUN.torque)
