"""The wrench between ground and robot, the zero-moment point, and the joint torques that go with it.

All wrenches are forces, then moments about the origin of the world, along its axes. With several feet the ground's
forces are not unique: those of least norm are taken, with moments over the size of the feet.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, frozen
from dynid.excitation.balance.closed_legs import ClosedLegs
from dynid.excitation.balance.tree_motion import frames_of
from dynid.model import DynamicModel, RowLayout
from dynid.robot import Robot, skew

_AT_A_TIME = 4000
"""Samples whose regressor is in memory at a time."""

_SMALLEST_FOOT = 0.02
"""Feet count as at least this long [m]."""


def world_wrenches(robot: Robot, q: Array, on_base: Array) -> Array:
    """Wrenches on the base, in its own frame, as wrenches about the world's origin; the last axis but one has six rows.

    Args:
        robot: A robot with a floating base.
        q: Positions, shape (samples, nq).
        on_base: Rows of forces, then of moments, shape (samples, 6, columns).
    """
    R, p = frames_of(robot, [0], q)[0]
    forces, moments = R @ on_base[:, :3], R @ on_base[:, 3:]
    return np.concatenate([forces, moments + np.cross(p[:, :, None], forces, axis=1)], axis=1)


@dataclass(frozen=True, eq=False)
class GroundWrench:
    """What the ground and the joints of a standing robot have to give, as the robot's file predicts it.

    Attributes:
        legs: The robot on its feet.
    """

    legs: ClosedLegs

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.legs.stance.robot

    @cached_property
    def _model(self) -> DynamicModel:
        return DynamicModel(self.robot)

    @cached_property
    def _rows(self) -> RowLayout:
        return self._model.layout(self._model.acting)

    @cached_property
    def _base_rows(self) -> RowLayout:
        columns = list(self._model.acting)
        return self._model.layout([*columns[:6], *[()] * (self.robot.nv - 6)])

    def _of_joints(self, key: str) -> Array:
        """A value of the joints' own dynamics for each coordinate, shape (nv,)."""
        found = np.zeros(self.robot.nv)
        for joint in self.robot.independent_joints[1:]:
            found[joint.v] = getattr(joint.dynamics, key) or 0.0
        return frozen(found)

    @cached_property
    def damping(self) -> Array:
        """Viscous friction of each coordinate [N m s/rad or N s/m], shape (nv,)."""
        return self._of_joints("damping")

    @cached_property
    def _armature(self) -> Array:
        return self._of_joints("armature")

    @cached_property
    def friction(self) -> Array:
        """Coulomb friction of each coordinate [N m or N], shape (nv,)."""
        return self._of_joints("friction")

    def wrench(self, q: Array, v: Array | None = None, a: Array | None = None) -> Array:
        """The ground's wrench [N, N m], shape (samples, 6)."""
        return self._evaluated(self._base_rows, 6, q, v, a)

    def _evaluated(self, layout: RowLayout, rows: int, q: Array, v: Array | None, a: Array | None) -> Array:
        """Inverse dynamics with the first six rows in the world, shape (samples, rows)."""
        parameters = self.robot.parameters
        still = np.zeros((len(q), self.robot.nv))
        v, a = still if v is None else v, still if a is None else a
        found = np.zeros((len(q), rows))
        for begin in range(0, len(q), _AT_A_TIME):
            part = slice(begin, begin + _AT_A_TIME)
            matrices = layout.evaluate(q[part], v[part], a[part])
            for k in range(rows):
                found[part, k] = matrices[k] @ parameters[self._model.acting[k]]
        found[:, :6] = world_wrenches(self.robot, q, found[:, :6, None])[:, :, 0]
        return found

    @cached_property
    def shares(self) -> Array:
        """The feet's forces (and moments, of flat ones) per wrench of the ground, shape (rows of all feet, 6)."""
        feet, maps, scales = self.legs.stance.feet, [], []
        for foot in feet:
            size = 0.5 * np.linalg.norm(np.ptp(foot.contacts, axis=0)) if len(foot.contacts) > 1 else 0.0
            of_foot = np.eye(6)
            of_foot[3:, :3] = skew(foot.target[:3, 3])
            maps.append(of_foot[:, : foot.rows])
            scales += [1.0] * 3 + [max(float(size), _SMALLEST_FOOT)] * (foot.rows - 3)
        G, scale = np.concatenate(maps, axis=1), np.array(scales)
        return np.asarray(scale[:, None] * np.linalg.pinv(G * scale))

    def torques(self, q: Array, v: Array | None = None, a: Array | None = None) -> tuple[Array, Array]:
        """The ground's wrench, (samples, 6), and torques of all joints without dry friction, (samples, nv - 6).

        Torques are in N m or N. The feet's forces are those of least norm that give the wrench.
        """
        found = self._evaluated(self._rows, self.robot.nv, q, v, a)
        found += 0.0 if v is None else self.damping * v
        found += 0.0 if a is None else self._armature * a
        wrench = found[:, :6]
        torques = found[:, 6:].copy()
        for begin in range(0, len(q), _AT_A_TIME):
            part = slice(begin, begin + _AT_A_TIME)
            J = self.legs.jacobian(self.legs.frames(q[part]))[:, :, 6:]
            torques[part] -= np.einsum("srj,sr->sj", J, wrench[part] @ self.shares.T)
        return wrench, torques


def zero_moment_points(wrench: Array) -> Array:
    """Where the ground's force acts: without moments along the ground, x and y [m]; (..., 6) to (..., 2)."""
    return np.stack([-wrench[..., 4], wrench[..., 3]], axis=-1) / wrench[..., 2, None]
