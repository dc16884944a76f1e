"""Lines with fewer points: no extreme is lost, gaps stay gaps, and a sticking joint has a band instead of a line."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.estimation import Segment
from dynid.model import DynamicModel

Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]

SLOWEST = 1e-9
"""Velocity [rad/s or m/s] that stands for the limit towards zero."""


@dataclass(frozen=True, eq=False)
class Line:
    """A signal with fewer points; NaN where segments end.

    Attributes:
        time: Time [s], shape (points,).
        values: Values, shape (points,).
    """

    time: Array
    values: Array


def broken_line(time: Array, values: Array, shown: Flags, buckets: int) -> Line:
    """A line with fewer points through the samples that are shown, with a gap wherever others lie between.

    Args:
        time: Time [s], shape (samples,).
        values: Values, shape (samples,).
        shown: Samples that are shown, shape (samples,).
        buckets: Buckets of the drawn line.

    >>> shown = np.array([True, True, False, True, True])
    >>> broken_line(np.arange(5.0), np.arange(5.0), shown, 10).values.tolist()
    [0.0, 1.0, nan, 3.0, 4.0]
    """
    present = np.flatnonzero(shown)
    if not len(present):
        return Line(np.zeros(0), np.zeros(0))
    chosen = present[extreme_indices(values[present], buckets)]
    ends = np.flatnonzero(np.diff(shown.astype(np.int8), prepend=0, append=0))
    if len(ends) <= 2 * buckets:  # both ends of every stretch, so that gaps begin and end where they do
        chosen = np.union1d(chosen, np.concatenate([ends[::2], ends[1::2] - 1]))
    hidden = np.cumsum(~shown)
    gaps = np.flatnonzero(np.diff(hidden[chosen])) + 1
    return Line(np.insert(time[chosen], gaps, time[chosen[gaps - 1]]), np.insert(values[chosen], gaps, np.nan))


def standing(segment: Segment, model: DynamicModel, thresholds: Sequence[float] | None) -> Flags:
    """Where joints stand still: below the velocity threshold of the processing, or at zero; shape (samples, rows)."""
    v = np.abs(segment.v[:, model.rows])
    return (v < np.asarray(thresholds or (0.0,))) | (v == 0.0)


def standstill_torques(model: DynamicModel, parameters: Array, q: Array, v: Array, a: Array, row: int) -> Array:
    """Smallest and largest torque that the model allows a row whose joint sticks, shape (2, samples).

    Dry friction is a jump of the model at zero velocity; a joint that sticks takes any torque within it. So the bounds
    are the model's torques as the velocity of the row goes to zero from either side. They are one and the same where
    no term of the model jumps.

    Args:
        model: The model.
        parameters: Standard parameters p, shape (parameters,).
        q: Positions, shape (samples, nq).
        v: Velocities, shape (samples, nv): zero for all joints that stand still.
        a: Accelerations, shape (samples, nv).
        row: The row.
    """
    sides = []
    for speed in (SLOWEST, -SLOWEST):
        creeping = v.copy()
        creeping[:, model.rows.start + row] = speed
        sides.append(model.inverse_dynamics(q, creeping, a, parameters)[:, row])
    return np.stack([np.minimum(*sides), np.maximum(*sides)])


def sticking_outlines(
    segment: Segment, row: int, model: DynamicModel, parameters: Array, still: Flags, buckets: int
) -> Line:
    """Outlines of what the model allows where a joint sticks, with NaN after each; none without dry friction.

    Args:
        segment: The samples.
        row: Row of the dynamics.
        model: The model.
        parameters: Standard parameters p, shape (parameters,).
        still: Where each joint stands still, shape (samples, rows).
        buckets: Buckets of a drawn line; stretches less than one apart are one.
    """
    nowhere = Line(np.zeros(0), np.zeros(0))
    runs = _runs(still[:, row], -(-len(still) // (2 * buckets)))
    if not runs:
        return nowhere
    points = [
        np.unique(np.linspace(i, j - 1, max(2, buckets * (j - i) // len(still))).astype(np.intp)) for i, j in runs
    ]
    at = np.concatenate(points)
    v = segment.v[at]
    v[:, model.rows] = np.where(still[at], 0.0, v[:, model.rows])
    low, high = standstill_torques(model, parameters, segment.q[at], v, segment.a[at], row)
    if not np.any(high - low > 1e-9 * max(1.0, float(np.abs(high).max()))):
        return nowhere
    half, outlines, first = 0.5 / segment.rate, [], 0
    for k in points:
        own = slice(first, first + len(k))
        time = np.concatenate([segment.time[k[:1]] - half, segment.time[k], segment.time[k[-1:]] + half])
        upper, lower = (np.concatenate([side[own][:1], side[own], side[own][-1:]]) for side in (high, low))
        closed = np.concatenate([upper, lower[::-1], upper[:1], [np.nan]])
        outlines.append(Line(np.concatenate([time, time[::-1], time[:1], time[:1]]), closed))
        first += len(k)
    return joined(outlines, gap=False)


def _spread(first: int, last: int, count: int) -> Indices:
    """So many samples of a stretch, with both ends; all where there are fewer."""
    return np.unique(np.linspace(first, last - 1, count).astype(np.intp))


def _runs(flags: Flags, nearest: int) -> list[tuple[int, int]]:
    """First and last (exclusive) sample of each stretch of flags; those less than so many samples apart are one."""
    ends = np.flatnonzero(np.diff(flags.astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
    runs: list[tuple[int, int]] = []
    for i, j in ends.tolist():
        if runs and i - runs[-1][1] < nearest:
            runs[-1] = (runs[-1][0], j)
        else:
            runs.append((i, j))
    return runs


def joined(lines: Sequence[Line], *, gap: bool = True) -> Line:
    """Lines one after the other, with a gap between them where they have none at their ends."""
    lines = [line for line in lines if len(line.time)]
    if not lines:
        return Line(np.zeros(0), np.zeros(0))
    if not gap:
        return Line(np.concatenate([line.time for line in lines]), np.concatenate([line.values for line in lines]))
    time = np.concatenate([part for line in lines for part in (line.time, line.time[-1:])])
    return Line(time, np.concatenate([part for line in lines for part in (line.values, np.array([np.nan]))]))


def extreme_indices(y: Array, buckets: int) -> Indices:
    """Samples to draw: of each of some buckets of neighbours the smallest and the largest.

    A line through them covers what a line through all samples covers, so no peak is lost.

    Args:
        y: A signal, shape (samples,).
        buckets: How many buckets.

    Returns:
        Indices in ascending order, at most two per bucket; all where there are no more samples than that.

    >>> extreme_indices(np.array([0.0, 5.0, 1.0, 2.0, -3.0, 0.0, 1.0, 1.0]), 2).tolist()
    [0, 1, 4, 6]
    """
    if len(y) <= 2 * buckets:
        return np.arange(len(y))
    edges = np.linspace(0, len(y), buckets + 1).astype(np.intp)
    width = int(np.diff(edges).max())
    rows = np.minimum(edges[:-1, None] + np.arange(width), edges[1:, None] - 1)
    values = y[rows]
    first = np.arange(len(rows))
    pairs = np.stack([rows[first, values.argmin(axis=1)], rows[first, values.argmax(axis=1)]])
    return np.unique(pairs)


def spread_indices(count: int, wanted: int, rng: np.random.Generator) -> Indices:
    """Samples to draw of a cloud: a random choice of so many, in ascending order; all where there are fewer."""
    if count <= wanted:
        return np.arange(count)
    return np.sort(rng.choice(count, wanted, replace=False))


def peaks_by_decade(frequency: Array, amplitude: Array, points: int = 300) -> tuple[Array, Array]:
    """A spectrum on a logarithmic axis with fewer points: of each of some buckets the largest amplitude.

    Args:
        frequency: Frequencies [Hz], ascending and positive, shape (n,).
        amplitude: Amplitudes, shape (n,).
        points: How many buckets.
    """
    if len(frequency) <= points:
        return frequency, amplitude
    edges = np.geomspace(frequency[0], frequency[-1] * (1 + 1e-9), points + 1)
    bucket = np.searchsorted(edges, frequency, side="right")
    starts = np.flatnonzero(np.diff(bucket, prepend=-1))
    stops = [*starts[1:], len(frequency)]
    best = [start + int(np.argmax(amplitude[start:stop])) for start, stop in zip(starts, stops, strict=True)]
    return frequency[best], amplitude[best]
