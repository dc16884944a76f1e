"""A page that shows exciting trajectories against their limits; it needs nothing else."""

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.excitation import Check, Design, Excitation, PriorTorques, joint_limits, sample_times, torque_unit
from dynid.files import write_text
from dynid.report.figure import PREDICTED, RESIDUAL, Figure, axis, packed, unit
from dynid.report.rendering import rendered

PAGE = "limits.html"
"""Name of the page beside the files of a trajectory."""

_POINTS = 400
"""Points of each curve, at least."""

_POINTS_OF_A_SECOND = 20
"""Points of long curves in each second, such as those of friction runs."""

_MOST_POINTS = 4000
"""Points of each curve, at most."""


@dataclass(frozen=True)
class JointFigures:
    """The figures of a joint: position, velocity, acceleration and torque."""

    name: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Part:
    """A trajectory on the page.

    Attributes:
        key: Its name in links.
        title: Its title.
        joints: Figures, joint by joint.
        checks: All limits, with what is reached.
    """

    key: str
    title: str
    joints: tuple[JointFigures, ...]
    checks: tuple[Check, ...]


def write_trajectory_page(found: Excitation, path: str | os.PathLike[str] = PAGE, *, overwrite: bool = False) -> Path:
    """Write the page.

    Raises:
        OutputExistsError: If the file exists and may not be replaced.
    """
    write_text(Path(path), trajectory_page(found), overwrite=overwrite)
    return Path(path)


def trajectory_page(found: Excitation) -> str:
    """The page: positions, velocities, accelerations and torques of all trajectories against their limits."""
    many = len(found.designs) > 1
    parts = [
        Part(
            f"trajectory-{k}",
            f"Trajectory {k}" if many else "Trajectory",
            _joints(found, part, f"trajectory-{k}"),
            tuple(found.checks(part)),
        )
        for k, part in enumerate(found.designs, start=1)
    ]
    return rendered(
        "trajectory.html",
        title=f"{found.robot.name}: exciting trajectory",
        robot=found.robot.name,
        condition=found.condition_number if math.isfinite(found.condition_number) else None,
        duration=sum(part.trajectory.duration for part in found.designs),
        seconds=found.seconds,
        warning=found.warning,
        parts=parts,
    )


def _joints(found: Excitation, part: Design, group: str) -> tuple[JointFigures, ...]:
    robot = found.robot
    times = sample_times(part.trajectory, max(part.problem.rate, _POINTS / part.trajectory.duration))
    q, v, a = part.trajectory.states(times)
    torques = PriorTorques(robot).whole(q, v, a)
    shown = []
    for k, (joint, limit) in enumerate(zip(robot.independent_joints, joint_limits(found.settings, robot), strict=True)):
        of = part.problem.bounds.units[k]
        panels = (
            ("position", of, q[:, k], (limit.lower, limit.upper)),
            ("velocity", f"{of}/s", v[:, k], (-limit.velocity, limit.velocity)),
            ("acceleration", f"{of}/s^2", a[:, k], (-limit.acceleration, limit.acceleration)),
            ("torque", torque_unit(joint.kind), torques[:, k], (-limit.effort, limit.effort)),
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
