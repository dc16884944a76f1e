"""The figure of a robot as bones and ellipsoids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dynid.report.figure import DASHES, INK, PALETTE, Figure, axis, plain
from dynid.report.skeleton import Outline, View


def skeleton_figure(key: str, view: View, names: Sequence[str]) -> Figure:
    """Joints and bones of a robot seen along an axis, with the ellipsoid of each link."""
    data: list[dict[str, Any]] = []
    for bone in view.bones:
        data.append(
            {"type": "scatter", "mode": "lines+markers", "x": bone[:, 0].tolist(), "y": bone[:, 1].tolist()}
            | {"line": {"color": "#9ca3af", "width": 5}, "marker": {"size": 8, "color": INK}}
            | {"hoverinfo": "skip", "showlegend": False}
        )
    for outline in view.outlines:
        data.append(_ellipse(outline, names))
    layout = {
        "xaxis": axis(f"{view.axes[0]} [m]", scaleanchor="y", scaleratio=1, constrain="domain"),
        "yaxis": axis(f"{view.axes[1]} [m]", constrain="domain"),
        "showlegend": False,
        "hovermode": "closest",
        "margin": {"l": 56, "r": 8, "t": 8, "b": 44},
    }
    label = f"Skeleton and inertia ellipsoids in the plane of {view.axes[0]} and {view.axes[1]}"
    return Figure(key, data, layout, 340, label)


def _ellipse(outline: Outline, names: Sequence[str]) -> dict[str, Any]:
    colour = PALETTE[outline.link % 8] if len(names) == 1 else PALETTE[outline.result]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.round(outline.points[:, 0], 5).tolist(),
        "y": np.round(outline.points[:, 1], 5).tolist(),
        "fill": "toself",
        "fillcolor": f"{colour}2e",
        "line": {"color": colour, "width": 1.6, "dash": DASHES[outline.result]},
        "hoveron": "fills",
        "name": "",
        "text": f"{plain(outline.name)}: {outline.mass:.3g} kg",
        "hoverinfo": "text",
    }
