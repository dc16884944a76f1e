"""How well a robot is determined at a moment of a stream, as plain data: what the live page shows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dynid.estimation.streams.alarms import Alarm

SCHEMA = "dynid-live-2"
"""What the state says of itself."""

MOST_POINTS = 240
"""Points of a course: two become one when there are more."""

MOST_SHOWN = 20
"""Alarms that are shown, the newest."""


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
class ChangeState:
    """Whether something has changed: see `dynid.Stream.alarms`.

    Attributes:
        learned: How far what is normal was learned, from 0 to 1; alarms are raised at 1. None where nothing is watched.
        level: The largest evidence of a change now, in parts of what raises an alarm; None before it was learned.
        place: The link or joint that it speaks of.
        alarms: The newest alarms.
        course: Times [s] and the largest evidence since the time before.
    """

    learned: float | None = None
    level: float | None = None
    place: str = ""
    alarms: Sequence[Alarm] = ()
    course: Sequence[tuple[float, float | None]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data for JSON."""
        alarms = [alarm.to_dict() for alarm in self.alarms]
        return {**vars(self), "alarms": alarms, "course": [list(point) for point in self.course]}


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
        changes: Whether something has changed.
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
    changes: ChangeState = field(default_factory=ChangeState)
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
            "changes": self.changes.to_dict(),
        }


class Course:
    """Times and values, of which there are never many.

    Args:
        keeps_peaks: Whether of two points that become one the larger value stays, and not the first.
    """

    def __init__(self, *, keeps_peaks: bool = False) -> None:
        self.points: list[tuple[float, float | None]] = []
        self._keeps_peaks = keeps_peaks
        self._step = 0.0

    def add(self, time: float, value: float) -> None:
        """Add a point, where some time passed since the last; infinite and missing values are None."""
        found = float(f"{value:.4g}") if math.isfinite(value) else None
        if self.points and (time - self.points[-1][0] < self._step or round(time, 3) <= self.points[-1][0]):
            if self._keeps_peaks:
                self.points[-1] = self._peak(self.points[-1], (time, found))
            return
        self.points.append((round(time, 3), found))
        if len(self.points) > MOST_POINTS:
            pairs = [self.points[k : k + 2] for k in range(0, len(self.points), 2)]
            self.points = [self._peak(*pair) if self._keeps_peaks and len(pair) == 2 else pair[0] for pair in pairs]
            self._step = 2.0 * max(self._step, (self.points[-1][0] - self.points[0][0]) / MOST_POINTS)

    @staticmethod
    def _peak(one: tuple[float, float | None], other: tuple[float, float | None]) -> tuple[float, float | None]:
        """The time of the first point, and the larger of both values."""
        values = [value for _, value in (one, other) if value is not None]
        return one[0], max(values, default=None)
