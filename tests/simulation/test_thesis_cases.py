"""The four cases of the UR5 thesis, whole arm in one step; all numbers are printed by benchmarks/seed_002.py."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from dynid import DynamicModel, find_base_parameters
from tests import thesis_study
from tests.thesis_study import CASES, Case, Outcome, exact_difference, halves, identify_halves

A, B, C, D = CASES
identify = cache(thesis_study.identify)


def errors(outcome: Outcome) -> np.ndarray:
    return np.array([joint.relative_error for joint in outcome.validation.joints])


@pytest.mark.parametrize("case", [A, B], ids=["A", "B"])
def test_exact_states_give_the_base_parameters_exactly(case: Case) -> None:
    assert exact_difference(case) < 1e-8


def test_without_friction_and_noise_a_log_predicts_unseen_torques_within_a_thousandth() -> None:
    outcome = identify(A, modelled=False)
    assert outcome.validation.relative_error < 1e-3
    assert errors(outcome).max() < 1e-3
    assert not outcome.findings


def test_friction_in_the_model_predicts_within_half_a_percent() -> None:
    outcome = identify(B, modelled=True)
    assert outcome.validation.relative_error < 5e-3
    assert errors(outcome).max() < 5e-3
    assert not outcome.findings


@pytest.mark.parametrize("case", [B, D], ids=["B", "D"])
def test_missing_friction_is_found_on_all_joints(case: Case) -> None:
    outcome = identify(case, modelled=False)
    assert outcome.validation.relative_error > 0.3
    (finding,) = outcome.findings
    assert finding.code == "friction-missing"
    assert list(finding.values["joints"]) == [joint.name for joint in outcome.validation.joints]


@pytest.mark.parametrize("case", [C, D], ids=["C", "D"])
def test_with_noise_every_joint_is_predicted_within_one_and_a_half_of_the_noise_floor(case: Case) -> None:
    outcome = identify(case, modelled=case.friction)
    assert (errors(outcome) < 1.5 * outcome.floor).all()
    assert not outcome.findings
    other = identify(case, case.friction, specimen=1)  # other torque constants, against what the sensors state
    assert errors(other).max() < 1.5 * np.hypot(0.01, 10**-2.5)


def test_the_halves_have_fifteen_base_parameters_each_and_large_errors() -> None:
    assert [len(find_base_parameters(DynamicModel(robot))) for robot in halves()] == [15, 15]
    split = identify_halves(A)
    assert split.max() > 0.5
    assert (split > 10 * errors(identify(A, modelled=False))).all()
