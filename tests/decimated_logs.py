"""Factors of decimated logs, in one call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dynid.estimation.factors.accumulation import factors_of
from dynid.estimation.factors.decimation import decimated_rows
from dynid.estimation.factors.factors import Factors
from dynid.model.chunks import Chunk
from dynid.model.dynamic_model import DynamicModel
from dynid.model.formulations.torque_rows import TorqueRows


def factorise_decimated(
    model: DynamicModel, segments: Iterable[Chunk], factors: Sequence[int], thresholds: Sequence[float] | None = None
) -> Factors:
    """Factors of segments after decimating both sides of their equations."""
    rows = TorqueRows(model)
    return factors_of(rows, decimated_rows(rows, segments, factors, thresholds))
