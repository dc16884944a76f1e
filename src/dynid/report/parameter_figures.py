"""Figures of parameters and errors: intervals and bars."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.identification import ParameterEstimate
from dynid.report.figure import INK, PALETTE, PREDICTED, RESIDUAL, Figure, axis, plain, unit
from dynid.report.subject import Subject


@dataclass(frozen=True)
class ParameterRow:
    """A base parameter, and what each result says of it.

    Attributes:
        name: Its name.
        expression: The linear combination of standard parameters that it is.
        unit: Its unit.
        owner: The link or joint that it belongs to.
        reference: Its value in the robot file; None where that does not state it.
        estimates: The estimate of each result; None where a result lacks it.
        essential: Whether it is essential, by result.
    """

    name: str
    expression: str
    unit: str
    owner: str
    reference: float | None
    estimates: tuple[ParameterEstimate | None, ...]
    essential: tuple[bool, ...]


def parameter_rows(subjects: Sequence[Subject]) -> list[ParameterRow]:
    """The base parameters of all results."""
    found = [{row.name: row for row in subject.result.record.parameters} for subject in subjects]
    essential = [{row.name for row in subject.result.record.essential} for subject in subjects]
    rows: dict[str, ParameterRow] = {}
    for subject, own in zip(subjects, found, strict=True):
        base = subject.result.base
        values = base.to_base(base.model.reference)
        if subject.result.is_in_amperes:  # the file's kg and N m are no currents
            values = np.full(len(base), np.nan)
        references = dict(zip(base.names, values.tolist(), strict=True))
        owners = {base.model.names[k]: base.model.parameters[k].owner for k in base.columns}
        for name, row in own.items():
            if name not in rows:
                rows[name] = ParameterRow(
                    name=name,
                    expression=row.expression,
                    unit=row.unit,
                    owner=owners[name],
                    reference=references[name] if np.isfinite(references[name]) else None,
                    estimates=tuple(of_result.get(name) for of_result in found),
                    essential=tuple(name in names for names in essential),
                )
    return list(rows.values())


def parameter_figure(key: str, rows: Sequence[ParameterRow], confidence: float, names: Sequence[str]) -> Figure:
    """Values with intervals, a panel for each unit; several results side by side.

    Args:
        key: Key of the figure.
        rows: The parameters.
        confidence: Of the intervals.
        names: Names of the results.
    """
    units = list(dict.fromkeys(row.unit for row in rows))
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {}
    step, gap, top = 19 * max(1.0, 0.6 * len(names) + 0.4), 62, 34
    heights = [step * sum(row.unit == of for row in rows) + 8 for of in units]
    total = sum(heights) + gap * len(units)
    below = total
    for k, (of, height) in enumerate(zip(units, heights, strict=True)):
        own = [row for row in rows if row.unit == of][::-1]
        suffix = "" if k == 0 else str(k + 1)
        where = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}", "showlegend": k == 0}
        data += _intervals(own, names, confidence, where)
        layout[f"yaxis{suffix}"] = axis(
            domain=[(below - height) / total, below / total],
            tickvals=list(range(len(own))),
            ticktext=[row.name for row in own],
            range=[-0.7, len(own) - 0.3],
            anchor=f"x{suffix}",
            fixedrange=True,
        )
        layout[f"xaxis{suffix}"] = axis(f"[{unit(of)}]", anchor=f"y{suffix}", zeroline=True, zerolinecolor="#9ca3af")
        below -= height + gap
    layout["margin"] = {"l": 64, "r": 12, "t": top, "b": 6}
    return Figure(key, data, layout, round(total + top), "Parameters with confidence intervals")


def _intervals(
    rows: Sequence[ParameterRow], names: Sequence[str], confidence: float, where: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Estimates with intervals, those by block bootstrap thin and grey behind the others, and the file's values."""
    traces = []
    for k, name in enumerate(names):
        shown = [(i, estimate) for i, row in enumerate(rows) if (estimate := row.estimates[k]) is not None]
        shift = 0.0 if len(names) == 1 else 0.18 * (1 - 2 * k)
        wide = [
            (i + shift, estimate.value, estimate.bootstrap_lower, estimate.bootstrap_upper)
            for i, estimate in shown
            if estimate.bootstrap_lower is not None and estimate.bootstrap_upper is not None
        ]
        if wide:
            label = {"name": "block bootstrap"} if len(names) == 1 else {"name": "", "showlegend": False}
            marker = {"color": "#6b7280", "size": 3}
            traces.append(_marks(wide, marker, thickness=1) | {"hoverinfo": "skip", **where, **label})
        narrow = [(i + shift, estimate.value, estimate.lower, estimate.upper) for i, estimate in shown]
        marker = {"color": PALETTE[k], "size": 6, "symbol": ("circle", "square")[k % 2]}
        traces.append(
            _marks(narrow, marker, thickness=2)
            | {"name": f"{plain(name)} with {confidence:.0%} interval", "hovertemplate": "%{text}: %{x:.5g}"}
            | {"text": [rows[i].name for i, _ in shown], **where}
        )
    stated = [(i, row.reference, row.name) for i, row in enumerate(rows) if row.reference is not None]
    traces.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": "robot file",
            "x": [value for _, value, _ in stated],
            "y": [i for i, _, _ in stated],
            "text": [name for _, _, name in stated],
            "marker": {"color": INK, "size": 9, "symbol": "diamond-open"},
            "hovertemplate": "%{text} in the file: %{x:.5g}",
            **where,
        }
    )
    return traces


def _marks(
    points: Sequence[tuple[float, float, float, float]], marker: Mapping[str, Any], thickness: int
) -> dict[str, Any]:
    """Marks with horizontal bars; points are (height, value, lower end, upper end)."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [value for _, value, _, _ in points],
        "y": [y for y, _, _, _ in points],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [upper - value for _, value, _, upper in points],
            "arrayminus": [value - lower for _, value, lower, _ in points],
            "color": marker["color"],
            "thickness": thickness,
            "width": 2 + thickness,
        },
        "marker": dict(marker),
    }


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
    line = {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": mark,
        "y1": mark,
        "line": {"color": INK, "dash": "dash"},
    }
    layout = {
        "xaxis": axis(type="category", tickangle=-90, tickfont={"size": 11}) if names else axis("combination", dtick=5),
        "yaxis": axis(title, type="log", range=[math.floor(math.log10(low) * 2 - 0.2) / 2, math.log10(high) + 0.15])
        | {"dtick": 1, "exponentformat": "power"},
        "shapes": [line] if mark else [],
        "bargap": 0.25,
        "margin": {"l": 64, "r": 12, "t": 10, "b": 44},
    }
    return Figure(key, [data], layout, 280, label)


def error_figure(
    key: str, joints: Sequence[str], errors: Mapping[str, Sequence[float]], title: str = "Relative error of each joint"
) -> Figure:
    """Relative errors of joints, or of what else there is, a bar for each set of logs or each result."""
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
    return Figure(key, data, layout, 280, title)
