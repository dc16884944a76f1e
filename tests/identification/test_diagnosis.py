"""The verdict is right: causes that users do not tell are named, and nothing is said where nothing is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from dynid import DynamicModel, find_base_parameters, load_robot
from dynid.findings import Severity
from dynid.identification.diagnosis.bench import Bench, Samples
from dynid.identification.diagnosis.cause_findings import rests
from dynid.model.sampling import random_states
from dynid.report.verdict import Answer
from tests.reports import ROOT, all_cases, automatic_report_of, report_of


@pytest.mark.parametrize("name", all_cases())
def test_the_verdict_names_the_cause_and_the_joint(name: str) -> None:
    case = all_cases()[name]
    verdict = report_of(name).subjects[0].verdict
    assert any(word in verdict.headline for word in case.causes), verdict.headline
    assert case.joint in verdict.headline
    assert (verdict.answer is Answer.YES) == (name == "good")


@pytest.mark.parametrize("name", all_cases())
def test_the_verdict_is_the_same_where_processing_is_chosen(name: str) -> None:
    case, (subject,) = all_cases()[name], automatic_report_of(name).subjects
    verdict = subject.verdict
    if name == "delay of 20 ms":  # found, taken off and said: nothing is wrong any more
        assert verdict.answer is Answer.YES
        note = next(finding for finding in subject.findings if finding.subject == "drive.delay")
        assert "logged 20 ms" in note.text
        return
    assert any(word in verdict.headline for word in case.causes), verdict.headline
    assert case.joint in verdict.headline
    assert (verdict.answer is Answer.YES) == (name == "good")
    assert subject.result.data["relative_error"] < 1.05 * report_of(name).subjects[0].result.data["relative_error"]


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


def test_shares_are_those_of_least_squares_with_more_columns() -> None:
    """Compared with plain least squares of all columns at once."""
    rng = np.random.default_rng(0)
    model = DynamicModel(load_robot("builtin:two_link"))
    base = find_base_parameters(model)
    q, v, a = random_states(model, 300, rng)
    torque = model.inverse_dynamics(q, v, a) + 0.7 * np.sign(v) + 0.1 * rng.normal(size=v.shape)
    keep = np.abs(v) > 0.1
    samples = Samples(q, v, a, torque, np.zeros_like(v), keep, lambda _: torque)
    bench = Bench.of(base, np.nan_to_num(model.reference), samples)
    effects = [np.sign(v) * unit for unit in np.eye(2)]
    share, amounts = bench.explained(effects)
    W, y = bench.whole(), bench.flat(torque)
    C = np.stack([bench.flat(effect) for effect in effects], axis=1)
    errors = [float(np.linalg.lstsq(matrix, y, rcond=None)[1][0]) for matrix in (W, np.hstack([W, C]))]
    assert share == pytest.approx(1.0 - errors[1] / errors[0], rel=1e-6)
    assert amounts == pytest.approx((0.7, 0.7), abs=0.05)
    assert bench.share_with(torque) == pytest.approx(0.0, abs=1e-9)


def test_noise_is_told_from_errors_that_follow_the_motion() -> None:
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
