"""Figures of results that were identified from commands: rollouts over time, the delay's profile, correlations."""

import math
from collections.abc import Sequence
from typing import Any

from dynid.identification import CommandRecord, JointTable
from dynid.report.drawn_lines import Line
from dynid.report.drawn_rollouts import RolledLog, RolloutTrace
from dynid.report.figure import DASHES, MEASURED, PALETTE, PREDICTED, RESIDUAL, Figure, axis, packed, plain

COMMAND = "#009E73"
"""Colour of commands."""

TRADING = ("Ia", "fv")
"""Symbols of the parameters that trade with the delay."""


def rollout_figure(key: str, joint: str, trace: RolloutTrace, of: str, logs: Sequence[RolledLog], group: str) -> Figure:
    """Measured and simulated positions of a joint over time, with the errors of the simulation below."""

    def line(what: str, values: Line, style: dict[str, Any], row: str = "") -> dict[str, Any]:
        return {
            "type": "scatter",
            "mode": "lines",
            "name": what,
            "x": packed(values.time),
            "y": packed(values.values),
            "line": style,
            "yaxis": f"y{row}",
            "legendgroup": what,
            "showlegend": not row,
            "hovertemplate": "%{x:.3f} s: %{y:.4g}",
        }

    own, file = "identified", "robot file"
    lines = (
        (trace.command, line("command", trace.command, {"color": COMMAND, "width": 1.0, "dash": "dot", "shape": "hv"})),
        (trace.measured, line("measured", trace.measured, {"color": MEASURED, "width": 3.0})),
        (trace.robot_file, line(file, trace.robot_file, {"color": RESIDUAL, "width": 1.0, "dash": "dash"})),
        (trace.identified, line(own, trace.identified, {"color": PREDICTED, "width": 1.2})),
        (trace.file_error, line(file, trace.file_error, {"color": RESIDUAL, "width": 0.8}, "2")),
        (trace.error, line(own, trace.error, {"color": PREDICTED, "width": 1.0}, "2")),
    )
    below = axis(f"error [m{of}]", domain=[0.0, 0.33], zeroline=True, zerolinecolor="#9ca3af")
    layout = {
        "xaxis": axis("time [s]", anchor="y2"),
        "yaxis": axis(f"position [{of}]", domain=[0.41, 1.0]),
        "yaxis2": below,
        "shapes": [
            {"type": "line", "xref": "x", "yref": "paper", "x0": log.start, "x1": log.start, "y0": 0, "y1": 1}
            | {"line": {"color": "#9ca3af", "width": 1, "dash": "dot"}}
            for log in logs[1:]
        ],
    }
    label = f"Measured, simulated and commanded positions of {joint} over time, and errors of the simulation"
    return Figure(key, [figure for values, figure in lines if len(values.time)], layout, 380, label, group)


def delay_figure(key: str, found: CommandRecord, table: JointTable, unit: str) -> Figure:
    """Errors of rollouts over the delay, and how parameters change with it, relative to where the error is least."""
    trials = sorted(found.profile, key=lambda trial: trial.delay)
    best = min(trials, key=lambda trial: trial.rmse)
    times = [1e3 * trial.delay for trial in trials]
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "error of rollouts",
            "x": times,
            "y": [1e3 * trial.rmse for trial in trials],
            "line": {"color": PREDICTED, "width": 2},
            "hovertemplate": "%{x:.2f} ms: %{y:.3g}",
        }
    ]
    for k, column in enumerate(column for column in table.columns if column.symbol in TRADING):
        names = [cell.name for cell in column.cells if cell is not None and best.values.get(cell.name, 0.0) > 0.0]
        for i, name in enumerate(names):
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": plain(column.name),
                    "legendgroup": column.symbol,
                    "showlegend": i == 0,
                    "x": times,
                    "y": [100.0 * trial.values[name] / best.values[name] for trial in trials],
                    "yaxis": "y2",
                    "line": {"color": PALETTE[1 + k], "width": 1, "dash": DASHES[k]},
                    "text": [plain(name)] * len(trials),
                    "hovertemplate": "%{text} at %{x:.2f} ms: %{y:.0f} %",
                }
            )
    layout = {
        "xaxis": axis("delay [ms]", anchor="y2"),
        "yaxis": axis(f"rollout RMSE [{unit}]", domain=[0.55, 1.0], rangemode="tozero"),
        "yaxis2": axis("value [%]", domain=[0.0, 0.45]),
        "shapes": list(_interval(found)),
        "showlegend": True,
    }
    return Figure(key, data, layout, 400, "Errors of rollouts and parameters over the delay")


def _interval(found: CommandRecord) -> list[dict[str, Any]]:
    """A line at the delay that was identified, and a band over its interval."""
    at = 1e3 * found.delay
    across: dict[str, Any] = {"xref": "x", "yref": "paper", "y0": 0, "y1": 1}
    shapes = [{"type": "line", "x0": at, "x1": at, "line": {"color": "#6b7280", "width": 1, "dash": "dot"}, **across}]
    row = next((row for row in found.parameters if row.name == "delay" and row.state == "determined"), None)
    if row is not None:
        ends = {"x0": 1e3 * row.lower, "x1": 1e3 * row.upper}
        shapes.append({"type": "rect", "fillcolor": "rgba(0, 114, 178, 0.12)", "line": {"width": 0}, **ends, **across})
    return shapes


def correlation_figure(key: str, found: CommandRecord) -> Figure:
    """Correlations of all estimates as a map of colours."""
    names = [plain(row.name) for row in found.parameters]
    data = {
        "type": "heatmap",
        "x": names,
        "y": names,
        "z": [[round(value, 2) if math.isfinite(value) else 0.0 for value in row] for row in found.correlations],
        "zmin": -1,
        "zmax": 1,
        "colorscale": [[0, "#D55E00"], [0.5, "#ffffff"], [1, "#0072B2"]],
        "colorbar": {"thickness": 12, "outlinewidth": 0},
        "hovertemplate": "%{x} and %{y}: %{z:.2f}<extra></extra>",
    }
    size = max(320, min(720, 90 + 12 * len(names)))
    layout = {
        "xaxis": axis(type="category", tickangle=-90, tickfont={"size": 9}, side="bottom"),
        "yaxis": axis(type="category", autorange="reversed", tickfont={"size": 9}),
        "margin": {"l": 54, "r": 12, "t": 10, "b": 54},
    }
    return Figure(key, [data], layout, size, "Correlations of the estimated parameters")
