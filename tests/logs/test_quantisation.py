"""Signals in steps: the step is found, and its noise is step^2/12."""

from __future__ import annotations

import numpy as np
import pytest

from dynid.logs.quantisation import rounding_noise, step_in

RNG = np.random.default_rng(4)


@pytest.mark.parametrize("step", [2.0 * np.pi / 4096, 0.022814, 1.0, 3e-5])
@pytest.mark.parametrize("digits", [None, 6])
def test_the_step_of_rounded_values_is_found_whatever_their_offset(step: float, digits: int | None) -> None:
    if digits is not None and step < 1e-4:
        pytest.skip("as fine as the digits")
    values = 0.1234 + step * np.round(RNG.normal(0.0, 40.0, 3000))
    assert step_in(values if digits is None else np.round(values, digits)) == pytest.approx(step, rel=1e-3)


def test_steps_are_found_where_values_skip_most_of_them() -> None:
    values = 0.5 * np.array([0, 0, 3, 4, 9, 9, 11, 30, 31.0])
    assert step_in(values) == pytest.approx(0.5)


def test_continuous_and_constant_signals_have_no_step() -> None:
    assert step_in(RNG.normal(size=5000)) is None
    assert step_in(np.full(100, 1.5)) is None
    assert step_in(np.repeat([0.0, 1.0], 50)) is None


def test_the_noise_of_rounding_is_the_spread_of_its_errors() -> None:
    exact = np.cumsum(RNG.normal(0.0, 0.7, (20_000, 2)), axis=0)
    rounded = np.round(exact / 0.1) * 0.1
    assert rounding_noise(rounded) == pytest.approx((rounded - exact).std(axis=0), rel=0.02)
    assert not rounding_noise(exact).any()
