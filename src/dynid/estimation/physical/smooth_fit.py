"""Many fits of physical parameters at little cost: Newton's method in place of a cone solver.

minimise |A x - c|^2 + weight * sum of (tr X - log det X) - LAST_BARRIER * sum of log det of what must be positive

The log-det prior is its own barrier: no step leaves the physically consistent links. Friction and motor inertia, and
links with the Euclidean prior, get a slight barrier. A fit takes milliseconds, so that every weight of the prior can be
tried on every part of the data. What is reported comes from the cone program, which also knows the bounds that users
state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.estimation.physical.cone_program import ConeKind, SolverError, stack_order, stacked
from dynid.estimation.physical.semidefinite import Problem
from dynid.robot import inertia

LAST_BARRIER = 0.01
"""Of friction and motor inertia, in squared standard deviations of errors."""

BARRIERS = (1e4, 1e3, 1e2, 10.0, 1.0, 0.1)
"""What barriers are lowered from where there is no solution to start from."""

MOST_STEPS = 80
"""Steps after which a fit gives up."""

SMALL_GAIN = 1e-3
"""Expected gain of a step below which a fit has ended, in squared standard deviations."""

ROUNDING_GAIN = 1e-13
"""The same in parts of the objective."""

EQUALITY_WEIGHT = 1e8
"""Weight of squared violations of equalities."""

SUFFICIENT_GAIN = 0.2
"""Part of the expected gain that a step must bring; it is halved until it does."""


@dataclass(frozen=True, eq=False)
class SmoothFit:
    """A problem whose data and whose weight of the prior change, and nothing else.

    Attributes:
        C: Matrix with p = C x, shape (parameters, variables).
        caps: For each link with mass, the weight that its prior is never above, shape (links,).
        squares: For each link with mass the Gram matrix and the moment of its prior where that is a sum of squares,
            shapes (links, n, n) and (links, n) with n variables; None with the log-det prior.
        shares: For each link with mass the weight of its prior relative to the common one, shape (links,).
        single: Rows of x that must be positive, shape (rows, variables).
        matrices: Symmetric matrices of x that must be positive definite: each of shape (k, k, variables).
        fixed: Gram matrix and moment of what does not change: equalities and the ridge on terms.
    """

    C: Array
    caps: Array
    squares: tuple[Array, Array] | None
    shares: Array
    single: Array
    matrices: tuple[Array, ...]
    fixed: tuple[Array, Array]

    @staticmethod
    def of(problem: Problem) -> SmoothFit:
        """The fit of a problem with a prior; inequalities that users state are left out."""
        C = problem.to_parameters
        ridge, target = problem.expectations_of_terms()
        gram, moment = ridge.T @ ridge, ridge.T @ target
        single, matrices = [np.zeros((0, C.shape[1]))], list[Array]()
        for item in problem.constraints:
            rows = item.rows @ C
            if item.kind is ConeKind.ZERO:
                scale = EQUALITY_WEIGHT / np.maximum(np.sum(rows**2, axis=1), np.finfo(float).tiny)
                gram += (rows.T * scale) @ rows
                moment -= (rows.T * scale) @ item.offset
            elif item.kind is ConeKind.NONNEGATIVE and not item.label:
                single.append(rows)
            elif not item.label:
                matrices.append(_unstacked(rows))
        squares = None
        if problem.prior.kind.is_square:
            each = [problem.distances(n) for n in range(len(problem.heavy))]
            squares = np.stack([A.T @ A for A, _ in each]), np.stack([A.T @ c for A, c in each])
        return SmoothFit(
            C, problem.caps, squares, problem.shares, np.concatenate(single), tuple(matrices), (gram, moment)
        )

    @property
    def links(self) -> int:
        """Number of links with mass."""
        return len(self.caps)

    def start(self, gram: Array, moment: Array, weight: float) -> Array:
        """The optimal x from nowhere: weight and barriers are high at first, then lowered; arguments as `solve`."""
        x = self._inside()
        for barrier in BARRIERS:
            x = self.solve(gram, moment, max(weight, barrier), x, barrier)
        return self.solve(gram, moment, weight, x)

    def _inside(self) -> Array:
        """References as links, and terms of a small positive size."""
        x = np.zeros(self.C.shape[1])
        x[: inertia.SIZE * self.links] = np.tile(_IDENTITY, self.links)
        diagonals = [matrix[d, d] for matrix in self.matrices for d in range(len(matrix))]
        for row in [*self.single, *diagonals]:
            if not row @ x > 0.0:
                x += 1e-2 * row / np.max(np.abs(row)) ** 2
        return x

    def solve(self, gram: Array, moment: Array, weight: float, x: Array, barrier: float = LAST_BARRIER) -> Array:
        """The optimal x.

        Args:
            gram: A'A of the data, shape (variables, variables).
            moment: A'c of the data, shape (variables,).
            weight: Of the prior.
            x: Where to start, strictly inside of all conditions.
            barrier: Weight of the barriers.

        Raises:
            SolverError: If it does not come to an end.
        """
        from scipy.linalg import lapack

        H, g = 2.0 * (gram + self.fixed[0]), 2.0 * (moment + self.fixed[1])
        weights = np.minimum(weight * self.shares, self.caps)
        if self.squares is not None:
            H += 2.0 * np.tensordot(weights, self.squares[0], axes=1)
            g += 2.0 * weights @ self.squares[1]
            weights = np.full(self.links, barrier)
        value = self._value(H, g, weights, barrier, x)
        for _ in range(MOST_STEPS):
            gradient, hessian = self._derivatives(H, g, weights, barrier, x)
            _, step, failed = lapack.dposv(hessian, -gradient)  # pyright: ignore[reportAttributeAccessIssue]
            if failed:
                raise SolverError("lost to rounding")
            gain = -float(gradient @ step)
            if not gain > max(2.0 * SMALL_GAIN * barrier / LAST_BARRIER, ROUNDING_GAIN * abs(value)):
                return x
            size = 1.0
            least = SUFFICIENT_GAIN * gain
            while not (new := self._value(H, g, weights, barrier, x + size * step)) <= value - size * least:
                size *= 0.5
                if size < 1e-9:
                    return x  # rounding has won
            x, value = x + size * step, new
        raise SolverError("too many steps")

    def _value(self, H: Array, g: Array, weights: Array, barrier: float, x: Array) -> float:
        X, positive = self._pseudo_inertias(x), self.single @ x
        if not (positive > 0.0).all():
            return np.inf
        try:
            roots = np.diagonal(np.linalg.cholesky(X), axis1=1, axis2=2)
            others = sum(float(np.log(np.diag(np.linalg.cholesky(matrix @ x))).sum()) for matrix in self.matrices)
        except np.linalg.LinAlgError:
            return np.inf
        links = np.trace(X, axis1=1, axis2=2) - 2.0 * np.log(roots).sum(axis=1)
        return float(x @ (0.5 * (H @ x) - g) + weights @ links - barrier * (np.log(positive).sum() + 2.0 * others))

    def _derivatives(self, H: Array, g: Array, weights: Array, barrier: float, x: Array) -> tuple[Array, Array]:
        gradient, hessian = H @ x - g, H.copy()
        inverses = np.asarray(np.linalg.inv(self._pseudo_inertias(x)), dtype=float)
        turned = (inverses[:, None] @ _UNITS).reshape(self.links, inertia.SIZE, 16)  # X^-1 E
        flipped = turned.reshape(-1, inertia.SIZE, 4, 4).swapaxes(2, 3).reshape(turned.shape)
        own = weights[:, None, None] * (turned @ flipped.swapaxes(1, 2))
        size, links = inertia.SIZE, inertia.SIZE * self.links
        gradient[:links] += (weights[:, None] * (_IDENTITY - stacked(inverses))).ravel()
        for n in range(self.links):
            hessian[size * n : size * (n + 1), size * n : size * (n + 1)] += own[n]
        relative = self.single / (self.single @ x)[:, None]
        gradient -= barrier * relative.sum(axis=0)
        hessian += barrier * relative.T @ relative
        for matrix in self.matrices:
            each = np.einsum("ij,jkv->ikv", np.linalg.inv(matrix @ x), matrix)
            gradient -= barrier * np.einsum("iiv->v", each)
            hessian += barrier * np.einsum("ikv,kiw->vw", each, each)
        return gradient, hessian

    def _pseudo_inertias(self, x: Array) -> Array:
        """Whitened pseudo-inertias of links, shape (links, 4, 4)."""
        own = x[: inertia.SIZE * self.links].reshape(self.links, inertia.SIZE)
        return (own @ _UNITS.reshape(inertia.SIZE, 16)).reshape(self.links, 4, 4)


def _unstacked(rows: Array) -> Array:
    """Rows of a stacked matrix as a matrix of rows: (k (k + 1) / 2, variables) to (k, k, variables)."""
    size = int(np.sqrt(2 * len(rows)))
    matrix = np.zeros((size, size, rows.shape[1]))
    for row, (i, j) in zip(rows, stack_order(size), strict=True):
        matrix[i, j] = matrix[j, i] = row if i == j else row / np.sqrt(2.0)
    return matrix


_UNITS = np.ascontiguousarray(_unstacked(np.eye(inertia.SIZE)).transpose(2, 0, 1))
"""Symmetric matrices whose stacked forms are unit vectors, shape (10, 4, 4)."""

_IDENTITY = stacked(np.eye(4))
