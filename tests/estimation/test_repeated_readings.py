"""An encoder that repeats a reading says one thing, however often it is read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynid.estimation import LogErrors, Unknowns, fit_output_error, shares_of_readings, steps_of_readings

COUNT = 2.0 * np.pi / 4096


def test_samples_of_a_run_share_one_reading() -> None:
    position = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 2.0], [1.0, 3.0]])
    shares = shares_of_readings(position, np.ones(2))
    np.testing.assert_allclose(shares[:, 0], [1 / 3, 1 / 3, 1 / 3, 1.0])
    np.testing.assert_allclose(shares[:, 1], [1.0, 0.5, 0.5, 1.0])
    far_apart = np.arange(50.0)[:, None] * np.array([1.1, 2.0])
    assert np.all(shares_of_readings(far_apart, np.ones(2)) == 1.0)
    assert np.all(shares_of_readings(position, np.zeros(2)) == 1.0)


def _stop_and_go(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two shapes of motion that rest for half of the time, where an encoder repeats its reading, shape (samples,)."""
    heights = np.repeat(rng.uniform(-1.0, 1.0, 41), 2)
    t = np.arange(4000)
    one = np.interp(t, np.arange(82) * 50, heights)
    return one, np.interp(t, np.arange(82) * 50, np.repeat(rng.uniform(-1.0, 1.0, 41), 2))


def test_joints_that_stick_neither_spoil_estimates_nor_their_standard_deviations() -> None:
    rng, truth = np.random.default_rng(5), np.array([0.8, -0.3])
    z: dict[bool, list[np.ndarray]] = {True: [], False: []}
    errors: dict[bool, list[np.ndarray]] = {True: [], False: []}
    for _ in range(60):
        S = np.stack(_stop_and_go(rng), axis=1)
        measured = (COUNT * np.round(S @ truth / COUNT))[:, None]
        for shared in (True, False):
            shares = shares_of_readings((S @ truth)[:, None], np.array([COUNT])) if shared else None

            def simulate(k: int, x: np.ndarray, slopes: bool, S=S, measured=measured, shares=shares) -> LogErrors:
                return LogErrors(measured - (S @ x)[:, None], S[:, None] if slopes else None, shares=shares)

            bounds = np.full(2, np.inf)
            fit = fit_output_error(
                simulate, 1, Unknowns(("a", "b"), np.zeros(2), -bounds, bounds, np.full(2, 100.0), (0, 0))
            )
            assert fit is not None
            errors[shared].append(fit.values - truth)
            z[shared].append((fit.values - truth) / fit.stds)
    assert np.std(errors[True]) < 0.5 * np.std(errors[False])
    assert 0.9 <= np.mean(np.abs(z[True]) < 1.96) <= 0.99


def test_a_step_is_the_smallest_change_of_a_joints_readings() -> None:
    rng = np.random.default_rng(2)
    exact = np.cumsum(rng.normal(scale=0.3 * COUNT, size=5000))
    position = np.stack([COUNT * np.round(exact / COUNT), exact, np.zeros_like(exact)], axis=1)
    rounded, noisy, still = steps_of_readings(position)
    assert np.isclose(rounded, COUNT)
    assert noisy < 0.05 * COUNT
    assert still == 0.0


def test_readings_are_recounted_once_steps_no_longer_improve() -> None:
    rng, truth = np.random.default_rng(7), np.array([0.8, -0.3])
    S = np.stack(_stop_and_go(rng), axis=1)
    measured = (COUNT * np.round(S @ truth / COUNT))[:, None]
    shares: list[np.ndarray | None] = [None]
    seen = []

    def simulate(k: int, x: np.ndarray, slopes: bool) -> LogErrors:
        return LogErrors(measured - (S @ x)[:, None], S[:, None] if slopes else None, shares=shares[0])

    def recount(errors: Sequence[np.ndarray]) -> bool:
        seen.append(float(np.sqrt(np.mean(errors[0] ** 2))))
        shares[0] = shares_of_readings(measured - errors[0], np.array([COUNT]))
        return True

    bounds = np.full(2, np.inf)
    unknowns = Unknowns(("a", "b"), np.zeros(2), -bounds, bounds, np.full(2, 100.0), (0, 0))
    fit = fit_output_error(simulate, 1, unknowns, recount=recount)
    shared = fit_output_error(simulate, 1, unknowns)
    assert fit is not None
    assert shared is not None
    assert len(seen) == 1
    assert seen[0] < COUNT
    np.testing.assert_allclose(fit.values, shared.values, atol=1e-9)


def test_errors_of_rounding_have_no_sign_where_joints_turn_round() -> None:
    rng, step, sums = np.random.default_rng(3), np.array([1.0]), []
    for _ in range(3000):
        height, middle = rng.uniform(2.0, 6.0), rng.uniform(0.0, 1.0)
        q = middle + height * np.sin(np.linspace(0.0, np.pi, 200))[:, None]
        errors, top = np.round(q) - q, slice(50, 150)
        sums.append([(errors * shares_of_readings(positions, step))[top].sum() for positions in (q, np.round(q))])
    (exact, measured), error = np.mean(sums, axis=0), np.std(sums, axis=0) / np.sqrt(len(sums))
    assert abs(exact) < 3.0 * error[0]
    assert abs(measured) > 10.0 * error[1]
