"""What a model leaves of a log's torques in the course of time: all of it, or evenly spread stretches of a long log.

How long errors last and what they follow is known from a hundred thousand rows as well as from a million. A long log is
looked at in stretches that are longer than errors last, so that neither time nor memory grows with it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Flags
from dynid.estimation.factors.decimation import MARGIN, counted_rows, kept_around
from dynid.estimation.factors.row_forms import residuals
from dynid.logs import PreparedLog, decimated
from dynid.model import Chunk, DynamicModel

MOST_ROWS = 100_000
"""Rows of each joint that are looked at."""

STRETCH_ROWS = 4000
"""Rows of one stretch of a longer log: twice the longest lag of an autocorrelation."""

PREDICTED_SAMPLES = 10_000
"""Samples that are predicted at once."""


@dataclass(frozen=True, eq=False)
class ErrorStretches:
    """What a model leaves of a log's torques, decimated as rows are.

    Attributes:
        errors: Measured less predicted torques [N m or N], shape (samples, rows).
        v: Velocities of the rows [rad/s or m/s], of the same shape.
        q: Positions, shape (samples, nq).
        time: Time stamps [s], shape (samples,).
        keep: Which rows count, shape (samples, rows).
        starts: Where stretches of consecutive samples begin.
    """

    errors: Array
    v: Array
    q: Array
    time: Array
    keep: Flags
    starts: tuple[int, ...]

    def of_row(self, row: int) -> tuple[Array, tuple[int, ...]]:
        """Errors of one row where it counts, shape (samples that count,), and where its stretches begin."""
        return self.errors[self.keep[:, row], row], self.starts_of(row)

    def starts_of(self, row: int) -> tuple[int, ...]:
        """Where stretches begin among the samples of a row that count."""
        before = np.concatenate([[0], np.cumsum(self.keep[:, row])])
        return tuple(np.unique(before[list(self.starts)]).tolist())


def error_stretches(model: DynamicModel, log: PreparedLog, parameters: Array) -> ErrorStretches:
    """What a model leaves of a log's torques.

    Args:
        model: The model.
        log: The log.
        parameters: Standard parameters, shape (parameters,).
    """
    factors = log.processing.decimate
    step = int(np.prod(factors or (1,)))
    parts = []
    for chunk, time in zip(log.segments, log.times, strict=True):
        share = min(1.0, MOST_ROWS * step / max(log.samples, 1))
        for first, last in _stretches(-(-len(chunk) // step), share):
            begin, end = max(first - MARGIN, 0) if factors else first, last + MARGIN if factors else last
            part = chunk[begin * step : end * step]
            errors, v = _errors(model, part, parameters), part.v[:, model.rows]
            if factors:
                errors, v = decimated(errors, factors), decimated(v, factors)
            keep = np.ones(errors.shape, dtype=bool) if part.keep is None else kept_around(part.keep, step)
            q, stamps = part.q[::step], time[begin * step : end * step : step]
            own = slice(first - begin, last - begin)
            parts.append([x[: len(errors)][own] for x in (errors, v, q, stamps, keep)])
    errors, v, q, time, keep = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    starts = np.cumsum([0, *(len(part[0]) for part in parts[:-1])])
    counted = counted_rows(model.row_names, log.processing, v, keep)
    return ErrorStretches(errors, v, q, time, counted, tuple(starts.tolist()))


def _stretches(rows: int, share: float) -> Iterator[tuple[int, int]]:
    """First and last rows of stretches that are a share of a segment, evenly spread; all of it for a share of one."""
    if share >= 1.0:
        yield 0, rows
        return
    count = max(1, round(rows * share / STRETCH_ROWS))
    length = min(rows, STRETCH_ROWS, max(1, round(rows * share / count)))
    for middle in (np.arange(count) + 0.5) * rows / count:
        first = min(max(int(middle) - length // 2, 0), rows - length)
        yield first, first + length


def _errors(model: DynamicModel, chunk: Chunk, parameters: Array) -> Array:
    """Measured less predicted torques of a chunk, zero where none was measured, shape (samples, rows)."""
    starts = range(0, len(chunk), PREDICTED_SAMPLES)
    pieces: Sequence[Chunk] = [chunk[first : first + PREDICTED_SAMPLES] for first in starts]
    errors = np.concatenate([errors for _, errors in residuals(model, pieces, parameters)])
    return errors if chunk.measured is None else np.where(chunk.measured, errors, 0.0)
