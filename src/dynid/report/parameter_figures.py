"""Figures of parameters and errors: intervals and bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dynid.model.base_parameters import BaseParameters
from dynid.report.figure import INK, PALETTE, PREDICTED, RESIDUAL, Figure, axis, plain, unit
from dynid.report.subject import Subject


def parameter_figure(key: str, rows: Sequence[Mapping[str, Any]], confidence: float, names: Sequence[str]) -> Figure:
    """Values with intervals, a panel for each unit; several results side by side.

    Args:
        key: Key of the figure.
        rows: For each parameter `name`, `unit`, `reference` (None where unknown) and `estimates`: value, lower and
            upper of each result (None where a result lacks the parameter).
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
        layout[f"xaxis{suffix}"] = axis(f"[{unit(of)}]", anchor=f"y{suffix}", zeroline=True, zerolinecolor="#9ca3af")
        below -= height + gap
    layout["margin"] = {"l": 64, "r": 12, "t": top, "b": 6}
    return Figure(key, data, layout, round(total + top), "Parameters with confidence intervals")


def _by_blocks(
    shown: Sequence[tuple[int, Mapping[str, Any]]], shift: float, name: str, where: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Intervals that do not assume white errors, thin and grey behind the others."""
    known = [(i, estimate) for i, estimate in shown if estimate.get("bootstrap_std")]
    if not known:
        return []
    trace = {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [estimate["value"] for _, estimate in known],
        "y": [i + shift for i, _ in known],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [estimate["bootstrap_upper"] - estimate["value"] for _, estimate in known],
            "arrayminus": [estimate["value"] - estimate["bootstrap_lower"] for _, estimate in known],
            "color": "#6b7280",
            "thickness": 1,
            "width": 3,
        },
        "marker": {"color": "#6b7280", "size": 3},
        "hoverinfo": "skip",
        **where,
    }
    return [trace if name else trace | {"showlegend": False}]


def _intervals(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], confidence: float, where: Mapping[str, Any]
) -> list[dict[str, Any]]:
    traces = []
    for k, name in enumerate(names):
        shown = [(i, row["estimates"][k]) for i, row in enumerate(rows) if row["estimates"][k] is not None]
        shift = 0.0 if len(names) == 1 else 0.18 * (1 - 2 * k)
        values = [estimate["value"] for _, estimate in shown]
        traces += _by_blocks(shown, shift, "by blocks of time" if len(names) == 1 else "", where)
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


def parameter_rows(subjects: Sequence[Subject]) -> list[dict[str, Any]]:
    """For each base parameter of any result its name, expression, unit, file's value, and each result's estimate."""
    rows: dict[str, dict[str, Any]] = {}
    for subject in subjects:
        base = subject.result.base
        references = dict(zip(base.names, base.to_base(base.model.reference).tolist(), strict=True))
        owners = {base.model.names[k]: base.model.parameters[k].owner for k in base.columns}
        for row in subject.result.data["parameters"]:
            reference = references[row["name"]]
            rows.setdefault(
                row["name"],
                {
                    "name": row["name"],
                    "expression": row["expression"],
                    "unit": row["unit"],
                    "owner": owners[row["name"]],
                    "reference": reference if np.isfinite(reference) else None,
                },
            )
    by_result = [{row["name"]: row for row in subject.result.data["parameters"]} for subject in subjects]
    essential = [{row["name"] for row in subject.result.data["essential"]} for subject in subjects]
    for name, row in rows.items():
        row["estimates"] = [of_result.get(name) for of_result in by_result]
        row["essential"] = [name in names for names in essential]
    return list(rows.values())


def identifiability(base: BaseParameters) -> dict[str, Any]:
    """For each link and joint how each of its parameters shows: alone, in sums, not at all, or known beforehand."""
    alone = {next(iter(group)) for group in base.groups if len(group) == 1}
    state = dict.fromkeys(base.model.names, "sum")
    state |= dict.fromkeys(alone, "alone") | dict.fromkeys(base.no_effect, "none") | dict.fromkeys(base.known, "known")
    robot = base.model.robot
    links = []
    for index in robot.solid_links:
        link = robot.links[index].name
        cells = [{"name": p.name, "state": state[p.name]} for p in base.model.parameters if p.link == link]
        links.append({"name": link, "cells": cells})
    terms = [{"name": p.name, "state": state[p.name]} for p in base.model.parameters if p.link is None]
    counts = {kind: sum(value == kind for value in state.values()) for kind in ("alone", "sum", "none", "known")}
    return {"links": links, "terms": terms, "counts": counts}
