"""Two logs of one motion are brought to the same times; others are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dynid import Log
from dynid.logs import at_same_times
from tests.truth_logs import Motion


def log(start: float, seconds: float = 10.0, seed: int = 1, jitter: float = 0.0) -> Log:
    rng = np.random.default_rng(3)
    t = np.arange(0.0, seconds, 0.01)
    t = t + jitter * rng.uniform(-0.5, 0.5, len(t)) * 0.01
    q, _, _ = Motion(20.0, 0.2).states(t + start, 2, seed)
    return Log(time=100.0 + t, position=q, torque=np.cos(t + start)[:, None] * np.ones(2))


@pytest.mark.parametrize("jitter", [0.0, 0.3])
@pytest.mark.parametrize("shift", [0.0, 0.2537, -0.4012])
def test_a_log_that_begins_earlier_or_later_is_moved_to_the_same_times(shift: float, jitter: float) -> None:
    pair = at_same_times(log(1.0), log(1.0 + shift, jitter=jitter))
    assert pair is not None
    one, other = pair
    assert np.array_equal(one.time, other.time)
    assert np.abs(one.position - other.position).max() < 1e-4
    assert np.abs(one.torque - other.torque).max() < 1e-3
    assert len(one) > 0.9 * 1000


def test_other_motions_short_overlaps_and_holes_are_no_pair() -> None:
    assert at_same_times(log(1.0), log(1.0, seed=2)) is None
    assert at_same_times(log(1.0), log(3.5)) is None
    missing = np.zeros((1000, 2), dtype=bool)
    missing[5] = True
    assert at_same_times(log(1.0), replace(log(1.0), missing=missing)) is None
    assert at_same_times(log(1.0), log(1.0, seconds=0.1)) is None
