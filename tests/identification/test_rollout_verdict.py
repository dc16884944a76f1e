"""Verdicts on results from commands follow errors of rollouts, beside the command and the robot's file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid.findings import Finding
from dynid.identification.answers import Answer, Verdict
from dynid.identification.records import Record, RolloutRecord
from dynid.identification.verdict import Unseen, judge
from tests.commanded_results import commands, rollout

CONFOUNDED = Finding.of("parameters-confounded", "logs", pairs=["fv3 and fs3"], largest=0.95)
SHIFTED = Finding.of("commands-shifted", "commands", shift=0.5)
ERRORS = st.floats(0.0, 0.2)


def judged(own: RolloutRecord, unseen: RolloutRecord | None = None, *findings: Finding, std: float = 0.01) -> Verdict:
    record = Record.model_construct(commands=commands(own, std), joints=(), logs=1, relative_error=0.9)
    return judge(record, findings, None if unseen is None else Unseen(0.9, 0.9, 500, rollout=unseen))


def test_rollouts_decide_and_not_the_torques_of_the_law() -> None:
    assert judged(rollout()).answer is Answer.FITS
    validated = judged(rollout(), rollout())
    assert validated.answer is Answer.YES
    assert "2.00 mrad or mm" in validated.headline
    assert "10.0" in validated.headline  # the robot file's
    assert {use.answer for use in validated.uses} == {Answer.YES}


@pytest.mark.parametrize(
    ("below", "above", "answers"),
    [
        (0.0049, 0.0051, (Answer.YES, Answer.CARE)),
        (0.049, 0.051, (Answer.CARE, Answer.NO)),
    ],
)
def test_held_out_rollouts_are_judged_by_the_distance_of_the_command(
    below: float, above: float, answers: tuple[Answer, Answer]
) -> None:
    found = [judged(rollout(), rollout(error, file=None)).answer for error in (below, above)]
    assert found == list(answers)


def test_own_rollouts_are_judged_where_no_log_was_held_out() -> None:
    answers = [judged(rollout(error)).answer for error in (0.014, 0.016, 0.06)]
    assert answers == [Answer.FITS, Answer.CARE, Answer.NO]


def test_values_of_the_robot_file_that_are_nearer_are_a_doubt() -> None:
    assert judged(rollout(), rollout(0.00315, file=0.003)).answer is Answer.YES
    verdict = judged(rollout(), rollout(0.004, file=0.003))
    assert verdict.answer is Answer.CARE
    assert "robot file" in verdict.reason


def test_a_joint_that_is_further_than_its_command_is_a_doubt_and_a_robot_that_flies_off_is_none() -> None:
    near = rollout()
    far = near.joints[2].model_copy(update={"rmse": 0.06})
    assert judged(near, near.model_copy(update={"joints": (*near.joints[:2], far)})).answer is Answer.CARE
    still = near.joints[2].model_copy(update={"rmse": 0.002, "command": 0.0001})  # it hardly moves
    assert judged(near, near.model_copy(update={"joints": (*near.joints[:2], still)})).answer is Answer.YES
    gone = judged(near, rollout(float("inf"), ended=("log 3",)))
    assert gone.answer is Answer.NO
    assert "log 3" in gone.reason
    assert "flies off" in gone.uses[1].reason


def test_what_logs_do_not_separate_matters_under_another_controller_only() -> None:
    assert judged(rollout(), None, CONFOUNDED).answer is Answer.CARE
    validated = judged(rollout(), rollout(), CONFOUNDED)
    assert validated.answer is Answer.YES
    assert [use.answer for use in validated.uses] == [Answer.YES, Answer.YES, Answer.CARE, Answer.YES]
    assert judged(rollout(), rollout(), SHIFTED).answer is Answer.NO


def test_values_count_where_their_standard_deviations_are_small() -> None:
    assert judged(rollout(), std=0.5).uses[3].answer is Answer.NO
    assert "10 of 10" in judged(rollout()).uses[3].reason  # offsets and biases are not counted


@given(ERRORS, ERRORS, ERRORS, st.floats(0.001, 0.1), st.booleans(), st.booleans())
def test_a_lower_error_and_a_finding_less_never_make_it_worse(
    own: float, unseen: float, less: float, file: float, doubted: bool, wrong: bool
) -> None:
    findings = [CONFOUNDED] * doubted + [SHIFTED] * wrong
    worse = judged(rollout(own, file=file), rollout(unseen, file=file), *findings)
    lower = [(max(own - less, 0.0), unseen), (own, max(unseen - less, 0.0))]
    better = [judged(rollout(a, file=file), rollout(b, file=file), *findings) for a, b in lower]
    better.append(judged(rollout(own, file=file), rollout(unseen, file=file), *findings[1:]))
    for verdict in better:
        assert verdict.answer.rank <= worse.answer.rank
        assert all(a.answer.rank <= b.answer.rank for a, b in zip(verdict.uses, worse.uses, strict=True))
