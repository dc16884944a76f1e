"""Simulated logs of arms with and without a load, by torques and by a sensor at the wrist; noise of seed 002's case D.

Motions are exact: sums of five harmonics of 10 s with random amplitudes. Torques have viscous and dry friction and
white noise 50 dB below their power (`tests/thesis_study.py`, equations 4.7 to 4.9).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dynid import DynamicModel, Load, Log, Robot, load_robot, with_load
from dynid.arrays import Array
from dynid.estimation.payloads.wrist_rows import body_motion, wrench_columns
from dynid.model import Role
from dynid.robot import place_of_body

TERMS = ["viscous", "coulomb", "armature"]
NOISE = 10.0 ** (-50.0 / 20.0)
"""Root mean square of noise over that of torques: 50 dB."""

LOAD = Load.of_numbers(3.0, (0.02, -0.03, 0.1), (0.02, 0.001, 0.025, -0.002, 0.003, 0.015))
"""3 kg at 10 cm, of the size of a gripper with a part."""

TRUTH = np.array([3.0, 0.02, -0.03, 0.1, 0.02, 0.001, 0.025, -0.002, 0.003, 0.015])
"""Its mass, centre of mass, and inertia about it."""


@dataclass(frozen=True, eq=False)
class States:
    """Exact positions, velocities and accelerations of a motion, each of shape (samples, joints), and stamps [s]."""

    time: Array
    q: Array
    v: Array
    a: Array


def motion(joints: int, seed: int = 1, seconds: float = 20.0, rate: float = 100.0, slow: float = 1.0) -> States:
    """A random periodic motion; `slow` times slower."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 1.0 / rate)
    q, v, a = np.zeros((3, len(t), joints))
    for k in range(1, 6):
        w, A = 2.0 * np.pi * k / (10.0 * slow), rng.normal(size=(2, joints)) * 0.5 / k
        sine, cosine = np.sin(w * t[:, None]), np.cos(w * t[:, None])
        q += A[0] * sine + A[1] * cosine
        v += w * (A[0] * cosine - A[1] * sine)
        a -= w**2 * (A[0] * sine + A[1] * cosine)
    return States(t, q, v, a)


def torques(robot: Robot, states: States, load: Load | None = None, friction: float = 1.0) -> Array:
    """Exact torques of an arm with friction that carries a load, shape (samples, joints)."""
    model = DynamicModel(robot if load is None else with_load(robot, load), TERMS)
    p = np.nan_to_num(model.reference)
    sizes = {Role.VISCOUS: 1.5, Role.COULOMB: 2.0}
    for k, parameter in enumerate(model.parameters):
        p[k] = friction * sizes[parameter.role] if parameter.role in sizes else p[k]
    return model.inverse_dynamics(states.q, states.v, states.a, p)


def log_of(states: States, exact: Array, rng: np.random.Generator, load: Load | str | None = None) -> Log:
    """A log with noise of case D on torques."""
    noise = NOISE * np.sqrt(np.mean(exact**2, axis=0)) * rng.normal(size=exact.shape)
    return Log(time=states.time, position=states.q, velocity=states.v, torque=exact + noise, load=load)


def wrenches(robot: Robot, states: States, load: Load) -> Array:
    """Exact wrenches at the last link, shape (samples, 6)."""
    link, placement = place_of_body(robot, None)
    moving = body_motion(robot, link, placement, states.q, states.v, states.a)
    return wrench_columns(moving) @ load.parameters


BIAS = np.array([5.0, -3.0, 2.0, 0.1, -0.2, 0.3])
"""Bias of the simulated sensor [N, N m]."""


def wrench_log_of(states: States, exact: Array, rng: np.random.Generator, drift: Array | None = None) -> Log:
    """A log of a sensor with bias, noise of case D and a drift over the log [N, N m]."""
    noise = NOISE * np.sqrt(np.mean(exact**2, axis=0)) * rng.normal(size=exact.shape)
    ramp = 0.0 if drift is None else np.linspace(0.0, 1.0, len(exact))[:, None] * drift
    return Log(time=states.time, position=states.q, velocity=states.v, wrench=exact + BIAS + noise + ramp)


def arm(name: str) -> Robot:
    """A built-in arm."""
    return load_robot(f"builtin:{name}")


PLAIN = {"automatic": False, "derivative": "eighth_order", "trim": 8}
"""Positions are exact: they need no filters, and derivatives whose errors are below the noise of 2000 samples."""


def pair(robot: Robot, seed: int, other: int | None = None, load: Load = LOAD) -> tuple[Log, Log]:
    """Logs without and with a load, of the same motion or of another one."""
    rng, free = np.random.default_rng(seed + 1000), motion(robot.nv, 1)
    loaded = free if other is None else motion(robot.nv, other)
    return (
        log_of(free, torques(robot, free), rng),
        replace(log_of(loaded, torques(robot, loaded, load), rng), load="tool"),
    )
