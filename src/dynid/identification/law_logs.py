"""Logs whose torques are those of a control law that was identified, and their stretches without gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dynid.identification.records import CommandRecord
from dynid.logs import Log, LogSource


@dataclass(frozen=True)
class StretchThresholds:
    """When time between samples is a gap. By judgement."""

    gap: float = 5.0
    """Time between two samples, in periods, from which nobody knows what was commanded between them ..."""

    shortest_gap: float = 0.05
    """... where it is longer than this, too [s]."""


STRETCHES = StretchThresholds()


def with_law(logs: Sequence[Log | LogSource], found: CommandRecord) -> tuple[Log | LogSource, ...]:
    """Logs with the delay, the form and the gains of a law that was identified: their torques are then its own."""
    scales = found.gain_scales
    new = {"command_delay": found.delay, "law": found.law, "gain_scales": scales}
    as_array = None if scales is None else np.array(scales)
    return tuple(
        (log.with_law(found.delay, found.law, as_array) if log.is_commanded and log.command_delay is None else log)
        if isinstance(log, Log)
        else log.model_copy(update=new if log.torque is None else {})
        for log in logs
    )


def stretches_of_log(log: Log) -> list[Log]:
    """A log without gaps in time: its stretches, of which each is rolled out by itself."""
    steps = np.diff(log.time)
    if not len(steps):
        return [log]
    longest = max(STRETCHES.gap * float(np.median(steps)), STRETCHES.shortest_gap)
    edges = [0, *(np.flatnonzero(steps > longest) + 1), len(log)]
    return [log[start:stop] for start, stop in pairwise(edges)] if len(edges) > 2 else [log]
