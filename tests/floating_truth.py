"""Legged robots of which everything is known: MuJoCo simulates them, force sensors under the feet and encoders log.

The true robot is the file's with links that are off. MuJoCo's own equations know nothing of ours: the feet carry
plates without mass that are welded to the world, and a force and a torque sensor between plate and foot measure what
the ground exerts on the robot. Joints follow a motion under PD laws with the feed-forward of the *file's* robot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np
from lxml import etree
from scipy.signal import butter, sosfiltfilt
from scipy.spatial.transform import Rotation

from dynid import Contact, DynamicModel, Log, Robot, Stance
from dynid.arrays import Array
from dynid.robot import SIZE, Link, inertia
from dynid.robot.description import BodyDescription
from dynid.robot.formats.mjcf_writer import mjcf_text
from tests.floating_kinematics import Frame, leg, of_links, on_base, pushes
from tests.floating_motions import StandingMotion
from tests.floating_robots import LeggedRobot

STEP = 5e-4
"""Step of the simulation [s]."""

LOG_RATE = 1000.0
"""Sampling rate of logs [Hz]."""

FORCE_NOISE, TORQUE_NOISE = 1.0, 0.3
"""Standard deviations of force sensors [N], [N m], per channel and foot at the sampling rate."""

JOINT_NOISE = 0.1
"""Standard deviation of the torques of joints [N m], likewise."""

CAPTURE_NOISE = (1e-4, 3e-4)
"""Standard deviations of motion capture [m], [rad], likewise."""

RESTS = 0.05
"""Speed [rad/s] below which torques of joints are left out of a log: dry friction may hold them."""

COUNTS = 2**14
"""Counts of encoders in a revolution of the joint."""

OFF = 0.15
"""Relative error of each link's ten numbers in the file, in units of `inertia.sizes`."""

THIN = 0.02
"""Links of the file that are thinner than this radius of gyration [m] along an axis are no bodies; truth is thicker."""

BANDWIDTH = 6.0
"""Natural frequency of joints under their laws [Hz], critically damped."""


# --- what is true -----------------------------------------------------------------------------------------------------


def off(link: Array, rng: np.random.Generator, relative: float = OFF) -> Array:
    """A physically consistent link, shape (10,), that is off another by a relative error in units of `inertia.sizes`.

    Mass, centre of mass and inertia change at random: by a scale, by a shift in units of the radii of gyration, and by
    a congruence of the second moments about the centre of mass.
    """
    P = inertia.to_pseudo_inertia(link)
    P[:3, :3] += max(0.0, THIN**2 * P[3, 3] - float(np.linalg.eigvalsh(_central(P))[0])) * np.eye(3)
    solid = inertia.from_pseudo_inertia(P)
    centre, moments, mass = P[:3, 3] / P[3, 3], _central(P), P[3, 3]
    root = np.linalg.cholesky(moments / mass)
    shift, turn, scale = rng.normal(size=3), rng.normal(size=(3, 3)), rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 1.5)

    def at(share: float) -> Array:
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = root @ (np.eye(3) + 0.5 * share * turn), centre + share * root @ shift
        return mass * np.exp(share * scale) * inertia.from_pseudo_inertia(T @ T.T)

    low, high, sizes = 0.0, 2.0, inertia.sizes(solid)
    wanted = relative * float(np.linalg.norm(solid / sizes))
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.linalg.norm((at(middle) - solid) / sizes) < wanted else (low, middle)
    return at(low)


def _central(P: Array) -> Array:
    """Second moments about the centre of mass of a pseudo-inertia, shape (3, 3)."""
    return P[:3, :3] - np.outer(P[:3, 3], P[:3, 3]) / P[3, 3]


def true_parameters(robot: Robot, seed: int, relative: float = OFF) -> Array:
    """Links that the file of a robot states with an error, shape (10 * solid links,)."""
    rng = np.random.default_rng((seed, 13))
    return np.concatenate([off(link, rng, relative) for link in robot.parameters.reshape(-1, SIZE)])


def true_joints(legged: LeggedRobot, seed: int, relative: float = OFF) -> Array:
    """Viscous friction, Coulomb friction and motor inertia of each joint, shape (3, joints)."""
    rough = np.array([[legged.viscous], [legged.coulomb], [legged.armature]])
    return rough * np.exp(relative * np.random.default_rng((seed, 16)).normal(size=(3, legged.robot.nv - 6)))


# --- the simulated robot ----------------------------------------------------------------------------------------------


def with_parameters(robot: Robot, parameters: Array) -> Robot:
    """A robot with other links, of which each is one body; frames of other bodies stay."""
    links = []
    for link, p in zip(robot.links, of_links(robot, parameters), strict=True):
        frames = tuple(replace(body, inertia=None) for body in link.bodies)
        links.append(Link(link.name, (BodyDescription(f"{link.name}_solid", inertia=p), *frames)))
    return replace(robot, links=tuple(links))


def mujoco_model(legged: LeggedRobot, links: Array, joints: Array, rest: dict[str, Array]) -> mujoco.MjModel:
    """MuJoCo's model of a robot of which bodies are held at poses in the world, each by a plate with sensors.

    Args:
        legged: The robot.
        links: Its links, shape (10 * solid links,).
        joints: Viscous friction, Coulomb friction and motor inertia of its joints, shape (3, joints).
        rest: Bodies and poses, (4, 4) each. Points are held where they are to be, without a torque.
    """
    robot = legged.robot
    root = etree.fromstring(mjcf_text(with_parameters(robot, links)))
    precise = {"tolerance": "1e-14", "iterations": "200", "ls_iterations": "100", "solver": "Newton"}
    etree.SubElement(root, "option", timestep=str(STEP), **precise)
    for joint, values in zip(robot.joints[1:], joints.T, strict=True):
        element = root.xpath(f".//joint[@name='{joint.name}']")[0]
        for name, value in zip(("damping", "frictionloss", "armature"), values, strict=True):
            element.set(name, repr(float(value)))
        element.set("solreffriction", f"{2 * STEP} 1")  # by default it would be viscous up to 0.1 rad/s
        element.set("solimpfriction", "0.9999 0.9999 0.001 0.5 2")
    equality, sensor = (etree.SubElement(root, tag) for tag in ("equality", "sensor"))
    stiff = {"solref": f"{4 * STEP} 1", "solimp": "0.9999 0.9999 0.001 0.5 2"}
    for body, target in rest.items():
        frame, plate = Frame.of(robot, body), f"{body} plate"
        above = root.xpath(f".//joint[@name='{robot.joints[frame.link].name}']/..")[0]
        element = etree.SubElement(above, "body", {"name": plate} | placed(frame.placement))
        etree.SubElement(element, "site", name=f"{body} sensor")
        if legged.is_pointed and body in legged.feet:
            ground = etree.SubElement(
                root.find("worldbody"), "site", name=f"{body} ground", pos=numbers(*target[:3, 3])
            )
            held = {"site1": f"{body} sensor", "site2": ground.get("name")}
            etree.SubElement(equality, "connect", held | stiff)
        else:
            held = {"body1": "world", "body2": plate, "relpose": numbers(*target[:3, 3], *quaternion(target))}
            etree.SubElement(equality, "weld", held | stiff)
        for kind in ("force", "torque"):
            etree.SubElement(sensor, kind, name=f"{body} {kind}", site=f"{body} sensor")
    return mujoco.MjModel.from_xml_string(etree.tostring(root, encoding="unicode"))


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


def simulate(legged: LeggedRobot, links: Array, joints: Array, motion: StandingMotion) -> Run:
    """Let the true robot follow a motion with its feet held on the ground."""
    import time

    started = time.perf_counter()
    robot = legged.robot
    engine = mujoco_model(legged, links, joints, motion.feet)
    data = mujoco.MjData(engine)
    q_at = np.array([engine.joint(j.name).qposadr[0] for j in robot.joints[1:]])
    v_at = np.array([engine.joint(j.name).dofadr[0] for j in robot.joints[1:]])
    every = round(1.0 / (LOG_RATE * STEP))
    ticks = np.arange(round((motion.t[-1]) / STEP) + 1) * STEP
    q_ref, v_ref = motion.joints(ticks), motion.joints(ticks, 1)
    knots = np.arange(0.0, motion.t[-1] + 0.01, 0.02)
    ahead = np.stack([np.interp(ticks, knots, one) for one in feed_forward(legged, motion, knots).T], axis=1)
    kp, kd = gains(legged, tuple(motion.feet))
    data.qpos[:3], data.qpos[3:7] = motion.q[0, :3], motion.q[0, [6, 3, 4, 5]]
    data.qpos[q_at] = q_ref[0]
    rows = len(ticks[::every])
    logged = {
        "q": np.empty((rows, engine.nq)),
        "v": np.empty((rows, engine.nv)),
        "a": np.empty((rows, engine.nv)),
        "torque": np.empty((rows, len(q_at))),
        "sensor": np.empty((rows, engine.nsensordata)),
    }
    for k in range(len(ticks)):
        torque = ahead[k] + kp * (q_ref[k] - data.qpos[q_at]) + kd * (v_ref[k] - data.qvel[v_at])
        data.qfrc_applied[v_at] = torque
        if k % every:
            mujoco.mj_step(engine, data)
            continue
        row = k // every
        logged["q"][row], logged["v"][row], logged["torque"][row] = data.qpos, data.qvel, torque
        mujoco.mj_step(engine, data)
        logged["a"][row], logged["sensor"][row] = data.qacc, data.sensordata
    if not np.isfinite(logged["q"]).all() or data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number:
        raise RuntimeError(f"{legged.name}: the simulation does not hold")
    q, v, a = as_pinocchio(logged["q"], logged["v"], logged["a"], q_at, v_at)
    sensed = {
        body: -np.hstack(
            [logged["sensor"][:, engine.sensor(f"{body} {kind}").adr[0] + np.arange(3)] for kind in ("force", "torque")]
        )
        for body in motion.feet
    }
    return Run(ticks[::every], q, v, a, logged["torque"], sensed, time.perf_counter() - started)


def as_pinocchio(q: Array, v: Array, a: Array, q_at: Array, v_at: Array) -> tuple[Array, Array, Array]:
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
    import pinocchio as pin

    from dynid.robot.pinocchio import to_pinocchio

    robot = legged.robot
    model = to_pinocchio(with_parameters(robot, parameters))
    data = model.createData()
    q, v, a = run.q[::every], run.v[::every], run.a[::every]
    q = np.hstack([q[:, :3], q[:, 3:7] / np.linalg.norm(q[:, 3:7], axis=1)[:, None], q[:, 7:]])
    expected = np.array([pin.rnea(model, data, *state)[:6] for state in zip(q, v, a, strict=True)])
    found = on_base(robot, q, {body: wrench[::every] for body, wrench in run.wrenches.items()})
    worst = np.abs(found - expected).max(axis=0)
    return float(worst[:3].max()), float(worst[3:].max())


# --- sensors ----------------------------------------------------------------------------------------------------------


def measured(run: Run, motion: StandingMotion, seed: int) -> Log:
    """What is logged of a run.

    On soles, that is encoders and force sensors, and the base is where the first sole puts it. Robots with feet that
    are points have forces at them, torques in their joints, and motion capture. Where the base is held, nobody measures
    what holds it.
    """
    rng = np.random.default_rng((seed, 14))
    legged, position = motion.legged, counted(run.q[:, 7:])
    noise = np.repeat([FORCE_NOISE, TORQUE_NOISE], 3)
    noisy = {body: wrench + noise * rng.normal(size=wrench.shape) for body, wrench in run.wrenches.items()}
    if not legged.is_pointed:
        contacts = [Contact(body, wrench) for body, wrench in noisy.items()]
        body, pose = next(iter(motion.feet.items()))
        return Log(time=run.time, position=position, stance=Stance(body, pose), contacts=contacts)
    slow = np.abs(speeds(run.time, position)) < RESTS
    contacts = [Contact(body, w[:, :3] if body in legged.feet else None) for body, w in noisy.items()]
    return Log(
        time=run.time,
        position=position,
        torque=run.torque + JOINT_NOISE * rng.normal(size=run.torque.shape),
        base_pose=captured(run.q[:, :7], rng),
        contacts=contacts,
        missing=slow,
    )


def speeds(time: Array, position: Array) -> Array:
    """Velocities of joints [rad/s] by their encoders, low-passed."""
    sos = butter(4, 10.0, fs=LOG_RATE, output="sos")
    return np.gradient(sosfiltfilt(sos, position, axis=0), time, axis=0)


def captured(pose: Array, rng: np.random.Generator) -> Array:
    """Poses of the base as motion capture sees them."""
    turn = Rotation.from_rotvec(CAPTURE_NOISE[1] * rng.normal(size=(len(pose), 3))) * Rotation.from_quat(pose[:, 3:])
    return np.hstack([pose[:, :3] + CAPTURE_NOISE[0] * rng.normal(size=(len(pose), 3)), turn.as_quat()])


def counted(angles: Array) -> Array:
    """Angles [rad] as encoders count them."""
    count = 2.0 * np.pi / COUNTS
    return count * np.round(angles / count)
