"""Power rows: one equation a sample, `d/dt (h p) + v' f p = v' tau` (equations 8 to 14 of the power-model paper).

The derivative of the energy regressor h is taken by central differences of positions and velocities that are filtered
already. Both sides are decimated in parallel, as rows of torques are. No sample is dropped for being slow: what
friction does near standstill, where the model is wrong, is multiplied with a velocity near zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.decimation import windows
from dynid.logs.processing.signals import central_difference, decimated
from dynid.model.chunks import Chunk, checked
from dynid.model.dynamic_model import DynamicModel
from dynid.model.formulations.energy import dissipation_regressor, energy_regressor
from dynid.model.formulations.row_bases import power_basis
from dynid.model.formulations.torque_rows import CHUNK_BYTES, Rows

POWER = "power"


class PowerRows(Rows):
    """The power equation of all joints together: one row a sample."""

    def __init__(self, model: DynamicModel) -> None:
        super().__init__(model, (power_basis(model, POWER),), POWER)

    def passes(
        self, segments: Sequence[Chunk], rate: float, decimate: Sequence[int], block: int | None
    ) -> Iterator[list[Array]]:
        """Rows `[W | power]` of segments, a piece of bounded size (or a block of decimated samples) at a time.

        Args:
            segments: Segments of even sampling.
            rate: Samples a second [Hz].
            decimate: Factors of the parallel decimation.
            block: Rows of a piece; of any number when None.
        """
        for segment in segments:
            for rows in self._of_segment(checked(self.model, segment), rate, decimate):
                size = block or max(len(rows), 1)
                for first in range(0, len(rows), size):
                    yield [np.ascontiguousarray(rows[first : first + size])]

    def _of_segment(self, segment: Chunk, rate: float, decimate: Sequence[int]) -> Iterator[Array]:
        if decimate:
            for window, part in windows(segment, int(np.prod(decimate))):
                yield decimated(self.matrix(window, rate), decimate)[part]
            return
        size = max(CHUNK_BYTES // (8 * len(self.model.names)), 1)
        for first in range(0, len(segment), size):
            before, after = max(min(first - 1, len(segment) - 3), 0), min(first + size + 1, len(segment))
            yield self.matrix(segment[before:after], rate)[first - before : first - before + size]

    def matrix(self, chunk: Chunk, rate: float) -> Array:
        """Rows `[W | power]` of independent columns at every sample, shape (samples, base + 1)."""
        columns = list(self.bases[0].columns)
        rows = np.empty((len(chunk), len(columns) + 1))
        rows[:, :-1] = central_difference(energy_regressor(self.model, chunk.q, chunk.v)[:, columns], rate)
        rows[:, :-1] += dissipation_regressor(self.model, chunk.q, chunk.v)[:, columns]
        rows[:, -1] = np.sum(chunk.v * chunk.torque, axis=1)
        return rows
