"""The identified robot as a file: the user's own with new numbers, or a new one in another format.

What is written is loaded again, and its torques must be those that were wanted; else nothing is written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, RobotFileError
from dynid.files import write_bytes
from dynid.robot import inertia
from dynid.robot.assembly import assemble
from dynid.robot.description import Description
from dynid.robot.formats.mjcf_actuators import ActuatorForm, PositionLaw, differing_law, with_position_laws
from dynid.robot.formats.mjcf_edit import edited_mjcf
from dynid.robot.formats.mjcf_writer import left_out_of_mjcf, mjcf_text
from dynid.robot.formats.revision import revised
from dynid.robot.formats.urdf_edit import edited_urdf
from dynid.robot.formats.urdf_writer import left_out, urdf_text
from dynid.robot.formats.xml_edits import locate, with_warning
from dynid.robot.formats.xml_files import read_xml, robot_bytes
from dynid.robot.joints import JointDynamics
from dynid.robot.loading import BUILTIN_PREFIX, read_description, robot_file
from dynid.robot.pinocchio import largest_difference
from dynid.robot.robot import Robot

Format = Literal["urdf", "mjcf"]

WRITTEN_TOLERANCE = 1e-9
"""Largest relative difference between wanted values or torques and those of the written file."""

_SUFFIXES = {"urdf": (".urdf",), "mjcf": (".xml", ".mjcf")}


@dataclass(frozen=True)
class Written:
    """A robot file that was written.

    Attributes:
        path: The file.
        edited: Whether it is the user's own file with new numbers; else it is a new file without shapes.
        left_out: What the file does not hold, in words.
        impossible: Bodies that are not physically consistent: as they were in the user's file, and welded to others, so
            that only their link as a whole was identified. `dynid repair` makes them consistent.
        difference: Largest relative difference between its torques and the wanted ones.
        laws_kept: Joints whose control laws were not written, by the reason; see `with_position_laws`.
    """

    path: Path
    edited: bool
    left_out: tuple[str, ...]
    impossible: tuple[str, ...]
    difference: float
    laws_kept: Mapping[str, Sequence[str]] = field(default_factory=dict)


def write_back(
    robot: Robot,
    link_parameters: Array,
    dynamics: Mapping[str, JointDynamics],
    path: Path,
    *,
    format: Format,  # noqa: A002
    overwrite: bool = False,
    warning: str = "",
    laws: Mapping[str, PositionLaw] | None = None,
    actuators: ActuatorForm = "keep",
) -> Written:
    """Write a robot with identified values.

    A robot from a URDF or MJCF file is written in the same format by changing only its numbers in the text of that
    file; in every other case a new file is made.

    Args:
        robot: The robot, as it was loaded.
        link_parameters: For every solid link its 10-vector about the joint frame; see `revision.identified`.
        dynamics: New friction and motor inertia of joints, by name; None in it leaves a value as it is.
        path: The file to write.
        format: Its format.
        overwrite: Whether an existing file may be replaced.
        warning: Why the file should not be trusted, for a comment at its top; empty where it may be.
        laws: Control laws of joints, for the position actuators of an MJCF file.
        actuators: What becomes of actuators of an MJCF file; see `with_position_laws`.

    Raises:
        InvalidRequestError: If the values cannot be written, or the written file does not give the wanted torques.
        OutputExistsError: If the file exists and may not be replaced.
    """
    if path.suffix.lower() not in _SUFFIXES[format]:
        expected = " or ".join(_SUFFIXES[format])
        raise InvalidRequestError(
            f"'{path}' is to be a file in {format.upper()}; give it a name that ends in {expected}"
        )
    wanted = revised(robot, link_parameters, dynamics)
    edited = _format_of(robot.description.source) == format
    content = with_warning(_edited(wanted, format) if edited else _new(wanted, format), warning)
    kept: dict[str, list[str]] = {}
    if laws and format == "mjcf":
        source = robot_file(robot.description.source) if edited else path
        content, kept = with_position_laws(content, source, robot.description, laws, actuators)
    without = {name for names in kept.values() for name in names}
    acting = {name: law for name, law in (laws or {}).items() if format == "mjcf" and name not in without}
    held = _held(wanted, format, edited)
    differences: list[float] = []

    def check(written: Path) -> None:
        differences.append(_difference(held, written, path, edited))
        joint = differing_law(written, acting)
        if joint:
            problem = f"the actuator of joint '{joint}' would have other gains or limits in '{path}'"
            raise InvalidRequestError(f"{problem}; does a class of its <default> change them? Nothing was written")

    write_bytes(path, content, overwrite=overwrite, check=check)
    missing = _left_out(wanted, format, edited) + (_files_elsewhere(content, wanted, path) if edited else [])
    if (
        actuators != "keep"
        and b"<key" in content
        and any("ctrl" in node.spans for node in locate(content, path).iter())
    ):
        missing.append("that actuators take positions now: controls of keyframes are still torques of motors")
    impossible = tuple(body.name for body in wanted.description.bodies if not inertia.is_physical(body.parameters))
    return Written(path, edited, tuple(missing), impossible, differences[0], kept)


def _format_of(source: str) -> str:
    """The format of a robot's source: urdf, mjcf or table."""
    if source.startswith(BUILTIN_PREFIX) or source.endswith(".toml"):
        return "table"
    return "mjcf" if read_xml(robot_file(source)).tag == "mujoco" else "urdf"


def _edited(wanted: Robot, form: Format) -> bytes:
    """The text of the user's file with the wanted values."""
    source = robot_file(wanted.description.source)
    description = read_description(source, exact_frames=wanted.description.exact_frames)
    edit = edited_urdf if form == "urdf" else edited_mjcf
    return edit(robot_bytes(source), source, description, wanted.description)


def _new(wanted: Robot, form: Format) -> bytes:
    return (urdf_text(wanted) if form == "urdf" else mjcf_text(wanted)).encode()


def _held(wanted: Robot, form: Format, edited: bool) -> Robot:
    """The robot as far as the format holds it: URDF has no motor inertia, and no friction of a planar joint's parts."""
    if form == "mjcf":
        return wanted
    lost = _parts_of_planar_joints(wanted.description) if edited else set()
    return replace(
        wanted,
        joints=tuple(
            replace(joint, dynamics=JointDynamics() if joint.name in lost else replace(joint.dynamics, armature=None))
            for joint in wanted.joints
        ),
    )


def _parts_of_planar_joints(description: Description) -> set[str]:
    virtual = {body.name for body in description.bodies if body.virtual}
    return {joint.name for joint in description.joints if joint.child in virtual or joint.parent in virtual}


def _difference(wanted: Robot, written: Path, path: Path, edited: bool) -> float:
    """Load what was written, and compare it with what was wanted."""
    try:
        description = read_description(written, exact_frames=wanted.description.exact_frames)
    except RobotFileError as error:
        problem = f"what was to be written as '{path}' cannot be read again ({error.problem})"
        raise InvalidRequestError(f"{problem}; nothing was written") from error
    is_there = any(joint.name == wanted.joints[0].name for joint in description.joints)
    lock = wanted.locked if edited else {}
    loaded = assemble(description, floating_base=edited and not is_there, lock=lock, gravity=wanted.gravity)
    if edited:
        _compare_bodies(wanted.description, description, path)
    difference = largest_difference(wanted, loaded)
    if not difference <= WRITTEN_TOLERANCE:
        problem = f"torques of what was to be written as '{path}' differ by {difference:.1e} from the wanted ones"
        raise InvalidRequestError(f"{problem}; nothing was written")
    return difference


def _compare_bodies(wanted: Description, found: Description, path: Path) -> None:
    values = {body.name: body.parameters for body in found.bodies}
    for body in wanted.bodies:
        error = np.abs(values.get(body.name, np.inf) - body.parameters).max()
        if not error <= WRITTEN_TOLERANCE * np.abs(body.parameters).max():
            problem = f"the inertia of body '{body.name}' would not be the wanted one in '{path}'"
            settings = "inertiafromgeom, settotalmass, boundmass, balanceinertia, alignfree"
            cause = f"does a setting of its <compiler> ({settings}) change it"
            raise InvalidRequestError(f"{problem}; {cause}? Nothing was written")


def _files_elsewhere(content: bytes, wanted: Robot, path: Path) -> list[str]:
    """What shows that the edited file names other files, such as meshes, relative to the folder it came from."""
    folder = robot_file(wanted.description.source).parent
    if path.parent.resolve() == folder.resolve():
        return []
    named = [node.attributes.get(key, "") for node in locate(content, path).iter() for key in ("filename", "file")]
    is_relative = any(name and "://" not in name and not Path(name).is_absolute() for name in named)
    return [f"files that it names, such as meshes, relative to {folder}"] if is_relative else []


def _left_out(wanted: Robot, form: Format, edited: bool) -> list[str]:
    if not edited:
        locked = [f"that locked joints can move ({', '.join(wanted.locked)})"] if wanted.locked else []
        return (left_out(wanted) if form == "urdf" else left_out_of_mjcf(wanted)) + locked
    missing = []
    if not np.array_equal(wanted.gravity, wanted.description.gravity):
        missing.append(f"gravity {wanted.gravity.tolist()} m/s^2")
    if form == "urdf" and any(joint.dynamics.armature for joint in wanted.joints):
        missing.append("motor inertia (armature)")
    planar = _parts_of_planar_joints(wanted.description) if form == "urdf" else set()
    if any(joint.name in planar and joint.dynamics != JointDynamics() for joint in wanted.joints):
        missing.append("friction of planar joints")
    return missing
