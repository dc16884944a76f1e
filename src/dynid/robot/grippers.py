"""Which joints open and close a gripper: these are held still where an arm is excited, unless they are asked to move.

A joint counts as a gripper's if only joints of grippers stand on what it moves, and

* the SRDF file beside the robot's file has it in the group of an end effector, and not the group that carries one, or
* its name suggests a gripper, finger, thumb, knuckle, jaw or claw, and not of a wrist's motion; on robots with a thumb
  also of the other fingers, or
* another joint mimics it on a branch of its own, as two fingers do, and it does not turn without end, as wheels do, or
* it slides by at most 0.1 m beside another such joint on the same link.

Where that would be every joint, the robot is a hand, and none counts.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dynid.errors import RobotFileError
from dynid.robot.formats.xml_files import Element, read_xml
from dynid.robot.joints import JointKind
from dynid.robot.loading import as_robot
from dynid.robot.robot import Joint, Robot


@dataclass(frozen=True)
class GripperThresholds:
    """When a joint may be a finger.

    Shown by `tests/robot/test_grippers.py` on public robots, hands and humanoids among them.
    """

    short_slide: float = 0.1
    """Range [m] of a slide up to which it may be a finger: those of parallel grippers open by 0.02 to 0.1 m."""


THRESHOLDS = GripperThresholds()

_NAMES = re.compile(r"gripper|finger|thumb|knuckle|jaw|claw", re.IGNORECASE)
_FINGERS = re.compile(r"(?<![a-z])(index|middle|ring|little|pinky|mrl)(?![a-z])", re.IGNORECASE)
_MOTIONS_OF_WRISTS = re.compile(r"wrist|roll|pitch|yaw|rotat|twist|lift", re.IGNORECASE)


@dataclass(frozen=True)
class GripperJoint:
    """A joint of a gripper.

    Attributes:
        name: The joint.
        position: Where it is held [rad or m]: at zero, or at the end of its range that is nearest.
        reason: Why it counts as one.
    """

    name: str
    position: float
    reason: str


def gripper_joints(robot: Robot) -> list[GripperJoint]:
    """The independent joints of a robot that are a gripper's; those that follow them are not listed."""
    named = _of_end_effectors(robot)
    reasons = {joint.name: _reason(joint, robot, named) for joint in robot.independent_joints if joint.kind.nv == 1}
    found = {name: reason for name, reason in reasons.items() if reason}
    while lost := [name for name in found if not set(_carried(name, robot)) <= set(found)]:
        for name in lost:
            del found[name]
    if len(found) == len(robot.independent_joints):
        return []
    return [GripperJoint(name, robot.joint(name).limits.rest, reason) for name, reason in found.items()]


def without_gripper(robot: Robot, move: Iterable[str] = ()) -> tuple[Robot, list[GripperJoint]]:
    """The robot with the joints of its gripper locked, and these joints.

    Args:
        robot: The robot.
        move: Joints, by name or number, that move all the same.

    Raises:
        UnknownNameError: If there is no joint of a name in `move`.
    """
    kept = {robot.joint(name).v.start for name in move}
    found = [one for one in gripper_joints(robot) if robot.joint(one.name).v.start not in kept]
    return as_robot(robot, lock={one.name: one.position for one in found}), found


def _reason(joint: Joint, robot: Robot, named: set[str]) -> str:
    """Why a joint may be a gripper's; empty where nothing says so."""
    if joint.name in named:
        return "an end effector in the SRDF file"
    has_thumb = any("thumb" in other.name.lower() for other in robot.joints)
    speaks = _NAMES.search(joint.name) or (has_thumb and _FINGERS.search(joint.name))
    if speaks and not _MOTIONS_OF_WRISTS.search(joint.name):
        return "its name"
    index = robot.joints.index(joint)
    followers = [k for k, other in enumerate(robot.joints) if other.leader == index]
    apart = [k for k in followers if index not in robot.chain(k) and k not in robot.chain(index)]
    if apart and joint.kind is not JointKind.CONTINUOUS:
        return f"'{robot.joints[apart[0]].name}' mimics it"
    beside = [other for other in robot.independent_joints if other.parent == joint.parent and other is not joint]
    if _slides_shortly(joint) and any(map(_slides_shortly, beside)):
        return "short slides side by side"
    return ""


def _slides_shortly(joint: Joint) -> bool:
    return joint.kind is JointKind.PRISMATIC and joint.limits.upper - joint.limits.lower <= THRESHOLDS.short_slide


def _carried(name: str, robot: Robot) -> Iterator[str]:
    """Names of the independent joints that stand on what a joint, or one that follows it, moves."""
    index = robot.joints.index(robot.joint(name))
    movers = {index, *(k for k, joint in enumerate(robot.joints) if joint.leader == index)}
    for k, joint in enumerate(robot.joints):
        if joint.leader is None and k != index and movers & set(robot.chain(k)):
            yield joint.name


def srdf_file(robot_file: Path, name: str) -> Path | None:
    """The SRDF file that belongs to a URDF file: of the same stem beside it, or one of the robot's name in `config`.

    The folders looked into are that of the file, and `srdf` and `config` in it and in the folder above.
    """
    above = (robot_file.parent, robot_file.parent.parent)
    folders = (robot_file.parent, *(folder / part for folder in above for part in ("srdf", "config")))
    stem = robot_file.name.partition(".")[0]
    for folder in folders:
        if (same := folder / f"{stem}.srdf").is_file():
            return same
        others = sorted(folder.glob("*.srdf"))[:20] if folder.is_dir() else []
        for other in others:
            root = _srdf(other)
            if root is not None and root.get("name", "").lower() == name.lower():
                return other
    return None


def _srdf(path: Path) -> Element | None:
    """The root of an SRDF file; None where it cannot be read as one, for it is only evidence."""
    try:
        root = read_xml(path)
    except RobotFileError:
        return None
    return root if root.tag == "robot" else None


def _of_end_effectors(robot: Robot) -> set[str]:
    """Joints in the groups of end effectors of the SRDF file beside a URDF file."""
    path = Path(robot.description.source)
    if path.suffix.lower() not in (".urdf", ".xacro"):
        return set()
    found = srdf_file(path, robot.description.name)
    root = None if found is None else _srdf(found)
    if root is None:
        return set()
    groups = {group.get("name"): group for group in root.findall("group")}
    below = {joint.child: joint for joint in robot.description.joints}
    bodies = {body.name for body in robot.description.bodies}
    joints: set[str] = set()
    for end in root.findall("end_effector"):
        group = groups.get(end.get("group"))
        if group is None or end.get("parent_link") not in bodies:
            continue
        own = {one.get("name", "") for one in group.findall("joint")}
        own |= {below[one.get("name", "")].name for one in group.findall("link") if one.get("name") in below}
        link, carries = end.get("parent_link"), False
        while link is not None and link in below and not carries:  # from the link that holds it down to the base
            carries, link = below[link].name in own, below[link].parent
        if not carries:  # otherwise the group is the arm or leg that ends there
            joints |= own
    return joints
