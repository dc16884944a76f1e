"""The section on what a model leaves of torques: data for its figures and its table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dynid.report.residual_figures import autocorrelation_figure, following_figure
from dynid.report.section import Section
from dynid.report.subject import Subject
from dynid.report.units import units_of
from dynid.residual_diagnostics import ADVICE, SHARE


def residual_sections(subjects: Sequence[Subject]) -> Iterator[Section]:
    """What residuals are like, and what they follow, with the plots behind each finding."""
    results = [_of_subject(i, subject) for i, subject in enumerate(subjects) if subject.result.data.get("residuals")]
    data = {"results": results, "subjects": subjects, "enough": SHARE}
    yield Section("residuals", "What is left", "residuals.html", data)


def _of_subject(number: int, subject: Subject) -> dict[str, Any]:
    joints = subject.result.data["residuals"]
    units = dict(zip(subject.result.base.model.row_names, units_of(subject), strict=True))
    quantities = list(dict.fromkeys(follow["what"] for joint in joints for follow in joint["follows"]))
    return {
        "subject": subject,
        "figure": autocorrelation_figure(f"lasting{number}", joints),
        "followed": list(_followed(number, joints, units)),
        "quantities": quantities,
        "warm": "temperature" in quantities,
        "joints": [_row(joint, quantities) for joint in joints],
    }


def _followed(
    number: int, joints: Sequence[Mapping[str, Any]], units: Mapping[str, tuple[str, str]]
) -> Iterator[dict[str, Any]]:
    for k, joint in enumerate(joints):
        clear = [follow for follow in joint["follows"] if follow.get("clear") and follow["share"] >= SHARE]
        if clear:
            best = max(clear, key=lambda follow: follow["share"])
            figure = following_figure(f"follows{number}-{k}", joint["name"], best, units[joint["name"]])
            advice = ADVICE[best["what"]]
            yield {"joint": joint["name"], "advice": advice[0].upper() + advice[1:], "figure": figure, **best}


def _row(joint: Mapping[str, Any], quantities: Sequence[str]) -> dict[str, Any]:
    shares = {follow["what"]: follow["share"] for follow in joint["follows"]}
    lasts = 1e3 * joint["correlation_samples"] * joint["period"]
    return {"name": joint["name"], "lasts": lasts, "shares": [shares.get(what) for what in quantities]}
