"""Checks of inertias: missing, physically inconsistent, misplaced or made up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.robot import inertia
from dynid.robot.audit.case import Case, line_of, names, states_inertia, subject
from dynid.robot.description import BodyDescription
from dynid.robot.robot import Robot

ROUNDING = 1e-3  # of the largest moment: inertias that fail by less are probably consistent, written with few digits
SMALLEST_MASS = 1e-3  # [kg]: lighter bodies are frames in disguise and may have any small inertia
FEWEST_PLACEHOLDERS = 3


def links_without_inertia(case: Case) -> Iterator[Finding]:
    """Links that move but have no inertia: one finding for a robot that has none at all."""
    robot = case.robot
    empty = [not any(map(states_inertia, link.bodies)) for link in robot.links]
    if all(empty):
        yield Finding.of("inertia-unstated", f"robot '{robot.name}'")
        return
    reported: set[int] = set()
    for i, link in enumerate(robot.links):
        if not empty[i] or i in reported or link.is_virtual:
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
        if sum(map(states_inertia, link.bodies)) > 1 and inertia.is_physical(link.parameters):
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
    if share < ROUNDING:
        code = "inertia-inconsistent-by-rounding"
    elif np.allclose(at_com, at_com[0, 0], rtol=1e-9, atol=0.0):
        code = "inertia-elements-equal"
    return Finding.of(code, about, amounts=amounts, percent=100.0 * share, where=where)


def centres_of_mass(case: Case) -> Iterator[Finding]:
    """Centres of mass far outside the geometry of their bodies."""
    for solid in case.solids:
        box = case.boxes.get(solid.body.name)
        if box is None or solid.mass <= SMALLEST_MASS:
            continue
        outside = float(np.linalg.norm(np.maximum(0.0, np.maximum(box[0] - solid.com, solid.com - box[1]))))
        diagonal = float(np.linalg.norm(box[1] - box[0]))
        if outside > 0.5 * diagonal + 0.01:
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
        if len(bodies) >= FEWEST_PLACEHOLDERS:
            yield Finding.of("inertia-placeholder", subject("body", bodies), moment=value, bodies=names(bodies))
