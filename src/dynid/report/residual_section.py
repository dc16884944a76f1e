"""Residual analysis: autocorrelation, and the quantities that residuals follow."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dynid.estimation import RESIDUAL_THRESHOLDS
from dynid.findings import Finding
from dynid.identification import FollowRecord, ResidualRecord
from dynid.report.figure import DASHES, PALETTE, RESIDUAL, Figure, Section, axis, packed, plain
from dynid.report.subject import Subject


def residual_section(subjects: Sequence[Subject]) -> Iterator[Section]:
    """Autocorrelation of residuals, and what they follow, with the plot behind each finding."""
    results = [_of_subject(i, subject) for i, subject in enumerate(subjects) if subject.result.record.residuals]
    data = {"results": results, "subjects": subjects, "enough": RESIDUAL_THRESHOLDS.followed_share}
    followed = [] if not results else [joint["joint"] for joint in results[0]["followed"]]
    brief = "" if len(subjects) > 1 or not results else f"residuals of {len(followed)} joints follow the motion"
    brief = brief.replace(" 0 joints", " no joint").replace(" 1 joints follow", " 1 joint follow")
    yield Section("residuals", "Residual analysis", "residuals.html", data, brief, is_open=False)


def _of_subject(number: int, subject: Subject) -> dict[str, Any]:
    joints = subject.result.record.residuals
    units = dict(zip(subject.joints, subject.units, strict=True))
    quantities = list(dict.fromkeys(follow.what for joint in joints for follow in joint.follows))
    return {
        "subject": subject,
        "figure": autocorrelation_figure(f"autocorrelation{number}", joints),
        "followed": list(_followed(number, joints, units)),
        "quantities": quantities,
        "warm": "temperature" in quantities,
        "joints": [_row(joint, quantities) for joint in joints],
    }


def autocorrelation_figure(key: str, joints: Sequence[ResidualRecord]) -> Figure:
    """Autocorrelations of the residuals of all joints; those of white residuals drop to zero at the first lag."""
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": plain(joint.name),
            "x": packed(1e3 * joint.period * np.arange(len(joint.autocorrelation), dtype=np.float64)),
            "y": packed(np.array(joint.autocorrelation)),
            "line": {"color": PALETTE[k % 8], "width": 1.3, "dash": DASHES[(k // 8) % 4]},
            "hovertemplate": "%{x:.3g} ms: %{y:.2f}",
        }
        for k, joint in enumerate(joints)
    ]
    layout = {
        "xaxis": axis("lag [ms]"),
        "yaxis": axis("autocorrelation", zeroline=True, zerolinecolor="#9ca3af", range=[-0.6, 1.05]),
    }
    return Figure(key, data, layout, 280, "Autocorrelation of residuals")


def following_figure(key: str, joint: str, follow: FollowRecord, units: tuple[str, str]) -> Figure:
    """Means of a joint's residual over the quantity that it follows.

    Args:
        key: Key of the figure.
        joint: Name of the joint.
        follow: What it follows.
        units: Of velocity and torque.
    """
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": packed(np.array(follow.centres)),
            "y": packed(np.array(follow.means)),
            "line": {"color": RESIDUAL, "width": 1.6},
            "marker": {"color": RESIDUAL, "size": 6},
            "hovertemplate": "%{x:.3g}: %{y:.3g}",
            "showlegend": False,
        }
    ]
    side = "mean residual times sign of velocity" if follow.what.startswith("friction") else "mean residual"
    layout = {
        "xaxis": axis(_abscissa(follow.what, units[0])),
        "yaxis": axis(f"{side} [{units[1]}]", zeroline=True, zerolinecolor="#9ca3af"),
    }
    return Figure(key, data, layout, 260, f"Residual of {plain(joint)}: {follow.what}")


def _abscissa(what: str, of_velocity: str) -> str:
    if what.endswith("time"):
        return "time [s]"
    if what.endswith("temperature"):
        return "temperature, as logged"
    if what == "position":
        return f"position [{of_velocity.removesuffix('/s')}]"
    return what if what == "velocity sign" else f"velocity [{of_velocity}]"


def _followed(
    number: int, joints: Sequence[ResidualRecord], units: Mapping[str, tuple[str, str]]
) -> Iterator[dict[str, Any]]:
    for k, joint in enumerate(joints):
        least = RESIDUAL_THRESHOLDS.followed_share
        clear = [follow for follow in joint.follows if follow.clear and follow.share >= least]
        if clear:
            best = max(clear, key=lambda follow: follow.share)
            figure = following_figure(f"follows{number}-{k}", joint.name, best, units[joint.name])
            finding = Finding.of(
                f"residual-follows-{best.what.replace(' ', '-')}", f"joint '{joint.name}'", share=best.share
            )
            yield {"joint": joint.name, "text": finding.text[0].upper() + finding.text[1:], "figure": figure}


def _row(joint: ResidualRecord, quantities: Sequence[str]) -> dict[str, Any]:
    shares = {follow.what: follow.share for follow in joint.follows}
    correlation_time = 1e3 * joint.correlation_samples * joint.period
    return {"name": joint.name, "time": correlation_time, "shares": [shares.get(what) for what in quantities]}
