"""Passes over the rows of a log, again and again: what weighs single rows needs more than one."""

from __future__ import annotations

from collections.abc import Iterator

from dynid.arrays import Array
from dynid.data.accumulation import RowFactors
from dynid.data.automatic import Prepared
from dynid.data.processing import processed_rows
from dynid.model.base_parameters import BaseParameters

HELD = 200_000_000
"""Bytes of rows that are held between passes; larger logs are made into rows anew each time."""


class RowPasses:
    """The rows `[W | torque]` of one log, as often as they are needed; nothing may be written to them.

    Args:
        base: The base parameters, with their model.
        log: The log.
        block: Samples of a piece; pieces of any size when None.
    """

    def __init__(self, base: BaseParameters, log: Prepared, block: int | None = None) -> None:
        self.base = base
        self.rows = RowFactors(base.model)
        self._log = log
        self._block = block
        self._held: list[list[Array]] | None = None

    def __iter__(self) -> Iterator[list[Array]]:
        if self._held is not None:
            yield from self._held
            return
        held: list[list[Array]] | None = []
        size = 0
        for matrices in processed_rows(self.rows, self._log.segments, self._log.processing, self._block):
            size += sum(W.nbytes for W in matrices)
            if held is not None and size <= HELD:
                held.append(matrices)
            else:
                held = None
            yield matrices
        self._held = held

    def errors(self, values: Array) -> Iterator[tuple[list[Array], list[Array]]]:
        """Rows with their errors [N m or N] for values of the base parameters, shape (base,), a piece at a time."""
        predictors = self.rows.predictors(self.base.to_standard(values))
        for matrices in self:
            yield matrices, [W[:, -1] - W[:, :-1] @ b for W, b in zip(matrices, predictors, strict=True)]
