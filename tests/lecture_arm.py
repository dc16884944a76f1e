"""The LWR 4 with the gravity coefficients of De Luca's lecture (Robotics 2), and draws of static postures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import dynid
from dynid.arrays import Array
from dynid.identification.gravity_parameters import from_postures, gravity_base
from dynid.model import BaseParameters
from dynid.robot import Robot, inertia

COEFFICIENTS = {
    "c7y m7": 9.5457e-4,
    "c7x m7": -2.9826e-4,
    "c6x m6": 8.3524e-4,
    "c6z m6 + c7z m7": 0.0286,
    "c5z m5 - c6y m6": -0.0407,
    "c5x m5": -6.5637e-4,
    "c5y m5 + c4z m4 + d2 (m5 + m6 + m7)": 1.334,
    "c4x m4": -0.0035,
    "c4y m4 + c3z m3": -4.7258e-4,
    "c2x m2": 0.0014,
    "c3x m3": 9.4532e-4,
    "c2z m2 - c3y m3 + d1 (m3 + m4 + m5 + m6 + m7)": 3.4568,
}
"""The lecture's coefficients [kg m]; d1 = 0.4 m and d2 = 0.39 m."""

MASSES = (2.7, 2.7, 2.7, 2.7, 1.7, 1.6, 0.3)
"""Plausible masses [kg] of the links; only the coefficients matter."""

POSTURES, NOISE = 30, 0.1


@dataclass(frozen=True)
class Lecture:
    """The LWR 4 with the lecture's coefficients.

    Attributes:
        robot: The robot.
        base: Its gravity parameters.
        model: Its model.
        parameters: Standard parameters that have the coefficients, shape (70,).
        to_coefficients: The coefficients as combinations of standard parameters, shape (12, 70).
    """

    robot: Robot
    base: BaseParameters
    model: dynid.DynamicModel
    parameters: Array
    to_coefficients: Array

    @staticmethod
    def load() -> Lecture:
        """The robot, the map from joint frames to the lecture's frames, and links that have its coefficients."""
        robot = dynid.load_robot("builtin:lwr4")
        S = _of_end_frames() @ _to_end_frames(robot)
        p = np.zeros(70)
        p[::10] = MASSES
        for k in range(7):
            p[[10 * k + 4, 10 * k + 6, 10 * k + 9]] = 0.02
        moments = [10 * k + axis for k in range(7) for axis in (1, 2, 3)]
        missing = np.array(list(COEFFICIENTS.values())) - S @ p
        p[moments] += np.linalg.lstsq(S[:, moments], missing, rcond=None)[0]
        return Lecture(robot, gravity_base(robot), dynid.DynamicModel(robot), p, S)


def _of_end_frames() -> Array:
    """The lecture's coefficients as combinations of masses and first moments in end-of-link frames, shape (12, 70)."""
    d1, d2 = 0.4, 0.39

    def m(k: int) -> int:
        return 10 * (k - 1)

    def first(k: int, axis: str) -> int:
        return m(k) + 1 + "xyz".index(axis)

    S = np.zeros((12, 70))
    for row, (k, axis) in {
        0: (7, "y"),
        1: (7, "x"),
        2: (6, "x"),
        5: (5, "x"),
        7: (4, "x"),
        9: (2, "x"),
        10: (3, "x"),
    }.items():
        S[row, first(k, axis)] = 1.0
    S[3, [first(6, "z"), first(7, "z")]] = 1.0
    S[4, [first(5, "z"), first(6, "y")]] = 1.0, -1.0
    S[6, [first(5, "y"), first(4, "z")]] = 1.0
    S[6, [m(5), m(6), m(7)]] = d2
    S[8, [first(4, "y"), first(3, "z")]] = 1.0
    S[11, [first(2, "z"), first(3, "y")]] = 1.0, -1.0
    S[11, [m(3), m(4), m(5), m(6), m(7)]] = d1
    return S


def _to_end_frames(robot: Robot) -> Array:
    """Matrix from standard parameters in joint frames to those in end-of-link frames, shape (70, 70)."""
    T = np.zeros((70, 70))
    for k, i in enumerate(robot.solid_links):
        from_end = np.asarray(np.linalg.inv(robot.links[i].bodies[0].placement), dtype=float)
        own = slice(10 * k, 10 * k + 10)
        T[own, own] = np.array([inertia.moved(unit, from_end) for unit in np.eye(10)]).T
    return T


@dataclass(frozen=True)
class Coverage:
    """Share of draws whose intervals hold the truth, by coefficient, and in which it is significant."""

    covered: Array
    significant: Array


def coverage(lecture: Lecture, draws: int, seed: int = 0, noise: float | Array = NOISE) -> Coverage:
    """Coverage of 95 % intervals of the lecture's coefficients over draws of postures and noise."""
    covered, significant = [], []
    for k in range(draws):
        estimate, C = draw(lecture, seed + k, noise)
        values, stds = C @ estimate.values, np.sqrt(np.diag(C @ estimate.covariance @ C.T))
        half = stds * (estimate.half_widths / estimate.stds).mean()
        covered.append(np.abs(values - np.array(list(COEFFICIENTS.values()))) <= half)
        significant.append(np.abs(values) > half)
    return Coverage(np.mean(covered, axis=0), np.mean(significant, axis=0))


def draw(lecture: Lecture, seed: int, noise: float | Array = NOISE) -> tuple[dynid.StaticEstimate, Array]:
    """One estimate, and the matrix from its values to the lecture's coefficients, shape (12, 12)."""
    rng = np.random.default_rng(seed)
    lower, upper = np.array([joint.limits.interval(2 * np.pi) for joint in lecture.robot.joints]).T
    q = rng.uniform(lower, upper, (POSTURES, 7))
    g = (lecture.model.regressor(q) @ lecture.parameters).T
    estimate = from_postures(lecture.base, q, g + noise * rng.normal(size=g.shape))
    return estimate, lecture.to_coefficients @ np.linalg.pinv(estimate.base.regrouping)
