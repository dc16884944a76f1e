"""Figures as data that plotly.js draws. All text from files goes through `plain`."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.report.signals import Cloud, JointTrace, Signals, Spectrum
from dynid.report.skeleton import Outline, View

MEASURED, PREDICTED, RESIDUAL = "#9aa5b1", "#0072B2", "#D55E00"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
"""Okabe and Ito's colours, which colour-blind eyes tell apart, and one more."""
DASHES = ("solid", "dash", "dot", "dashdot")
INK, FAINT = "#1f2933", "#e5e7eb"


@dataclass(frozen=True)
class Figure:
    """A figure to draw.

    Attributes:
        key: Unique in a report.
        data: Traces, as plotly.js takes them.
        layout: Layout, as plotly.js takes it.
        height: Height [px].
        label: What is to be seen, for those who cannot.
        group: Figures of one group share the range of their horizontal axes.
    """

    key: str
    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    height: int
    label: str
    group: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Give what plotly.js needs."""
        return {"data": list(self.data), "layout": {**_LAYOUT, **self.layout, "height": self.height}}


def unit(text: str) -> str:
    """A unit with real superscripts."""
    return text.replace("^2", "²").replace("^3", "³")


def plain(text: str) -> str:
    """Text that plotly.js shows as it is: its own markup and entities are escaped."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")


_AXIS = {
    "gridcolor": FAINT,
    "linecolor": "#9ca3af",
    "ticks": "outside",
    "ticklen": 4,
    "tickcolor": "#9ca3af",
    "zeroline": False,
    "automargin": True,
    "title": {"standoff": 8},
}
_LAYOUT: dict[str, Any] = {
    "font": {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 12.5, "color": INK},
    "paper_bgcolor": "#ffffff",
    "plot_bgcolor": "#ffffff",
    "margin": {"l": 64, "r": 12, "t": 30, "b": 44},
    "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "itemsizing": "constant"},
    "hoverlabel": {"font": {"size": 12}},
    "dragmode": "zoom",
}


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """An axis with a title."""
    return {**_AXIS, "title": {"text": title, "standoff": 8, "font": {"size": 12}}, **more}


def packed(values: Array) -> dict[str, str] | list[Any]:
    """Numbers as plotly.js reads them fastest: 32 bits each, in base64."""
    array = np.asarray(values, dtype="<f4")
    return {"dtype": "f4", "bdata": base64.b64encode(array.tobytes()).decode("ascii")}


def torque_figure(key: str, joint: str, trace: JointTrace, of: str, signals: Signals, group: str) -> Figure:
    """Measured and predicted torque of a joint over time, with what is left below."""

    def line(what: str, values: Any, colour: str, width: float, row: str) -> dict[str, Any]:
        return {
            "type": "scatter",
            "mode": "lines",
            "name": what,
            "x": packed(values.time),
            "y": packed(values.values),
            "line": {"color": colour, "width": width},
            "yaxis": f"y{row}",
            "hovertemplate": "%{x:.3f} s: %{y:.4g}",
        }

    data = [
        line("measured", trace.measured, MEASURED, 3.0, ""),
        line("predicted", trace.predicted, PREDICTED, 1.2, ""),
        line("residual", trace.residual, RESIDUAL, 1.0, "2"),
    ]
    borders = [
        {"type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1}
        | {"line": {"color": "#9ca3af", "width": 1, "dash": "dot"}}
        for x in signals.starts[1:]
    ]
    layout = {
        "xaxis": axis("time [s]", anchor="y2"),
        "yaxis": axis(f"torque [{of}]" if of == "N m" else f"force [{of}]", domain=[0.4, 1.0]),
        "yaxis2": axis(f"residual [{of}]", domain=[0.0, 0.31], zeroline=True, zerolinecolor="#9ca3af"),
        "shapes": borders,
    }
    return Figure(key, data, layout, 360, f"Measured and predicted torque of {joint} over time, and residual", group)


def parameter_figure(key: str, rows: Sequence[Mapping[str, Any]], confidence: float, names: Sequence[str]) -> Figure:
    """Values with intervals, a panel for each unit; several results side by side.

    Args:
        key: Key of the figure.
        rows: For each parameter `name`, `unit`, `reference` (None where unknown) and `estimates`: a list of value, lower
            and upper, one for each result (None where a result lacks the parameter).
        confidence: Of the intervals.
        names: What each result is called.
    """
    units = list(dict.fromkeys(row["unit"] for row in rows))
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {}
    step, gap, top = 19 * max(1.0, 0.6 * len(names) + 0.4), 62, 34
    heights = [step * sum(row["unit"] == of for row in rows) + 8 for of in units]
    total = sum(heights) + gap * len(units)
    below = total
    for k, (of, height) in enumerate(zip(units, heights, strict=True)):
        own = [row for row in rows if row["unit"] == of][::-1]
        suffix = "" if k == 0 else str(k + 1)
        where = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}", "showlegend": k == 0}
        data += _intervals(own, names, confidence, where)
        layout[f"yaxis{suffix}"] = axis(
            domain=[(below - height) / total, below / total],
            tickvals=list(range(len(own))),
            ticktext=[row["name"] for row in own],
            range=[-0.7, len(own) - 0.3],
            anchor=f"x{suffix}",
            fixedrange=True,
        )
        layout[f"xaxis{suffix}"] = axis(
            f"[{unit(of)}]", anchor=f"y{suffix}", zeroline=True, zerolinecolor="#9ca3af"
        )
        below -= height + gap
    layout["margin"] = {"l": 64, "r": 12, "t": top, "b": 6}
    return Figure(key, data, layout, round(total + top), "Parameters with confidence intervals")


def _intervals(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], confidence: float, where: Mapping[str, Any]
) -> list[dict[str, Any]]:
    traces = []
    for k, name in enumerate(names):
        shown = [(i, row["estimates"][k]) for i, row in enumerate(rows) if row["estimates"][k] is not None]
        shift = 0.0 if len(names) == 1 else 0.18 * (1 - 2 * k)
        values = [estimate["value"] for _, estimate in shown]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": f"{plain(name)} with {confidence:.0%} interval",
                "x": values,
                "y": [i + shift for i, _ in shown],
                "text": [rows[i]["name"] for i, _ in shown],
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [estimate["upper"] - estimate["value"] for _, estimate in shown],
                    "arrayminus": [estimate["value"] - estimate["lower"] for _, estimate in shown],
                    "color": PALETTE[k],
                    "thickness": 2,
                    "width": 4,
                },
                "marker": {"color": PALETTE[k], "size": 6, "symbol": ("circle", "square")[k % 2]},
                "hovertemplate": "%{text}: %{x:.5g}",
                **where,
            }
        )
    known = [(i, row["reference"]) for i, row in enumerate(rows) if row["reference"] is not None]
    traces.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": "robot file",
            "x": [value for _, value in known],
            "y": [i for i, _ in known],
            "text": [rows[i]["name"] for i, _ in known],
            "marker": {"color": INK, "size": 9, "symbol": "diamond-open"},
            "hovertemplate": "%{text} in the file: %{x:.5g}",
            **where,
        }
    )
    return traces


def bars_figure(key: str, names: Sequence[str], values: Sequence[float], title: str, label: str, mark: float) -> Figure:
    """Bars on a logarithmic axis, with a line at a value that matters; those beyond it in another colour."""
    data = {
        "type": "bar",
        "x": list(range(1, len(values) + 1)) if not names else list(names),
        "y": list(values),
        "marker": {"color": [RESIDUAL if mark and value > mark else PREDICTED for value in values]},
        "hovertemplate": "%{x}: %{y:.3g}",
        "name": "",
    }
    low = min((value for value in values if value > 0.0), default=1.0)
    high = max([*values, mark or 0.0], default=1.0) or 1.0
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": mark, "y1": mark, "line": {"color": INK, "dash": "dash"}}
    layout = {
        "xaxis": axis(type="category", tickangle=-90, tickfont={"size": 11}) if names else axis("combination", dtick=5),
        "yaxis": axis(title, type="log", range=[math.floor(math.log10(low) * 2 - 0.2) / 2, math.log10(high) + 0.15])
        | {"dtick": 1, "exponentformat": "power"},
        "shapes": [line] if mark else [],
        "bargap": 0.25,
        "margin": {"l": 64, "r": 12, "t": 10, "b": 44},
    }
    return Figure(key, [data], layout, 280, label)


def friction_figure(
    key: str, joint: str, clouds: Sequence[Cloud | None], curves: Sequence[Cloud], names: Sequence[str], units: tuple[str, str]
) -> Figure:
    """Friction curves over velocity, with the data behind them."""
    data: list[dict[str, Any]] = []
    for k, cloud in enumerate(clouds):
        if cloud is not None:
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": "measured" if len(names) == 1 else f"{plain(names[k])}, measured",
                    "x": packed(cloud.velocity),
                    "y": packed(cloud.torque),
                    "marker": {"color": "#6b7280" if len(names) == 1 else PALETTE[k], "size": 4, "opacity": 0.35},
                    "hovertemplate": "%{x:.3g}: %{y:.4g}",
                }
            )
    for k, curve in enumerate(curves):
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": "model" if len(names) == 1 else f"{plain(names[k])}, model",
                "x": packed(curve.velocity),
                "y": packed(curve.torque),
                "line": {"color": PALETTE[k], "width": 2, "dash": DASHES[k]},
                "hovertemplate": "%{x:.3g}: %{y:.4g}",
            }
        )
    layout = {
        "xaxis": axis(f"velocity [{units[0]}]", zeroline=True, zerolinecolor="#9ca3af"),
        "yaxis": axis(f"friction [{units[1]}]", zeroline=True, zerolinecolor="#9ca3af"),
    }
    return Figure(key, data, layout, 280, f"Friction of {joint} over velocity")


def spectrum_figure(key: str, spectrum: Spectrum, joints: Sequence[str], title: str, cutoff: float | None) -> Figure:
    """Amplitude densities of all joints, with the cut-off of the filter."""
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": plain(joint),
            "x": packed(frequency),
            "y": packed(amplitude),
            "line": {"color": PALETTE[k % 8], "width": 1.3, "dash": DASHES[(k // 8) % 4]},
            "hovertemplate": "%{x:.3g} Hz: %{y:.3g}",
        }
        for k, (joint, frequency, amplitude) in enumerate(
            zip(joints, spectrum.frequency, spectrum.amplitude, strict=True)
        )
    ]
    layout: dict[str, Any] = {
        "xaxis": axis("frequency [Hz]", type="log", dtick=1, exponentformat="none"),
        "yaxis": axis(title, type="log", dtick=1, exponentformat="power"),
    }
    if cutoff is not None:
        layout["shapes"] = [
            {"type": "line", "yref": "paper", "x0": cutoff, "x1": cutoff, "y0": 0, "y1": 1}
            | {"line": {"color": INK, "width": 1.5, "dash": "dash"}}
        ]
        layout["annotations"] = [
            {"x": math.log10(cutoff), "y": 0.98, "yref": "paper", "text": f"cut-off {cutoff:g} Hz", "showarrow": False}
            | {"xanchor": "right", "xshift": -6, "bgcolor": "#ffffff"}
        ]
    return Figure(key, data, layout, 320, title, "")


def error_figure(key: str, joints: Sequence[str], errors: Mapping[str, Sequence[float]]) -> Figure:
    """Relative errors of joints, a bar for each set of logs or each result."""
    data = [
        {
            "type": "bar",
            "name": plain(name),
            "x": [plain(joint) for joint in joints],
            "y": [100.0 * value for value in values],
            "marker": {"color": PALETTE[k % 8]},
            "hovertemplate": "%{x}: %{y:.3g} %",
        }
        for k, (name, values) in enumerate(errors.items())
    ]
    layout = {
        "xaxis": axis(type="category"),
        "yaxis": axis("relative error [%]", rangemode="tozero"),
        "barmode": "group",
        "bargap": 0.3,
        "showlegend": True,
    }
    return Figure(key, data, layout, 280, "Relative error of each joint")


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


