"""Estimates that outliers do not spoil: iteratively reweighted least squares, by sample.

Huber's loss grows with the square of small errors and in proportion to large ones; Tukey's bisquare gives the largest
no weight at all. Each row of each joint is weighed by its own error, relative to the robust scale (1.4826 times the
median absolute error) of its joint in its log. Logs whose rows are too many to hold are passed over anew each time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.estimation.factors.accumulation import factors_of
from dynid.estimation.factors.factors import Factors
from dynid.estimation.factors.row_forms import HELD_BYTES, TORQUES, RowForm, RowPasses
from dynid.estimation.least_squares import Estimate, Prior, weighted_least_squares
from dynid.logs import PreparedLog
from dynid.model import BaseParameters

HUBER = 1.345
"""Errors, in scales, up to which Huber's loss is a square: 95 % efficient for normal errors."""

BISQUARE = 4.685
"""Errors, in scales, from which the bisquare has no weight: 95 % efficient, too."""

MOST_ITERATIONS = 50

Loss = Callable[[Array], Array]
"""From errors in scales to weights of squared errors, between 0 and 1."""


@dataclass(frozen=True, eq=False)
class RobustFit:
    """A robust estimate.

    Attributes:
        estimate: The estimate, with the covariance of M-estimators.
        logs: Factors of the logs with rows weighed by their errors.
        scales: Robust scale of each joint's errors in each log [N m or N].
        light: For each joint the share of its rows that weigh less than half.
        iterations: How many it took.
    """

    estimate: Estimate
    logs: tuple[Factors, ...]
    scales: tuple[Mapping[str, float], ...]
    light: Mapping[str, float]
    iterations: int


def huber(u: Array) -> Array:
    """Weights of Huber's loss.

    >>> huber(np.array([0.0, 2.69])).tolist()
    [1.0, 0.5]
    """
    return HUBER / np.maximum(np.abs(u), HUBER)


def bisquare(u: Array) -> Array:
    """Weights of Tukey's bisquare.

    >>> bisquare(np.array([0.0, 5.0])).tolist()
    [1.0, 0.0]
    """
    return np.maximum(1.0 - (u / BISQUARE) ** 2, 0.0) ** 2


LOSSES: Mapping[str, Loss] = {"huber": huber, "bisquare": bisquare}


def robust_least_squares(
    logs: Sequence[PreparedLog],
    weights: Sequence[float],
    plain: Sequence[Factors],
    base: BaseParameters,
    loss: str,
    prior: Prior | None = None,
    form: RowForm = TORQUES,
) -> RobustFit:
    """Estimate base parameters with rows weighed by their errors.

    Args:
        logs: The samples of each log.
        weights: A factor for all rows of each log.
        plain: The factors of the logs without such weights: the first estimate comes from them.
        base: The base parameters.
        loss: "huber" or "bisquare", which begins where Huber's ends.
        prior: What is known of the parameters beforehand.
        form: What the rows are.
    """
    estimate = weighted_least_squares(plain, base, prior=prior)
    passes = [RowPasses(base, log, form=form, held=HELD_BYTES // max(len(logs), 1)) for log in logs]
    fit: RobustFit | None = None
    for stage in dict.fromkeys(("huber", loss)):
        for k in range(MOST_ITERATIONS):
            before = estimate
            fit = _step(passes, weights, plain, base, LOSSES[stage], estimate, prior, k + 1)
            estimate = fit.estimate
            if np.all(np.abs(estimate.values - before.values) <= 1e-3 * estimate.stds):
                break
    assert fit is not None
    return fit


def _step(
    logs: Sequence[RowPasses],
    weights: Sequence[float],
    plain: Sequence[Factors],
    base: BaseParameters,
    loss: Loss,
    estimate: Estimate,
    prior: Prior | None,
    iteration: int,
) -> RobustFit:
    """Weigh rows by the errors of an estimate, and estimate again."""
    joints = tuple(estimate.joints)
    errors = [[np.concatenate(e) for e in _errors(log, estimate.values)] for log in logs]
    scales = [[_scale(e) for e in of_log] for of_log in errors]
    factors, stds, light = [], [], np.zeros((2, len(joints)))
    for log, weight, scale, of_log in zip(logs, weights, scales, errors, strict=True):
        factors.append(_weighed(log, estimate.values, scale, loss).weighted(weight))
        stds.append({j: weight * _spread(e, s, loss) for j, e, s in zip(joints, of_log, scale, strict=True)})
        for row, (e, s) in enumerate(zip(of_log, scale, strict=True)):
            light[:, row] += np.array([np.sum(loss(e / s) < 0.5), len(e)], dtype=float)
    sizes = [
        {joint: weight * s for joint, s in zip(joints, scale, strict=True)}
        for weight, scale in zip(weights, scales, strict=True)
    ]
    earlier = list(plain[: len(plain) - len(logs)])  # logs that were read before keep their plain factors
    known = [{joint: fit.rmse for joint, fit in estimate.joints.items()}] * len(earlier)
    new = weighted_least_squares([*earlier, *factors], base, stds=[*known, *sizes], prior=prior)
    spread = weighted_least_squares(plain, base, stds=[*known, *stds], prior=prior)
    share = {joint: float(low / max(all_rows, 1.0)) for joint, low, all_rows in zip(joints, *light, strict=True)}
    new = replace(new, covariance=spread.covariance)
    return RobustFit(new, (*earlier, *factors), (*known, *sizes), share, iteration)


def _errors(log: RowPasses, values: Array) -> list[list[Array]]:
    """Errors of each joint's rows, a piece at a time."""
    found: list[list[Array]] = [[np.zeros(0)] for _ in log.rows.row_names]
    for _, left in log.errors(values):
        for row, e in enumerate(left):
            found[row].append(e)
    return found


def _scale(errors: Array) -> float:
    return float(1.4826 * np.median(np.abs(errors))) or 1e-300 if len(errors) else 1.0


def _weighed(log: RowPasses, values: Array, scales: Sequence[float], loss: Loss) -> Factors:
    """Factors of a log with rows weighed by their errors."""
    weighted = (
        [W * np.sqrt(loss(e / s))[:, None] for W, e, s in zip(matrices, left, scales, strict=True)]
        for matrices, left in log.errors(values)
    )
    return factors_of(log.rows, weighted)


def _spread(errors: Array, scale: float, loss: Loss) -> float:
    """Standard deviation that plain rows would need for the covariance of the M-estimator [N m or N].

    The asymptotic variance of an M-estimator is E psi^2 / (E psi')^2 times that of unit errors.
    """
    if not len(errors):
        return 1.0
    u, h = errors / scale, 1e-4
    psi = u * loss(u)
    slope = float(np.mean(((u + h) * loss(u + h) - (u - h) * loss(u - h)) / (2.0 * h)))
    return scale * float(np.sqrt(np.mean(psi**2))) / max(slope, 0.05)
