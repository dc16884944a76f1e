"""What the checks of a robot file look at, and those of inertias: missing, inconsistent, misplaced or made up."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.robot import inertia
from dynid.robot.description import BodyDescription, JointDescription
from dynid.robot.robot import Joint, Link, Robot

Named: TypeAlias = BodyDescription | Joint | Link


@dataclass(frozen=True)
class InertiaThresholds:
    """When the inertia of a body in a robot file is remarked."""

    rounding: float = 1e-3
    """Share of the largest moment by which an inertia may fail to be physically consistent and still be called a
    rounded one: files have three or four digits. By judgement; both sides are tested in `tests/robot/test_audit.py`."""

    smallest_mass: float = 1e-3
    """Mass [kg] up to which bodies are not checked for their inertia: they are frames in disguise, with any small
    number. By judgement; not calibrated."""

    fewest_placeholders: int = 3
    """Bodies of the same round inertia from which it looks like a template's: two small parts may well be alike. By
    judgement; tested in `tests/robot/test_audit.py`."""

    furthest_outside: float = 0.5
    """How far outside the box around its geometry a centre of mass may lie, in diagonals of the box: geometry for
    collision is simplified, and may lack parts. By judgement; tested in `tests/robot/test_audit.py`."""

    outside_at_least: float = 0.01
    """Distance [m] that is allowed on top: boxes of sensors and markers are smaller than what they stand for. By
    judgement; not calibrated."""


THRESHOLDS = InertiaThresholds()


@dataclass(frozen=True, eq=False)
class Solid:
    """A body of positive mass, as files state it.

    Attributes:
        body: The body.
        link: The link that it is welded into.
        mass: Mass [kg].
        com: Centre of mass in the body's frame [m], shape (3,).
        at_com: Inertia about the centre of mass [kg m^2], shape (3, 3); exactly zero for a point.
    """

    body: BodyDescription
    link: Link
    mass: float
    com: Array
    at_com: Array

    @cached_property
    def gyration(self) -> float:
        """Largest radius of gyration [m]: so far away, the mass would have the largest principal moment."""
        return math.sqrt(float(np.abs(np.linalg.eigvalsh(self.at_com)).max()) / self.mass)


@dataclass(frozen=True, eq=False)
class Case:
    """What the checks look at.

    Attributes:
        robot: The robot.
        boxes: Box around the geometry [m] of each body whose geometry is all known, shape (2, 3).
    """

    robot: Robot
    boxes: Mapping[str, Array]

    @cached_property
    def owners(self) -> dict[str, Link]:
        """The link that each body is welded into."""
        return {body.name: link for link in (self.robot.base, *self.robot.links) for body in link.bodies}

    @cached_property
    def solids(self) -> tuple[Solid, ...]:
        """The bodies of positive mass."""
        bodies = self.robot.description.bodies
        return tuple(solid for body in bodies if (solid := _solid(body, self.owners[body.name])) is not None)

    @cached_property
    def scale(self) -> float:
        """Longest distance [m] in the robot's placements and to its centres of mass."""
        placed = (*self.robot.description.joints, *self.robot.description.bodies)
        points = [item.placement[:3, 3] for item in placed] + [solid.com for solid in self.solids]
        return float(np.linalg.norm(points, axis=1).max())

    @property
    def one_dof_joints(self) -> tuple[Joint, ...]:
        """The joints with limits of their own."""
        return tuple(joint for joint in self.robot.independent_joints if joint.kind.nv == 1)

    def extent(self, body: BodyDescription) -> float:
        """Longest edge [m] of the box around a body; zero when it is not known."""
        box = self.boxes.get(body.name)
        return 0.0 if box is None else float((box[1] - box[0]).max())


def _solid(body: BodyDescription, link: Link) -> Solid | None:
    if body.inertia is None or body.inertia[0] <= 0.0:
        return None
    mass, com, at_com = inertia.to_mass_com_inertia(body.inertia)
    if np.abs(at_com).max() <= 1e-13 * np.abs(body.inertia[4:]).max():
        at_com = np.zeros((3, 3))  # the remainder is rounding of the way to the frame and back
    return Solid(body, link, mass, com, at_com)


def subject(kind: str, items: Sequence[Named]) -> str:
    """What a finding on one or several bodies or joints is about."""
    plural = {"body": "bodies", "joint": "joints"}[kind]
    return f"{kind} '{items[0].name}'" if len(items) == 1 else f"{len(items)} {plural}"


def names(items: Sequence[Named]) -> list[str]:
    """Names of bodies, joints or links."""
    return [item.name for item in items]


def line_of(item: BodyDescription | JointDescription) -> str:
    """Where the file defines it, when known."""
    return "" if item.line is None else f" (line {item.line})"


def links_without_inertia(case: Case) -> Iterator[Finding]:
    """Links that move but have no inertia: one finding for a robot that has none at all.

    Rows of tables that leave the mass out say that it is unknown, not that there is none.
    """
    robot = case.robot
    empty = [not any(body.states_inertia for body in link.bodies) for link in robot.links]
    if all(empty):
        yield Finding.of("inertia-unstated", f"robot '{robot.name}'")
        return
    reported: set[int] = set()
    unknown = [link.name for link in robot.links if link.has_unknown_mass and any(b.unweighed for b in link.bodies)]
    if unknown:
        yield Finding.of("masses-unstated", f"robot '{robot.name}'", links=unknown)
    for i, link in enumerate(robot.links):
        if not empty[i] or i in reported or link.is_virtual or link.name in unknown:
            continue
        beyond = _carried(i, robot)
        if all(empty[k] for k in beyond):
            reported.update(beyond)  # one finding for a whole finger
        held = next(body for body in link.bodies if body.name == link.name)
        carried = [robot.links[k].name for k in beyond]
        heavy = [robot.links[k].name for k in beyond if not empty[k]]
        code = "massless-link-in-chain" if heavy else "massless-links-at-end" if carried else "massless-link-at-end"
        stated = "zero mass and inertia" if link.has_inertia else "no inertia"
        yield Finding.of(
            code,
            f"link '{link.name}'",
            joint=robot.joints[i].name,
            stated=stated,
            where=line_of(held),
            carried=heavy[:1] or carried,
        )


def _carried(i: int, robot: Robot) -> list[int]:
    """Indices of the links beyond link i."""
    found = {i}
    for k, joint in enumerate(robot.joints):  # parents come before children
        if joint.parent in found:
            found.add(k)
    return sorted(found - {i})


def inconsistent_inertias(case: Case) -> Iterator[Finding]:
    """Bodies that are not physically consistent: which condition fails, and by how much."""
    for body in case.robot.description.bodies:
        if body.inertia is None or not (failed := inertia.violations(body.inertia)):
            continue
        yield _inconsistent(body, body.inertia, failed)
        link = case.owners[body.name]
        if sum(body.states_inertia for body in link.bodies) > 1 and inertia.is_physical(link.parameters):
            yield Finding.of("link-consistent-as-a-whole", f"link '{link.name}'", body=body.name)


def _inconsistent(body: BodyDescription, parameters: Array, failed: Sequence[inertia.Violation]) -> Finding:
    """The finding on an inconsistent body, with the likely cause where there is one."""
    about, where = f"body '{body.name}'", line_of(body)
    mass = float(parameters[0])
    amounts = {violation.law: violation.amount for violation in failed}
    if mass < 0.0:
        return Finding.of("mass-negative", about, mass=mass, where=where)
    if mass == 0.0:
        return Finding.of("mass-zero-with-inertia", about, moment=max(amounts.values()), where=where)
    _, _, at_com = inertia.to_mass_com_inertia(parameters)
    share = max(amounts.values()) / float(np.abs(np.linalg.eigvalsh(at_com)).max())
    code = "inertia-inconsistent"
    if share < THRESHOLDS.rounding:
        code = "inertia-inconsistent-by-rounding"
    elif np.allclose(at_com, at_com[0, 0], rtol=1e-9, atol=0.0):
        code = "inertia-elements-equal"
    return Finding.of(code, about, amounts=amounts, percent=100.0 * share, where=where)


def centres_of_mass(case: Case) -> Iterator[Finding]:
    """Centres of mass far outside the geometry of their bodies."""
    for solid in case.solids:
        box = case.boxes.get(solid.body.name)
        if box is None or solid.mass <= THRESHOLDS.smallest_mass:
            continue
        outside = float(np.linalg.norm(np.maximum(0.0, np.maximum(box[0] - solid.com, solid.com - box[1]))))
        diagonal = float(np.linalg.norm(box[1] - box[0]))
        if outside > THRESHOLDS.furthest_outside * diagonal + THRESHOLDS.outside_at_least:
            evidence = {"outside": outside, "diagonal": diagonal, "where": line_of(solid.body)}
            about = f"body '{solid.body.name}'"
            yield Finding.of("centre-of-mass-outside", about, centre=solid.com.tolist(), **evidence)


def point_masses(case: Case) -> Iterator[Finding]:
    """Bodies that have mass, but no inertia at all."""
    points = [solid for solid in case.solids if solid.gyration == 0.0]
    extended = {solid.link.name for solid in case.solids if solid.gyration > 0.0}
    alone = [solid.body for solid in points if solid.link.name not in extended]
    welded = [solid.body for solid in points if solid.link.name in extended]
    for code, bodies in (("point-mass", alone), ("point-mass-welded", welded)):
        if bodies:
            yield Finding.of(code, subject("body", bodies), bodies=names(bodies))


def placeholders(case: Case) -> Iterator[Finding]:
    """Equal round inertias of several bodies, as templates have them."""
    groups: dict[float, list[BodyDescription]] = {}
    for solid in case.solids:
        rounded = float(f"{solid.at_com[0, 0]:.0e}")
        if rounded > 0.0 and np.allclose(solid.at_com, rounded * np.eye(3), rtol=0.0, atol=1e-9 * rounded):
            groups.setdefault(rounded, []).append(solid.body)
    for value, bodies in groups.items():
        if len(bodies) >= THRESHOLDS.fewest_placeholders:
            yield Finding.of("inertia-placeholder", subject("body", bodies), moment=value, bodies=names(bodies))
