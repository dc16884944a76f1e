"""An estimate beside the true parameters, which only a simulated robot has."""

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation import merge_logs
from dynid.identification import Result


@dataclass(frozen=True)
class TrueComparison:
    """Estimated base parameters beside the true ones, each by itself: their units differ.

    Attributes:
        parameters: Number of base parameters.
        within_intervals: How many lie within their confidence intervals, the wider of both.
        confidence: Of these intervals: how many should.
        within_tenth: How many lie within a tenth of their true values.
        largest_torque_effect: Largest part of the logged torques, as norms, that the error of a single one makes.
    """

    parameters: int
    within_intervals: int
    confidence: float
    within_tenth: int
    largest_torque_effect: float


def compared_with_truth(result: Result, truth: Array) -> TrueComparison:
    """Compare an estimate with true standard parameters, shape (parameters,)."""
    base, rows = result.base, result.parameters
    b, values = base.to_base(truth), result.parameters.values
    lower = np.array([min(row.lower, np.inf if row.bootstrap_lower is None else row.bootstrap_lower) for row in rows])
    upper = np.array([max(row.upper, -np.inf if row.bootstrap_upper is None else row.bootstrap_upper) for row in rows])
    factor = merge_logs(result.torques).stacked(base.names, known=base.known)
    torques = np.sqrt(factor.residual_squares(np.zeros(len(b))))
    effects = np.linalg.norm(factor.R, axis=0) * np.abs(values - b) / torques
    return TrueComparison(
        parameters=len(b),
        within_intervals=int(np.sum((lower <= b) & (b <= upper))),
        confidence=result.record.confidence,
        within_tenth=int(np.sum(np.abs(values - b) <= 0.1 * np.abs(b))),
        largest_torque_effect=float(effects.max()),
    )
