"""Writing a robot as a new URDF file.

Link frames are joint frames. Bodies that are welded to a link and have a frame of their own, such as a flange, become
links on fixed joints.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from lxml import etree

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.robot import inertia
from dynid.robot.description import INERTIA_ATTRIBUTES, STANDARD_GRAVITY, BodyDescription, Geometry, unique
from dynid.robot.formats.xml_files import Element, number_text
from dynid.robot.frames import pose, rpy_from_rotation
from dynid.robot.joints import UNLIMITED_FROM, JointKind
from dynid.robot.robot import WORLD, Joint, Link, Robot

_TYPES = {
    JointKind.REVOLUTE: "revolute",
    JointKind.CONTINUOUS: "continuous",
    JointKind.PRISMATIC: "prismatic",
    JointKind.FREE_FLYER: "floating",
}


def urdf_text(robot: Robot) -> str:
    """The robot as URDF: kinematics, limits, reference inertias, damping and friction, and shapes but meshes.

    What the format cannot hold is left out; `left_out` says what that is.

    Raises:
        InvalidRequestError: If a joint is spherical, which URDF does not know.
    """
    refuse_unprintable(robot)
    root = etree.Element("robot", name=robot.name)
    root.append(etree.Comment(" Written by dynid. "))
    links = {body.name for link in (robot.base, *robot.links) for body in link.bodies}
    taken = _Taken(links, {joint.name for joint in robot.joints})
    _add_link(root, robot.base, taken)
    for joint, link in zip(robot.joints, robot.links, strict=True):
        carrier = robot.base if joint.parent == WORLD else robot.links[joint.parent]
        _add_joint(root, robot, joint, carrier.name, link.name)
        _add_link(root, link, taken)
    etree.indent(root, space="  ")
    return '<?xml version="1.0"?>\n' + etree.tostring(root, encoding="unicode") + "\n"


def left_out(robot: Robot) -> list[str]:
    """What of the robot `urdf_text` leaves out or changes, in words: most of it the format cannot hold."""
    missing = []
    if not np.array_equal(robot.gravity, STANDARD_GRAVITY):
        missing.append(f"gravity {robot.gravity.tolist()} m/s^2")
    if any(joint.dynamics.armature for joint in robot.joints):
        missing.append("motor inertia (armature)")
    if robot.description.couplings:
        missing.append("couplings of joints")
    if any(not _is_plain(shape) for body in robot.description.bodies for shape in body.geometry):
        missing.append("meshes (visual and collision)")
    half = [joint.name for joint in robot.joints if math.isinf(joint.limits.lower) != math.isinf(joint.limits.upper)]
    if half:
        missing.append(f"ranges with one end only ({', '.join(half)})")
    if _written_order(robot) != [joint.name for joint in robot.joints]:
        missing.append("the order of joints (URDF counts the joints on one link by name)")
    return missing


def _written_order(robot: Robot) -> list[str]:
    """Names of the joints in the order in which a reader of URDF counts them."""
    order: list[str] = []
    stack = [WORLD]
    while stack:
        at = stack.pop()
        order += [] if at == WORLD else [robot.joints[at].name]
        on_it = [i for i, joint in enumerate(robot.joints) if joint.parent == at]
        stack += sorted(on_it, key=lambda i: robot.joints[i].name, reverse=True)
    return order


@dataclass(frozen=True)
class _Taken:
    """Names that are in use."""

    links: set[str]
    joints: set[str]


def refuse_unprintable(robot: Robot) -> None:
    """Refuse names that XML cannot hold."""
    names = [robot.name, *(joint.name for joint in robot.joints)]
    names += [body.name for link in (robot.base, *robot.links) for body in link.bodies]
    for name in names:
        if not name.isprintable():
            raise InvalidRequestError(f"the name {name!r} has characters that XML cannot hold; choose another")


def _add_link(root: Element, link: Link, taken: _Taken) -> None:
    """A link at its joint frame, and the frames that are welded to it on fixed joints."""
    held = next((body for body in link.bodies if body.name == link.name), None)
    element = etree.SubElement(root, "link", name=link.name)
    if held is not None and held.inertia is not None:
        _add_inertial(element, inertia.moved(held.inertia, held.placement))
    if held is not None:
        _add_shapes(element, held, held.placement)
    if held is not None and not np.array_equal(held.placement, np.eye(4)):
        end = unique(f"{held.name}_end", taken.links)
        _add_fixed(root, link.name, BodyDescription(end, None, held.placement), taken)
    for body in link.bodies:
        if body is not held:
            _add_fixed(root, link.name, body, taken)


def _add_fixed(root: Element, parent: str, body: BodyDescription, taken: _Taken) -> None:
    name = unique(f"{body.name}_fixed", taken.joints)
    joint = etree.SubElement(root, "joint", name=name, type="fixed")
    etree.SubElement(joint, "parent", link=parent)
    etree.SubElement(joint, "child", link=body.name)
    _add_origin(joint, body.placement)
    element = etree.SubElement(root, "link", name=body.name)
    if body.inertia is not None:
        _add_inertial(element, body.inertia)
    _add_shapes(element, body, np.eye(4))


def _is_plain(shape: Geometry) -> bool:
    """Whether a shape is one of a few numbers, that the format holds: no mesh."""
    return shape.shape != "mesh" and shape.corners is None


def _add_shapes(link: Element, body: BodyDescription, placement: Array) -> None:
    """The shapes of a body at a placement in its link, for show and for collision.

    A capsule becomes a cylinder with a sphere at each end: many readers of URDF know no capsules.
    """
    shapes = [part for shape in body.geometry if _is_plain(shape) for part in _parts(shape)]
    for use in ("visual", "collision"):
        for shape in shapes:
            element = etree.SubElement(link, use)
            _add_origin(element, placement @ shape.placement)
            geometry = etree.SubElement(element, "geometry")
            match shape.shape:
                case "box":
                    etree.SubElement(geometry, "box", size=number_text(*shape.size))
                case "sphere":
                    etree.SubElement(geometry, "sphere", radius=number_text(*shape.size))
                case _:
                    radius, length = shape.size
                    etree.SubElement(geometry, "cylinder", radius=number_text(radius), length=number_text(length))


def _parts(shape: Geometry) -> list[Geometry]:
    if shape.shape != "capsule":
        return [shape]
    radius, length = shape.size
    ends = [shape.placement @ pose(translation=np.array([0.0, 0.0, z])) for z in (-length / 2, length / 2)]
    return [replace(shape, shape="cylinder"), *(Geometry("sphere", (radius,), end) for end in ends)]


def _add_inertial(element: Element, parameters: Array) -> None:
    mass, com, matrix = inertia.to_mass_com_inertia(parameters)
    inertial = etree.SubElement(element, "inertial")
    etree.SubElement(inertial, "origin", xyz=number_text(*np.nan_to_num(com)), rpy="0 0 0")
    etree.SubElement(inertial, "mass", value=number_text(mass))
    etree.SubElement(inertial, "inertia", {name: number_text(matrix[at]) for name, at in INERTIA_ATTRIBUTES.items()})


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
    etree.SubElement(element, "axis", xyz=number_text(*joint.axis))
    bounds = {} if kind is JointKind.CONTINUOUS else {"lower": limits.lower, "upper": limits.upper}
    wanted = bounds | {"velocity": limits.velocity, "effort": limits.effort}
    stated = {"acceleration": limits.acceleration, "jerk": limits.jerk}
    wanted |= {name: value for name, value in stated.items() if math.isfinite(value)}
    etree.SubElement(element, "limit", {name: number_text(_finite(value)) for name, value in wanted.items()})
    dynamics = {"damping": joint.dynamics.damping, "friction": joint.dynamics.friction}
    if any(value is not None for value in dynamics.values()):
        values = {name: number_text(value) for name, value in dynamics.items() if value is not None}
        etree.SubElement(element, "dynamics", values)
    if joint.leader is not None:
        leader = robot.joints[joint.leader].name
        etree.SubElement(
            element, "mimic", joint=leader, multiplier=number_text(joint.ratio), offset=number_text(joint.offset)
        )


def _add_origin(element: Element, placement: Array) -> None:
    etree.SubElement(
        element, "origin", xyz=number_text(*placement[:3, 3]), rpy=number_text(*rpy_from_rotation(placement[:3, :3]))
    )


def _finite(limit: float) -> float:
    """The format asks for a number where there is no limit."""
    return math.copysign(UNLIMITED_FROM, limit) if math.isinf(limit) else limit
