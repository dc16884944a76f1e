"""Bounds in space: all mass of a body lies inside an ellipsoid or a box.

In coordinates in which the ellipsoid is the unit ball, a body with the pseudo-inertia J can have all of its mass inside
exactly when J is positive semidefinite and `tr Sigma <= m`: the mean squared distance from the centre is at most one
(Wensing, Kim and Slotine, "Linear matrix inequalities for physically consistent inertial parameter identification",
2018).

For a box the second moments are harder. A tetrahedron with the corners v_i holds a body exactly when
`J = sum_ij C_ij [v_i; 1] [v_j; 1]'` with C completely positive; of size 4 that is positive semidefinite and without
negative elements (Maxfield and Minc, 1962). Five tetrahedra make a cube, so that J is the sum of five such bodies: the
condition is exact (Anstreicher and Burer, "Computable representations for convex hulls of low-dimensional quadratic
forms", 2010). That the centre of mass is inside, or `(x - lower) (upper - x) >= 0` on average, is weaker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError
from dynid.estimation.physical.cone_program import Cone, ConeKind, minimise, stack_order, stacked
from dynid.estimation.physical.constraints import Constraint, find_link
from dynid.model import DynamicModel
from dynid.robot import inertia

INSIDE_TOLERANCE = 1e-5
"""Parts of the mass by which moments, in units of the bound's size, may miss those of bodies inside: the solver's
accuracy. Optima miss them by 2e-7 at most in `benchmarks/body_fit.py`."""

_SHARPNESS = 1e4
"""Scale of distances whose squares are minimised: the solver's gap is then far below the tolerance."""

_TETRAHEDRA = ((0, 4, 2, 1), (6, 4, 2, 7), (5, 4, 1, 7), (3, 2, 1, 7), (4, 2, 1, 7))
"""Five tetrahedra that make a cube, by its corners in binary order."""


@dataclass(frozen=True, eq=False, init=False)
class Ellipsoid:
    """An ellipsoid in a body's frame that holds all of its mass.

    Attributes:
        centre: Centre [m], shape (3,).
        semi_axes: Half its lengths along its axes [m], shape (3,).
        rotation: Matrix whose columns are its axes, shape (3, 3); along the body's frame when None.
    """

    centre: Array
    semi_axes: Array
    rotation: Array | None

    def __init__(self, centre: ArrayLike, semi_axes: ArrayLike, rotation: ArrayLike | None = None) -> None:
        object.__setattr__(self, "centre", _vector("centre of an ellipsoid", centre))
        object.__setattr__(self, "semi_axes", _vector("semi-axes of an ellipsoid", semi_axes))
        if not (self.semi_axes > 0.0).all():
            raise InvalidRequestError(f"the semi-axes of an ellipsoid must be positive, not {self.semi_axes.tolist()}")
        object.__setattr__(self, "rotation", _rotation(rotation))

    @property
    def placement(self) -> Array:
        """From unit coordinates to the body's frame, shape (4, 4)."""
        return _placement(self.centre, self.semi_axes, self.rotation)

    def constraint(self, label: str, first: int, parameters: int) -> Constraint:
        """The condition on the body whose mass is the standard parameter `first`, of so many in all."""
        row = np.zeros((1, parameters))
        basis = _in_units(self.placement)
        row[0, first : first + inertia.SIZE] = basis[:, 3, 3] - np.trace(basis[:, :3, :3], axis1=1, axis2=2)
        return Constraint(label, ConeKind.NONNEGATIVE, row, np.zeros(1))

    def scaled(self, scale: float) -> Ellipsoid:
        """The same, larger or smaller about its centre."""
        return Ellipsoid(self.centre, scale * self.semi_axes, self.rotation)

    def holds(self, parameters: Array) -> bool:
        """Whether a body with this 10-vector can have all of its mass inside."""
        J = np.tensordot(parameters, _in_units(self.placement), axes=1)
        return bool(np.trace(J[:3, :3]) <= (1.0 + INSIDE_TOLERANCE) * J[3, 3])

    def uniform(self, density: float) -> Array:
        """The 10-vector of an ellipsoid of even density [kg/m^3], shape (10,)."""
        mass = float(density * 4.0 / 3.0 * np.pi * np.prod(self.semi_axes))
        return inertia.moved(inertia.from_pseudo_inertia(mass * np.diag([0.2, 0.2, 0.2, 1.0])), self.placement)


@dataclass(frozen=True, eq=False, init=False)
class Box:
    """A box in a body's frame that holds all of its mass.

    Attributes:
        lower: Smallest coordinates [m], shape (3,).
        upper: Largest coordinates [m], shape (3,).
        rotation: Matrix whose columns are the axes that the coordinates are along, shape (3, 3); those of the body's
            frame when None.
    """

    lower: Array
    upper: Array
    rotation: Array | None

    def __init__(self, lower: ArrayLike, upper: ArrayLike, rotation: ArrayLike | None = None) -> None:
        object.__setattr__(self, "lower", _vector("lower corner of a box", lower))
        object.__setattr__(self, "upper", _vector("upper corner of a box", upper))
        if not (self.lower < self.upper).all():
            raise InvalidRequestError(
                f"a box must be wider than nothing along each axis, not from {self.lower.tolist()} to "
                f"{self.upper.tolist()}; write the smaller corner first"
            )
        object.__setattr__(self, "rotation", _rotation(rotation))

    @property
    def placement(self) -> Array:
        """From coordinates in which it is the cube between -1 and 1 to the body's frame, shape (4, 4)."""
        R = np.eye(3) if self.rotation is None else self.rotation
        return _placement(R @ (0.5 * (self.lower + self.upper)), 0.5 * (self.upper - self.lower), self.rotation)

    def constraint(self, label: str, first: int, parameters: int) -> Containment:
        """The condition on the body whose mass is the standard parameter `first`, of so many in all."""
        rows = np.zeros((inertia.SIZE, parameters))
        rows[:, first : first + inertia.SIZE] = stacked(_in_units(self.placement)).T
        return Containment(label, rows)

    def scaled(self, scale: float) -> Box:
        """The same, larger or smaller about its centre."""
        middle, half = 0.5 * (self.lower + self.upper), 0.5 * (self.upper - self.lower)
        return Box(middle - scale * half, middle + scale * half, self.rotation)

    def holds(self, parameters: Array) -> bool:
        """Whether a body with this 10-vector can have all of its mass inside."""
        own = self.constraint("", 0, inertia.SIZE)
        J = own.rows @ parameters / parameters[0]
        cones = own.cones(np.zeros((inertia.SIZE, 0)), 0, own.helpers)[1:]
        h = minimise(_SHARPNESS * _spread(), _SHARPNESS * J, np.zeros(own.helpers), cones)
        return bool(np.linalg.norm(_spread() @ h - J) <= INSIDE_TOLERANCE)

    def uniform(self, density: float) -> Array:
        """The 10-vector of a box of even density [kg/m^3], shape (10,)."""
        mass = float(density * np.prod(self.upper - self.lower))
        third = 1.0 / 3.0
        return inertia.moved(inertia.from_pseudo_inertia(mass * np.diag([third] * 3 + [1.0])), self.placement)


Bound = Ellipsoid | Box
"""What holds all mass of a body."""


@dataclass(frozen=True, eq=False)
class Containment:
    """The condition that a body is a sum of bodies in the five tetrahedra of a cube.

    Attributes:
        label: What it is, as users wrote it.
        rows: From standard parameters to the stacked pseudo-inertia in coordinates in which the cube is between -1 and
            1, shape (10, parameters).
    """

    label: str
    rows: Array

    @property
    def kind(self) -> ConeKind:
        """The cone of its largest parts."""
        return ConeKind.SEMIDEFINITE

    @property
    def offset(self) -> Array:
        """Nothing: it is the same for a body of twice the mass, shape (10,)."""
        return np.zeros(len(self.rows))

    @property
    def helpers(self) -> int:
        """Number of variables more that it needs in a cone program: a stacked matrix for each tetrahedron."""
        return inertia.SIZE * len(_TETRAHEDRA)

    def cones(self, C: Array, first: int, total: int) -> list[Cone]:
        """As conditions of a cone program; arguments as `Constraint.cones`."""
        own, size = range(first, first + self.helpers), inertia.SIZE
        parts = sparse.lil_array((size, total))
        parts[:, : C.shape[1]] = self.rows @ C
        parts[:, own] = -_spread()
        found = [Cone(ConeKind.ZERO, parts.tocsc(), np.zeros(size))]
        for k in range(len(_TETRAHEDRA)):
            found.append(Cone(ConeKind.SEMIDEFINITE, _picked(own[size * k : size * (k + 1)], total), np.zeros(size)))
        beside = [n for k in range(len(_TETRAHEDRA)) for n in (first + size * k + b for b in _BESIDE)]
        return [*found, Cone(ConeKind.NONNEGATIVE, _picked(beside, total), np.zeros(len(beside)))]


def mass_inside(model: DynamicModel, link: str, bound: Bound, label: str) -> Constraint | Containment:
    """All mass of a link of a robot lies inside a bound in its joint frame."""
    first = inertia.SIZE * model.robot.solid_links.index(find_link(model.robot, link))
    return bound.constraint(label, first, len(model.names))


_BESIDE = [k for k, (i, j) in enumerate(stack_order(4)) if i != j]
"""Where a stacked matrix has the elements beside its diagonal."""


def _spread() -> Array:
    """From the stacked matrices C of all tetrahedra to the stacked pseudo-inertia, shape (10, helpers)."""
    corners = np.array([[x, y, z, 1.0] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    order = stack_order(4)
    columns = []
    for tetrahedron in _TETRAHEDRA:
        V = corners[list(tetrahedron)]
        for i, j in order:
            unit = np.outer(V[i], V[j])
            columns.append(stacked(unit if i == j else np.sqrt(0.5) * (unit + unit.T)))
    return np.array(columns).T


def _picked(columns: Sequence[int], total: int) -> sparse.csc_array:
    return sparse.csc_array((np.ones(len(columns)), (range(len(columns)), list(columns))), shape=(len(columns), total))


def _in_units(placement: Array) -> Array:
    """Pseudo-inertias of unit parameters in coordinates of a placement, shape (10, 4, 4)."""
    back = np.linalg.inv(placement)
    return back @ inertia.pseudo_inertia_basis() @ back.T


def _placement(centre: Array, sizes: Array, rotation: Array | None) -> Array:
    T = np.eye(4)
    T[:3, :3] = (np.eye(3) if rotation is None else rotation) * sizes
    T[:3, 3] = centre
    return T


def _vector(what: str, values: object) -> Array:
    try:
        found = frozen(values)
    except (TypeError, ValueError):
        found = frozen([])
    if found.shape != (3,) or not np.isfinite(found).all():
        raise InvalidRequestError(f"the {what} must be three finite numbers [m], not {values}")
    return found


def _rotation(values: object) -> Array | None:
    if values is None:
        return None
    R = frozen(values)
    if R.shape != (3, 3) or not np.allclose(R.T @ R, np.eye(3), atol=1e-6) or np.linalg.det(R) < 0.0:
        raise InvalidRequestError(f"the rotation of a bound must be a rotation matrix (3, 3), not {R.tolist()}")
    return R
