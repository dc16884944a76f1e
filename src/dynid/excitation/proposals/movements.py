"""Movements that are easily said and done: some joints swing, others are held, or the whole body turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dynid.arrays import Array
from dynid.robot import Robot

_STEP = 1e-3
"""Step [s] of central differences: rounding then makes errors of 1e-9 rad/s^2."""


@dataclass(frozen=True)
class Swing:
    """A joint that goes to and fro.

    Attributes:
        axis: Index of the joint among `robot.axes`.
        low: Where it turns back [rad or m].
        high: Where it turns back at the other end.
        period: Time [s] to and fro.
    """

    axis: int
    low: float
    high: float
    period: float

    def positions(self, times: Array) -> Array:
        """Positions at times [s], both of shape (samples,)."""
        middle, half = 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)
        return middle - half * np.cos(2.0 * np.pi * times / self.period)


@dataclass(frozen=True, eq=False)
class Turn:
    """A floating base that turns to and fro about a line in the world, with all that it carries.

    Attributes:
        direction: Unit vector along the line, shape (3,).
        point: A point on it [m], shape (3,).
        half: Largest angle [rad].
        period: Time [s] to and fro.
    """

    direction: Array
    point: Array
    half: float
    period: float


@dataclass(frozen=True, eq=False)
class Movement:
    """Something to do for a while.

    Attributes:
        text: What to do, as a sentence without a full stop.
        detail: Joints, ranges and times of it.
        swings: Joints that move.
        held: Positions [rad or m] that other joints take first, by index among `robot.axes`.
        turn: How the base turns; None where it stays.
        is_still: Whether the ends and the middle of the swings are held instead, at rest.
    """

    text: str
    detail: str
    swings: tuple[Swing, ...] = ()
    held: Mapping[int, float] = field(default_factory=dict)
    turn: Turn | None = None
    is_still: bool = False

    @property
    def joints(self) -> tuple[int, ...]:
        """Indices among `robot.axes` of all joints that leave where they are."""
        return tuple(dict.fromkeys([*(swing.axis for swing in self.swings), *self.held]))

    def positions(self, robot: Robot, posture: Array, times: Array) -> Array:
        """Positions of the robot at times [s], shape (samples, nq), where the rest stays in a posture (nq,)."""
        q = np.repeat(posture[None, :], len(times), axis=0)
        for axis, position in self.held.items():
            q[:, robot.axes[axis].q.start] = position
        for swing in self.swings:
            q[:, robot.axes[swing.axis].q.start] = swing.positions(times)
        if self.turn is not None:
            q[:, :7] = _turned(robot, self.turn, posture, times)
        return q

    def states(self, robot: Robot, posture: Array, seconds: float, count: int) -> tuple[Array, Array, Array]:
        """So many states along it, evenly in time, shapes (count, nq), (count, nv) and (count, nv)."""
        if self.is_still:
            thirds = np.array([0.0, 0.25, 0.5])[np.arange(count) % 3]
            q = np.concatenate([self._at_part(robot, posture, part) for part in thirds])
            return q, np.zeros((count, robot.nv)), np.zeros((count, robot.nv))
        times = (np.arange(count) + 0.5) * seconds / count
        before, q, after = (self.positions(robot, posture, times + step) for step in (-_STEP, 0.0, _STEP))
        rate, second = (after - before) / (2.0 * _STEP), (after - 2.0 * q + before) / _STEP**2
        return robot.motion_of(q, rate, second)

    def _at_part(self, robot: Robot, posture: Array, part: float) -> Array:
        """Positions where all swings are at a part of their periods, shape (1, nq)."""
        q = self.positions(robot, posture, np.zeros(1))
        for swing in self.swings:
            q[:, robot.axes[swing.axis].q.start] = swing.positions(np.array([part * swing.period]))
        return q

    @property
    def period(self) -> float:
        """The longest period of what moves [s]."""
        return max([swing.period for swing in self.swings] + ([] if self.turn is None else [self.turn.period]))


def _turned(robot: Robot, turn: Turn, posture: Array, times: Array) -> Array:
    """Positions of a floating base that turns, shape (samples, 7)."""
    from scipy.spatial.transform import Rotation

    placement = robot.joints[0].placement
    P, origin = Rotation.from_matrix(placement[:3, :3]), placement[:3, 3]
    angles = turn.half * np.sin(2.0 * np.pi * times / turn.period)
    turned = Rotation.from_rotvec(angles[:, None] * turn.direction)
    at = P.apply(posture[:3]) + origin
    moved = turned.apply(at - turn.point) + turn.point
    orientation = P.inv() * turned * P * Rotation.from_quat(posture[3:7])
    quaternions = orientation.as_quat()
    quaternions *= np.where(quaternions @ posture[3:7] < 0.0, -1.0, 1.0)[:, None]
    return np.hstack([P.inv().apply(moved - origin), quaternions])
