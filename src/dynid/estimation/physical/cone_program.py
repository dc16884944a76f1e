"""Small convex programs: least squares with a linear cost over cones, solved by Clarabel.

minimise |A x - c|^2 + cost' x, with offset_i + rows_i x in a cone, for every i.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from scipy import sparse

from dynid.arrays import Array
from dynid.errors import DynidError

OPTIMUM_GAP = 1e-4
"""Accuracy of the optimum. Objectives count squared standard deviations of errors: this is a hundredth of one."""

_ATTEMPTS: tuple[dict[str, Any], ...] = (
    {},
    {"equilibrate_enable": False},
    {"max_step_fraction": 0.95},
    {"max_step_fraction": 0.9, "static_regularization_constant": 1e-7},
)
"""Settings to try in turn: one of them gets through where rounding stops another."""

_ROOT_2 = float(np.sqrt(2.0))


class ConeKind(Enum):
    """Sets that are closed under scaling."""

    ZERO = "zero"
    """Equality."""
    NONNEGATIVE = "nonnegative"
    """Each element is at least zero."""
    SEMIDEFINITE = "semidefinite"
    """The symmetric matrix of a `stacked` vector is positive semidefinite."""
    EXPONENTIAL = "exponential"
    """Triples (x, y, z) with y exp(x / y) <= z and y > 0, one after the other."""


@dataclass(frozen=True, eq=False)
class Cone:
    """A condition `offset + rows @ x` in a cone.

    Attributes:
        kind: The cone.
        rows: Sparse or dense matrix, shape (m, variables).
        offset: Shape (m,).
    """

    kind: ConeKind
    rows: Any
    offset: Array


class SolverError(DynidError):
    """A convex program was not solved to full accuracy.

    Attributes:
        status: What the solver said.
    """

    def __init__(self, status: str) -> None:
        self.status = status
        super().__init__(
            f"the semidefinite solver stopped with '{status}', so there are no physical links; check signs and units "
            "of torques, give the prior another weight, or do without (physical.fit = false)"
        )


class InfeasibleError(DynidError):
    """No point satisfies all conditions."""

    def __init__(self) -> None:
        super().__init__("no parameters satisfy all conditions at once")


def stack_order(size: int) -> list[tuple[int, int]]:
    """Order of the elements (i, j), i <= j, of a symmetric matrix in its stacked form: column by column."""
    return [(i, j) for j in range(size) for i in range(j + 1)]


def stacked(matrices: Array) -> Array:
    """Symmetric matrices as vectors of the same norm: (..., n, n) to (..., n (n + 1) / 2)."""
    order = stack_order(matrices.shape[-1])
    return np.stack([matrices[..., i, j] * (1.0 if i == j else _ROOT_2) for i, j in order], axis=-1)


def log_det(X: range, helpers: range, total: int) -> list[Cone]:
    """`t_1 + ... + t_n <= log det X` for a symmetric matrix X of size n.

    [[X, Z], [Z', diag Z]] is positive semidefinite for some lower triangular Z exactly when det X >= prod Z_dd; and
    t_d <= log Z_dd.

    Args:
        X: Variables that are the stacked matrix.
        helpers: As many variables more, for Z, and n more, for t.
        total: Number of all variables.
    """
    size = int(np.sqrt(2 * len(X)))
    small, large = stack_order(size), stack_order(2 * size)
    Z = {(j, i): helpers[k] for k, (i, j) in enumerate(small)}
    block = sparse.lil_array((len(large), total))
    logs = sparse.lil_array((3 * size, total))
    for row, (i, j) in enumerate(large):
        if j < size:
            block[row, X[small.index((i, j))]] = 1.0
        elif i < size and (i, j - size) in Z:
            block[row, Z[i, j - size]] = _ROOT_2
        elif i == j:
            block[row, Z[i - size, i - size]] = 1.0
    for d in range(size):
        logs[3 * d, helpers[len(small) + d]] = 1.0
        logs[3 * d + 2, Z[d, d]] = 1.0
    return [
        Cone(ConeKind.SEMIDEFINITE, block, np.zeros(len(large))),
        Cone(ConeKind.EXPONENTIAL, logs, np.tile([0.0, 1.0, 0.0], size)),
    ]


def minimise(A: Array, c: Array, cost: Array, cones: Sequence[Cone]) -> Array:
    """Solve a program; see the module's docstring.

    Args:
        A: Shape (m, variables).
        c: Shape (m,).
        cost: Shape (variables,).
        cones: The conditions.

    Returns:
        The optimal x, shape (variables,).

    Raises:
        InfeasibleError: If no x satisfies the conditions.
        SolverError: If the solver did not reach its full accuracy.
    """
    import clarabel

    m, n = A.shape
    # The error u = A x - c gets variables of its own: the condition number of A is not squared.
    error = sparse.hstack([sparse.csc_matrix(A), -sparse.identity(m)])
    rows = [error, *(sparse.hstack([-sparse.csc_matrix(cone.rows), _nothing(cone, m)]) for cone in cones)]
    offsets = [c, *(cone.offset for cone in cones)]
    kinds = [clarabel.ZeroConeT(m)]
    for cone in cones:
        kinds += _cones_of(cone)
    problem = (
        sparse.diags_array(np.concatenate([np.zeros(n), np.full(m, 2.0)])).tocsc(),
        np.concatenate([cost, np.zeros(m)]),
        sparse.vstack(rows).tocsc(),
        np.concatenate(offsets),
        kinds,
    )
    status = ""
    for attempt in _ATTEMPTS:
        try:
            solution = clarabel.DefaultSolver(*problem, _settings(attempt)).solve()
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # what Rust raises where a factorisation meets NaN
                raise
            status = "broke down"
            continue
        status = str(solution.status)
        if status == "PrimalInfeasible":
            raise InfeasibleError
        if status == "Solved":
            return np.array(solution.x)[:n]
    raise SolverError(status)


def _settings(changes: dict[str, Any]) -> Any:
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = OPTIMUM_GAP
    for key, value in changes.items():
        setattr(settings, key, value)
    return settings


def _nothing(cone: Cone, width: int) -> Any:
    return sparse.csc_matrix((len(cone.offset), width))


def _cones_of(cone: Cone) -> list[Any]:
    """Clarabel's cones of a condition."""
    import clarabel

    size = len(cone.offset)
    match cone.kind:
        case ConeKind.ZERO:
            return [clarabel.ZeroConeT(size)]
        case ConeKind.NONNEGATIVE:
            return [clarabel.NonnegativeConeT(size)]
        case ConeKind.SEMIDEFINITE:
            return [clarabel.PSDTriangleConeT(int(np.sqrt(2 * size)))]
        case ConeKind.EXPONENTIAL:
            return [clarabel.ExponentialConeT()] * (size // 3)
