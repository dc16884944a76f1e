"""What is drawn of rollouts: the logs that are simulated worst, with fewer points and without losing an extreme."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dynid.arrays import Array
from dynid.identification import LogRollout
from dynid.report.drawn_lines import Line, broken_line, joined

ROLLOUT_BUCKETS = 1000
"""Buckets of a drawn line over all logs that are drawn: two points each."""

ROLLOUTS = 2
"""Logs whose rollouts are drawn: those with the largest errors."""


@dataclass(frozen=True, eq=False)
class RolloutTrace:
    """Positions of one joint over time [rad or m], and errors of rollouts [mrad or mm].

    Attributes:
        measured: As measured.
        identified: As simulated with the identified parameters.
        robot_file: As simulated with the robot file's own values; empty where that flies off.
        command: As commanded.
        error: Simulated with the identified parameters, less measured.
        file_error: The same with the robot file's own values.
    """

    measured: Line
    identified: Line
    robot_file: Line
    command: Line
    error: Line
    file_error: Line


@dataclass(frozen=True)
class RolledLog:
    """How near the rollout of a log is.

    Attributes:
        name: Its name.
        rmse: Root mean square of the errors over all joints [rad or m]; infinite where it flies off.
        robot_file: The same with the robot file's own values.
        seconds: Its length [s].
        start: Where it begins on the common time axis [s]; None where it is not drawn.
    """

    name: str
    rmse: float
    robot_file: float
    seconds: float
    start: float | None = None


@dataclass(frozen=True, eq=False)
class Rollouts:
    """All that is drawn of rollouts.

    Attributes:
        logs: All logs that were rolled out.
        shown: Those that are drawn, in the order of time.
        factor: Largest number of samples per drawn point.
        traces: Positions of each joint.
    """

    logs: tuple[RolledLog, ...]
    shown: tuple[RolledLog, ...]
    factor: int
    traces: tuple[RolloutTrace, ...]


@dataclass(eq=False)
class RolloutDrawing:
    """Collects rollouts one by one; only those with the largest errors are kept in memory."""

    _logs: list[RolledLog] = field(default_factory=list)
    _worst: list[tuple[float, int, LogRollout]] = field(default_factory=list)

    def add(self, found: LogRollout) -> None:
        """Take the rollout of another log."""
        log, k = found.log, len(self._logs)
        name = log.name or (log.source[0].name if log.source else f"log {k + 1}")
        own, of_file = _error(found.identified.q, log.position), _error(found.of_file.q, log.position)
        self._logs.append(RolledLog(name, own, of_file, float(log.time[-1] - log.time[0])))
        self._worst = sorted([*self._worst, (own, k, found)], key=lambda one: (-one[0], one[1]))[:ROLLOUTS]

    def drawn(self) -> Rollouts | None:
        """What is drawn; None where there is nothing."""
        if not self._worst:
            return None
        start, factor, shown = 0.0, 1, list[RolledLog]()
        pieces: list[list[tuple[Line, ...]]] = [[] for _ in range(self._worst[0][2].log.position.shape[1])]
        for _, k, found in sorted(self._worst, key=lambda one: one[1]):
            buckets = ROLLOUT_BUCKETS // len(self._worst)
            factor = max(factor, -(-len(found.log) // (2 * buckets)))
            for joint, of_joint in enumerate(pieces):
                of_joint.append(_lines(found, joint, start, buckets))
            own = self._logs[k]
            shown.append(RolledLog(own.name, own.rmse, own.robot_file, own.seconds, start))
            start += own.seconds + 1.0
        traces = tuple(RolloutTrace(*(joined([piece[k] for piece in of]) for k in range(6))) for of in pieces)
        return Rollouts(tuple(self._logs), tuple(shown), factor, traces)


def _error(q: Array, measured: Array) -> float:
    """Root mean square over all joints; infinite where a rollout ended before its time."""
    squares = (q - measured) ** 2
    return float(np.sqrt(squares.mean())) if np.isfinite(squares).all() else np.inf


def _lines(found: LogRollout, joint: int, start: float, buckets: int) -> tuple[Line, ...]:
    log = found.log
    time, measured = start + log.time - log.time[0], log.position[:, joint]
    own, of_file = found.identified.q[:, joint], found.of_file.q[:, joint]
    if found.of_file.ended is not None:
        of_file = np.full_like(own, np.nan)
    values = (
        measured,
        own,
        of_file,
        log.commands.position[:, joint],
        1e3 * (own - measured),
        1e3 * (of_file - measured),
    )
    return tuple(broken_line(time, one, np.isfinite(one), buckets) for one in values)
