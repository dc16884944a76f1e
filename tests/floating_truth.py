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


# --- the simulated robot ----------------------------------------------------------------------------------------------


def with_parameters(robot: Robot, parameters: Array) -> Robot:
    """A robot with other links, of which each is one body; frames of other bodies stay."""
    links = []
    for link, p in zip(robot.links, of_links(robot, parameters), strict=True):
        frames = tuple(replace(body, inertia=None) for body in link.bodies)
        links.append(Link(link.name, (BodyDescription(f"{link.name}_solid", inertia=p), *frames)))
    return replace(robot, links=tuple(links))


def mujoco_model(legged: LeggedRobot, parameters: Array, feet: dict[str, Array], point: bool = False) -> mujoco.MjModel:
    """MuJoCo's model of a robot whose feet are held at poses in the world, each by a plate with sensors.

    Args:
        legged: The robot.
        parameters: Its links, shape (10 * solid links,).
        feet: Body and pose, (4, 4).
        point: Whether only the places of the feet are held, so that the ground exerts no torque.
    """
    robot = legged.robot
    root = etree.fromstring(mjcf_text(with_parameters(robot, parameters)))
    etree.SubElement(
        root, "option", timestep=str(STEP), tolerance="1e-14", iterations="200", ls_iterations="100", solver="Newton"
    )
    for joint in root.iter("joint"):
        if joint.get("type") in ("hinge", "slide"):
            joint.set("armature", str(legged.armature))
    equality, sensor = (etree.SubElement(root, tag) for tag in ("equality", "sensor"))
    stiff = {"solref": f"{4 * STEP} 1", "solimp": "0.9999 0.9999 0.001 0.5 2"}
    for body, target in feet.items():
        frame = Frame.of(robot, body)
        joint = robot.joints[frame.link]
        above = root.xpath(f".//joint[@name='{joint.name}']/..")[0]
        plate = etree.SubElement(above, "body", {"name": f"{body} plate"} | placed(frame.placement))
        etree.SubElement(plate, "site", name=f"{body} sensor")
        if point:
            at = {"anchor": "0 0 0"}  # TODO
            etree.SubElement(equality, "connect", {"body1": f"{body} plate", "body2": "world"} | at | stiff)
        else:
            relative = {"relpose": numbers(*target[:3, 3], *quaternion(target))}
            etree.SubElement(equality, "weld", {"body1": "world", "body2": f"{body} plate"} | relative | stiff)
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


def simulate(legged: LeggedRobot, parameters: Array, motion: StandingMotion, begin: float = 0.0) -> Run:
    """Let the true robot follow a motion with its feet welded to the ground."""
    import time

    started = time.perf_counter()
    robot = legged.robot
    engine = mujoco_model(legged, parameters, motion.feet)
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


def gains(legged: LeggedRobot, feet: Sequence[str]) -> tuple[Array, Array]:
    """Gains of positions [N m/rad] and velocities [N m s/rad] of each joint, by the inertia felt while feet rest.

    The joints of legs share one body, so they get half of it each.
    """
    robot, q = legged.robot, legged.standing[None]
    M = DynamicModel(robot, ()).mass_matrices(q)[0]
    inverted = np.linalg.inv(M + np.diag([0.0] * 6 + [legged.armature] * (robot.nv - 6)))
    J = pushes(robot, q, feet)[0]
    free = inverted - inverted @ J @ np.linalg.solve(J.T @ inverted @ J, J.T @ inverted)
    felt = 1.0 / np.diagonal(free)[6:]
    felt[[i - 1 for body in feet for i in leg(robot, Frame.of(robot, body))]] *= 0.5
    w = 2.0 * np.pi * BANDWIDTH
    return w**2 * felt, 2.0 * w * felt


def feed_forward(legged: LeggedRobot, motion: StandingMotion, times: Array) -> Array:
    """Torques of joints [N m] of the file's robot along a motion, with the least wrenches at the feet."""
    q, v, a = motion.states(times)
    tau = DynamicModel(legged.robot, ()).inverse_dynamics(q, v, a)
    J = pushes(legged.robot, q, tuple(motion.feet))
    light = np.tile([1.0, 1.0, 1.0, 0.1, 0.1, 0.1], len(motion.feet))
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


def measured(run: Run, feet: dict[str, Array], seed: int) -> Log:
    """What encoders and force sensors log of a run on feet that rest at poses in the world: no torques, no base pose.

    Args:
        run: What the robot did.
        feet: Its feet, as in the motion that it followed.
        seed: Number of the draw of noise.
    """
    rng = np.random.default_rng((seed, 14))
    noise = np.repeat([FORCE_NOISE, TORQUE_NOISE], 3)
    contacts = [Contact(body, wrench + noise * rng.normal(size=wrench.shape)) for body, wrench in run.wrenches.items()]
    body, pose = next(iter(feet.items()))
    return Log(time=run.time, position=counted(run.q[:, 7:]), stance=Stance(body, pose), contacts=contacts)


def counted(angles: Array) -> Array:
    """Angles [rad] as encoders count them."""
    count = 2.0 * np.pi / COUNTS
    return count * np.round(angles / count)
