"""Passes over the rows of a log, again and again: what weighs single rows needs more than one."""

from __future__ import annotations

from collections.abc import Iterator

from dynid.arrays import Array
from dynid.data.automatic import Prepared
from dynid.data.row_forms import TORQUES, RowForm
from dynid.model.base_parameters import BaseParameters

HELD = 200_000_000
"""Bytes of rows that are held between passes; larger logs are made into rows anew each time."""


class RowPasses:
    """The rows `[W | y]` of one log, as often as they are needed; nothing may be written to them.

    Args:
        base: The base parameters, with their model.
        log: The log.
        block: Rows of a piece; pieces of any size when None.
        form: What the rows are.
    """

    def __init__(self, base: BaseParameters, log: Prepared, block: int | None = None, form: RowForm = TORQUES) -> None:
        self.base = base
        self.form = form
        self.rows = form.accumulator(base.model)
        self._log = log
        self._block = block
        self._held: list[list[Array]] | None = None

    def __iter__(self) -> Iterator[list[Array]]:
        if self._held is not None:
            yield from self._held
            return
        held: list[list[Array]] | None = []
        size = 0
        log = self._log
        for matrices in self.form.rows(self.rows, log.segments, log.processing, log.sampling, self._block):
            size += sum(W.nbytes for W in matrices)
            if held is not None and size <= HELD:
                held.append(matrices)
            else:
                held = None
            yield matrices
        self._held = held

    def errors(self, values: Array) -> Iterator[tuple[list[Array], list[Array]]]:
        """Rows with their errors for values of the base parameters, shape (base,), a piece at a time."""
        predictors = self.rows.predictors(self.base.to_standard(values))
        for matrices in self:
            yield matrices, [W[:, -1] - W[:, :-1] @ b for W, b in zip(matrices, predictors, strict=True)]
