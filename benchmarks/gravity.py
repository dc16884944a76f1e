"""Gravity parameters of the LWR 4 from static postures, and its parameters from g(q) and M(q) of a controller.

Run with `python -m benchmarks.gravity [DRAWS]`. The truth has the twelve coefficients that De Luca's lecture (Robotics
2) prints for the LWR 4, written in the end-of-link frames of standard Denavit-Hartenberg; masses are plausible
ones. Thirty random postures, torque noise of 0.1 N m at every joint. Coverage is over draws of noise and of postures.
Other built-in robots follow, for g(q) and M(q).
"""

from __future__ import annotations

import sys

import numpy as np
from tests.lecture_arm import COEFFICIENTS, NOISE, POSTURES, Lecture, coverage, draw

import dynid
from dynid.arrays import Array
from dynid.identification.gravity_parameters import from_postures, gravity_base
from dynid.robot import Robot


def main(draws: int = 200) -> None:
    """Print the tables."""
    lecture = Lecture.load()
    truth = np.array(list(COEFFICIENTS.values()))
    estimate, C = draw(lecture, 0)
    values, stds = C @ estimate.values, np.sqrt(np.diag(C @ estimate.covariance @ C.T))
    found = coverage(lecture, draws, seed=1000)
    print(f"LWR 4, {POSTURES} postures, noise {NOISE} N m; coverage and significance over {draws} draws")
    print("| coefficient | truth | value | std | coverage | significant in |")
    print("| --- | --- | --- | --- | --- | --- |")
    columns = zip(COEFFICIENTS, truth, values, stds, found.covered, found.significant, strict=True)
    for name, true, value, std, covered, significant in columns:
        print(f"| {name} | {true:.4g} | {value:.4f} | {std:.4f} | {covered:.1%} | {significant:.0%} |")
    print(f"coverage of all: {found.covered.mean():.2%}")
    levels = {"0.0125 to 0.8 N m": 0.1 * 2.0 ** np.arange(-3.0, 4.0), "0.1, 0.5 N m": np.array([0.1] * 3 + [0.5] * 4)}
    for label, noise in levels.items():
        print(
            f"coverage of all, joints with noise of {label}: {coverage(lecture, draws, 5000, noise).covered.mean():.2%}"
        )
    exact, C = draw(lecture, 2, noise=0.0)
    print(f"from g(q) without noise: largest error of the twelve {np.abs(C @ exact.values - truth).max():.1e} kg m")
    matrices(lecture.robot, lecture.parameters)
    for name in ("ur5", "spatial_3r", "two_link"):
        robot = dynid.load_robot(f"builtin:{name}")
        matrices(robot, robot.parameters)
        print(f"coverage of {name}: {coverage_of(robot, draws):.2%}")


def coverage_of(robot: Robot, draws: int) -> float:
    """Coverage of 95 % intervals of a robot's gravity parameters over draws of postures and noise."""
    base, model = gravity_base(robot), dynid.DynamicModel(robot)
    truth, covered = base.to_base(robot.parameters), []
    for k in range(draws):
        rng = np.random.default_rng(k)
        q = rng.uniform(-2.0, 2.0, (POSTURES, robot.nv))
        tau = (model.regressor(q) @ robot.parameters).T + NOISE * rng.normal(size=q.shape)
        found = from_postures(base, q, tau)
        covered.append(np.abs(found.values - truth) <= found.half_widths)
    return float(np.mean(covered))


def matrices(robot: Robot, parameters: Array) -> None:
    """Print how exactly parameters come from M(q) and g(q) at 30 postures."""
    model = dynid.DynamicModel(robot)
    rng = np.random.default_rng(3)
    q = rng.uniform(-2.0, 2.0, (POSTURES, robot.nv))
    M, g = model.mass_matrices(q, parameters), (model.regressor(q) @ parameters).T
    for label, of_mass, of_gravity in (("M(q)", M, None), ("g(q)", None, g), ("both", M, g)):
        found = dynid.identify_from_matrices(robot, q, mass_matrix=of_mass, gravity=of_gravity)
        error = np.abs(found.values - found.base.to_base(parameters)).max()
        print(f"| {robot.name} | {label} | {len(found.base)} | {error:.1e} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
