"""From a description to a robot: mimic joints are resolved, fixed and locked ones welded, moving ones numbered."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, RobotFileError, UnknownNameError
from dynid.findings import Finding
from dynid.robot.description import BodyDescription, Description, JointDescription, MimicDescription
from dynid.robot.frames import pose
from dynid.robot.joints import LARGEST_NUMBER, JointKind, motion, neutral
from dynid.robot.robot import WORLD, Joint, Link, Robot
from dynid.robot.rounded_frames import Frames


def resolve_mimics(description: Description) -> Description:
    """Let every mimic joint follow an independent joint directly.

    A joint that follows a joint that does not exist becomes independent, with a finding.

    Raises:
        RobotFileError: If joints follow each other in a circle, or a joint has more than one degree of freedom.
    """
    joints = {joint.name: joint for joint in description.joints}
    findings: list[Finding] = []
    for joint in description.joints:
        if joint.mimic is not None and joint.mimic.leader not in joints:
            leader = joint.mimic.leader
            near = difflib.get_close_matches(leader, joints, n=1) or list(joints)
            findings.append(Finding.of("mimic-leader-unknown", f"joint '{joint.name}'", leader=leader, near=near))
            joints[joint.name] = replace(joint, mimic=None)
    resolved = tuple(_resolved(joints[joint.name], joints, description.source) for joint in description.joints)
    return replace(description, joints=resolved, findings=(*description.findings, *findings))


def _resolved(joint: JointDescription, joints: dict[str, JointDescription], source: str) -> JointDescription:
    """Replace the leader by the leader's leader until that one is independent."""
    path = [joint.name]
    while joint.mimic is not None and (above := joints[joint.mimic.leader].mimic) is not None:
        path.append(joint.mimic.leader)
        if path[-1] in path[:-1] or above.leader == joint.name:
            circle = " -> ".join(f"'{name}'" for name in path)
            raise RobotFileError(source, f"mimic joints follow each other in a circle: {circle}", joint.line)
        below = joint.mimic
        ratio = below.ratio * above.ratio
        offset = below.ratio * above.offset + below.offset
        joint = replace(joint, mimic=MimicDescription(above.leader, ratio, offset))
    if joint.mimic is not None:
        for end in (joint, joints[joint.mimic.leader]):
            if end.kind.nq > 1:
                problem = f"joint '{end.name}' is {end.kind.value}; only joints of one degree of freedom can mimic"
                raise RobotFileError(source, problem, joint.line)
    return joint


ROOT_JOINT = "root_joint"
"""Name of the free-flyer joint that `floating_base=True` puts under the robot; Pinocchio's."""


def assemble(
    description: Description,
    *,
    floating_base: bool = False,
    lock: Mapping[str, float] | Iterable[str] = (),
    gravity: Iterable[float] | None = None,
) -> Robot:
    """Make a robot of what a file says: weld what does not move, number what does.

    The arguments are those of `load_robot`.
    """
    description = resolve_mimics(description)
    if floating_base:
        description = _with_floating_base(description)
    held = _positions_of_held_joints(description, lock)
    bodies = {body.name: body for body in description.bodies}
    moving = [joint for joint in description.joints if joint.name not in held]
    if not moving:
        raise RobotFileError(
            description.source,
            "the robot has no joint that moves, so nothing can be identified from joint torques; "
            "unlock a joint, or leave the base free (floating_base=True, --floating)",
        )
    index_of = {joint.name: i for i, joint in enumerate(moving)}
    frames = Frames(description.exact_frames)
    owner: dict[str, tuple[int, Array]] = {}  # body: the joint that moves it, and where it is in its frame
    children = {joint.child for joint in description.joints}
    for body in description.bodies:
        if body.name not in children:
            owner[body.name] = (WORLD, body.placement)

    parents, placements = [], []
    for joint in description.joints:
        parent, at = (WORLD, np.eye(4)) if joint.parent is None else owner[joint.parent]
        at = at @ joint.placement
        child = bodies[joint.child]
        if joint.name in held:
            rotation, translation = motion(joint.kind, joint.axis, held[joint.name][None])
            turned = frames.rotation(rotation[0], joint.name)
            owner[child.name] = (parent, at @ pose(turned, translation[0]) @ child.placement)
        else:
            parents.append(parent)
            placements.append(frozen(at))
            owner[child.name] = (index_of[joint.name], child.placement)

    welded: dict[int, list[BodyDescription]] = {i: [] for i in range(WORLD, len(moving))}
    for body in description.bodies:
        joint_index, placement = owner[body.name]
        welded[joint_index].append(replace(body, placement=frozen(placement)))
    return Robot(
        name=description.name,
        joints=_number(moving, index_of, parents, placements),
        links=tuple(Link(joint.child, tuple(welded[i])) for i, joint in enumerate(moving)),
        base=Link(welded[WORLD][0].name if welded[WORLD] else "world", tuple(welded[WORLD])),
        gravity=_gravity(gravity, description.gravity),
        description=description,
        locked={
            joint.name: float(held[joint.name][0]) if joint.kind.nq == 1 else 0.0
            for joint in description.joints
            if joint.name in held and joint.kind is not JointKind.FIXED and joint.mimic is None
        },
    )


def _number(
    moving: list[JointDescription], index_of: Mapping[str, int], parents: list[int], placements: list[Array]
) -> tuple[Joint, ...]:
    """Give each moving joint its number and columns; mimic joints share their leader's."""
    first = 0 if moving[0].kind is JointKind.FREE_FLYER and parents[0] == WORLD else 1
    q_of: dict[str, slice] = {}
    v_of: dict[str, slice] = {}
    nq = nv = 0
    for joint in moving:
        if joint.mimic is None:
            q_of[joint.name] = slice(nq, nq := nq + joint.kind.nq)
            v_of[joint.name] = slice(nv, nv := nv + joint.kind.nv)
    joints = []
    for i, joint in enumerate(moving):
        mimic = joint.mimic or MimicDescription(joint.name)
        joints.append(
            Joint(
                name=joint.name,
                number=first + i,
                kind=joint.kind,
                parent=parents[i],
                placement=placements[i],
                axis=joint.axis,
                q=q_of[mimic.leader],
                v=v_of[mimic.leader],
                ratio=mimic.ratio,
                offset=mimic.offset,
                leader=None if joint.mimic is None else index_of[mimic.leader],
                limits=joint.limits,
                dynamics=joint.dynamics,
            )
        )
    return tuple(joints)


def with_base_as_in_file(robot: Robot) -> Robot:
    """The robot before its base was freed, where it was: its file has a base, and whoever loads that may free it."""
    freed = robot.joints[0].name if robot.description.is_freed and robot.has_floating_base else None
    if freed is None or len(robot.joints) == 1:
        return robot
    joints = tuple(joint for joint in robot.description.joints if joint.name != freed)
    held = {name: position for name, position in robot.locked.items() if name != freed}
    return assemble(replace(robot.description, joints=joints, is_freed=False), lock=held, gravity=robot.gravity)


def _with_floating_base(description: Description) -> Description:
    """Put a free-flyer joint under the body that carries everything, unless one is there."""
    first = next((joint for joint in description.joints if joint.kind is not JointKind.FIXED), None)
    if first is not None and first.kind is JointKind.FREE_FLYER and _stands_on_nothing(first, description):
        return description
    root = _root_body(description, first)
    weld = next((joint for joint in description.joints if joint.child == root), None)
    name = ROOT_JOINT
    while any(joint.name == name for joint in description.joints):
        name += "_"
    placement = frozen(np.eye(4)) if weld is None else weld.placement
    base = JointDescription(name, JointKind.FREE_FLYER, None, root, placement)
    joints = (base, *(joint for joint in description.joints if joint is not weld))
    return replace(description, joints=joints, is_freed=True)


def _stands_on_nothing(joint: JointDescription, description: Description) -> bool:
    """Whether only the world, or bodies without inertia that stand for it, are under a joint."""
    under = {joint.child: joint.parent for joint in description.joints}
    inertia = {body.name: body.inertia for body in description.bodies}
    parent = joint.parent
    while parent is not None and inertia[parent] is None:
        parent = under.get(parent)
    return parent is None


def _root_body(description: Description, first: JointDescription | None) -> str:
    """The body below the first moving joint that nothing but the world is under."""
    under = {joint.child: joint.parent for joint in description.joints}
    root = next((body.name for body in description.bodies), None) if first is None else first.parent
    while root is not None and under.get(root) is not None:
        root = under[root]
    if root is None:
        raise InvalidRequestError(
            f"nothing carries the first joint of '{description.name}' but the world, so there is no base to leave free"
        )
    return root


def _positions_of_held_joints(description: Description, lock: Mapping[str, float] | Iterable[str]) -> dict[str, Array]:
    """Positions of the joints that do not move: fixed ones, locked ones, and the followers of those."""
    wanted = dict(lock) if isinstance(lock, Mapping) else dict.fromkeys([lock] if isinstance(lock, str) else lock, 0.0)
    held = {joint.name: neutral(joint.kind) for joint in description.joints if joint.kind is JointKind.FIXED}
    movable = [joint for joint in description.joints if joint.kind is not JointKind.FIXED]
    by_key = _lockable(description, movable)
    for key, position in wanted.items():
        if str(key) not in by_key:
            raise UnknownNameError("joint", str(key), [joint.name for joint in movable], " to lock")
        joint = by_key[str(key)]
        if joint.name in held:
            raise InvalidRequestError(f"joint '{joint.name}' is to be locked twice; name it once")
        held[joint.name] = _held_position(joint, position)
    for joint in movable:
        if joint.mimic is not None and joint.mimic.leader in held and joint.name not in held:
            leader = held[joint.mimic.leader]
            held[joint.name] = joint.mimic.ratio * (leader if leader.size else np.zeros(1)) + joint.mimic.offset
    return held


BASE = "base"
"""Word for the joint that leaves the base free in space, whatever its name."""


def _lockable(description: Description, movable: list[JointDescription]) -> dict[str, JointDescription]:
    """Joints by the words that stand for them: their names, their numbers, and of a free one also the name of its body.

    The name of a joint comes before that of a body, and both before the word `BASE`.
    """
    first = 0 if movable and movable[0].kind is JointKind.FREE_FLYER else 1
    free = [joint for joint in movable if joint.kind is JointKind.FREE_FLYER and _stands_on_nothing(joint, description)]
    has_one = bool(free) and (len(free) == 1 or free[0] is movable[0])
    return {
        **({BASE: free[0]} if has_one else {}),
        **{str(first + i): joint for i, joint in enumerate(movable)},
        **{joint.child: joint for joint in free},
        **{joint.name: joint for joint in movable},
    }


def _held_position(joint: JointDescription, position: float) -> Array:
    if joint.mimic is not None:
        raise InvalidRequestError(
            f"joint '{joint.name}' follows '{joint.mimic.leader}' and cannot be locked alone; lock that one"
        )
    if joint.kind.nq == 1:
        return np.array([float(position)])
    if position != 0.0:
        raise InvalidRequestError(
            f"joint '{joint.name}' ({joint.kind.value}) can only be locked where the file puts it, not at {position}"
        )
    return neutral(joint.kind) if joint.drawn_at is None else joint.drawn_at


def _gravity(asked: Iterable[float] | None, of_file: Array) -> Array:
    gravity = np.array(of_file if asked is None else list(asked), dtype=float)
    if gravity.shape != (3,) or not (np.abs(gravity) <= LARGEST_NUMBER).all():
        raise InvalidRequestError(f"gravity must be three finite numbers [m/s^2] such as (0, 0, -9.81), not {asked}")
    return frozen(gravity)
