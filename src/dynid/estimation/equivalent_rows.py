"""Estimates of any kind as factors: rows whose least squares are the estimate, so that all that takes factors goes on.

Physically consistent links, essential parameters and intervals all start from factors. An estimate b with covariance C
is as good as one factor R with R'R = C^-1 and R b on its right.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.factors.factors import Factor, Factors
from dynid.model import BaseParameters

EQUIVALENT = "all joints"
"""Name of the only row of such factors."""


def equivalent_factors(base: BaseParameters, values: Array, covariance: Array, rows: int) -> Factors:
    """Factors whose weighted least squares have these values and this covariance.

    Args:
        base: The base parameters.
        values: Their values, shape (base,).
        covariance: Their covariance, shape (base, base).
        rows: Number of rows that they were estimated from.

    Raises:
        InvalidRequestError: If the covariance is not positive definite.
    """
    scale = np.sqrt(np.diag(covariance))
    try:
        if not (scale > 0.0).all():
            raise np.linalg.LinAlgError
        L = np.linalg.cholesky(covariance / np.outer(scale, scale))
    except np.linalg.LinAlgError:
        raise InvalidRequestError(
            "the estimator's covariance is not positive definite: the data do not determine all parameters; leave some "
            "out, or use estimator = 'torque'"
        ) from None
    R = linalg.solve_triangular(L, np.diag(1.0 / scale), lower=True)
    return whitened_factors(base, R, R @ values, rows)


def whitened_factors(base: BaseParameters, W: Array, y: Array, rows: int) -> Factors:
    """Factors of rows `[W | y]` of base parameters whose errors have unit variance.

    Args:
        base: The base parameters; known ones are taken off already.
        W: Shape (k, base).
        y: Shape (k,).
        rows: Number of rows that they stand for.
    """
    found = Factor.of(base.names, W, y)
    freedom = max(rows - len(base.names), 1)
    factor = Factor(base.names, found.R, found.z, float(freedom), freedom + len(base.names))
    return Factors(base.model.names, {EQUIVALENT: factor}, "estimate")
