"""Passes over the rows of a log, again and again: what weighs single rows needs more than one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.errors import ShapeError
from dynid.estimation.factors.row_forms import TORQUES, RowForm
from dynid.logs.processing.automatic import PreparedLog
from dynid.model.base_parameters import BaseParameters
from dynid.model.chunks import Chunk, Samples, checked
from dynid.model.dynamic_model import DynamicModel
from dynid.model.formulations.torque_rows import TorqueRows
from dynid.threads import single_threaded_blas

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

    def __init__(
        self, base: BaseParameters, log: PreparedLog, block: int | None = None, form: RowForm = TORQUES
    ) -> None:
        self.base = base
        self.form = form
        self.rows = form.equations(base.model)
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


def residuals(model: DynamicModel, samples: Samples, parameters: Array) -> Iterator[tuple[Chunk, Array]]:
    """Pass over samples with what a model leaves of their torques.

    Args:
        model: The model.
        samples: The samples; nothing of them is held.
        parameters: Standard parameters p, shape (parameters,).

    Yields:
        Each chunk with `torque - W p` [N m or N], shape (samples, rows), also where `keep` or `weight` leave rows out.
    """
    if np.shape(parameters) != (len(model.names),):
        raise ShapeError("parameters", f"({len(model.names)},)", np.shape(parameters))
    rows = TorqueRows(model)
    values = rows.predictors(parameters)
    for chunk in samples:
        chunk = checked(model, chunk)
        with single_threaded_blas():
            predicted = [W[:, :-1] @ b for W, b in zip(rows.matrices(chunk), values, strict=True)]
        yield chunk, chunk.torque - np.stack(predicted, axis=1)


@dataclass(frozen=True, eq=False)
class Reweighted:
    """The same samples with weights by their residuals, for iteratively reweighted least squares.

    Attributes:
        model: The model.
        samples: The samples.
        parameters: Standard parameters that the residuals are of, shape (parameters,).
        weigh: From a chunk and its residuals, shape (samples, rows), to weights of the same shape; they multiply rows,
            so they are square roots of the weights of squared errors.
    """

    model: DynamicModel
    samples: Samples
    parameters: Array
    weigh: Callable[[Chunk, Array], Array]

    def __iter__(self) -> Iterator[Chunk]:
        """Begin a pass."""
        for chunk, left in residuals(self.model, self.samples, self.parameters):
            weight = self.weigh(chunk, left)
            yield replace(chunk, weight=weight if chunk.weight is None else weight * chunk.weight)
