"""A robot whose floating base is taken for the ground: for everything that depends on its joints only."""

from __future__ import annotations

from dataclasses import replace

from dynid.robot import WORLD, Robot

_POSITIONS, _VELOCITIES = 7, 6
"""Those of a free base."""


def with_held_base(robot: Robot) -> Robot:
    """The robot without its free base, which stands still; joints keep their order.

    Args:
        robot: A robot with a floating base.
    """
    joints = tuple(
        replace(
            joint,
            parent=WORLD if joint.parent == 0 else joint.parent - 1,
            q=slice(joint.q.start - _POSITIONS, joint.q.stop - _POSITIONS),
            v=slice(joint.v.start - _VELOCITIES, joint.v.stop - _VELOCITIES),
            leader=None if joint.leader is None else joint.leader - 1,
        )
        for joint in robot.joints[1:]
    )
    return replace(robot, joints=joints, links=robot.links[1:], base=robot.links[0])
