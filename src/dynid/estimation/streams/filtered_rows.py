"""Rows `[W | y]` of positions as they come in: states by a causal filter, and rows by another."""

from __future__ import annotations

from collections.abc import Iterator

from dynid.arrays import Array
from dynid.estimation.streams.causal_filter import CausalFilter
from dynid.estimation.streams.filtered_samples import FilteredSamples
from dynid.estimation.streams.row_filter import RowFilter
from dynid.estimation.streams.stream_rows import StreamRows


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

    def of(self, times: Array, q: Array, torque: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Which samples count, with their rows and velocities; arguments as `FilteredSamples.pieces`."""
        for piece in self._samples.pieces(times, q, torque):
            first, rows = self._row_filter.settled(self._rows.of(piece.chunk), piece.steps, is_new=piece.is_new)
            yield slice(piece.at.start + first, piece.at.stop), rows, piece.chunk.v[first:]
