"""The same robot for Pinocchio, for everything that Pinocchio can do."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.robot import inertia
from dynid.robot.frames import inverse, pose
from dynid.robot.joints import JointKind, rotation_from_quaternion
from dynid.robot.newton_euler import inverse_dynamics
from dynid.robot.robot import WORLD, Joint, Link, Robot


def to_pinocchio(robot: Robot) -> Any:
    """A `pinocchio.Model` with the same joints, links and gravity.

    Revolute and continuous joints have one angle each; mimic joints are independent joints there (see
    `tree_coordinates`).
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

    Positions have the shape (nq,); velocities, or accelerations, the shape (nv,).
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


_SAMPLES = 8


def largest_difference(wanted: Robot, found: Robot) -> float:
    """Largest difference of torques at random states, relative to the joint's largest wanted torque.

    Torques are Pinocchio's, with the reference values of damping, friction and motor inertia. Joints are matched by
    name, whatever their order; torques below a hundredth of the robot's largest count as that. The difference is
    infinite if the robots have other joints.
    """
    names = {joint.name: joint for joint in found.independent_joints}
    if {joint.name for joint in wanted.independent_joints} != set(names) or wanted.nv != found.nv:
        return math.inf
    torques, other_torques = _Torques.of(wanted), _Torques.of(found)
    rng = np.random.default_rng(0)
    expected, differences = [], []
    for _ in range(_SAMPLES):
        q = np.concatenate([_random_position(joint, rng) for joint in wanted.independent_joints])
        v, a = rng.uniform(-3.0, 3.0, wanted.nv), rng.uniform(-10.0, 10.0, wanted.nv)
        tau = torques(q, v, a)
        other_q, other_v, other_a = np.zeros(found.nq), np.zeros(found.nv), np.zeros(found.nv)
        for joint in wanted.independent_joints:
            other = names[joint.name]
            other_q[other.q] = _same_position(joint, other, q[joint.q])
            other_v[other.v], other_a[other.v] = v[joint.v], a[joint.v]
        found_tau = other_torques(other_q, other_v, other_a)
        matched = [tau[joint.v] - found_tau[names[joint.name].v] for joint in wanted.independent_joints]
        expected.append(np.concatenate([tau[joint.v] for joint in wanted.independent_joints]))
        differences.append(np.concatenate(matched))
    largest = np.abs(expected).max(axis=0)
    scale = np.maximum(largest, 0.01 * largest.max()) + np.finfo(float).tiny
    return float((np.abs(differences) / scale).max())


def _random_position(joint: Joint, rng: np.random.Generator) -> Array:
    if not joint.kind.has_quaternion:
        width = math.pi if joint.kind.is_angular else 1.0
        return rng.uniform(-width, width, 1)
    q = rng.normal(size=joint.kind.nq)
    q[-4:] /= np.linalg.norm(q[-4:])
    return q


def _same_position(joint: Joint, other: Joint, q: Array) -> Array:
    """Positions of another robot's joint that put the link where it is.

    Only free joints differ: MJCF counts their positions from the world, and not from where the file puts the joint.
    """
    if joint.kind is not JointKind.FREE_FLYER or np.array_equal(joint.placement, other.placement):
        return q
    from scipy.spatial.transform import Rotation

    T = inverse(other.placement) @ joint.placement @ pose(rotation_from_quaternion(q[None, 3:])[0], q[:3])
    return np.concatenate([T[:3, 3], Rotation.from_matrix(T[:3, :3]).as_quat()])


def is_installed() -> bool:
    """Whether Pinocchio is there; PyPI has no wheels of it for Windows."""
    return importlib.util.find_spec("pinocchio") is not None


@dataclass(frozen=True, eq=False)
class _Torques:
    """Torques of a robot, with friction and motor inertia.

    They are Pinocchio's regressor times the links' parameters, so bodies need not be physically consistent; without
    Pinocchio, those of `newton_euler`.
    """

    robot: Robot
    model: Any
    data: Any

    @classmethod
    def of(cls, robot: Robot) -> _Torques:
        if not is_installed():
            return cls(robot, None, None)
        model = to_pinocchio(replace(robot, links=tuple(Link(link.name, ()) for link in robot.links)))
        return cls(robot, model, model.createData())

    def __call__(self, q: Array, v: Array, a: Array) -> Array:
        """Torques [N m or N] at positions (nq,), velocities and accelerations (nv,); shape (nv,)."""
        tau = self._of_links(q, v, a)
        for joint in self.robot.joints:
            if joint.kind.nv == 1:
                damping, friction, armature = (value or 0.0 for value in vars(joint.dynamics).values())
                own_v, own_a = joint.ratio * v[joint.v], joint.ratio * a[joint.v]
                tau[joint.v] += joint.ratio * (damping * own_v + friction * np.sign(own_v) + armature * own_a)
        return tau

    def _of_links(self, q: Array, v: Array, a: Array) -> Array:
        if self.model is None:
            return inverse_dynamics(self.robot, q, v, a)
        import pinocchio as pin

        tree_q, tree_v = tree_coordinates(self.robot, q, v)
        _, tree_a = tree_coordinates(self.robot, q, a)
        W = pin.computeJointTorqueRegressor(self.model, self.data, tree_q, tree_v, tree_a)
        of_tree = W.reshape(self.model.nv, -1) @ np.concatenate([link.parameters for link in self.robot.links])
        tau = np.zeros(self.robot.nv)
        at = 0
        for joint in self.robot.joints:
            tau[joint.v] += joint.ratio * of_tree[at : at + joint.kind.nv]
            at += joint.kind.nv
        return tau
