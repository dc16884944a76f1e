"""Figures of what a model leaves of torques: how long it lasts, and what it follows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dynid.estimation.residuals import ADVICE, SHARE
from dynid.report.figure import DASHES, PALETTE, RESIDUAL, Figure, axis, packed, plain
from dynid.report.section import Section, units_of
from dynid.report.subject import Subject


def autocorrelation_figure(key: str, joints: Sequence[Mapping[str, Any]]) -> Figure:
    """Autocorrelations of the residuals of all joints; white ones drop to zero at once.

    Args:
        key: Key of the figure.
        joints: `residuals` of a result, one for each joint.
    """
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": plain(joint["name"]),
            "x": packed(1e3 * joint["period"] * np.arange(len(joint["autocorrelation"]))),
            "y": packed(np.array(joint["autocorrelation"])),
            "line": {"color": PALETTE[k % 8], "width": 1.3, "dash": DASHES[(k // 8) % 4]},
            "hovertemplate": "%{x:.3g} ms: %{y:.2f}",
        }
        for k, joint in enumerate(joints)
    ]
    layout = {
        "xaxis": axis("later by [ms]"),
        "yaxis": axis("autocorrelation", zeroline=True, zerolinecolor="#9ca3af", range=[-0.6, 1.05]),
    }
    return Figure(key, data, layout, 280, "Autocorrelation of residuals")


def following_figure(key: str, joint: str, follow: Mapping[str, Any], units: tuple[str, str]) -> Figure:
    """Means of a joint's residual over the quantity that it follows.

    Args:
        key: Key of the figure.
        joint: Name of the joint.
        follow: One of its `follows`.
        units: Of velocity and torque.
    """
    what = follow["what"]
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": packed(np.array(follow["centres"])),
            "y": packed(np.array(follow["means"])),
            "line": {"color": RESIDUAL, "width": 1.6},
            "marker": {"color": RESIDUAL, "size": 6},
            "hovertemplate": "%{x:.3g}: %{y:.3g}",
            "showlegend": False,
        }
    ]
    side = "mean residual times sign of velocity" if what.startswith("friction") else "mean residual"
    layout = {
        "xaxis": axis(_abscissa(what, units[0])),
        "yaxis": axis(f"{side} [{units[1]}]", zeroline=True, zerolinecolor="#9ca3af"),
    }
    return Figure(key, data, layout, 260, f"Residual of {plain(joint)}: {what}")


def _abscissa(what: str, of_velocity: str) -> str:
    if what.endswith("time"):
        return "time [s]"
    if what.endswith("temperature"):
        return "temperature, as logged"
    if what == "position":
        return f"position [{of_velocity.removesuffix('/s')}]"
    return what if what == "velocity sign" else f"velocity [{of_velocity}]"


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
