"""Conditions on the variables of links that need not be convex: each a function that must not be negative."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.physical.cone_program import ConeKind, stack_order
from dynid.estimation.physical.constraints import Constraint
from dynid.estimation.physical.link_variables import LinkVariables
from dynid.estimation.physical.references import Origin, Reference
from dynid.robot import inertia

Stated = Callable[[Mapping[str, float]], object]
"""A user's condition: from the variables by name to one number or several that must not be negative."""

STEP = 1e-6
"""Step of differences, as a part of a variable's range."""


@dataclass(frozen=True, eq=False)
class Condition:
    """A condition h(u) >= 0, or h(u) = 0, on the variables u.

    Attributes:
        label: What it is, in words.
        value: From u, shape (parameters,), to h in units of its size, shape (m,).
        slopes: From u to dh/du, shape (m, parameters).
        is_equality: Whether h must be zero.
        mended: From u to variables near it at which h is at least so large; None where that is not known.
    """

    label: str
    value: Callable[[Array], Array]
    slopes: Callable[[Array], Array]
    is_equality: bool = False
    mended: Callable[[Array, float], Array] | None = None


def triangle_conditions(variables: LinkVariables, references: Sequence[Reference]) -> list[Condition]:
    """For each link with mass `tr(J)/2 - lambda_max(J) >= 0`, in traces of the reference's inertia.

    It says that each principal moment is at most the sum of the others, and so that none is negative. All three
    eigenvalues of `tr(J)/2 - J` are taken: the sum of their squared violations has a continuous gradient where the
    largest eigenvalue alone has not.
    """
    found = []
    for k, reference in enumerate(references):
        if reference.origin is not Origin.MASSLESS:
            name = variables.model.robot.links[reference.link].name
            first = inertia.SIZE * k + 4
            about_centre = inertia.to_mass_com_inertia(reference.parameters)[2]
            found.append(_triangle(f"triangle inequality of {name}", first, 1.0 / float(np.trace(about_centre))))
    return found


def _triangle(label: str, first: int, scale: float) -> Condition:
    units = inertia.INERTIA_BASIS
    basis = 0.5 * np.trace(units, axis1=1, axis2=2)[:, None, None] * np.eye(3) - units
    own = slice(first, first + 6)

    def value(u: Array) -> Array:
        return scale * np.linalg.eigvalsh(np.tensordot(u[own], basis, axes=1))

    def slopes(u: Array) -> Array:
        axes = np.linalg.eigh(np.tensordot(u[own], basis, axes=1))[1]
        D = np.zeros((3, len(u)))
        D[:, own] = scale * np.einsum("in,kij,jn->nk", axes, basis, axes)
        return D

    def mended(u: Array, least: float) -> Array:
        sizes, axes = np.linalg.eigh(np.tensordot(u[own], basis, axes=1))
        if scale * sizes[0] >= least:
            return u
        Sigma = (axes * np.maximum(sizes, least / scale)) @ axes.T
        u = u.copy()
        u[own] = inertia.from_moments(0.0, np.zeros(3), np.trace(Sigma) * np.eye(3) - Sigma)[4:]
        return u

    return Condition(label, value, slopes, mended=mended)


def convex_condition(constraint: Constraint, variables: LinkVariables) -> Condition:
    """A constraint of the semidefinite fit as a condition on the variables."""
    start = variables.standard(np.maximum(np.abs(variables.lower), np.abs(variables.upper)))
    size = np.abs(constraint.rows) @ np.abs(start) + np.abs(constraint.offset)
    scale = 1.0 / np.where(size > 0.0, size, 1.0)
    if constraint.kind is ConeKind.SEMIDEFINITE:
        return _semidefinite(constraint, variables, 1.0 / (float(size.max()) or 1.0))

    def value(u: Array) -> Array:
        return scale * (constraint.rows @ variables.standard(u) + constraint.offset)

    def slopes(u: Array) -> Array:
        return scale[:, None] * (constraint.rows @ variables.jacobian(u))

    label = constraint.label or "friction and motor inertia not negative"
    return Condition(label, value, slopes, constraint.kind is ConeKind.ZERO)


def _semidefinite(constraint: Constraint, variables: LinkVariables, scale: float) -> Condition:
    """The smallest eigenvalue of a stacked matrix is not negative."""
    n = int(np.sqrt(2 * len(constraint.offset)))
    units = np.zeros((len(constraint.offset), n, n))
    for k, (i, j) in enumerate(stack_order(n)):
        units[k, i, j] = units[k, j, i] = 1.0 if i == j else np.sqrt(0.5)

    def matrix(u: Array) -> Array:
        return np.tensordot(constraint.rows @ variables.standard(u) + constraint.offset, units, axes=1)

    def value(u: Array) -> Array:
        return scale * np.linalg.eigvalsh(matrix(u))[:1]

    def slopes(u: Array) -> Array:
        axis = np.linalg.eigh(matrix(u))[1][:, 0]
        return scale * np.einsum("i,kij,j->k", axis, units, axis)[None] @ constraint.rows @ variables.jacobian(u)

    return Condition(constraint.label or "coupled friction positive semidefinite", value, slopes)


def stated_condition(label: str, function: Stated, variables: LinkVariables) -> Condition:
    """A user's condition; its slopes are central differences within the bounds.

    Raises:
        InvalidRequestError: If it does not give finite numbers at the start.
    """

    def value(u: Array) -> Array:
        return np.atleast_1d(np.asarray(function(dict(zip(variables.names, u.tolist(), strict=True))), dtype=float))

    def slopes(u: Array) -> Array:
        ranges = variables.upper - variables.lower
        D = np.zeros((len(size), len(u)))
        for k in variables.free:
            high, low = u.copy(), u.copy()
            high[k] = min(u[k] + STEP * ranges[k], variables.upper[k])
            low[k] = max(u[k] - STEP * ranges[k], variables.lower[k])
            D[:, k] = (value(high) - value(low)) / (high[k] - low[k])
        return D / size[:, None]

    at_start = value(variables.start)
    if not np.isfinite(at_start).all():
        raise InvalidRequestError(f"condition '{label}' is not finite at the start of the search; check its formula")
    rng = np.random.default_rng(0)
    draws = variables.lower + rng.random((20, len(variables.names))) * (variables.upper - variables.lower)
    size = np.median(np.abs(np.array([value(u) for u in draws])), axis=0)
    size = np.where(np.isfinite(size) & (size > 0.0), size, 1.0)
    return Condition(label, lambda u: value(u) / size, slopes)
