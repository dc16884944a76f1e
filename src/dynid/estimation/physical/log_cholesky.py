"""Physical bodies without conditions: ten free numbers, each choice of which is a possible body.

The pseudo-inertia is written as J = U U' with

    U = exp(alpha) [[exp(d1), s12, s13, t1], [0, exp(d2), s23, t2], [0, 0, exp(d3), t3], [0, 0, 0, 1]]

and theta = (alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3). Every theta gives a positive definite J, and every positive
definite J one theta. exp(2 alpha) is the mass, and (t1, t2, t3) the centre of mass. Estimators that are not linear can
so move freely (Rucker and Wensing, "Smooth parameterization of rigid-body inertia", 2022).
"""

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.robot import inertia

_PLACES = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))
"""Where s12, s23, s13, t1, t2, t3 stand in U."""


def from_log_cholesky(theta: Array) -> Array:
    """The 10-vector of a body's free numbers; (10,) to (10,)."""
    U = _root(np.asarray(theta, dtype=float))
    return inertia.from_pseudo_inertia(U @ U.T)


def to_log_cholesky(parameters: Array) -> Array:
    """The free numbers of a body's 10-vector; (10,) to (10,).

    Raises:
        InvalidRequestError: If the body is not strictly physical, so that it has none.
    """
    J = inertia.to_pseudo_inertia(np.asarray(parameters, dtype=float))
    try:
        lower = np.linalg.cholesky(J[::-1, ::-1])
    except np.linalg.LinAlgError:
        raise InvalidRequestError(
            "only a body with a positive definite pseudo-inertia has free numbers; repair it first"
        ) from None
    U = lower[::-1, ::-1]  # J reversed is L L', so J is U U' with U upper triangular
    unit = U / U[3, 3]
    return np.concatenate([[np.log(U[3, 3])], np.log(np.diag(unit)[:3]), [unit[place] for place in _PLACES]])


def jacobian(theta: Array) -> Array:
    """Derivative of the 10-vector by the free numbers: d p[i] / d theta[k] at [i, k], shape (10, 10)."""
    U = _root(np.asarray(theta, dtype=float))
    scale = U[3, 3]
    columns = []
    for k in range(inertia.SIZE):
        dU = np.zeros((4, 4))
        if k == 0:
            dU = U
        elif k <= 3:
            dU[k - 1, k - 1] = U[k - 1, k - 1]
        else:
            dU[_PLACES[k - 4]] = scale
        half = dU @ U.T
        columns.append(inertia.from_pseudo_inertia(half + half.T))
    return np.stack(columns, axis=1)


def _root(theta: Array) -> Array:
    U = np.diag(np.exp([*theta[1:4], 0.0]))
    for value, place in zip(theta[4:], _PLACES, strict=True):
        U[place] = value
    return np.exp(theta[0]) * U
