"""States that a stream has seen, and how they may combine: where its parameters will be asked to predict."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.robot import Robot

STEP = 0.5
"""Time [s] between states that are kept, at first."""

MOST_STATES = 256
"""States that are kept: every other one is dropped when there are more."""

COMBINED = 128
"""Combinations that are looked at."""


class SeenStates:
    """States of a stream at even times.

    Args:
        robot: The robot.
    """

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self.clear()

    def clear(self) -> None:
        """Forget all states."""
        self._kept: list[tuple[Array, Array]] = []
        self._step, self._due = STEP, -np.inf

    def add(self, seconds: Array, q: Array, v: Array) -> None:
        """Keep some of a block.

        Args:
            seconds: Time of each [s], ascending, shape (samples,).
            q: Positions, shape (samples, nq).
            v: Velocities, shape (samples, nv).
        """
        while len(seconds) and seconds[-1] >= self._due:
            k = int(np.searchsorted(seconds, self._due))
            self._kept.append((q[k].copy(), v[k].copy()))
            if len(self._kept) > MOST_STATES:
                self._kept = self._kept[::2]
                self._step *= 2.0
            self._due = float(seconds[k]) + self._step

    def combined(self) -> tuple[Array, Array]:
        """Positions, shape (`COMBINED`, nq), and velocities, of each joint those of another moment; none of none."""
        robot, rng = self._robot, np.random.default_rng(0)
        q, v = np.zeros((COMBINED, robot.nq)), np.zeros((COMBINED, robot.nv))
        if not self._kept:
            return q[:0], v[:0]
        seen = [np.array(part) for part in zip(*self._kept, strict=True)]
        for joint in robot.independent_joints:
            moments = rng.integers(len(self._kept), size=COMBINED)
            q[:, joint.q], v[:, joint.v] = seen[0][moments][:, joint.q], seen[1][moments][:, joint.v]
        return q, v
