"""Validation: how well a result predicts torques of logs that it was not made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dynid.errors import InvalidRequestError
from dynid.estimation import NotIdentifiableError, factors_of, findings_on_payload, processed_rows
from dynid.findings import Finding, Severity, has
from dynid.identification.answers import Verdict
from dynid.identification.command_tables import rollout_html, rollout_text
from dynid.identification.held_out_logs import UnseenLog, unseen_logs
from dynid.identification.log_reading import of_log
from dynid.identification.noticed import ON_MOTION
from dynid.identification.other_stances import findings_on_stances, of_any_stance
from dynid.identification.predictions import JointPrediction, Logs, Prediction, predictions, with_slow_rows
from dynid.identification.records import RolloutRecord
from dynid.identification.result import Result
from dynid.identification.result_files import load_result
from dynid.identification.verdict import THRESHOLDS, Unseen, judge
from dynid.logs import Log, Processing
from dynid.model import TorqueRows

if TYPE_CHECKING:
    from dynid.identification.controller_tracking import Tracking

Progress = Callable[[str], None]

OF_ANOTHER_STANCE = ("validated-on-another-stance",)
"""Codes of findings that the robot stood elsewhere in a log than when it was identified."""

OF_ANOTHER_ROBOT = ("payload-in-held-out-log", *OF_ANOTHER_STANCE)
"""Codes of warnings that a log is not of the robot as it was identified: named beside its error, as errors are."""


@dataclass(frozen=True, repr=False)
class Validation:
    """How well a result predicts logs that it was not made from.

    Attributes:
        relative_error: Norm of all errors over the norm of all measured torques, of the base parameters; of rows that
            the velocity threshold keeps, as in the fit.
        joints: The same by joint.
        physical: The same for the physically consistent links; None where the result has none.
        samples: Number of samples.
        findings: What was noticed about the logs.
        verdict: The verdict on the result, judged again with these logs.
        all_rows: Errors of the base parameters over all rows, also those of joints that are slow or at rest.
        physical_all_rows: The same for the physically consistent links.
        tracking: Tracking errors of simulated controllers, where they were asked for.
        simulation: Closed-loop simulation of the result beside measured positions, where it was asked for.
        logs: Number of logs.
        rollout: Rollouts of the logs under their commands, where the result was identified from commands.
    """

    relative_error: float
    joints: tuple[JointPrediction, ...]
    physical: Prediction | None
    samples: int
    findings: tuple[Finding, ...]
    verdict: Verdict
    all_rows: Prediction
    physical_all_rows: Prediction | None = None
    simulation: Mapping[str, Any] | None = None
    logs: int = 1
    rollout: RolloutRecord | None = None
    tracking: Tracking | None = None

    @property
    def rows(self) -> int:
        """Number of rows that the errors are of."""
        return sum(joint.rows for joint in self.joints)

    @property
    def row_selection(self) -> str:
        """What the rows are, in words."""
        if self.rows == self.all_rows.rows:
            return f"all {self.rows} rows (one for each sample and joint with a measured torque)"
        return (
            f"{self.rows} of {self.all_rows.rows} rows, those in which the joint is faster than the velocity "
            "threshold, as in the fit; all rows include slow joints and joints at rest"
        )

    @property
    def unseen(self) -> Unseen | None:
        """The errors, as far as they count for the verdict: not where the logs were used to identify."""
        if any(finding.code == "log-not-held-out" for finding in self.findings):
            return None
        links = None if self.physical is None else self.physical.relative_error
        return Unseen(self.relative_error, links, self.samples, rollout=self.rollout)

    def to_dict(self) -> dict[str, Any]:
        """As plain data for JSON."""
        physical, slow = self.physical, self.physical_all_rows
        all_rows = {**self.all_rows.to_dict(), "physical_relative_error": None if slow is None else slow.relative_error}
        data = {
            "relative_error": self.relative_error,
            "physical_relative_error": None if physical is None else physical.relative_error,
            "physical_joints": None if physical is None else [vars(joint) for joint in physical.joints],
            "samples": self.samples,
            "rows": self.rows,
            "row_selection": self.row_selection,
            "joints": [vars(joint) for joint in self.joints],
            "all_rows": all_rows,
            "verdict": self.verdict.to_dict(),
            "findings": [finding.to_dict() for finding in self.findings],
        }
        data |= {} if self.simulation is None else {"simulation": dict(self.simulation)}
        data |= {} if self.tracking is None else {"tracking": self.tracking.to_dict()}
        return data if self.rollout is None else {**data, "rollout": self.rollout.model_dump(mode="json")}

    def __repr__(self) -> str:
        verdict = f", {self.samples} samples, {self.verdict.answer.value}"
        if self.rollout is not None:
            return f"Validation({rollout_text(self.rollout)}{verdict})"
        physical = "" if self.physical is None else f", physical links {self.physical.relative_error:.2%}"
        return f"Validation(relative error {self.relative_error:.2%}{physical}{verdict})"

    def _repr_html_(self) -> str:
        from html import escape

        shown = f"<p>{escape(repr(self))}</p><p>Verdict: {escape(str(self.verdict))}</p>"
        return shown if self.rollout is None else shown + rollout_html(self.rollout)


def validate(
    result: Result | str | Path,
    *logs: Log | str | Path | UnseenLog,
    simulate: bool = False,
    control: bool = False,
    progress: Progress = lambda _: None,
) -> Validation:
    """Predict the torques of logs that were not used, and compare.

    Args:
        result: The result, or the folder that it was saved as.
        logs: Logs in memory, experiment files (which stand for their logs, with their own drives and processing), or
            log files that are laid out as the first log of the result's experiment.
        simulate: Also simulate the result in closed loop, as `[simulation]` of the experiment files says, and compare
            positions.
        control: Also simulate controllers with the identified model and with the robot file's, as in `dynid.track`.
        progress: Callback; receives a short description of each step.
    """
    result = result if isinstance(result, Result) else load_result(result)
    unseen = unseen_logs(result, logs, progress)
    parts = [(one.prepared.segments, one.prepared.processing) for one in unseen]
    findings = [*_on_use(unseen), *_on_stances(result, unseen)]
    elsewhere = has(findings, *OF_ANOTHER_STANCE)
    by_base, by_links = _predicted(result, parts, elsewhere=elsewhere)
    all_rows, links_all_rows = by_base, by_links
    if (everything := with_slow_rows(parts)) is not None:
        all_rows, links_all_rows = _predicted(result, everything, elsewhere=elsewhere)
    rollout = _rolled_out(result, unseen, progress)
    for one in unseen:
        noticed = (*_on_filters(one, result), *one.prepared.findings)
        if rollout is not None:  # torques are those of the law, and are not judged
            noticed = tuple(note for note in noticed if note in one.log.findings or note.code in ON_MOTION)
        findings += of_log(noticed, _name(one), len(unseen))
    if rollout is None:
        findings += _on_links(by_base, by_links)
        findings += () if elsewhere else _on_payload(result, parts, by_base.relative_error)
    simulation = None
    if simulate:
        progress("Simulating in closed loop")
        simulation, notes = _simulated(result, logs, unseen)
        findings += notes
    tracking = _tracked(result, unseen, progress) if control else None
    findings += () if tracking is None else tracking.findings
    samples = sum(len(segment) for segments, _ in parts for segment in segments)
    used = any(one.used for one in unseen)
    return Validation(
        relative_error=by_base.relative_error,
        joints=by_base.joints,
        physical=by_links,
        samples=samples,
        findings=tuple(findings),
        verdict=result.verdict
        if used
        else judge(result.record, result.findings, _unseen(by_base, by_links, samples, findings, rollout)),
        all_rows=all_rows,
        physical_all_rows=links_all_rows,
        simulation=simulation,
        logs=len(unseen),
        rollout=rollout,
        tracking=tracking,
    )


def _tracked(result: Result, unseen: Sequence[UnseenLog], progress: Progress) -> Tracking:
    """Tracking errors of simulated controllers on the motion of the logs."""
    from dynid.identification.tracking import track

    return track(result, *unseen, progress=progress)


def _rolled_out(result: Result, unseen: Sequence[UnseenLog], progress: Progress) -> RolloutRecord | None:
    """Rollouts of the logs; None where the result was not identified from commands, or the logs have none."""
    if result.record.commands is None:
        return None
    from dynid.identification.command_validation import validate_rollouts

    progress("Rolling out")
    return validate_rollouts(result, [one.log[:] for one in unseen], [_name(one) for one in unseen])


def _predicted(result: Result, logs: Logs, *, elsewhere: bool) -> tuple[Prediction, Prediction | None]:
    """What base parameters and physically consistent links leave of logs.

    Rows of a stance leave out what never shows in it, links included; elsewhere, links say that, too.
    """
    base, physical = result.base, result.physical_values
    sets = [result.standard_parameters()]
    if physical is not None:
        links = result.standard_parameters(physical=True)
        sets.append(links if elsewhere else base.to_standard(base.to_base(links)))
    found = predictions(of_any_stance(base.model) if elsewhere else base.model, sets, logs)
    return found[0], None if physical is None else found[1]


def _unseen(
    base: Prediction,
    links: Prediction | None,
    samples: int,
    findings: Sequence[Finding],
    rollout: RolloutRecord | None,
) -> Unseen:
    """What is judged of predictions."""
    warned = [one for one in findings if one.severity is not Severity.NOTE]
    certain = [one for one in warned if one.severity is Severity.ERROR or one.code in OF_ANOTHER_ROBOT]
    wrong = (f"{one.subject}: {one.evidence}" for one in certain)
    joints = {joint.name: joint.relative_error for joint in base.joints}
    for joint in () if links is None else links.joints:
        joints[joint.name] = min(joints[joint.name], joint.relative_error)
    name = max(joints, key=lambda joint: joints[joint], default="")
    by_links = None if links is None else links.relative_error
    return Unseen(base.relative_error, by_links, samples, name, joints.get(name, 0.0), next(wrong, ""), rollout)


def _on_use(logs: Sequence[UnseenLog]) -> Iterator[Finding]:
    """Logs that the result was identified from."""
    for one in logs:
        if one.used:
            yield Finding.of("log-not-held-out", "validation", log=_name(one))


def _on_stances(result: Result, logs: Sequence[UnseenLog]) -> Iterator[Finding]:
    """Logs in which the robot stands elsewhere, or of which the result says only a part."""
    links = None if result.physical is None else result.standard_parameters(physical=True)
    return findings_on_stances(result.base, links, [(_name(one), one.log, one.prepared) for one in logs])


def _on_links(base: Prediction, links: Prediction | None) -> Iterator[Finding]:
    """Whether links predict far better than base parameters."""
    if links is not None and base.relative_error > THRESHOLDS.links_better * links.relative_error:
        errors = (links.relative_error, base.relative_error)
        yield Finding.of("links-predict-better", "validation", links=errors[0], base=errors[1])


def _on_payload(result: Result, logs: Logs, error: float) -> tuple[Finding, ...]:
    """A finding on a body that held-out logs carry, where they are predicted worse than the result's own."""
    if result.is_in_amperes or error < THRESHOLDS.payload_error * result.relative_error:
        return ()
    base, rows = result.base, TorqueRows(result.model)
    factors = [factors_of(rows, processed_rows(rows, segments, processing)) for segments, processing in logs]
    values = np.array([result.values[name] for name in base.names])
    try:
        return tuple(findings_on_payload(base, values, result.torques, factors))
    except NotIdentifiableError:  # held-out logs need not excite all parameters
        return ()


def _simulated(
    result: Result, logs: Sequence[object], unseen: Sequence[UnseenLog]
) -> tuple[dict[str, Any], list[Finding]]:
    """A closed-loop simulation of the result on the references of experiment files, and what was noticed."""
    from dynid.identification.rollout import simulate_result

    paths = [Path(log) for log in logs if isinstance(log, str | Path)]
    if len(paths) < len(logs):
        raise InvalidRequestError("only experiment files state what the robot followed; name one to simulate")
    return simulate_result(result, paths, logs=[one.log[:] for one in unseen])


def _name(one: UnseenLog) -> str:
    """What a log is called: its name, or its file's."""
    return one.log.name or next((Path(file).name for file in one.log.source), "the log")


def _on_filters(one: UnseenLog, result: Result) -> tuple[Finding, ...]:
    """Whether errors compare with those of the result: only where both were filtered alike."""
    if has(one.prepared.findings, "processing-lowpass-predicting"):
        return ()  # which says what was done, and why
    subject, mine = "processing", _filters(one.prepared.processing)
    name, used = _name(one), result.training
    if used is not None and _filters(used) != mine:
        return (Finding.of("filters-differ", subject, log=name, filters=mine, training=_filters(used)),)
    return (Finding.of("filters-alike", subject, log=name, filters=mine),)


def _filters(used: Processing) -> list[str]:
    """What is done to positions, torques and rows."""
    parts = [
        f"positions low-passed at {used.lowpass:g} Hz" if used.lowpass else "positions not filtered",
        f"torques low-passed at {used.torque_lowpass:g} Hz" if used.torque_lowpass else "",
        f"decimated by {int(np.prod(used.decimate))}" if used.decimate else "",
        f"decimated to {used.rate:g} Hz" if used.rate else "",
    ]
    return [part for part in parts if part]
