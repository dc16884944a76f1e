"""What the ground's wrench says of a robot's parameters, beside what its file says.

Rows are in units of the sensors' noise, columns in units of the file's uncertainty: with the information M of samples,
`(I + M)^-1` is the covariance of what remains, relative to what was uncertain before, whatever is not excited.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, frozen
from dynid.excitation.balance.ground_wrench import world_wrenches
from dynid.excitation.balance.stance import Stance
from dynid.excitation.balance.tree_motion import frames_of
from dynid.model import BaseParameters, DynamicModel, Observed, RowLayout, find_base_parameters
from dynid.robot import SIZE, Robot, skew

_SMALLEST_SIZE = 0.01
"""Links count as at least this large [m]."""

_SMALLEST_MASS = 1e-4
"""Links count as at least this part of the whole robot's mass."""

_AT_A_TIME = 2000
"""Samples whose regressor is in memory at a time."""


def parameter_uncertainty(robot: Robot, relative: float) -> Array:
    """Standard deviations of the file's inertial parameters, shape (10 * solid links,).

    A link's mass m is uncertain by a part of it, its first moments by that part of m l and its moments of inertia by
    that part of m l^2, with the length l = sqrt(trace(I) / (2 m)), which is about how far its masses are away.
    """
    found = []
    whole = sum(float(robot.links[k].parameters[0]) for k in robot.solid_links)
    for k in robot.solid_links:
        p = robot.links[k].parameters
        mass = max(float(p[0]), _SMALLEST_MASS * whole)
        length = max(float(np.sqrt(max(p[4] + p[6] + p[9], 0.0) / (2.0 * mass))), _SMALLEST_SIZE)
        found += [mass, *[mass * length] * 3, *[mass * length**2] * 6]
    return relative * np.array(found)


@dataclass(frozen=True, eq=False)
class WrenchInformation:
    """Rows of the ground's wrench, in units of noise, over parameters, in units of what is uncertain of them.

    Attributes:
        stance: The robot on its feet.
        force_noise: Standard deviation [N] of each force of each foot.
        moment_noise: The same of each moment of each flat foot [N m].
        uncertainty: Relative standard deviation of the file's parameters.
    """

    stance: Stance
    force_noise: float
    moment_noise: float
    uncertainty: float

    @cached_property
    def base(self) -> BaseParameters:
        """The parameters that act on the ground's wrench."""
        return find_base_parameters(DynamicModel(self.stance.robot, (), Observed.WRENCH_MOVING))

    @cached_property
    def _scale(self) -> Array:
        """A factor L of the base parameters' covariance L L^T before anything is measured, shape (base, base)."""
        spread = self.base.regrouping * parameter_uncertainty(self.stance.robot, self.uncertainty)
        return frozen(np.asarray(np.linalg.qr(spread.T, mode="r")).T)

    @cached_property
    def _middle(self) -> Array:
        return np.asarray(np.mean([foot.target[:3, 3] for foot in self.stance.feet], axis=0))

    @cached_property
    def _weights(self) -> Array:
        """What turns wrenches about the world's origin into rows in units of noise, shape (6, 6)."""
        covariance = np.zeros((6, 6))
        for foot in self.stance.feet:
            G = np.eye(6)
            G[3:, :3] = skew(foot.target[:3, 3] - self._middle)
            noise = np.array([self.force_noise] * 3 + [self.moment_noise] * 3)[: foot.rows]
            covariance += (G[:, : foot.rows] * noise**2) @ G[:, : foot.rows].T
        covariance += 1e-12 * np.trace(covariance) * np.eye(6)
        moved = np.eye(6)
        moved[3:, :3] = -skew(self._middle)
        return frozen(np.linalg.inv(np.linalg.cholesky(covariance)) @ moved)

    @cached_property
    def _layout(self) -> RowLayout:
        robot = self.stance.robot
        return RowLayout.of(robot, (), [*[self.base.columns] * 6, *[()] * (robot.nv - 6)])

    def rows(self, q: Array, v: Array | None = None, a: Array | None = None) -> Array:
        """The rows of samples, shape (samples, 6, base)."""
        still = np.zeros((len(q), self.stance.robot.nv))
        v, a = still if v is None else v, still if a is None else a
        found = np.zeros((len(q), 6, len(self.base)))
        for begin in range(0, len(q), _AT_A_TIME):
            part = slice(begin, begin + _AT_A_TIME)
            W = np.stack(self._layout.evaluate(q[part], v[part], a[part])[:6], axis=1)
            found[part] = self._weights @ world_wrenches(self.stance.robot, q[part], W) @ self._scale
        return found

    def physical(self, rows: Array) -> Array:
        """Rows in units of noise, (samples, 6, base), as forces [N] and moments about the middle of the feet [N m]."""
        back = np.linalg.inv(self._weights)
        moved = np.eye(6)
        moved[3:, :3] = -skew(self._middle)
        return np.asarray(moved @ back @ rows)

    def centre_rows(self, q: Array) -> Array:
        """How the robot's centre of mass [m] depends on the columns, along the base's axes, (samples, 3, base)."""
        robot = self.stance.robot
        frames = frames_of(robot, range(len(robot.joints)), q)
        R0, p0 = frames[0]
        moments = np.zeros((len(q), 3, SIZE * len(robot.solid_links)))
        masses = np.zeros(moments.shape[2])
        for block, k in enumerate(robot.solid_links):
            R, p = frames[k]
            columns = slice(SIZE * block, SIZE * block + 4)
            masses[columns.start] = 1.0
            moments[:, :, columns.start] = p - p0
            moments[:, :, columns.start + 1 : columns.stop] = R
        moments = np.swapaxes(R0, 1, 2) @ moments
        whole = float(masses @ robot.parameters)
        centre = moments @ robot.parameters / whole
        rows = (moments - centre[:, :, None] * masses) / whole
        return np.asarray(rows[:, :, list(self.base.columns)] @ self._scale)

    @property
    def mass_row(self) -> Array:
        """How the whole robot's mass [kg] depends on the columns, shape (base,)."""
        masses = np.tile(np.eye(SIZE)[0], len(self.stance.robot.solid_links))
        return np.asarray(masses[list(self.base.columns)] @ self._scale)


def covariance_of(information: Array) -> Array:
    """What remains of the uncertainty after samples with an information matrix, shape (base, base)."""
    return np.asarray(np.linalg.inv(np.eye(len(information)) + information), dtype=np.float64)


def gained(information: Array) -> float:
    """The logarithm of how many times smaller the volume of what is uncertain becomes: log det(I + M)."""
    return float(np.linalg.slogdet(np.eye(len(information)) + information)[1])
