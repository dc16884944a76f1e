"""Criteria of excitation: functions of the eigenvalues of the information matrix, to be minimised.

With W the base observation matrix (rows weighed by the noise of their joints, columns by what is known of their
parameters), the information is `M = W^T W`, and the covariance of least squares is its inverse. All criteria are
functions of the eigenvalues of M alone, so the slope of each over M is `U diag(slopes) U^T`, with U the eigenvectors.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, UnknownNameError

SMALLEST_EIGENVALUE = 1e-17
"""Eigenvalues are taken as at least this part of the largest, so that logarithms stay finite."""


class Criterion(ABC):
    """A function of eigenvalues that is small for exciting motions."""

    @abstractmethod
    def evaluate(self, eigenvalues: Array) -> tuple[float, Array]:
        """The value and its slope over each eigenvalue; (parameters,), ascending, to a number and (parameters,)."""

    def smoothed(self, power: float) -> Criterion:
        """The same with largest and smallest eigenvalues replaced by norms of this power over all; exact for infinity.

        The largest of several eigenvalues has a kink where two cross, and near an optimum many do.
        """
        return self


@dataclass(frozen=True)
class Condition(Criterion):
    """Logarithm of the condition number of W: `(log l_max - log l_min) / 2`."""

    power: float = np.inf

    def evaluate(self, eigenvalues: Array) -> tuple[float, Array]:
        """With a power p: `(log sum l^p + log sum l^-p) / (2 p)`."""
        largest, over_largest = _log_norm(eigenvalues, self.power)
        smallest, over_smallest = _log_norm(eigenvalues, -self.power)
        return 0.5 * (largest - smallest), 0.5 * (over_largest - over_smallest)

    def smoothed(self, power: float) -> Condition:
        """With norms instead of extremes."""
        return Condition(power)


@dataclass(frozen=True)
class LargestStd(Criterion):
    """E: logarithm of the inverse of the smallest singular value of W, the worst direction's standard deviation."""

    power: float = np.inf

    def evaluate(self, eigenvalues: Array) -> tuple[float, Array]:
        """`-log(l_min) / 2`."""
        smallest, slopes = _log_norm(eigenvalues, -self.power)
        return -0.5 * smallest, -0.5 * slopes

    def smoothed(self, power: float) -> LargestStd:
        """With a norm instead of the extreme."""
        return LargestStd(power)


@dataclass(frozen=True)
class Determinant(Criterion):
    """D: `-log det(M) / (2 n)`, the mean logarithm of the standard deviations."""

    def evaluate(self, eigenvalues: Array) -> tuple[float, Array]:
        """Minus half the mean logarithm."""
        values = _positive(eigenvalues)
        return -0.5 * float(np.log(values).mean()), -0.5 / (len(values) * values)


@dataclass(frozen=True)
class CovarianceTrace(Criterion):
    """A: `log trace(M^-1) / 2`, the logarithm of the root sum of variances."""

    def evaluate(self, eigenvalues: Array) -> tuple[float, Array]:
        """Half the logarithm of the sum of inverses."""
        smallest, slopes = _log_norm(eigenvalues, -1.0)
        return -0.5 * smallest, -0.5 * slopes


@dataclass(frozen=True)
class Combination(Criterion):
    """A sum of criteria with weights.

    Attributes:
        parts: Pairs of a weight and a criterion.
    """

    parts: tuple[tuple[float, Criterion], ...]

    def evaluate(self, eigenvalues: Array) -> tuple[float, Array]:
        """The weighted sum."""
        values = [(weight, *part.evaluate(eigenvalues)) for weight, part in self.parts]
        return (
            sum(weight * value for weight, value, _ in values),
            np.sum([weight * slopes for weight, _, slopes in values], axis=0),
        )

    def smoothed(self, power: float) -> Combination:
        """With all parts smoothed."""
        return Combination(tuple((weight, part.smoothed(power)) for weight, part in self.parts))


CRITERIA: dict[str, Criterion] = {
    "condition": Condition(),
    "determinant": Determinant(),
    "trace": CovarianceTrace(),
    "smallest": LargestStd(),
}
"""Criteria by the names that users write."""


def parse_criterion(text: str) -> Criterion:
    """Make a criterion from what users write: a name, or a sum such as `condition + 0.5*trace`.

    >>> parse_criterion("condition + 0.5*trace").parts[1]
    (0.5, CovarianceTrace())
    >>> parse_criterion("trace+1e+1*smallest").parts[1][0]
    10.0
    """
    parts = tuple(_weighted(part) for part in re.split(r"(?<![0-9.][eE])\+", text))  # 1e+1 is a number
    return parts[0][1] if len(parts) == 1 and parts[0][0] == 1.0 else Combination(parts)


def _weighted(text: str) -> tuple[float, Criterion]:
    factor, star, name = text.partition("*")
    name = (name if star else factor).strip()
    if name not in CRITERIA:
        raise UnknownNameError("criterion", name, CRITERIA)
    try:
        weight = float(factor) if star else 1.0
    except ValueError:
        weight = -1.0
    if not 0.0 < weight < np.inf:
        raise InvalidRequestError(f"'{text.strip()}' is no part of a criterion; write NAME or NUMBER*NAME")
    return weight, CRITERIA[name]


def _positive(eigenvalues: Array) -> Array:
    return np.maximum(eigenvalues, max(SMALLEST_EIGENVALUE * float(eigenvalues[-1]), 1e-200))


def _log_norm(eigenvalues: Array, power: float) -> tuple[float, Array]:
    """Logarithm of `(sum l^p)^(1/p)` and its slopes; of the largest eigenvalue for p infinite, the smallest for -p."""
    values = _positive(eigenvalues)
    slopes = np.zeros_like(values)
    if np.isinf(power):
        k = -1 if power > 0 else 0
        slopes[k] = 1.0 / values[k]
        return float(np.log(values[k])), slopes
    logs = power * np.log(values)
    top = logs.max()
    shares = np.exp(logs - top)
    total = shares.sum()
    return float((top + np.log(total)) / power), shares / (total * values)
