"""A simulated servo on a pendulum, with nothing of dynid in it: the circuit, and friction that the load makes.

The friction is one of six models (M1 to M6), each with what the one before has and more: Coulomb and viscous; Stribeck;
with the load; with the load near rest; with a load that counts otherwise from the motor's and from the outer side; and
with its square. Steps are so short (20 us) that their order does not matter; friction stops the joint where it can.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numba
import numpy as np

from dynid import DynamicModel, Load, Log, Robot, load_robot
from dynid.arrays import Array
from dynid.logs import Servo

PENDULUM = """<robot name="servo_pendulum"><link name="base"/><link name="arm"><inertial>
<origin xyz="0 0 {length}"/><mass value="{mass}"/><inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/>
</inertial></link><joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-2.5" upper="2.5" velocity="8" effort="10"/></joint></robot>"""
"""A weight on a rod, which hangs at zero."""

KEYS = ("fs", "fst", "kl", "kls", "km", "ke", "kms", "kes", "qm", "qe", "vs", "fv")
"""Parameters of friction, as the terms of dynid call them."""


@dataclass(frozen=True)
class FrictionModel:
    """A friction model: the terms of dynid that are it, and plausible parameters."""

    terms: tuple[str, ...]
    friction: dict[str, float]


_REST = {"fs": 0.03, "fv": 0.03, "fst": 0.03, "vs": 0.3}
_SIDES = {"km": 0.02, "ke": 0.12, "kms": 0.05, "kes": 0.1}

MODELS = {
    "M1": FrictionModel(("viscous", "coulomb"), {"fs": 0.08, "fv": 0.03}),
    "M2": FrictionModel(("viscous", "stribeck"), {"fs": 0.06, "fv": 0.03, "fst": 0.05, "vs": 0.3}),
    "M3": FrictionModel(("viscous", "load_friction"), {"fs": 0.03, "fv": 0.03, "kl": 0.06}),
    "M4": FrictionModel(("viscous", "load_stribeck"), {**_REST, "kl": 0.05, "kls": 0.06}),
    "M5": FrictionModel(("viscous", "directional_friction"), {**_REST, **_SIDES}),
    "M6": FrictionModel(("viscous", "quadratic_friction"), {**_REST, **_SIDES, "qm": 0.03, "qe": 0.06}),
}
"""The six models, each with parameters of a small servo."""

GRAVITY = 9.81
STEP = 2e-5


@dataclass(frozen=True)
class ServoPendulum:
    """A rod with a weight on a servo.

    Attributes:
        mass: Mass of the weight [kg].
        length: Its distance from the axis [m].
        armature: Motor inertia at the joint [kg m^2].
        offset: Constant torque that the joint resists with [N m].
        servo: The servo.
        friction: Parameters of friction, by key; zero for those that are missing.
    """

    mass: float = 1.0
    length: float = 0.15
    armature: float = 0.012
    offset: float = 0.0
    servo: Servo = field(
        default_factory=lambda: Servo(voltage=12.0, torque_constant=1.5, resistance=3.0, kp=5.0, max_duty=0.95)
    )
    friction: dict[str, float] = field(default_factory=dict)

    @property
    def robot(self) -> Robot:
        """The pendulum as a robot, whose links are known."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "servo_pendulum.urdf"
            path.write_text(self.urdf, encoding="utf-8")
            return load_robot(path)

    @property
    def urdf(self) -> str:
        """The text of its URDF file."""
        return PENDULUM.format(mass=self.mass, length=-self.length)

    def parameters(self, model: DynamicModel) -> Array:
        """Standard parameters of a model of this pendulum, in its order; Stribeck velocities are the model's own."""
        own = {f"{key}1": value for key, value in self.friction.items()}
        own |= {"Ia1": self.armature, "off1": self.offset}
        return np.array([own.get(name, known) for name, known in zip(model.names, model.reference, strict=True)])

    def move(self, time: Array, command: Array, q0: float = 0.0) -> tuple[Array, Array, Array]:
        """Positions, velocities and the motor's torques at time stamps, under commands that hold, each (samples,)."""
        law = self.servo.law(1)
        gains = np.array([float(law[key][0]) for key in ("kp", "kd", "effort_limit", "back_emf")])
        numbers = np.array([self.friction.get(key, 0.0) for key in KEYS])
        body = np.array(
            [self.mass * self.length**2 + 1e-6, self.armature, self.mass * self.length * GRAVITY, self.offset]
        )
        return _moved(np.asarray(time), np.asarray(command), q0, gains, numbers, body, STEP)

    def drawn(self, seed: int) -> ServoPendulum:
        """Another one near it: masses, lengths and friction within 20 %."""
        rng = np.random.default_rng((seed, 31))
        some = {key: value * rng.uniform(0.8, 1.2) for key, value in self.friction.items()}
        return replace(
            self,
            mass=self.mass * rng.uniform(0.8, 1.2),
            length=self.length * rng.uniform(0.9, 1.1),
            armature=self.armature * rng.uniform(0.8, 1.2),
            friction=some,
        )


@numba.njit(cache=True)
def _budget(p, v, motor, outer):
    """How much friction there can be: the motor's torque and the outer one meet in the gear, with opposite signs."""
    fs, fst, kl, kls, km, ke, kms, kes, qm, qe, vs = p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10]
    near_rest = math.exp(-((v / vs) ** 2)) if vs > 0.0 else 0.0
    total = fs + near_rest * fst
    total += (kl + near_rest * kls) * abs(motor - outer)
    total += abs(km * motor - ke * outer) + near_rest * abs(kms * motor - kes * outer)
    if motor * outer < 0.0:
        total += near_rest * (qe * outer * outer if abs(outer) < abs(motor) else qm * motor * motor)
    return total


@numba.njit(cache=True)
def _moved(time, command, q0, gains, p, body, step):
    kp, kd, limit, emf = gains
    inertia, weight, offset = body[0] + body[1], body[2], body[3]
    q, v, a, u = q0, 0.0, 0.0, 0.0
    qs, vs, us = np.empty(len(time)), np.empty(len(time)), np.empty(len(time))
    for k in range(len(time)):
        qs[k], vs[k] = q, v
        us[k] = min(max(kp * (command[k] - q) - kd * v, -limit), limit) - emf * v
        if k + 1 == len(time):
            break
        count = max(1, round((time[k + 1] - time[k]) / step))
        h = (time[k + 1] - time[k]) / count
        for _ in range(count):
            q_half, v_half = q + 0.5 * h * v, v + 0.5 * h * a
            u = min(max(kp * (command[k] - q_half) - kd * v_half, -limit), limit) - emf * v_half
            outer = -weight * math.sin(q_half)
            most = _budget(p, v_half, u, outer)
            net = u + outer - offset - p[11] * v_half
            stop = inertia / h * v + net
            friction = min(abs(stop), most)
            a = (net - math.copysign(friction, stop)) / inertia
            q += h * v + 0.5 * h * h * a
            v += h * a
            if friction < most:
                v = a = 0.0
    return qs, vs, us


def swings(seed: int, seconds: float = 30.0, rate: float = 100.0, reach: float = 1.8) -> tuple[Array, Array]:
    """Time stamps and commands: rest, then ramps, sines, steps and holds, so that all speeds and loads come."""
    rng = np.random.default_rng((seed, 32))
    time = np.arange(round(seconds * rate)) / rate
    parts, at, here = np.zeros_like(time), 0.4, 0.0
    while at < seconds:
        length, there = rng.uniform(1.0, 2.5), rng.uniform(-reach, reach)
        kind = rng.integers(4)
        rows = (time >= at) & (time < at + length)
        s = (time[rows] - at) / length
        if kind == 0:
            parts[rows] = here + (there - here) * s
        elif kind == 1:
            parts[rows] = here + (there - here) * 0.5 * (1.0 - np.cos(np.pi * s))
        elif kind == 2:
            parts[rows] = here + rng.uniform(0.2, 0.6) * np.sin(2.0 * np.pi * rng.integers(1, 4) * s)
            there = here
        else:
            parts[rows] = there
        here, at = there, at + length
    return time, parts


def creeps(seed: int, seconds: float = 30.0, rate: float = 100.0, reach: float = 2.2) -> tuple[Array, Array]:
    """Time stamps and commands: as `swings`, and three of five parts are slow ramps, in which friction near rest shows.

    Speeds of ramps are between 0.08 and 1 rad/s, as likely in each octave.
    """
    rng = np.random.default_rng((seed, 33))
    time = np.arange(round(seconds * rate)) / rate
    parts, at, here = np.zeros_like(time), 0.4, 0.0
    while at < seconds:
        there, kind = rng.uniform(-reach, reach), rng.integers(15)
        if kind < 9:
            speed = math.exp(rng.uniform(math.log(0.08), 0.0))
            length = float(np.clip(abs(there - here) / speed, 0.2, 4.0))
            there = here + math.copysign(speed * length, there - here)
        else:
            length = rng.uniform(0.6, 1.6)
        rows = (time >= at) & (time < at + length)
        s = (time[rows] - at) / length
        if kind < 9:
            parts[rows] = here + (there - here) * s
        elif kind < 11:
            parts[rows] = here + (there - here) * 0.5 * (1.0 - np.cos(np.pi * s))
        elif kind < 13:
            parts[rows] = here + rng.uniform(0.2, 0.6) * np.sin(2.0 * np.pi * rng.integers(1, 4) * s)
            there = here
        else:
            parts[rows] = there
        here, at = there, at + length
    return time, parts


def servo_log(
    truth: ServoPendulum,
    seed: int,
    *,
    counts: int = 4096,
    seconds: float = 30.0,
    rate: float = 100.0,
    motion: Callable[[int, float, float], tuple[Array, Array]] = swings,
    added: float = 0.0,
) -> Log:
    """A log of a servo on a pendulum: positions in counts of its encoder (exact for zero), and its commands.

    With a mass that is added to the weight [kg], the log carries that as a load.
    """
    time, command = motion(seed, seconds, rate)
    q, _, _ = replace(truth, mass=truth.mass + added).move(time, command)
    quantum = 2.0 * np.pi / max(counts, 1)
    shown = quantum * np.round(q / quantum) if counts else q
    law = truth.servo.law(1)
    load = Load.of_numbers(added, (0.0, 0.0, -truth.length)) if added else None
    name = f"{motion.__name__} {seed}"
    return Log(time=time, position=shown, position_command=command, name=name, load=load, **law)
