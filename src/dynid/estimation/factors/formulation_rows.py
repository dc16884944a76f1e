"""Energy and momentum rows: what a window of time changes, and no derivative at all.

Over a window from a to b, `h(b) p - h(a) p` is the work of motors less that of friction, and `P(b) p - P(a) p` is each
joint's impulse. Velocities enter, accelerations do not. Windows follow each other and do not overlap: rows that share
samples would share errors, and standard deviations that take them as independent would be too small.

Integrals are trapezoids with the correction of Euler and Maclaurin at their ends: the error is of fourth order in the
period, but for jumps of friction's sign, where it is of first order and below one sample's share of the window.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.estimation.factors.decimation import windows
from dynid.logs import central_difference, decimated
from dynid.machine import parallel
from dynid.model.chunks import Chunk, checked
from dynid.model.dynamic_model import DynamicModel
from dynid.model.formulations.chosen_columns import energy_columns, impulse_rows, momentum_rows
from dynid.model.formulations.energy import dissipation_regressor
from dynid.model.formulations.torque_rows import CHUNK_BYTES, Rows
from dynid.model.row_bases import power_basis, row_bases
from dynid.model.stored_chunks import Segment

ENERGY, MOMENTUM = "energy", "momentum"

Indices = NDArray[np.int64]


class WindowRows(Rows):
    """The factors of a log's rows over windows of time so far."""

    def passes(
        self,
        segments: Sequence[Segment],
        rate: float,
        samples: int,
        thresholds: Sequence[float] | None,
        block: int | None,
    ) -> Iterator[list[Array]]:
        """Rows `[W | y]` of all windows, a piece of bounded size (or a block of windows) at a time.

        Args:
            segments: Segments of even sampling; windows do not reach over their ends.
            rate: Sampling rate [Hz].
            samples: Length of a window, in samples.
            thresholds: Speeds [rad/s or m/s], one for each row of the dynamics, below which friction is not what the
                model says.
            block: Windows of a piece; of any number when None.
        """
        for segment in segments:
            count = (len(segment) - 1) // samples
            size = block or max(1, self.samples_a_chunk // samples)
            for first in range(0, count, size):
                last = min(first + size, count)
                edges = np.arange(first, last + 1) * samples
                start, stop = max(int(edges[0]) - 1, 0), min(int(edges[-1]) + 2, len(segment))
                yield self.matrices(checked(self.model, segment[start:stop]), edges - start, rate, thresholds)

    @property
    @abstractmethod
    def samples_a_chunk(self) -> int:
        """Number of samples that are worked on at a time."""

    @abstractmethod
    def matrices(self, chunk: Chunk, edges: Indices, rate: float, thresholds: Sequence[float] | None) -> list[Array]:
        """Rows `[W | y]` of independent columns for windows between edges, each of shape (windows, base + 1)."""


class EnergyRows(WindowRows):
    """The factor of a log's energy rows so far: one row a window.

    Slow joints stay in: friction that is wrong near standstill does next to no work there.
    """

    def __init__(self, model: DynamicModel) -> None:
        super().__init__(model, (power_basis(model, ENERGY),), ENERGY)

    @property
    def samples_a_chunk(self) -> int:
        """Number of samples that are worked on at a time."""
        return CHUNK_BYTES // (8 * len(self.model.names))

    def matrices(self, chunk: Chunk, edges: Indices, rate: float, thresholds: Sequence[float] | None) -> list[Array]:
        """Differences of energy and work of friction; work of the motors."""
        columns = self.bases[0].columns
        rows = np.empty((len(edges) - 1, len(columns) + 1))
        power = dissipation_regressor(self.model, chunk.q, chunk.v)[:, list(columns)]
        rows[:, :-1] = np.diff(energy_columns(self.model, columns, chunk.q[edges], chunk.v[edges]), axis=0)
        rows[:, :-1] += integrals(power, edges, rate)
        rows[:, -1] = integrals(np.sum(chunk.v * chunk.torque, axis=1), edges, rate)
        return [rows]


class MomentumRows(WindowRows):
    """The factors of a log's momentum rows so far: one row a window and joint.

    A window of a joint counts where the joint is faster than its threshold all the time: an impulse of friction that is
    wrong near standstill would be as large as a right one.
    """

    def __init__(self, model: DynamicModel) -> None:
        super().__init__(model, row_bases(model), MOMENTUM)

    @property
    def samples_a_chunk(self) -> int:
        """Number of samples that are worked on at a time."""
        return CHUNK_BYTES // (8 * sum(len(basis.columns) for basis in self.bases))

    def matrices(self, chunk: Chunk, edges: Indices, rate: float, thresholds: Sequence[float] | None) -> list[Array]:
        """Differences of momentum and impulses of all but the motors; impulses of the motors."""
        columns = tuple(basis.columns for basis in self.bases)
        P = momentum_rows(self.model, columns, chunk.q[edges], chunk.v[edges])
        B = impulse_rows(self.model, columns, chunk.q, chunk.v)
        y = integrals(chunk.torque, edges, rate)
        kept = _kept(chunk, edges, thresholds)

        def work(row: int) -> Array:
            W = np.diff(P[row], axis=0) + integrals(B[row], edges, rate)
            return np.column_stack([W, y[:, row]])[kept[:, row]]

        return parallel(work, range(len(B)))


def integrals(values: Array, edges: Indices, rate: float) -> Array:
    """Integrals over time between edges.

    Args:
        values: Even samples of what is integrated, shape (samples, ...).
        edges: Indices of samples, evenly spaced, shape (windows + 1,).
        rate: Sampling rate [Hz].

    Returns:
        Array of shape (windows, ...).

    >>> t = np.arange(0.0, 2.0, 0.1)
    >>> float(integrals(t**3, np.array([1, 6, 11]), 10.0)[1])  # (1.1^4 - 0.6^4) / 4
    0.333625...
    """
    width = int(edges[1] - edges[0])
    inside = values[edges[0] : edges[-1]].reshape(len(edges) - 1, width, *values.shape[1:]).sum(axis=1)
    slopes = 0.5 * (values[np.minimum(edges + 1, len(values) - 1)] - values[np.maximum(edges - 1, 0)])
    if edges[0] == 0:  # nothing before: one-sided, of second order
        slopes[0] = 2.0 * (values[1] - values[0]) - 0.5 * (values[2] - values[0])
    if edges[-1] == len(values) - 1:
        slopes[-1] = 2.0 * (values[-1] - values[-2]) - 0.5 * (values[-1] - values[-3])
    trapezoids = inside + 0.5 * np.diff(values[edges], axis=0)
    return (trapezoids - np.diff(slopes, axis=0) / 12.0) / rate


def _kept(chunk: Chunk, edges: Indices, thresholds: Sequence[float] | None) -> NDArray[np.bool_]:
    """For each window and joint whether all samples count and none is slow, shape (windows, joints)."""
    out = np.zeros(chunk.torque.shape, dtype=bool) if chunk.keep is None else ~chunk.keep
    if thresholds is not None:
        out = out | (np.abs(chunk.v) < np.asarray(thresholds, dtype=float))
    count = np.cumsum(np.pad(out, ((1, 0), (0, 0))), axis=0)
    return count[edges[1:] + 1] == count[edges[:-1]]


POWER = "power"


class PowerRows(Rows):
    """The power equation of all joints together: one row per sample."""

    def __init__(self, model: DynamicModel) -> None:
        super().__init__(model, (power_basis(model, POWER),), POWER)

    def passes(
        self, segments: Sequence[Segment], rate: float, decimate: Sequence[int], block: int | None
    ) -> Iterator[list[Array]]:
        """Rows `[W | power]` of segments, a piece of bounded size (or a block of decimated samples) at a time.

        Args:
            segments: Segments of even sampling.
            rate: Sampling rate [Hz].
            decimate: Factors of the parallel decimation.
            block: Rows of a piece; of any number when None.
        """
        for segment in segments:
            for rows in self._of_segment(segment, rate, decimate):
                size = block or max(len(rows), 1)
                for first in range(0, len(rows), size):
                    yield [np.ascontiguousarray(rows[first : first + size])]

    def _of_segment(self, segment: Segment, rate: float, decimate: Sequence[int]) -> Iterator[Array]:
        if decimate:
            for window, part in windows(segment, int(np.prod(decimate))):
                yield decimated(self.matrix(checked(self.model, window), rate), decimate)[part]
            return
        size = max(CHUNK_BYTES // (8 * len(self.model.names)), 1)
        for first in range(0, len(segment), size):
            before, after = max(min(first - 1, len(segment) - 3), 0), min(first + size + 1, len(segment))
            yield self.matrix(checked(self.model, segment[before:after]), rate)[first - before : first - before + size]

    def matrix(self, chunk: Chunk, rate: float) -> Array:
        """Rows `[W | power]` of independent columns at every sample, shape (samples, base + 1)."""
        columns = self.bases[0].columns
        rows = np.empty((len(chunk), len(columns) + 1))
        rows[:, :-1] = central_difference(energy_columns(self.model, columns, chunk.q, chunk.v), rate)
        rows[:, :-1] += dissipation_regressor(self.model, chunk.q, chunk.v)[:, list(columns)]
        rows[:, -1] = np.sum(chunk.v * chunk.torque, axis=1)
        return rows
