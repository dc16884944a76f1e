"""Rows `[W | y]` of positions as they come in: states by a causal filter, and rows by another."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dynid.arrays import Array
from dynid.estimation.streams.causal_filter import CausalFilter, StateFilter
from dynid.estimation.streams.filtered_samples import FilteredSamples
from dynid.estimation.streams.stream_rows import StreamRows
from dynid.model import Chunk


class FilteredRows:
    """Makes rows of positions and torques.

    Args:
        rows: What makes rows of states.
        settings: The filters.
    """

    def __init__(self, rows: StreamRows, settings: CausalFilter) -> None:
        self._rows, self._settings = rows, settings
        self._samples = FilteredSamples(rows.equations.model.robot, settings)
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self._samples.reset()
        self._row_filter = RowFilter(self._settings.rows)

    @property
    def restarts(self) -> int:
        """How often gaps made the filters begin anew."""
        return self._samples.restarts

    def of(self, times: Array, q: Array, torque: Array) -> Iterator[tuple[slice, Array, Chunk]]:
        """Which samples count, with their rows and states; arguments as `FilteredSamples.pieces`."""
        for piece in self._samples.pieces(times, q, torque):
            first, rows = self._row_filter.settled(self._rows.of(piece.chunk), piece.steps, is_new=piece.is_new)
            yield slice(piece.at.start + first, piece.at.stop), rows, piece.chunk[first:]


class RowFilter:
    """A causal low-pass of rows `[W | y]`, which leaves parameters alone.

    Args:
        cutoff: Cut-off frequency [Hz]; nothing is done when None.
    """

    def __init__(self, cutoff: float | None) -> None:
        self._filter = None if cutoff is None else StateFilter(cutoff)
        self._age = 0.0

    def settled(self, rows: Array, steps: Array, *, is_new: bool) -> tuple[int, Array]:
        """From which sample on rows count, and these rows.

        Args:
            rows: The rows of each sample, one after the other, shape (samples, columns).
            steps: Interval before each sample [s], shape (samples,).
            is_new: Whether the filter begins with them.
        """
        if self._filter is None:
            return 0, rows
        if is_new:
            self._filter.begin(rows[0])
            self._age = 0.0
            steps = np.concatenate([[0.0], steps[1:]])
        found = self._filter.advance(steps, rows)[0]
        ages = self._age + np.cumsum(steps)
        self._age = float(ages[-1])
        first = int(np.searchsorted(ages, self._filter.settled))
        return first, found[first:]
