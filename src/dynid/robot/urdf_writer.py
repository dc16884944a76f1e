"""Writing a robot as a new URDF file.

Link frames are joint frames. Bodies that are welded to a link and have a frame of their own, such as a flange, become
links on fixed joints.
"""

from __future__ import annotations

import math

import numpy as np
from lxml import etree

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.robot import inertia
from dynid.robot.description import STANDARD_GRAVITY, BodyDescription
from dynid.robot.frames import rpy_from_rotation
from dynid.robot.joints import JointKind
from dynid.robot.robot import WORLD, Joint, Link, Robot
from dynid.robot.xml_files import UNLIMITED, Element

_TYPES = {
    JointKind.REVOLUTE: "revolute",
    JointKind.CONTINUOUS: "continuous",
    JointKind.PRISMATIC: "prismatic",
    JointKind.FREE_FLYER: "floating",
}


def urdf_text(robot: Robot) -> str:
    """The robot as URDF: kinematics, limits, reference inertias, damping and friction.

    What the format cannot hold is left out; `left_out` says what that is.

    Raises:
        InvalidRequestError: If a joint is spherical, which URDF does not know.
    """
    root = etree.Element("robot", name=robot.name)
    root.append(etree.Comment(f" Written by dynid from {robot.description.source}. ".replace("--", "- -")))
    _add_link(root, robot.base)
    for joint, link in zip(robot.joints, robot.links, strict=True):
        carrier = robot.base if joint.parent == WORLD else robot.links[joint.parent]
        _add_joint(root, robot, joint, carrier.name, link.name)
        _add_link(root, link)
    etree.indent(root, space="  ")
    return '<?xml version="1.0"?>\n' + etree.tostring(root, encoding="unicode") + "\n"


def left_out(robot: Robot) -> list[str]:
    """What of the robot `urdf_text` leaves out because the format cannot hold it, in words."""
    missing = []
    if not np.array_equal(robot.gravity, STANDARD_GRAVITY):
        missing.append(f"gravity {robot.gravity.tolist()} m/s^2")
    if any(joint.dynamics.armature is not None for joint in robot.joints):
        missing.append("motor inertia (armature)")
    if robot.description.couplings:
        missing.append("couplings of joints")
    return missing


def _add_link(root: Element, link: Link) -> None:
    """A link at its joint frame, and the frames that are welded to it on fixed joints."""
    held = next((body for body in link.bodies if body.name == link.name), None)
    element = etree.SubElement(root, "link", name=link.name)
    if held is not None and held.inertia is not None:
        _add_inertial(element, inertia.moved(held.inertia, held.placement))
    if held is not None and not np.array_equal(held.placement, np.eye(4)):
        _add_fixed(root, link.name, BodyDescription(f"{held.name}_end", None, held.placement))
    for body in link.bodies:
        if body is not held:
            _add_fixed(root, link.name, body)


def _add_fixed(root: Element, parent: str, body: BodyDescription) -> None:
    joint = etree.SubElement(root, "joint", name=f"{body.name}_fixed", type="fixed")
    etree.SubElement(joint, "parent", link=parent)
    etree.SubElement(joint, "child", link=body.name)
    _add_origin(joint, body.placement)
    element = etree.SubElement(root, "link", name=body.name)
    if body.inertia is not None:
        _add_inertial(element, body.inertia)


def _add_inertial(element: Element, parameters: Array) -> None:
    mass, com, matrix = inertia.to_mass_com_inertia(parameters)
    inertial = etree.SubElement(element, "inertial")
    etree.SubElement(inertial, "origin", xyz=_text(*np.nan_to_num(com)), rpy="0 0 0")
    etree.SubElement(inertial, "mass", value=_text(mass))
    names = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
    etree.SubElement(inertial, "inertia", {name: _text(matrix[at]) for name, at in names.items()})


def _add_joint(root: Element, robot: Robot, joint: Joint, parent: str, child: str) -> None:
    if joint.kind not in _TYPES:
        raise InvalidRequestError(f"URDF has no {joint.kind.value} joints, and '{joint.name}' is one")
    limits = joint.limits
    unbounded = joint.kind is JointKind.REVOLUTE and not (math.isfinite(limits.lower) and math.isfinite(limits.upper))
    kind = JointKind.CONTINUOUS if unbounded else joint.kind
    element = etree.SubElement(root, "joint", name=joint.name, type=_TYPES[kind])
    etree.SubElement(element, "parent", link=parent)
    etree.SubElement(element, "child", link=child)
    _add_origin(element, joint.placement)
    if joint.kind.nq != 1:
        return
    etree.SubElement(element, "axis", xyz=_text(*joint.axis))
    bounds = {} if kind is JointKind.CONTINUOUS else {"lower": limits.lower, "upper": limits.upper}
    wanted = bounds | {"velocity": limits.velocity, "effort": limits.effort}
    stated = {"acceleration": limits.acceleration, "jerk": limits.jerk}
    wanted |= {name: value for name, value in stated.items() if math.isfinite(value)}
    etree.SubElement(element, "limit", {name: _text(_finite(value)) for name, value in wanted.items()})
    dynamics = {"damping": joint.dynamics.damping, "friction": joint.dynamics.friction}
    if any(value is not None for value in dynamics.values()):
        values = {name: _text(value) for name, value in dynamics.items() if value is not None}
        etree.SubElement(element, "dynamics", values)
    if joint.leader is not None:
        leader = robot.joints[joint.leader].name
        etree.SubElement(element, "mimic", joint=leader, multiplier=_text(joint.ratio), offset=_text(joint.offset))


def _add_origin(element: Element, placement: Array) -> None:
    etree.SubElement(element, "origin", xyz=_text(*placement[:3, 3]), rpy=_text(*rpy_from_rotation(placement[:3, :3])))


def _finite(limit: float) -> float:
    """The format asks for a number where there is no limit."""
    return math.copysign(UNLIMITED, limit) if math.isinf(limit) else limit


def _text(*values: float) -> str:
    """Numbers with all their digits, and no minus before a zero."""
    return " ".join(f"{float(value) + 0.0!r}".removesuffix(".0") for value in values)
