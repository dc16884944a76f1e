"""Motions within the speed and torque curve of servos: the duty cycle that a motion needs, and the commands behind it.

A servo under the supply voltage gives torques between -L - e v and L - e v, with L = max_duty kt V / R and back-EMF
e = kt^2 / R. Where it drives (torque and velocity of one sign) that falls with the speed, to nothing at the no-load
speed; where it is driven back, it gives more. So a motion is within this curve exactly when |torque + e v| <= L, which
is the duty cycle that it needs, in parts of the stall torque.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dynid.arrays import Array, Indices, frozen
from dynid.excitation.limits.limit import Check, Limit
from dynid.excitation.limits.servo_drive import ServoDrive
from dynid.excitation.motion import Motion
from dynid.excitation.trajectories.moves import MovesSmoothly
from dynid.robot import JointKind, Limits

_SIDES = np.array([-1.0, 1.0])

_AT_A_TIME = 2000
"""Samples that are looked at together."""


@dataclass(frozen=True, eq=False)
class _OfServos(Limit):
    """What both limits have in common: signed values of each joint, and a size that is added on both sides.

    Slacks are ordered by moving and standing still, side, sample and joint: shape (4 * samples * nv,).
    """

    drive: ServoDrive
    grows_when_slow: ClassVar[bool] = True

    def slacks(self, motion: Motion) -> Array:
        """1 less what is used of the room, below and above, moving and standing still."""
        return np.concatenate([self._used(*states) for states in _moving_and_still(motion)])

    def of_postures(self, q: Array) -> Array:
        """That of the joint with the least to spare."""
        none = np.zeros_like(q)
        slacks = self._used(q, none, none).reshape(2, len(q), -1)
        return np.min(slacks, axis=(0, 2), initial=1.0)

    def slopes(self, motion: Motion, which: Indices) -> Array:
        """One pass back through the dynamics for each coordinate that is near its limit."""
        nv = self.drive.robot.nv
        still, side, sample, row = np.unravel_index(which, (2, 2, len(motion.grid.times), nv))
        J = np.zeros((len(which), len(motion.x)))
        for s, r in sorted(set(zip(still.tolist(), row.tolist(), strict=True))):
            mine = np.flatnonzero((still == s) & (row == r))
            q, v, a = (part[sample[mine]] for part in _moving_and_still(motion)[s])
            over_q, over_v, over_a = self._slopes(int(r), _SIDES[side[mine]], q, v, a)
            none = np.zeros_like(over_v)
            J[mine] = motion.pull_back_rows(sample[mine], (over_q, none, none) if s else (over_q, over_v, over_a))
        return J

    def _used(self, q: Array, v: Array, a: Array) -> Array:
        raise NotImplementedError

    def _slopes(self, row: int, side: Array, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class DutyLimit(_OfServos):
    """Duty cycles of servos. What gears take and the ripple of held commands add to them, whatever the direction."""

    def _used(self, q: Array, v: Array, a: Array) -> Array:
        signed, added = self._torques(q, v, a)
        room = self.factor * self.drive.law["effort_limit"]
        return np.concatenate([(1.0 - (side * signed + added) / room).ravel() for side in _SIDES])

    def _torques(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Torques before back-EMF [N m or N], and what is added to them, each of shape (samples, nv)."""
        r, loss, _ = self.drive.needed(q, v, a)
        return r + self.drive.law["back_emf"] * v, loss + self.drive.ripple(v)

    def _slopes(self, row: int, side: Array, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
        room = self.factor * self.drive.law["effort_limit"][row]
        over = -side / room, np.full(len(q), -1.0 / room)
        over_q, over_v, over_a = self.drive.slopes(row, (q, v, a), over)
        over_v[:, row] -= self.drive.ripple_slope(v)[:, row] / room
        return over_q, over_v, over_a

    def checks(self, trajectory: MovesSmoothly, times: Array) -> list[Check]:
        """The duty cycle of each joint, all that is added counted."""
        drive = self.drive
        used = [np.zeros((0, drive.robot.nv))]
        for begin in range(0, len(times), _AT_A_TIME):
            signed, added = self._torques(*trajectory.states(times[begin : begin + _AT_A_TIME]))
            used.append(drive.max_duty * (np.abs(signed) + added) / drive.law["effort_limit"])
        duty = np.concatenate(used)
        return [
            Check.of_size(f"duty cycle of {joint.name}", float(drive.max_duty[k]), duty[:, k], "1")
            for k, joint in enumerate(drive.robot.independent_joints)
        ]


@dataclass(frozen=True, eq=False)
class CommandLimit(_OfServos):
    """Commands of servos: positions and the error of the loop that their torques need, within the limits of positions.

    Attributes:
        middle: Middle of each joint's range [rad or m], shape (nv,).
        half: Half of it, shape (nv,); infinite where there is no limit.
    """

    middle: Array
    half: Array

    @staticmethod
    def of(drive: ServoDrive, limits: Sequence[Limits]) -> CommandLimit:
        """Commands within the limits of positions."""
        ends = [limit.interval(math.inf) for limit in limits]
        is_open = np.array([not all(map(math.isfinite, end)) for end in ends])
        lower, upper = np.where(is_open[:, None], [[-1.0, 1.0]], np.array(ends)).T
        half = np.where(is_open, np.inf, 0.5 * (upper - lower))
        return CommandLimit(drive, frozen(0.5 * (lower + upper)), frozen(half))

    def _used(self, q: Array, v: Array, a: Array) -> Array:
        signed, added = self._commands(q, v, a)
        room = self.factor * self.half
        return np.concatenate([(1.0 - (side * signed + added) / room).ravel() for side in _SIDES])

    def _commands(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Commands from the middle without friction, and by how much friction may move them, each (samples, nv)."""
        r, loss, _ = self.drive.needed(q, v, a)
        law = self.drive.law
        return q - self.middle + (r + (law["back_emf"] + law["kd"]) * v) / law["kp"], loss / law["kp"]

    def _slopes(self, row: int, side: Array, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
        room, law = self.factor * self.half[row], self.drive.law
        over = -side / (room * law["kp"][row]), np.full(len(q), -1.0 / (room * law["kp"][row]))
        over_q, over_v, over_a = self.drive.slopes(row, (q, v, a), over)
        over_q = over_q.copy()
        over_q[:, row] -= side / room
        over_v[:, row] += over[0] * law["kd"][row]
        return over_q, over_v, over_a

    def checks(self, trajectory: MovesSmoothly, times: Array) -> list[Check]:
        """The range of each joint's commands, as they are sent."""
        pieces = [times[begin : begin + _AT_A_TIME] for begin in range(0, len(times), _AT_A_TIME)]
        sent = np.concatenate([self.drive.commands(*trajectory.states(part)) for part in pieces])
        return [
            Check(
                f"command of {joint.name}",
                (float(self.middle[k] - self.half[k]), float(self.middle[k] + self.half[k])),
                (float(sent[:, k].min()), float(sent[:, k].max())),
                "m" if joint.kind is JointKind.PRISMATIC else "rad",
                symmetric=False,
            )
            for k, joint in enumerate(self.drive.robot.independent_joints)
            if math.isfinite(self.half[k])
        ]


def _moving_and_still(motion: Motion) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
    """The states of a motion, and of standing still at its samples."""
    q, v, a = motion.states
    none = np.zeros_like(q)
    return (q, v, a), (q, none, none)
