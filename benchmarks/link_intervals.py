"""How often the truth lies in the intervals of "robot file against identified": `python -m benchmarks.link_intervals`.

Simulated robots whose links differ from their file at random, as `dynid demo` makes them. Quantities are grouped by the
share of the prior's variance that the data take away.
"""

from __future__ import annotations

import argparse

import numpy as np
from tests.first_hours import sums_of_sines
from tests.references import example_robot_file

import dynid
from dynid import DynamicModel, Log, Robot
from dynid.report.link_changes import link_changes, of_link

ROBOTS = ("builtin:ur5", "panda", "z1")
GROUPS = ((0.9, 1.01), (0.5, 0.9), (0.0, 0.5))
TERMS = ["viscous", "coulomb"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--spread", type=float, default=0.25, help="largest relative difference from the file")
    options = parser.parse_args()
    print("| robot | determined by the data | intervals | truth inside |")
    print("| --- | --- | --- | --- |")
    for name in ROBOTS:
        robot = dynid.load_robot(name if ":" in name else example_robot_file(f"{name}.urdf"))
        robot = (
            robot
            if name != "panda"
            else dynid.load_robot(example_robot_file("panda.urdf"), lock={"panda_finger_joint1": 0.0})
        )
        found = np.array([row for seed in range(options.draws) for row in draw(robot, seed, options.spread)])
        for low, high in GROUPS:
            inside = found[(found[:, 0] >= low) & (found[:, 0] < high), 1]
            share = f"{inside.mean():.1%}" if len(inside) else "-"
            print(f"| {robot.name} | {low:.0%} to {min(high, 1.0):.0%} | {len(inside)} | {share} |", flush=True)


def draw(robot: Robot, seed: int, spread: float) -> list[tuple[float, bool]]:
    """For every quantity of a link: the share that the data determine, and whether the truth is in its interval."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, 20.0, 0.005)
    q, v, a = sums_of_sines(robot, rng, t)
    links = [different(robot.links[i].parameters, rng, spread) for i in robot.solid_links]
    model = DynamicModel(robot, TERMS)
    plain = DynamicModel(robot).inverse_dynamics(q, v, a, np.concatenate(links))
    friction = np.concatenate([rng.uniform(0.05, 0.2, robot.nv) * np.abs(plain).mean(axis=0) for _ in TERMS])
    tau = model.inverse_dynamics(q, v, a, np.concatenate([*links, friction]))
    tau += 0.02 * np.sqrt((tau**2).mean(axis=0)) * rng.normal(size=tau.shape)
    result = dynid.identify(robot, Log(time=t, position=q, torque=tau), TERMS)
    true = {robot.links[i].name: of_link(p) for i, p in zip(robot.solid_links, links, strict=True)}
    return [
        (change.by_data, abs(change.value - truth) <= change.uncertainty)
        for owner in link_changes(result)
        if owner.is_link
        for change, truth in zip(owner.changes, true[owner.name], strict=True)
        if change.by_data is not None and change.uncertainty is not None
    ]


def different(p: np.ndarray, rng: np.random.Generator, spread: float) -> np.ndarray:
    """A link that differs from its file: heavier or lighter, larger or smaller, and so still physically consistent."""
    mass, size = 1.0 + spread * rng.uniform(-1.0, 1.0, 2)
    return p * mass * np.array([1.0, *[size] * 3, *[size**2] * 6])


if __name__ == "__main__":
    main()
