"""Verdicts follow errors and findings; held-out logs speak first, and better models never look worse."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid.findings import Finding, Severity
from dynid.identification.answers import Answer, Verdict
from dynid.identification.records import HeldOutBlocksRecord, ParameterEstimate, PhysicalModel, Record, RowFit
from dynid.identification.verdict import Unseen, judge

JOINTS = tuple(f"joint {k}" for k in range(4))


@dataclass(frozen=True)
class Errors:
    """All errors that are judged."""

    own: float = 0.02
    links: float = 0.02
    blocks: float | None = 0.02
    blocks_links: float | None = None
    unseen: float | None = None
    unseen_links: float | None = None
    joint: float = 0.0


def parameter(std: float) -> ParameterEstimate:
    return ParameterEstimate(
        name="m1", expression="m1", unit="kg", value=1.0, std=std, relative_std_percent=None, lower=0.0, upper=2.0
    )


def record(errors: Errors, condition: float = 100.0) -> Record:
    blocks = None
    if errors.blocks is not None:
        blocks = HeldOutBlocksRecord.model_construct(
            relative_error=errors.blocks, physical_relative_error=errors.blocks_links
        )
    return Record.model_construct(
        joints=tuple(RowFit(name=name, rows=100, rmse=1.0, relative_error=errors.own) for name in JOINTS),
        relative_error=errors.own,
        condition_number=condition,
        parameters=(parameter(0.01),),
        physical=PhysicalModel.model_construct(relative_error=errors.links),
        held_out_blocks=blocks,
    )


def judged(errors: Errors | None = None, *findings: Finding, condition: float = 100.0) -> Verdict:
    errors = errors or Errors()
    unseen = None if errors.unseen is None else Unseen(errors.unseen, errors.unseen_links, 500, "wrist", errors.joint)
    return judge(record(errors, condition), findings, unseen)


def poor(severity: Severity) -> Finding:
    return Finding.of("fit-poor", "fit", severity, joints={})


def drift(joint: str) -> Finding:
    return Finding.of("residual-follows-friction-over-time", f"joint '{joint}'", share=0.3)


WORSE_LINKS = Finding.of("physical-fit-worse", "physical links", ratio=1.24, joints={})
EXCITATION = Finding.of("excitation-poor", "excitation", condition_number=1e6, parameters=["m1"])


def test_nothing_is_trusted_without_a_held_out_log() -> None:
    verdict = judged()
    assert verdict.answer is Answer.FITS
    assert [use.answer for use in verdict.uses] == [Answer.YES, Answer.FITS, Answer.FITS, Answer.YES]
    validated = judged(Errors(unseen=0.03, unseen_links=0.03))
    assert validated.answer is Answer.YES
    assert {use.answer for use in validated.uses} == {Answer.YES}


@pytest.mark.parametrize(
    ("severity", "answer"), [(Severity.NOTE, Answer.FITS), (Severity.WARNING, Answer.CARE), (Severity.ERROR, Answer.NO)]
)
def test_findings_decide_by_their_severity(severity: Severity, answer: Answer) -> None:
    verdict = judged(Errors(), poor(severity))
    assert verdict.answer is answer
    assert verdict.causes == (() if severity is Severity.NOTE else ("fit-poor",))


def test_held_out_logs_speak_before_the_fit_and_the_condition_number() -> None:
    bad = judged(Errors(own=0.105, unseen=0.37), EXCITATION, condition=1e6)
    assert bad.answer is Answer.CARE
    assert "37.0%" in bad.headline
    assert "10.5%" in bad.headline
    assert bad.uses[1].answer is Answer.NO
    good = judged(Errors(own=0.105, unseen=0.11), EXCITATION, condition=1e6)
    assert good.answer is Answer.YES
    assert good.uses[1].answer is Answer.YES
    assert good.causes == ()
    unvalidated = judged(Errors(), EXCITATION, condition=1e6)
    assert unvalidated.causes == ("excitation-poor",)
    assert unvalidated.uses[1].answer is Answer.NO
    assert judged(Errors(unseen=0.6)).answer is Answer.NO


def test_a_light_joint_that_is_predicted_worse_than_by_nothing_is_a_doubt() -> None:
    verdict = judged(Errors(unseen=0.09, joint=1.99))
    assert verdict.answer is Answer.CARE
    assert "'wrist'" in verdict.headline
    assert judged(Errors(unseen=0.09, joint=0.8)).answer is Answer.YES


def test_links_that_predict_held_out_logs_need_not_fit_as_well_as_base_parameters() -> None:
    assert judged(Errors(), WORSE_LINKS).answer is Answer.CARE
    assert judged(Errors(unseen=0.05, unseen_links=0.04), WORSE_LINKS).answer is Answer.YES
    assert judged(Errors(unseen=0.05, unseen_links=0.3), WORSE_LINKS).answer is Answer.CARE


def test_links_that_predict_better_are_what_is_judged() -> None:
    verdict = judged(Errors(own=0.08, unseen=0.27, unseen_links=0.095))
    assert verdict.answer is Answer.YES
    assert "9.5%" in verdict.headline
    assert "27.0%" in verdict.headline
    assert verdict.uses[2].answer is Answer.YES
    blocks = judged(Errors(own=0.08, blocks=0.6, blocks_links=0.095))
    assert blocks.answer is Answer.FITS


def test_blocks_that_the_fit_did_not_see_decide_where_no_log_was_held_out() -> None:
    assert judged(Errors(own=0.03, blocks=0.3)).answer is Answer.CARE
    assert "30.0%" in judged(Errors(own=0.03, blocks=0.3)).headline
    assert judged(Errors(own=0.03, blocks=0.7)).answer is Answer.NO
    assert judged(Errors(own=0.03, blocks=0.7, unseen=0.03)).answer is Answer.YES
    assert judged(Errors(own=0.03, blocks=None)).answer is Answer.FITS


def test_drift_of_most_joints_is_a_doubt() -> None:
    few, most = (judged(Errors(unseen=0.02), *map(drift, JOINTS[:count])) for count in (2, 3))
    assert few.answer is Answer.YES
    assert most.answer is Answer.CARE
    assert most.causes == ("drift-on-most-joints",)


@pytest.mark.parametrize(
    ("below", "above", "use", "answers"),
    [
        (Errors(blocks=0.059), Errors(blocks=0.061), 0, (Answer.YES, Answer.CARE)),
        (Errors(blocks=0.199), Errors(blocks=0.201), 0, (Answer.CARE, Answer.NO)),
        (Errors(own=0.199), Errors(own=0.201), None, (Answer.FITS, Answer.CARE)),
        (Errors(blocks=0.199), Errors(blocks=0.201), None, (Answer.FITS, Answer.CARE)),
        (Errors(own=0.499), Errors(own=0.501), None, (Answer.CARE, Answer.NO)),
        (Errors(unseen=0.149), Errors(unseen=0.151), None, (Answer.YES, Answer.CARE)),
        (Errors(unseen=0.499), Errors(unseen=0.501), None, (Answer.CARE, Answer.NO)),
        (Errors(unseen=0.199), Errors(unseen=0.201), 1, (Answer.CARE, Answer.NO)),
        (Errors(unseen=0.1, joint=0.99), Errors(unseen=0.1, joint=1.01), None, (Answer.YES, Answer.CARE)),
        (Errors(links=0.199), Errors(links=0.201), 2, (Answer.FITS, Answer.CARE)),
    ],
)
def test_every_limit_of_an_error_has_two_sides(
    below: Errors, above: Errors, use: int | None, answers: tuple[Answer, Answer]
) -> None:
    for errors, answer in zip((below, above), answers, strict=True):
        verdict = judged(errors)
        assert (verdict.answer if use is None else verdict.uses[use].answer) is answer


@pytest.mark.parametrize(("sure", "answer"), [(8, Answer.YES), (7, Answer.CARE), (3, Answer.CARE), (2, Answer.NO)])
def test_single_values_are_trusted_where_most_are_well_determined(sure: int, answer: Answer) -> None:
    rows = tuple(parameter(0.099 if k < sure else 0.101) for k in range(10))
    verdict = judge(record(Errors()).model_copy(update={"parameters": rows}), ())
    assert verdict.uses[3].answer is answer


def test_the_condition_number_decides_where_nothing_unseen_was_predicted() -> None:
    assert judged(condition=0.9e4).uses[1].answer is Answer.FITS
    assert judged(condition=1.1e4).uses[1].answer is Answer.NO


ERRORS = st.one_of(
    st.floats(0.0, 1.5), st.sampled_from([0.0, 0.06, 0.15, 0.2, 0.5]).flatmap(lambda x: st.just(x + 1e-9))
)
MAYBE = st.one_of(st.none(), ERRORS)
FINDINGS = st.lists(
    st.one_of(
        st.sampled_from([EXCITATION, WORSE_LINKS, *map(drift, JOINTS)]),
        st.sampled_from(list(Severity)).map(poor),
    ),
    max_size=6,
)


@given(
    st.builds(Errors, ERRORS, ERRORS, MAYBE, MAYBE, MAYBE, MAYBE, ERRORS),
    FINDINGS,
    st.sampled_from([100.0, 1e6]),
    st.sampled_from(["own", "links", "blocks", "blocks_links", "unseen", "unseen_links", "joint"]),
    st.floats(0.0, 1.0),
    st.integers(0, 5),
)
def test_lower_errors_and_fewer_findings_never_make_a_verdict_worse(
    errors: Errors, findings: list[Finding], condition: float, which: str, factor: float, left_out: int
) -> None:
    before = judged(errors, *findings, condition=condition)
    value = getattr(errors, which)
    lower = replace(errors, **{which: None if value is None else factor * value})
    fewer = [finding for k, finding in enumerate(findings) if k != left_out]
    for after in (judged(lower, *findings, condition=condition), judged(errors, *fewer, condition=condition)):
        assert after.answer.rank <= before.answer.rank
        for now, then in zip(after.uses, before.uses, strict=True):
            assert now.answer.rank <= then.answer.rank, now.purpose
