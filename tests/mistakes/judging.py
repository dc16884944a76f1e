"""What identification says of a case, beside the truth."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from dynid import DynidError, Finding, Result, Severity, identify
from dynid.report.subject import subject_of
from tests.mistakes import vocabulary
from tests.mistakes.mending import mended
from tests.mistakes.mistaken import Given, Mistaken

QUANTILE = 1.96
"""Standard deviations that a 95 % interval reaches to."""

WRONG = 0.2
"""Share of parameters outside their 95 % intervals from which a model is wrong: a twentieth would be by chance."""

DISTRUST = ("no", "with care", "refused")
"""Answers that make users look again."""


@dataclass(frozen=True)
class Named:
    """A finding in brief.

    Attributes:
        code: Its code, without "-or-other".
        severity: Its severity.
        subject: What it is about.
        values: Numbers and names in it.
        rivals: Causes that it names beside its own.
        removed: Share of the squared residual that mending it removes; None where it was not tried.
    """

    code: str
    severity: str
    subject: str
    values: Mapping[str, Any] = field(default_factory=dict)
    rivals: tuple[str, ...] = ()
    removed: float | None = None


@dataclass(frozen=True)
class Judgement:
    """What identification says of a case.

    Attributes:
        answer: Whether the model can be trusted: as the verdict has it, or "refused".
        named: Findings, those that decide first.
        relative_error: Of the torques.
        rmse: Of each joint [N m or N].
        errors: The same relative to each joint's torque.
        outside: Share of the base parameters whose 95 % interval does not hold the truth.
        condition: Condition number.
        seconds: Time that identification and verdict took [s].
        message: Why it was refused.
    """

    answer: str
    named: tuple[Named, ...] = ()
    relative_error: float = 0.0
    rmse: tuple[float, ...] = ()
    errors: tuple[float, ...] = ()
    outside: float = 0.0
    condition: float = 0.0
    seconds: float = 0.0
    message: str = ""

    @property
    def causes(self) -> tuple[Named, ...]:
        """Warnings and errors, those that decide first."""
        return tuple(one for one in self.named if one.severity != Severity.NOTE.value)

    @property
    def trusted(self) -> bool:
        """Whether users are told that they can use the model."""
        return self.answer not in DISTRUST

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def judged(result: Result) -> tuple[str, Sequence[Finding]]:
    """The verdict on a result: its answer, and the findings that it is based on, those that decide first."""
    verdict = getattr(result, "verdict", None)
    if verdict is not None:
        order = list(verdict.causes)
        known = {finding.code for finding in result.findings}
        own = [
            Finding(code, Severity.WARNING, "verdict") for code in order if code not in known
        ]  # found by the verdict
        rank = {code: k for k, code in enumerate(order)}
        found = sorted([*result.findings, *own], key=lambda finding: rank.get(finding.code, len(rank)))
        return str(verdict.answer.value), found
    subject = subject_of(result)
    return subject.verdict.answer.value, subject.findings


def outside(result: Result, truth: Mapping[str, float]) -> float:
    """Share of the base parameters whose 95 % interval does not hold the truth.

    Args:
        result: The result.
        truth: True standard parameters by name; zero where there is none.
    """
    p = np.array([truth.get(name, 0.0) for name in result.model.names])
    wanted = dict(zip(result.base.names, result.base.to_base(p).tolist(), strict=True))
    rows = [row for row in result.record.parameters if row.name in wanted]
    far = [abs(row.value - wanted[row.name]) > QUANTILE * row.honest_std + 1e-9 for row in rows]
    return float(np.mean(far)) if far else 0.0


def identified(given: Given, *, links: bool = True) -> Result:
    """Identify what users give; without physically consistent links where only errors are of interest."""
    stated = {"drive": dict(given.drive) or None, "processing": dict(given.processing) or None}
    physical = None if links else {"fit": False}
    return identify(given.robot, [given.log], list(given.terms), physical=physical, **stated)  # type: ignore[arg-type]


def judge(case: Mistaken, *, mend: bool = False) -> Judgement:
    """Identify a case and take the verdict.

    Args:
        case: The case.
        mend: Whether the first cause is mended as its finding says, and the case identified again.
    """
    start = time.perf_counter()
    try:
        result = identified(case.given)
        answer, findings = judged(result)
    except DynidError as error:
        return Judgement("refused", seconds=time.perf_counter() - start, message=str(error))
    seconds = time.perf_counter() - start
    found = [named(finding) for finding in findings]
    if mend:
        found = _mended(case.given, result, found)
    return Judgement(
        answer=answer,
        named=tuple(found),
        relative_error=result.relative_error,
        rmse=tuple(joint.rmse for joint in result.record.joints),
        errors=tuple(joint.relative_error for joint in result.record.joints),
        outside=outside(result, case.recording.truth),
        condition=result.condition_number,
        seconds=seconds,
    )


def named(finding: Finding) -> Named:
    """A finding in brief."""
    plain = {key: _plain(value) for key, value in finding.values.items()}
    rivals = tuple(str(one).rpartition(": ")[2].partition(" (")[0] for one in plain.pop("rivals", ()))
    return Named(finding.code.removesuffix("-or-other"), finding.severity.value, finding.subject, plain, rivals)


def _plain(value: Any) -> Any:
    """A value of a finding as JSON has it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, float | np.floating) else value


def _mended(given: Given, result: Result, all_named: Iterable[Named]) -> list[Named]:
    """The findings; the first that claims a share, with the share that goes when it is mended."""
    found, tried = [], False
    for one in all_named:
        share = one.values.get("share")
        if not tried and one.code in vocabulary.CAUSES and one.severity != "note" and isinstance(share, float):
            tried = True
            one = replace(one, removed=removed(given, result, one))
        found.append(one)
    return found


def removed(given: Given, result: Result, cause: Named) -> float | None:
    """Share of the squared residual, each joint's over its own, that goes when a cause is mended."""
    before = np.array([joint.rmse for joint in result.record.joints])
    shares = []
    for other in mended(given, cause.code, cause.subject, cause.values):
        try:
            after = np.array([joint.rmse for joint in identified(other, links=False).record.joints])
        except DynidError:
            continue
        measured = before > 0.0
        shares.append(1.0 - float(np.mean((after[measured] / before[measured]) ** 2)))
    return max(shares) if shares else None


def absurd(judgement: Judgement, reach: float) -> list[str]:
    """Causes that cannot be: a joint displaced by a fifth of the reach [m], a factor beyond ten that is no unit."""
    found = []
    for one in judgement.causes:
        if one.code in COMPARED:
            continue
        moved, factor, turned = (one.values.get(key) for key in ("millimetres", "factor", "degrees"))
        if isinstance(moved, float) and abs(moved) > 200.0 * reach:
            found.append(f"{one.code} by {moved:.0f} mm")
        if isinstance(turned, float) and abs(turned) > 180.0:
            found.append(f"{one.code} by {turned:.0f} degrees")
        if isinstance(factor, float) and not (0.1 <= abs(factor) <= 10.0) and not _is_unit(abs(factor)):
            found.append(f"{one.code} by a factor of {factor:.3g}")
    return found


COMPARED = ("mass-differs", "mass-impossible", "torques-large", "torques-small", "time-steps-long", "time-steps-short")
"""Findings whose factor is a comparison and no cause."""

UNITS = (1e3, 1e6, 1e-3, 1e-6, 180.0 / np.pi, np.pi / 180.0, 100.0, 0.01, 1e9, 1e-9)
"""Factors of units: milli, micro, degrees, centi, nano."""


def _is_unit(factor: float) -> bool:
    return any(abs(np.log(factor / unit)) < 0.1 for unit in UNITS if factor > 0.0)
