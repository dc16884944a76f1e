"""An estimate: values, how sure they are, and how well they fit."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError


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
        sizes = np.abs(self.values)
        return 100.0 * np.divide(self.stds, sizes, out=np.full(len(sizes), math.inf), where=sizes > 0.0)

    def interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper ends of confidence intervals, each of shape (parameters,).

        Args:
            confidence: Share of cases in which such an interval holds the true value, for normal errors; between 0
                and 1.
        """
        from scipy.stats import t

        if not 0.0 < confidence < 1.0:
            raise InvalidRequestError(f"a confidence lies between 0 and 1, such as 0.95, not {confidence}")
        half = t.ppf(0.5 + confidence / 2, self.freedom) * self.stds
        return self.values - half, self.values + half
