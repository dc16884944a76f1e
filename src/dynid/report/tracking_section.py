"""What this model gains you: tracking errors of simulated controllers, with its model and with the robot file's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dynid.identification import Tracking
from dynid.report.drawn_lines import Line, broken_line
from dynid.report.figure import MEASURED, PREDICTED, RESIDUAL, Figure, Section, axis, packed, plain
from dynid.report.rendering import short
from dynid.report.subject import Subject

COLOURS = {"identified": PREDICTED, "robot_file": RESIDUAL, "feedback": MEASURED}
"""Colours of the controllers."""

SHORT = {"identified": "identified model", "robot_file": "robot file's model", "feedback": "feedback alone"}
"""What controllers are called in tables and legends."""

BUCKETS = 6_000
"""Buckets of the lines of all joints: two points each."""


def tracking_section(subjects: Sequence[Subject]) -> Iterator[Section]:
    """Tracking errors of simulated controllers, where they were asked for."""
    data = [_of(subject, subject.tracking, i) for i, subject in enumerate(subjects) if subject.tracking is not None]
    if not data:
        return
    ratio = data[0]["ratio"] if len(subjects) == 1 else None
    brief = "" if ratio is None else f"tracking errors with the robot file's model: {short(ratio)} times as large"
    yield Section("gains", "What this model gains you", "tracking.html", {"results": data}, brief)


def _of(subject: Subject, tracking: Tracking, i: int) -> dict[str, Any]:
    units = [f"m{unit}" for unit in tracking.units]
    shown = [one for one in tracking.controllers if not one.lost]
    joints = [
        {
            "name": name,
            "unit": unit,
            "rms": {one.name: 1e3 * one.rms[k] for one in shown},
            "peak": {one.name: 1e3 * one.peak[k] for one in shown},
            "ratio": tracking.ratios("robot_file")[k] if tracking.ratio("robot_file") is not None else None,
            "figure": _error_figure(f"tracking{i}-{k}", tracking, k, unit),
        }
        for k, (name, unit) in enumerate(zip(tracking.joints, units, strict=True))
    ]
    return {
        "subject": subject,
        "tracking": tracking,
        "names": [one.name for one in shown],
        "labels": SHORT,
        "joints": joints,
        "ratio": tracking.ratio("robot_file"),
        "feedback": tracking.ratio("feedback"),
        "bars": _bar_figure(f"tracking{i}", tracking, units),
    }


def _bar_figure(key: str, tracking: Tracking, units: Sequence[str]) -> Figure:
    """RMS errors of each joint, a bar for each controller, over a logarithmic axis."""
    data = [
        {
            "type": "bar",
            "name": SHORT[one.name],
            "x": [plain(joint) for joint in tracking.joints],
            "y": (1e3 * one.rms).tolist(),
            "marker": {"color": COLOURS[one.name]},
            "hovertemplate": "%{x}: %{y:.3g}",
        }
        for one in tracking.controllers
        if not one.lost
    ]
    of = " or ".join(sorted(set(units), reverse=True))
    layout = {
        "xaxis": axis(type="category"),
        "yaxis": axis(f"RMS error [{of}]", type="log", dtick=1),
        "barmode": "group",
        "bargap": 0.3,
        "showlegend": True,
    }
    return Figure(key, data, layout, 280, "RMS tracking error of each joint under each controller")


def _error_figure(key: str, tracking: Tracking, joint: int, unit: str) -> Figure:
    """Tracking errors of a joint over time; those of feedback alone are drawn when its name is clicked."""
    data: list[dict[str, Any]] = []
    for one in reversed(tracking.controllers):
        if one.lost:
            continue
        line = _line(tracking, 1e3 * one.error[:, joint])
        style = {"color": COLOURS[one.name], "width": 1.2}
        data.append(
            {"type": "scatter", "mode": "lines", "name": SHORT[one.name], "line": style, "x": packed(line.time)}
            | {"y": packed(line.values), "hovertemplate": f"%{{x:.3f}} s: %{{y:.4g}} {unit}"}
            | ({"visible": "legendonly"} if one.name == "feedback" else {})
        )
    layout = {
        "xaxis": axis("time [s]"),
        "yaxis": axis(f"tracking error [{unit}]", zeroline=True, zerolinecolor="#9ca3af"),
        "showlegend": True,
    }
    label = f"Tracking errors of {tracking.joints[joint]} over time"
    return Figure(key, data, layout, 240, label, "tracking")


def _line(tracking: Tracking, values: np.ndarray) -> Line:
    buckets = max(BUCKETS // (len(tracking.joints) * len(tracking.controllers)), 50)
    return broken_line(tracking.time, values, np.ones(len(values), dtype=bool), buckets)
