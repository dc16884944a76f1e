"""Drive gains from currents with and without a known load."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dynid.errors import InvalidRequestError
from dynid.estimation import carried_load, estimate_gains, physical_gains, physics_of
from dynid.estimation.drive_gains import NoScaleError
from dynid.estimation.settings import PhysicalSettings
from tests.gain_logs import CurrentCase, current_case
from tests.truth_logs import Motion, Truth, random_arm


@pytest.fixture(scope="module")
def arm() -> CurrentCase:
    return current_case("spatial_3r", "viscous", "coulomb", "offset")


@pytest.mark.parametrize("method", ["constrained", "total", "linear"])
@pytest.mark.parametrize("known", ["mass", "all"])
def test_exact_currents_give_exact_gains(arm: CurrentCase, method: str, known: str) -> None:
    found = estimate_gains(replace(arm, noise=0.0, known=known).rows(0), method)  # type: ignore[arg-type]
    assert found.determined.all()
    assert found.gains == pytest.approx(arm.gains, rel=1e-8)


@pytest.mark.parametrize("method", ["constrained", "total"])
def test_noisy_currents_give_gains_within_one_percent_whichever_way_logs_are_stacked(
    arm: CurrentCase, method: str
) -> None:
    for case, paired in ((arm, True), (arm, False), (replace(arm, seeds=(5, 6)), False)):
        found = estimate_gains(case.rows(1, paired=paired), method)  # type: ignore[arg-type]
        assert found.gains == pytest.approx(arm.gains, rel=0.01)


def test_ordinary_least_squares_draws_gains_towards_zero_and_the_others_do_not() -> None:
    case = replace(current_case("spatial_3r"), noise=0.1, known="all")
    means = {
        method: np.mean([estimate_gains(case.rows(seed), method).gains for seed in range(3)], axis=0) / case.gains - 1.0  # type: ignore[arg-type]
        for method in ("constrained", "total", "linear")
    }
    assert (means["linear"] < -0.02).any()
    assert (means["linear"] < means["constrained"]).all()
    assert np.abs(means["constrained"]).max() < 0.02
    assert np.abs(means["total"]).max() < 0.02


def test_intervals_hold_the_truth_about_as_often_as_they_say(arm: CurrentCase) -> None:
    scores = []
    for seed in range(8):
        found = estimate_gains(replace(arm, lasting=0.05, known="all").rows(seed))
        scores.append((found.gains - arm.gains) / found.stds)
    assert 0.2 < np.mean(np.square(scores)) < 3.0  # benchmarks/drive_gains.py has 200 draws


def test_gravity_alone_does_not_determine_the_gain_of_a_vertical_first_joint() -> None:
    slow = replace(current_case("ur5"), motion=Motion(40.0, 0.01))
    found = estimate_gains(slow.rows(0))
    assert found.determined.tolist() == [False] + [True] * 5
    assert np.isnan(found.gains[0])
    assert found.relative_stds[0] > 0.03
    assert found.gains[1:] == pytest.approx(slow.gains[1:], rel=0.02)


def test_coupled_drives_have_gains_of_their_motors() -> None:
    case = current_case("spatial_3r")
    N = np.array([[50.0, 0.0, 0.0], [0.0, 40.0, 0.0], [0.0, 30.0, 30.0]])
    case = replace(case, gains=np.array([0.2, 0.3, 0.15]), ratios=N, noise=0.0, known="all")
    assert estimate_gains(case.rows(0)).gains == pytest.approx(case.gains, rel=1e-7)
    noisy = replace(case, noise=0.02)
    for method in ("constrained", "total"):
        assert estimate_gains(noisy.rows(1), method).gains == pytest.approx(case.gains, rel=0.01)  # type: ignore[arg-type]


def test_prismatic_joints_have_gains_in_newton_per_ampere() -> None:
    truth = Truth(random_arm(7, 4, sliding=0.6), ("viscous", "coulomb"))
    case = CurrentCase(truth, np.array([5.0, 40.0, 8.0, 12.0]), noise=0.0, known="all")
    found = estimate_gains(case.rows(0))
    assert found.gains[found.determined] == pytest.approx(case.gains[found.determined], rel=1e-6)
    assert found.determined.sum() >= 3


def test_gains_scale_with_the_mass_that_is_stated(arm: CurrentCase) -> None:
    right = estimate_gains(arm.rows(0)).gains
    heavy = replace(arm.load, mass=1.1 * arm.load.mass)
    load = carried_load(arm.base, "load", heavy.mass)
    wrong = estimate_gains([replace(rows, load=load) for rows in arm.rows(0)]).gains
    assert wrong == pytest.approx(1.1 * right, rel=1e-8)


def test_physically_consistent_links_go_with_gains_that_the_data_allow(arm: CurrentCase) -> None:
    found = estimate_gains(arm.rows(0))
    links = physical_gains(found, arm.base, physics_of(PhysicalSettings(), arm.base.model))
    assert links.gains == pytest.approx(arm.gains, rel=0.01)
    assert (links.parameters[: 10 * len(arm.base.model.robot.solid_links) : 10] > 0.0).all()


def test_without_a_known_mass_nothing_sets_the_scale(arm: CurrentCase) -> None:
    with pytest.raises(InvalidRequestError, match="mass of load 'tool' is not known"):
        carried_load(arm.base, "tool", None)
    with pytest.raises(NoScaleError):
        estimate_gains([replace(rows, load=None) for rows in arm.rows(0, paired=False)])
