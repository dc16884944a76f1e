"""False alarms on real logs: stretches left out of everything, one after the other.

Each log is cut into stretches. A robot is identified without one, thresholds are found from what was identified from
(`contact_thresholds` holds parts of it out once more), and contacts are looked for in the stretch that was left out. In
a second pass it gets contacts: torques of a force at the elbow are taken from the measured ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

import dynid
from dynid import Log, Result
from dynid.errors import InvalidRequestError
from dynid.identification.log_reading import read_any_length
from dynid.identification.pipeline import experiment_file
from dynid.identification.task import Task

RATES = (30.0, 10.0, 3.0, 1.0)
"""Stated rates of false alarms [1/min]."""

STRETCHES = 5
"""Stretches that all logs of an experiment are cut into."""

SHORTEST = 1.0
"""Parts beside a stretch that are shorter [s] are left out of the identification."""


@dataclass(frozen=True, eq=False)
class LeftOut:
    """A stretch that was left out.

    Attributes:
        result: What was identified without it.
        log: The stretch.
    """

    result: Result
    log: Log


@dataclass
class AlarmCount:
    """Alarms at a stated rate.

    Attributes:
        rate: The stated rate [1/min].
        alarms: How many there were.
        seconds: In which time [s].
        refused: Stretches for which there were no thresholds.
    """

    rate: float
    alarms: int = 0
    seconds: float = 0.0
    refused: int = 0

    @property
    def observed(self) -> float:
        """Alarms per minute."""
        return 60.0 * self.alarms / self.seconds if self.seconds else float("nan")


def left_out(experiment: Path, stretches: int = STRETCHES) -> Iterator[LeftOut]:
    """Each stretch of the logs of an experiment, with a result without it."""
    task = experiment_file(experiment, (), None, None).task
    logs = [read_any_length(each, task.model.robot, _quietly, task.drive, task.processing)[:] for each in task.logs]
    seconds = [float(log.time[-1] - log.time[0]) for log in logs]
    for k, log in enumerate(logs):
        count = max(1, round(stretches * seconds[k] / sum(seconds)))
        ends = np.searchsorted(log.time, log.time[0] + np.linspace(0.0, seconds[k] * (1.0 + 1e-9), count + 1))
        for first, last in pairwise(ends.tolist()):
            others = [each for m, each in enumerate(logs) if m != k]
            yield LeftOut(_identified(task, [*others, *_beside(log, first, last)]), log[first:last])


def _identified(task: Task, logs: Sequence[Log]) -> Result:
    return dynid.identify(task.model.robot, logs, task.model.terms, drive=task.drive)


def _beside(log: Log, first: int, last: int) -> Iterator[Log]:
    for part in (slice(0, first), slice(last, len(log))):
        time = log.time[part]
        if len(time) > 2 and time[-1] - time[0] > SHORTEST:
            yield log[part]


def alarms(parts: Sequence[LeftOut]) -> list[AlarmCount]:
    """Alarms in the stretches, at each stated rate."""
    found = [AlarmCount(rate) for rate in RATES]
    for part in parts:
        for one in found:
            try:
                limits = part.result.contact_thresholds(false_alarms_per_minute=one.rate)
            except InvalidRequestError:
                one.refused += 1
                continue
            seen = part.result.observe(part.log, thresholds=limits)
            one.alarms += len(seen.contacts)
            one.seconds += seen.seconds
    return found


def _quietly(_: str) -> None:
    pass
