"""A robot whose joints, or bodies that are fixed to its links, are elsewhere than in its file: `with_places`."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import UnknownNameError
from dynid.robot.assembly import assemble
from dynid.robot.frames import inverse, pose
from dynid.robot.robot import Robot


def with_places(robot: Robot, joints: Mapping[str, Array], bodies: Mapping[str, Array]) -> Robot:
    """The robot with the origins of some frames elsewhere; how they are turned stays, and inertia stays with its link.

    Args:
        robot: The robot.
        joints: Origins of moving joints in the joint frame of the link that carries them [m], shape (3,), by name.
        bodies: Origins of bodies that fixed joints fix to a link, in its joint frame [m], shape (3,), by name.

    Raises:
        UnknownNameError: If there is no such moving joint, or no body that a fixed joint holds.
    """
    placed = {body.name: body.placement for link in (robot.base, *robot.links) for body in link.bodies}
    moving = {joint.name for joint in robot.joints}
    fixed = {joint.child for joint in robot.description.joints if joint.name not in moving}
    for what, names, known in (("moving joint", joints, moving), ("fixed body", bodies, fixed)):
        for name in names:
            if name not in known:
                raise UnknownNameError(what, name, known)
    changed = []
    for joint in robot.description.joints:
        wanted = joints.get(joint.name) if joint.name in moving else bodies.get(joint.child)
        if wanted is None:
            changed.append(joint)
            continue
        parent = np.eye(4) if joint.parent is None else placed[joint.parent]
        origin = inverse(parent) @ np.append(wanted, 1.0)
        changed.append(replace(joint, placement=frozen(pose(joint.placement[:3, :3], origin[:3]))))
    description = replace(robot.description, joints=tuple(changed))
    return assemble(description, lock=robot.locked, gravity=robot.gravity)
