"""New inertial and dynamic values in the user's own URDF file: only numbers in `<inertial>` and `<dynamics>` change."""

from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.robot import inertia
from dynid.robot.description import INERTIA_ATTRIBUTES, BodyDescription, Description
from dynid.robot.formats.xml_edits import NewElement, Node, Splice, insert_child, locate, set_numbers, spliced
from dynid.robot.formats.xml_files import number_text
from dynid.robot.frames import rotation_from_rpy
from dynid.robot.joints import JointDynamics

SAME_NUMBER = 1e-13
"""Numbers that differ by less than this fraction of the body's scale are the same, and keep their text."""


def edited_urdf(content: bytes, path: Path, old: Description, new: Description) -> bytes:
    """A URDF file with new values.

    The inertia is expressed in the inertial frame that the file has, so `rpy` stays. Missing elements are inserted
    where a value needs them. The parts of a planar joint have no friction of their own in the file: theirs is left out.

    Args:
        content: The file's text.
        path: The file, for errors.
        old: What the text says.
        new: The same bodies and joints with other inertias and dynamics.

    Returns:
        The new text; where the values are the old ones, the same bytes.
    """
    root = locate(content, path)
    links = {node.attributes.get("name"): node for node in root.findall("link")}
    joints = {n.attributes.get("name"): n for n in root.findall("joint") if "type" in n.attributes}
    splices: list[Splice] = []
    wanted = {body.name: body for body in new.bodies}
    for body in old.bodies:
        if body.name in wanted and changes_inertia(body, wanted[body.name]):
            splices += _inertial_splices(content, links[body.name], wanted[body.name])
    dynamics = {joint.name: joint.dynamics for joint in new.joints}
    for joint in old.joints:
        if joint.name in joints and joint.name in dynamics:
            splices += _dynamics_splices(content, joints[joint.name], dynamics[joint.name])
    return spliced(content, splices)


def changes_inertia(old: BodyDescription, new: BodyDescription) -> bool:
    """Whether a body has another inertia; none and zero are the same."""
    return not np.array_equal(old.parameters, new.parameters)


def representable(body: BodyDescription) -> tuple[float, Array | None, Array]:
    """Mass [kg], centre of mass [m] (None without mass) and inertia about it [kg m^2], as files hold them.

    Raises:
        InvalidRequestError: If the body has first moments but no mass, which files cannot hold.
    """
    mass, com, about_com = inertia.to_mass_com_inertia(body.parameters)
    if mass == 0.0:
        if body.parameters[1:4].any():
            problem = "is to have first moments but no mass, which robot files cannot hold; give it a mass"
            raise InvalidRequestError(f"body '{body.name}' {problem}")
        return mass, None, about_com
    return mass, com, about_com


def roundings(parameters: Array) -> tuple[float, float, float]:
    """What is rounding of the mass [kg], of the centre of mass [m] and of the inertia [kg m^2] of a 10-vector."""
    mass, com, about_com = inertia.to_mass_com_inertia(parameters)
    if mass == 0.0:
        return 0.0, 0.0, SAME_NUMBER * float(np.abs(about_com).max())
    reach = float(np.abs(com).max()) + float(np.sqrt(np.abs(about_com).max() / abs(mass)))
    return SAME_NUMBER * abs(mass), SAME_NUMBER * reach, SAME_NUMBER * float(np.abs(parameters[4:]).max())


def _inertial_splices(content: bytes, link: Node, body: BodyDescription) -> list[Splice]:
    mass, com, about_com = representable(body)
    inertial = link.find("inertial")
    if inertial is None:
        return insert_child(content, link, _new_inertial(mass, com, about_com), first=True)
    mass_node, matrix_node, origin = inertial.find("mass"), inertial.find("inertia"), inertial.find("origin")
    assert mass_node is not None  # or the reader would have refused the file
    assert matrix_node is not None
    of_mass, of_com, of_inertia = roundings(body.parameters)
    R = rotation_from_rpy(*map(float, (origin.attributes.get("rpy", "0 0 0") if origin else "0 0 0").split()))
    in_frame = R.T @ about_com @ R
    splices = set_numbers(mass_node, "value", [mass], of_mass)
    for name, at in INERTIA_ATTRIBUTES.items():
        splices += set_numbers(matrix_node, name, [in_frame[at]], of_inertia)
    if com is None:
        return splices
    if origin is not None:
        return splices + set_numbers(origin, "xyz", com.tolist(), of_com)
    if np.abs(com).max() > of_com:
        splices += insert_child(content, inertial, _new_origin(com), first=True)
    return splices


def _new_inertial(mass: float, com: Array | None, about_com: Array) -> NewElement:
    matrix = {name: number_text(about_com[at]) for name, at in INERTIA_ATTRIBUTES.items()}
    parts = [NewElement("mass", {"value": number_text(mass)}), NewElement("inertia", matrix)]
    return NewElement("inertial", {}, [_new_origin(np.zeros(3) if com is None else com), *parts])


def _new_origin(com: Array) -> NewElement:
    return NewElement("origin", {"xyz": number_text(*com), "rpy": "0 0 0"})


def _dynamics_splices(content: bytes, joint: Node, dynamics: JointDynamics) -> list[Splice]:
    """Damping and friction; zero is what the format takes where nothing is written."""
    values = {"damping": dynamics.damping, "friction": dynamics.friction}
    wanted = {name: value for name, value in values.items() if value is not None}
    node = joint.find("dynamics")
    if node is None:
        if not any(wanted.values()):
            return []
        return insert_child(
            content, joint, NewElement("dynamics", {name: number_text(value) for name, value in wanted.items()})
        )
    return [
        splice
        for name, value in wanted.items()
        for splice in set_numbers(node, name, [value], SAME_NUMBER * abs(value))
    ]
