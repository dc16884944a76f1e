"""Pictures of torques that were logged without signs: what was logged, the signs that were found, and the model."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.report.downsampling import extreme_indices
from dynid.report.figure import MEASURED, PREDICTED, RESIDUAL, Figure, axis, packed

BUCKETS = 1500
"""Points of a line, at most twice as many."""

_SHADES = {"undecided": "rgba(213, 94, 0, 0.25)", "likely": "rgba(230, 159, 0, 0.20)"}
"""Colours behind segments that are not sure."""


def read_curves(folder: Path) -> Mapping[str, Array] | None:
    """The curves that a result saved of its signs; None where it has none, or they cannot be read."""
    try:
        with np.load(folder / "signs.npz", allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return None


def sign_figure(
    key: str, joint: str, column: int, curves: Mapping[str, Array], segments: Sequence[Mapping[str, Any]], unit: str
) -> Figure:
    """The magnitude that was logged, the torque with its signs, and what the model predicts, over time.

    Args:
        key: Unique in a report.
        joint: The joint.
        column: Its column in the curves.
        curves: What `read_curves` gives.
        segments: The joint's segments: `start`, `stop` [s] and `word`.
        unit: Of the torque.
    """
    pieces = [name.removeprefix("time_") for name in curves if name.startswith("time_")]
    lines = {"torque": [], "magnitude": [], "predicted": []}
    times: list[Array] = []
    for piece in pieces:
        picked = extreme_indices(curves[f"torque_{piece}"][:, column], BUCKETS)
        times += [curves[f"time_{piece}"][picked], np.array([np.nan])]  # a gap between pieces
        for name, parts in lines.items():
            parts += [curves[f"{name}_{piece}"][picked, column], np.array([np.nan])]
    x = np.concatenate(times)
    drawn = [
        ("logged, without signs", "magnitude", RESIDUAL, 1.0, "dot"),
        ("with the signs found", "torque", MEASURED, 3.0, "solid"),
        ("predicted", "predicted", PREDICTED, 1.2, "solid"),
    ]
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": packed(x),
            "y": packed(np.concatenate(lines[of])),
            "line": {"color": colour, "width": width, "dash": dash},
            "hovertemplate": "%{x:.3f} s: %{y:.4g}",
        }
        for name, of, colour, width, dash in drawn
    ]
    shades = [
        {"type": "rect", "xref": "x", "yref": "paper", "x0": s["start"], "x1": s["stop"], "y0": 0, "y1": 1}
        | {"fillcolor": _SHADES[s["word"]], "line": {"width": 0}, "layer": "below"}
        for s in segments
        if s["word"] in _SHADES
    ]
    layout = {"xaxis": axis("time [s]"), "yaxis": axis(f"torque [{unit}]", zeroline=True), "shapes": shades}
    label = f"Torque of {joint} as logged without signs, with the signs found, and as predicted"
    return Figure(key, data, layout, 260, label, "signs")
