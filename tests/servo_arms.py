"""Arms of hobby servos as MuJoCo simulates them, logged as their buses log them: slowly, in coarse steps, without sign.

Servos turn errors of positions into voltages; links, gravity, motor inertia and dry friction are MuJoCo's. What is
logged is the torque of each motor as a magnitude, and positions, both rounded to steps.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import mujoco
import numpy as np

from dynid import Log, Robot, load_robot
from dynid.arrays import Array

COUNT = 2.0 * np.pi / 4096
"""Step of positions [rad]."""

TORQUE_STEP = 0.0228
"""Step of torques [N m], as the public logs of the SO-101 have it."""


@dataclass(frozen=True)
class Link:
    """A link behind its joint: where the joint is on the link before, its axis, and the mass.

    Attributes:
        at: Place of the joint on the link before [m].
        axis: Its axis.
        mass: [kg].
        centre: Centre of mass [m].
        size: Edges of a box with the same inertia [m].
    """

    at: tuple[float, float, float]
    axis: tuple[int, int, int]
    mass: float
    centre: tuple[float, float, float]
    size: tuple[float, float, float]

    def inertial(self) -> str:
        """The link's inertia in MJCF."""
        x, y, z = (side**2 for side in self.size)
        moments = [self.mass / 12.0 * total for total in (y + z, x + z, x + y)]
        return f'<inertial mass="{self.mass}" pos="{_text(self.centre)}" diaginertia="{_text(moments)}"/>'


@dataclass(frozen=True, eq=False)
class ServoArm:
    """An arm of servos of which everything is known.

    Attributes:
        name: Its name.
        links: Its links, each behind a joint.
        armature: Motor inertia of each joint [kg m^2].
        viscous: Viscous friction without back-EMF [N m s/rad].
        coulomb: Coulomb friction [N m].
        home: Posture around which it moves [rad].
        reach: Amplitudes of motions [rad].
        gain: Stiffness of the servos [N m/rad].
        back_emf: Their back-EMF [N m s/rad].
        stall: Their stall torque [N m].
    """

    name: str
    links: tuple[Link, ...]
    armature: Array
    viscous: Array
    coulomb: Array
    home: Array
    reach: Array
    gain: float = 12.0
    back_emf: float = 0.5
    stall: float = 3.0

    def mjcf(self, *, joints: bool = True) -> str:
        """The arm in MJCF; without what a robot file does not state of joints, if so asked."""
        opened = ""
        for k, link in enumerate(self.links):
            own = (  # dry friction that is fully there from 2 mrad/s on, which MuJoCo's default is not
                f' armature="{self.armature[k]}" damping="{self.viscous[k]}" frictionloss="{self.coulomb[k]}" '
                'solreffriction="0.001 1"'
            )
            opened += (
                f'<body name="link{k + 1}" pos="{_text(link.at)}"><joint name="joint{k + 1}" axis="{_text(link.axis)}" '
                f'range="-3 3"{own if joints else ""}/>{link.inertial()}'
            )
        return (
            f'<mujoco model="{self.name}"><compiler angle="radian"/>'
            '<option timestep="0.0005" integrator="implicitfast"/>'
            f"<worldbody>{opened}{'</body>' * len(self.links)}</worldbody></mujoco>"
        )

    def robot(self, scale: Array | None = None) -> Robot:
        """The arm as dynid reads it from a file, whose masses may be wrong by factors, shape (links,)."""
        factors = np.ones(len(self.links)) if scale is None else scale
        links = tuple(replace(link, mass=link.mass * float(f)) for link, f in zip(self.links, factors, strict=True))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"{self.name}.xml")
            path.write_text(replace(self, links=links).mjcf(joints=False), encoding="utf-8")
            return load_robot(path)

    def friction(self) -> dict[str, float]:
        """True friction by dynid's names of parameters."""
        names = {"fv": self.viscous, "fs": self.coulomb, "Ia": self.armature}
        return {f"{key}{k + 1}": float(x) for key, values in names.items() for k, x in enumerate(values)}


def so101_like() -> ServoArm:
    """Five joints, masses and lengths like those of a printed desktop arm."""
    links = (
        Link((0.04, 0.0, 0.06), (0, 0, 1), 0.10, (0.02, 0.0, 0.03), (0.05, 0.05, 0.06)),
        Link((0.03, 0.0, 0.05), (0, 1, 0), 0.10, (0.02, 0.004, 0.09), (0.03, 0.03, 0.12)),
        Link((0.028, 0.0, 0.113), (0, 1, 0), 0.104, (0.098, -0.003, 0.004), (0.13, 0.03, 0.03)),
        Link((0.135, 0.0, 0.005), (0, 1, 0), 0.079, (0.039, 0.0, 0.0), (0.06, 0.04, 0.03)),
        Link((0.061, 0.0, 0.0), (1, 0, 0), 0.10, (0.03, 0.012, 0.004), (0.09, 0.05, 0.04)),
    )
    return ServoArm(
        "so101_like",
        links,
        armature=np.full(5, 0.028),
        viscous=np.full(5, 0.06),
        coulomb=np.array([0.07, 0.12, 0.10, 0.06, 0.05]),
        home=np.array([0.0, 0.3, 0.2, 0.3, 0.0]),
        reach=np.array([1.0, 0.7, 0.9, 0.9, 1.0]),
    )


def long_arm() -> ServoArm:
    """Four joints: a longer arm with stronger servos and a tool."""
    links = (
        Link((0.0, 0.0, 0.08), (0, 0, 1), 0.20, (0.0, 0.01, 0.04), (0.06, 0.06, 0.08)),
        Link((0.0, 0.02, 0.06), (0, 1, 0), 0.22, (0.02, 0.0, 0.12), (0.04, 0.04, 0.2)),
        Link((0.05, 0.0, 0.22), (0, 1, 0), 0.18, (0.11, 0.006, 0.0), (0.2, 0.04, 0.04)),
        Link((0.22, 0.0, 0.0), (0, 1, 0), 0.16, (0.06, 0.0, 0.01), (0.12, 0.06, 0.05)),
    )
    return ServoArm(
        "long_arm",
        links,
        armature=np.array([0.03, 0.04, 0.03, 0.012]),
        viscous=np.array([0.10, 0.15, 0.10, 0.05]),
        coulomb=np.array([0.12, 0.25, 0.18, 0.08]),
        home=np.array([0.0, -0.2, 0.3, 0.4]),
        reach=np.array([1.2, 0.8, 0.9, 1.0]),
        gain=30.0,
        back_emf=1.0,
        stall=8.0,
    )


def _text(values) -> str:
    return " ".join(f"{x:.9g}" for x in values)


def commands(arm: ServoArm, time: Array, rng: np.random.Generator) -> Array:
    """Commanded positions [rad]: sums of slow sines, which begin at the posture at rest, shape (samples, joints)."""
    frequencies = np.array([0.05, 0.11, 0.17, 0.29, 0.41])
    phases = rng.uniform(0.0, 2.0 * np.pi, (len(arm.home), len(frequencies)))
    sizes = rng.uniform(0.4, 1.0, phases.shape) / np.sqrt(1.0 + frequencies / 0.1)
    waves = np.einsum("jf,tjf->tj", sizes, np.sin(2.0 * np.pi * frequencies * time[:, None, None] + phases))
    begin = np.minimum(time / 2.0, 1.0)[:, None]
    return arm.home + begin * arm.reach * waves / np.abs(waves).max(axis=0)


@dataclass(frozen=True, eq=False)
class ServoRun:
    """A simulated motion, and what was logged of it.

    Attributes:
        log: What was logged; torques are magnitudes in steps.
        position: True positions at its samples [rad], shape (samples, joints).
        torque: True motor torques with signs [N m], shape (samples, joints).
        commands: Commanded positions [rad], shape (samples, joints).
    """

    log: Log
    position: Array
    torque: Array
    commands: Array


def recorded(
    arm: ServoArm,
    seed: int,
    *,
    rate: float = 50.0,
    seconds: float = 120.0,
    noise: float = 0.5,
    torque_step: float = TORQUE_STEP,
    count: float = COUNT,
) -> ServoRun:
    """Simulate a motion and log it.

    Args:
        arm: The arm.
        seed: Of commands and noise.
        rate: Of the log [Hz].
        seconds: Length [s].
        noise: Standard deviation of the noise of torques before they are rounded, in steps.
        torque_step: Step of torques [N m]; zero for none.
        count: Step of positions [rad]; zero for none.
    """
    rng = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_string(arm.mjcf())
    data = mujoco.MjData(model)
    data.qpos[:] = arm.home
    ticks = round(1.0 / rate / model.opt.timestep)
    time = np.arange(round(seconds * rate)) * ticks * model.opt.timestep
    wanted = commands(arm, time, rng)
    q, torque = np.zeros_like(wanted), np.zeros_like(wanted)
    for k, target in enumerate(wanted):
        q[k] = data.qpos
        following = wanted[min(k + 1, len(wanted) - 1)]  # firmware moves its target evenly to the next command
        for i in range(ticks):
            error = target + i / ticks * (following - target) - data.qpos
            drive = np.clip(arm.gain * error, -arm.stall, arm.stall) - arm.back_emf * data.qvel
            if i == 0:
                torque[k] = drive
            data.qfrc_applied[:] = drive
            mujoco.mj_step(model, data)
    size = torque + noise * (torque_step or TORQUE_STEP) * rng.standard_normal(torque.shape)
    logged = rounded(np.abs(size), torque_step)
    return ServoRun(Log(time=time, position=rounded(q, count), torque=logged), q, torque, wanted)


def rounded(x: Array, step: float) -> Array:
    """Values to the next step; as they are where the step is zero."""
    return np.round(x / step) * step if step else x
