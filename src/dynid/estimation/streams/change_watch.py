"""When a stream begins to watch for changes, and the alarms that came of it."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from dynid.arrays import Array
from dynid.estimation.streams.alarms import Alarm
from dynid.estimation.streams.change_detection import ChangeDetector
from dynid.estimation.streams.change_thresholds import ChangeThresholds
from dynid.estimation.streams.hypotheses import Cause
from dynid.estimation.streams.seen_states import SeenStates
from dynid.estimation.streams.stream_estimate import StreamEstimator
from dynid.estimation.streams.stream_rows import StreamRows
from dynid.model import Chunk

MOST_ALARMS = 1000
"""Alarms that are kept, the newest: a stream may last for months."""


class ChangeWatch:
    """Watches a stream, as soon as its parameters are determined and there was time to learn what is normal.

    Args:
        rows: Where the rows of samples stand.
        estimator: What determines the parameters that should hold.
        thresholds: When a change raises an alarm; nothing is watched when None.

    Attributes:
        detector: What watches; None before it does.
    """

    def __init__(self, rows: StreamRows, estimator: StreamEstimator, thresholds: ChangeThresholds | None) -> None:
        self._rows, self._estimator, self._thresholds = rows, estimator, thresholds
        self._seen = SeenStates(estimator.base.model.robot)
        self.detector: ChangeDetector | None = None
        if thresholds is not None:  # compile now, not while samples come in
            model = estimator.base.model
            self._detection(thresholds, np.zeros(len(model.names)), np.ones(len(rows.starts)))
        self.reset()

    def reset(self, *, is_known: bool = False) -> None:
        """Forget all alarms, and what was learned.

        Args:
            is_known: Whether the parameters of now may be those that should hold, as of an earlier identification.
        """
        learning = math.inf if self._thresholds is None else self._thresholds.learning
        self._is_known = is_known and self._thresholds is not None
        self._begins_at = -math.inf if self._is_known else learning
        self._seen.clear()
        self._kept: deque[Alarm] = deque(maxlen=MOST_ALARMS)
        self.detector = None

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """The newest alarms, the oldest of them first."""
        return tuple(self._kept)

    @property
    def is_watching(self) -> bool:
        """Whether all changes can raise alarms."""
        return self.detector is not None and self.detector.is_watching

    @property
    def learned(self) -> float | None:
        """Which part of what has to be learned was, from 0 to 1, of the joint that moved least; None without alarms."""
        if self._thresholds is None:
            return None
        if self.detector is None:
            return 0.0
        least = min(self.detector.learned.values(), default=math.inf)
        return min(least / self._thresholds.learning, 1.0)

    @property
    def levels(self) -> dict[str, float]:
        """What each change would explain now, in parts of what raises an alarm, by link or joint."""
        return {} if self.detector is None else self.detector.levels

    def begin(self, seconds: float, lasting: Array) -> None:
        """Begin to watch, where it is time [s] and the parameters of now are determined well enough.

        Args:
            seconds: How long the stream lasts [s].
            lasting: For how many samples the errors of each row last, shape (rows,).
        """
        thresholds = self._thresholds
        if thresholds is None or self.detector is not None or not seconds >= self._begins_at:
            return
        self._begins_at = seconds + thresholds.learning / 4.0
        x, weights, stacked = self._estimator.solve()
        if not self._estimator.is_determined(stacked):
            return
        if not self._is_known:
            spread = self._estimator.spread_of_torques(*self._seen.combined(), lasting)
            if not (len(spread) and spread.max() <= thresholds.uncertain * seconds / thresholds.learning):
                return
        self.detector = self._detection(thresholds, self._estimator.base.to_standard(x), weights)

    def go_on_from(self, predictors: Array) -> None:
        """Take better values of the columns as those that should hold, while nothing was noticed."""
        if (
            self.detector is not None
            and not self._is_known
            and all(alarm.cause is Cause.NOTHING for alarm in self._kept)
        ):
            self.detector.go_on_from(predictors)

    def watch(self, rows: Array, steps: Array, seconds: Array, chunk: Chunk) -> list[Alarm]:
        """Alarms of samples with states; other arguments as `ChangeDetector.watch`."""
        if self.detector is None:
            if self._thresholds is not None and not self._is_known:
                self._seen.add(seconds, chunk.q, chunk.v)
            return []
        found = []
        for _, alarm in self.detector.watch(rows, steps, seconds, chunk.v):
            if self._kept and not self._kept[-1].is_settled:
                self._kept.pop()
            self._kept.append(alarm)
            found.append(alarm)
        return found

    def _detection(self, thresholds: ChangeThresholds, values: Array, weights: Array) -> ChangeDetector:
        """What watches for changes of standard parameters, with weights of the rows."""
        predictors = self._rows.predictors(values)
        return ChangeDetector(self._estimator.base.model, self._rows, predictors, weights, values, thresholds)
