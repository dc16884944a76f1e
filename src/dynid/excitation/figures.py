"""Plots of a motion against its limits: one HTML page with inline SVG, which needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array

_WIDTH, _HEIGHT, _LEFT, _EDGE = 420, 150, 52, 18
_POINTS = 400


@dataclass(frozen=True, eq=False)
class Panel:
    """One curve and its limits.

    Attributes:
        title: What is shown.
        unit: Its unit.
        values: The curve, shape (samples,).
        limits: Smallest and largest value allowed; infinite where there is no limit.
    """

    title: str
    unit: str
    values: Array
    limits: tuple[float, float]


def page(title: str, summary: Sequence[str], times: Array, rows: Sequence[Sequence[Panel]]) -> str:
    """A page with rows of panels over time [s]; all text is escaped."""
    figures = "\n".join(
        '<div class="row">' + "".join(_svg(times, panel) for panel in panels) + "</div>" for panels in rows
    )
    paragraphs = "\n".join(f"<p>{html.escape(line)}</p>" for line in summary)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>
<style>
body {{ font-family: sans-serif; margin: 1.5em; color: #222; }}
.row {{ display: flex; flex-wrap: wrap; gap: 8px; }}
svg {{ background: #fafafa; border: 1px solid #ddd; }}
text {{ font-size: 11px; fill: #444; }}
</style></head><body>
<h1>{html.escape(title)}</h1>
{paragraphs}
{figures}
</body></html>
"""


def _svg(times: Array, panel: Panel) -> str:
    finite = [limit for limit in panel.limits if np.isfinite(limit)]
    low = min([float(panel.values.min()), *finite])
    high = max([float(panel.values.max()), *finite])
    room = 0.05 * (high - low) or 1.0
    low, high = low - room, high + room
    some = np.unique(np.linspace(0, len(times) - 1, _POINTS).astype(int))
    x = _LEFT + (_WIDTH - _LEFT - _EDGE) * times[some] / max(float(times[-1]), 1e-9)

    def height(value: float) -> float:
        return _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * (value - low) / (high - low)

    points = " ".join(f"{a:.1f},{height(float(b)):.1f}" for a, b in zip(x, panel.values[some], strict=True))
    lines = "".join(
        f'<line x1="{_LEFT}" x2="{_WIDTH - _EDGE}" y1="{height(limit):.1f}" y2="{height(limit):.1f}" '
        f'stroke="#c33" stroke-dasharray="4 3"/><text x="2" y="{height(limit) + 4:.1f}">{limit:.3g}</text>'
        for limit in finite
    )
    title = html.escape(f"{panel.title} [{panel.unit}]")
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{title}">'
        f'<text x="{_LEFT}" y="13">{title}</text>{lines}'
        f'<polyline points="{points}" fill="none" stroke="#1565c0" stroke-width="1.4"/>'
        f'<text x="{_WIDTH - 46}" y="{_HEIGHT - 4}">{times[-1]:.3g} s</text></svg>'
    )
