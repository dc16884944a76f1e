"""The 1R and 3R arms of Pennese and Vulcano 2020, with their coefficients, trajectories and errors."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.interpolate import CubicSpline

import dynid
from dynid.arrays import Array
from dynid.estimation.factors.factors import Factor
from dynid.estimation.physical.parameter_retrieval import RetrievalLimits, retrieval
from dynid.estimation.physical.penalty_retrieval import Search
from dynid.estimation.physical.physical_estimate import Physics
from dynid.estimation.physical.physical_links import physics_of
from dynid.estimation.physical.references import Origin, Reference, plain_body
from dynid.estimation.settings import PhysicalSettings
from dynid.robot import Robot

GRAVITY = 9.81
RATE, SECONDS = 100.0, 10.0

ZEROS_1R = {"cx1": 0.0, "cy1": 0.0, "Jxy1": 0.0, "Jxz1": 0.0, "Jyz1": 0.0}
ZEROS_3R = {"cx1": 0.0, "cy1": 0.0, "cy2": 0.0, "cy3": 0.0, "cz3": 0.0, "Jxy*": 0.0, "Jxz*": 0.0, "Jyz*": 0.0}
"""Structural zeros, in joint frames; the centre of mass of link 2 is off its axis by c + d2 there."""


def coefficients_1r(u: dict[str, float]) -> Array:
    """pi of the 1R arm: g m d and I + m d^2."""
    d = -u["cz1"]
    return np.array([GRAVITY * u["m1"] * d, u["Jyy1"] + u["m1"] * d**2])


def coefficients_3r(u: dict[str, float]) -> Array:
    """pi_1 to pi_10 of the 3R arm (chapter 3.1); L2 - b, L3 - d and c + d2 are coordinates in joint frames."""
    L2, d2 = 0.3, 0.09
    m2, m3, x2, x3, off = u["m2"], u["m3"], u["cx2"], u["cx3"], -u["cz2"]
    return np.array(
        [
            u["Jzz1"] + m2 * off**2 + m3 * d2**2 + u["Jxx2"] + u["Jxx3"],
            m2 * x2**2 + m3 * L2**2 + u["Jyy2"] - u["Jxx2"],
            u["Jyy3"] + m3 * x3**2 - u["Jxx3"],
            m3 * x3 * L2,
            u["Jzz2"] + m2 * x2**2 + u["Jzz3"] + m3 * (L2**2 + x3**2),
            m3 * x3**2 + u["Jzz3"],
            m2 * x2 * off + m3 * L2 * d2,
            m3 * x3 * d2,
            GRAVITY * (m2 * x2 + m3 * L2),
            GRAVITY * m3 * x3,
        ]
    )


def spline(points: list[float]) -> Array:
    """Positions, velocities and accelerations through points at equal times, at rest at both ends; (3, samples, 1)."""
    t = np.arange(0.0, SECONDS, 1.0 / RATE)
    path = CubicSpline(np.linspace(0.0, SECONDS, len(points)), points, bc_type="clamped")
    return np.stack([path(t, order)[:, None] for order in range(3)])


def fourier(starts: list[float], seed: int) -> Array:
    """The seed's random exciting trajectory: five harmonics of 0.2 pi rad/s; shape (3, samples, joints)."""
    rng, t, w = np.random.default_rng(seed), np.arange(0.0, SECONDS, 1.0 / RATE), 0.2 * np.pi
    states = np.zeros((3, len(t), len(starts)))
    for j, start in enumerate(starts):
        states[0, :, j] = start
        for harmonic in range(1, 6):
            a, b = rng.uniform(-0.5, 0.5, 2)
            s, c, k = np.sin(harmonic * w * t), np.cos(harmonic * w * t), harmonic * w
            states[0, :, j] += a / k * s - b / k * c
            states[1, :, j] += a * c + b * s
            states[2, :, j] += k * (b * c - a * s)
    return states


Case = tuple[str, str, Array, dict[str, float], Callable[[dict[str, float]], Array], float]

CASES: list[Case] = [
    ("1R, Tables 1-2", "pendulum", spline([0.0, np.pi / 4, 0.0]), ZEROS_1R, coefficients_1r, 1.6410e-5),
    ("1R, Tables 3-4", "pendulum", spline([0.0, np.pi / 4, -np.pi / 4, 0.0]), ZEROS_1R, coefficients_1r, 4.2554e-2),
    ("1R, Tables 5-6", "pendulum", fourier([0.0], 1), ZEROS_1R, coefficients_1r, 2.0259e-6),
    ("3R, Tables 8-9", "spatial_3r", fourier([0.0, -np.pi / 2, 0.0], 2), ZEROS_3R, coefficients_3r, 0.0594),
    ("3R, Tables 10-11", "spatial_3r", fourier([0.0, -np.pi / 2, 0.0], 3), ZEROS_3R, coefficients_3r, 3.3696e-5),
]


def plain_physics(robot: Robot, total_mass: tuple[float, float]) -> Physics:
    """Links of which nothing is known but that they reach to the next joint, and their total mass [kg]."""
    model = dynid.DynamicModel(robot)
    physics = physics_of(PhysicalSettings(total_mass=total_mass), model)
    plain = tuple(Reference(i, plain_body(robot, i), Origin.PLAIN) for i in robot.solid_links)
    return replace(physics, references=plain)


def retrieved(case: Case, search: Search) -> tuple[float, float, bool, float]:
    """Error of the seed's coefficients, of torques [N m], whether all conditions hold, and the time [s]."""
    _, name, states, zeros, coefficients, _ = case
    robot = dynid.load_robot(f"builtin:{name}")
    model = dynid.DynamicModel(robot)
    base = dynid.find_base_parameters(model)
    W, truth = base.regressor(*states).reshape(-1, len(base)), base.to_base(robot.parameters)
    masses = robot.parameters[::10]
    bounds = {f"m{k + 1}": (0.1 * mass, 3.0 * mass) for k, mass in enumerate(masses)}
    bounds |= {"c?*": (-1.0, 1.0), "Jxx*": (0.0, 2.0), "Jyy*": (0.0, 2.0), "Jzz*": (0.0, 2.0)}
    physics = plain_physics(robot, (0.7 * float(masses.sum()), 1.3 * float(masses.sum())))
    begin = time.process_time()
    found = retrieval(Factor.of(base.names, W, W @ truth), base, physics, RetrievalLimits(bounds, zeros), search)
    seconds = time.process_time() - begin
    true = found.retrieved.problem.variables.variables(robot.parameters)
    names = found.retrieved.problem.variables.names
    expected = coefficients(dict(zip(names, true.tolist(), strict=True)))
    error = float(np.linalg.norm(coefficients(found.values) - expected))
    return error, float(np.sqrt(np.mean((W @ (found.coefficients - truth)) ** 2))), found.is_met, seconds
