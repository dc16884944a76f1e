"""The verdict is right: causes that users do not tell are named, and nothing is said where nothing is wrong."""

from __future__ import annotations

import pytest

from dynid.findings import Severity
from dynid.report.verdict import Answer
from tests.reports import ROOT, all_cases, report_of


@pytest.mark.parametrize("name", all_cases())
def test_the_verdict_names_the_cause_and_the_joint(name: str) -> None:
    case = all_cases()[name]
    verdict = report_of(name).subjects[0].verdict
    assert any(word in verdict.headline for word in case.causes), verdict.headline
    assert case.joint in verdict.headline
    assert (verdict.answer is Answer.YES) == (name == "good")


def test_nothing_is_said_of_a_good_log_but_notes() -> None:
    assert all(finding.severity is Severity.NOTE for finding in report_of("good").subjects[0].findings)


def test_the_page_on_verdicts_has_the_ten_cases_as_they_are() -> None:
    """`python -m tests.verdict_cases` writes it."""
    page = (ROOT / "docs" / "verdict.md").read_text()
    for name in all_cases():
        line = next(line for line in page.splitlines() if line.startswith(f"| {name} |"))
        verdict = report_of(name).subjects[0].verdict
        assert f"| {verdict.answer.value} |" in line
        assert any(word in line for word in all_cases()[name].causes)
