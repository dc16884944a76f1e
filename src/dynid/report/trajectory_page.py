"""A page that shows exciting trajectories against their limits; it needs nothing else."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dynid import excitation
from dynid.arrays import Array, finite_or_none
from dynid.files import write_text
from dynid.report.clearance_figure import clearance_figure, clearance_limit, clearances_along, times_of
from dynid.report.figure import PALETTE, PREDICTED, RESIDUAL, Figure, axis, packed, plain, unit
from dynid.report.rendering import rendered
from dynid.report.swept_picture import SweptPicture, swept_pictures

PAGE = "limits.html"
"""Name of the page beside the files of a trajectory."""

_POINTS = 400
"""Points of each curve, at least."""

_POINTS_OF_A_SECOND = 20
"""Points of long curves in each second, such as those of friction runs."""

_MOST_POINTS = 4000
"""Points of each curve, at most."""

_PATH = 3000
"""Postures of a motion from which those are chosen that show the swept space."""


@dataclass(frozen=True)
class JointFigures:
    """The figures of a joint: position, velocity, acceleration and torque."""

    name: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Swept:
    """The space that a trajectory sweeps, and how near the robot comes to itself and its surroundings.

    Attributes:
        pictures: The robot and the swept space.
        figure: Distances over time; None where they were not looked at.
        nearest: The pair that comes nearest, its distance [m], and the time [s].
        required: The distance that is required [m].
        constant: Pairs whose distance [m] stays the same.
        is_checked: Whether collisions were looked at; there may be nothing that could be touched.
    """

    pictures: tuple[SweptPicture, ...]
    figure: Figure | None
    nearest: tuple[str, float, float] | None
    required: float
    constant: tuple[tuple[str, float], ...]
    is_checked: bool


@dataclass(frozen=True)
class Expected:
    """What all trajectories together are expected to give.

    Attributes:
        rows: All base parameters.
        figure: Relative standard deviations; None where the robot's file has no values.
        good: How many have one of 10 % or less.
        still: Parameters that nothing excites.
        key: Its name in links.
        title: Its title.
    """

    rows: tuple[excitation.Expectation, ...]
    figure: Figure | None
    good: int
    still: tuple[excitation.Expectation, ...]
    key: str = "expected"
    title: str = "Expected standard deviations"


@dataclass(frozen=True)
class Part:
    """A trajectory on the page.

    Attributes:
        key: Its name in links.
        title: Its title.
        swept: The space that it sweeps.
        joints: Figures, joint by joint.
        checks: All limits, with what is reached.
    """

    key: str
    title: str
    swept: Swept
    joints: tuple[JointFigures, ...]
    checks: tuple[excitation.Check, ...]


def write_trajectory_page(
    found: excitation.Excitation, path: str | os.PathLike[str] = PAGE, *, overwrite: bool = False
) -> Path:
    """Write the page.

    Raises:
        OutputExistsError: If the file exists and may not be replaced.
    """
    write_text(Path(path), trajectory_page(found), overwrite=overwrite)
    return Path(path)


def trajectory_page(found: excitation.Excitation) -> str:
    """The page: positions, velocities, accelerations and torques of all trajectories against their limits."""
    many = len(found.designs) > 1
    parts = [
        Part(
            f"trajectory-{k}",
            f"Trajectory {k}" if many else "Trajectory",
            _swept(found, part, f"trajectory-{k}"),
            _joints(found, part, f"trajectory-{k}"),
            tuple(found.checks(part)),
        )
        for k, part in enumerate(found.designs, start=1)
    ]
    return rendered(
        "trajectory.html",
        title=f"{found.robot.name}: exciting trajectory",
        robot=found.robot.name,
        condition=finite_or_none(found.condition_number),
        duration=sum(part.trajectory.duration for part in found.designs),
        seconds=found.seconds,
        warning=found.warning,
        parts=parts,
        expected=_expected(found),
        infinite=math.inf,
    )


def _expected(found: excitation.Excitation) -> Expected:
    """The standard deviations that all trajectories promise."""
    rows = found.expectations
    percents = [row.relative_percent for row in rows]
    return Expected(
        rows,
        std_figure(rows) if any(percents) else None,
        sum(percent is not None and percent <= GOOD_PERCENT for percent in percents),
        tuple(row for row in rows if not row.is_excited),
    )


def _swept(found: excitation.Excitation, part: excitation.Design, group: str) -> Swept:
    """What a trajectory sweeps; the robot is drawn where it comes nearest to something."""
    limit, motion = clearance_limit(part), part.trajectory
    times = times_of(motion, *(check.time for check in part.checks if check.time is not None))
    q = motion.states(times)[0]
    even = motion.states(np.linspace(0.0, motion.duration, _PATH))[0]
    if limit is None:
        pictures = swept_pictures(found.robot, even, q[0], None, None, group)
        return Swept(pictures, None, None, 0.0, (), found.settings.collisions)
    near = clearances_along(limit, times, q)
    _, _, when = near.nearest
    posture = q[np.searchsorted(times, when)]
    pictures = swept_pictures(found.robot, even, posture, limit.model, near.model.nearest_points(posture), group)
    figure = clearance_figure(near, f"{group}-clearance", group)
    return Swept(pictures, figure, near.nearest, near.required, near.constant, is_checked=True)


def _joints(found: excitation.Excitation, part: excitation.Design, group: str) -> tuple[JointFigures, ...]:
    robot = found.robot
    times = excitation.sample_times(part.trajectory, max(part.problem.rate, _POINTS / part.trajectory.duration))
    q, v, a = part.trajectory.states(times)
    torques = excitation.PriorTorques(robot).whole(q, v, a)
    shown = []
    for k, (joint, limit) in enumerate(
        zip(robot.independent_joints, excitation.joint_limits(found.settings, robot), strict=True)
    ):
        of = part.problem.bounds.units[k]
        panels = (
            ("position", of, q[:, k], (limit.lower, limit.upper)),
            ("velocity", f"{of}/s", v[:, k], (-limit.velocity, limit.velocity)),
            ("acceleration", f"{of}/s^2", a[:, k], (-limit.acceleration, limit.acceleration)),
            ("torque", excitation.torque_unit(joint.kind), torques[:, k], (-limit.effort, limit.effort)),
        )
        figures = (
            _figure(f"{group}-{k}-{what}", f"{what} of {joint.name}", what, of_panel, times, values, limits, group)
            for what, of_panel, values, limits in panels
        )
        shown.append(JointFigures(joint.name, tuple(figures)))
    return tuple(shown)


def _figure(
    key: str, label: str, what: str, of: str, times: Array, values: Array, limits: tuple[float, float], group: str
) -> Figure:
    """One curve over time, with its limits."""
    points = int(np.clip(_POINTS_OF_A_SECOND * times[-1], _POINTS, _MOST_POINTS))
    some = np.unique(np.linspace(0, len(times) - 1, points).astype(int))
    curve = {
        "type": "scatter",
        "mode": "lines",
        "name": what,
        "x": packed(times[some]),
        "y": packed(values[some]),
        "line": {"color": PREDICTED, "width": 1.5},
        "hovertemplate": "%{x:.3f} s: %{y:.4g}",
    }
    lines: list[dict[str, Any]] = [
        {"type": "line", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": limit, "y1": limit}
        | {"line": {"color": RESIDUAL, "width": 1.5, "dash": "dash"}}
        for limit in limits
        if math.isfinite(limit)
    ]
    ends = [float(values.min()), float(values.max()), *(limit for limit in limits if math.isfinite(limit))]
    room = 0.05 * (max(ends) - min(ends)) or 1.0
    layout = {
        "xaxis": axis("time [s]"),
        "yaxis": axis(f"{what} [{unit(of)}]", range=[min(ends) - room, max(ends) + room]),
        "shapes": lines,
        "showlegend": False,
    }
    return Figure(key, [curve], layout, 240, f"{label.capitalize()} over time, with its limits", group)


GOOD_PERCENT, MOST_PERCENT = 10.0, 1000.0
"""Relative standard deviations [%] with a line in the figure, and of its end."""


def std_figure(rows: Sequence[excitation.Expectation]) -> Figure:
    """Relative standard deviations of parameters, link by link; those beyond the end are at the end."""
    known = [(row, min(percent, MOST_PERCENT)) for row in rows if (percent := row.relative_percent) is not None]
    known.sort(key=lambda pair: [row.owner for row in rows].index(pair[0].owner))
    owners = list(dict.fromkeys(row.owner for row, _ in known))
    traces = []
    for k, owner in enumerate(owners):
        own = [(row, percent) for row, percent in known if row.owner == owner]
        beyond = [percent >= MOST_PERCENT for _, percent in own]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": plain(owner),
                "x": [percent for _, percent in own],
                "y": [plain(row.name) for row, _ in own],
                "marker": {
                    "color": PALETTE[k % 8],
                    "size": 9,
                    "symbol": ["triangle-right-open" if far else "circle" for far in beyond],
                },
                "customdata": [f"{row.std:.2g} {unit(row.unit)}" for row, _ in own],
                "hovertemplate": "%{y}: %{x:.3g} % (%{customdata})<extra></extra>",
            }
        )
    least = min(percent for _, percent in known)
    line = {"type": "line", "xref": "x", "yref": "paper", "x0": GOOD_PERCENT, "x1": GOOD_PERCENT, "y0": 0, "y1": 1}
    most = max(percent for _, percent in known)
    ends = [
        math.floor(math.log10(max(least, 1e-6))) - 0.05,
        math.log10(1.3 * (MOST_PERCENT if most > 100.0 else 100.0)),
    ]
    layout = {
        "xaxis": axis("expected standard deviation [% of the robot file's value]", type="log", range=ends, dtick=1),
        "yaxis": axis(type="category", range=[len(known) - 0.4, -0.6], dtick=1, tickfont={"size": 11}),
        "shapes": [line | {"line": {"color": RESIDUAL, "width": 1.5, "dash": "dash"}}],
    }
    return Figure("expected", traces, layout, 110 + 17 * len(known), "Expected relative standard deviations")
