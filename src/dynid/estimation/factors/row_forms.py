"""Which equations of a log are estimated from: torques of joints, or the power, energy or momentum that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, ShapeError
from dynid.estimation.factors.accumulation import Blocks, blocks_of, factors_of
from dynid.estimation.factors.decimation import processed_rows
from dynid.estimation.factors.factors import Factors
from dynid.estimation.factors.formulation_rows import EnergyRows, MomentumRows, PowerRows, WindowRows
from dynid.estimation.settings import EstimationSettings, FormName
from dynid.logs import PreparedLog, Processing
from dynid.machine import single_threaded_blas
from dynid.model import BaseParameters, Chunk, DynamicModel, Rows, Samples, Segment, TorqueRows, checked, stored_inertia

DEFAULT_WINDOW = 0.05
"""Length of windows of energy and momentum rows [s] where none is stated and rows of torques are not decimated."""

UNITS = {"torque": "N m or N", "power": "W", "energy": "J", "momentum": "N m s or N s"}
"""Units of the rows."""


@dataclass(frozen=True)
class RowForm:
    """A form of rows.

    Attributes:
        name: Its name.
        window: Length of windows of energy and momentum rows [s]. When None, as long as a decimated row of torques
            lasts: that is short against the motion, so nothing of it is lost, and no shorter than it needs.
    """

    name: FormName = "torque"
    window: float | None = None

    @staticmethod
    def of(settings: EstimationSettings) -> RowForm:
        """The form of rows that settings ask for."""
        return RowForm(settings.form, settings.window)

    def equations(self, model: DynamicModel) -> Rows:
        """The equations of a model in this form.

        Raises:
            InvalidRequestError: If a term of the model does not go with rows that have no accelerations.
        """
        if self.name != "torque":
            stored_inertia(model)
        kinds = {"torque": TorqueRows, "power": PowerRows, "energy": EnergyRows, "momentum": MomentumRows}
        return kinds[self.name](model)

    def rows(
        self,
        into: Rows,
        segments: Sequence[Segment],
        processing: Processing,
        rate: float,
        block: int | None = None,
    ) -> Iterator[list[Array]]:
        """Rows `[W | y]` of processed segments, in pieces of bounded size, or in blocks of so many rows.

        Args:
            into: What `equations` gave.
            segments: The samples.
            processing: What was done to them, and how rows are decimated yet.
            rate: Sampling rate [Hz] of the segments before rows are decimated.
            block: Rows of a piece; of any number when None.
        """
        if isinstance(into, TorqueRows):
            yield from processed_rows(into, segments, processing, block)
            return
        self._check(processing)
        if isinstance(into, PowerRows):
            yield from into.passes(segments, rate, processing.decimate, block)
        elif isinstance(into, WindowRows):
            samples = self._samples(segments, processing, rate)
            names = into.row_names
            for matrices in into.passes(segments, rate, samples, processing.thresholds, block):
                yield [W[:0] if name in processing.unmeasured else W for name, W in zip(names, matrices, strict=True)]

    def factors(self, model: DynamicModel, segments: Sequence[Segment], processing: Processing, rate: float) -> Factors:
        """The factors of processed segments; arguments as `rows`."""
        into = self.equations(model)
        return factors_of(into, self.rows(into, segments, processing, rate))

    def blocks(self, model: DynamicModel, log: PreparedLog, size: int) -> tuple[Factors, Blocks]:
        """The factors of a log, and those of its blocks of so many rows each, in one pass."""
        into = self.equations(model)
        joined = 1
        if isinstance(into, TorqueRows | WindowRows):  # large blocks in several pieces, so that memory is bounded
            samples = 1 if isinstance(into, TorqueRows) else self.samples_a_row(log.processing, log.sampling)
            joined = max(1, -(-size * samples // into.samples_a_chunk))
        rows = self.rows(into, log.segments, log.processing, log.sampling, -(-size // joined))
        return blocks_of(into, rows, joined)

    def samples_a_row(self, processing: Processing, rate: float) -> int:
        """How many samples of a log make one row."""
        decimated = int(np.prod(processing.decimate or (1,)))
        if self.name in ("torque", "power"):
            return decimated
        if self.window is None:
            return max(2, decimated if decimated > 1 else round(DEFAULT_WINDOW * rate))
        return max(2, round(self.window * rate))

    def _samples(self, segments: Sequence[Segment], processing: Processing, rate: float) -> int:
        samples = self.samples_a_row(processing, rate)
        longest = max(map(len, segments), default=0)
        if longest <= samples:
            raise InvalidRequestError(
                f"windows of {samples / rate:.3g} s do not fit into a log whose longest even piece lasts "
                f"{longest / rate:.3g} s; choose a shorter estimation.window"
            )
        return samples

    def _check(self, processing: Processing) -> None:
        """Refuse processing that leaves such rows without sense."""
        if processing.rate is not None:
            raise InvalidRequestError(
                f"estimator = '{self.name}' needs every sample of a log, and processing.rate = {processing.rate:g} Hz "
                "leaves some out; use processing.decimate, or estimator = 'torque'"
            )
        if processing.unmeasured and self.name in ("power", "energy"):
            listed = ", ".join(f"'{name}'" for name in processing.unmeasured)
            raise InvalidRequestError(
                f"estimator = '{self.name}' needs the torques of all joints, and those of {listed} were not measured; "
                "use estimator = 'momentum' or 'torque', or lock these joints"
            )


TORQUES = RowForm()
"""Rows of torques: one per sample and joint."""

TIME_BLOCKS = 128
"""Blocks of time that all logs together are cut into."""


def block_rows(logs: Sequence[PreparedLog], form: RowForm) -> int:
    """How many rows make one of the blocks of time that all logs together are cut into."""
    rows = [log.samples // form.samples_a_row(log.processing, log.sampling) for log in logs]
    return max(1, -(-sum(rows) // TIME_BLOCKS))


HELD_BYTES = 200_000_000
"""Bytes of rows that are held between passes; larger logs are made into rows anew each time."""


class RowPasses:
    """The rows `[W | y]` of one log, as often as they are needed; nothing may be written to them.

    Args:
        base: The base parameters, with their model.
        log: The log.
        block: Rows of a piece; pieces of any size when None.
        form: What the rows are.
        held: Bytes of rows that are held between passes; larger logs are made into rows anew each time.
    """

    def __init__(
        self,
        base: BaseParameters,
        log: PreparedLog,
        block: int | None = None,
        form: RowForm = TORQUES,
        held: int = HELD_BYTES,
    ) -> None:
        self.base = base
        self.form = form
        self.rows = form.equations(base.model)
        self._log = log
        self._block = block
        self._limit = held
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
            if held is not None and size <= self._limit:
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
