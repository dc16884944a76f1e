"""The robot file against what was identified: each link and joint with uncertainties, and what the data determine."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.estimation import parameter_covariances, physics_of
from dynid.identification import PhysicalModel, Result
from dynid.model import Role
from dynid.report.figure import PREDICTED, Figure, axis, plain
from dynid.robot import inertia

Covariances = list[tuple[Array, Array]]

QUANTITIES = (
    "mass",
    *(f"centre of mass {axis}" for axis in "xyz"),
    *(f"principal moment {k}" for k in (1, 2, 3)),
)
"""What is compared of a link."""

ROLES = {
    Role.VISCOUS: "viscous friction",
    Role.COULOMB: "Coulomb friction",
    Role.COULOMB_FORWARD: "Coulomb friction forwards",
    Role.COULOMB_BACKWARD: "Coulomb friction backwards",
    Role.ARMATURE: "motor inertia",
}
"""What is compared of a joint: what robot files can state."""


@dataclass(frozen=True)
class Change:
    """A quantity in the robot file and as it was identified.

    Attributes:
        quantity: What it is.
        unit: Its unit.
        file: The file's value; None where it states none that can be compared.
        value: What was identified.
        uncertainty: Half the width of its confidence interval; None where it is not known.
        by_data: Share of the prior's variance that the data take away; None where it is not known.
    """

    quantity: str
    unit: str
    file: float | None
    value: float
    uncertainty: float | None
    by_data: float | None

    @property
    def change(self) -> float | None:
        """Identified value less the file's."""
        return None if self.file is None else self.value - self.file

    @property
    def beyond(self) -> bool:
        """Whether the file's value lies outside of the confidence interval."""
        return self.change is not None and self.uncertainty is not None and abs(self.change) > self.uncertainty

    def of_file(self, x: float | None) -> float | None:
        """A change or uncertainty in percent of the file's value; None where the file has none, or zero."""
        return None if x is None or not self.file else 100.0 * x / abs(self.file)


@dataclass(frozen=True)
class Owner:
    """A link or joint that is compared.

    Attributes:
        number: The number in parameter names.
        name: Its name in the robot file.
        is_link: Whether it is a link.
        changes: What is compared of it.
        reference: Where the prior of a link comes from: "file", "plain body", ...; empty for joints.
    """

    number: int
    name: str
    is_link: bool
    changes: tuple[Change, ...]
    reference: str = ""


def link_changes(result: Result) -> tuple[Owner, ...]:
    """Links, then joints, of the physically consistent model against the robot file; none without such a model."""
    physical = result.physical
    if physical is None:
        return ()
    if result.has_known_links:
        return tuple(_joints(result, physical, []))
    found = _covariances(result, physical)
    return (*_links(result, physical, found), *_joints(result, physical, found))


def _quantile(confidence: float, links: int | None = None) -> float:
    """How many standard deviations an interval has: of a normal distribution, or of Student's for quantities of links.

    How far links scatter about their file is seen from as many links as the robot has. With two degrees of freedom less
    than that, 90 to 100 % of true values lie in intervals of 95 % (`benchmarks/link_intervals.py`: three robots, 2800
    intervals, grouped by the share that the data determine); with normal ones, 80 to 100 % did.
    """
    from scipy.stats import norm, t

    tail = 0.5 + 0.5 * confidence
    return float(norm.ppf(tail) if links is None else t.ppf(tail, max(links - 2, 2)))


def of_link(parameters: Array) -> Array:
    """Mass [kg], centre of mass [mm] and principal moments about it, ascending [kg m^2], of a 10-vector; shape (7,)."""
    mass, centre, matrix = inertia.to_mass_com_inertia(parameters)
    return np.array([mass, *(1e3 * centre), *np.linalg.eigvalsh(matrix)])


def _links(result: Result, physical: PhysicalModel, found: Covariances) -> Iterator[Owner]:
    z = _quantile(result.record.confidence, len(physical.links))
    robot, names = result.robot, result.model.names
    indices = {robot.links[i].name: i for i in robot.solid_links}
    for link in physical.links:
        i = indices[link.name]
        own = [names.index(parameter.name) for parameter in link.parameters]
        p = np.array([parameter.value for parameter in link.parameters])
        if link.mass <= 0.0:
            continue
        stated = robot.links[i].parameters
        known = robot.links[i].has_inertia and stated[0] > 0.0 and not result.is_in_amperes
        file = of_link(stated).tolist() if known else [None] * len(QUANTITIES)
        spread = _spread(found, own, _slopes(p), z)
        of_mass, of_moment = (
            link.parameters[0].unit,
            link.parameters[-1].unit,
        )  # of currents, where these stand for torques
        units = (of_mass, *["mm"] * 3, *[of_moment] * 3)
        changes = tuple(
            Change(quantity, unit, of_file, value, *of_spread)
            for quantity, unit, of_file, value, of_spread in zip(
                QUANTITIES, units, file, of_link(p).tolist(), spread, strict=True
            )
        )
        yield Owner(robot.joints[i].number, link.name, True, changes, link.reference)


def _joints(result: Result, physical: PhysicalModel, found: Covariances) -> Iterator[Owner]:
    """What the file can state of joints: friction and motor inertia of those that the model has."""
    z = _quantile(result.record.confidence)
    values, names = {row.name: row for row in physical.terms}, result.model.names
    commands = result.record.commands
    by_rollouts = {} if commands is None else {row.name: row for row in commands.parameters}
    for joint in result.robot.independent_joints:
        changes = []
        for parameter in result.model.parameters:
            if parameter.link is None and parameter.joint == joint.name and parameter.role in ROLES:
                file = None if result.is_in_amperes else parameter.reference
                (spread,) = _spread(found, [names.index(parameter.name)], np.eye(1), z)
                row, own = values[parameter.name], by_rollouts.get(parameter.name)
                if own is not None:
                    spread = 0.5 * (own.upper - own.lower), 1.0 if own.state == "determined" else 0.0
                changes.append(Change(ROLES[parameter.role], row.unit, file, row.value, *spread))
        if any(change.file is not None for change in changes):
            yield Owner(joint.number, joint.name, False, tuple(changes))


def _slopes(p: Array) -> Array:
    """Slopes of a link's quantities over its 10-vector, by central differences, shape (7, 10)."""
    steps = 1e-6 * inertia.sizes(p)
    both = [(of_link(p + step) - of_link(p - step)) / (2.0 * step.max()) for step in np.diag(steps)]
    return np.array(both).T


def _spread(found: Covariances, own: list[int], slopes: Array, z: float) -> list[tuple[float | None, float | None]]:
    """Uncertainty of each quantity, and the share that the data determine; by the larger of both uncertainties."""
    if not found:
        return [(None, None)] * len(slopes)
    with_data, without = (
        np.array([np.einsum("qi,ij,qj->q", slopes, pair[side][np.ix_(own, own)], slopes) for pair in found])
        for side in (0, 1)
    )
    wide = with_data.argmax(axis=0), np.arange(len(slopes))
    shares = np.clip(1.0 - with_data[wide] / np.maximum(without[wide], 1e-300), 0.0, 1.0)
    return list(zip((z * np.sqrt(np.maximum(with_data[wide], 0.0))).tolist(), shares.tolist(), strict=True))


def _covariances(result: Result, physical: PhysicalModel) -> Covariances:
    """Covariances of the standard parameters with and without the data; none where both leave a parameter free.

    The prior is stiff where a link is small: once as it is at the identified links, once at what they are expected to
    be.
    """
    physics = physics_of(result.task.physical, result.model, result.task.reference)
    physics = replace(physics, prior=replace(physics.prior, weight=physical.weight))
    links = (parameter for link in physical.links for parameter in link.parameters)
    stds = {parameter.name: parameter.std for parameter in (*links, *physical.terms)}
    p, method = result.standard_parameters(physical=True), result.task.estimation.method
    expected = p.copy()
    expected[: inertia.SIZE * len(physics.references)] = np.concatenate([r.parameters for r in physics.references])
    try:
        return parameter_covariances(result.rows, result.base, physics, (p, expected), stds, p - expected, method)
    except np.linalg.LinAlgError:
        return []


PANELS = (
    ("mass", "mass [%]", ("mass",)),
    ("centre", "centre of mass [mm]", ("centre of mass x", "centre of mass y", "centre of mass z")),
    ("moments", "principal moments [%]", tuple(f"principal moment {k}" for k in (1, 2, 3))),
)
"""Panels of the figure of changes: key, title of the axis, quantities."""

SYMBOLS = ("circle", "square", "triangle-up")


def change_figures(key: str, owners: Sequence[Owner]) -> list[Figure]:
    """Changes of links from the robot file with their uncertainties: masses, centres of mass, principal moments.

    Marks are filled where the file's value lies outside of the interval, blue where the data determine at least half.
    """
    links = [owner for owner in owners if owner.is_link and owner.changes[0].file is not None]
    return [_panel(f"{key}-{name}", links, title, quantities) for name, title, quantities in PANELS] if links else []


def _panel(key: str, links: Sequence[Owner], title: str, quantities: Sequence[str]) -> Figure:
    data, sizes, count = [], [], len(quantities)
    for n, quantity in enumerate(quantities):
        points = []
        for k, link in enumerate(reversed(links)):
            change = next(change for change in link.changes if change.quantity == quantity)
            of = (lambda x: x) if change.unit == "mm" else change.of_file
            x, spread = of(change.change), of(change.uncertainty)
            if x is not None:
                points.append((x, spread or 0.0, k + 0.26 * (0.5 * (count - 1) - n), change, link.name))
                sizes.append((abs(x), spread or 0.0))
        colours = [PREDICTED if (change.by_data or 0.0) >= 0.5 else "#8a94a0" for *_, change, _ in points]
        marks = [SYMBOLS[n] + ("" if change.beyond else "-open") for *_, change, _ in points]
        text = [f"{plain(p[4])}, {quantity}: {p[0]:+.3g} ± {p[1]:.2g}" for p in points]
        marker = {"color": colours, "symbol": marks, "size": 8, "line": {"width": 1.5}}
        bars = {"type": "data", "array": [p[1] for p in points], "color": "#9aa5b1", "thickness": 1.5}
        data.append(
            {"type": "scatter", "mode": "markers", "name": quantity.split()[-1], "x": [p[0] for p in points]}
            | {"y": [p[2] for p in points], "marker": marker, "error_x": bars, "text": text, "hoverinfo": "text"}
        )
    names = [
        f"{link.number} {plain(_short(link.name))}" if count == 1 else f"{link.number}" for link in reversed(links)
    ]
    layout = {
        "xaxis": axis(title, range=_range(sizes), zeroline=True, zerolinecolor="#6b7280", zerolinewidth=1.5),
        "yaxis": axis(
            tickvals=list(range(len(links))), ticktext=names, range=[-0.6, len(links) - 0.4], fixedrange=True
        ),
        "showlegend": True,
        "hovermode": "closest",
    }
    return Figure(key, data, layout, 90 + 34 * len(links), f"Identified links against the robot file: {title}")


def _range(sizes: Sequence[tuple[float, float]]) -> list[float]:
    """Ends of an axis that shows all changes, and most of their uncertainties."""
    spreads = sorted(spread for _, spread in sizes)
    usual = spreads[(3 * len(spreads)) // 4] if spreads else 0.0
    end = 1.15 * max([usual, *(size for size, _ in sizes)], default=1.0) or 1.0
    return [-end, end] if math.isfinite(end) else [-1.0, 1.0]


def _short(name: str, most: int = 18) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
