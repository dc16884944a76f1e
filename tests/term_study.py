"""Logs of simulated robots with known terms, and what `terms = "auto"` makes of them.

Robots with and without motor inertia, with friction of several kinds, follow sums of sines for 30 s at 200 Hz. Torques
have noise of 1 or 5 % of each joint's torque: white, or with a correlation time of 0.1 s. Nothing is stated about
processing. The file of the UR5 states motor inertia, which is then kept in any case and counts as right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from dynid import DynamicModel, Log, load_robot
from dynid.arrays import Array
from dynid.estimation import TermChoice, choose_terms
from dynid.identification.log_reading import prepared_logs
from dynid.identification.task import Task
from dynid.model import known_base
from dynid.robot import Robot

SECONDS, RATE = 30.0, 200.0
"""Length [s] and sampling rate [Hz] of logs."""

NOISES = {"white 1 %": (0.01, 0.0), "coloured 1 %": (0.01, 0.1), "coloured 5 %": (0.05, 0.1)}
"""Noise in parts of each joint's torque, and its correlation time [s]."""


@dataclass(frozen=True)
class Case:
    """A simulated log, and the terms that are really there."""

    robot: Robot
    log: Log
    terms: tuple[str, ...]


def simulated(name: str, terms: tuple[str, ...], noise: tuple[float, float], seed: int) -> Case:
    """A log of a robot with some terms, whose sizes are typical of geared joints."""
    rng = np.random.default_rng(seed)
    robot = load_robot(f"builtin:{name}")
    t = np.arange(0.0, SECONDS, 1.0 / RATE)[:, None]
    w, phase = rng.uniform(0.5, 4.0, (5, robot.nv)), rng.uniform(0.0, 2.0 * np.pi, (5, robot.nv))
    size = rng.uniform(0.4, 1.0, (5, robot.nv)) / w / 2.0
    angle = w * t[:, None] + phase
    q = np.sum(size * np.sin(angle), axis=1)
    v, a = np.sum(size * w * np.cos(angle), axis=1), np.sum(-size * w**2 * np.sin(angle), axis=1)
    links, bodies = DynamicModel(robot), _bodies(robot, rng)
    needed = links.inverse_dynamics(q, v, a, bodies)
    level = np.sqrt(np.mean(needed**2, axis=0))
    inertia = np.einsum("sjj->j", links.mass_matrices(q[::100], bodies)) / len(q[::100])
    model = DynamicModel(robot, terms)
    model = model.at_nonlinear({own.name: 0.1 for own in model.nonlinear})
    typical = {"fv": 0.1, "fs": 0.15, "fst": 0.1, "off": 0.05, "fl": 0.1}
    model, p = model.with_links(bodies), [*bodies]
    for parameter in model.parameters[len(links.names) :]:
        k = robot.joint(parameter.joint or 0).v.start
        symbol = parameter.name.rstrip("0123456789")
        scale = 1.0 if symbol == "fl" else level[k]
        value = 0.3 * inertia[k] if symbol == "Ia" else typical[symbol] * scale
        p.append(value * rng.uniform(0.7, 1.3))
    torque = model.inverse_dynamics(q, v, a, np.array(p))
    errors = _coloured(rng.normal(size=torque.shape), noise[1])
    torque += noise[0] * np.sqrt(np.mean(torque**2, axis=0)) * errors
    return Case(robot, Log(time=t[:, 0], position=q, torque=torque), terms)


def _bodies(robot: Robot, rng: np.random.Generator) -> Array:
    """Inertial parameters of boxes, lighter from link to link, shape (10 * solid links,)."""
    found = []
    for k, _ in enumerate(robot.solid_links):
        m = 10.0 * 0.7**k * rng.uniform(0.7, 1.3)
        c, sides = rng.uniform(-0.12, 0.12, 3), rng.uniform(0.08, 0.3, 3)
        second = np.diag(m / 12.0 * sides**2) + m * np.outer(c, c)
        J = np.trace(second) * np.eye(3) - second
        found += [m, *(m * c), J[0, 0], J[0, 1], J[1, 1], J[0, 2], J[1, 2], J[2, 2]]
    return np.array(found)


def _coloured(noise: Array, seconds: float) -> Array:
    """Noise of a correlation time [s], with unit variance."""
    a = np.exp(-1.0 / (RATE * seconds)) if seconds else 0.0
    return np.asarray(lfilter([np.sqrt(1.0 - a**2)], [1.0, -a], noise, axis=0))


def chosen(case: Case) -> TermChoice:
    """The terms that are chosen for a log."""
    task = Task.of(case.robot, case.log, "auto")
    read = prepared_logs(task, known_base(task.model, {}), lambda _: None)
    return choose_terms(case.robot, read.logs, {})


def difference(choice: TermChoice, case: Case) -> tuple[set[str], set[str]]:
    """Terms that are missing, or on some joints only, and those that are too many.

    `asymmetric_coulomb` is Coulomb friction with an offset; Coulomb friction where Stribeck friction is really there
    is not too much.
    """
    stated = any(joint.dynamics.armature for joint in case.robot.joints)
    terms = {*case.terms, *(["armature"] if stated else [])}
    found = {term.partition(":")[0]: term.count(":") for term in choice.terms}
    if "asymmetric_coulomb" in found:
        found |= {"coulomb": 0, "offset": 0}
    n = case.robot.nv
    partial = {f"{term} on {n - count} of {n} joints" for term, count in found.items() if term in terms and count}
    implied = {"asymmetric_coulomb"} | ({"coulomb"} if "stribeck" in terms else set())
    return terms - set(found) | partial, set(found) - terms - implied
