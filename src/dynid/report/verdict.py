"""The verdict: can a model be trusted, for what, what should be improved; plain data, apart from presentation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dynid.estimation.estimate_findings import CONDITION, LARGEST_STD
from dynid.estimation.physical.physical_links import COSTLY
from dynid.findings import Finding, Severity

CLOSE = 0.06
"""Relative error of torques up to which predictions are good."""

ROUGH = 0.2
"""Relative error above which they are not worth much."""

HOLDS = 1.5
"""Error on unseen logs, in parts of the error of the fit, up to which it holds."""

ENOUGH = 0.8
"""Share of well-known parameters from which single values can be read."""


class Answer(StrEnum):
    """Whether a model can be trusted, all in all or for one purpose."""

    YES = "yes"
    CARE = "with care"
    NO = "no"
    UNPROVEN = "not proven"


@dataclass(frozen=True)
class Use:
    """Whether a model can be trusted for one purpose.

    Attributes:
        purpose: What one would use it for.
        answer: Whether one can.
        reason: Why, with figures.
    """

    purpose: str
    answer: Answer
    reason: str


@dataclass(frozen=True)
class Verdict:
    """What to think of a result.

    Attributes:
        answer: Whether it can be trusted, all in all.
        headline: The same in a sentence.
        uses: For what.
        improvements: What should be improved, most important first.
    """

    answer: Answer
    headline: str
    uses: tuple[Use, ...]
    improvements: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give the verdict as plain data for JSON."""
        return {
            "answer": self.answer.value,
            "headline": self.headline,
            "uses": [{"purpose": u.purpose, "answer": u.answer.value, "reason": u.reason} for u in self.uses],
            "improvements": list(self.improvements),
        }


def judge(data: Mapping[str, Any], findings: Sequence[Finding], validation: Mapping[str, Any] | None) -> Verdict:
    """Judge a result.

    Args:
        data: What was found: see `results.data.identification_data`.
        findings: What was noticed about the file, the logs, the estimate and the residuals.
        validation: How unseen logs are predicted (see `results.prediction.validate_result`); None where none was given.
    """
    wrong = [finding for finding in findings if finding.severity is Severity.ERROR]
    doubts = [finding for finding in findings if finding.severity is Severity.WARNING]
    uses = (_alike(data, wrong), _others(data, validation, wrong), _dynamics(data, wrong, doubts), _single(data, wrong))
    error = data["relative_error"] if validation is None else validation["relative_error"]
    proof = "on unseen logs" if validation is not None else "on the logs that it was found from"
    how_far = f"it leaves {error:.1%} of the torques unexplained {proof}"
    if wrong or error > 0.5:
        answer, headline = Answer.NO, f"This model should not be trusted yet: {_first(wrong) or how_far}."
    elif doubts or error > ROUGH:
        answer, headline = Answer.CARE, f"This model can be used with care: {_first(doubts) or how_far}."
    else:
        answer, headline = Answer.YES, f"This model can be trusted: {how_far}."
    return Verdict(answer, headline, uses, tuple(_improvements(wrong, doubts, validation)))


def _first(findings: Sequence[Finding]) -> str:
    return f"{findings[0].subject}: {findings[0].text.rstrip('.')}" if findings else ""


def _alike(data: Mapping[str, Any], wrong: Sequence[Finding]) -> Use:
    worst = max(data["joints"], key=lambda joint: joint["relative_error"])
    error = data["relative_error"]
    answer = Answer.YES if error <= CLOSE else Answer.CARE if error <= ROUGH else Answer.NO
    if wrong and answer is Answer.YES:
        answer = Answer.CARE
    reason = f"relative error {error:.1%}; the worst joint is {worst['name']} with {worst['relative_error']:.1%}"
    return Use("Torques along motions like the logged ones", answer, reason)


def _others(data: Mapping[str, Any], validation: Mapping[str, Any] | None, wrong: Sequence[Finding]) -> Use:
    purpose = "Torques along other motions"
    if data["condition_number"] > CONDITION:
        return Use(
            purpose, Answer.NO, f"the motion excites too little: condition number {data['condition_number']:.3g}"
        )
    if wrong:
        return Use(purpose, Answer.NO, "something is wrong with the model or the data: see the findings")
    if validation is None:
        return Use(purpose, Answer.UNPROVEN, "no unseen log was given; add --validate LOG")
    error, fit = validation["relative_error"], data["relative_error"]
    reason = f"relative error {error:.1%} on {validation['samples']} unseen samples, {fit:.1%} on the logs used"
    if error <= CLOSE or error <= HOLDS * fit:
        return Use(purpose, Answer.YES if error <= ROUGH else Answer.CARE, reason)
    return Use(purpose, Answer.CARE if error <= ROUGH else Answer.NO, reason)


def _dynamics(data: Mapping[str, Any], wrong: Sequence[Finding], doubts: Sequence[Finding]) -> Use:
    purpose = "Simulation and model-based control"
    physical = data["physical"]
    if physical is None:
        return Use(purpose, Answer.NO, "no physical links were fitted (physical.fit = false)")
    ratio = physical["relative_error"] / data["relative_error"] if data["relative_error"] else 1.0
    reason = f"links that can exist have a relative error of {physical['relative_error']:.1%}"
    if wrong:
        return Use(purpose, Answer.NO, f"{reason}, but something is wrong: see the findings")
    if ratio > COSTLY:
        return Use(purpose, Answer.CARE, f"{reason}, {ratio - 1:.0%} more than base parameters alone")
    if doubts:
        return Use(purpose, Answer.CARE, f"{reason}; see the warnings first")
    return Use(purpose, Answer.YES if physical["relative_error"] <= ROUGH else Answer.CARE, reason)


def _single(data: Mapping[str, Any], wrong: Sequence[Finding]) -> Use:
    rows = data["parameters"]
    known = [r for r in rows if _std(r) <= 0.01 * LARGEST_STD * abs(r["value"])]
    share = len(known) / max(len(rows), 1)
    reason = f"{len(known)} of {len(rows)} base parameters are known to {LARGEST_STD:g} % or better"
    if wrong:
        return Use("Single parameters", Answer.NO, f"{reason}, if the model were right, and it is not")
    return Use(
        "Single parameters", Answer.YES if share >= ENOUGH else Answer.CARE if share >= 0.3 else Answer.NO, reason
    )


def _std(row: Mapping[str, Any]) -> float:
    """The standard deviation of a parameter, by blocks of time where errors last."""
    return max(row["std"], row.get("bootstrap_std") or 0.0)


def _improvements(
    wrong: Sequence[Finding], doubts: Sequence[Finding], validation: Mapping[str, Any] | None
) -> Iterator[str]:
    for finding in (*wrong, *doubts):
        yield f"{finding.subject}: {finding.text.rstrip('.')}."
    if validation is None:
        yield "Prove it on a log that was not used: dynid report RESULT --validate OTHER_LOG."
