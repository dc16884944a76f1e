"""The verdict: can a model be trusted, for what, what should be improved; plain data, apart from presentation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dynid.estimation import CONDITION, COSTLY, LARGEST_STD
from dynid.findings import Finding, Severity
from dynid.identification import Record, Validation

CLOSE = 0.06
"""Relative error of torques up to which predictions are good."""

ROUGH = 0.2
"""Relative error above which predictions are of little use."""

USELESS = 0.5
"""Relative error above which a model should not be used at all."""

HOLDS = 1.5
"""Ratio of the relative error on held-out logs to that of the fit up to which the fit generalises."""

ENOUGH = 0.8
"""Share of well-determined parameters from which individual values can be relied on."""

FEW = 0.3
"""Share below which they cannot."""

ERRORS = "the findings report errors in the model or the data"


class Answer(StrEnum):
    """Whether a model can be trusted, overall or for one purpose."""

    YES = "yes"
    CARE = "with care"
    NO = "no"
    UNVALIDATED = "not validated"


@dataclass(frozen=True)
class Use:
    """Whether a model can be trusted for one purpose.

    Attributes:
        purpose: The purpose.
        answer: Whether it can.
        reason: Why, with figures.
    """

    purpose: str
    answer: Answer
    reason: str


@dataclass(frozen=True)
class Verdict:
    """Whether a model can be trusted, and for what.

    Attributes:
        answer: Whether it can be trusted overall.
        headline: The same in a sentence.
        uses: For what.
        improvements: What should be improved, most important first.
        causes: Codes of the findings that decided, most important first; empty where it can be trusted.
    """

    answer: Answer
    headline: str
    uses: tuple[Use, ...]
    improvements: tuple[str, ...]
    causes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {
            "answer": self.answer.value,
            "headline": self.headline,
            "uses": [{"purpose": u.purpose, "answer": u.answer.value, "reason": u.reason} for u in self.uses],
            "improvements": list(self.improvements),
            "causes": list(self.causes),
        }


FILTERS = frozenset(("processing-accelerations-noisy", "processing-torques-alone"))
"""Warnings about filters, which come after those about the log: a motion that is too small needs another motion."""


def judge(record: Record, findings: Sequence[Finding], validation: Validation | None) -> Verdict:
    """Judge a result.

    Args:
        record: What was found.
        findings: What was noticed about the robot file, the logs, the estimate and the residuals.
        validation: How well held-out logs are predicted; None where none was given.
    """
    wrong = [finding for finding in findings if finding.severity is Severity.ERROR]
    warnings = [finding for finding in findings if finding.severity is Severity.WARNING]
    doubts = sorted(warnings, key=lambda finding: finding.code in FILTERS)
    error = record.relative_error if validation is None else validation.relative_error
    logs = "held-out logs" if validation is not None else "the logs that it was identified from"
    fit = f"relative error {error:.1%} on {logs}"
    if wrong or error > USELESS:
        answer, headline = Answer.NO, f"This model should not be trusted yet: {_first(wrong) or fit}."
    elif doubts or error > ROUGH:
        answer, headline = Answer.CARE, f"This model can be used with care: {_first(doubts) or fit}."
    else:
        answer, headline = Answer.YES, f"This model can be trusted: {fit}."
    uses = (
        _similar(record, wrong),
        _other(record, validation, wrong),
        _dynamics(record, wrong, doubts),
        _values(record, wrong),
    )
    causes = tuple(finding.code for finding in (*wrong, *doubts))
    return Verdict(answer, headline, uses, tuple(_improvements(wrong, doubts, validation)), causes)


def _first(findings: Sequence[Finding]) -> str:
    return f"{findings[0].subject}: {findings[0].text.rstrip('.')}" if findings else ""


def _similar(record: Record, wrong: Sequence[Finding]) -> Use:
    worst, error = max(record.joints, key=lambda joint: joint.relative_error), record.relative_error
    answer = Answer.YES if error <= CLOSE else Answer.CARE if error <= ROUGH else Answer.NO
    if wrong and answer is Answer.YES:
        answer = Answer.CARE
    reason = f"relative error {error:.1%}; worst joint: {worst.name} with {worst.relative_error:.1%}"
    return Use("Torque prediction on trajectories like the logged ones", answer, reason)


def _other(record: Record, validation: Validation | None, wrong: Sequence[Finding]) -> Use:
    purpose = "Torque prediction on other trajectories"
    if record.condition_number > CONDITION:
        return Use(purpose, Answer.NO, f"poor excitation: condition number {record.condition_number:.3g}")
    if wrong:
        return Use(purpose, Answer.NO, ERRORS)
    if validation is None:
        return Use(purpose, Answer.UNVALIDATED, "no held-out log was given; add --validate LOG")
    error, fit = validation.relative_error, record.relative_error
    reason = f"relative error {error:.1%} on {validation.samples} held-out samples, {fit:.1%} on the logs used"
    if error <= CLOSE or error <= HOLDS * fit:
        return Use(purpose, Answer.YES if error <= ROUGH else Answer.CARE, reason)
    return Use(purpose, Answer.CARE if error <= ROUGH else Answer.NO, reason)


def _dynamics(record: Record, wrong: Sequence[Finding], doubts: Sequence[Finding]) -> Use:
    purpose, physical = "Simulation and model-based control", record.physical
    if physical is None:
        reason = "no physically consistent links were fitted (physical.fit = false, or torque constants are unknown)"
        return Use(purpose, Answer.NO, reason)
    ratio = physical.relative_error / record.relative_error if record.relative_error else 1.0
    reason = f"relative error of the physically consistent model: {physical.relative_error:.1%}"
    if wrong:
        return Use(purpose, Answer.NO, f"{reason}, but {ERRORS}")
    if ratio > COSTLY:
        return Use(purpose, Answer.CARE, f"{reason}, {ratio - 1:.0%} more than the base parameters alone")
    if doubts:
        return Use(purpose, Answer.CARE, f"{reason}; see the warnings first")
    return Use(purpose, Answer.YES if physical.relative_error <= ROUGH else Answer.CARE, reason)


def _values(record: Record, wrong: Sequence[Finding]) -> Use:
    rows, purpose = record.parameters, "Individual parameter values"
    determined = [row for row in rows if row.honest_std <= 0.01 * LARGEST_STD * abs(row.value)]
    share = len(determined) / max(len(rows), 1)
    reason = f"{len(determined)} of {len(rows)} base parameters have a standard deviation of {LARGEST_STD:g} % or less"
    if wrong:
        return Use(purpose, Answer.NO, f"{reason}, but {ERRORS}")
    return Use(purpose, Answer.YES if share >= ENOUGH else Answer.CARE if share >= FEW else Answer.NO, reason)


def _improvements(wrong: Sequence[Finding], doubts: Sequence[Finding], validation: Validation | None) -> Iterator[str]:
    for finding in (*wrong, *doubts):
        yield f"{finding.subject}: {finding.text.rstrip('.')}."
    if validation is None:
        yield "Validate it on a held-out log: dynid report RESULT --validate OTHER_LOG."
