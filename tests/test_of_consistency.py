"""The test of Durbin, Wu and Hausman has its nominal rate where least squares are consistent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dynid import DynamicModel, find_base_parameters, load_robot
from dynid.arrays import Array
from dynid.estimation.instrumental_variables import instrumental_variables, paired_factors
from dynid.logs import PreparedLog, Processing
from dynid.model import Chunk

RATE = 200.0


def waves(t: Array, joints: int, seed: int, size: float) -> Array:
    """Positions, velocities and accelerations of sums of sines, shape (3, samples, joints)."""
    rng = np.random.default_rng(seed)
    w = 2.0 * np.pi * np.array([0.3, 0.7, 1.1])[:, None]
    a, phase = size * rng.uniform(0.3, 1.0, (3, joints)), rng.uniform(0.0, 6.0, (3, joints))
    angle = t[:, None, None] * w + phase
    q, v = (a * np.sin(angle)).sum(axis=1), (a * w * np.cos(angle)).sum(axis=1)
    return np.stack([q, v, -(a * w**2 * np.sin(angle)).sum(axis=1)])


def rejections(robot: str, draws: int, decimate: tuple[int, ...] = ()) -> float:
    """Share of draws in which the test rejects at 5 %, where only torques have noise."""
    model = DynamicModel(load_robot(robot), ["viscous"])
    base, n = find_base_parameters(model), model.robot.nv
    t = np.arange(2400) / RATE
    q, v, a = waves(t, n, 1, 0.6)
    p = np.nan_to_num(model.reference)
    p[-n:] = 0.5
    exact = model.inverse_dynamics(q, v, a, p)
    near_q, near_v, near_a = np.stack([q, v, a]) + waves(t, n, 2, 0.02)
    processing = Processing(automatic=False, decimate=decimate, row_trim=0)
    band = 1.0 if not decimate else 0.8
    log = PreparedLog((Chunk(q, v, a, exact),), (t,), processing, RATE, 0.0, ())
    other = replace(log, segments=(Chunk(near_q, near_v, near_a, exact),))
    found = 0
    for seed in range(draws):
        noisy = exact + 0.1 * np.random.default_rng(seed).normal(size=exact.shape)
        shaken = replace(log, segments=(Chunk(q, v, a, noisy),))
        estimate = instrumental_variables(base, [paired_factors(base, shaken, other)], [band])
        assert estimate.test is not None
        found += estimate.test.rejects()
    return found / draws


@pytest.mark.parametrize("decimate", [(), (5,)])
def test_rejections_are_rare_where_only_torques_have_noise(decimate: tuple[int, ...]) -> None:
    assert 0.01 <= rejections("builtin:two_link", 300, decimate) <= 0.10  # 5 % with 300 draws: within 4 deviations


def test_intervals_hold_the_truth() -> None:
    model = DynamicModel(load_robot("builtin:two_link"))
    base, t = find_base_parameters(model), np.arange(800) / RATE
    q, v, a = waves(t, 2, 1, 0.6)
    exact = model.inverse_dynamics(q, v, a)
    near_q, near_v, near_a = np.stack([q, v, a]) + waves(t, 2, 2, 0.05)
    log = PreparedLog((Chunk(q, v, a, exact),), (t,), Processing(automatic=False), RATE, 0.0, ())
    other, truth, held = (
        replace(log, segments=(Chunk(near_q, near_v, near_a, exact),)),
        base.to_base(model.robot.parameters),
        [],
    )
    for seed in range(200):
        noisy = exact + 0.1 * np.random.default_rng(seed).normal(size=exact.shape)
        shaken = replace(log, segments=(Chunk(q, v, a, noisy),))
        found = instrumental_variables(base, [paired_factors(base, shaken, other)], [1.0])
        held.append(np.abs(found.values - truth) < 1.96 * np.sqrt(np.diag(found.covariance)))
    assert 0.92 < np.mean(held) < 0.98
    exactly = instrumental_variables(base, [paired_factors(base, log, other)], [1.0])
    np.testing.assert_allclose(exactly.values, truth, rtol=1e-8, atol=1e-10)
