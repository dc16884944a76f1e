"""Gains of position controllers in the user's own MJCF file: only attributes of its actuators change."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.sax.saxutils import escape

from dynid.errors import InvalidRequestError, RobotFileError
from dynid.robot.description import Description, unique
from dynid.robot.formats import xml_edits
from dynid.robot.formats.mjcf_reader import joint_actuators, largest_force
from dynid.robot.formats.mujoco_compiler import MjModel, compile_mjcf, enum_name, mujoco_module
from dynid.robot.formats.urdf_edit import SAME_NUMBER
from dynid.robot.formats.xml_files import number_text, read_xml
from dynid.robot.joints import JointKind

LAW_TOLERANCE = 1e-9
"""Largest relative difference between wanted gains and those of the written file."""


ActuatorForm = Literal["keep", "position", "general"]
"""What becomes of actuators: position controllers get new numbers; motors become `<position>` ones, too; or all become
`<general>` ones, which hold a constant torque."""


@dataclass(frozen=True)
class PositionLaw:
    """Torque kp (command - position) - kd velocity + constant at a joint, within plus and minus a limit.

    Attributes:
        kp: [N m/rad or N/m].
        kd: [N m s/rad or N s/m].
        limit: [N m or N]; None leaves it to the file.
        constant: [N m or N]; None leaves it to the file. Only general actuators have one.
    """

    kp: float
    kd: float
    limit: float | None = None
    constant: float | None = None


@dataclass(frozen=True)
class _Found:
    """An actuator: its number in MuJoCo's model, its gear, and its element in the file, where it has one there."""

    number: int
    gear: float
    node: xml_edits.Node | None


def with_position_laws(
    content: bytes, path: Path, description: Description, laws: Mapping[str, PositionLaw], form: ActuatorForm = "keep"
) -> tuple[bytes, dict[str, list[str]]]:
    """An MJCF text with the gains of control laws.

    `<position>` actuators get `kp`, `kv` and `forcerange`; `<general>` ones that are the same get `gainprm` and
    `biasprm`. With a gear g, the command is g times the joint's position, as before, and gains are those at the joint
    over g^2.

    Args:
        content: The text, which may have other numbers than the file, and no other actuators.
        path: The file that it comes from; it need not exist where the text has no actuators.
        description: What `read_mjcf` says of the file.
        laws: The laws, by joint.
        form: What becomes of actuators. Unless they are kept, motors become position controllers, under their own names
            and with a gear of 1, and joints without any actuator get one.

    Returns:
        The new text, and the joints whose gains have no place in it, by the reason: "motor", "none" (no actuator),
        "several", "other" (neither motor nor position actuator) or "elsewhere" (not in this file itself).

    Raises:
        InvalidRequestError: If actuators are to be replaced that cannot be.
    """
    root = xml_edits.locate(content, path)
    model = compile_mjcf(path, read_xml(path))[0] if any(root.findall("actuator")) or _copies(root) else None
    found = {} if model is None else _actuators_of(root, model, description)
    splices: list[xml_edits.Splice] = []
    added: list[xml_edits.NewElement] = []
    kept: dict[str, list[str]] = {}
    taken = {node.attributes.get("name", "") for part in root.findall("actuator") for node in part.children}
    for joint, law in laws.items():
        own = found.get(joint, [])
        kind = _kind(own, model, form)
        if kind == "position" or (kind == "motor" and form != "keep"):
            splices += _rewritten(content, root, own[0], law, model, form, was_motor=kind == "motor")
        elif kind == "none" and form != "keep":
            added.append(_new_actuator(root, path, joint, law, form, taken))
        else:
            kept.setdefault(kind, []).append(joint)
    if form != "keep" and kept:
        reason, joints = next(iter(kept.items()))
        raise InvalidRequestError(_refused(reason, joints))
    return xml_edits.spliced(content, splices + _added(content, root, added)), kept


def differing_law(written: Path, laws: Mapping[str, PositionLaw]) -> str:
    """The first joint whose actuator in a file, as MuJoCo has it, is not the law that was to be written; else empty."""
    if not laws:
        return ""
    mujoco = mujoco_module()
    model, _ = compile_mjcf(written, read_xml(written))
    actuators = joint_actuators(model)
    for name, law in laws.items():
        joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
        own = actuators.get(joint, ())
        if len(own) != 1:
            return name
        (k, gear), limit = own[0], law.limit
        found = [gear**2 * model.actuator_gainprm[k, 0], *(-(gear**2) * model.actuator_biasprm[k, 1:3])]
        wanted = [law.kp, law.kp, law.kd]
        if law.constant is not None:
            found.append(gear * model.actuator_biasprm[k, 0])
            wanted.append(law.constant)
        if limit is not None:
            found.append(abs(gear) * largest_force(model, k))
            wanted.append(limit)
        if any(not abs(a - b) <= LAW_TOLERANCE * max(abs(b), 1.0) for a, b in zip(found, wanted, strict=True)):
            return name
    return ""


def _copies(root: xml_edits.Node) -> bool:
    return any(node.tag in ("include", "replicate", "attach") for node in root.iter())


def _actuators_of(root: xml_edits.Node, model: MjModel, description: Description) -> dict[str, list[_Found]]:
    """The actuators of each joint. MuJoCo counts them in the order of the file; from other files they have no place."""
    mujoco = mujoco_module()
    nodes: Sequence[xml_edits.Node | None] = [n for part in root.findall("actuator") for n in part.children]
    count = len(model.actuator_trntype)
    if _copies(root) or len(nodes) != count:
        names = {node.attributes["name"]: node for node in nodes if node is not None and "name" in node.attributes}
        nodes = [names.get(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, k)) for k in range(count)]
    order = [joint.name for joint in description.joints if joint.kind is not JointKind.FIXED]
    return {
        order[j]: [_Found(k, gear, nodes[k]) for k, gear in actuators]
        for j, actuators in joint_actuators(model).items()
    }


def _kind(own: Sequence[_Found], model: MjModel, form: ActuatorForm) -> str:
    """What acts on a joint: "position", "motor", or why its gains have no place."""
    if len(own) != 1:
        return "several" if own else "none"
    k, node = own[0].number, own[0].node
    if node is None:
        return "elsewhere"
    gain, bias = enum_name("mjtGain", model.actuator_gaintype[k]), enum_name("mjtBias", model.actuator_biastype[k])
    if gain != "mjGAIN_FIXED" or own[0].gear == 0.0:
        return "other"
    if bias == "mjBIAS_NONE" and node.tag in ("motor", "general"):
        return "motor" if enum_name("mjtDyn", model.actuator_dyntype[k]) == "mjDYN_NONE" else "other"
    if node.spans.keys() & {"timeconst", "inheritrange"} and form == "general":
        return "other"
    kp, back = float(model.actuator_gainprm[k, 0]), -float(model.actuator_biasprm[k, 1])
    is_position = bias == "mjBIAS_AFFINE" and kp == back and kp != 0.0 and node.tag in ("position", "general")
    return "position" if is_position else "other"


def _rewritten(
    content: bytes,
    root: xml_edits.Node,
    own: _Found,
    law: PositionLaw,
    model: MjModel,
    form: ActuatorForm,
    *,
    was_motor: bool,
) -> list[xml_edits.Splice]:
    """An actuator with the numbers of a law, and another name of its element where that is asked for."""
    node, k = own.node, own.number
    assert node is not None
    gear = 1.0 if was_motor else own.gear
    is_general = node.tag == "general" or form == "general"
    splices = _without_torque_range(root, node, own.gear) if was_motor else []
    if is_general != (node.tag == "general") or (was_motor and not is_general):
        splices += _renamed(content, node, b"general" if is_general else b"position")
    kp, kd = law.kp / gear**2, law.kd / gear**2
    if is_general:
        constant = float(model.actuator_biasprm[k, 0]) if law.constant is None else law.constant / gear
        splices += xml_edits.remove_attributes(node, ["kp", "kv", "dampratio"])
        if was_motor or node.tag != "general":
            splices += xml_edits.set_attributes(node, {"biastype": "affine"})
        splices += _set(node, "gainprm", [kp]) + _set(node, "biasprm", [constant, -kp, -kd])
    else:
        splices += xml_edits.remove_attributes(node, ["dampratio"]) + _set(node, "kp", [kp]) + _set(node, "kv", [kd])
    before = abs(own.gear) * largest_force(model, k)
    limit = law.limit if law.limit is not None else before if was_motor else math.inf
    is_there = not was_motor and abs(before - limit) <= SAME_NUMBER * limit
    return splices if is_there or limit == math.inf else splices + _limit_splices(root, node, limit / abs(gear))


def _without_torque_range(root: xml_edits.Node, node: xml_edits.Node, gear: float) -> list[xml_edits.Splice]:
    """A motor without its gear, and without its range of torques, which is no range of positions."""
    of_class = any("ctrlrange" in each.spans for part in root.findall("default") for each in part.iter())
    splices = xml_edits.remove_attributes(node, ["ctrlrange"] if of_class else ["ctrlrange", "ctrllimited"])
    splices += xml_edits.set_attributes(node, {"ctrllimited": "false"}) if of_class else []
    return splices if gear == 1.0 else splices + _set(node, "gear", [1.0])


def _renamed(content: bytes, node: xml_edits.Node, name: bytes) -> list[xml_edits.Splice]:
    splices = [xml_edits.Splice(node.start + 1, node.start + 1 + len(node.name), name)]
    if not node.is_empty:
        end = content.rindex(b"</", node.opened, node.closed) + 2
        splices.append(xml_edits.Splice(end, end + len(node.name), name))
    return splices


def _set(node: xml_edits.Node, attribute: str, values: Sequence[float]) -> list[xml_edits.Splice]:
    """Give an attribute numbers, zeros too: a class may give it others."""
    if attribute not in node.spans:
        return xml_edits.set_attributes(node, {attribute: number_text(*values)})
    return xml_edits.set_numbers(node, attribute, values, SAME_NUMBER * max(map(abs, values)))


def _limit_splices(root: xml_edits.Node, node: xml_edits.Node, limit: float) -> list[xml_edits.Splice]:
    by_hand = any(
        "forcelimited" in each.spans or (each.tag == "compiler" and each.attributes.get("autolimits") == "false")
        for each in root.iter()
    )
    return _set(node, "forcerange", [-limit, limit]) + (
        xml_edits.set_attributes(node, {"forcelimited": "true"}) if by_hand else []
    )


def _new_actuator(
    root: xml_edits.Node, path: Path, joint: str, law: PositionLaw, form: ActuatorForm, taken: set[str]
) -> xml_edits.NewElement:
    named = {node.attributes.get("name") for node in root.iter() if node.tag == "joint"}
    if joint not in named:
        raise RobotFileError(
            path, f"joint '{joint}' has no name in this file, so no actuator can act on it; give it one"
        )
    values = {"name": _quoted(unique(joint, taken)), "joint": _quoted(joint)}
    if form == "general":
        values |= {"gainprm": number_text(law.kp), "biastype": "affine"}
        values |= {"biasprm": number_text(law.constant or 0.0, -law.kp, -law.kd)}
    else:
        values |= {"kp": number_text(law.kp), "kv": number_text(law.kd)}
    if law.limit is not None:
        values["forcerange"] = number_text(-law.limit, law.limit)
        if any(each.attributes.get("autolimits") == "false" for each in root.findall("compiler")):
            values["forcelimited"] = "true"
    return xml_edits.NewElement("general" if form == "general" else "position", values)


def _quoted(text: str) -> str:
    return escape(text, {'"': "&quot;"}).encode("ascii", "xmlcharrefreplace").decode()


def _added(content: bytes, root: xml_edits.Node, elements: Sequence[xml_edits.NewElement]) -> list[xml_edits.Splice]:
    if not elements:
        return []
    part = next((each for each in root.findall("actuator") if each.children), None)
    if part is None:
        return xml_edits.insert_child(content, root, xml_edits.NewElement("actuator", {}, elements))
    return [splice for element in elements for splice in xml_edits.insert_child(content, part, element)]


def _refused(reason: str, joints: Sequence[str]) -> str:
    why = {
        "several": "has more than one actuator",
        "other": "has an actuator that is neither a motor nor a position controller",
        "elsewhere": "has its actuator in another file",
    }[reason]
    return f"joint '{joints[0]}' {why}, which cannot be replaced; edit the file, or leave actuators as they are"
