"""Our filters and spectra are those of SciPy, whose import they save."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from dynid.logs.processing import zero_phase as filters
from dynid.logs.processing.power_density import power_density
from dynid.logs.processing.signals import decimated, lowpass


def motion(samples: int, n: int) -> np.ndarray:
    """Random walks, shape (samples, n): most of their power is at low frequencies, as that of positions."""
    return 0.01 * np.cumsum(np.random.default_rng(0).normal(size=(samples, n)), axis=0)


@pytest.mark.parametrize("order", range(1, 11))
@pytest.mark.parametrize("cutoff", [0.001, 0.02, 0.3, 0.9])
def test_sections_are_those_of_the_textbook_filters(order: int, cutoff: float) -> None:
    w = np.linspace(0.0, 0.999, 50)
    pairs = [
        (filters.butterworth(order, cutoff), signal.butter(order, cutoff, output="sos")),
        (filters.chebyshev(order, 0.05, cutoff), signal.cheby1(order, 0.05, cutoff, output="sos")),
    ]
    for own, theirs in pairs:
        assert own.shape == np.asarray(theirs).shape
        responses = [signal.sosfreqz(sections, np.pi * w)[1] for sections in (own, theirs)]
        assert np.allclose(*responses, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("samples", [300, 5000])
@pytest.mark.parametrize("columns", [1, 7, 40])
@pytest.mark.parametrize("order", [1, 4, 5])
def test_a_lowpass_is_that_of_scipy(samples: int, columns: int, order: int) -> None:
    x = motion(samples, columns)
    sections = signal.butter(order, 20.0, fs=1000.0, output="sos")
    expected = signal.sosfiltfilt(sections, x, axis=0, padtype="odd", padlen=3 * (order + 1))
    assert np.allclose(lowpass(x, 1000.0, 20.0, order), expected, rtol=0.0, atol=1e-12 * np.abs(x).max())


@pytest.mark.parametrize("factors", [(2,), (13,), (10, 10), (1, 3)])
def test_decimation_is_that_of_scipy(factors: tuple[int, ...]) -> None:
    x = expected = motion(6007, 5)
    for factor in factors:
        expected = signal.decimate(expected, factor, axis=0) if factor > 1 else expected
    found = decimated(x, factors)
    assert found.shape == expected.shape
    assert np.allclose(found, expected, rtol=0.0, atol=1e-12 * np.abs(x).max())


def test_short_signals_are_filtered_alike() -> None:
    x = motion(4000, 3)
    whole, start = lowpass(x, 1000.0, 50.0), lowpass(x[:1500], 1000.0, 50.0)
    assert np.allclose(whole[:1300], start[:1300], atol=1e-12)


@pytest.mark.parametrize(("samples", "size"), [(100, 100), (101, 101), (5000, 512), (40_000, 4097)])
@pytest.mark.parametrize("with_slope", [True, False])
def test_power_densities_are_those_of_scipy(samples: int, size: int, with_slope: bool) -> None:
    x = motion(samples, 3)
    detrend = "linear" if with_slope else "constant"
    frequency, expected = signal.welch(x, 200.0, nperseg=size, axis=0, detrend=detrend)
    found = power_density(x, 200.0, size, with_slope=with_slope)
    assert np.allclose(found[0], frequency)
    assert np.allclose(found[1], expected, rtol=1e-9, atol=1e-14 * expected.max())
