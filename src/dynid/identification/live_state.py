"""How well a robot is determined at a moment of a stream, as plain data: what the live page shows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SCHEMA = "dynid-live-1"
"""What the state says of itself."""

MOST_POINTS = 240
"""Points of the course of the condition number: every second one is left out when there are more."""


@dataclass(frozen=True)
class RowState:
    """The residual of one row of the dynamics.

    Attributes:
        name: Its name.
        rmse: Root mean squared residual [N m or N].
        relative_error: The same over that of what was measured; None where nothing was.
    """

    name: str
    rmse: float
    relative_error: float | None


@dataclass(frozen=True)
class NextStep:
    """What to do next.

    Attributes:
        text: The movement.
        detail: Its joints, ranges and times.
        gain: What it promises.
        why: What is determined least.
        others: The next best movements with what they promise.
        note: What was not looked at.
    """

    text: str
    detail: str = ""
    gain: str = ""
    why: str = ""
    others: tuple[tuple[str, str], ...] = ()
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data."""
        return {**vars(self), "others": [{"text": text, "gain": gain} for text, gain in self.others]}


@dataclass(frozen=True)
class LiveState:
    """What a stream has determined so far.

    Attributes:
        samples: Number of samples that were used.
        seconds: Their time [s].
        rate: Their rate over the last seconds [Hz]; None where there were none.
        condition_number: Of the observation matrix; None where it has not full rank.
        rank: How many combinations of the base parameters are determined.
        parameters: Number of base parameters.
        segments: How well each link is determined, from 0 to 1, by name; None for links without identifiable
            parameters.
        rows: Residuals.
        course: Times [s] and condition numbers.
        next_step: What to do next.
        counts: What arrived: see `logs.streams.inbox.Counts`.
    """

    samples: int
    seconds: float
    rate: float | None
    condition_number: float | None
    rank: int
    parameters: int
    segments: Mapping[str, float | None]
    rows: Sequence[RowState]
    course: Sequence[tuple[float, float | None]]
    next_step: NextStep
    counts: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data for JSON."""
        return {
            "schema": SCHEMA,
            **vars(self),
            "segments": dict(self.segments),
            "rows": [vars(row) for row in self.rows],
            "course": [list(point) for point in self.course],
            "next_step": self.next_step.to_dict(),
        }


class Course:
    """Times and condition numbers, of which there are never many."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float | None]] = []
        self._step = 0.0

    def add(self, time: float, condition: float) -> None:
        """Add a point, where some time passed since the last."""
        value = float(f"{condition:.4g}") if math.isfinite(condition) else None
        if self.points and time - self.points[-1][0] < self._step:
            return
        self.points.append((round(time, 3), value))
        if len(self.points) > MOST_POINTS:
            self.points = self.points[::2]
            self._step = 2.0 * max(self._step, (self.points[-1][0] - self.points[0][0]) / MOST_POINTS)
