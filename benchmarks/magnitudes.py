"""How often torques in another unit are noticed, and right ones accused: random robots, payloads, friction and limits.

python benchmarks/magnitudes.py [ROBOTS]: prints the rates that docs/logs.md states.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from dynid import Drive, DynamicModel, Robot, load_robot
from dynid.findings import Finding
from dynid.logs.magnitudes import findings_on_magnitudes, magnitudes_of
from dynid.model import Chunk
from dynid.robot import inertia

BUILTIN = ("pendulum", "two_link", "spatial_3r", "ur5", "panda", "lwr4")
EXAMPLES = (
    "ur3_robot",
    "ur5_robot",
    "ur10_robot",
    "panda",
    "xarm7",
    "kinova",
    "z1",
    "talos_left_arm",
    "so101",
    "tiago_no_hand",
)
CASES = {
    "right": 1.0,
    "N mm as N m": 1e3,
    "motor torques as joint torques (1:100)": 0.01,
    "joint torques times 100": 100.0,
}
"""What is done to torques, and their factors."""


def arms() -> list[Robot]:
    """Built-in robots, and arms of example-robot-data where that is installed."""
    found = [load_robot(f"builtin:{name}") for name in BUILTIN]
    folder = next((Path(p) for p in sys.path if (Path(p) / "cmeel.prefix/share/example-robot-data").exists()), None)
    if folder is None:
        return found
    for name in EXAMPLES:
        path = next(folder.glob(f"cmeel.prefix/share/example-robot-data/robots/**/{name}.urdf"), None)
        found += [load_robot(path)] if path is not None else []
    return found


def logged(robot: Robot, rng: np.random.Generator, payload: float) -> tuple[Robot, Chunk]:
    """A motion of a robot that carries a load, with friction; and the file of it, whose masses are wrong by up to 2."""
    t = np.linspace(0.0, 20.0, 800)
    speed, size = rng.uniform(0.2, 3.0), rng.uniform(0.2, 1.0)
    w, phase = rng.uniform(0.3, 1.0, robot.nv) * speed, rng.uniform(0.0, 6.28, robot.nv)
    middle = rng.uniform(-1.0, 1.0, robot.nv)
    sliding = np.array([joint.kind.value == "prismatic" for joint in robot.independent_joints])
    A = size * np.where(sliding, 0.2, 1.0)
    q = middle * np.where(sliding, 0.1, 1.0) + A * np.sin(np.outer(t, w) + phase)
    v, a = A * w * np.cos(np.outer(t, w) + phase), -A * w**2 * np.sin(np.outer(t, w) + phase)
    truth = DynamicModel(robot)
    p = truth.reference.reshape(-1, inertia.SIZE) * rng.uniform(0.5, 2.0)
    load = payload * p[:, 0].sum()
    p[-1] += inertia.from_mass_com_inertia(load, rng.uniform(-0.1, 0.1, 3), load * 0.01 * np.eye(3))
    tau = truth.inverse_dynamics(q, v, a, p.ravel())
    # Geared joints have friction of 5 to 30 % of what the joint must do at most; wrists more, of the joint before.
    strength = np.maximum.accumulate(np.abs(tau).max(axis=0)[::-1])[::-1]
    strength = np.maximum(strength, 0.1 * strength.max())
    tau = tau + rng.uniform(0.05, 0.3, robot.nv) * strength * (np.sign(v) + v)
    return robot, Chunk(q, v, a, tau)


def limited(robot: Robot, chunk: Chunk, rng: np.random.Generator) -> Robot:
    """The robot with effort limits as files have them: none, zero, 1000, the same round number, or real ones."""
    largest = np.abs(chunk.torque).max(axis=0)
    kind = rng.integers(5)
    efforts = {
        0: np.full(robot.nv, np.inf), 1: np.zeros(robot.nv), 2: np.full(robot.nv, 1000.0),
        3: np.full(robot.nv, float(rng.choice([10.0, 100.0, 150.0]))), 4: largest * rng.uniform(0.7, 3.0, robot.nv),
    }[int(kind)]  # fmt: skip
    joints = tuple(
        replace(joint, limits=replace(joint.limits, effort=float(efforts[joint.v.start]))) for joint in robot.joints
    )
    return replace(robot, joints=joints)


def main(count: int = 1000) -> None:
    """Print rates of findings by what was done to the torques."""
    robots = [robot for robot in arms() if robot.parameters.any()]
    rates: dict[str, Counter[str]] = {case: Counter() for case in CASES}
    ratios = []
    for k in range(count):
        rng = np.random.default_rng(k)
        robot, chunk = logged(robots[k % len(robots)], rng, payload=float(rng.choice([0.0, rng.uniform(0.0, 2.0)])))
        robot = limited(robot, chunk, rng)
        model = DynamicModel(robot)
        found = magnitudes_of(model, [chunk])
        if found.file is not None:
            ratios.append(found.file)
        for case, factor in CASES.items():
            findings = findings_on_magnitudes(model, [replace(chunk, torque=factor * chunk.torque)], Drive())
            rates[case][_words(list(findings))] += 1
    print(f"{count} logs of {len(robots)} robots; torques over the file's: quantiles", end=" ")
    print(np.round(np.quantile(ratios, [0.0, 0.01, 0.5, 0.99, 0.999, 1.0]), 2))
    for case, counts in rates.items():
        print(f"{case:42}", {word: f"{n / count:.1%}" for word, n in counts.most_common()})


def _words(findings: list[Finding]) -> str:
    return ", ".join(f"{finding.severity.value} {finding.code}" for finding in findings) or "nothing"


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
