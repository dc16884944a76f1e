"""Long logs are looked at in stretches, and what these show is what the whole log shows."""

from __future__ import annotations

import numpy as np
import pytest

from dynid.estimation import error_stretches as stretches
from dynid.estimation.bootstrap import block_bootstrap
from dynid.estimation.correlation import autocorrelation, correlation_samples
from dynid.estimation.factors.row_forms import TORQUES, block_rows
from dynid.estimation.least_squares import ordinary_least_squares
from dynid.estimation.residuals import residual_diagnostics
from dynid.logs.settings import Processing
from tests.practice_logs import BASE, MODEL, motion
from tests.practice_logs import prepared_log as logged

SIZE = motion()[1].shape
PROCESSINGS = [Processing(), Processing(decimate=(2,)), Processing(decimate=(2,), velocity_threshold=(0.2, 0.2))]


def lasting(samples: int, memory: float, seed: int = 0) -> np.ndarray:
    """First-order autoregressive errors of unit size, shape (samples, 2)."""
    from scipy.signal import lfilter

    white = np.random.default_rng(seed).normal(size=(samples + 1000, 2))
    return np.asarray(lfilter([np.sqrt(1 - memory**2)], [1.0, -memory], white, axis=0))[1000:]


@pytest.mark.parametrize("samples", [8, 51, 4000, 30_000])
@pytest.mark.parametrize("lags", [10, 200, 2000])
def test_autocorrelation_by_blocks_is_that_of_all_products(samples: int, lags: int) -> None:
    e = lasting(samples, 0.9)[:, 0]
    centred = e - e.mean()
    direct = np.correlate(centred, centred, "full")[samples - 1 :] if samples <= 4000 else None
    found = autocorrelation(e, lags)
    assert len(found) == min(lags, samples // 2)
    if direct is not None:
        assert np.allclose(found, direct[: len(found)] / direct[0], atol=1e-12)
    else:
        products = [centred[k:] @ centred[: samples - k] for k in range(0, len(found), 97)]
        assert np.allclose(found[::97], np.array(products) / products[0], atol=1e-12)


def test_pairs_across_the_start_of_a_stretch_do_not_count() -> None:
    first, second = lasting(5000, 0.99, 1)[:, 0], lasting(5000, 0.99, 2)[:, 0]
    both = np.concatenate([first, second])
    centred = both - both.mean()
    own = [x[k:] @ x[: len(x) - k] for k in (0, 3, 50) for x in np.split(centred, 2)]
    sums = np.add.reduceat(own, [0, 2, 4])
    found = autocorrelation(both, 100, starts=(0, 5000))
    expected = sums / sums[0] * (10_000 - np.array([0, 3, 50])) / (10_000 - 2 * np.array([0, 3, 50]))
    assert np.allclose(found[[0, 3, 50]], expected, atol=1e-12)


def test_stretches_show_how_long_errors_last() -> None:
    e = lasting(1_000_000, 0.98)[:, 0]
    whole = correlation_samples(e)
    some = np.concatenate([e[first : first + 4000] for first in range(18_000, 1_000_000, 40_000)])
    assert correlation_samples(some, range(0, len(some), 4000)) == pytest.approx(whole, rel=0.1)


@pytest.mark.parametrize("processing", PROCESSINGS)
def test_stretches_of_a_log_are_parts_of_the_whole(processing: Processing, monkeypatch: pytest.MonkeyPatch) -> None:
    log = logged(0.1 * lasting(len(motion()[0]), 0.5), processing)
    whole = stretches.error_stretches(MODEL, log, MODEL.reference)
    monkeypatch.setattr(stretches, "MOST_ROWS", len(whole.time) // 4)
    monkeypatch.setattr(stretches, "STRETCH_ROWS", len(whole.time) // 40)
    some = stretches.error_stretches(MODEL, log, MODEL.reference)
    assert len(some.starts) == 10
    assert len(some.time) == pytest.approx(len(whole.time) / 4, rel=0.05)
    place = np.searchsorted(whole.time, some.time)
    assert np.array_equal(whole.time[place], some.time)
    assert np.array_equal(whole.keep[place], some.keep)
    assert np.allclose(whole.errors[place], some.errors, atol=1e-8)
    assert np.allclose(whole.q[place], some.q)


def test_what_residuals_follow_is_seen_in_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    q = motion()[1]
    log = logged(0.05 * np.random.default_rng(0).normal(size=q.shape) + 0.3 * np.sin(9.0 * q))
    whole = residual_diagnostics(MODEL, log, MODEL.reference)
    monkeypatch.setattr(stretches, "MOST_ROWS", log.samples // 2)
    monkeypatch.setattr(stretches, "STRETCH_ROWS", log.samples // 40)
    some = residual_diagnostics(MODEL, log, MODEL.reference)
    for one, other in zip(whole, some, strict=True):
        assert one.clearest is not None
        assert other.clearest is not None
        assert other.clearest.what == one.clearest.what
        assert other.clearest.share == pytest.approx(one.clearest.share, abs=0.05)


@pytest.mark.parametrize("processing", PROCESSINGS)
def test_blocks_that_were_reduced_give_the_bootstrap_of_their_rows(processing: Processing) -> None:
    log = logged(0.3 * lasting(SIZE[0], 0.8), processing)
    whole, blocks = TORQUES.blocks(MODEL, log, block_rows([log], TORQUES))
    plain = TORQUES.factors(MODEL, log.segments, log.processing, log.sampling)
    estimate = ordinary_least_squares(plain, BASE)
    assert np.allclose(ordinary_least_squares(whole, BASE).values, estimate.values, rtol=1e-11)
    stds, factor = [[1.0, 1.0]], plain.stacked(BASE.names)
    found = [
        block_bootstrap([log], stds, factor, BASE, estimate.values, np.random.default_rng(1), blocks=given)
        for given in ((), (blocks,))
    ]
    assert found[0] is not None
    assert found[1] is not None
    assert found[1].blocks == found[0].blocks
    assert np.allclose(found[1].stds, found[0].stds, rtol=1e-8)
    assert found[1].correlation_time == pytest.approx(found[0].correlation_time, rel=1e-6)


def test_blocks_add_up_to_the_whole() -> None:
    log = logged(0.3 * lasting(SIZE[0], 0.8))
    whole, blocks = TORQUES.blocks(MODEL, log, 100)
    halves = blocks.factors(0, len(blocks) // 2).merged(blocks.factors(len(blocks) // 2, len(blocks)))
    for joint, factor in whole.joints.items():
        assert halves.joints[joint].rows == factor.rows
        assert np.allclose(halves.joints[joint].R.T @ halves.joints[joint].R, factor.R.T @ factor.R, rtol=1e-9)
        p = np.random.default_rng(0).normal(size=len(factor.names))
        assert halves.joints[joint].residual_squares(p) == pytest.approx(factor.residual_squares(p), rel=1e-9)
