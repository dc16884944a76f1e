"""Periods are averaged, and tell the noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dynid import DynidError
from dynid.findings import has
from dynid.logs.drive import Transmission
from dynid.logs.log import Log
from dynid.logs.processing.periods import averaged, processed_period
from dynid.logs.settings import Processing

PERIOD, RATE, COUNT = 2.0, 500.0, 8
NOISE = np.array([0.1, 0.4])


def recording(seed: int = 0, noise: np.ndarray = NOISE, rate: float = RATE, jitter: float = 0.0) -> Log:
    rng = np.random.default_rng(seed)
    t = np.arange(round(PERIOD * COUNT * rate)) / rate
    t = t + jitter / rate * rng.uniform(-0.5, 0.5, len(t))
    w = 2 * np.pi / PERIOD
    q = np.column_stack([np.sin(w * t), np.cos(2 * w * t)])
    torque = np.column_stack([np.cos(w * t), np.sin(3 * w * t)])
    return Log(t, q, torque + noise * rng.normal(size=torque.shape))


def test_the_mean_has_less_noise_and_tells_how_much_there_was() -> None:
    mean = averaged(recording(), PERIOD)
    assert mean.periods == COUNT
    assert len(mean.log) == round(PERIOD * RATE)
    assert mean.torque_noise == pytest.approx(NOISE, rel=0.05)
    assert np.all(mean.position_noise < 1e-9)
    exact = recording(noise=np.zeros(2)).torque[: len(mean.log)]
    assert np.std(mean.log.torque - exact, axis=0) == pytest.approx(NOISE / np.sqrt(COUNT), rel=0.1)
    assert "8 periods" in mean.findings(["a", "b"], "joint", "N m")[0].text


def test_uneven_samples_and_periods_of_broken_numbers_of_samples_are_averaged_too() -> None:
    mean = averaged(recording(noise=np.zeros(2), rate=333.3, jitter=0.3), PERIOD)
    w, t = 2 * np.pi / PERIOD, mean.log.time + recording(rate=333.3, jitter=0.3).time[0]
    assert np.allclose(mean.log.position[:, 0], np.sin(w * t), atol=1e-4)


def test_a_period_is_processed_without_ends() -> None:
    mean = averaged(recording(noise=np.zeros(2)), PERIOD)
    (chunk,) = processed_period(
        mean, Transmission.of([1, 1], positions_at_motor=False), Processing(lowpass=50.0, trim=30)
    )
    w, t = 2 * np.pi / PERIOD, mean.log.time
    assert len(chunk) == len(t)
    assert np.allclose(chunk.v[:, 0], w * np.cos(w * t), atol=1e-3)
    assert np.allclose(chunk.a[:, 0], -(w**2) * np.sin(w * t), atol=1e-2)


def test_logs_with_commands_and_missing_torques_are_averaged_too() -> None:
    log = recording()
    missing = np.zeros(log.torque.shape, dtype=bool)
    missing[1234, 1] = True
    mean = averaged(replace(log, position_command=log.position, kp=3.0, missing=missing), PERIOD)
    assert mean.log.torque == pytest.approx(averaged(log, PERIOD).log.torque)
    assert mean.log.position_command is None
    (chunk,) = processed_period(mean, Transmission.of([1, 1], torques_at_motor=False), Processing())
    assert chunk.keep is not None
    assert np.argwhere(~chunk.keep).tolist() == [[234, 1]]


@pytest.mark.parametrize(("period", "match"), [(20.0, "0 periods of 20 s"), (0.01, "eight samples"), (9.0, "1 per")])
def test_a_wrong_period_is_one_sentence(period: float, match: str) -> None:
    with pytest.raises(DynidError, match=match):
        averaged(recording(), period)


def with_transient(count: float = 0.2, noise: np.ndarray = NOISE) -> Log:
    """A recording whose first period begins elsewhere, as a robot's does that starts from rest."""
    one = recording(noise=noise)
    fades = count * np.exp(-5.0 * one.time)[:, None]
    return Log(one.time, one.position + fades, one.torque + 10 * fades)


def test_a_first_period_that_has_not_settled_is_left_out_and_said() -> None:
    mean = averaged(with_transient(), PERIOD)
    assert mean.periods == COUNT - 1
    exact = recording(noise=np.zeros(2)).position[: len(mean.log)]
    assert np.abs(mean.log.position - exact).max() < 1e-4
    assert mean.torque_noise == pytest.approx(NOISE, rel=0.05)
    assert has(mean.findings(["a", "b"], "joint", "N m"), "period-left-out")


@pytest.mark.parametrize("seed", range(20))
def test_noise_alone_leaves_no_period_out(seed: int) -> None:
    mean = averaged(recording(seed), PERIOD)
    assert (mean.periods, mean.left_out, mean.doubt) == (COUNT, 0.0, None)


@pytest.mark.parametrize("period", [1.6, 2.3, 3.0, 1.0])
def test_a_period_that_does_not_fit_is_refused_and_the_one_that_fits_is_named(period: float) -> None:
    with pytest.raises(DynidError, match=r"times the motion itself; the motion repeats after 2 s"):
        averaged(recording(), period)


def test_a_period_that_nearly_fits_is_doubted() -> None:
    mean = averaged(recording(), 2.002)
    (_, warning) = mean.findings(["a", "b"], "joint", "N m")
    assert (warning.code, warning.severity) == ("period-wrong", "warning")
    assert warning.values["better"] == pytest.approx(2.0, rel=1e-4)


def test_where_nothing_repeats_no_period_is_named() -> None:
    one = recording()
    drifts = Log(one.time, np.column_stack([one.time**2, one.time]), one.torque)
    with pytest.raises(DynidError, match="no period that fits better"):
        averaged(drifts, PERIOD)
