"""What dynid gives with nothing stated about processing, beside the truth; `docs/accuracy.md` has all numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.coverage_study import Tutorial, coverage, random_results
from tests.regret_study import regrets
from tests.scoring import ScoredLog
from tests.truth_logs import Motion, Practice, Sensors, Truth, random_arm, white


def test_the_yardstick_gives_the_noise_of_torques_for_true_parameters() -> None:
    practice = Practice(Truth(random_arm(3, 3)), Motion(), Sensors(100.0, white(1e-4), torque=white(0.02)))
    scored = ScoredLog.of(practice.log(1), practice.truth.model, states=lambda t: practice.states(t, 1))
    by_joint = scored.errors(practice.truth.model, practice.truth.parameters)["raw"][1]
    assert by_joint == pytest.approx(0.02, rel=0.1)


@pytest.mark.parametrize(
    "case",
    [
        "barely_moving_250hz",
        "correlated_slowly_50hz",
        "vibrating_torque_50hz",
    ],
)
def test_automatic_processing_is_nearly_the_best_of_a_grid(case: str) -> None:
    """Predictions of another motion against the truth; a reduced grid and one log, so the bar is a little higher."""
    found = {regret.measure: regret for regret in regrets(case, seeds=1, cutoffs=(1.0, 3.0, 5.0))}
    assert found["truth"].ratio < 1.4, found["truth"]
    assert found["5 Hz moving"].ratio < 1.2, found["5 Hz moving"]


def test_intervals_of_the_tutorial_hold_the_truth(tmp_path: Path) -> None:
    """A tenth of what `benchmarks/coverage.py` tries: three standard deviations of a share are 3 to 4 % here."""
    tutorial = Tutorial(tmp_path)
    found = coverage((tutorial.automatic(seed), tutorial.truth) for seed in range(30))
    assert 0.90 < np.mean(found.white) < 0.99
    assert 0.90 < np.mean(found.blocks) < 0.99


def test_intervals_of_random_robots_hold_the_truth() -> None:
    found = coverage(row for number in range(10) for row in random_results(number, range(1)))
    assert 0.90 < np.mean(found.white) < 0.99
    assert 0.90 < np.mean(found.blocks) < 0.99
