"""Masses, centres of mass and inertias about them as variables of a nonlinear fit, with their bounds.

The variables u of a link with mass are `m` [kg], `cx cy cz` [m] in its joint frame, and `Jxx Jxy Jyy Jxz Jyz Jzz`
[kg m^2] about the centre of mass along the axes of that frame, each with the number of its link; the variables of terms
(`fv1`, ...) are the standard parameters themselves. Standard parameters are polynomials in them.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Indices
from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.estimation.physical.constraints import quadratic_forms
from dynid.estimation.physical.references import Origin, Reference
from dynid.model import DynamicModel
from dynid.robot import inertia, outline

SYMBOLS = ("m", "cx", "cy", "cz", "Jxx", "Jxy", "Jyy", "Jxz", "Jyz", "Jzz")
"""Of a link's variables; inertias are about the centre of mass."""

WIDEST_MASS = 5.0
"""Largest mass of a link by default, in masses of its reference."""

LIGHTEST_MASS = 0.01
"""Smallest mass of a link by default, in masses of its reference: a link without mass has no centre of mass."""

WIDEST_INERTIA = 10.0
"""Largest element of a link's inertia by default, in traces of that of its reference."""

GUESSED_REACH = 4.0
"""Room around the joints of a link without a file's mass, in radii of gyration of its plain body; 1 for others."""

WIDEST_TERM = 5.0
"""Largest parameter of a term by default, in sizes that alone would explain all torques."""


@dataclass(frozen=True, eq=False)
class LinkVariables:
    """The variables of a fit and the box that they lie in.

    Attributes:
        model: The model whose standard parameters p they give.
        names: Names of the variables, in the order of the standard parameters, shape (parameters,).
        start: Where a search begins: the references, within the bounds, shape (parameters,).
        lower: Smallest values, shape (parameters,).
        upper: Largest values; equal to the smallest for variables that are fixed, shape (parameters,).
    """

    model: DynamicModel
    names: tuple[str, ...]
    start: Array
    lower: Array
    upper: Array

    @staticmethod
    def of(model: DynamicModel, references: Sequence[Reference], term_sizes: Array) -> LinkVariables:
        """The variables of a model, with bounds that follow from what links are expected to be like.

        Args:
            model: The model.
            references: What each solid link is expected to be like.
            term_sizes: Size of each term's parameter that alone would explain the torques, shape (terms' parameters,).
        """
        links = inertia.SIZE * len(references)
        numbers = [name[1:] for name in model.names[: links : inertia.SIZE]]
        names = [f"{symbol}{number}" for number in numbers for symbol in SYMBOLS]
        boxes = [_box(model, reference) for reference in references]
        signed = np.ones(len(model.names), dtype=bool)
        for form in quadratic_forms(model).values():
            diagonal = [name for (i, j), own in form.items() if i == j for name in own if len(own) == 1]
            signed[[model.names.index(name) for name in diagonal]] = False
        widest = WIDEST_TERM * term_sizes
        lower = np.concatenate([*(box[1] for box in boxes), np.where(signed[links:], -widest, 0.0)])
        upper = np.concatenate([*(box[2] for box in boxes), widest])
        start = np.concatenate(
            [*(box[0] for box in boxes), np.clip(np.nan_to_num(model.reference[links:]), lower[links:], widest)]
        )
        return LinkVariables(model, (*names, *model.names[links:]), start, lower, upper)

    @property
    def link_count(self) -> int:
        """Number of links."""
        return len(self.model.robot.solid_links)

    @cached_property
    def free(self) -> Indices:
        """Indices of the variables that are not fixed."""
        return np.flatnonzero(self.upper > self.lower)

    def bounded(self, bounds: Mapping[str, tuple[float, float]]) -> LinkVariables:
        """The same with other bounds, by name or pattern (`"cx*"`); later ones count.

        Raises:
            UnknownNameError: If no variable has the name.
            InvalidRequestError: If a range is empty or a bound is not finite.
        """
        lower, upper = self.lower.copy(), self.upper.copy()
        for pattern, (low, high) in bounds.items():
            own = [k for k, name in enumerate(self.names) if fnmatch.fnmatchcase(name, pattern)]
            if not own:
                raise UnknownNameError("variable", pattern, self.names)
            if not (np.isfinite([low, high]).all() and low <= high):
                raise InvalidRequestError(
                    f"bounds of {pattern}: [{low:g}, {high:g}] is no range; write the smaller first"
                )
            kinds = {k % inertia.SIZE for k in own if k < inertia.SIZE * self.link_count}
            if low < 0.0 and kinds & {0, 4, 6, 9}:
                raise InvalidRequestError(
                    f"bounds of {pattern}: masses and moments of inertia are not negative; write 0 or more, not {low:g}"
                )
            lower[own], upper[own] = low, high
        return replace(self, start=np.clip(self.start, lower, upper), lower=lower, upper=upper)

    def fixed(self, values: Mapping[str, float]) -> LinkVariables:
        """The same with some variables at known values, such as structural zeros; by name or pattern."""
        return self.bounded({name: (value, value) for name, value in values.items()})

    def standard(self, u: Array) -> Array:
        """Standard parameters p of variables u, (parameters,) to (parameters,)."""
        p = u.copy()
        links = p[: inertia.SIZE * self.link_count].reshape(-1, inertia.SIZE)  # a view
        m, c = links[:, 0], links[:, 1:4].copy()
        links[:, 1:4] = m[:, None] * c
        links[:, 4:] += m[:, None] * (c[:, :, None] * c[:, None, :]).reshape(-1, 9) @ _PARALLEL_AXIS
        return p

    def jacobian(self, u: Array) -> Array:
        """Derivatives dp/du, shape (parameters, parameters)."""
        D = np.eye(len(u))
        for k in range(self.link_count):
            first = inertia.SIZE * k
            m, c = u[first], u[first + 1 : first + 4]
            h, J = slice(first + 1, first + 4), slice(first + 4, first + 10)
            D[h, first] = c
            D[h, h] = m * np.eye(3)
            D[J, first] = np.outer(c, c).ravel() @ _PARALLEL_AXIS
            slopes = np.eye(3)[:, :, None] * c + c[:, None] * np.eye(3)[:, None, :]  # d(c c')/dc_i, shape (3, 3, 3)
            D[J, h] = m * (slopes.reshape(3, 9) @ _PARALLEL_AXIS).T
        return D

    def variables(self, p: Array) -> Array:
        """Variables u of standard parameters p, (parameters,) to (parameters,); zero for links without mass."""
        u = p.copy()
        for k in range(self.link_count):
            own = slice(inertia.SIZE * k, inertia.SIZE * (k + 1))
            u[own] = centred(p[own])
        return u


def centred(parameters: Array) -> Array:
    """Mass, centre of mass and inertia about it of a 10-vector, (10,) to (10,); zeros where there is no mass."""
    m, c, J = inertia.to_mass_com_inertia(parameters)
    return np.zeros(inertia.SIZE) if m == 0.0 else inertia.from_moments(m, c, J)


def _box(model: DynamicModel, reference: Reference) -> tuple[Array, Array, Array]:
    """Start, lower and upper bounds of a link's variables, each of shape (10,)."""
    if reference.origin is Origin.MASSLESS:
        return np.zeros(inertia.SIZE), np.zeros(inertia.SIZE), np.zeros(inertia.SIZE)
    start = centred(reference.parameters)
    low, high = _reach(model, reference, start)
    largest = WIDEST_INERTIA * np.trace(inertia.inertia_matrix(start))
    is_product = np.array([symbol[1] != symbol[2] for symbol in SYMBOLS[4:]])
    lower = np.concatenate([[LIGHTEST_MASS * start[0]], low, np.where(is_product, -largest, 0.0)])
    upper = np.concatenate([[WIDEST_MASS * start[0]], high, np.full(6, largest)])
    return np.clip(start, lower, upper), lower, upper


def _reach(model: DynamicModel, reference: Reference, start: Array) -> tuple[Array, Array]:
    """Corners [m] of the box that a link's centre of mass lies in: around its shapes, joints and reference."""
    robot, link = model.robot, model.robot.links[reference.link]
    points = [np.zeros((1, 3)), start[None, 1:4]]
    points += [joint.placement[None, :3, 3] for joint in robot.joints if joint.parent == reference.link]
    for body in link.bodies:
        shape = outline(body)
        if shape is not None:
            points.append(shape @ body.placement[:3, :3].T + body.placement[:3, 3])
    corners = np.concatenate(points)
    gyration = float(np.sqrt(np.trace(inertia.inertia_matrix(start)) / start[0]))
    gyration *= GUESSED_REACH if reference.origin is Origin.PLAIN else 1.0
    return corners.min(axis=0) - gyration, corners.max(axis=0) + gyration


def _parallel_axis() -> Array:
    """Matrix from the nine elements of c c' to the six of |c|^2 - c c', shape (9, 6)."""
    units = np.eye(9).reshape(9, 3, 3)
    shifted = np.trace(units, axis1=1, axis2=2)[:, None, None] * np.eye(3) - units
    return np.array([inertia.from_moments(0.0, np.zeros(3), 0.5 * (one + one.T))[4:] for one in shifted])


_PARALLEL_AXIS = _parallel_axis()
