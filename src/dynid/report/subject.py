"""What a report is about: a result with its logs, its validation and its verdict."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dynid.errors import DynidError
from dynid.estimation import Replay, diagnose, replayed
from dynid.findings import Finding, grouped
from dynid.identification import (
    Result,
    Tracking,
    UnseenLog,
    Validation,
    Verdict,
    comparable,
    each_once,
    judge,
    roll_out_log,
    track,
    unseen_logs,
    validate,
)
from dynid.logs import Log
from dynid.report.drawn_rollouts import RolloutDrawing, Rollouts
from dynid.report.drawn_signals import DRAWN, Signals, drawn
from dynid.robot import JointKind

Progress = Callable[[str], None]

ON_RESULT = ("links-predict-better", "log-not-held-out", "payload-in-held-out-log")
"""Findings of a validation that are about the result; the others are about the held-out logs."""


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
        rollouts: What is drawn of rollouts of its logs, where it was identified from commands.
        held_out_rollouts: The same of held-out logs.
        tracking: Tracking errors of simulated controllers, where they were asked for.
    """

    name: str
    result: Result
    signals: Signals | None
    missing: str
    validation: Validation | None
    held_out: Signals | None
    findings: tuple[Finding, ...]
    verdict: Verdict
    rollouts: Rollouts | None = None
    held_out_rollouts: Rollouts | None = None
    tracking: Tracking | None = None

    @property
    def shown_findings(self) -> tuple[Finding, ...]:
        """The findings, with those that say the same of several logs as one."""
        return grouped(self.findings)

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
            lengths = 3 if joint.kind is JointKind.FREE_FLYER else int(joint.kind is JointKind.PRISMATIC)
            units += [("m/s", "N")] * lengths + [("rad/s", "N m")] * (joint.kind.nv - lengths)
        if self.result.is_in_amperes:
            units = [(speed, "A") for speed, _ in units]
        return units[model.rows]


def subject_of(
    result: Result,
    held_out: Sequence[Log | str | Path] = (),
    progress: Progress = lambda _: None,
    *,
    control: Tracking | bool = False,
) -> Subject:
    """Read the logs of a result once more, validate it on others, and judge it.

    Args:
        result: The result.
        held_out: Logs that were not used, as `dynid.validate` takes them; each is read once.
        progress: Callback; receives a short description of each step.
        control: What simulated controllers did; or whether they are simulated, on held-out logs where there are.
    """
    rollouts = _Rolling(result, progress)
    signals, missing, causes = _own_logs(result, progress, rollouts)
    unseen = _Rolling(result, progress)
    validation = predicted = None
    logs: tuple[UnseenLog, ...] = ()
    if held_out:
        progress("Predicting held-out logs")
        logs = unseen_logs(result, held_out, progress)
        validation = validate(result, *logs)
        p = result.standard_parameters()
        replays = (replayed(one.log, one.prepared, result.model, p) for one in logs)
        predicted = _drawn(unseen.followed(replays), len(logs), result)
    if control is True:
        control = track(result, *(one for one in logs if not one.used), progress=progress)
    tracking = None if control is False else control
    of_validation = () if validation is None else validation.findings
    own = [finding for finding in of_validation if finding.code in ON_RESULT]
    findings = each_once([*causes, *result.findings, *own, *_on_missing_logs(result), *_on_control(tracking)])
    verdict = result.verdict if validation is None else validation.verdict
    if result.record.verdict is None:  # of an earlier version, which did not look for causes
        verdict = judge(result.record, findings, None if validation is None else validation.unseen)
    return Subject(
        name=_name(result),
        result=result,
        signals=signals,
        missing=missing,
        validation=validation,
        held_out=predicted,
        findings=findings,
        verdict=verdict,
        rollouts=rollouts.drawing.drawn(),
        held_out_rollouts=unseen.drawing.drawn(),
        tracking=tracking,
    )


def _on_control(tracking: Tracking | None) -> tuple[Finding, ...]:
    return () if tracking is None else tracking.findings


@dataclass(frozen=True, eq=False)
class _Rolling:
    """Rolls out logs as they pass, where the result was identified from commands."""

    result: Result
    progress: Progress
    drawing: RolloutDrawing = field(default_factory=RolloutDrawing)

    def followed(self, replays: Iterable[Replay]) -> Iterator[Replay]:
        for replay in replays:
            whole = len(replay.log) == replay.samples  # of a long log, there are only stretches
            if self.result.record.commands is not None and replay.log.has_commands and whole:
                self.progress("Rolling out")
                self.drawing.add(roll_out_log(self.result, replay.log))
            yield replay


def _name(result: Result) -> str:
    if result.folder is not None:
        return result.folder.resolve().name
    return "result" if result.file is None else result.file.path.name


def _own_logs(result: Result, progress: Progress, rollouts: _Rolling) -> tuple[Signals | None, str, list[Finding]]:
    """What is drawn of a result's own logs or why nothing is, and causes of residuals where none were looked for."""
    causes: list[Finding] = []
    numbers = worst_logs(result)

    def diagnosed() -> Iterator[Replay]:
        for k, replay in enumerate(result.replays(progress, numbers)):
            if k == 0 and result.record.verdict is None:
                progress("Diagnosing residuals")
                causes.extend(_causes(result, replay))
            yield replay

    if not result.task.logs:
        return None, "the logs were in memory, or added from an earlier result, and are not there any more", causes
    try:
        return _drawn(rollouts.followed(diagnosed()), len(numbers), result), "", causes
    except DynidError as error:
        return None, str(error), causes


def worst_logs(result: Result) -> list[int]:
    """Numbers of the logs that are drawn, counted from 0: all, or of many those with the largest errors."""
    count = len(result.task.logs)
    if count <= DRAWN:
        return list(range(count))
    errors = result.log_errors()
    return sorted(sorted(range(count), key=lambda k: -errors[k])[:DRAWN])


def _causes(result: Result, replay: Replay) -> list[Finding]:
    """Causes of the residuals of a log, where the result was saved before they were looked for."""
    p = result.standard_parameters()
    found = diagnose(result.base, p, [replay.prepared], result.torques, result.findings)
    return comparable(result.drive, found)


def _drawn(logs: Iterable[Replay], count: int, result: Result) -> Signals:
    return drawn(logs, count, result.model, result.standard_parameters(), np.random.default_rng(0))


def _on_missing_logs(result: Result) -> Iterator[Finding]:
    """Logs of which only factors are there: in memory when the result was saved, or of an earlier result."""
    logs, drawn_logs = result.record.logs, len(result.task.logs)
    if drawn_logs > DRAWN:
        yield Finding.of("logs-drawn-by-error", "logs", drawn=DRAWN, logs=logs)
    if logs > drawn_logs:
        yield Finding.of("logs-not-drawn", "logs", missing=logs - drawn_logs, logs=logs)
