"""Reading URDF files."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import UnknownNameError
from dynid.findings import Finding
from dynid.robot import inertia
from dynid.robot.description import BodyDescription, Description, Geometry, JointDescription, MimicDescription
from dynid.robot.formats.packages import find_mesh
from dynid.robot.formats.transmissions import urdf_motors
from dynid.robot.formats.xml_files import Element, ElementReader, read_xml
from dynid.robot.frames import pose, rotation_from_rpy
from dynid.robot.joints import JointDynamics, JointKind, Limits, unlimited
from dynid.robot.rounded_frames import Frames

_KINDS = {
    "revolute": JointKind.REVOLUTE,
    "continuous": JointKind.CONTINUOUS,
    "prismatic": JointKind.PRISMATIC,
    "spherical": JointKind.SPHERICAL,
    "floating": JointKind.FREE_FLYER,
    "fixed": JointKind.FIXED,
    "planar": None,  # two prismatic joints and a revolute one
}


def read_urdf(path: Path, root: Element | None = None, *, exact_frames: bool = False) -> Description:
    """Read a URDF file.

    Joints are counted as Pinocchio counts them: depth first, the joints on one link by their names.

    Args:
        path: The file.
        root: Its root element, when it was parsed already.
        exact_frames: Keep right angles that the file rounds, such as 1.5708.

    Raises:
        RobotFileError: If the file is no valid URDF.
    """
    root = read_xml(path) if root is None else root
    reader = _UrdfReader(path, Frames(exact_frames))
    bodies = reader.bodies(root)
    joints, extra = reader.joints(root, {body.name for body in bodies})
    ordered = reader.tree_order(root, bodies, joints)
    motors, notes = urdf_motors(root, {joint.name for joint in joints})
    return Description(
        name=root.get("name") or path.stem,
        source=str(path),
        bodies=(*_between_axes(bodies, joints), *extra),
        joints=ordered,
        motors=motors,
        findings=(*reader.findings, *notes, *reader.frames.findings()),
        exact_frames=exact_frames,
    )


class _UrdfReader(ElementReader):
    """Reads the elements of one URDF file, collecting findings on the way."""

    def __init__(self, path: Path, frames: Frames) -> None:
        super().__init__(path)
        self.frames = frames
        self.findings: list[Finding] = []

    def bodies(self, root: Element) -> list[BodyDescription]:
        bodies: dict[str, BodyDescription] = {}
        for element in root.findall("link"):
            name = self.text(element, "name")
            if name in bodies:
                raise self.error(element, f"a second link is named '{name}'; names must differ")
            shapes = element.findall("collision") or element.findall("visual")
            bodies[name] = BodyDescription(
                name=name,
                inertia=self._inertia(element, name),
                geometry=tuple(g for shape in shapes if (g := self._geometry(shape)) is not None),
                line=element.sourceline,
            )
        if any(str(element.tag).endswith(("/xacro}include", "/xacro}macro")) for element in root):
            problem = "holds xacro macros; give it a name that ends in .xacro, so that they are expanded"
            raise self.error(root, problem)
        if not bodies:
            raise self.error(root, "the robot has no links; is it a complete URDF, expanded from its xacro?")
        return list(bodies.values())

    def _inertia(self, link: Element, name: str) -> Array | None:
        inertial = link.find("inertial")
        if inertial is None:
            return None
        mass, matrix = inertial.find("mass"), inertial.find("inertia")
        for element, tag in ((mass, "mass"), (matrix, "inertia")):
            if element is None:
                raise self.error(inertial, f"<inertial> of link '{name}' lacks <{tag}>; add it or drop <inertial>")
        assert mass is not None
        assert matrix is not None
        ixx, ixy, ixz, iyy, iyz, izz = (self.number(matrix, key) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        about_com = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
        origin = self._origin(inertial)
        R = origin[:3, :3]
        return frozen(inertia.from_mass_com_inertia(self.number(mass, "value"), origin[:3, 3], R @ about_com @ R.T))

    def _origin(self, element: Element, joint: str | None = None) -> Array:
        """The pose of an `<origin>`; of a joint's, right angles that are rounded are made exact."""
        origin = element.find("origin")
        if origin is None:
            return np.eye(4)
        zero = (0.0, 0.0, 0.0)
        angles = self.numbers(origin, "rpy", zero)
        if joint is not None:
            angles = (self.frames.angle(angle, joint) for angle in angles)
        return pose(rotation_from_rpy(*angles), np.array(self.numbers(origin, "xyz", zero)))

    def _geometry(self, element: Element) -> Geometry | None:
        shape = next(iter(element.iterfind("geometry/*")), None)
        if shape is None:
            return None
        placement = frozen(self._origin(element))
        match shape.tag:
            case "box":
                return Geometry("box", self.numbers(shape, "size", (0.0, 0.0, 0.0)), placement)
            case "sphere":
                return Geometry("sphere", (self.number(shape, "radius"),), placement)
            case "cylinder" | "capsule":
                size = (self.number(shape, "radius"), self.number(shape, "length"))
                return Geometry(shape.tag, size, placement)
            case "mesh":
                mesh = find_mesh(self.path, self.text(shape, "filename"))
                return Geometry("mesh", self.numbers(shape, "scale", (1.0, 1.0, 1.0)), placement, mesh)
        return None

    def joints(self, root: Element, links: set[str]) -> tuple[list[JointDescription], list[BodyDescription]]:
        joints: dict[str, JointDescription] = {}
        extra: list[BodyDescription] = []
        for element in root.findall("joint"):
            if element.get("type") is None and element.find("parent") is None:
                continue  # a <joint> of some extension, not of the tree
            name = self.text(element, "name")
            text = self.text(element, "type")
            if text not in _KINDS:
                raise self.error(element, str(UnknownNameError("joint type", text, _KINDS)))
            kind = _KINDS[text]
            joint = self._joint(element, name, kind or JointKind.REVOLUTE, links)
            parts, bodies = ([joint], []) if kind is not None else _planar_as_chain(joint)
            for part in parts:
                if part.name in joints:
                    raise self.error(element, f"a second joint is named '{part.name}'; names must differ")
                joints[part.name] = part
            extra += bodies
        return list(joints.values()), extra

    def _joint(self, element: Element, name: str, kind: JointKind, links: set[str]) -> JointDescription:
        dynamics = element.find("dynamics")
        return JointDescription(
            name=name,
            kind=kind,
            parent=self._end(element, "parent", links),
            child=self._end(element, "child", links),
            placement=frozen(self._origin(element, name)),
            axis=self._axis(element, name, kind),
            limits=self._limits(element, name, kind),
            dynamics=JointDynamics()
            if dynamics is None
            else JointDynamics(
                damping=None if "damping" not in dynamics.attrib else self.number(dynamics, "damping"),
                friction=None if "friction" not in dynamics.attrib else self.number(dynamics, "friction"),
            ),
            mimic=self._mimic(element),
            line=element.sourceline,
        )

    def _end(self, joint: Element, tag: str, links: set[str]) -> str:
        end = joint.find(tag)
        if end is None:
            raise self.error(joint, f"joint '{joint.get('name')}' lacks <{tag} link=.../>")
        name = self.text(end, "link")
        if name not in links:
            where = f" (the {tag} of joint '{joint.get('name')}')"
            raise self.error(end, str(UnknownNameError("link", name, sorted(links), where)))
        return name

    def _axis(self, joint: Element, name: str, kind: JointKind) -> Array:
        element = joint.find("axis")
        axis = np.array((1.0, 0.0, 0.0) if element is None else self.numbers(element, "xyz", (1.0, 0.0, 0.0)))
        length = float(np.linalg.norm(axis))
        if kind.nq != 1 or element is None:
            return frozen(axis / (length or 1.0))
        if length < 1e-9:
            raise self.error(element, f"the axis of joint '{name}' is zero; expected a direction such as 0 0 1")
        if abs(length - 1.0) > 1e-3:
            self.findings.append(Finding.of("axis-not-unit", f"joint '{name}'", length=length))
        return frozen(self.frames.axis(axis / length, name))

    def _limits(self, joint: Element, name: str, kind: JointKind) -> Limits:
        element = joint.find("limit")
        if element is None or kind.nq != 1:
            return Limits()

        def limit(key: str, otherwise: float) -> float:
            """A limit may be infinite, but not NaN."""
            text = element.get(key)
            if text is None:
                return otherwise
            infinite = text.strip().lower() in ("inf", "+inf", "-inf", "infinity", "-infinity")
            return float(text) if infinite else unlimited(self.number(element, key))

        bounded = kind is not JointKind.CONTINUOUS
        both_absent = "lower" not in element.attrib and "upper" not in element.attrib
        absent = math.inf if both_absent else 0.0  # the format's default for one missing end is zero
        limits = Limits(
            lower=limit("lower", -absent) if bounded else -math.inf,
            upper=limit("upper", absent) if bounded else math.inf,
            velocity=limit("velocity", math.inf),
            acceleration=limit("acceleration", math.inf),
            jerk=limit("jerk", math.inf),
            effort=limit("effort", math.inf),
        )
        if limits.lower > limits.upper:
            about = f"joint '{name}'"
            self.findings.append(Finding.of("position-limits-swapped", about, lower=limits.lower, upper=limits.upper))
        return limits

    def _mimic(self, joint: Element) -> MimicDescription | None:
        element = joint.find("mimic")
        if element is None:
            return None
        return MimicDescription(
            leader=self.text(element, "joint"),
            ratio=self.number(element, "multiplier", 1.0),
            offset=self.number(element, "offset", 0.0),
        )

    def tree_order(
        self, root: Element, bodies: list[BodyDescription], joints: list[JointDescription]
    ) -> tuple[JointDescription, ...]:
        """Joints depth first from the one root, those on one link sorted by name."""
        moved_by: dict[str, str] = {}
        on_link: dict[str | None, list[JointDescription]] = {}
        for joint in joints:
            if joint.child in moved_by:
                problem = f"link '{joint.child}' is the child of '{moved_by[joint.child]}' and of '{joint.name}'"
                raise self.error(root, problem + "; closed loops cannot be written in URDF, drop one joint")
            moved_by[joint.child] = joint.name
            on_link.setdefault(joint.parent, []).append(joint)
        roots = [body.name for body in bodies if body.name not in moved_by]
        if len(roots) != 1:
            listed = ", ".join(f"'{name}'" for name in roots[:5]) or "none"
            raise self.error(root, f"the links must form one tree, but the links without a parent are: {listed}")
        ordered: list[JointDescription] = []
        stack = sorted(on_link.get(roots[0], []), key=lambda joint: joint.name, reverse=True)
        while stack:
            joint = stack.pop()
            ordered.append(joint)
            stack += sorted(on_link.get(joint.child, []), key=lambda joint: joint.name, reverse=True)
        if len(ordered) != len(joints):
            lost = next(joint for joint in joints if joint not in ordered)
            raise self.error(root, f"joint '{lost.name}' is in a loop that does not hang on '{roots[0]}'")
        return tuple(ordered)


def _between_axes(bodies: list[BodyDescription], joints: list[JointDescription]) -> list[BodyDescription]:
    """The bodies, with those as virtual that only stand between the axes of one body: `BODY/...` in a chain to it."""
    children: dict[str | None, list[str]] = {}
    for joint in joints:
        children.setdefault(joint.parent, []).append(joint.child)
    names = {body.name for body in bodies}

    def is_between(body: BodyDescription) -> bool:
        owner, slash, _ = body.name.rpartition("/")
        if not slash or owner not in names or body.inertia is not None or body.geometry:
            return False
        at = body.name
        while at.startswith(f"{owner}/") and len(children.get(at, ())) == 1:
            at = children[at][0]
        return at == owner

    return [replace(body, virtual=True) if is_between(body) else body for body in bodies]


def _planar_as_chain(joint: JointDescription) -> tuple[list[JointDescription], list[BodyDescription]]:
    """A planar joint as two prismatic joints and a revolute one, with virtual bodies between."""
    normal = joint.axis
    first = np.eye(3)[int(np.argmin(np.abs(normal)))]
    first = first - normal * (normal @ first)
    first /= np.linalg.norm(first)
    between = [BodyDescription(f"{joint.child}/{part}", line=joint.line, virtual=True) for part in ("x", "y")]
    children = (between[0].name, between[1].name, joint.child)
    kinds = (JointKind.PRISMATIC, JointKind.PRISMATIC, JointKind.CONTINUOUS)
    axes = (first, np.cross(normal, first), normal)
    parts = [
        JointDescription(
            name=f"{joint.name}/{part}",
            kind=kinds[k],
            parent=(joint.parent, *children)[k],
            child=children[k],
            placement=joint.placement if k == 0 else frozen(np.eye(4)),
            axis=frozen(axes[k]),
            line=joint.line,
        )
        for k, part in enumerate(("x", "y", "angle"))
    ]
    return parts, between
