"""The rows of samples as they come in: all rows of one sample after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.estimation.factors.recursive_factors import MOST_ROTATED, RecursiveFactors
from dynid.model import Chunk, DynamicModel, SampleRows, TorqueRows


class StreamRows:
    """Rows `[W | y]` of samples in the independent columns of each row, shape (samples, columns of all rows).

    Args:
        model: The model.

    Attributes:
        equations: The equations.
        starts: Where the rows begin, shape (rows,).
        widths: How long they are, right-hand sides included, shape (rows,).
    """

    def __init__(self, model: DynamicModel) -> None:
        self.equations = TorqueRows(model)
        self._sample = SampleRows(self.equations)
        self.widths = self._sample.widths
        self.starts = np.cumsum([0, *self.widths[:-1]], dtype=np.int64)
        self._ends = self.starts + self.widths - 1
        kept = [np.arange(first, first + width) for first, width in zip(self._sample.starts, self.widths, strict=True)]
        self._kept = np.concatenate(kept)
        self._row_of_column = np.repeat(np.arange(len(self.widths)), self.widths)

    def of(self, chunk: Chunk) -> Array:
        """The rows of samples."""
        if len(chunk) > MOST_ROTATED:
            return np.concatenate(self.equations.matrices(chunk), axis=1)
        found = np.empty((len(chunk), len(self._kept)))
        for k in range(len(chunk)):
            found[k] = self._sample.evaluate(chunk.q[k], chunk.v[k], chunk.a[k])[self._kept]
        found[:, self._ends] = chunk.torque
        return found

    def columns(self, some: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The columns, right-hand sides included, of some rows, which are given as a mask of shape (rows,)."""
        return np.flatnonzero(some[self._row_of_column])

    def predictors(self, parameters: Array) -> Array:
        """For standard parameters p, shape (parameters,), the values of all columns, with -1 for right-hand sides."""
        parts = [np.append(b, -1.0) for b in self.equations.predictors(parameters)]
        return np.concatenate(parts)

    def residuals(self, rows: Array, predictors: Array) -> Array:
        """Measured torques less predicted ones, shape (samples, rows)."""
        return -np.add.reduceat(rows * predictors, self.starts, axis=1)

    def include(self, rows: Array, factors: RecursiveFactors, fadings: Array) -> None:
        """Include rows into factors; they are overwritten. Arguments as `RecursiveFactors.include_block`."""
        if len(rows) > MOST_ROTATED:
            parts = [rows[:, a : a + n] for a, n in zip(self.starts, self.widths, strict=True)]
            factors.include_block(parts, fadings)
            return
        for row, fading in zip(rows, fadings, strict=True):
            factors.include(row, self.starts, float(fading))
