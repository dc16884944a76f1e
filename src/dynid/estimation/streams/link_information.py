"""How well the links of a robot are determined by what was measured so far: a number from 0 to 1 for each.

Before anything is measured, a link's ten parameters may be as uncertain as a tenth of their natural sizes: m of the
mass, m r of the first moments and m r^2 of the inertia, with the link's mass m and radius of gyration r of the robot
file. Perfect data would take some of these variances away, summed over the parameters in their natural sizes; what is
unidentifiable stays. A link's information is the share of that which the data have taken away. A direction whose
standard deviation is the tenth of its natural size counts half, one that is three times better determined 0.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.model import BaseParameters
from dynid.robot import INERTIA_BASIS, SIZE

HALF_DETERMINED = 0.1
"""Standard deviation, over its natural size, at which a direction counts half."""

PLAIN_MASS, PLAIN_RADIUS = 1.0, 0.1
"""Mass [kg] and radius of gyration [m] of links of robots whose file states none."""


@dataclass(frozen=True, eq=False)
class LinkScales:
    """Natural sizes of the links' parameters.

    Attributes:
        names: Names of the links.
        G: What a deviation of each parameter by a tenth (`HALF_DETERMINED`) of its natural size makes of base
            parameters, shape (base, 10 * links).
        most: The variances that perfect data would take away, relative, shape (10 * links,).
    """

    names: tuple[str, ...]
    G: Array
    most: Array

    @staticmethod
    def of(base: BaseParameters) -> LinkScales:
        """The sizes of the parameters of a model."""
        robot = base.model.robot
        G = base.regrouping[:, : SIZE * len(robot.solid_links)] * (HALF_DETERMINED * natural_sizes(base))
        if not G.any():
            return LinkScales((), G[:, :0], np.zeros(0))
        _, s, V = np.linalg.svd(G, full_matrices=False)
        most = np.sum(V[s > 1e-9 * s[0]] ** 2, axis=0)
        return LinkScales(tuple(robot.links[i].name for i in robot.solid_links), G, most)

    def information(self, R: Array) -> Mapping[str, float]:
        """For each link with identifiable parameters its information, from 0 to 1.

        Args:
            R: Triangle of the weighted observation matrix in the base parameters, shape (base, base).
        """
        if not self.names:
            return {}
        M = R @ self.G
        taken = np.sum(M * np.linalg.solve(np.eye(len(M)) + M @ M.T, M), axis=0)
        of_links = zip(self.names, taken.reshape(-1, SIZE).sum(1), self.most.reshape(-1, SIZE).sum(1), strict=True)
        return {name: float(np.clip(part / most, 0.0, 1.0)) for name, part, most in of_links if most > 1e-6}


def natural_sizes(base: BaseParameters) -> Array:
    """Natural sizes of the links' inertial parameters [kg, kg m, kg m^2], shape (10 * links,)."""
    robot = base.model.robot
    stated = [robot.links[i].parameters for i in robot.solid_links]
    masses = np.array([p[0] for p in stated])
    halves = 0.5 * np.trace(INERTIA_BASIS, axis1=1, axis2=2)  # of the trace of the inertia: m r^2 over all axes
    moments = np.array([halves @ p[-len(halves) :] for p in stated])
    known = masses > 0.0
    mass = float(np.mean(masses[known])) if known.any() else PLAIN_MASS
    radii = np.sqrt(np.maximum(moments, 0.0) / np.where(known, masses, 1.0))
    radius = float(np.mean(radii[known])) if known.any() else 0.0
    radius = radius or PLAIN_RADIUS
    m = np.maximum(masses, HALF_DETERMINED * mass)
    r = np.maximum(np.where(known, radii, radius), HALF_DETERMINED * radius)
    return np.stack([m, *[m * r] * 3, *[m * r**2] * 6], axis=1).ravel()
