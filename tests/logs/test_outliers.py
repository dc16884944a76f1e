"""Outliers leave a signal and come back; steps of friction, sharp motion and coarse sensors are none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynid.logs.processing.outliers import outliers_in, pulses_in, repaired

ARM = np.array([10.0, 4.0])
"""Weight of two joints [N m]."""


def moved(rng: np.random.Generator, rate: float, seconds: float = 20.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, velocities and accelerations of two joints, sums of sines up to 0.7 Hz."""
    t, w = np.arange(0.0, seconds, 1.0 / rate), 2 * np.pi * np.array([0.1, 0.3, 0.7])
    sizes, phases = rng.uniform(0.2, 0.5, (2, 3)), rng.uniform(0.0, 6.0, (2, 3))
    angle = np.multiply.outer(t, w)[:, None] + phases
    return (
        (sizes * np.sin(angle)).sum(2),
        (sizes * w * np.cos(angle)).sum(2),
        -(sizes * w**2 * np.sin(angle)).sum(2),
    )


def torques(rng: np.random.Generator, rate: float, friction: float, noise: float, quantum: float = 0.0) -> np.ndarray:
    q, v, a = moved(rng, rate)
    tau = ARM * np.cos(q) + 2.0 * a + 0.8 * v + friction * np.sign(v) + noise * rng.normal(size=q.shape)
    return np.round(tau / quantum) * quantum if quantum else tau


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    rate=st.sampled_from([100.0, 250.0, 1000.0, 2000.0]),
    friction=st.floats(0.0, 5.0),
    noise=st.sampled_from([0.0, 0.005, 0.1, 0.5]),
    quantum=st.sampled_from([0.0, 0.02, 0.5]),
)
def test_steps_of_friction_and_of_sensors_are_no_outliers(
    seed: int, rate: float, friction: float, noise: float, quantum: float
) -> None:
    found = outliers_in(torques(np.random.default_rng(seed), rate, friction, noise, quantum))
    assert found.mean() < 2e-3  # two reversals within four samples look like a burst
    if rate >= 1000.0:
        assert not found.any()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), rate=st.sampled_from([100.0, 1000.0]), burst=st.integers(1, 3))
def test_gross_outliers_and_short_bursts_are_found_and_mended(seed: int, rate: float, burst: int) -> None:
    rng = np.random.default_rng(seed)
    clean = torques(rng, rate, 1.5, 0.05)
    bad = np.zeros(clean.shape, dtype=bool)
    starts = rng.random(clean.shape) < 0.05 / burst
    for k in range(burst):
        bad[k:] |= starts[: len(bad) - k]
    size = np.ptp(clean) * rng.uniform(0.5, 1.5, clean.shape)
    spoiled = np.where(bad, clean + rng.choice([-1.0, 1.0], 2) * size, clean)
    found = outliers_in(spoiled)
    assert np.mean(found[bad]) > (0.95 if burst == 1 else 0.8)
    assert np.mean(found[~bad]) < 2e-3
    mended = np.abs(repaired(spoiled, found) - clean)[bad & found]
    assert mended.mean() < 0.15 * size[bad].mean()  # a missed neighbour spoils the interpolation of some


@pytest.mark.parametrize("quantum", [1e-4, 2e-3, 0.02])
def test_coarse_encoders_have_no_outliers(quantum: float) -> None:
    q, _, _ = moved(np.random.default_rng(0), 1000.0)
    assert not outliers_in(np.round(q / quantum) * quantum).any()


def test_a_push_that_the_joint_follows_is_real() -> None:
    """Point to point with accelerations of 30 ms at 100 Hz: torques are pulses of three samples."""
    t = np.arange(0.0, 20.0, 0.01)
    a = np.where(t % 1.0 < 0.03, 30.0, 0.0) - np.where((t + 0.5) % 1.0 < 0.03, 30.0, 0.0)
    q = np.cumsum(np.cumsum(a) * 0.01)[:, None] * 0.01
    tau = 2.0 * a[:, None] + 0.02 * np.random.default_rng(0).normal(size=q.shape)
    pulses = pulses_in(q + 1e-5 * np.random.default_rng(1).normal(size=q.shape))
    assert outliers_in(tau).any()
    assert not (outliers_in(tau)[:, 0] & ~pulses).any()
    still, _, _ = moved(np.random.default_rng(0), 500.0)
    assert not pulses_in(still + 1e-5 * np.random.default_rng(1).normal(size=still.shape)).any()


def test_nothing_is_found_in_short_or_constant_signals() -> None:
    assert not outliers_in(np.random.default_rng(0).normal(size=(50, 2))).any()
    assert not outliers_in(np.ones((500, 2))).any()
    ends = np.sin(np.linspace(0.0, 6.0, 500))[:, None]
    ends[[0, -1]] += 10.0
    assert np.flatnonzero(outliers_in(ends)).tolist() == [0, 499]
