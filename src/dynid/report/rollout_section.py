"""Sections on results that were identified from commands: rollouts, and joints with the control law."""

from collections.abc import Iterator, Sequence
from typing import Any

from dynid.identification import (
    LAWS,
    Result,
    RolloutRecord,
    delay_text,
    in_thousandths,
    joint_table,
    rollout_header,
    rollout_rows,
    states_note,
    std_text,
    value_text,
)
from dynid.report.drawn_rollouts import Rollouts
from dynid.report.figure import Section
from dynid.report.rollout_figures import correlation_figure, delay_figure, rollout_figure
from dynid.report.subject import Subject
from dynid.robot import LARGEST_NUMBER

MAPPED = 200
"""Parameters up to which correlations are drawn as a map; of more, the table of pairs has the largest."""


def rollout_section(subjects: Sequence[Subject]) -> Iterator[Section]:
    """Errors of rollouts, and positions over time: of held-out logs where there are, and of the result's own."""
    data = []
    for i, subject in enumerate(subjects):
        found = subject.result.record.commands
        if found is None:
            continue
        parts = [_part(subject, "The logs it was identified from", found.rollout, subject.rollouts, f"own{i}")]
        held_out = None if subject.validation is None else subject.validation.rollout
        if held_out is not None:
            parts.insert(0, _part(subject, "Held-out logs", held_out, subject.held_out_rollouts, f"unseen{i}"))
        data.append({"subject": subject, "parts": parts, "is_validated": held_out is not None})
    if data:
        shown = data[0]["parts"][0]["rollout"]
        where = "held-out logs" if data[0]["is_validated"] else "own logs"
        brief = f"RMSE {in_thousandths(shown.rmse)} {shown.unit} on {where}" if len(subjects) == 1 else ""
        yield Section("rollouts", "Rollouts", "rollouts.html", {"results": data, "subjects": subjects}, brief)


def _part(subject: Subject, title: str, rollout: RolloutRecord, drawn: Rollouts | None, key: str) -> dict[str, Any]:
    traces = [] if drawn is None else drawn.traces
    figures = [
        {"joint": joint.name, "figure": rollout_figure(f"{key}-{k}", joint.name, trace, joint.unit, drawn.shown, key)}
        for k, (joint, trace) in enumerate(zip(rollout.joints, traces, strict=False))
        if drawn is not None
    ]
    header, rows = rollout_header(rollout), rollout_rows(rollout)
    of = {"title": title, "rollout": rollout, "header": header, "rows": rows, "drawn": drawn, "figures": figures}
    return {**of, "missing": subject.missing}


def law_section(subjects: Sequence[Subject]) -> Iterator[Section]:
    """Parameters of joints, the control law and its delay, what the logs do not separate, and how logs agree."""
    data = [_law(subject.result, subject, i) for i, subject in enumerate(subjects) if subject.result.record.commands]
    if data:
        delay = data[0]["delay"] if len(subjects) == 1 else ""
        yield Section(
            "law",
            "Joints and control law",
            "law.html",
            {"results": data, "subjects": subjects, "value": value_text, "std": std_text},
            f"delay {delay}" if delay else "",
        )


def _law(result: Result, subject: Subject, i: int) -> dict[str, Any]:
    found = result.record.commands
    assert found is not None  # the caller asked for it
    table, count = joint_table(found), len(found.correlations)
    limits = found.effort_limit or (LARGEST_NUMBER,) * len(found.kp)
    errors = {} if subject.rollouts is None else {log.name: log.rmse for log in subject.rollouts.logs}
    return {
        "subject": subject,
        "found": found,
        "law": LAWS[found.law],
        "delay": delay_text(found, result.record.confidence),
        "gains": [
            {"joint": joint.name, "kp": kp, "kd": kd, "limit": limit if limit < LARGEST_NUMBER else None}
            for joint, kp, kd, limit in zip(found.rollout.joints, found.kp, found.kd, limits, strict=True)
        ],
        "table": table,
        "note": states_note(found),
        "profile": delay_figure(f"delay{i}", found, table, found.rollout.unit) if len(found.profile) > 1 else None,
        "correlations": correlation_figure(f"correlations{i}", found) if 0 < count <= MAPPED else None,
        "pairs": sorted(found.confounded, key=lambda pair: -abs(pair.correlation)),
        "agreement": [(log, in_thousandths(errors[log.name]) if log.name in errors else "") for log in found.agreement],
        "confidence": result.record.confidence,
    }
