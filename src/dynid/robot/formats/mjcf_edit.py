"""New inertial and dynamic values in the user's own MJCF file: only `<inertial>` and attributes of `<joint>` change."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, RobotFileError
from dynid.robot.description import FULL_INERTIA, BodyDescription, Description, JointDescription
from dynid.robot.formats import xml_edits
from dynid.robot.formats.mujoco_compiler import MjModel, compile_mjcf
from dynid.robot.formats.urdf_edit import SAME_NUMBER, changes_inertia, representable, roundings
from dynid.robot.formats.xml_files import number_text, read_xml
from dynid.robot.joints import JointKind

_ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
_COPIES = ("include", "replicate", "attach", "composite", "flexcomp")
"""Elements that stand for bodies which are not written at their place in the file."""

_DYNAMICS = {"damping": "dof_damping", "friction": "dof_frictionloss", "armature": "dof_armature"}
_ATTRIBUTES = {"damping": "damping", "friction": "frictionloss", "armature": "armature"}


def edited_mjcf(content: bytes, path: Path, old: Description, new: Description) -> bytes:
    """An MJCF file with new values.

    An inertia that changes is written as `fullinertia`, in place of `diaginertia` and its orientation; bodies whose
    inertia comes from their shapes get an `<inertial>`. Friction and motor inertia are written at the joint, less what
    motors have of their own.

    Args:
        content: The file's text.
        path: The file.
        old: What `read_mjcf` says of the file.
        new: The same bodies and joints with other inertias and dynamics.

    Returns:
        The new text; where the values are the old ones, the same bytes.

    Raises:
        RobotFileError: If a value has no place in this file, such as that of a body in an included file.
    """
    root = xml_edits.locate(content, path)
    wanted = {body.name: body for body in new.bodies}
    bodies = [body for body in old.bodies if not body.virtual]
    changed = [b for b in bodies if b.name in wanted and changes_inertia(b, wanted[b.name])]
    dynamics = {joint.name: joint for joint in new.joints}
    moved = [j for j in old.joints if j.kind.nq == 1 and j.name in dynamics and j.dynamics != dynamics[j.name].dynamics]
    if not changed and not moved:
        return content
    if changed:
        _refuse_overriding(root, path)
    places = _Places(root, path, old)
    splices = [
        s for body in changed for s in _inertial_splices(content, places.body(body.name), body, wanted[body.name])
    ]
    if moved:
        model, _ = compile_mjcf(path, read_xml(path))
        order = [joint.name for joint in old.joints if joint.kind is not JointKind.FIXED]
        for joint in moved:
            dof = model.jnt_dofadr[order.index(joint.name)]
            splices += _dynamics_splices(places.joint(joint.name), joint, dynamics[joint.name], model, dof)
    return xml_edits.spliced(content, splices)


def _refuse_overriding(root: xml_edits.Node, path: Path) -> None:
    for compiler in root.findall("compiler"):
        if compiler.attributes.get("inertiafromgeom") == "true":
            problem = 'inertiafromgeom="true" overrides all <inertial> elements; set it to "auto" to write inertias'
            raise RobotFileError(path, problem, compiler.line)


class _Places:
    """Where the bodies and joints of a description stand in the file.

    MuJoCo counts bodies, and the joints on each, in the order of the file. Where elements stand for copies of others
    or for other files, only bodies that have their names in the file are found.
    """

    def __init__(self, root: xml_edits.Node, path: Path, description: Description) -> None:
        self.path = path
        names = [body.name for body in description.bodies if not body.virtual]
        nodes = [n for world in root.findall("worldbody") for n in _bodies(world)]
        self.copies = sorted({node.tag for node in root.iter() if node.tag in _COPIES})
        in_order = not self.copies and len(nodes) == len(names)
        if in_order and all(n.attributes.get("name") in (None, name) for n, name in zip(nodes, names, strict=True)):
            self.bodies = dict(zip(names, nodes, strict=True))
        else:
            self.bodies = {name: node for node in nodes if (name := node.attributes.get("name")) in set(names)}
        self.joints: dict[str, xml_edits.Node] = {}
        for body, joints in _joints_of_bodies(description).items():
            found = list(_joints(self.bodies[body])) if body in self.bodies else []
            if len(found) == len(joints):
                self.joints |= dict(zip(joints, found, strict=True))

    def body(self, name: str) -> xml_edits.Node:
        return self._found(self.bodies.get(name), f"body '{name}'")

    def joint(self, name: str) -> xml_edits.Node:
        return self._found(self.joints.get(name), f"joint '{name}'")

    def _found(self, node: xml_edits.Node | None, what: str) -> xml_edits.Node:
        if node is not None:
            return node
        copies = f" (it may come from <{'>, <'.join(self.copies)}>)" if self.copies else ""
        problem = f"{what} is not written in this file itself{copies}, so its values have no place"
        raise RobotFileError(self.path, problem + "; write a new file, or put the whole robot into one file")


def _bodies(node: xml_edits.Node) -> Iterator[xml_edits.Node]:
    """The bodies within an element that are written where they are, in the order of the file."""
    for child in node.children:
        if child.tag == "body":
            yield child
        if child.tag in ("body", "frame"):
            yield from _bodies(child)


def _joints(node: xml_edits.Node) -> Iterator[xml_edits.Node]:
    for child in node.children:
        if child.tag in ("joint", "freejoint"):
            yield child
        elif child.tag == "frame":
            yield from _joints(child)


def _joints_of_bodies(description: Description) -> dict[str, list[str]]:
    """Names of the joints that move each body: several make a chain with virtual bodies between."""
    virtual = {body.name for body in description.bodies if body.virtual}
    found: dict[str, list[str]] = {}
    chain: list[str] = []
    for joint in description.joints:
        if joint.kind is not JointKind.FIXED:
            chain.append(joint.name)
        if joint.child not in virtual:
            found[joint.child] = chain
            chain = []
    return found


def _inertial_splices(
    content: bytes, node: xml_edits.Node, old: BodyDescription, new: BodyDescription
) -> list[xml_edits.Splice]:
    mass, com, about_com = representable(new)
    at = np.zeros(3) if com is None else com
    inertial = node.find("inertial")
    if inertial is None:
        values = {"pos": number_text(*at), "mass": number_text(mass), **_new_inertia(about_com)}
        return xml_edits.insert_child(content, node, xml_edits.NewElement("inertial", values), first=True)
    of_mass, of_com, of_inertia = roundings(new.parameters)
    splices = xml_edits.set_numbers(inertial, "mass", [mass], of_mass)
    splices += xml_edits.set_numbers(inertial, "pos", at.tolist(), of_com) if com is not None else []
    _, _, before = representable(old)
    if np.abs(about_com - before).max() <= of_inertia:
        return splices
    if "fullinertia" in inertial.spans:
        return splices + xml_edits.set_numbers(inertial, "fullinertia", _elements(about_com), of_inertia)
    splices += xml_edits.remove_attributes(inertial, ("diaginertia", *_ORIENTATIONS))
    return splices + xml_edits.set_attributes(inertial, _new_inertia(about_com))


def _new_inertia(about_com: Array) -> dict[str, str]:
    if not about_com.any():
        return {"diaginertia": "0 0 0"}  # MuJoCo takes no zero matrix
    return {"fullinertia": number_text(*_elements(about_com))}


def _elements(matrix: Array) -> Sequence[float]:
    return [float(matrix[at]) for at in FULL_INERTIA]


def _dynamics_splices(
    node: xml_edits.Node, old: JointDescription, new: JointDescription, model: MjModel, dof: int
) -> list[xml_edits.Splice]:
    splices: list[xml_edits.Splice] = []
    for key, field in _DYNAMICS.items():
        before, wanted = getattr(old.dynamics, key), getattr(new.dynamics, key)
        if wanted is None or wanted == before:
            continue
        of_motors = (before or 0.0) - float(getattr(model, field)[dof])
        value = wanted - of_motors
        if value < 0.0 < of_motors:
            problem = f"its motors alone have {of_motors:g}, more than the {wanted:g} that is to be written"
            raise InvalidRequestError(f"the {key} of joint '{old.name}': {problem}; lower it at the motors")
        splices += xml_edits.set_numbers(node, _ATTRIBUTES[key], [value], SAME_NUMBER * abs(value))
        if _ATTRIBUTES[key] not in node.spans and value == 0.0:  # a class may give it another value than zero
            splices += xml_edits.set_attributes(node, {_ATTRIBUTES[key]: "0"})
    return splices
