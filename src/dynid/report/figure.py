"""What a report is made of: sections, and figures as data that plotly.js draws.

All text from files goes through `plain` before plotly.js gets it.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.arrays import Array

MEASURED, PREDICTED, RESIDUAL = "#9aa5b1", "#0072B2", "#D55E00"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
"""Colours of Okabe and Ito, distinguishable by colour-blind readers, and one more."""
DASHES = ("solid", "dash", "dot", "dashdot")
INK, FAINT = "#1f2933", "#e5e7eb"


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a report.

    Attributes:
        key: Its name in links.
        title: Its title.
        template: The template that shows it.
        data: What the template needs.
        brief: Its most important number or words, shown beside the title, also while it is closed.
        is_open: Whether it is open at first.
    """

    key: str
    title: str
    template: str
    data: Mapping[str, Any]
    brief: str = ""
    is_open: bool = True


@dataclass(frozen=True)
class Figure:
    """A figure to draw.

    Attributes:
        key: Unique in a report.
        data: Traces, as plotly.js takes them.
        layout: Layout, as plotly.js takes it.
        height: Height [px].
        label: A description for screen readers.
        group: Figures of one group share the range of their horizontal axes.
    """

    key: str
    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    height: int
    label: str
    group: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plotly.js takes it."""
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
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
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
