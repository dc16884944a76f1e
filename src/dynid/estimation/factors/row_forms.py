"""Which equations of a log are estimated from: torques of joints, or the power, energy or momentum that they make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.factors.accumulation import factors_of
from dynid.estimation.factors.decimation import processed_rows
from dynid.estimation.factors.factors import Factors
from dynid.estimation.factors.formulation_rows import EnergyRows, MomentumRows, PowerRows, WindowRows
from dynid.estimation.settings import EstimationSettings
from dynid.logs.settings import Processing
from dynid.model.chunks import Chunk
from dynid.model.dynamic_model import DynamicModel
from dynid.model.formulations.energy import stored_inertia
from dynid.model.formulations.torque_rows import Rows, TorqueRows

FormName = Literal["torque", "power", "energy", "momentum"]

WINDOW = 0.05
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
        return RowForm(settings.estimator, settings.window)

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
        segments: Sequence[Chunk],
        processing: Processing,
        rate: float,
        block: int | None = None,
    ) -> Iterator[list[Array]]:
        """Rows `[W | y]` of processed segments, in pieces of bounded size, or in blocks of so many rows.

        Args:
            into: What `equations` gave.
            segments: The samples.
            processing: What was done to them, and how rows are thinned out yet.
            rate: Samples a second [Hz] of the segments before rows are thinned out.
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

    def factors(self, model: DynamicModel, segments: Sequence[Chunk], processing: Processing, rate: float) -> Factors:
        """The factors of processed segments; arguments as `rows`."""
        into = self.equations(model)
        return factors_of(into, self.rows(into, segments, processing, rate))

    def samples_a_row(self, processing: Processing, rate: float) -> int:
        """How many samples of a log make one row."""
        decimated = int(np.prod(processing.decimate or (1,)))
        if self.name in ("torque", "power"):
            return decimated
        if self.window is None:
            return max(2, decimated if decimated > 1 else round(WINDOW * rate))
        return max(2, round(self.window * rate))

    def _samples(self, segments: Sequence[Chunk], processing: Processing, rate: float) -> int:
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
"""Rows of torques: one a sample and joint."""
