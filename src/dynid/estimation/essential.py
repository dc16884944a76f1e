"""Essential parameters: those that the data really speak of.

The parameter with the largest relative deviation is left out, the rest are estimated again, and so on, until no
relative deviation is larger than a ratio times the smallest one. Each step is algebra on the factors: no data are read
again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dynid.data.factors import Factors
from dynid.errors import InvalidRequestError
from dynid.estimation.estimate import Estimate
from dynid.estimation.least_squares import log_deviations, weighted_least_squares
from dynid.model.base_parameters import BaseParameters


def essential_parameters(
    factors: Factors | Sequence[Factors],
    base: BaseParameters,
    ratio: float = 25.0,
    deviations: Sequence[Mapping[str, float]] | Mapping[str, float] | None = None,
    names: tuple[str, ...] | None = None,
) -> Estimate:
    """Estimate the essential ones of the base parameters by weighted least squares.

    Args:
        factors: The factors of the data, or those of several logs that are weighed each for itself.
        base: The base parameters.
        ratio: How many times the smallest relative deviation the largest may be.
        deviations: Standard deviation of each joint's errors [N m or N]; those of ordinary least squares with all
            base parameters when None. They stay the same in all steps.
        names: Which of the base parameters to begin with, the others being zero; all when None.

    Returns:
        The estimate of those that are left.
    """
    if not ratio > 1.0:
        raise InvalidRequestError(f"the ratio of relative deviations must be above 1, such as 25, not {ratio}")
    names = base.names if names is None else names
    if deviations is None:
        deviations = log_deviations([factors] if isinstance(factors, Factors) else factors, base, names)
    estimate = weighted_least_squares(factors, base, names, deviations)
    while len(estimate.names) > 1:
        relative = estimate.relative_deviations
        worst = int(np.argmax(relative))
        if relative[worst] <= ratio * relative.min():
            break
        left = tuple(name for k, name in enumerate(estimate.names) if k != worst)
        estimate = weighted_least_squares(factors, base, left, deviations)
    return estimate
