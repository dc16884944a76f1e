"""The verdict is right: undeclared causes are named, and nothing is reported where nothing is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from dynid.estimation.diagnosis.residual_nature import rests
from dynid.findings import Severity
from dynid.identification.answers import Answer
from dynid.report.subject import Subject
from tests.reports import ROOT, all_cases, automatic_report_of, report_of
from tests.verdict_cases import Case


def check(case: Case, subject: Subject) -> None:
    """The verdict rests on the cause, and the first finding is about the joint."""
    verdict = subject.verdict
    assert (verdict.answer is Answer.FITS) == (case.name == "good")
    assert verdict.causes[:1] == ((case.cause,) if case.cause else ())
    assert case.joint in subject.findings[0].subject
    assert len(verdict.causes) == len(set(verdict.causes))


@pytest.mark.parametrize("name", all_cases())
def test_the_verdict_names_the_cause_and_the_joint(name: str) -> None:
    check(all_cases()[name], report_of(name).subjects[0])


@pytest.mark.parametrize("name", list(all_cases())[::2])
def test_the_verdict_is_the_same_where_processing_is_chosen(name: str) -> None:
    case, (subject,) = all_cases()[name], automatic_report_of(name).subjects
    if name == "delay of 20 ms":  # found, corrected and reported: nothing is wrong any more
        assert subject.verdict.answer is Answer.FITS
        assert subject.result.relative_error < 0.2 * report_of(name).subjects[0].result.relative_error
        return
    check(case, subject)
    assert subject.result.relative_error < 1.05 * report_of(name).subjects[0].result.relative_error


@pytest.mark.parametrize("name", ["sign of a torque flipped", "saturated torque", "friction missing from the model"])
def test_each_cause_is_shown_once(name: str) -> None:
    """What follows from a cause, such as a poor fit, negative friction, or a weaker cause, is not shown beside it."""
    case, subject = all_cases()[name], report_of(name).subjects[0]
    serious = [finding.code for finding in subject.findings if finding.severity is not Severity.NOTE]
    assert [code for code in serious if code != "std-larger-by-bootstrap"] == [case.cause]


def test_a_good_log_has_only_notes() -> None:
    assert all(finding.severity is Severity.NOTE for finding in report_of("good").subjects[0].findings)


def test_the_page_on_verdicts_has_the_ten_cases_as_they_are() -> None:
    """`python -m tests.verdict_cases` writes it."""
    page = (ROOT / "docs" / "verdict.md").read_text()
    for name in all_cases():
        subject = report_of(name).subjects[0]
        assert f"| {name} | {subject.result.relative_error:.1%} | {subject.verdict.answer.value} |" in page


def test_noise_is_distinguished_from_errors_that_follow_the_motion() -> None:
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 40.0, 0.005)
    q = np.sin(2 * np.pi * 0.5 * t)[:, None]
    noise = rng.normal(size=q.shape)
    white, following = (
        rests(("j",), q, np.gradient(q, 0.005, axis=0), 3.0 * q, residual, 200.0, None)[0]
        for residual in (0.3 * noise, 0.3 * q + 0.01 * noise)
    )
    assert white.is_noise
    assert not following.is_noise
