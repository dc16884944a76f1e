"""Writing a robot as a new MJCF file.

Body frames are joint frames. Bodies that are welded to a link are part of its inertia, and their frames are sites.
"""

import math

import numpy as np
from lxml import etree

from dynid.arrays import Array
from dynid.robot import inertia
from dynid.robot.description import FULL_INERTIA, unique
from dynid.robot.formats.urdf_writer import refuse_unprintable
from dynid.robot.formats.xml_files import Element, number_text
from dynid.robot.joints import JointKind
from dynid.robot.robot import WORLD, Joint, Link, Robot

_TYPES = {
    JointKind.REVOLUTE: "hinge",
    JointKind.CONTINUOUS: "hinge",
    JointKind.PRISMATIC: "slide",
    JointKind.SPHERICAL: "ball",
    JointKind.FREE_FLYER: "free",
}


def mjcf_text(robot: Robot) -> str:
    """The robot as MJCF: kinematics, limits, gravity, inertias, damping, friction and motor inertia.

    What the format cannot hold is left out; `left_out_of_mjcf` says what that is.
    """
    refuse_unprintable(robot)
    root = etree.Element("mujoco", model=robot.name)
    root.append(etree.Comment(" Written by dynid. "))
    etree.SubElement(root, "compiler", angle="radian", autolimits="true")
    etree.SubElement(root, "option", gravity=number_text(*robot.gravity))
    world = etree.SubElement(root, "worldbody")
    names = {"world"}
    _add_sites(world, robot.base, names)
    within: dict[int, Element] = {WORLD: world}
    for i, joint in enumerate(robot.joints):
        within[i] = within[joint.parent]
        if not _is_continued(robot, i):
            name = unique(_solid_link(robot, i).name, names)
            within[i] = etree.SubElement(within[i], "body", {"name": name} | _placed(joint.placement))
        _add_joint(within[i], joint)
        _add_inertial(within[i], robot.links[i].parameters)
        _add_sites(within[i], robot.links[i], names)
    _add_mimics(root, robot)
    etree.indent(root, space="  ")
    return etree.tostring(root, encoding="unicode") + "\n"


def left_out_of_mjcf(robot: Robot) -> list[str]:
    """What of the robot `mjcf_text` leaves out, in words."""
    missing = []
    limits = [joint.limits for joint in robot.joints]
    if any(math.isfinite(value) for each in limits for value in (each.velocity, each.acceleration, each.jerk)):
        missing.append("limits of velocity, acceleration and jerk")
    if robot.description.couplings:
        missing.append("couplings of joints")
    if any(body.geometry for body in robot.description.bodies):
        missing.append("shapes (visual and collision)")
    ends = {j.name: (j.limits.lower, j.limits.upper) for j in robot.joints if not _has_range(j)}
    odd = [name for name, both in ends.items() if any(map(math.isfinite, both))]
    if odd:
        missing.append(f"ranges with one end only, or without room ({', '.join(odd)})")
    if robot.base.parameters.any():
        missing.append("the inertia of what does not move")
    return missing


def _is_continued(robot: Robot, i: int) -> bool:
    """Whether a joint moves the same body as the joint before it: MuJoCo refuses bodies without mass between them."""
    parent = robot.joints[i].parent
    if parent == WORLD or not robot.links[parent].is_virtual:
        return False
    return np.array_equal(robot.joints[i].placement, np.eye(4))


def _solid_link(robot: Robot, i: int) -> Link:
    """The link of a joint, or the one at the end of the chain of joints that move one body."""
    while robot.links[i].is_virtual and any(joint.parent == i for joint in robot.joints):
        i = next(k for k, joint in enumerate(robot.joints) if joint.parent == i)
    return robot.links[i]


def _placed(placement: Array) -> dict[str, str]:
    R = placement[:3, :3]
    attributes = {"pos": number_text(*placement[:3, 3])}
    if not np.array_equal(R, np.eye(3)):
        attributes["xyaxes"] = number_text(*R[:, 0], *R[:, 1])
    return attributes


def _add_joint(body: Element, joint: Joint) -> None:
    attributes = {"name": joint.name, "type": _TYPES[joint.kind]}
    if joint.kind.nq == 1:
        attributes["axis"] = number_text(*joint.axis)
        if _has_range(joint):
            attributes["range"] = number_text(joint.limits.lower, joint.limits.upper)
        if 0.0 < joint.limits.effort < math.inf:
            attributes["actuatorfrcrange"] = number_text(-joint.limits.effort, joint.limits.effort)
        own = joint.dynamics
        values = {"damping": own.damping, "frictionloss": own.friction, "armature": own.armature}
        attributes |= {name: number_text(value) for name, value in values.items() if value}
    etree.SubElement(body, "joint", attributes)


def _has_range(joint: Joint) -> bool:
    finite = math.isfinite(joint.limits.lower) and math.isfinite(joint.limits.upper)
    return joint.kind is not JointKind.CONTINUOUS and finite and joint.limits.lower < joint.limits.upper


def _add_inertial(body: Element, parameters: Array) -> None:
    if not parameters.any():
        return
    mass, com, about_com = inertia.to_mass_com_inertia(parameters)
    elements = [about_com[i, j] for i, j in FULL_INERTIA]
    values = {"pos": number_text(*np.nan_to_num(com)), "mass": number_text(mass)}
    etree.SubElement(body, "inertial", values | {"fullinertia": number_text(*elements)})


def _add_sites(body: Element, link: Link, names: set[str]) -> None:
    for welded in link.bodies:
        if welded.name != link.name and not welded.virtual:
            etree.SubElement(body, "site", {"name": unique(welded.name, names)} | _placed(welded.placement))


def _add_mimics(root: Element, robot: Robot) -> None:
    pairs = [(joint, robot.joints[joint.leader]) for joint in robot.joints if joint.leader is not None]
    equality = etree.SubElement(root, "equality") if pairs else root
    for joint, leader in pairs:
        polynomial = number_text(joint.offset, joint.ratio, 0.0, 0.0, 0.0)
        etree.SubElement(equality, "joint", joint1=joint.name, joint2=leader.name, polycoef=polynomial)
