"""What is true of legged robots whose files are off: links, friction and motor inertia."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dynid import Robot
from dynid.arrays import Array
from dynid.robot import SIZE, Link, inertia
from dynid.robot.description import BodyDescription
from tests.floating_kinematics import of_links
from tests.floating_robots import LeggedRobot

OFF = 0.15
"""Relative error of each link's ten numbers in the file, in units of `inertia.sizes`."""

THIN = 0.02
"""Links of the file that are thinner than this radius of gyration [m] along an axis are no bodies; truth is thicker."""


def off(link: Array, rng: np.random.Generator, relative: float = OFF) -> Array:
    """A physically consistent link, shape (10,), that is off another by a relative error in units of `inertia.sizes`.

    Mass, centre of mass and inertia change at random: by a scale, by a shift in units of the radii of gyration, and by
    a congruence of the second moments about the centre of mass.
    """
    P = inertia.to_pseudo_inertia(link)
    P[:3, :3] += max(0.0, THIN**2 * P[3, 3] - float(np.linalg.eigvalsh(_central(P))[0])) * np.eye(3)
    solid = inertia.from_pseudo_inertia(P)
    centre, moments, mass = P[:3, 3] / P[3, 3], _central(P), P[3, 3]
    root = np.linalg.cholesky(moments / mass)
    shift, turn, scale = rng.normal(size=3), rng.normal(size=(3, 3)), rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 1.5)

    def at(share: float) -> Array:
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = root @ (np.eye(3) + 0.5 * share * turn), centre + share * root @ shift
        return mass * np.exp(share * scale) * inertia.from_pseudo_inertia(T @ T.T)

    low, high, sizes = 0.0, 2.0, inertia.sizes(solid)
    wanted = relative * float(np.linalg.norm(solid / sizes))
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.linalg.norm((at(middle) - solid) / sizes) < wanted else (low, middle)
    return at(low)


def _central(P: Array) -> Array:
    """Second moments about the centre of mass of a pseudo-inertia, shape (3, 3)."""
    return P[:3, :3] - np.outer(P[:3, 3], P[:3, 3]) / P[3, 3]


def true_parameters(robot: Robot, seed: int, relative: float = OFF) -> Array:
    """Links that the file of a robot states with an error, shape (10 * solid links,)."""
    rng = np.random.default_rng((seed, 13))
    return np.concatenate([off(link, rng, relative) for link in robot.parameters.reshape(-1, SIZE)])


def true_joints(legged: LeggedRobot, seed: int, relative: float = OFF) -> Array:
    """Viscous friction, Coulomb friction and motor inertia of each joint, shape (3, joints)."""
    rough = np.array([[legged.viscous], [legged.coulomb], [legged.armature]])
    return rough * np.exp(relative * np.random.default_rng((seed, 16)).normal(size=(3, legged.robot.nv - 6)))


def with_parameters(robot: Robot, parameters: Array) -> Robot:
    """A robot with other links, of which each is one body; frames of other bodies stay."""
    links = []
    for link, p in zip(robot.links, of_links(robot, parameters), strict=True):
        frames = tuple(replace(body, inertia=None) for body in link.bodies)
        links.append(Link(link.name, (BodyDescription(f"{link.name}_solid", inertia=p), *frames)))
    return replace(robot, links=tuple(links))
