"""A second pass: what needs single samples, such as residuals and robust weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.data.accumulation import RowFactors
from dynid.data.chunks import Chunk, Samples, checked
from dynid.errors import ShapeError
from dynid.model.dynamic_model import DynamicModel
from dynid.threads import single_threaded_blas


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
    rows = RowFactors(model)
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
