"""For how many samples the residuals of a stream last, while it streams.

Sums over blocks of L white residuals have L times their variance; where errors last, more. The ratio, at the length
where it is largest, is the number of samples that errors last for.
"""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array

LENGTHS = np.array([1, 4, 16, 64, 256, 1024, 4096])
"""Lengths of blocks [samples]."""

FEWEST_BLOCKS = 16
"""Blocks that a ratio needs."""

STDS_OF_CHANCE = 3.0
"""Standard deviations above one from which a ratio is no chance of white errors."""


class ResidualMemory:
    """Sums over blocks of the residuals of some rows.

    Args:
        rows: How many rows there are.
    """

    def __init__(self, rows: int) -> None:
        from dynid.estimation.streams.sample_loops import remember

        self._remember = remember
        self._sums, self._squares = np.zeros((2, len(LENGTHS), rows))
        self._counts = np.zeros(len(LENGTHS), dtype=np.int64)
        self.clear()
        self.add(np.zeros((0, rows)))  # compile now

    def clear(self) -> None:
        """Forget all residuals."""
        self._earlier, self._of = np.ones(self._sums.shape[1]), 0
        self._empty()

    def begin_anew(self) -> None:
        """Begin with residuals of other parameters; what was found holds until there are as many again."""
        if self._counts[0] >= self._of:
            self._earlier, self._of = self.lasting(), int(self._counts[0])
        self._empty()

    def _empty(self) -> None:
        self._sums.fill(0.0)
        self._squares.fill(0.0)
        self._counts.fill(0)

    def add(self, residuals: Array) -> None:
        """Add residuals, shape (samples, rows)."""
        self._remember(residuals, LENGTHS, self._sums, self._squares, self._counts)

    def lasting(self) -> Array:
        """For how many samples the errors of each row last, shape (rows,); one for white ones."""
        if self._counts[0] < self._of:
            return self._earlier
        blocks = self._counts // LENGTHS
        enough = blocks >= FEWEST_BLOCKS
        found = np.ones(self._squares.shape[1])
        if not enough[0]:
            return found
        means = self._squares / np.maximum(blocks * LENGTHS, 1)[:, None]
        ratios = means[enough] / np.where(means[0] > 0.0, means[0], 1.0)
        by_chance = 1.0 + STDS_OF_CHANCE * np.sqrt(2.0 / blocks[enough])
        return np.maximum(found, np.where(ratios > by_chance[:, None], ratios, 1.0).max(axis=0))
