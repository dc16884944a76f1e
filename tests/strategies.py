"""Random robots: chains and branches of every kind of joint, odd axes, welds, mimics, massless links."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from dynid.arrays import Array, frozen
from dynid.robot import inertia
from dynid.robot.assembly import assemble
from dynid.robot.description import BodyDescription, Description, JointDescription, MimicDescription
from dynid.robot.frames import pose, rotation_from_rpy
from dynid.robot.joints import JointDynamics, JointKind, Limits
from dynid.robot.robot import Robot

SINGLE = (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC)
ALL_KINDS = (*SINGLE, JointKind.FIXED, JointKind.SPHERICAL, JointKind.FREE_FLYER)
URDF_KINDS = (*SINGLE, JointKind.FIXED)


def random_pose(rng: np.random.Generator, right_angles: bool) -> Array:
    angles = rng.integers(-2, 3, 3) * np.pi / 2 if right_angles else rng.uniform(-3, 3, 3)
    return pose(rotation_from_rpy(*angles), rng.uniform(-0.5, 0.5, 3) * rng.integers(0, 2, 3))


def random_inertia(rng: np.random.Generator) -> Array:
    """A physical body: the inertia of a few point masses with a little volume each."""
    total = np.zeros(inertia.SIZE)
    for _ in range(4):
        mass = rng.uniform(0.1, 2.0)
        volume = mass * rng.uniform(1e-4, 1e-2) * np.eye(3)
        total += inertia.from_mass_com_inertia(mass, rng.uniform(-0.3, 0.3, 3), volume)
    return total


@st.composite
def descriptions(draw: st.DrawFn, kinds: tuple[JointKind, ...] = ALL_KINDS, max_joints: int = 6) -> Description:
    """Descriptions of random robots with at least one joint that moves."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(1, max_joints))
    bodies = [BodyDescription("base", frozen(random_inertia(rng)))]
    joints: list[JointDescription] = []
    for i in range(count):
        kind = draw(st.sampled_from(kinds if i else tuple(k for k in kinds if k is not JointKind.FIXED)))
        parent = draw(st.sampled_from(bodies)).name
        massless = draw(st.integers(0, 5)) == 0
        placement = random_pose(rng, True) if draw(st.booleans()) else np.eye(4)
        bodies.append(BodyDescription(f"b{i}", None if massless else frozen(random_inertia(rng)), frozen(placement)))
        odd_axis = draw(st.booleans())
        axis = rng.normal(size=3) if odd_axis else np.eye(3)[rng.integers(3)]
        leaders = [joint.name for joint in joints if joint.kind in SINGLE]
        follows = kind in SINGLE and leaders and draw(st.integers(0, 4)) == 0
        joints.append(
            JointDescription(
                name=f"j{i}",
                kind=kind,
                parent=parent,
                child=f"b{i}",
                placement=frozen(random_pose(rng, draw(st.booleans()))),
                axis=frozen(axis / np.linalg.norm(axis)),
                limits=Limits() if kind is JointKind.CONTINUOUS else Limits(-2.0, 2.5, 3.0, effort=50.0),
                dynamics=JointDynamics(*np.round(rng.uniform(0, 1, 3), 3).tolist()),
                mimic=MimicDescription(draw(st.sampled_from(leaders)), *rng.uniform(-2, 2, 2)) if follows else None,
            )
        )
    gravity = draw(st.sampled_from([(0.0, 0.0, -9.81), (0.0, 0.0, 9.81), (3.0, -4.0, -8.0)]))
    return Description("random", "random", tuple(bodies), tuple(joints), frozen(gravity))


@st.composite
def robots(draw: st.DrawFn, kinds: tuple[JointKind, ...] = ALL_KINDS, max_joints: int = 6) -> Robot:
    """Random robots with a fixed or a floating base."""
    return assemble(draw(descriptions(kinds, max_joints)), floating_base=draw(st.booleans()))


def is_floating_tree(robot: Robot) -> bool:
    """Whether a floating base carries all of a robot, and some joint."""
    return robot.has_floating_base and len(robot.joints) > 1 and all(joint.parent >= 0 for joint in robot.joints[1:])


FLOATING = robots().filter(is_floating_tree)
"""Random trees of all kinds of joints on a floating base."""

ARMS = robots(kinds=SINGLE, max_joints=4).filter(lambda robot: not robot.has_floating_base)
"""Random arms of single joints on a fixed base."""
