"""How much the robot file should count: `python -m benchmarks.prior_weight`.

Simulated arms whose links are known, identified with files that are right, off and wrong, from torques with white
residuals, with residuals that last, and with friction that the model lacks. Prints, as medians over the arms, errors of
the total mass, of the masses of links (root mean square of logarithms) and of torques on a motion that was not used,
for weights of the prior. The table is in docs/physical.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pinocchio as pin
from scipy.signal import lfilter

from dynid import DynamicModel, Log, load_robot
from dynid.arrays import Array, frozen
from dynid.estimation.least_squares import weighted_least_squares
from dynid.estimation.physical.physical_estimate import Physics, physical_estimate
from dynid.estimation.physical.references import references
from dynid.estimation.physical.semidefinite import LinkPrior
from dynid.identification.pipeline import identify
from dynid.identification.result import Result
from dynid.model.terms import Armature, Coulomb, Offset, Viscous
from dynid.robot import inertia
from dynid.robot.assembly import assemble
from dynid.robot.robot import Robot

RATE, SECONDS = 100.0, 25.0
FILES = Path(pin.__file__).parents[4] / "share/example-robot-data/robots"
ROBOTS = {
    "ur5": "builtin:ur5",
    "panda": "builtin:panda",
    "ur10": FILES / "ur_description/urdf/ur10_robot.urdf",
    "xarm7": FILES / "xarm_description/urdf/xarm7.urdf",
    "z1": FILES / "z1_description/urdf/z1.urdf",
    "kinova": FILES / "kinova_description/robots/kinova.urdf",
}
RESIDUALS = {
    "white, 5 %": "white",
    "lasting 0.25 s, 5 %": "lasting",
    "unmodelled friction, 1 % white": "friction",
    "motor inertia not in the model": "armature",
}
PRIORS = {"right": "right", "off by 25 %": "off", "one link twice as heavy": "wrong"}
WEIGHTS = ("before", "auto", 1.0, 10.0, 100.0)
TERMS = ["viscous", "coulomb", "offset", "armature"]


@dataclass(frozen=True, eq=False)
class Case:
    """A simulated arm: its log, a motion that is not used with its torques, and their sizes by joint."""

    robot: Robot
    log: Log
    states: tuple[Array, Array, Array]
    torque: Array
    sizes: Array


def motion(joints: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Sums of five sines up to 0.5 Hz, each of shape (samples, joints)."""
    t = np.arange(0.0, SECONDS, 1.0 / RATE)[:, None, None]
    w = 2.0 * np.pi * rng.uniform(0.05, 0.5, (1, joints, 5))
    size, phase = rng.uniform(0.1, 0.5, w.shape) / np.sqrt(w), rng.uniform(0.0, 6.28, w.shape)
    q = rng.uniform(-1.0, 1.0, joints) + np.sum(size * np.sin(w * t + phase), axis=2)
    v, a = (np.sum(size * w**k * wave(w * t + phase), axis=2) for k, wave in ((1, np.cos), (2, np.sin)))
    return q, v, -a


def simulated(robot: Robot, residual: str, rng: np.random.Generator) -> Case:
    """A log of a robot with friction and motor inertia, and with residuals."""
    links, rigid = robot.parameters, DynamicModel(robot)
    full = DynamicModel(robot, [Viscous(), Coulomb(), Offset(), Armature()])
    known, unseen = motion(robot.nv, rng), motion(robot.nv, rng)
    size = np.sqrt((rigid.inverse_dynamics(*known, links) ** 2).mean(axis=0))
    size = np.maximum(size, 0.05 * size.max())
    armature = 0.1 * size / np.sqrt((known[2] ** 2).mean(axis=0))
    p = np.concatenate([links, *(part * size for part in (0.2, 0.2, 0.03)), armature])

    def torques(q: Array, v: Array, a: Array) -> Array:
        y = full.inverse_dynamics(q, v, a, p)
        if residual == "friction":
            load = np.abs(rigid.inverse_dynamics(q, v, a, links))
            y += (0.15 * size * np.exp(-((v / 0.1) ** 2)) + 0.08 * load) * np.sign(v) + 0.03 * size * np.sin(9.0 * q)
        return y

    noise = rng.normal(size=(len(known[0]) + 500, robot.nv))
    if residual == "lasting":
        rho = np.exp(-1.0 / (0.25 * RATE))
        noise = lfilter([np.sqrt(1.0 - rho**2)], [1.0, -rho], noise, axis=0)
    level = 0.05 if residual in ("white", "lasting") else 0.01
    y = torques(*known) + level * size * noise[500:]
    log = Log(time=np.arange(len(y)) / RATE, position=known[0], torque=y)
    return Case(robot, log, unseen, torques(*unseen), size)


def stated(robot: Robot, kind: str, rng: np.random.Generator) -> Robot:
    """The robot as a file would state it."""
    moved = [link.name for link in robot.links]
    heavy = moved[int(rng.integers(1, len(moved)))]
    owner = {body.name: link.name for link in robot.links for body in link.bodies}
    bodies = []
    for body in robot.description.bodies:
        p = body.inertia
        if p is not None and p[0] > 0.0 and kind == "off":
            m, com, about = inertia.to_mass_com_inertia(p)
            spread = np.sqrt(np.trace(about) / m)
            mass = m * np.exp(0.25 * rng.normal())
            shape = about * mass / m * np.exp(0.25 * rng.normal())
            p = inertia.from_mass_com_inertia(mass, com + 0.1 * spread * rng.normal(size=3), shape)
        elif p is not None and kind == "wrong" and owner.get(body.name) == heavy:
            p = 2.0 * p
        bodies.append(replace(body, inertia=None if p is None else frozen(p)))
    return assemble(replace(robot.description, bodies=tuple(bodies)))


def errors(case: Case, result: Result, p: Array) -> tuple[float, float, float]:
    """Relative errors of the total mass, of link masses and of torques."""
    truth = case.robot.parameters
    found, true = p[: len(truth) : 10], truth[::10]
    heavy = true > 0.0
    predicted = result.model.inverse_dynamics(*case.states, p)
    torque = np.linalg.norm((predicted - case.torque) / case.sizes) / np.linalg.norm(case.torque / case.sizes)
    links = np.sqrt(np.mean(np.log(found[heavy] / true[heavy]) ** 2))
    return abs(found.sum() / true.sum() - 1.0), float(links), float(torque)


def fits(case: Case, file: Robot, terms: list[str]) -> Iterator[tuple[str, tuple[float, float, float]]]:
    """Errors with each weight; "before" counts the data as if residuals were white."""
    for weight in WEIGHTS:
        asked = 1.0 if weight == "before" else weight
        result = identify(
            file,
            [case.log],
            terms,
            physical={"weight": asked},
            estimation={"bootstrap": False},
            processing={"automatic": False},
        )
        p = result.standard_parameters(physical=True)
        if weight == "before":
            physics = Physics(references(file), LinkPrior())
            p = physical_estimate(
                result.rows, result.base, physics, weighted_least_squares(result.rows, result.base)
            ).parameters
        yield str(weight), errors(case, result, p)


def main() -> None:
    print("| residuals | file | " + " | ".join(f"{w}" for w in WEIGHTS) + " |")
    print("| --- " * (2 + len(WEIGHTS)) + "|")
    robots = {name: load_robot(file) for name, file in ROBOTS.items()}
    for residual, kind in RESIDUALS.items():
        for prior, change in PRIORS.items():
            found: dict[str, list[tuple[float, float, float]]] = {str(weight): [] for weight in WEIGHTS}
            for k, robot in enumerate(robots.values()):
                case = simulated(robot, kind, np.random.default_rng(k))
                file = stated(robot, change, np.random.default_rng(100 + k))
                terms = TERMS[:-1] if kind == "armature" else TERMS
                for weight, values in fits(case, file, terms):
                    found[weight].append(values)
            cells = [" / ".join(f"{100 * x:.1f}" for x in np.median(values, axis=0)) for values in found.values()]
            print(f"| {residual} | {prior} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
