"""Periods are averaged, and tell the noise."""

from __future__ import annotations

import numpy as np
import pytest

from dynid import DynidError
from dynid.data.drive import Drive
from dynid.data.periods import averaged, processed_period
from dynid.data.processing import Processing
from dynid.data.recording import Recording

PERIOD, RATE, COUNT = 2.0, 500.0, 8
NOISE = np.array([0.1, 0.4])


def recording(seed: int = 0, noise: np.ndarray = NOISE, rate: float = RATE, jitter: float = 0.0) -> Recording:
    rng = np.random.default_rng(seed)
    t = np.arange(round(PERIOD * COUNT * rate)) / rate
    t = t + jitter / rate * rng.uniform(-0.5, 0.5, len(t))
    w = 2 * np.pi / PERIOD
    q = np.column_stack([np.sin(w * t), np.cos(2 * w * t)])
    torque = np.column_stack([np.cos(w * t), np.sin(3 * w * t)])
    return Recording(t, q, None, torque + noise * rng.normal(size=torque.shape))


def test_the_mean_has_less_noise_and_tells_how_much_there_was() -> None:
    mean = averaged(recording(), PERIOD)
    assert mean.periods == COUNT
    assert len(mean.recording) == round(PERIOD * RATE)
    assert mean.torque_noise == pytest.approx(NOISE, rel=0.05)
    assert np.all(mean.position_noise < 1e-9)
    exact = recording(noise=np.zeros(2)).torque[: len(mean.recording)]
    assert np.std(mean.recording.torque - exact, axis=0) == pytest.approx(NOISE / np.sqrt(COUNT), rel=0.1)
    assert "8 periods" in mean.findings(["a", "b"], "joint", "N m")[0].text


def test_uneven_samples_and_periods_of_broken_numbers_of_samples_are_averaged_too() -> None:
    mean = averaged(recording(noise=np.zeros(2), rate=333.3, jitter=0.3), PERIOD)
    w, t = 2 * np.pi / PERIOD, mean.recording.time + recording(rate=333.3, jitter=0.3).time[0]
    assert np.allclose(mean.recording.q[:, 0], np.sin(w * t), atol=1e-4)


def test_a_period_is_processed_without_ends() -> None:
    mean = averaged(recording(noise=np.zeros(2)), PERIOD)
    (chunk,) = processed_period(mean, Drive.of([1, 1], positions_at_motor=False), Processing(lowpass=50.0, trim=30))
    w, t = 2 * np.pi / PERIOD, mean.recording.time
    assert len(chunk) == len(t)
    assert np.allclose(chunk.v[:, 0], w * np.cos(w * t), atol=1e-3)
    assert np.allclose(chunk.a[:, 0], -(w**2) * np.sin(w * t), atol=1e-2)


@pytest.mark.parametrize(("period", "match"), [(20.0, "0 periods of 20 s"), (0.01, "eight samples"), (9.0, "1 per")])
def test_a_wrong_period_is_one_sentence(period: float, match: str) -> None:
    with pytest.raises(DynidError, match=match):
        averaged(recording(), period)
