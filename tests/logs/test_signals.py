"""Signals: filters, derivatives, decimation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import signal

from dynid.errors import InvalidRequestError
from dynid.logs.processing.signals import (
    TooShortError,
    can_be_decimated,
    central_difference,
    decimated,
    delayed,
    lowpass,
    median,
    savitzky_golay,
    smoothing_spline,
    trimmed,
)

RATE = 1000.0
T = np.arange(4000) / RATE


def tones(*frequencies: float) -> np.ndarray:
    return np.stack([np.sin(2 * np.pi * f * T) for f in frequencies], axis=1)


def middle(x: np.ndarray) -> np.ndarray:
    return x[500:-500]


def test_a_lowpass_lets_slow_motion_through_without_delay_and_stops_fast_noise() -> None:
    slow, fast = tones(2.0, 3.0), tones(200.0, 300.0)
    found = middle(lowpass(slow + fast, RATE, 20.0))
    assert np.abs(found - middle(slow)).max() < 1e-3


def test_a_lowpass_has_half_of_the_amplitude_at_its_cutoff() -> None:
    # 3 dB forwards and 3 dB backwards.
    found = middle(lowpass(tones(20.0), RATE, 20.0))
    assert np.abs(found).max() == pytest.approx(0.5, abs=0.01)


def test_the_lowpass_is_that_of_scipys_filtfilt() -> None:
    x = np.random.default_rng(0).normal(size=(500, 2)).cumsum(axis=0)
    coefficients: Any = signal.butter(4, 50.0, fs=RATE)
    assert np.allclose(lowpass(x, RATE, 50.0), signal.filtfilt(coefficients[0], coefficients[1], x, axis=0), atol=1e-9)


def test_a_median_takes_single_outliers_away() -> None:
    x = tones(2.0)
    spoiled = x.copy()
    spoiled[50::100] += 50.0
    assert np.abs(median(spoiled, 5) - x).max() < 0.05


@pytest.mark.parametrize(
    "derivative",
    [
        lambda x: central_difference(x, RATE),
        lambda x: savitzky_golay(x, RATE, 9),
        lambda x: smoothing_spline(x, RATE, 1e-6)[1],
    ],
    ids=["central", "savitzky_golay", "spline"],
)
def test_derivatives_of_sines_are_cosines(derivative) -> None:
    w = 2 * np.pi * 5.0
    found = middle(derivative(tones(5.0)))
    assert np.abs(found - middle(w * np.cos(w * T))[:, None]).max() < 1e-3 * w


def test_splines_find_accelerations_through_noise() -> None:
    w, noise = 2 * np.pi * 2.0, 1e-4
    x = tones(2.0) + noise * np.random.default_rng(0).normal(size=(len(T), 1))
    smooth, _, acceleration = smoothing_spline(x, RATE, noise)
    assert np.abs(middle(smooth - tones(2.0))).max() < noise
    assert np.abs(middle(acceleration + w**2 * tones(2.0))).max() < 0.05 * w**2
    by_differences = central_difference(central_difference(x, RATE), RATE)
    assert np.abs(middle(by_differences + w**2 * tones(2.0))).max() > 0.2 * w**2


def test_decimation_keeps_slow_motion_and_the_first_sample() -> None:
    found = decimated(tones(2.0), [5, 4])
    assert len(found) == 200
    assert np.abs(found - tones(2.0)[::20])[20:-20].max() < 2e-2
    assert np.abs(decimated(tones(400.0), [10])[10:-10]).max() < 1e-2


def test_a_delay_moves_a_signal_in_time() -> None:
    found = middle(delayed(tones(3.0), RATE, 0.0123))
    assert np.abs(found[:, 0] - middle(np.sin(2 * np.pi * 3.0 * (T - 0.0123)))).max() < 1e-6
    assert delayed(tones(3.0), RATE, 0.0) is not None


def test_trimming_takes_both_ends() -> None:
    assert np.array_equal(trimmed(T[:, None], 20), T[20:-20, None])
    assert np.array_equal(trimmed(T[:, None], 0), T[:, None])


@pytest.mark.parametrize(
    "work",
    [
        lambda x: lowpass(x, RATE, 10.0),
        lambda x: central_difference(x[:2], RATE),
        lambda x: savitzky_golay(x, RATE, 11),
        lambda x: smoothing_spline(x, RATE),
        lambda x: decimated(x, [10]),
        lambda x: trimmed(x, 20),
        lambda x: delayed(x[:3], RATE, 0.1),
    ],
)
def test_signals_that_are_too_short_are_refused(work) -> None:
    with pytest.raises(TooShortError, match=r"needs at least \d+ samples, and there are \d"):
        work(np.zeros((7, 2)))


def test_settings_that_make_no_sense_are_refused() -> None:
    x = tones(1.0)
    for work in (
        lambda: lowpass(x, RATE, 600.0),
        lambda: lowpass(x, RATE, 0.0),
        lambda: median(x, 4),
        lambda: savitzky_golay(x, RATE, 8),
        lambda: savitzky_golay(x, RATE, 3, degree=3),
        lambda: decimated(x, [0]),
    ):
        with pytest.raises(InvalidRequestError):
            work()


@pytest.mark.parametrize("factors", [[4], [10, 4], [3, 3, 3], [1]])
def test_what_can_be_decimated_is_known_beforehand(factors: list[int]) -> None:
    def works(samples: int) -> bool:
        try:
            decimated(np.zeros((samples, 1)), factors)
        except TooShortError:
            return False
        return True

    assert [can_be_decimated(n, factors) for n in range(20, 340)] == [works(n) for n in range(20, 340)]
