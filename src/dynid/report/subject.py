"""What a report is about: a result with its logs, its validation and its verdict."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.errors import DynidError
from dynid.estimation import CODES, Replay, replayed
from dynid.findings import Finding, Severity, has
from dynid.identification import Result, Validation, unseen_logs, validate
from dynid.logs import Log
from dynid.report.drawn_signals import Signals, drawn
from dynid.report.verdict import Verdict, judge
from dynid.robot import JointKind

Progress = Callable[[str], None]

DIAGNOSED = tuple(CODES.values())
"""Causes that diagnosis names."""

FAULTS = ("torque-constant", "torque-saturated", *DIAGNOSED)
"""Causes that spoil the estimate of a joint and of its neighbours, where they are errors."""

EXPLANATIONS = (*FAULTS, "friction-missing", "residual-is-noise", "residual-at-reversals", "residual-unexplained")
"""Findings that say more than that the fit is poor."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A result, ready to be shown.

    Attributes:
        name: What it is called: its folder's name, or that of its experiment file.
        result: The result.
        signals: What is drawn of its logs; None where they could not be read.
        missing: Why they could not; empty where they could.
        validation: How well held-out logs are predicted; None where none was given.
        held_out: What is drawn of those.
        findings: Everything that was noticed, most severe first.
        verdict: Whether the model can be trusted, and for what.
    """

    name: str
    result: Result
    signals: Signals | None
    missing: str
    validation: Validation | None
    held_out: Signals | None
    findings: tuple[Finding, ...]
    verdict: Verdict

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the rows of the dynamics."""
        return self.result.model.row_names

    @property
    def units(self) -> list[tuple[str, str]]:
        """Units of velocity and torque of each row."""
        model = self.result.model
        units = []
        for joint in model.robot.independent_joints:
            units += [("m/s", "N") if joint.kind is JointKind.PRISMATIC else ("rad/s", "N m")] * joint.kind.nv
        if self.result.is_in_amperes:
            units = [(speed, "A") for speed, _ in units]
        return units[model.rows]


def subject_of(
    result: Result, held_out: Sequence[Log | str | Path] = (), progress: Progress = lambda _: None
) -> Subject:
    """Read the logs of a result once more, validate it on others, and judge it.

    Args:
        result: The result.
        held_out: Logs that were not used, as `dynid.validate` takes them; each is read once.
        progress: Callback; receives a short description of each step.
    """
    signals, missing, causes = _own_logs(result, progress)
    validation = predicted = None
    if held_out:
        progress("Predicting held-out logs")
        logs = unseen_logs(result, held_out, progress)
        validation = validate(result, *logs)
        p = result.standard_parameters()
        predicted = _drawn((replayed(one.log, one.prepared, result.model, p) for one in logs), len(logs), result)
    findings = tuple(sorted(_once([*causes, *result.findings, *_on_missing_logs(result)]), key=_rank))
    return Subject(
        name=_name(result),
        result=result,
        signals=signals,
        missing=missing,
        validation=validation,
        held_out=predicted,
        findings=findings,
        verdict=judge(result.record, findings, validation),
    )


def _name(result: Result) -> str:
    if result.folder is not None:
        return result.folder.resolve().name
    return "result" if result.file is None else result.file.path.name


def _own_logs(result: Result, progress: Progress) -> tuple[Signals | None, str, list[Finding]]:
    """What is drawn of a result's own logs or why nothing is, and causes of residuals in the first of them."""
    causes: list[Finding] = []

    def diagnosed() -> Iterator[Replay]:
        for k, replay in enumerate(result.replays(progress)):
            if k == 0 and not any(term.needs_temperature for term in result.model.terms):
                progress("Diagnosing residuals")
                causes.extend(result.diagnose(replay))
            yield replay

    if not result.task.logs:
        return None, "the logs were in memory, or added from an earlier result, and are not there any more", causes
    try:
        return _drawn(diagnosed(), len(result.task.logs), result), "", causes
    except DynidError as error:
        return None, str(error), causes


def _drawn(logs: Iterable[Replay], count: int, result: Result) -> Signals:
    return drawn(logs, count, result.model, np.random.default_rng(0))


def _on_missing_logs(result: Result) -> Iterator[Finding]:
    """Logs of which only factors are there: in memory when the result was saved, or of an earlier result."""
    logs, drawn_logs = result.record.logs, len(result.task.logs)
    if logs > drawn_logs:
        yield Finding.of("logs-not-drawn", "logs", missing=logs - drawn_logs, logs=logs)


def _once(findings: Sequence[Finding]) -> list[Finding]:
    """Findings without those that are only consequences of others: each cause is shown once."""
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    dropped: set[str] = set()
    if has(findings, *EXPLANATIONS):
        dropped.add("fit-poor")
    if has(findings, "friction-missing-by-residual"):
        dropped.add("friction-missing")  # the same, looked for in all rows instead of the whole log
    if has(errors, *FAULTS):  # weaker causes would be fitted to spoiled data
        dropped |= {"parameter-negative", "parameter-negative-beside-positive", "physical-fit-worse"}
        dropped |= set(DIAGNOSED).difference(finding.code for finding in errors)
    return [finding for finding in findings if finding.code not in dropped]


def _rank(finding: Finding) -> int:
    return list(Severity).index(finding.severity)
