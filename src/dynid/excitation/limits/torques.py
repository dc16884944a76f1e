"""Torques that a motion needs, as the robot's file predicts them: peaks and root mean squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError
from dynid.excitation.limits.limit import Check, Limit, both_sides
from dynid.excitation.motion import Motion
from dynid.excitation.trajectories.family import Trajectory
from dynid.model.adjoint import Slopes, layout_slopes
from dynid.model.dynamic_model import DynamicModel
from dynid.model.row_layout import RowLayout
from dynid.model.terms import Armature, Viscous
from dynid.robot.joints import JointKind
from dynid.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class PriorTorques:
    """Torques of the robot file's links, motors and friction.

    Attributes:
        robot: The robot.
    """

    robot: Robot

    @cached_property
    def _model(self) -> DynamicModel:
        return DynamicModel(self.robot, [Viscous(), Armature()])

    @cached_property
    def _parameters(self) -> Array:
        return frozen(np.nan_to_num(self._model.reference))

    @cached_property
    def friction(self) -> Array:
        """Coulomb friction of each coordinate [N m or N], shape (nv,)."""
        return frozen([joint.dynamics.friction or 0.0 for joint in self.robot.independent_joints])

    @cached_property
    def _rows(self) -> tuple[RowLayout, ...]:
        """A layout for each row that has this row only."""
        everything = range(len(self._model.names))
        nv = self.robot.nv
        return tuple(
            RowLayout.of(self.robot, self._model.terms, [everything if k == row else () for k in range(nv)])
            for row in range(nv)
        )

    def smooth(self, q: Array, v: Array, a: Array) -> Array:
        """Torques without Coulomb friction, shape (samples, nv)."""
        return self._model.inverse_dynamics(q, v, a)

    def whole(self, q: Array, v: Array, a: Array) -> Array:
        """Torques with Coulomb friction, shape (samples, nv)."""
        return self.smooth(q, v, a) + self.friction * np.sign(v)

    def slopes(self, row: int, q: Array, v: Array, a: Array, weights: Array) -> Slopes:
        """Slopes of one row's smooth torque, times a weight each, over the states; (samples,) to three (samples, nv)."""
        G = [np.zeros((len(q), 0))] * self.robot.nv
        G[row] = weights[:, None] * self._parameters
        return layout_slopes(self._rows[row], q, v, a, G)


@dataclass(frozen=True, eq=False)
class TorqueLimit(Limit):
    """Peak torques. Coulomb friction, which jumps, is taken off the limits of a design: it may add at any time.

    Attributes:
        torques: The prediction.
        limits: Largest torque of each coordinate [N m or N], shape (nv,); infinite where there is none.
        factor: Part of the limits that a design may use.
    """

    torques: PriorTorques
    limits: Array
    factor: float = 1.0

    @staticmethod
    def of(torques: PriorTorques, limits: Sequence[float]) -> TorqueLimit:
        """Limits of all coordinates.

        Raises:
            InvalidRequestError: If friction alone takes all of a joint's torque.
        """
        for joint, limit, friction in zip(torques.robot.independent_joints, limits, torques.friction, strict=True):
            if friction >= 0.9 * limit:
                raise InvalidRequestError(
                    f"the Coulomb friction of joint '{joint.name}' in the robot's file ({friction:g}) takes all of its "
                    f"effort limit of {limit:g}; correct one of them, or state [excitation] effort"
                )
        return TorqueLimit(torques, frozen(limits))

    @property
    def _room(self) -> Array:
        return self.factor * (self.limits - self.torques.friction)

    def slacks(self, motion: Motion) -> Array:
        """Below and above, for each sample and coordinate, shape (2 * samples * nv,)."""
        return both_sides(self.torques.smooth(*motion.states) / self._room).ravel()

    def slopes(self, motion: Motion, which: Array) -> Array:
        """One pass back through the dynamics for each coordinate that is near its limit."""
        nv = self.torques.robot.nv
        side, sample, row = np.unravel_index(which, (2, len(motion.grid.times), nv))
        J = np.zeros((len(which), len(motion.x)))
        for r in np.unique(row):
            mine = np.flatnonzero(row == r)
            samples = sample[mine]
            q, v, a = (part[samples] for part in motion.states)
            weights = np.where(side[mine] == 0, -1.0, 1.0) / self._room[r]
            J[mine] = motion.pull_back_rows(samples, self.torques.slopes(int(r), q, v, a, weights))
        return J

    def checks(self, trajectory: Trajectory, times: Array) -> list[Check]:
        """One for each limited joint."""
        values = self.torques.whole(*trajectory.states(times))
        return [
            Check.of_size(f"torque of {joint.name}", float(self.limits[k]), values[:, k], torque_unit(joint.kind))
            for k, joint in enumerate(self.torques.robot.independent_joints)
            if np.isfinite(self.limits[k])
        ]

    def tightened(self, factor: float) -> TorqueLimit:
        """With a part of all limits."""
        return replace(self, factor=self.factor * factor)


@dataclass(frozen=True, eq=False)
class RmsTorqueLimit(Limit):
    """Root mean square of torques over the motion, which is what warms motors.

    Attributes:
        torques: The prediction.
        limits: Largest root mean square of each coordinate [N m or N], shape (nv,); infinite where there is none.
        factor: Part of the limits that a design may use.
    """

    torques: PriorTorques
    limits: Array
    factor: float = 1.0

    @property
    def _room(self) -> Array:
        """The root mean square of a sum is at most the sum of both: friction is taken off as for peaks."""
        return np.maximum(self.factor * (self.limits - self.torques.friction), 1e-3 * self.limits)

    def slacks(self, motion: Motion) -> Array:
        """One for each coordinate, shape (nv,)."""
        return 1.0 - np.mean(self.torques.smooth(*motion.states) ** 2, axis=0) / self._room**2

    def slopes(self, motion: Motion, which: Array) -> Array:
        """One pass back through the dynamics for each coordinate."""
        tau = self.torques.smooth(*motion.states)
        rows = [
            motion.pull_back(self.torques.slopes(int(r), *motion.states, -2.0 * tau[:, r] / (len(tau) * self._room[r] ** 2)))
            for r in which
        ]
        return np.array(rows).reshape(len(which), len(motion.x))

    def checks(self, trajectory: Trajectory, times: Array) -> list[Check]:
        """One for each limited joint."""
        values = np.sqrt(np.mean(self.torques.whole(*trajectory.states(times)) ** 2, axis=0))
        return [
            Check.of_size(
                f"RMS torque of {joint.name}", float(self.limits[k]), values[k : k + 1], torque_unit(joint.kind)
            )
            for k, joint in enumerate(self.torques.robot.independent_joints)
            if np.isfinite(self.limits[k])
        ]

    def tightened(self, factor: float) -> RmsTorqueLimit:
        """With a part of all limits."""
        return replace(self, factor=self.factor * factor)


def torque_unit(kind: JointKind) -> str:
    """Unit of what a joint gives."""
    return "N" if kind is JointKind.PRISMATIC else "N m"
