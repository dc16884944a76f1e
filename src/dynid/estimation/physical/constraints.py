"""Conditions on standard parameters, each with words for users: physics of the terms, and what users state."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError, UnknownNameError
from dynid.estimation.physical.cone_program import Cone, ConeKind, stacked
from dynid.model import DynamicModel
from dynid.robot import Link, Robot, inertia, outline

Range = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Constraint:
    """A condition `offset + rows @ p` in a cone on the standard parameters p.

    Attributes:
        label: What it is, as users wrote it; nothing for physics that always holds.
        kind: The cone.
        rows: Shape (m, parameters).
        offset: Shape (m,).
    """

    label: str
    kind: ConeKind
    rows: Array
    offset: Array

    @property
    def helpers(self) -> int:
        """Number of variables more that it needs in a cone program."""
        return 0

    def cones(self, C: Array, first: int, total: int) -> list[Cone]:
        """As conditions of a cone program.

        Args:
            C: The matrix of p = C x, shape (parameters, variables).
            first: Index of the first variable more that is its own.
            total: Number of all variables, the x before all others.
        """
        rows = self.rows @ C
        return [Cone(self.kind, np.hstack([rows, np.zeros((len(rows), total - rows.shape[1]))]), self.offset)]


def of_terms(model: DynamicModel) -> list[Constraint]:
    """Friction and motor inertia that are not negative; coupled ones as matrices that are positive semidefinite.

    A matrix that lacks an element of its diagonal, because the model lacks the term, is left out.
    """
    return [
        _semidefinite(model, elements, joints)
        for elements in quadratic_forms(model).values()
        for joints in _connected(elements)
        if all((j, j) in elements for j in joints)
    ]


def quadratic_forms(model: DynamicModel) -> dict[str, dict[tuple[int, int], list[str]]]:
    """For each form that cannot be negative, by the numbers of two joints, the parameters that add up there."""
    forms: dict[str, dict[tuple[int, int], list[str]]] = {}
    for term in model.terms:
        sums: dict[tuple[str, int, int], list[str]] = {}
        for form, i, j, name in term.quadratic_forms(model.robot):
            sums.setdefault((form, i, j), []).append(name)
        for (form, i, j), names in sums.items():
            taken = (i, j) in forms.get(form, {})  # by another term: each is then constrained by itself
            forms.setdefault(names[0] if taken else form, {})[i, j] = names
    return forms


def _connected(elements: Mapping[tuple[int, int], list[str]]) -> list[list[int]]:
    """Groups of joints that elements beside the diagonal bind together."""
    groups: list[set[int]] = []
    for pair in elements:
        touched = [group for group in groups if not group.isdisjoint(pair)]
        groups = [group for group in groups if group not in touched] + [set(pair).union(*touched)]
    return [sorted(group) for group in groups]


def _semidefinite(model: DynamicModel, elements: Mapping[tuple[int, int], list[str]], joints: list[int]) -> Constraint:
    """The matrix of some joints' elements is positive semidefinite."""
    basis = np.zeros((len(model.names), len(joints), len(joints)))
    for (i, j), names in elements.items():
        if i in joints:
            r, c = joints.index(i), joints.index(j)
            for name in names:
                basis[model.names.index(name), [r, c], [c, r]] = 1.0
    rows = stacked(basis).T
    kind = ConeKind.NONNEGATIVE if len(joints) == 1 else ConeKind.SEMIDEFINITE
    return Constraint("", kind, rows, np.zeros(len(rows)))


def known(model: DynamicModel, values: Mapping[str, float]) -> list[Constraint]:
    """Parameters that have known values."""
    return [
        Constraint(
            f"known.{name} = {value:g}", ConeKind.ZERO, _unit_rows(model, [name]), np.array([-value], dtype=float)
        )
        for name, value in values.items()
    ]


def total_mass(model: DynamicModel, bounds: Range) -> list[Constraint]:
    """The mass [kg] of all moving links together lies in a range."""
    masses = [_first_column(model, i) for i in model.robot.solid_links]
    row = np.zeros(len(model.names))
    row[masses] = 1.0
    return [_in_range(f"physical.total_mass = {_shown(bounds)}", row, bounds)]


def mass(model: DynamicModel, link: str, bounds: Range) -> list[Constraint]:
    """The mass [kg] of a link lies in a range."""
    row = np.zeros(len(model.names))
    row[_first_column(model, find_link(model.robot, link))] = 1.0
    return [_in_range(f"physical.masses.{link} = {_shown(bounds)}", row, bounds)]


def centre_of_mass(model: DynamicModel, link: str, lower: Sequence[float], upper: Sequence[float]) -> list[Constraint]:
    """The centre of mass [m] of a link, in its joint frame, lies in a box."""
    label = f"physical.centres_of_mass.{link} = [{list(lower)}, {list(upper)}]"
    if any(low > high for low, high in zip(lower, upper, strict=True)):
        raise InvalidRequestError(f"{label}: the box's lower corner is above its upper one; swap them")
    i, low, high = find_link(model.robot, link), np.array(lower), np.array(upper)
    wide = low < high
    outward, reach = np.concatenate([-np.eye(3), np.eye(3)]), np.concatenate([-low, high])
    sides = np.concatenate([wide, wide])
    found = [_inside(model, label, i, outward[sides], reach[sides])] if wide.any() else []
    flat = _inside(model, label, i, np.eye(3)[~wide], high[~wide])
    return [*found, replace(flat, kind=ConeKind.ZERO)] if not wide.all() else found


def centre_of_mass_in_geometry(model: DynamicModel, link: str) -> list[Constraint]:
    """The centre of mass of a link lies within its collision shapes.

    The condition is on the smallest polyhedron around them with faces in 26 directions: those of the faces, edges and
    corners of a cube.

    Raises:
        InvalidRequestError: If the file has no shape of known size for the link.
    """
    i = find_link(model.robot, link)
    points = _outline(model.robot.links[i])
    if points is None:
        raise InvalidRequestError(
            f"the file says nothing of the size of link '{link}' (no collision shape, or its mesh was not found); "
            "state a box for its centre of mass instead"
        )
    outward = np.array([d for d in itertools.product((-1.0, 0.0, 1.0), repeat=3) if any(d)])
    reach = (points @ outward.T).max(axis=0)
    return [_inside(model, f"physical.in_geometry = '{link}'", i, outward, reach)]


def has_outline(link: Link) -> bool:
    """Whether the file states the size of a link."""
    return _outline(link) is not None


def _outline(link: Link) -> Array | None:
    """Points [m] in the joint frame whose convex hull holds the link, shape (points, 3); None if there are none."""
    points = [
        own @ body.placement[:3, :3].T + body.placement[:3, 3]
        for body in link.bodies
        if (own := outline(body)) is not None
    ]
    return np.concatenate(points) if points else None


def find_link(robot: Robot, name: str) -> int:
    """Index of the solid link with this name.

    Raises:
        UnknownNameError: If there is none; names the nearest.
        InvalidRequestError: If it is a body that is welded to a link, and so only known together with it.
    """
    for i in robot.solid_links:
        link = robot.links[i]
        if name == link.name:
            return i
        if any(name == body.name for body in link.bodies):
            raise InvalidRequestError(
                f"'{name}' is welded to link '{link.name}', and only both together are identifiable; state "
                f"'{link.name}', with all that is welded to it, in its joint frame"
            )
    raise UnknownNameError("moving link", name, [robot.links[i].name for i in robot.solid_links])


def _inside(model: DynamicModel, label: str, link: int, outward: Array, reach: Array) -> Constraint:
    """The centre of mass c satisfies outward @ c <= reach: with the first moment h = m c, reach m - outward h >= 0."""
    rows = np.zeros((len(reach), len(model.names)))
    first = _first_column(model, link)
    rows[:, first] = reach
    rows[:, first + 1 : first + 4] = -outward
    return Constraint(label, ConeKind.NONNEGATIVE, rows, np.zeros(len(reach)))


def _in_range(label: str, row: Array, bounds: Range) -> Constraint:
    low, high = bounds
    if not low <= high:
        raise InvalidRequestError(f"{label}: the range is empty; write the smaller number first")
    if low == high:
        return Constraint(label, ConeKind.ZERO, row[None], np.array([-low]))
    return Constraint(label, ConeKind.NONNEGATIVE, np.stack([row, -row]), np.array([-low, high]))


def _first_column(model: DynamicModel, link: int) -> int:
    """Column of the first parameter, the mass, of a solid link."""
    return inertia.SIZE * model.robot.solid_links.index(link)


def _unit_rows(model: DynamicModel, names: Sequence[str]) -> Array:
    return np.eye(len(model.names))[[model.names.index(name) for name in names]]


def _shown(bounds: Range) -> str:
    return f"[{bounds[0]:g}, {bounds[1]:g}]" if bounds[0] < bounds[1] else f"{bounds[0]:g}"
