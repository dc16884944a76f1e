"""Total least squares: errors in the observation matrix as well as in torques, all of one size after scaling.

They are right where the errors of all columns and of the torques are independent and of known ratios. Columns of a
robot are functions of the same few noisy positions, so they are not; the estimate is here for comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.factors import Factors
from dynid.estimation.least_squares import NotIdentifiableError, joint_weights, log_stds, merge_weighted
from dynid.model import BaseParameters


@dataclass(frozen=True, eq=False)
class TotalEstimate:
    """An estimate by total least squares.

    Attributes:
        values: Base parameters, shape (base,).
        covariance: Their covariance to first order, shape (base, base).
        rows: Number of rows.
    """

    values: Array
    covariance: Array
    rows: int


def total_least_squares(logs: Sequence[Factors], base: BaseParameters) -> TotalEstimate:
    """Estimate base parameters from the smallest singular vector of `[W | y]`.

    Rows of joints are weighed by the errors of least squares; columns are scaled to unit length, so that relative
    errors of all columns are taken as equal.

    Args:
        logs: The factors of each log.
        base: The base parameters.

    Raises:
        NotIdentifiableError: If torques have no part in the smallest singular vector.
    """
    weights = [joint_weights(stds) for stds in log_stds(logs, base, base.names)]
    whole = merge_weighted(logs, weights).stacked(base.names, known=base.known)
    n = len(base.names)
    A = np.zeros((n + 1, n + 1))
    A[: len(whole.z), :n], A[: len(whole.z), n], A[n, n] = whole.R, whole.z, np.sqrt(whole.squares)
    scale = np.linalg.norm(A, axis=0)
    if not (scale > 0.0).all():
        raise NotIdentifiableError(tuple(np.array(base.names)[scale[:n] == 0.0]), whole.rows, "columns are zero")
    _, s, V = np.linalg.svd(A / scale)
    smallest = V[-1]
    if abs(smallest[n]) < 1e-9:
        raise NotIdentifiableError(base.names, whole.rows, "total least squares find no solution")
    scaled = -smallest[:n] / smallest[n]
    values = scaled / scale[:n] * scale[n]
    R = A[:, :n] / scale[:n]
    gram = R.T @ R - s[-1] ** 2 * np.eye(n)
    noise = s[-1] ** 2 / max(whole.rows - n, 1) * (1.0 + float(scaled @ scaled))
    inverse = np.linalg.inv(gram)
    covariance = noise * inverse @ (R.T @ R) @ inverse
    D = scale[n] / scale[:n]
    return TotalEstimate(values, covariance * np.outer(D, D), whole.rows)
