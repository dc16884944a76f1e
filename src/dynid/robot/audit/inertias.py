"""Checks of inertias: missing, impossible, misplaced or made up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding, Severity, prose
from dynid.robot import inertia
from dynid.robot.audit.case import Case, line_of, names, states_inertia, subject, vector
from dynid.robot.description import BodyDescription
from dynid.robot.robot import Robot

ROUNDING = 0.1  # [%]: inertias that fail by less are probably possible ones, written with few digits
SMALLEST_MASS = 1e-3  # [kg]: lighter bodies are frames in disguise and may have any small inertia
FEWEST_PLACEHOLDERS = 3


def links_without_inertia(case: Case) -> Iterator[Finding]:
    """Links that move but have no inertia: one finding for a robot that has none at all."""
    robot = case.robot
    empty = [not any(map(states_inertia, link.bodies)) for link in robot.links]
    if all(empty):
        text = (
            "the file states no inertia of anything that moves: reference values are unknown, "
            "base parameters are found all the same"
        )
        yield prose(Severity.NOTE, f"robot '{robot.name}'", text)
        return
    reported: set[int] = set()
    for i, link in enumerate(robot.links):
        if not empty[i] or i in reported or link.is_virtual:
            continue
        beyond = _carried(i, robot)
        if all(empty[k] for k in beyond):
            reported.update(beyond)  # one finding for a whole finger
        held = next(body for body in link.bodies if body.name == link.name)
        stated = "states zero mass and inertia for it" if link.has_inertia else "states no inertia for it"
        text = (
            f"joint '{robot.joints[i].name}' moves it, but the file {stated}{line_of(held)}. "
            f"{_place_of_massless_link(robot, beyond, empty)}, which simulators refuse or blow up on; "
            "add <inertial>, or fix the joint"
        )
        yield prose(Severity.WARNING, f"link '{link.name}'", text)


def _carried(i: int, robot: Robot) -> list[int]:
    """Indices of the links beyond link i."""
    found = {i}
    for k, joint in enumerate(robot.joints):  # parents come before children
        if joint.parent in found:
            found.add(k)
    return sorted(found - {i})


def _place_of_massless_link(robot: Robot, beyond: Sequence[int], empty: Sequence[bool]) -> str:
    if not beyond:
        return "It is a massless link at the end of the tree"
    if all(empty[k] for k in beyond):
        carried = names([robot.links[k] for k in beyond])
        return f"It is massless at the end of the tree, together with all that it carries ({carried})"
    first = next(robot.links[k] for k in beyond if not empty[k])
    return f"It is a massless link in the middle of a chain (it carries '{first.name}')"


def impossible_inertias(case: Case) -> Iterator[Finding]:
    """Bodies that break a physical law: which, and by how much."""
    for body in case.robot.description.bodies:
        if body.inertia is None or not (failed := inertia.violations(body.inertia)):
            continue
        evidence = " and ".join(_broken_law(violation, body.inertia) for violation in failed)
        cause = _likely_cause(failed, body.inertia)
        text = (
            f"{evidence}{line_of(body)}. No body can be like this; correct the file, or take the nearest "
            f"possible numbers: dynid repair{cause}"
        )
        link = case.owners[body.name]
        if sum(map(states_inertia, link.bodies)) > 1 and inertia.is_physical(link.parameters):
            text += f". With all that is welded together, link '{link.name}' is possible as a whole"
        yield prose(Severity.ERROR, f"body '{body.name}'", text)


def _broken_law(violation: inertia.Violation, parameters: Array) -> str:
    mass = float(parameters[0])
    if mass < 0.0:
        return f"mass >= 0 fails: it is {mass:.4g} kg"
    if mass == 0.0:
        return f"it has no mass, but an inertia of up to {violation.amount:.3g} kg m^2"
    return f"{violation}, {_percent(violation, parameters):.3g} % of the largest principal moment"


def _percent(violation: inertia.Violation, parameters: Array) -> float:
    _, _, at_com = inertia.to_mass_com_inertia(parameters)
    return 100.0 * violation.amount / float(np.abs(np.linalg.eigvalsh(at_com)).max())


def _likely_cause(failed: Sequence[inertia.Violation], parameters: Array) -> str:
    """What may have gone wrong with an inertia, where that can be told."""
    mass, _, at_com = inertia.to_mass_com_inertia(parameters)
    if mass > 0.0 and all(_percent(violation, parameters) < ROUNDING for violation in failed):
        return " (so small a failure may come from rounding: write more digits)"
    if mass > 0.0 and np.allclose(at_com, at_com[0, 0], rtol=1e-9, atol=0.0):
        return " (all six elements are equal: should ixy, ixz and iyz be zero?)"
    return ""


def centres_of_mass(case: Case) -> Iterator[Finding]:
    """Centres of mass far outside the geometry of their bodies."""
    for solid in case.solids:
        box = case.boxes.get(solid.body.name)
        if box is None or solid.mass <= SMALLEST_MASS:
            continue
        outside = float(np.linalg.norm(np.maximum(0.0, np.maximum(box[0] - solid.com, solid.com - box[1]))))
        diagonal = float(np.linalg.norm(box[1] - box[0]))
        if outside > 0.5 * diagonal + 0.01:
            text = (
                f"its centre of mass {vector(solid.com)} m lies {outside:.3g} m outside of its geometry, "
                f"whose diagonal is {diagonal:.3g} m{line_of(solid.body)}; check the origins of both, and their units"
            )
            yield prose(Severity.WARNING, f"body '{solid.body.name}'", text)


def point_masses(case: Case) -> Iterator[Finding]:
    """Bodies that have mass, but no inertia at all."""
    points = [solid for solid in case.solids if solid.gyration == 0.0]
    extended = {solid.link.name for solid in case.solids if solid.gyration > 0.0}
    alone = [solid.body for solid in points if solid.link.name not in extended]
    welded = [solid.body for solid in points if solid.link.name in extended]
    for severity, bodies, advice in (
        (Severity.WARNING, alone, "simulators may refuse it; write the inertia of the real body"),
        (Severity.NOTE, welded, "it is welded to bodies with inertia, so that does no harm if the real body is small"),
    ):
        if bodies:
            text = f"mass with zero inertia is a point mass: {names(bodies)}; {advice}"
            yield prose(severity, subject("body", bodies), text)


def placeholders(case: Case) -> Iterator[Finding]:
    """Equal round inertias of several bodies, as templates have them."""
    groups: dict[float, list[BodyDescription]] = {}
    for solid in case.solids:
        rounded = float(f"{solid.at_com[0, 0]:.0e}")
        if rounded > 0.0 and np.allclose(solid.at_com, rounded * np.eye(3), rtol=0.0, atol=1e-9 * rounded):
            groups.setdefault(rounded, []).append(solid.body)
    for value, bodies in groups.items():
        if len(bodies) >= FEWEST_PLACEHOLDERS:
            evidence = f"Ixx = Iyy = Izz = {value:g} kg m^2 for {names(bodies)}"
            text = f"{evidence} looks like a placeholder; do not take it as a reference"
            yield prose(Severity.NOTE, subject("body", bodies), text)
