"""Distances of a robot from itself and its surroundings along a motion, and a figure of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.excitation import ClearanceLimit, CollisionModel, Design, Moves
from dynid.report.figure import DASHES, INK, PALETTE, RESIDUAL, Figure, axis, packed, plain
from dynid.robot import reach

PAIRS = 6
"""Pairs whose distances are drawn: the nearest."""

_RATE, _FEWEST, _MOST = 40.0, 400, 1200
"""Samples of a motion: so many in a second, at least, and at most."""

_SAME = 5e-3
"""Distances [m] that change by less along a motion stay as they are."""


@dataclass(frozen=True, eq=False)
class Clearances:
    """Distances along a motion.

    Attributes:
        model: The pairs whose distances change, or are too small.
        required: The distance that is required [m].
        farthest: Distances are known up to this [m].
        times: Times [s], shape (samples,).
        distances: Distances [m], shape (samples, pairs); those above `farthest` are lower bounds.
        constant: Pairs whose distance stays the same, with it [m].
    """

    model: CollisionModel
    required: float
    farthest: float
    times: Array
    distances: Array
    constant: tuple[tuple[str, float], ...]

    @property
    def nearest(self) -> tuple[str, float, float]:
        """The pair that comes nearest, its distance [m], and the time [s]."""
        sample, pair = np.unravel_index(int(np.argmin(self.distances)), self.distances.shape)
        return self.model.pairs[pair].name, float(self.distances[sample, pair]), float(self.times[sample])


def clearance_limit(part: Design) -> ClearanceLimit | None:
    """The limit on distances that a design keeps; None where none were looked at."""
    return next((limit for limit in part.problem.limits if isinstance(limit, ClearanceLimit)), None)


def times_of(motion: Moves, *more: float) -> Array:
    """Times [s] to look at a motion, with some more."""
    count = int(np.clip(_RATE * motion.duration, _FEWEST, _MOST))
    return np.unique([*np.linspace(0.0, motion.duration, count), *more])


def clearances_along(limit: ClearanceLimit, times: Array, q: Array) -> Clearances:
    """Distances of all pairs of a limit at times [s] with positions (samples, nq)."""
    return clearances_of(limit.model, limit.clearance, times, q)


def clearances_of(model: CollisionModel, required: float, times: Array, q: Array) -> Clearances:
    """Distances of all pairs, where one of `required` [m] is asked for, at times [s] with positions (samples, nq)."""
    farthest = max(0.3 * reach(model.robot), 6.0 * required)
    distances = model.clearances(q, farthest)
    while distances.min() > 0.5 * farthest:  # nothing comes near
        farthest *= 2.0
        distances = model.clearances(q, farthest)
    lowest = distances.min(axis=0)
    still = (np.ptp(distances, axis=0) < _SAME) & (lowest >= required) & (lowest < farthest)
    if still.all():
        still[:] = False
    changing = replace(
        model, pairs=tuple(pair for pair, is_still in zip(model.pairs, still, strict=True) if not is_still)
    )
    constant = tuple((model.pairs[k].name, float(lowest[k])) for k in np.flatnonzero(still))
    return Clearances(changing, required, farthest, times, distances[:, ~still], constant)


def clearance_figure(found: Clearances, key: str, group: str) -> Figure:
    """Distances over time of the pairs that come nearest, with the distance that is required.

    Args:
        found: The distances.
        key: Key of the figure.
        group: Figures of this group have the same horizontal axis.
    """
    lowest = found.distances.min(axis=0)
    shown = [int(k) for k in np.argsort(lowest)[:PAIRS] if lowest[k] < found.farthest]
    top = found.farthest / 1.25  # lines leave the figure where distances are no longer exact
    pair, distance, time = found.nearest
    curves: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": plain(found.model.pairs[k].name),
            "x": packed(found.times),
            "y": packed(np.minimum(found.distances[:, k], found.farthest)),
            "line": {"color": PALETTE[n % 6], "width": 1.6, "dash": DASHES[n // 6 % 4]},
            "hovertemplate": "%{x:.3f} s: %{y:.3f} m",
        }
        for n, k in enumerate(shown)
    ]
    curves.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": "smallest",
            "x": [time],
            "y": [distance],
            "marker": {"color": INK, "size": 10, "symbol": "circle-open", "line": {"width": 2}},
            "showlegend": False,
            "hovertemplate": f"{plain(pair)}: %{{y:.4f}} m at %{{x:.3f}} s<extra></extra>",
        }
    )
    bottom = min(0.0, distance) - 0.06 * top
    line = {"type": "line", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": found.required, "y1": found.required}
    below = {"type": "rect", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": bottom, "y1": found.required}
    layout = {
        "xaxis": axis("time [s]", range=[0.0, float(found.times[-1])]),
        "yaxis": axis("distance [m]", range=[bottom, top]),
        "shapes": [
            below | {"fillcolor": RESIDUAL, "opacity": 0.09, "line": {"width": 0}, "layer": "below"},
            line | {"line": {"color": RESIDUAL, "width": 1.5, "dash": "dash"}},
        ],
        "margin": {"l": 64, "r": 12, "t": 12, "b": 96},
        "legend": {"orientation": "h", "x": 0, "y": -0.22, "yanchor": "top"},
    }
    return Figure(key, curves, layout, 360, "Distances over time of the pairs that come nearest", group)
