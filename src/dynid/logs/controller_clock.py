"""The clock of a controller whose state was polled: ticks that the logger's stamps blur, from steps of the motion.

A logger that polls a controller stamps states late, repeats some and misses others. Each step of the positions divided
by the velocities is the time that has passed at the controller: a whole number of its periods. Where velocities were
not logged, means of those of the positions over some tens of samples serve: jitter of the stamps cancels in them.
"""

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Flags
from dynid.logs.timing import JITTER


@dataclass(frozen=True)
class TickThresholds:
    """When steps of the motion count as ticks of a controller.

    Calibrated on the public log of the Panda, whose logger polls a controller of 1 kHz: 98 % of its steps lie within a
    tenth of a period of whole ones, beside stamps that jitter by 20 %.
    """

    moving: float = 0.04
    """Speed of all joints together, relative to its root mean square, from which a step shows the time."""

    nearness: float = 0.1
    """Distance from a whole number of periods, in periods, within which a step is one of ticks."""

    share: float = 0.9
    """Share of the steps that must be such, or the stamps are kept."""

    around: int = 15
    """Samples to both sides over which velocities are taken from positions, twice, where they were not logged."""

    drift: float = 0.02
    """Largest difference of restored and stamped lengths, relative: beyond it velocities and positions disagree."""


TICK_THRESHOLDS = TickThresholds()


@dataclass(frozen=True, eq=False)
class ControllerClock:
    """The time at a controller.

    Attributes:
        time: Time of each sample that is kept [s], shape (kept,).
        keep: Samples that do not repeat the one before, shape (samples,).
        period: The controller's period [s].
        repeated: Number of samples that repeat the one before.
        missed: Number of periods without a sample.
    """

    time: Array
    keep: Flags
    period: float
    repeated: int
    missed: int


def controller_clock(time: Array, q: Array, v: Array | None) -> ControllerClock | None:
    """Restore the clock of a controller; None where stamps are even, or the motion does not show it.

    Args:
        time: Stamps [s], shape (samples,), increasing.
        q: Positions, shape (samples, joints).
        v: Velocities that were logged beside them, of the same shape; None where there are none.
    """
    steps = np.diff(time)
    if len(steps) < 2 or np.std(steps) < JITTER * np.median(steps):
        return None
    speeds = _mean_velocities(time, q) if v is None else v
    middle = 0.5 * (speeds[1:] + speeds[:-1])
    squares = np.sum(middle**2, axis=1)
    moving = squares > TICK_THRESHOLDS.moving**2 * squares.mean()
    if not moving.any():
        return None
    passed = np.sum(np.diff(q, axis=0) * middle, axis=1)[moving] / squares[moving]
    advanced = passed[passed > 0.5 * np.median(steps)]
    period = float(np.median(advanced)) if len(advanced) else 0.0
    if period <= 0.0:
        return None
    ticks = np.rint(passed / period)
    near = np.abs(passed / period - ticks) < TICK_THRESHOLDS.nearness
    length = float(steps[moving].sum())
    period = length / float(ticks.sum()) if ticks.sum() > 0.0 else 0.0
    plausible = abs(float(passed.sum()) - length) < TICK_THRESHOLDS.drift * length and (ticks >= 0.0).all()
    if near.mean() < TICK_THRESHOLDS.share or not plausible:
        return None
    same = (np.diff(q if v is None else np.hstack([q, v]), axis=0) == 0.0).all(axis=1)
    counts = np.where(same, 0.0, np.maximum(np.rint(steps / period), 1.0))  # where the motion is too slow to show it
    counts[moving] = ticks
    restored = period * counts
    keep = np.concatenate([[True], restored > 0.0])
    stamps = time[0] + np.concatenate([[0.0], np.cumsum(restored)])
    missed = int(np.maximum(counts - 1.0, 0.0).sum())
    return ControllerClock(stamps[keep], keep, period, int((~keep).sum()), missed)


def _mean_velocities(time: Array, q: Array) -> Array:
    """Velocities of positions, averaged over the samples around each, shape (samples, joints)."""
    at, far = np.arange(len(time)), TICK_THRESHOLDS.around
    first, last = np.maximum(at - far, 0), np.minimum(at + far, len(time) - 1)
    slopes = (q[last] - q[first]) / (time[last] - time[first])[:, None]
    sums = np.concatenate([np.zeros((1, q.shape[1])), np.cumsum(slopes, axis=0)])
    return (sums[last + 1] - sums[first]) / (last + 1 - first)[:, None]
