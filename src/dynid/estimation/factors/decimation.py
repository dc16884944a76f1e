"""Parallel decimation: torques, velocities and every column of the observation matrix filtered alike.

A filter that is applied to both sides of `W p = torque` leaves p alone, so torques can be low-passed and decimated as
long as the columns are, too. Rows with little velocity, where Coulomb friction is not what the model says, are dropped
after it.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from dynid.arrays import Array, Flags
from dynid.errors import ShapeError
from dynid.logs import DECIMATION_MARGIN, Processing, decimated
from dynid.machine import parallel
from dynid.model import Chunk, Segment, TorqueRows, checked, own_samples

LONGEST_WINDOW = 2000
"""Longest window of samples that is filtered at once, in samples that are left."""

FULL_RATE_WINDOW = 50_000
"""The same in samples, where many are made one, so that memory is bounded."""

SHORTEST_WINDOW = 600
"""Shortest window, in samples that are left: margins should be small against it."""

FEWEST_MEASURED = 0.25
"""Share of measured torques below which a decimated sample does not count."""

MARGIN = DECIMATION_MARGIN
"""Samples that are left on each side of a window, so that its filter has forgotten where the window began."""


def decimated_rows(
    rows: TorqueRows,
    segments: Iterable[Segment],
    factors: Sequence[int],
    velocity_thresholds: Sequence[float] | None = None,
    block: int | None = None,
) -> Iterator[list[Array]]:
    """Rows `[W | torque]` of decimated segments, a window (or a block of samples) at a time.

    Args:
        rows: The equations.
        segments: Segments of even sampling; each chunk is one, and filters do not run across their ends.
        factors: How many times fewer samples each step of decimation leaves.
        velocity_thresholds: Rows of a joint are dropped where its decimated velocity is below this [rad/s or m/s].
        block: Decimated samples of a piece, before slow ones are dropped; of any number when None.
    """
    count = rows.model.row_count
    thresholds = np.zeros(count) if velocity_thresholds is None else np.asarray(velocity_thresholds, dtype=float)
    if thresholds.shape != (count,):
        raise ShapeError("velocity thresholds", f"({count},)", thresholds.shape)
    for segment in segments:
        for window, part in windows(segment, int(np.prod(factors))):
            thinned = _thinned(rows, checked(rows.model, window), part, factors, thresholds)
            size = block or max(len(thinned[0][1]), 1)
            for first in range(0, len(thinned[0][1]), size):
                pieces = [(left[first : first + size], kept[first : first + size]) for left, kept in thinned]
                yield [np.ascontiguousarray(left[kept]) for left, kept in pieces]


def _thinned(
    rows: TorqueRows, window: Chunk, part: slice, factors: Sequence[int], thresholds: Array
) -> list[tuple[Array, Flags]]:
    """For each row of the dynamics, in a thread: the decimated window, and which of it counts."""
    speed = np.abs(decimated(window.v[:, rows.model.rows], factors)[part])
    kept = speed >= thresholds
    if window.keep is not None:
        keep = window.keep if window.measured is None else window.keep | ~window.measured
        kept &= kept_around(keep, int(np.prod(factors)))[part]
    matrices = rows.matrices(window)

    def thin(row: int) -> tuple[Array, Flags]:
        measured = None if window.measured is None else window.measured[:, row]
        if measured is None or measured.all():
            return decimated(matrices[row], factors)[part], kept[:, row]
        matrix, share = _of_measured(matrices[row], measured, factors)
        return matrix[part], kept[:, row] & (share[part] >= FEWEST_MEASURED)

    return parallel(thin, range(len(matrices)))


def _of_measured(matrix: Array, measured: Flags, factors: Sequence[int]) -> tuple[Array, Array]:
    """Rows decimated over measured samples alone, and the weight that these have in each row.

    What is not measured weighs nothing on both sides of the equations, so that they hold whatever stands there.
    """
    weight = measured.astype(float)[:, None]
    share = decimated(weight, factors)
    return decimated(matrix * weight, factors) / np.maximum(share, FEWEST_MEASURED), share[:, 0]


def kept_around(keep: Flags, factor: int) -> Flags:
    """Which samples that are left have none around them that is left out; shape (samples / factor, rows)."""
    dropped = np.cumsum(np.pad(~keep, ((1, 0), (0, 0))), axis=0)
    middles = np.arange(0, len(keep), factor)
    first, last = np.maximum(middles - factor // 2, 0), np.minimum(middles + factor // 2 + 1, len(keep))
    return dropped[last] == dropped[first]


def counted_rows(names: Sequence[str], processing: Processing, v: Array, keep: Flags | None = None) -> Flags:
    """Which rows of (decimated) samples count: those of measured joints that are fast enough, shape (samples, rows).

    Args:
        names: Names of the rows.
        processing: What is not measured, and the thresholds of velocity.
        v: Velocities of the rows, shape (samples, rows).
        keep: Rows that count otherwise, of the same shape; all when None.
    """
    measured = np.array([name not in processing.unmeasured for name in names])
    counted = measured & (np.abs(v) >= np.asarray(processing.thresholds or (0.0,)))
    return counted if keep is None else counted & keep


def windows(segment: Segment, factor: int) -> Iterator[tuple[Chunk, slice]]:
    """Overlapping windows of a segment, each with the part of its decimated samples that belongs to it alone."""
    left = -(-len(segment) // factor)
    size = max(min(LONGEST_WINDOW, FULL_RATE_WINDOW // factor), SHORTEST_WINDOW)
    begin, end = (-(-k // factor) for k in own_samples(segment))
    for start in range(begin, end, size):
        stop = min(start + size, end)
        if end - stop < MARGIN:
            stop = end
        first, last = max(0, start - MARGIN), min(left, stop + MARGIN)
        yield segment[first * factor : min(len(segment), last * factor)], slice(start - first, stop - first)
        if stop == end:
            return


def processed_rows(
    rows: TorqueRows, segments: Sequence[Segment], processing: Processing, block: int | None = None
) -> Iterator[list[Array]]:
    """Rows `[W | torque]` of processed segments, decimated if that was asked for; none of unmeasured joints.

    They come in pieces of bounded size, or in blocks of so many (decimated) samples.
    """
    if processing.decimate:
        chunks = decimated_rows(rows, segments, processing.decimate, processing.thresholds, block)
    else:
        chunks = rows.of(segments, block)
    names = rows.model.row_names
    for matrices in chunks:
        yield [W[:0] if name in processing.unmeasured else W for name, W in zip(names, matrices, strict=True)]
