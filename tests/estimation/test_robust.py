"""Outliers and coloured errors: estimates that bear the first, standard deviations that account for the second."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dynid.estimation.bootstrap import Bootstrap, block_bootstrap
from dynid.estimation.correlation import autocorrelation, correlation_samples
from dynid.estimation.estimate_findings import findings_on_bootstrap
from dynid.estimation.factors.row_forms import TORQUES
from dynid.estimation.least_squares import log_stds, ordinary_least_squares, weighted_least_squares
from dynid.estimation.robust import robust_least_squares
from dynid.findings import Severity
from dynid.logs.settings import Processing
from tests.practice_logs import BASE, MODEL, motion
from tests.practice_logs import prepared_log as logged

TRUTH = BASE.to_base(MODEL.reference)


@pytest.mark.parametrize("loss", ["huber", "bisquare"])
def test_five_percent_of_gross_outliers_cost_less_than_half_of_the_error(loss: str) -> None:
    size = motion()[1].shape
    errors, within = {"clean": [], "robust": [], "plain": []}, []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        noise = 0.1 * rng.normal(size=size)
        gross = np.where(rng.random(size) < 0.05, 10.0 + 20.0 * rng.normal(size=size), 0.0)
        spoiled = logged(noise + gross)
        clean, plain = (
            TORQUES.factors(MODEL, log.segments, log.processing, log.sampling) for log in (logged(noise), spoiled)
        )
        fit = robust_least_squares([spoiled], [1.0], [plain], BASE, loss)
        errors["clean"].append(ordinary_least_squares(clean, BASE).values - TRUTH)
        errors["plain"].append(ordinary_least_squares(plain, BASE).values - TRUTH)
        errors["robust"].append(fit.estimate.values - TRUTH)
        assert all(0.03 < share < 0.08 for share in fit.light.values())
        within.append(np.abs(errors["robust"][-1]) < 2.0 * fit.estimate.stds)
    size_of = {key: np.sqrt(np.mean(np.square(values), axis=0)) / np.abs(TRUTH) for key, values in errors.items()}
    assert np.linalg.norm(size_of["robust"]) <= 1.5 * np.linalg.norm(size_of["clean"])
    assert np.mean(within) > 0.85
    assert np.linalg.norm(size_of["plain"]) > 10.0 * np.linalg.norm(size_of["clean"])


def coloured(rng: np.random.Generator, samples: int, memory: float = 0.9) -> np.ndarray:
    """First-order autoregressive errors of unit size, shape (samples, 2)."""
    from scipy.signal import lfilter

    white = rng.normal(size=(samples + 300, 2))
    return np.asarray(lfilter([np.sqrt(1 - memory**2)], [1.0, -memory], white, axis=0))[300:]


def test_intervals_by_blocks_cover_where_those_of_white_errors_do_not() -> None:
    hits: dict[str, list[np.ndarray]] = {"blocks": [], "white": []}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        log = logged(0.3 * coloured(rng, len(motion()[0])))
        factors = TORQUES.factors(MODEL, log.segments, log.processing, log.sampling)
        scales = log_stds([factors], BASE, BASE.names)
        estimate = weighted_least_squares([factors], BASE, stds=scales)
        whole = factors.weighted({joint: 1.0 / size for joint, size in scales[0].items()}).stacked(BASE.names)
        found = block_bootstrap([log], [list(scales[0].values())], whole, BASE, estimate.values, rng)
        assert found is not None
        for key, (lower, upper) in (("blocks", found.interval(estimate.values)), ("white", estimate.interval())):
            hits[key].append((lower <= TRUTH) & (upper >= TRUTH))
    assert 0.90 <= np.mean(hits["blocks"]) <= 0.98
    assert np.mean(hits["white"]) < 0.80


def test_by_blocks_white_errors_have_the_standard_deviations_of_white_errors() -> None:
    for processing in (Processing(), Processing(decimate=(2,))):
        log = logged(0.3 * np.random.default_rng(0).normal(size=motion()[1].shape), processing)
        factors = TORQUES.factors(MODEL, log.segments, log.processing, log.sampling)
        estimate = ordinary_least_squares(factors, BASE)
        whole = factors.stacked(BASE.names)
        found = block_bootstrap([log], [[1.0, 1.0]], whole, BASE, estimate.values, np.random.default_rng(1))
        assert found is not None
        assert np.median(found.stds / estimate.stds) == pytest.approx(1.0, abs=0.25)


def test_autocorrelation_is_that_of_the_process() -> None:
    errors = coloured(np.random.default_rng(0), 100_000)[:, 0]
    assert np.allclose(autocorrelation(errors, 10), 0.9 ** np.arange(10), atol=0.02)
    assert correlation_samples(errors) == pytest.approx((1 + 0.9) / (1 - 0.9), rel=0.15)
    assert correlation_samples(np.random.default_rng(0).normal(size=10_000)) == pytest.approx(1.0, abs=0.1)


def test_lasting_errors_are_a_note_unless_most_parameters_are_known_no_more() -> None:
    factors = TORQUES.factors(MODEL, logged(np.zeros(motion()[1].shape)).segments, Processing(), 1.0)
    estimate = ordinary_least_squares(factors, BASE)
    estimate = replace(estimate, covariance=np.diag((0.03 * estimate.values) ** 2))
    for factor, severity in ((2.0, Severity.NOTE), (10.0, Severity.WARNING)):
        (finding,) = findings_on_bootstrap(estimate, Bootstrap(factor * estimate.stds, 20, 1.0, 0.3))
        assert finding.severity is severity
        assert finding.code == "std-larger-by-bootstrap"
        assert finding.values["correlation_time"] == pytest.approx(300.0)
        assert finding.values["ratio"] == pytest.approx(factor)
    assert findings_on_bootstrap(estimate, Bootstrap(1.2 * estimate.stds, 20, 1.0, 0.3)) == ()
