"""Figures of logs: torques and recovered signs over time, friction over velocity, spectra."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.estimation import friction_columns, is_frictional
from dynid.identification import SignRecord
from dynid.model import DynamicModel
from dynid.report.drawn_lines import extreme_indices
from dynid.report.drawn_signals import BUCKETS, Cloud, JointTrace, Signals, Spectrum
from dynid.report.figure import DASHES, INK, MEASURED, PALETTE, PREDICTED, RESIDUAL, Figure, axis, packed, plain

POINTS = 201
"""Points of a friction curve."""

STICKING = "predicted, sticking"
"""Name of the band of torques that a sticking joint can have."""

_SHADES = {"undecided": "rgba(213, 94, 0, 0.25)", "likely": "rgba(230, 159, 0, 0.20)"}
"""Colours behind segments that are not sure."""


def torque_figure(key: str, joint: str, trace: JointTrace, of: str, signals: Signals, group: str) -> Figure:
    """Measured and predicted torque of a joint over time, with the residual below."""

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

    band = {"fill": "toself", "fillcolor": f"{PREDICTED}40", "hoverinfo": "skip", "legendrank": 1001}
    lines = (
        (trace.measured, line("measured", trace.measured, MEASURED, 3.0, "")),
        (trace.sticking, line(STICKING, trace.sticking, PREDICTED, 0.5, "") | band),
        (trace.predicted, line("predicted", trace.predicted, PREDICTED, 1.2, "")),
        (trace.residual, line("residual", trace.residual, RESIDUAL, 1.0, "2")),
    )
    data = [figure for values, figure in lines if len(values.time)]
    borders = [
        {"type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1}
        | {"line": {"color": "#9ca3af", "width": 1, "dash": "dot"}}
        for x in [log.start for log in signals.logs[1:]]
    ]
    layout: dict[str, Any]
    side = axis(f"{ {'N': 'force', 'A': 'current'}.get(of, 'torque') } [{of}]")
    if len(trace.residual.time):
        below = axis(f"residual [{of}]", domain=[0.0, 0.31], zeroline=True, zerolinecolor="#9ca3af")
        layout = {"xaxis": axis("time [s]", anchor="y2"), "yaxis": side | {"domain": [0.4, 1.0]}, "yaxis2": below}
    else:
        layout = {"xaxis": axis("time [s]; no row of this joint is used in the estimate"), "yaxis": side}
    layout["shapes"] = borders
    height = 360 if len(trace.residual.time) else 260
    label = f"Measured and predicted torque of {joint} over time, and residual"
    return Figure(key, data, layout, height, label, group)


def friction_figure(
    key: str,
    joint: str,
    clouds: Sequence[Cloud | None],
    curves: Sequence[Cloud],
    names: Sequence[str],
    units: tuple[str, str],
) -> Figure:
    """Friction curves over velocity, with the data behind them."""
    data: list[dict[str, Any]] = []
    for k, cloud in enumerate(clouds):
        if cloud is not None:
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": "measured" if len(names) == 1 else f"{plain(names[k])} measured",
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
                "name": "model" if len(names) == 1 else f"{plain(names[k])} model",
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
            zip(spectrum.names or joints, spectrum.frequency, spectrum.amplitude, strict=True)
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


def friction_curve(model: DynamicModel, parameters: Array, row: int, cloud: Cloud | None) -> Cloud:
    """Torque of all terms that depend on velocity only, or on nothing, over the velocities of the data.

    Args:
        model: The model.
        parameters: Standard parameters, shape (parameters,).
        row: Row of the dynamics.
        cloud: The data; a range of plus and minus 1 where there are none.
    """
    fastest = 1.0 if cloud is None or not len(cloud.velocity) else float(np.abs(cloud.velocity).max()) or 1.0
    v = np.zeros((POINTS, model.robot.nv))
    v[:, model.rows.start + row] = np.linspace(-fastest, fastest, POINTS)
    q = np.tile(model.robot.neutral, (POINTS, 1))
    torque = np.zeros(POINTS)
    columns = iter(friction_columns(model))
    for term in filter(is_frictional, model.terms):
        W = term.columns(model.robot, q, v, np.zeros_like(v))[model.rows.start + row]
        torque += W @ np.array([parameters[next(columns)] for _ in range(W.shape[1])])
    return Cloud(v[:, model.rows.start + row], torque)


def sign_figure(
    key: str, joint: str, column: int, curves: Mapping[str, Array], segments: Sequence[SignRecord], unit: str
) -> Figure:
    """The logged magnitude, the torque with its recovered signs, and the predicted torque over time.

    Args:
        key: Unique in a report.
        joint: The joint.
        column: Its column in the curves.
        curves: `Result.sign_curves`.
        segments: The joint's segments.
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
        ("logged, without sign", "magnitude", RESIDUAL, 1.0, "dot"),
        ("with recovered signs", "torque", MEASURED, 3.0, "solid"),
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
        {"type": "rect", "xref": "x", "yref": "paper", "x0": s.start, "x1": s.stop, "y0": 0, "y1": 1}
        | {"fillcolor": _SHADES[s.word], "line": {"width": 0}, "layer": "below"}
        for s in segments
        if s.word in _SHADES
    ]
    layout = {"xaxis": axis("time [s]"), "yaxis": axis(f"torque [{unit}]", zeroline=True), "shapes": shades}
    label = f"Torque of {joint} as logged without sign, with recovered signs, and as predicted"
    return Figure(key, data, layout, 260, label, "signs")
