"""Equations through a low-pass as they are: every column and the right-hand side."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array
from dynid.estimation.streams.causal_filter import StateFilter


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
