"""Output error on problems whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from dynid.estimation.output_error.block_covariance import LogErrors, Unknowns
from dynid.estimation.output_error.gauss_newton import fit_output_error

SAMPLES = 1200


def _unknowns(values: list[float], lower: float = -np.inf) -> Unknowns:
    n = len(values)
    names = tuple(f"x{k}" for k in range(n))
    return Unknowns(names, np.array(values), np.full(n, lower), np.full(n, np.inf), np.full(n, 100.0), (0,) * n)


def _curve(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of one joint with its slopes: a decaying swing of unknown size, frequency and offset."""
    t = np.linspace(0.0, 6.0, SAMPLES)
    swing = np.exp(-0.3 * t) * np.sin(x[1] * t)
    slopes = np.stack([swing, x[0] * t * np.exp(-0.3 * t) * np.cos(x[1] * t), np.ones_like(t)], axis=1)
    return (x[0] * swing + x[2])[:, None], slopes[:, None]


TRUTH = np.array([0.8, 4.0, 0.1])


def _simulate(measured: list[np.ndarray]):
    def simulate(k: int, x: np.ndarray, slopes: bool) -> LogErrors:
        q, S = _curve(x)
        return LogErrors(measured[k] - q, S if slopes else None)

    return simulate


@pytest.mark.parametrize("memory", [0.0, 0.9])
def test_intervals_hold_the_truth_as_often_as_they_say(memory: float) -> None:
    rng = np.random.default_rng(3)
    z = []
    for _ in range(50):
        noise = lfilter([0.01], [1.0, -memory], rng.normal(size=(2, SAMPLES)), axis=1)
        fit = fit_output_error(
            _simulate([_curve(TRUTH)[0] + one[:, None] for one in noise]), 2, _unknowns([0.7, 3.9, 0.0])
        )
        assert fit is not None
        assert fit.converged
        z.append((fit.values - TRUTH) / fit.stds)
    assert 0.88 <= np.mean(np.abs(z) < 1.96) <= 0.99
    assert np.abs(np.mean(z, axis=0)).max() < 0.5


def test_the_last_steps_use_errors_of_finer_rollouts() -> None:
    measured = _curve(TRUTH)[0] + 1e-3 * np.random.default_rng(0).normal(size=(SAMPLES, 1))
    asked, fast = [], np.array([0.0, 0.02, 0.0])  # an integrator that is a little too fast

    def coarse(k: int, x: np.ndarray, slopes: bool) -> LogErrors:
        q, S = _curve(x + fast)
        return LogErrors(measured - q, S if slopes else None)

    def finely(k: int, x: np.ndarray, division: int) -> np.ndarray:
        asked.append(division)
        return measured - _curve(x + fast / division**2)[0]

    plain = fit_output_error(coarse, 1, _unknowns([0.7, 3.9, 0.0]))
    fine = fit_output_error(coarse, 1, _unknowns([0.7, 3.9, 0.0]), finely=finely)
    assert plain is not None
    assert fine is not None
    assert plain.values[1] == pytest.approx(3.98, abs=2e-3)
    assert fine.values[1] == pytest.approx(4.0, abs=2e-3)
    assert asked == [4, 16]  # the first moved parameters by many standard deviations


def test_a_parameter_at_its_bound_is_named_and_the_others_are_those_without_it() -> None:
    fit = fit_output_error(_simulate([_curve(np.array([0.8, 4.0, -0.1]))[0]]), 1, _unknowns([0.7, 3.9, 0.05], 0.0))
    assert fit is not None
    assert fit.at_bounds == ("x2",)
    assert fit.stds[2] == 0.0
    assert fit.values[1] == pytest.approx(4.0, abs=0.02)


def test_a_rollout_that_flies_off_from_the_start_gives_no_fit() -> None:
    assert fit_output_error(lambda *_: None, 1, _unknowns([0.7, 3.9, 0.0])) is None


def test_one_log_alone_says_what_it_says_by_itself() -> None:
    rng = np.random.default_rng(5)
    logs = [_curve(TRUTH)[0] + 0.01 * rng.normal(size=(SAMPLES, 1)) for _ in range(3)]
    both = fit_output_error(_simulate(logs), 3, _unknowns([0.7, 3.9, 0.0]))
    alone = fit_output_error(_simulate(logs[1:2]), 1, _unknowns([0.7, 3.9, 0.0]))
    assert both is not None
    assert alone is not None
    values, stds = (own[1] for own in both.by_log)
    np.testing.assert_allclose(values, alone.values, atol=0.1 * float(alone.stds.min()))
    np.testing.assert_allclose(stds, alone.stds, rtol=0.3)
