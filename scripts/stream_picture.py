"""The picture of change detection for the documentation: `python -m scripts.stream_picture` writes its PNG file.

A UR5 picks a payload of 1 kg up and puts it down again; friction of its elbow rises later. Errors are those of
`benchmarks/stream_changes.py`. Above is the residual of one joint, below the evidence of each kind of change, with the
level that raises an alarm. Drawn by Plotly in Chromium.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from benchmarks.stream_changes import changed, model_of, motion, simulated_errors, truth
from plotly.subplots import make_subplots
from tests.browser import opened

import dynid
from dynid.arrays import Array
from scripts.pictures import IMAGES, shrink

TARGET = IMAGES / "stream_changes.png"
SEED = 700
SECONDS = 200.0
UP, DOWN, RISES, RISEN = 90.0, 120.0, 150.0, 160.0
"""When the payload comes and goes, and when friction begins and ends to rise [s]."""

FIRST = 70.0
"""Begin of the picture [s]."""

ELBOW = 2
BLOCK = 40
"""Samples between two points of the curves."""


def streamed() -> tuple[dynid.Stream, Array, Array, list[dict[str, float]]]:
    """The stream at its end, times [s], residuals [N m], shape (points, joints), and levels."""
    model, rng = model_of("ur5"), np.random.default_rng(SEED)
    p = truth(model, rng)
    t, q, v, a = motion(rng, SECONDS, model.row_count)
    errors = simulated_errors(model)(rng, q, v)
    load, rubs = changed(model, p, rng, None), changed(model, p, rng, ELBOW)
    tau = model.inverse_dynamics(q, v, a, p)
    held = ((t >= UP) & (t < DOWN))[:, None]
    tau = np.where(held, model.inverse_dynamics(q, v, a, load), tau)
    share = np.clip((t - RISES) / (RISEN - RISES), 0.0, 1.0)[:, None]
    tau = tau + share * (model.inverse_dynamics(q, v, a, rubs) - model.inverse_dynamics(q, v, a, p)) + errors
    stream, times, residuals, levels = dynid.Stream(model), [], [], []
    for k in range(0, len(t), BLOCK):
        some = slice(k, k + BLOCK)
        residual = stream.update(q[some], v[some], a[some], tau[some], t=t[some]).residual
        if t[k] >= FIRST:
            times.append(float(t[some][-1]))
            residuals.append(residual.mean(axis=0))
            levels.append(stream.levels)
    return stream, np.array(times), np.array(residuals), levels


def figure() -> go.Figure:
    """Residual and evidence over time."""
    stream, times, residuals, levels = streamed()
    links = {link.name for link in stream.model.robot.links}
    kinds = {"payload": lambda name: name in links, "friction of any joint": lambda name: name not in links}
    found = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.38, 0.62])
    joint = stream.row_names[1]
    found.add_scatter(x=times, y=residuals[:, 1], row=1, col=1, line={"color": "#52606d", "width": 1}, showlegend=False)
    for (kind, is_kind), colour in zip(kinds.items(), ("#0072b2", "#b25d00"), strict=True):
        y = [max((x for name, x in level.items() if is_kind(name)), default=np.nan) for level in levels]
        found.add_scatter(x=times, y=y, name=kind, row=2, col=1, line={"color": colour, "width": 1.6})
    found.add_hline(y=1.0, row=2, col=1, line={"color": "#b23a00", "dash": "dash", "width": 1.2})  # type: ignore[arg-type]
    for k, alarm in enumerate(stream.alarms):
        found.add_vline(x=alarm.seconds, line={"color": "#b23a00", "width": 1.2}, opacity=0.6)
        found.add_annotation(
            x=alarm.seconds, y=1.02 + 0.06 * (len(stream.alarms) - 1 - k), yref="paper", text=str(alarm),
            xanchor="left", yanchor="bottom", showarrow=False, xshift=-4, font={"size": 12, "color": "#b23a00"},
        )  # fmt: skip
    found.update_yaxes(title_text=f"residual of<br>{joint} [N m]", row=1, col=1)
    found.update_yaxes(title_text="evidence, in parts of<br>what raises an alarm", type="log", row=2, col=1, dtick=1)
    found.update_xaxes(range=[FIRST, SECONDS])
    found.update_xaxes(title_text="time [s]", row=2, col=1)
    found.update_layout(
        template="simple_white", width=940, height=470, margin={"l": 80, "r": 20, "t": 96, "b": 46},
        font={"family": "DejaVu Sans, sans-serif", "size": 12},
        legend={"x": 0.01, "y": 0.02, "bgcolor": "rgba(0,0,0,0)"},
    )  # fmt: skip
    return found


def main() -> None:
    """Draw and write it."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "figure.html"
        figure().write_html(page, include_plotlyjs=True, config={"staticPlot": True, "displayModeBar": False})
        with opened(page) as watched:
            watched.page.wait_for_selector(".main-svg")
            watched.page.wait_for_timeout(500)
            watched.page.locator(".js-plotly-plot").screenshot(path=TARGET)
    shrink(TARGET)


if __name__ == "__main__":
    main()
