"""Legged robots of which everything is known, simulated in MuJoCo with what rests held by force sensors.

MuJoCo's own equations know nothing of ours: what rests carries plates without mass that are held in the world by
equality constraints, and a force and a torque sensor between plate and foot measure what the ground exerts on the
robot. Joints follow a motion under PD laws with the feed-forward of the *file's* robot.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
import pinocchio as pin
from lxml import etree
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from dynid import DynamicModel
from dynid.arrays import Array, Indices
from dynid.robot.formats.mjcf_writer import mjcf_text
from dynid.robot.formats.xml_files import Element
from dynid.robot.pinocchio import to_pinocchio
from tests.floating_kinematics import Frame, leg, on_base, pushes
from tests.floating_motions import StandingMotion
from tests.floating_robots import LeggedRobot
from tests.floating_truth import with_parameters

STEP = 5e-4
"""Step of the simulation [s]."""

LOG_RATE = 1000.0
"""Sampling rate of logs [Hz]."""

BANDWIDTH = 6.0
"""Natural frequency of joints under their laws [Hz], critically damped."""


def mujoco_model(legged: LeggedRobot, links: Array, joints: Array, rest: dict[str, Array]) -> mujoco.MjModel:
    """MuJoCo's model of a robot of which bodies are held at poses in the world, each by a plate with sensors.

    Args:
        legged: The robot.
        links: Its links, shape (10 * solid links,).
        joints: Viscous friction, Coulomb friction and motor inertia of its joints, shape (3, joints).
        rest: Bodies and poses, (4, 4) each. Points are held where they are to be, without a torque.
    """
    root = etree.fromstring(mjcf_text(with_parameters(legged.robot, links)))
    precise = {"tolerance": "1e-14", "iterations": "200", "ls_iterations": "100", "solver": "Newton"}
    etree.SubElement(root, "option", {"timestep": str(STEP)} | precise)
    for joint, values in zip(legged.robot.joints[1:], joints.T, strict=True):
        element = _found(root, f".//joint[@name='{joint.name}']")
        for name, value in zip(("damping", "frictionloss", "armature"), values, strict=True):
            element.set(name, repr(float(value)))
        element.set("solreffriction", f"{2 * STEP} 1")  # by default it would be viscous up to 0.1 rad/s
        element.set("solimpfriction", "0.9999 0.9999 0.001 0.5 2")
    for tag in ("equality", "sensor"):
        etree.SubElement(root, tag)
    for body, target in rest.items():
        _hold(root, legged, body, target)
    return mujoco.MjModel.from_xml_string(etree.tostring(root, encoding="unicode"))


def _hold(root: Element, legged: LeggedRobot, body: str, target: Array) -> None:
    """Hold a body, or a foot that is a point, at a pose in the world, with sensors of what holds it."""
    frame, plate, site = Frame.of(legged.robot, body), f"{body} plate", f"{body} sensor"
    above = _found(root, f".//joint[@name='{legged.robot.joints[frame.link].name}']/..")
    element = etree.SubElement(above, "body", {"name": plate} | placed(frame.placement))
    etree.SubElement(element, "site", name=site)
    stiff = {"solref": f"{4 * STEP} 1", "solimp": "0.9999 0.9999 0.001 0.5 2"}
    if legged.is_pointed and body in legged.feet:
        ground = {"name": f"{body} ground", "pos": numbers(*target[:3, 3])}
        etree.SubElement(_found(root, "worldbody"), "site", ground)
        etree.SubElement(_found(root, "equality"), "connect", {"site1": site, "site2": ground["name"]} | stiff)
    else:
        held = {"body1": "world", "body2": plate, "relpose": numbers(*target[:3, 3], *quaternion(target))}
        etree.SubElement(_found(root, "equality"), "weld", held | stiff)
    for kind in ("force", "torque"):
        etree.SubElement(_found(root, "sensor"), kind, name=f"{body} {kind}", site=site)


def _found(root: Element, path: str) -> Element:
    element = root.find(path)
    assert element is not None
    return element


def numbers(*values: float) -> str:
    return " ".join(repr(float(value)) for value in values)


def quaternion(T: Array) -> Array:
    """The quaternion (w, x, y, z) of a pose."""
    return np.roll(Rotation.from_matrix(T[:3, :3]).as_quat(), 1)


def placed(T: Array) -> dict[str, str]:
    return {"pos": numbers(*T[:3, 3]), "quat": numbers(*quaternion(T))}


@dataclass(frozen=True, eq=False)
class Run:
    """What a simulated robot did: the truth, before any sensor.

    Attributes:
        time: Times [s], shape (samples,).
        q: Positions, shape (samples, nq).
        v: Velocities, that of the base in its own frame, shape (samples, nv).
        a: Accelerations, likewise.
        torque: Torques of the motors [N m], shape (samples, joints).
        wrenches: What the ground exerts on each foot in the foot's frame, shape (samples, 6).
        seconds: Time that the simulation took [s].
    """

    time: Array
    q: Array
    v: Array
    a: Array
    torque: Array
    wrenches: dict[str, Array]
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Law:
    """A PD law with a feed-forward, at ticks of `STEP`.

    Attributes:
        q: Positions of the joints to follow [rad or m], shape (ticks, joints).
        v: Velocities to follow, likewise.
        ahead: Torques ahead [N m or N], likewise.
        kp: Gains of positions, shape (joints,).
        kd: Gains of velocities, shape (joints,).
    """

    q: Array
    v: Array
    ahead: Array
    kp: Array
    kd: Array

    @classmethod
    def of(cls, motion: StandingMotion, ticks: Array) -> Law:
        """The law that follows a motion."""
        knots = np.arange(0.0, motion.t[-1] + 0.01, 0.02)
        ahead = CubicSpline(knots, feed_forward(motion.legged, motion, knots))(ticks)
        return cls(motion.joints(ticks), motion.joints(ticks, 1), ahead, *gains(motion.legged, tuple(motion.feet)))

    def torque(self, k: int, q: Array, v: Array) -> Array:
        """Torques at a tick, where joints are at q and v."""
        return self.ahead[k] + self.kp * (self.q[k] - q) + self.kd * (self.v[k] - v)


def simulate(legged: LeggedRobot, links: Array, joints: Array, motion: StandingMotion) -> Run:
    """Let the true robot follow a motion with its feet held on the ground; arguments as of `mujoco_model`."""
    started = time.perf_counter()
    engine = mujoco_model(legged, links, joints, motion.feet)
    data = mujoco.MjData(engine)
    own = [engine.joint(joint.name) for joint in legged.robot.joints[1:]]
    q_at, v_at = (np.array([each.qposadr[0] for each in own]), np.array([each.dofadr[0] for each in own]))
    ticks, every = np.arange(round(motion.t[-1] / STEP) + 1) * STEP, round(1.0 / (LOG_RATE * STEP))
    law = Law.of(motion, ticks)
    data.qpos[:3], data.qpos[3:7], data.qpos[q_at] = motion.q[0, :3], motion.q[0, [6, 3, 4, 5]], law.q[0]
    rows = []
    for k in range(len(ticks)):
        torque = data.qfrc_applied[v_at] = law.torque(k, data.qpos[q_at], data.qvel[v_at])
        q, v = data.qpos.copy(), data.qvel.copy()
        mujoco.mj_step(engine, data)
        if k % every == 0:
            rows.append((q, v, data.qacc.copy(), torque, data.sensordata.copy()))
    q, v, a, torque, sensed = map(np.array, zip(*rows, strict=True))
    if not np.isfinite(q).all() or data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number:
        raise RuntimeError(f"{legged.name}: the simulation does not hold")
    wrenches = {body: -sensed[:, 6 * k : 6 * k + 6] for k, body in enumerate(motion.feet)}
    states = as_pinocchio(q, v, a, q_at, v_at)
    return Run(ticks[::every], *states, torque, wrenches, time.perf_counter() - started)


def as_pinocchio(q: Array, v: Array, a: Array, q_at: Indices, v_at: Indices) -> tuple[Array, Array, Array]:
    """States of MuJoCo in Pinocchio's coordinates: x y z w, and linear velocities along the base's axes.

    MuJoCo's linear velocity is along the world's; its derivative along the base's is less w x v than along the world's.
    """
    back = Rotation.from_quat(q[:, [4, 5, 6, 3]]).inv()
    linear = back.apply(v[:, :3])
    push = back.apply(a[:, :3]) - np.cross(v[:, 3:6], linear)
    return (
        np.hstack([q[:, [0, 1, 2, 4, 5, 6, 3]], q[:, q_at]]),
        np.hstack([linear, v[:, 3:6], v[:, v_at]]),
        np.hstack([push, a[:, 3:6], a[:, v_at]]),
    )


def gains(legged: LeggedRobot, rest: Sequence[str]) -> tuple[Array, Array]:
    """Gains of positions [N m/rad] and velocities [N m s/rad] of each joint, by the inertia felt while bodies rest.

    The joints of resting legs share one body, so they get half of it each.
    """
    robot, q = legged.robot, legged.standing[None]
    M = DynamicModel(robot, ()).mass_matrices(q)[0]
    inverted = np.linalg.inv(M + np.diag([0.0] * 6 + [legged.armature] * (robot.nv - 6)))
    J = pushes(robot, q, rest, legged.is_pointed and rest[0] in legged.feet)[0]
    free = inverted - inverted @ J @ np.linalg.pinv(J.T @ inverted @ J) @ J.T @ inverted
    felt = 1.0 / np.diagonal(free)[6:]
    felt[[i - 1 for body in rest for i in leg(robot, Frame.of(robot, body))]] *= 0.5
    w = 2.0 * np.pi * BANDWIDTH
    return w**2 * felt, 2.0 * w * felt


def feed_forward(legged: LeggedRobot, motion: StandingMotion, times: Array) -> Array:
    """Torques of joints [N m] of the file's robot along a motion, with the least forces where it rests."""
    q, v, a = motion.states(times)
    tau = DynamicModel(legged.robot, ()).inverse_dynamics(q, v, a)
    point = legged.is_pointed and legged.robot.links[0].name not in motion.feet
    J = pushes(legged.robot, q, tuple(motion.feet), point)
    light = np.ones(3) if point else np.repeat([1.0, 0.1], 3)
    light = np.tile(light, len(motion.feet))
    F = light[:, None] * (np.linalg.pinv(J[:, :6] * light) @ tau[:, :6, None])
    return tau[:, 6:] - (J[:, 6:] @ F)[..., 0]


def residual(legged: LeggedRobot, parameters: Array, run: Run, every: int = 10) -> tuple[float, float]:
    """Largest difference [N], [N m] of the feet's wrenches to Pinocchio's base rows at MuJoCo's own states."""
    robot = legged.robot
    model = to_pinocchio(with_parameters(robot, parameters))
    data = model.createData()
    q, v, a = run.q[::every], run.v[::every], run.a[::every]
    q = np.hstack([q[:, :3], q[:, 3:7] / np.linalg.norm(q[:, 3:7], axis=1)[:, None], q[:, 7:]])
    expected = np.array([pin.rnea(model, data, *state)[:6] for state in zip(q, v, a, strict=True)])
    found = on_base(robot, q, {body: wrench[::every] for body, wrench in run.wrenches.items()})
    worst = np.abs(found - expected).max(axis=0)
    return float(worst[:3].max()), float(worst[3:].max())
