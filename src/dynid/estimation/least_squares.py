"""An estimate: values, how sure they are, and how well they fit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array
from dynid.errors import DynidError, InvalidRequestError
from dynid.estimation.factors.factors import Factor, Factors
from dynid.estimation.factors.lazy_sequences import Lazy
from dynid.estimation.quantiles import student_quantile
from dynid.model import BaseParameters


@dataclass(frozen=True)
class JointFit:
    """How well one row of the dynamics is fitted.

    Attributes:
        rows: Number of rows (samples that count).
        rmse: Root of the mean squared error [N m or N].
        relative_error: Norm of the error over the norm of the measured torque.
    """

    rows: int
    rmse: float
    relative_error: float


@dataclass(frozen=True, eq=False)
class Estimate:
    """Parameters with their covariance.

    Attributes:
        names: Parameters that were estimated.
        values: Their values, shape (parameters,).
        covariance: Their covariance, shape (parameters, parameters), if errors are white and the model is right.
        freedom: Rows less parameters: degrees of freedom of the error.
        joints: How well each row of the dynamics is fitted.
        relative_error: Norm of all errors over the norm of all measured torques, unweighted.
        condition_number: Of the unweighted observation matrix of these parameters.
    """

    names: tuple[str, ...]
    values: Array
    covariance: Array
    freedom: int
    joints: Mapping[str, JointFit]
    relative_error: float
    condition_number: float

    @cached_property
    def stds(self) -> Array:
        """Standard deviations, shape (parameters,)."""
        return np.sqrt(np.diag(self.covariance))

    @cached_property
    def relative_stds(self) -> Array:
        """Standard deviations in percent of the values, shape (parameters,); infinite for a value of zero."""
        return relative_stds(self.values, self.stds)

    def interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends of confidence intervals, each of shape (parameters,).

        Args:
            confidence: Share of cases in which such an interval holds the true value, for normal errors; between 0
                and 1.
        """
        if not 0.0 < confidence < 1.0:
            raise InvalidRequestError(f"a confidence lies between 0 and 1, such as 0.95, not {confidence}")
        half = student_quantile(self.freedom, 0.5 + confidence / 2) * self.stds
        return self.values - half, self.values + half


def relative_stds(values: Array, stds: Array) -> Array:
    """Standard deviations in percent of the values, each of shape (parameters,); infinite for a value of zero."""
    sizes = np.abs(values)
    return 100.0 * np.divide(stds, sizes, out=np.full(len(sizes), math.inf), where=sizes > 0.0)


class NotIdentifiableError(DynidError):
    """The data do not determine all parameters.

    Attributes:
        names: Parameters in the combinations that are not determined.
        rows: Number of rows that there are.
        problem: What is lacking.
        noticed: What was noticed about the data, and may be the cause.
    """

    def __init__(self, names: tuple[str, ...], rows: int, problem: str, noticed: str = "") -> None:
        self.names = names
        self.rows = rows
        self.problem = problem
        self.noticed = noticed
        shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
        cause = f" (noticed in the log: {noticed})" if noticed else ""
        super().__init__(f"{problem} ({shown}); move the robot more and in other ways, or leave parameters out{cause}")


def ordinary_least_squares(factors: Factors, base: BaseParameters, names: tuple[str, ...] | None = None) -> Estimate:
    """Estimate base parameters with all rows of equal weight.

    Args:
        factors: The factors of the data.
        base: The base parameters; known ones are taken off first.
        names: Which of them to estimate, the others being zero; all when None.

    Raises:
        NotIdentifiableError: If the data do not determine them.
    """
    names = base.names if names is None else names
    whole = factors.stacked(names, known=base.known)
    values = _solution(whole)
    freedom = whole.rows - len(names)
    variance = whole.residual_squares(values) / freedom
    return _estimate(factors, base, whole, values, variance * _inverse_gram(whole))


def weighted_least_squares(
    factors: Factors | Sequence[Factors],
    base: BaseParameters,
    names: tuple[str, ...] | None = None,
    stds: Sequence[Mapping[str, float]] | Mapping[str, float] | None = None,
    prior: Prior | None = None,
) -> Estimate:
    """Estimate base parameters with the rows of each joint, and of each log, weighed by the size of their errors.

    Args:
        factors: The factors of the data, or those of several logs that are weighed each for itself.
        base: The base parameters; known ones are taken off first.
        names: Which of them to estimate, the others being zero; all when None.
        stds: Standard deviation of each joint's errors [N m or N], or one such mapping a log; those that
            ordinary least squares of everything leaves when None.
        prior: What is known of the parameters beforehand, as independent normal distributions.

    Raises:
        NotIdentifiableError: If the data do not determine them.
    """
    logs = [factors] if isinstance(factors, Factors) else factors
    names = base.names if names is None else names
    if stds is None:
        stds = log_stds(logs, base, names)
    stacked = _weighted(logs, base, names, stds)
    if prior is not None:
        stacked = stacked.with_prior(prior.means, {name: prior.stds[name] for name in names if name in prior.stds})
    values = _solution(stacked)
    whole = merge_logs(logs)
    return _estimate(whole, base, whole.stacked(names, known=base.known), values, _inverse_gram(stacked))


@dataclass(frozen=True)
class Prior:
    """What is known of base parameters beforehand.

    Attributes:
        means: Expected values by name; zero where there is none.
        stds: Standard deviations by name; parameters without one are free.
    """

    means: Mapping[str, float]
    stds: Mapping[str, float]

    @staticmethod
    def near_reference(base: BaseParameters, relative: float) -> Prior:
        """A prior around the robot file's values, with so large a part of them as standard deviation.

        Parameters that the file says nothing of, or that are zero there, are free.
        """
        known = {
            name: float(value)
            for name, value in zip(base.names, base.to_base(base.model.reference), strict=True)
            if np.isfinite(value) and value != 0.0
        }
        return Prior(known, {name: relative * abs(value) for name, value in known.items()})


def log_stds(logs: Sequence[Factors], base: BaseParameters, names: tuple[str, ...]) -> list[dict[str, float]]:
    """For each log the standard deviation of each joint's errors [N m or N] that ordinary least squares leaves."""
    if isinstance(logs, Lazy):
        return logs.once(("stds", names, tuple(base.known.items())), lambda: _log_stds(logs, base, names))
    return _log_stds(logs, base, names)


def _log_stds(logs: Sequence[Factors], base: BaseParameters, names: tuple[str, ...]) -> list[dict[str, float]]:
    fitted = ordinary_least_squares(merge_logs(logs), base, names)
    found = dict(zip(fitted.names, fitted.values.tolist(), strict=True)) | dict(base.known)
    return [{joint: _fit(factor, found).rmse for joint, factor in log.joints.items()} for log in logs]


MERGED_LOGS = 32
"""Logs whose factors are in memory at once while they are merged."""


def merge_logs(logs: Iterable[Factors]) -> Factors:
    """The factors of several logs of one model, merged some at a time."""
    return logs.once("merged", lambda: _merged(logs)) if isinstance(logs, Lazy) else _merged(logs)


def merge_weighted(logs: Sequence[Factors], weights: Sequence[Mapping[str, float]]) -> Factors:
    """The factors of several logs, each with a weight of each joint, merged; found once where logs are lazy."""

    def find() -> Factors:
        return _merged(log.weighted(of_log) for log, of_log in zip(logs, weights, strict=True))

    if not isinstance(logs, Lazy):
        return find()
    return logs.once(("weighted", tuple(tuple(of_log.items()) for of_log in weights)), find)


def _merged(logs: Iterable[Factors]) -> Factors:
    waiting: list[Factors] = []
    for log in logs:
        waiting.append(log)
        if len(waiting) == MERGED_LOGS:
            waiting = [waiting[0].merged(*waiting[1:])]
    return waiting[0].merged(*waiting[1:])


def joint_weights(stds: Mapping[str, float]) -> dict[str, float]:
    """One over each standard deviation, but none below 1e-12 of the largest: exact torques would weigh infinitely."""
    floor = 1e-12 * max(stds.values())
    return {joint: 1.0 / max(std, floor or 1.0) for joint, std in stds.items()}


def _solution(factor: Factor) -> Array:
    """Least-squares solution of a factor that determines all of its parameters."""
    n = len(factor.names)
    if factor.rows <= n:
        problem = f"{factor.rows} rows of data cannot determine {n} parameters"
        raise NotIdentifiableError(factor.names, factor.rows, problem)
    lengths = np.linalg.norm(factor.R, axis=0)
    lengths[lengths == 0.0] = 1.0
    _, sizes, V = np.linalg.svd(factor.R / lengths)
    weak = np.flatnonzero(np.concatenate([sizes, np.zeros(n - len(sizes))]) <= 1e-10 * sizes[0])
    if len(weak):
        share = np.linalg.norm(V[weak], axis=0)
        names = tuple(name for name, part in zip(factor.names, share, strict=True) if part > 0.1)
        problem = f"the trajectory does not excite {len(weak)} parameter combination(s)"
        raise NotIdentifiableError(names, factor.rows, problem)
    return factor.solve()


def _inverse_gram(factor: Factor) -> Array:
    """(R'R)^-1, shape (parameters, parameters)."""
    from scipy.linalg import solve_triangular

    inverse = solve_triangular(factor.R, np.eye(len(factor.names)))
    return inverse @ inverse.T


def _estimate(factors: Factors, base: BaseParameters, whole: Factor, values: Array, covariance: Array) -> Estimate:
    found = dict(zip(whole.names, values.tolist(), strict=True)) | dict(base.known)
    joints, relative_error = joint_fits(factors, found)
    return Estimate(
        names=whole.names,
        values=values,
        covariance=covariance,
        freedom=whole.rows - len(values),
        joints=joints,
        relative_error=relative_error,
        condition_number=float(np.linalg.cond(whole.R)),
    )


def joint_fits(factors: Factors, values: Mapping[str, float]) -> tuple[dict[str, JointFit], float]:
    """How well parameters fit each joint, and the relative error over all; those without a value count as zero."""
    joints = {joint: _fit(factor, values) for joint, factor in factors.joints.items()}
    errors = sum(fit.rmse**2 * fit.rows for fit in joints.values())
    total = sum(factor.residual_squares(np.zeros(len(factor.names))) for factor in factors.joints.values())
    return joints, float(np.sqrt(errors / total)) if total else 0.0


def _fit(factor: Factor, found: Mapping[str, float]) -> JointFit:
    """How well one row's torques are predicted; parameters that are not estimated count as zero."""
    errors = factor.residual_squares(np.array([found.get(name, 0.0) for name in factor.names]))
    total = factor.residual_squares(np.zeros(len(factor.names)))
    return JointFit(
        rows=factor.rows,
        rmse=float(np.sqrt(errors / factor.rows)) if factor.rows else 0.0,
        relative_error=float(np.sqrt(errors / total)) if total else 0.0,
    )


def essential_parameters(
    factors: Factors | Sequence[Factors],
    base: BaseParameters,
    ratio: float = 25.0,
    stds: Sequence[Mapping[str, float]] | Mapping[str, float] | None = None,
    names: tuple[str, ...] | None = None,
) -> Estimate:
    """Estimate the essential ones of the base parameters by weighted least squares.

    Args:
        factors: The factors of the data, or those of several logs that are weighed each for itself.
        base: The base parameters.
        ratio: How many times the smallest relative standard deviation the largest may be.
        stds: Standard deviation of each joint's errors [N m or N]; those of ordinary least squares with all
            base parameters when None. They stay the same in all steps.
        names: Which of the base parameters to begin with, the others being zero; all when None.

    Returns:
        The estimate of those that are left.
    """
    if not ratio > 1.0:
        raise InvalidRequestError(f"the ratio of relative standard deviations must be above 1, such as 25, not {ratio}")
    names = base.names if names is None else names
    if stds is None:
        stds = log_stds([factors] if isinstance(factors, Factors) else factors, base, names)
    whole = _weighted(factors, base, names, stds)  # once: its triangle is all that choosing needs
    _solution(whole)
    while len(whole.names) > 1:
        relative = relative_stds(whole.solve(), np.sqrt(np.diag(_inverse_gram(whole))))
        worst = int(np.argmax(relative))
        if relative[worst] <= ratio * relative.min():
            break
        whole = whole.select([name for k, name in enumerate(whole.names) if k != worst])
    return weighted_least_squares(factors, base, whole.names, stds)


def _weighted(
    factors: Factors | Sequence[Factors],
    base: BaseParameters,
    names: tuple[str, ...],
    stds: Sequence[Mapping[str, float]] | Mapping[str, float],
) -> Factor:
    """The factor of all rows of logs, each divided by its standard deviation; arguments as `weighted_least_squares`."""
    logs = [factors] if isinstance(factors, Factors) else factors
    each = [stds] * len(logs) if isinstance(stds, Mapping) else list(stds)
    return merge_weighted(logs, [joint_weights(of_log) for of_log in each]).stacked(names, known=base.known)
