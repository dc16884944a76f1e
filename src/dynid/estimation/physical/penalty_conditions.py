"""Conditions on the variables of links that need not be convex: each a function that must not be negative."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, UnknownNameError
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
        labels: What each row is, in words, m of them.
        value: From u, shape (parameters,), to h in units of its size, shape (m,).
        slopes: From u to dh/du, shape (m, parameters).
        is_equality: Whether h must be zero.
        mended: From u to variables near it at which h is at least so large; None where that is not known.
    """

    labels: tuple[str, ...]
    value: Callable[[Array], Array]
    slopes: Callable[[Array], Array]
    is_equality: bool = False
    mended: Callable[[Array, float], Array] | None = None


def triangle_condition(variables: LinkVariables, references: Sequence[Reference]) -> list[Condition]:
    """For each link with mass `tr(J)/2 - lambda_max(J) >= 0`, in traces of the reference's inertia; none without links.

    It says that each principal moment is at most the sum of the others, and so that none is negative. All three
    eigenvalues of `tr(J)/2 - J` are taken: the sum of their squared violations has a continuous gradient where the
    largest eigenvalue alone has not.
    """
    heavy = [k for k, reference in enumerate(references) if reference.origin is not Origin.MASSLESS]
    if not heavy:
        return []
    own = np.array([np.arange(6) + inertia.SIZE * k + 4 for k in heavy])  # (links, 6)
    traces = [float(np.trace(inertia.to_mass_com_inertia(references[k].parameters)[2])) for k in heavy]
    scale = 1.0 / np.array(traces)[:, None]
    units = inertia.INERTIA_BASIS
    basis = 0.5 * np.trace(units, axis1=1, axis2=2)[:, None, None] * np.eye(3) - units

    def value(u: Array) -> Array:
        return (scale * np.linalg.eigvalsh(np.einsum("lk,kij->lij", u[own], basis))).ravel()

    def slopes(u: Array) -> Array:
        axes = np.linalg.eigh(np.einsum("lk,kij->lij", u[own], basis))[1]
        D = np.zeros((len(heavy), 3, len(u)))
        found = scale[:, :, None] * np.einsum("lin,kij,ljn->lnk", axes, basis, axes, optimize=True)
        for link, columns in enumerate(own):
            D[link][:, columns] = found[link]
        return D.reshape(-1, len(u))

    def mended(u: Array, least: float) -> Array:
        u = u.copy()
        for columns, size in zip(own, scale[:, 0], strict=True):
            sizes, axes = np.linalg.eigh(np.tensordot(u[columns], basis, axes=1))
            if size * sizes[0] < least:
                Sigma = (axes * np.maximum(sizes, least / size)) @ axes.T
                u[columns] = inertia.from_moments(0.0, np.zeros(3), np.trace(Sigma) * np.eye(3) - Sigma)[4:]
        return u

    names = [variables.model.robot.links[references[k].link].name for k in heavy]
    labels = tuple(f"triangle inequality of {name}" for name in names for _ in range(3))
    return [Condition(labels, value, slopes, mended=mended)]


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
    return Condition((label,) * len(size), value, slopes, constraint.kind is ConeKind.ZERO)


def _semidefinite(constraint: Constraint, variables: LinkVariables, scale: float) -> Condition:
    """The smallest eigenvalue of a stacked matrix is not negative."""
    n = int(np.sqrt(2 * len(constraint.offset)))
    units = np.zeros((len(constraint.offset), n, n))
    for k, (i, j) in enumerate(stack_order(n)):
        units[k, i, j] = units[k, j, i] = 1.0 if i == j else np.sqrt(0.5)

    def matrix(u: Array) -> Array:
        return np.tensordot(constraint.rows @ variables.standard(u) + constraint.offset, units, axes=1)

    def value(u: Array) -> Array:
        return np.asarray(scale * np.linalg.eigvalsh(matrix(u))[:1], dtype=float)

    def slopes(u: Array) -> Array:
        axis = np.linalg.eigh(matrix(u))[1][:, 0]
        return scale * np.einsum("i,kij,j->k", axis, units, axis)[None] @ constraint.rows @ variables.jacobian(u)

    return Condition((constraint.label or "coupled friction positive semidefinite",), value, slopes)


def stated_condition(label: str, function: Stated, variables: LinkVariables) -> Condition:
    """A user's condition; its slopes are central differences within the bounds.

    Raises:
        InvalidRequestError: If it does not give finite numbers at the start.
        UnknownNameError: If it asks for a variable that there is not.
    """

    def value(u: Array) -> Array:
        of_name = dict(zip(variables.names, u.tolist(), strict=True))
        try:
            return np.atleast_1d(np.asarray(function(of_name), dtype=float))
        except KeyError as error:
            if error.args and error.args[0] not in of_name:
                raise UnknownNameError("variable", str(error.args[0]), variables.names) from error
            raise

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
    return Condition((label,) * len(size), lambda u: value(u) / size, slopes)
