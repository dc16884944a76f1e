"""Angles that were wrapped: positions that jump by whole revolutions from one sample to the next."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, frozen
from dynid.findings import Finding
from dynid.logs.log import Log
from dynid.robot import Limits

TURN = 2.0 * math.pi

TILE = 8192
"""Samples that are looked at together: whole logs may be too long for another copy."""


@dataclass(frozen=True)
class WrapThresholds:
    """When a step between two positions is a jump by whole revolutions, and not motion or an outlier.

    By judgement where a field does not state otherwise.
    """

    around: int = 5
    """Samples on either side whose steps show how a joint moves there: their median is not moved by other jumps."""

    fastest: float = 1.0
    """Median step [rad] in motion above which nothing is said: motors may turn by a revolution between two samples."""

    near: float = 0.05
    """Distance [rad] of a jump from whole revolutions that is always allowed: noise of positions is below it."""

    by_motion: float = 2.0
    """The same in the largest steps nearby, beside which an acceleration within one sample is small."""

    farthest: float = 1.0
    """The same at most [rad], so that a jump of another size is not taken for a revolution."""

    gap: float = 1.5
    """Steps of time, in periods, across which the joint may have moved by itself; they are judged by other jumps."""


WRAP = WrapThresholds()


def without_wraps(log: Log, names: Sequence[str], limits: Sequence[Limits | None]) -> Log:
    """The log with jumps by whole revolutions taken out of its positions; said in its findings.

    Args:
        log: The log.
        names: What its columns of positions belong to.
        limits: Limits of the joints that turn, where their own positions were logged; a joint whose positions were
            wrapped goes to the revolution that fits them best. None for what slides, and is left alone.
    """
    steps = np.diff(log.time)
    if len(steps) < 4 * WRAP.around or not _jumps(log.position):
        return log
    gaps = steps > WRAP.gap * np.median(steps)
    position, found = log.position.copy(), {}
    for k, (name, limit) in enumerate(zip(names, limits, strict=True)):
        turns = np.zeros(len(steps)) if limit is None else jumps_in(position[:, k], gaps)
        if limit is not None and turns.any():
            whole = position[1:, k] - TURN * np.cumsum(turns)
            position[1:, k] = whole
            position[:, k] += TURN * revolution(float(position[:, k].min()), float(position[:, k].max()), limit)
            found[name] = int(np.count_nonzero(turns))
    if not found:
        return log
    note = Finding.of("positions-wrapped", "positions", joints=found)
    return replace(log, position=frozen(position), findings=(*log.findings, note))


def _jumps(q: Array) -> bool:
    """Whether any position is more than half a revolution from the one before."""
    tiles = (q[first : first + TILE + 1] for first in range(0, len(q), TILE))
    return any((np.abs(np.diff(tile, axis=0)) > math.pi).any() for tile in tiles)


def jumps_in(q: Array, gaps: np.ndarray) -> Array:
    """Revolutions by which an angle jumps at each step, shape (samples - 1,).

    Args:
        q: The angle [rad], shape (samples,).
        gaps: Steps at which samples are missing, shape (samples - 1,).
    """
    d = np.diff(q)
    moving = np.abs(d[d != 0.0])
    if not len(moving) or np.median(moving) > WRAP.fastest:
        return np.zeros(len(d))
    at, turns = possible_jumps(np.pad(d, WRAP.around, mode="edge"))
    found = np.zeros(len(d))
    if not gaps[at].all():  # across a gap only where the angle wraps elsewhere, too
        found[at] = turns
    return found


def possible_jumps(d: Array) -> tuple[np.ndarray, Array]:
    """Steps of an angle that look like jumps, counted without those at the ends, and by how many revolutions.

    Args:
        d: Steps [rad], shape (steps,), with `WRAP.around` more at either end that only show how the joint moves.
    """
    n = WRAP.around
    within = d - TURN * np.round(d / TURN)
    windows, large = (np.lib.stride_tricks.sliding_window_view(x, 2 * n + 1) for x in (d, np.abs(within)))
    steps = d[n : len(d) - n]
    at = np.flatnonzero(np.abs(steps) > math.pi)
    own = np.median(windows[at], axis=1)
    turns = np.round((steps[at] - own) / TURN)
    others = np.delete(large[at], n, axis=1).max(axis=1, initial=0.0)
    allowed = np.minimum(WRAP.near + WRAP.by_motion * others, WRAP.farthest)
    is_jump = (turns != 0.0) & (np.abs(steps[at] - own - TURN * turns) <= allowed) & (np.abs(own) < WRAP.fastest)
    return at[is_jump], turns[is_jump]


def revolution(smallest: float, largest: float, limits: Limits) -> float:
    """Revolutions to add so that positions are within limits, or as near as can be."""
    if not (math.isfinite(limits.lower) and math.isfinite(limits.upper) and limits.lower < limits.upper):
        return 0.0
    if limits.lower <= smallest and largest <= limits.upper:
        return 0.0
    return float(np.round((0.5 * (limits.lower + limits.upper) - 0.5 * (smallest + largest)) / TURN))
