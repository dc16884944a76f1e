"""The robot as bones and ellipsoids, seen along an axis.

A link's ellipsoid is the body of even density that has the link's mass, centre of mass and inertia. With Sigma the
second moments of mass about its centre, its half axes are the roots of 5/m times the eigenvalues of Sigma. Seen along
an axis it is the ellipse of the matching block of 5/m Sigma.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.identification import LinkEstimate
from dynid.model import joint_poses
from dynid.report.figure import DASHES, INK, PALETTE, Figure, axis, plain
from dynid.robot import WORLD, Robot


@dataclass(frozen=True, eq=False)
class Outline:
    """An ellipse.

    Attributes:
        name: Name of the link.
        link: Its index in the robot.
        result: Index of the result that it is of.
        mass: Mass of the link [kg].
        points: The closed line [m], shape (points, 2).
    """

    name: str
    link: int
    result: int
    mass: float
    points: Array


@dataclass(frozen=True, eq=False)
class View:
    """A robot seen along an axis.

    Attributes:
        axes: Names of the horizontal and of the vertical axis.
        bones: Lines between joints [m], each of shape (2, 2).
        outlines: Ellipses of the links.
    """

    axes: tuple[str, str]
    bones: tuple[Array, ...]
    outlines: tuple[Outline, ...]


def ellipsoid(mass: float, inertia: Array) -> Array:
    """Matrix (3, 3) of the ellipsoid of even density, `x' E^-1 x <= 1`, of an inertia about the centre of mass [m^2].

    >>> np.sqrt(np.diag(ellipsoid(3.0, 0.4 * 3.0 * 0.1**2 * np.eye(3)))).round(6).tolist()  # a ball of 10 cm
    [0.1, 0.1, 0.1]
    """
    Sigma = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return 5.0 / mass * Sigma


def bones(robot: Robot, posture: Array) -> list[Array]:
    """Lines from each joint to the joint that carries it [m], each of shape (2, 3); the ground is the origin."""
    _, origins = joint_poses(robot, posture[None, :])
    lines = []
    for joint, end in zip(robot.joints, origins[:, 0], strict=True):
        start = np.zeros(3) if joint.parent == WORLD else origins[joint.parent, 0]
        lines.append(np.array([start, end]))
    return lines


def views(robot: Robot, posture: Array, links_of_results: Sequence[Sequence[LinkEstimate]]) -> tuple[View, ...]:
    """The robot from the side (x and z), from the front (y and z) and from above (x and y).

    Args:
        robot: The robot.
        posture: Positions, shape (nq,).
        links_of_results: For each result its links.
    """
    rotations, origins = joint_poses(robot, posture[None, :])
    index = {robot.links[i].name: i for i in range(len(robot.links))}
    placed = []
    for k, links in enumerate(links_of_results):
        for link in links:
            i, mass = index[link.name], link.mass
            if mass <= 0.0:
                continue
            R = rotations[i, 0]
            centre = R @ np.array(link.centre_of_mass) + origins[i, 0]
            placed.append((link.name, i, k, mass, centre, R @ ellipsoid(mass, np.array(link.inertia)) @ R.T))
    lines = bones(robot, posture)
    return tuple(
        View(
            ("xyz"[h], "xyz"[u]),
            tuple(line[:, [h, u]] for line in lines),
            tuple(
                Outline(name, i, k, mass, ellipse(centre[[h, u]], E[np.ix_([h, u], [h, u])]))
                for name, i, k, mass, centre, E in placed
            ),
        )
        for h, u in ((0, 2), (1, 2), (0, 1))
    )


def ellipse(centre: Array, matrix: Array, points: int = 48) -> Array:
    """The closed line `(x - c)' E^-1 (x - c) = 1`, shape (points + 1, 2); E may be flat."""
    values, directions = np.linalg.eigh(matrix)
    angle = np.linspace(0.0, 2.0 * np.pi, points + 1)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    return centre + (directions * np.sqrt(np.maximum(values, 0.0)) @ circle).T


def skeleton_figure(key: str, view: View, names: Sequence[str]) -> Figure:
    """Joints and bones of a robot seen along an axis, with the ellipsoid of each link."""
    data: list[dict[str, Any]] = []
    for bone in view.bones:
        data.append(
            {"type": "scatter", "mode": "lines+markers", "x": bone[:, 0].tolist(), "y": bone[:, 1].tolist()}
            | {"line": {"color": "#9ca3af", "width": 5}, "marker": {"size": 8, "color": INK}}
            | {"hoverinfo": "skip", "showlegend": False}
        )
    for outline in view.outlines:
        data.append(_ellipse(outline, names))
    layout = {
        "xaxis": axis(f"{view.axes[0]} [m]", scaleanchor="y", scaleratio=1, constrain="domain"),
        "yaxis": axis(f"{view.axes[1]} [m]", constrain="domain"),
        "showlegend": False,
        "hovermode": "closest",
        "margin": {"l": 56, "r": 8, "t": 8, "b": 44},
    }
    label = f"Skeleton and inertia ellipsoids in the plane of {view.axes[0]} and {view.axes[1]}"
    return Figure(key, data, layout, 340, label)


def _ellipse(outline: Outline, names: Sequence[str]) -> dict[str, Any]:
    colour = PALETTE[outline.link % 8] if len(names) == 1 else PALETTE[outline.result]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.round(outline.points[:, 0], 5).tolist(),
        "y": np.round(outline.points[:, 1], 5).tolist(),
        "fill": "toself",
        "fillcolor": f"{colour}2e",
        "line": {"color": colour, "width": 1.6, "dash": DASHES[outline.result]},
        "hoveron": "fills",
        "name": "",
        "text": f"{plain(outline.name)}: {outline.mass:.3g} kg",
        "hoverinfo": "text",
    }
