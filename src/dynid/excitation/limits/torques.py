"""Torques that a motion needs, as the robot's file predicts them: peaks and root mean squares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from dynid.arrays import Array, Indices, frozen
from dynid.errors import InvalidRequestError
from dynid.excitation.limits.limit import Check, Limit, both_sides
from dynid.excitation.motion import Motion
from dynid.excitation.trajectories.moves import MovesSmoothly
from dynid.model import BaseParameters, DynamicModel, Role, RowLayout, Slopes, find_base_parameters, layout_slopes
from dynid.robot import JointKind, Robot

_AT_A_TIME = 2000
"""Samples whose regressor is in memory at a time."""


@dataclass(frozen=True, eq=False)
class PriorTorques:
    """Torques of the robot file's links, motors and friction.

    Attributes:
        robot: The robot.
        stated: Armature, viscous and Coulomb friction that are known otherwise, by role, shape (nv,); NaN where the
            file's values hold.
    """

    robot: Robot
    stated: Mapping[Role, Array] = field(default_factory=dict)

    @cached_property
    def _base(self) -> BaseParameters:
        return find_base_parameters(DynamicModel(self.robot))

    @cached_property
    def _values(self) -> Array:
        """The links' base parameters: as many torques with fewer columns."""
        return frozen(self._base.to_base(self.robot.parameters))

    @cached_property
    def _damping(self) -> Array:
        return self._of_joints(Role.VISCOUS, [joint.dynamics.damping for joint in self.robot.independent_joints])

    @cached_property
    def _armature(self) -> Array:
        return self._of_joints(Role.ARMATURE, [joint.dynamics.armature for joint in self.robot.independent_joints])

    @cached_property
    def friction(self) -> Array:
        """Coulomb friction of each coordinate [N m or N], shape (nv,)."""
        return self._of_joints(Role.COULOMB, [joint.dynamics.friction for joint in self.robot.independent_joints])

    def _of_joints(self, role: Role, of_file: Sequence[float | None]) -> Array:
        values = np.array([value or 0.0 for value in of_file])
        stated = self.stated.get(role, np.full(len(values), np.nan))
        return frozen(np.where(np.isfinite(stated), stated, values))

    @cached_property
    def _all_rows(self) -> RowLayout:
        return RowLayout.of(self.robot, (), [self._base.columns] * self.robot.nv)

    @cached_property
    def _rows(self) -> tuple[RowLayout, ...]:
        """A layout for each row that has this row only."""
        nv = self.robot.nv
        return tuple(
            RowLayout.of(self.robot, (), [self._base.columns if k == row else () for k in range(nv)])
            for row in range(nv)
        )

    def smooth(self, q: Array, v: Array, a: Array) -> Array:
        """Torques without Coulomb friction, shape (samples, nv)."""
        links = np.stack([rows @ self._values for rows in self._all_rows.evaluate(q, v, a)], axis=1)
        return links + self._damping * v + self._armature * a

    def static(self, q: Array) -> Array:
        """Torques of standing still, shape (samples, nv)."""
        return self.smooth(q, np.zeros_like(q), np.zeros_like(q))

    def moving_and_still(self, motion: Motion) -> tuple[Array, Array]:
        """Torques without Coulomb friction of a motion, and of standing still at its samples, shape (samples, nv)."""
        return self.smooth(*motion.states), self.static(motion.states[0])

    def whole(self, q: Array, v: Array, a: Array) -> Array:
        """Torques with Coulomb friction, shape (samples, nv); for any number of samples."""
        pieces = [slice(begin, begin + _AT_A_TIME) for begin in range(0, len(q), _AT_A_TIME)]
        smooth = np.concatenate([self.smooth(q[part], v[part], a[part]) for part in pieces])
        return smooth + self.friction * np.sign(v)

    def slopes(self, row: int, q: Array, v: Array, a: Array, weights: Array) -> Slopes:
        """Slopes of one row's smooth torques, times weights (samples,), over q, v and a, shape (samples, nv)."""
        G = [np.zeros((len(q), 0))] * self.robot.nv
        G[row] = weights[:, None] * self._values
        over_q, over_v, over_a = layout_slopes(self._rows[row], q, v, a, G)
        over_v[:, row] += weights * self._damping[row]
        over_a[:, row] += weights * self._armature[row]
        return over_q, over_v, over_a

    def static_slopes(self, row: int, q: Array, weights: Array) -> Slopes:
        """As `slopes`, of the torques of standing still, which depend on q only."""
        none = np.zeros_like(q)
        return self.slopes(row, q, none, none, weights)[0], none, none


@dataclass(frozen=True, eq=False)
class TorqueLimit(Limit):
    """Peak torques. Coulomb friction, which jumps, is taken off the limits of a design: it may add at any time.

    A design keeps the torques of standing still in each posture, too: run more slowly, a motion needs torques between
    these and its own, but for damping.

    Attributes:
        torques: The prediction.
        limits: Largest torque of each coordinate [N m or N], shape (nv,); infinite where there is none.
    """

    torques: PriorTorques
    limits: Array
    grows_when_slow: ClassVar[bool] = True

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
        """Moving and standing still, below and above, for each sample and coordinate, shape (4 * samples * nv,)."""
        torques = self.torques.moving_and_still(motion)
        return np.concatenate([both_sides(tau / self._room).ravel() for tau in torques])

    def of_postures(self, q: Array) -> Array:
        """That of the joint with the least torque to spare."""
        pieces = [q[begin : begin + _AT_A_TIME] for begin in range(0, len(q), _AT_A_TIME)]
        torques = np.concatenate([np.zeros((0, q.shape[1])), *map(self.torques.static, pieces)])
        return (1.0 - np.abs(torques) / self._room).min(axis=1, initial=1.0)

    def slopes(self, motion: Motion, which: Indices) -> Array:
        """One pass back through the dynamics for each coordinate that is near its limit."""
        nv = self.torques.robot.nv
        still, side, sample, row = np.unravel_index(which, (2, 2, len(motion.grid.times), nv))
        J = np.zeros((len(which), len(motion.x)))
        for s, r in sorted(set(zip(still.tolist(), row.tolist(), strict=True))):
            mine = np.flatnonzero((still == s) & (row == r))
            samples = sample[mine]
            q, v, a = (part[samples] for part in motion.states)
            weights = np.where(side[mine] == 0, -1.0, 1.0) / self._room[r]
            slopes = self.torques.static_slopes(r, q, weights) if s else self.torques.slopes(r, q, v, a, weights)
            J[mine] = motion.pull_back_rows(samples, slopes)
        return J

    def checks(self, trajectory: MovesSmoothly, times: Array) -> list[Check]:
        """One for each limited joint."""
        return _checks("torque", self.torques.robot, self.limits, self.torques.whole(*trajectory.states(times)))


@dataclass(frozen=True, eq=False)
class RmsTorqueLimit(Limit):
    """Root mean square of torques over the motion, which is what warms motors.

    Attributes:
        torques: The prediction.
        limits: Largest root mean square of each coordinate [N m or N], shape (nv,); infinite where there is none.
    """

    torques: PriorTorques
    limits: Array
    grows_when_slow: ClassVar[bool] = True
    is_mean: ClassVar[bool] = True

    @property
    def _room(self) -> Array:
        """The root mean square of a sum is at most the sum of both: friction is taken off as for peaks."""
        return np.maximum(self.factor * (self.limits - self.torques.friction), 1e-3 * self.limits)

    def slacks(self, motion: Motion) -> Array:
        """Moving and standing still, one for each coordinate, shape (2 * nv,)."""
        torques = self.torques.moving_and_still(motion)
        return np.concatenate([1.0 - np.mean(tau**2, axis=0) / self._room**2 for tau in torques])

    def slopes(self, motion: Motion, which: Indices) -> Array:
        """One pass back through the dynamics for each coordinate."""
        q, v, a = motion.states
        torques = self.torques.moving_and_still(motion)
        rows = []
        for still, r in zip(*np.divmod(which, self.torques.robot.nv), strict=True):
            weights = -2.0 * torques[still][:, r] / (len(q) * self._room[r] ** 2)
            slopes = self.torques.static_slopes(int(r), q, weights) if still else None
            rows.append(motion.pull_back(slopes or self.torques.slopes(int(r), q, v, a, weights)))
        return np.array(rows).reshape(len(which), len(motion.x))

    def checks(self, trajectory: MovesSmoothly, times: Array) -> list[Check]:
        """One for each limited joint."""
        values = np.sqrt(np.mean(self.torques.whole(*trajectory.states(times)) ** 2, axis=0, keepdims=True))
        return _checks("RMS torque", self.torques.robot, self.limits, values)


def _checks(what: str, robot: Robot, limits: Array, values: Array) -> list[Check]:
    """One check for each limited joint, of values of shape (samples, nv)."""
    return [
        Check.of_size(f"{what} of {joint.name}", float(limits[k]), values[:, k], torque_unit(joint.kind))
        for k, joint in enumerate(robot.independent_joints)
        if np.isfinite(limits[k])
    ]


def torque_unit(kind: JointKind) -> str:
    """Unit of what a joint gives."""
    return "N" if kind is JointKind.PRISMATIC else "N m"
