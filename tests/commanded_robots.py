"""Robots without torque sensors, of which everything is known: what MuJoCo simulates, and what dynid is to find."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from dynid import Robot, load_robot
from dynid.arrays import Array
from dynid.robot.joints import JointKind

STEP = 2.5e-4
"""Longest step of MuJoCo's integrator [s]."""


@dataclass(frozen=True, eq=False)
class Joints:
    """What a robot file does not state of its joints, and is to be found: each of shape (joints,).

    Attributes:
        armature: Motor inertia [kg m^2].
        viscous: Viscous friction [N m s/rad].
        coulomb: Coulomb friction [N m].
        offset: Constant torque that the motor has to overcome [N m].
        bias: What encoders show beyond the true position [rad].
    """

    armature: Array
    viscous: Array
    coulomb: Array
    offset: Array
    bias: Array

    def named(self, numbers: tuple[int, ...]) -> dict[str, float]:
        """The parameters by dynid's names."""
        symbols = {"Ia": self.armature, "fv": self.viscous, "fs": self.coulomb, "off": self.offset, "bias": self.bias}
        return {f"{symbol}{n}": float(x[k]) for symbol, x in symbols.items() for k, n in enumerate(numbers)}


@dataclass(frozen=True, eq=False)
class TrueRobot:
    """A robot of which everything is known.

    Attributes:
        name: Its name.
        text: Its MJCF, without actuators.
        joints: What is to be found.
        kp: Gains on positions [N m/rad].
        kd: Gains on velocities [N m s/rad].
        low: Lower limits of commands [rad].
        high: Upper limits of commands [rad].
        limit: Effort limits [N m]; None for none.
        lock: Joints that are held.
        speed: Largest speed of commands [rad/s], one for each joint.
    """

    name: str
    text: str
    joints: Joints
    kp: Array
    kd: Array
    low: Array
    high: Array
    speed: Array
    limit: Array | None = None
    lock: tuple[str, ...] = ()

    @cached_property
    def robot(self) -> Robot:
        """The robot as dynid reads it: without what is to be found."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "robot.xml")
            path.write_text(self.text)
            return load_robot(path, lock=self.lock)

    @cached_property
    def truth(self) -> dict[str, float]:
        """The parameters by dynid's names."""
        return self.joints.named(tuple(joint.number for joint in self.robot.independent_joints))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the joints that move, in the order of their columns."""
        return tuple(joint.name for joint in self.robot.independent_joints)

    @cached_property
    def turn(self) -> Array:
        """What an encoder goes round in: a turn [rad], or a tenth of it [m] where joints slide, shape (joints,)."""
        slides = [joint.kind is JointKind.PRISMATIC for joint in self.robot.independent_joints]
        return 2.0 * np.pi * np.where(slides, 0.1, 1.0)

    def but(self, **changes: Any) -> TrueRobot:
        """The same with some joint parameters, gains or limits changed."""
        of_joints = {key: changes.pop(key) for key in list(changes) if hasattr(self.joints, key)}
        n = len(self.kp)
        changes = {
            key: np.broadcast_to(np.asarray(x, dtype=float), n).copy() if key in ("kp", "kd", "limit") else x
            for key, x in changes.items()
        }
        of_joints = {key: np.broadcast_to(np.asarray(x, dtype=float), n).copy() for key, x in of_joints.items()}
        return replace(self, joints=replace(self.joints, **of_joints), **changes)

    def drawn(self, seed: int, spread: float = 0.3) -> TrueRobot:
        """The same with armature and friction scaled at random, and offsets and biases of random sign."""
        rng = np.random.default_rng((seed, 3))
        n, j = len(self.kp), self.joints

        def scaled(x: Array) -> Array:
            return x * rng.uniform(1.0 - spread, 1.0 + spread, n)

        def signed(x: Array) -> Array:
            return x * rng.choice([-1.0, 1.0], n)

        scales = (scaled(j.armature), scaled(j.viscous), scaled(j.coulomb))
        return replace(self, joints=Joints(*scales, signed(scaled(j.offset)), signed(j.bias)))

    def compiled(self, *, follows: bool, step: float = STEP) -> mujoco.MjModel:
        """MuJoCo's model; `follows`: actuators are PD laws on commanded positions, otherwise motors."""
        spec = mujoco.MjSpec.from_string(self.text)
        for key in list(spec.keys):
            spec.delete(key)
        for joint in list(spec.joints):
            if joint.name not in self.names:
                spec.delete(joint)
        for actuator in list(spec.actuators):
            spec.delete(actuator)
        spec.option.timestep = step
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
        bit = mujoco.mjtDisableBit
        spec.option.disableflags |= bit.mjDSBL_CONTACT | bit.mjDSBL_LIMIT | bit.mjDSBL_REFSAFE
        for k, name in enumerate(self.names):
            joint = spec.joint(name)
            joint.armature = self.joints.armature[k]
            joint.frictionloss = self.joints.coulomb[k]
            joint.solref_friction = [0.8 * step, 1.0]  # a rate of 2.5 / step: Runge-Kutta steps are stable to 2.8
            joint.solimp_friction = [0.9999, 0.9999, 1e-3, 0.5, 2.0]
            actuator = spec.add_actuator(name=f"drive_{name}", target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            actuator.gainprm[0] = self.kp[k] if follows else 1.0
            if follows:
                actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
                actuator.biasprm[:3] = [0.0, -self.kp[k], -self.kd[k]]
            if self.limit is not None:
                actuator.forcerange = [-self.limit[k], self.limit[k]]
                actuator.forcelimited = True
        model = spec.compile()
        model.dof_damping[[model.joint(name).dofadr[0] for name in self.names]] = self.joints.viscous
        return model


def _inertial(mass: float, at: str, *diagonal: float) -> str:
    return f'<inertial pos="{at}" mass="{mass}" diaginertia="{" ".join(map(str, diagonal))}"/>'


def _leg(name: str, x: float, y: float) -> str:
    side = 1.0 if y > 0.0 else -1.0
    return f"""<body name="{name}_hip" pos="{x} {y} 0">
      {_inertial(0.7, f"-0.005 {0.002 * side} 0", 0.0009, 0.0006, 0.0005)}
      <joint name="{name}_hip" axis="1 0 0" range="-0.8 0.8"/>
      <body name="{name}_thigh" pos="0 {0.09 * side} 0">
        {_inertial(1.1, f"-0.004 {-0.02 * side} -0.035", 0.006, 0.0058, 0.0009)}
        <joint name="{name}_thigh" axis="0 1 0" range="-0.8 2.5"/>
        <body name="{name}_calf" pos="0 0 -0.21">
          {_inertial(0.25, "0.005 0 -0.13", 0.0025, 0.0025, 0.0001)}
          <joint name="{name}_calf" axis="0 1 0" range="-2.6 -0.8"/>
        </body></body></body>"""


def quadruped(*, floating: bool = True) -> TrueRobot:
    """A quadruped of 12 joints whose trunk is held; its file has a free base, as quadrupeds' files have."""
    places = {"FL": (0.19, 0.05), "FR": (0.19, -0.05), "RL": (-0.19, 0.05), "RR": (-0.19, -0.05)}
    legs = "".join(_leg(name, x, y) for name, (x, y) in places.items())
    free = '<freejoint name="floating"/>' if floating else ""
    text = f"""<mujoco model="quadruped"><compiler angle="radian"/><worldbody><body name="trunk" pos="0 0 1">{free}
      {_inertial(7.0, "0.02 0 0", 0.03, 0.1, 0.11)}{legs}</body></worldbody></mujoco>"""
    return TrueRobot(
        "quadruped", text, _legs(), np.full(12, 25.0), np.full(12, 0.6), np.tile([-0.5, 0.1, -2.2], 4),
        np.tile([0.5, 1.5, -1.0], 4), np.full(12, 6.0), np.tile([24.0, 24.0, 45.0], 4),
        ("floating",) if floating else (),
    )  # fmt: skip


def _legs() -> Joints:
    of_leg = ([0.01, 0.016, 0.04], [0.17, 0.16, 0.34], [0.2, 0.18, 0.65], [0.2, 0.25, 0.3], [0.02] * 3)
    return Joints(*(np.tile(x, 4) for x in of_leg))


def go2(file: Path) -> TrueRobot:
    """Go2 of its MJCF file, without the shapes; joints like those that were published for it."""
    text = re.sub(r"<mesh [^>]*/>|<geom[^>]*/>", "", file.read_text())
    text = text.replace("<freejoint/>", '<freejoint name="floating"/>')
    return replace(quadruped(), name="go2", text=text)


def arm() -> TrueRobot:
    """An arm of seven joints with a gripper that slides."""
    links = (
        (3.0, "0 -0.03 -0.07", (0.02, 0.018, 0.008), "0 0 0.333", "0 0 1"),
        (3.0, "0 -0.07 0.03", (0.02, 0.008, 0.018), "0 0 0", "0 1 0"),
        (2.4, "0.04 0.02 -0.05", (0.014, 0.014, 0.007), "0 0 0.316", "0 0 1"),
        (2.4, "-0.04 0.05 0.02", (0.014, 0.007, 0.014), "0.08 0 0", "0 -1 0"),
        (2.6, "0 0.03 -0.1", (0.025, 0.022, 0.006), "-0.08 0 0.2", "0 0 1"),
        (1.5, "0.05 0 0.01", (0.003, 0.005, 0.005), "0 0 0.18", "0 -1 0"),
        (1.2, "0.01 0.01 -0.08", (0.004, 0.004, 0.002), "0.09 0 0", "0 0 -1"),
    )
    text, end = "", ""
    for k, (mass, centre, inertia, at, axis) in enumerate(links, start=1):
        text += f'<body name="link{k}" pos="{at}">{_inertial(mass, centre, *inertia)}'
        text += f'<joint name="joint{k}" axis="{axis}"/>'
        end += "</body>"
    finger = f'<body name="finger" pos="0 0 -0.1">{_inertial(0.1, "0 0.02 -0.03", 1e-4, 1e-4, 5e-5)}'
    finger += '<joint name="gripper" type="slide" axis="0 1 0"/></body>'
    text = f'<mujoco model="arm"><compiler angle="radian"/><worldbody>{text}{finger}{end}</worldbody></mujoco>'
    joints = Joints(
        np.array([0.5, 0.5, 0.4, 0.4, 0.15, 0.15, 0.1, 0.3]),
        np.array([3.0, 3.0, 2.0, 2.0, 1.0, 1.0, 0.8, 20.0]),
        np.array([2.0, 2.5, 1.5, 1.5, 0.8, 0.7, 0.6, 2.0]),
        np.array([0.3, 0.5, 0.3, 0.3, 0.2, 0.2, 0.1, 0.5]),
        np.array([0.02] * 7 + [0.0]),
    )
    low = np.array([-1.2, -0.8, -1.2, 0.5, -1.2, -1.2, -1.5, 0.0])
    high = np.array([1.2, 0.8, 1.2, 2.2, 1.2, 1.2, 1.5, 0.04])
    kp = np.array([300.0, 300.0, 250.0, 250.0, 120.0, 100.0, 60.0, 2000.0])
    kd = np.array([25.0, 25.0, 20.0, 20.0, 8.0, 8.0, 4.0, 100.0])
    speed = np.array([2.0, 1.5, 2.0, 2.0, 2.5, 2.5, 3.0, 0.1])
    return TrueRobot("arm", text, joints, kp, kd, low, high, speed, np.array([87.0] * 4 + [20.0] * 3 + [60.0]))


def slider() -> TrueRobot:
    """A small chain: a carriage that slides, with a pendulum of two links."""
    text = f"""<mujoco model="slider"><compiler angle="radian"/><worldbody>
      <body name="carriage">{_inertial(2.0, "0 0 0", 0.01, 0.01, 0.01)}<joint name="rail" type="slide" axis="1 0 0"/>
      <body name="upper" pos="0 0 0.1">{_inertial(1.0, "0 0 -0.15", 0.01, 0.01, 0.002)}
      <joint name="swing" axis="0 1 0"/>
      <body name="lower" pos="0 0 -0.3">{_inertial(0.5, "0 0 -0.1", 0.003, 0.003, 0.0005)}
      <joint name="elbow" axis="0 1 0"/>
      </body></body></body></worldbody></mujoco>"""
    of_joints = ([1.5, 0.03, 0.02], [15.0, 0.3, 0.15], [6.0, 0.4, 0.2], [1.0, 0.2, 0.1], [0.0, 0.02, 0.02])
    joints = Joints(*(np.array(x) for x in of_joints))
    return TrueRobot(
        "slider", text, joints, np.array([800.0, 30.0, 15.0]), np.array([40.0, 0.8, 0.4]), np.array([-0.3, -1.2, -1.5]),
        np.array([0.3, 1.2, 1.5]), np.array([1.0, 5.0, 6.0]),
    )  # fmt: skip
