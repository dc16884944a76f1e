"""A page of external torques: each joint over time with thresholds and contacts, and the load; needs nothing else."""

from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.estimation import LOAD_THRESHOLDS
from dynid.files import write_text
from dynid.identification.observation import Observation
from dynid.report.drawn_lines import Line, broken_line
from dynid.report.drawn_signals import BUCKETS
from dynid.report.figure import MEASURED, PREDICTED, RESIDUAL, Figure, axis, packed, plain
from dynid.report.rendering import rendered

CONTACT = "rgba(213, 94, 0, 0.22)"
"""Colour behind contacts."""

SHADED_CONTACTS = 300
"""Contacts that are shaded at most; all are in the table."""

LISTED_CONTACTS = 200
"""Contacts in the table at most; all are in the JSON."""


def write_contact_page(found: Observation, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a page with the external torques of a log.

    Args:
        found: The observation.
        path: The file.
        overwrite: Whether an existing file may be replaced.

    Raises:
        OutputExistsError: If the file exists and may not be replaced.
    """
    write_text(Path(path), contact_page(found), overwrite=overwrite)
    return Path(path)


def contact_page(found: Observation) -> str:
    """The page as text."""
    contents = [
        {"key": "contacts", "title": "Contacts"},
        {"key": "torques", "title": "External torques"},
        {"key": "load", "title": "Load"},
        {"key": "thresholds", "title": "Thresholds"},
    ]
    load = found.payload
    return rendered(
        "contacts.html",
        title=f"{found.robot}: {found.name}",
        contents=[part for part in contents if part["key"] != "load" or load is not None],
        found=found,
        listed=found.contacts[:LISTED_CONTACTS],
        units=dict(zip(found.joints, found.units, strict=True)),
        rows=list(zip(found.joints, found.units, found.thresholds.scales, found.thresholds.peaks, strict=True)),
        figures=[torque_figure(found, k) for k in range(len(found.joints))],
        load=load,
        window=LOAD_THRESHOLDS.window,
        load_figure=None if load is None else load_figure(found),
    )


def torque_figure(found: Observation, joint: int) -> Figure:
    """External torque of a joint over time, between its thresholds, with the contacts shaded."""
    name, of = found.joints[joint], found.units[joint]
    limits = found.limits[:, joint]
    lines = (
        ("threshold", limits, MEASURED, 1.0),
        ("threshold, negative", -limits, MEASURED, 1.0),
        ("external torque" if of == "N m" else "external force", found.external_torque[:, joint], PREDICTED, 1.2),
    )
    data = [_line(what, _drawn(found, values), colour, width) for what, values, colour, width in lines]
    data[1] |= {"showlegend": False}
    touched = sorted(found.contacts, key=lambda contact: -contact.seconds)[:SHADED_CONTACTS]
    least = 0.002 * float(found.time[-1])
    shades = [
        {"type": "rect", "xref": "x", "yref": "paper", "x0": each.start, "x1": max(each.end, each.start + least)}
        | {"y0": 0, "y1": 1, "fillcolor": CONTACT, "line": {"width": 0}, "layer": "below"}
        for each in touched
        if name in each.joints
    ]
    layout = {"xaxis": axis("time [s]"), "yaxis": axis(f"{plain(name)} [{of}]", zeroline=True), "shapes": shades}
    label = f"External torque of {name} over time, with its thresholds"
    return Figure(f"external-{joint}", data, layout, 250, label, "external")


def load_figure(found: Observation) -> Figure:
    """The mass that explains the external torques, over time, with two standard deviations to both sides."""
    load = found.payload
    assert load is not None
    time = np.concatenate([load.time, load.time[::-1]])
    outline = np.concatenate([load.mass + 2.0 * load.mass_std, (load.mass - 2.0 * load.mass_std)[::-1]])
    band = _line("two standard deviations", Line(time, outline), RESIDUAL, 0.0)
    band |= {"fill": "toself", "fillcolor": f"{PREDICTED}30", "hoverinfo": "skip"}
    data = [band, _line("mass", Line(load.time, load.mass), PREDICTED, 1.5)]
    layout = {"xaxis": axis("time [s]"), "yaxis": axis("mass [kg]", zeroline=True, zerolinecolor="#9ca3af")}
    return Figure("load-mass", data, layout, 260, "Mass of the load over time", "external")


def _drawn(found: Observation, values: Array) -> Line:
    return broken_line(found.time, values, found.settled, BUCKETS)


def _line(what: str, line: Line, colour: str, width: float) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": what,
        "x": packed(line.time),
        "y": packed(line.values),
        "line": {"color": colour, "width": width},
        "hovertemplate": "%{x:.3f} s: %{y:.4g}",
    }
