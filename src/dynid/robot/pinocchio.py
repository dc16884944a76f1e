"""The same robot for Pinocchio, for everything that Pinocchio can do."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.robot import inertia
from dynid.robot.joints import JointKind
from dynid.robot.robot import WORLD, Joint, Robot


def to_pinocchio(robot: Robot) -> Any:
    """A `pinocchio.Model` with the same joints, links and gravity.

    Revolute and continuous joints have one angle each; mimic joints are independent joints there (see
    `tree_coordinates`).

    Args:
        robot: The robot.

    Returns:
        The `pinocchio.Model`.
    """
    import pinocchio as pin

    model = pin.Model()
    model.name = robot.name
    model.gravity = pin.Motion(np.concatenate([robot.gravity, np.zeros(3)]))
    identifiers: dict[int, int] = {WORLD: 0}
    for i, (joint, link) in enumerate(zip(robot.joints, robot.links, strict=True)):
        parent = identifiers[joint.parent]
        placement = pin.SE3(np.array(joint.placement))
        identifiers[i] = model.addJoint(parent, _joint_model(joint), placement, joint.name)
        model.appendBodyToJoint(identifiers[i], _inertia(link.parameters), pin.SE3.Identity())
    return model


def tree_coordinates(robot: Robot, q: Array, v: Array) -> tuple[Array, Array]:
    """Positions and velocities of all joints, mimic ones among them, as `to_pinocchio`'s model takes them.

    Args:
        robot: The robot.
        q: Positions, shape (nq,).
        v: Velocities or accelerations, shape (nv,).

    Returns:
        Positions and velocities of the tree of all joints.
    """
    positions = [joint.positions(q) for joint in robot.joints]
    return np.concatenate(positions), np.concatenate([joint.ratio * v[joint.v] for joint in robot.joints])


def _joint_model(joint: Joint) -> Any:
    import pinocchio as pin

    if joint.kind.is_angular:
        return pin.JointModelRevoluteUnaligned(np.array(joint.axis))
    if joint.kind is JointKind.PRISMATIC:
        return pin.JointModelPrismaticUnaligned(np.array(joint.axis))
    return pin.JointModelSpherical() if joint.kind is JointKind.SPHERICAL else pin.JointModelFreeFlyer()


def _inertia(parameters: Array) -> Any:
    """Pinocchio stores mass, centre of mass and inertia about it, so a body without mass keeps no inertia."""
    import pinocchio as pin

    mass, com, about_com = inertia.to_mass_com_inertia(parameters)
    return pin.Inertia(mass, np.nan_to_num(com), about_com)
