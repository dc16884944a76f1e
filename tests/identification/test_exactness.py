"""Exact data in, exact numbers out, with nothing stated about processing."""

from __future__ import annotations

import pytest

from dynid import identify
from tests.truth_logs import exact_practice, exactness


@pytest.mark.parametrize("seed", range(10))
def test_noise_free_logs_that_begin_and_end_in_motion_give_exact_parameters(seed: int) -> None:
    """Every base parameter is within 0.05 % of its value, or of 2 % of the largest of its unit."""
    practice = exact_practice(seed)
    truth = practice.truth
    log, only = practice.log(seed), {"fit": False}
    result = identify(truth.robot, log, truth.terms, estimation={"bootstrap": False}, physical=only)
    errors = exactness(result, truth.parameters)
    assert max(errors.values()) <= 1.0, {name: error for name, error in errors.items() if error > 1.0}
