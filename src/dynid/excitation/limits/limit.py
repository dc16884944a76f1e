"""What all limits have in common: slacks that must stay positive, and their slopes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from dynid.arrays import Array, Indices
from dynid.excitation.motion import Motion, Postures
from dynid.excitation.trajectories.moves import MovesSmoothly

Range = tuple[float, float]
"""Smallest and largest value."""


@dataclass(frozen=True)
class Check:
    """A limit and what a trajectory reaches.

    Attributes:
        name: What is limited, such as "velocity of elbow_joint".
        limit: Smallest and largest value allowed; infinite where there is no limit.
        reached: Smallest and largest value reached.
        unit: Unit of both.
        symmetric: Whether only the size counts, as of a velocity.
        time: When the value nearest to the limit is reached [s], where that is known.
        room: Distance from the limit that counts as far, of a range that is open at one end.
    """

    name: str
    limit: Range
    reached: Range
    unit: str
    symmetric: bool = True
    time: float | None = None
    room: float = 1.0

    @staticmethod
    def of_size(name: str, limit: float, values: Array, unit: str) -> Check:
        """A limit on the size of values."""
        return Check(name, (-limit, limit), (float(values.min()), float(values.max())), unit)

    @property
    def used(self) -> float:
        """Which part of the room between the limits' middle and their ends is used; above 1 a limit is broken.

        Of a range that is open at one end, `room` counts as far from it.
        """
        half = (self.limit[1] - self.limit[0]) / 2
        beyond = max(self.limit[0] - self.reached[0], self.reached[1] - self.limit[1])
        return max(0.0, 1.0 + beyond / (half if math.isfinite(half) else self.room))

    @property
    def is_kept(self) -> bool:
        """Whether the limit is kept, but for rounding."""
        return self.used <= 1.0 + 1e-9

    def in_words(self) -> str:
        """What is reached, and what is allowed."""
        if self.time is not None and math.isinf(self.limit[1]):
            return (
                f"the {self.name} is {self.reached[0]:.3g} {self.unit} at {self.time:.3g} s, and {self.limit[0]:g} "
                f"{self.unit} is needed"
            )
        reached, allowed = (f"{low:.4g} to {high:.4g}" for low, high in (self.reached, self.limit))
        return f"the {self.name} reaches {reached} {self.unit}, and {allowed} is allowed"

    def to_dict(self) -> dict[str, object]:
        """Give the check as plain data for JSON: sizes as one number, ranges as two; None for an open end."""
        limit, reached = (
            (self.limit[1], max(map(abs, self.reached)))
            if self.symmetric
            else tuple([end if math.isfinite(end) else None for end in ends] for ends in (self.limit, self.reached))
        )
        data = {"name": self.name, "limit": limit, "reached": reached, "unit": self.unit}
        data |= {} if self.time is None else {"time": self.time}
        return {**data, "used": self.used, "kept": self.is_kept}


@dataclass(frozen=True, eq=False)
class Limit(ABC):
    """Something that a motion may not exceed, as slacks: 1 in the middle, 0 at the limit, negative beyond.

    Attributes:
        factor: Part of the room that a design may use.
        knows_curvature: Whether `curvature` is to be asked; the solver learns it otherwise.
        is_mean: Whether it limits a mean over time, to which rests belong.
        grows_when_slow: Whether a motion that keeps it may break it when run more slowly, as where gravity pulls.
    """

    factor: float = field(default=1.0, kw_only=True)
    knows_curvature: ClassVar[bool] = False
    grows_when_slow: ClassVar[bool] = False
    is_mean: ClassVar[bool] = False

    @abstractmethod
    def slacks(self, motion: Motion) -> Array:
        """All slacks, shape (m,)."""

    @abstractmethod
    def slopes(self, motion: Motion, which: Indices) -> Array:
        """Slopes of some slacks over the free coefficients.

        Args:
            motion: The motion.
            which: Indices of the slacks, shape (rows,).

        Returns:
            Array of shape (rows, free).
        """

    def of_postures(self, q: Array) -> Array:
        """The smallest slack of each posture in which a robot stands still; (postures, joints) to (postures,).

        Slacks of motions have an order of their own. Where one of many postures breaks the limit, both halves are
        looked at; limits that know better do better.
        """
        smallest = float(self.slacks(Postures(q)).min(initial=1.0))
        if smallest > 0.0 or len(q) < 2:
            return np.full(len(q), smallest)
        middle = len(q) // 2
        return np.concatenate([self.of_postures(q[:middle]), self.of_postures(q[middle:])])

    def curvature(self, motion: Motion, which: Indices, weights: Array) -> Array:
        """Minus the second derivatives of some slacks, summed with weights, shape (free, free).

        For limits whose slacks bend sharply, and downwards only: they set `knows_curvature`.
        """
        return np.zeros((len(motion.x), len(motion.x)))

    @abstractmethod
    def checks(self, trajectory: MovesSmoothly, times: Array) -> list[Check]:
        """What a trajectory reaches at times [s], against the limits."""

    def tightened(self, factor: float) -> Self:
        """The same limit with only a part of the room between its middle and its ends, for design."""
        return replace(self, factor=self.factor * factor)


def both_sides(values: Array) -> Array:
    """Slacks below and above of values that must lie between -1 and 1; (...) to (2, ...)."""
    return np.stack([1.0 - values, 1.0 + values])
