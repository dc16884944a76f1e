"""An arm with a belt-driven elbow and a differential wrist: what motor-side logs determine, at 50 dB of white noise.

The UR5 with more on its links, so that none of their parameters is zero, behind another transmission: the elbow's motor
sits at the shoulder and drives a belt along the upper arm, so that it turns with the sum of joints 2 and 3; the two
motors of the wrist turn with the sum and the difference of joints 5 and 6. Positions and torques are logged at the
motors; inertia, viscous and Coulomb friction and offsets are at the motors. The white noise on each motor's torque is
50 dB below it, as in seed 002.

`benchmarks/transmissions.py` prints all numbers.
"""

from __future__ import annotations

import numpy as np

import dynid
from dynid.arrays import Array
from dynid.robot import Load, Robot, with_load, with_matrix
from dynid.simulation.simulated_robot import SimulatedRobot

N = np.diag([101.0, 101.0, 101.0, 60.0, 50.0, 50.0])
N[2, 1] = 101.0
N[4:, 4:] = [[50.0, 50.0], [50.0, -50.0]]

TERMS = ("motor_inertia", "motor_viscous", "motor_coulomb", "motor_offset")

AT_MOTORS = {
    "motor_inertia": np.array([80.0, 80.0, 50.0, 40.0, 40.0, 48.0]) * 1e-6,
    "motor_viscous": np.array([8.0, 8.0, 6.0, 4.0, 5.0, 6.0]) * 1e-4,
    "motor_coulomb": np.array([6.0, 6.0, 5.0, 2.5, 2.0, 2.6]) * 1e-2,
    "motor_offset": np.array([5.0, -6.0, 4.0, 3.0, -4.0, 6.0]) * 4e-3,
}
"""Rotor inertias [kg m^2], viscous friction [N m s/rad], Coulomb friction and offsets [N m] of the motors."""


MASSES = (2.0, 4.0, 3.0, 2.0, 2.0, 3.0)
"""Masses that are added to the links [kg]."""


def arm(seed: int = 10) -> Robot:
    """The UR5's joints behind the transmission, with points of mass on its links: no parameter of theirs is zero."""
    rng = np.random.default_rng(seed)
    robot = dynid.load_robot("builtin:ur5")
    for link, mass in zip(robot.links, MASSES, strict=True):
        points = rng.uniform(-0.15, 0.15, (8, 3)) + rng.uniform(0.05, 0.1, 3) * rng.choice([-1, 1], 3)
        r = points - points.mean(axis=0)
        inertia = mass / 8 * ((r**2).sum() * np.eye(3) - r.T @ r)
        robot = with_load(robot, Load(mass, points.mean(axis=0), inertia, link.name))
    return with_matrix(robot, N)


def true_robot(robot: Robot) -> SimulatedRobot:
    """The robot with the motors' inertia and friction, as the joints see them."""
    model = dynid.DynamicModel(robot, TERMS)
    p = np.nan_to_num(model.reference)
    size = len(robot.parameters)
    ratios = np.abs(N).max(axis=1)
    signs = np.array([1.0, 1.0, 1.0, 1.0, 1.0, -1.0])  # motor 6 turns backwards with its main joint
    at_joints = [
        AT_MOTORS["motor_inertia"] * ratios**2,
        AT_MOTORS["motor_viscous"] * ratios**2,
        AT_MOTORS["motor_coulomb"] * ratios,
        AT_MOTORS["motor_offset"] * ratios * signs,
    ]
    p[size:] = np.concatenate(at_joints)
    return SimulatedRobot.of(model, p)


def motor_torques(robot: Robot, q: Array, v: Array, a: Array) -> Array:
    """Torques of the motors [N m], shape (samples, 6), by the textbook: rotors and friction at the motors."""
    links = dynid.DynamicModel(robot).inverse_dynamics(q, v, a)
    speed, rate = v @ N.T, a @ N.T
    own = AT_MOTORS["motor_inertia"] * rate + AT_MOTORS["motor_viscous"] * speed
    own += AT_MOTORS["motor_coulomb"] * np.sign(speed) + AT_MOTORS["motor_offset"]
    return np.linalg.solve(N.T, links.T).T + own
