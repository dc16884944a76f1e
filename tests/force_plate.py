"""A robot on a six-axis force-torque sensor in MuJoCo: the wrench on its base, from an engine that is not ours."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.robot import inertia
from dynid.robot.description import FULL_INERTIA
from dynid.robot.joints import JointKind, rotation_from_quaternion
from dynid.robot.pinocchio import tree_coordinates
from dynid.robot.robot import WORLD, Robot

mujoco: Any = importlib.import_module("mujoco")  # it has no type information

TABLE_3_3 = {
    "m2 + 1.0*m0 + 1.0*m1": 3.0,
    "my0 + 1.0*my1 + 1.0*my2": 0.0,
    "mx0 - 0.25*m0": -0.25,
    "mz2": 0.125,
    "mx2": 0.25,
    "mz1 - 0.25*m0 - 0.25*m1": -0.375,
    "mx1 - 0.5*m0 - 0.5*m1": -0.75,
    "Ixy2": 0.0,
    "Iyz2": 0.0,
    "Iyy2": 0.104167,
    "Ixy1 - 0.5*my2": 0.0,
    "Iyz1 - 0.25*my2": 0.0,
    "Iyy1 - 0.3125*m0 - 0.3125*m1": -0.520833,
}
"""Table 3.3 of the thesis of the two-link arm: base parameters from the wrench on a base that stands still."""


def plate_wrenches(robot: Robot, q: Array, v: Array, a: Array, parameters: Array) -> Array:
    """Force [N] and torque [N m] that the sensor under the base exerts on it, along its axes; shape (samples, 6).

    A mount is moved as the base shall move, and the base is welded to it by the sensor.

    Args:
        robot: A robot with a floating base, whose other joints have one degree of freedom each.
        q: Positions, shape (samples, nq).
        v: Velocities, shape (samples, nv).
        a: Accelerations, shape (samples, nv).
        parameters: Inertial parameters, shape (10 * links,), all links with a mass.
    """
    model = on_sensor(robot, parameters)
    data = mujoco.MjData(model)
    wrenches = []
    for one_q, one_v, one_a in zip(q, v, a, strict=True):
        tree_q, tree_v = tree_coordinates(robot, one_q, one_v)
        _, tree_a = tree_coordinates(robot, one_q, one_a)
        R = rotation_from_quaternion(one_q[None, 3:7])[0]
        data.qpos[:7] = [*one_q[:3], one_q[6], *one_q[3:6]]
        data.qvel[:6] = [*R @ one_v[:3], *one_v[3:6]]
        data.qacc[:6] = [*R @ (one_a[:3] + np.cross(one_v[3:6], one_v[:3])), *one_a[3:6]]
        for i in range(1, len(robot.joints)):
            joint = model.joint(str(i))
            data.qpos[joint.qposadr[0]] = tree_q[6 + i]
            data.qvel[joint.dofadr[0]], data.qacc[joint.dofadr[0]] = tree_v[5 + i], tree_a[5 + i]
        mujoco.mj_inverse(model, data)
        wrenches.append(data.sensordata.copy())
    return np.array(wrenches)


def on_sensor(robot: Robot, parameters: Array) -> Any:
    """The `mujoco.MjModel`."""
    spec = mujoco.MjSpec()
    spec.option.gravity = robot.gravity
    mount = spec.worldbody.add_body(name="mount")
    mount.mass, mount.inertia, mount.explicitinertial = 1.0, [1.0, 1.0, 1.0], True
    mount.add_freejoint()
    bodies: dict[int, Any] = {WORLD: mount}
    for i, (joint, p) in enumerate(zip(robot.joints, parameters.reshape(-1, inertia.SIZE), strict=True)):
        placement = np.eye(4) if i == 0 else joint.placement
        body = bodies[i] = bodies[joint.parent].add_body(pos=placement[:3, 3], quat=_quaternion(placement[:3, :3]))
        mass, com, about_com = inertia.to_mass_com_inertia(p)
        body.mass, body.ipos, body.explicitinertial = mass, com, True
        body.fullinertia = [about_com[row, column] for row, column in FULL_INERTIA]
        if i == 0:
            body.add_site(name="sensor")
        else:
            slides = joint.kind is JointKind.PRISMATIC
            kind = mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE
            body.add_joint(name=str(i), type=kind, axis=joint.axis)
    for kind in (mujoco.mjtSensor.mjSENS_FORCE, mujoco.mjtSensor.mjSENS_TORQUE):
        spec.add_sensor(type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname="sensor")
    return spec.compile()


def _quaternion(R: Array) -> Array:
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(R).ravel())
    return quaternion
