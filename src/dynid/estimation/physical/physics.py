"""From what is stated about links to a prior and constraints."""

from __future__ import annotations

from collections.abc import Iterator

from dynid.errors import InvalidRequestError
from dynid.estimation.physical import constraints
from dynid.estimation.physical.constraints import Constraint, Range
from dynid.estimation.physical.physical_estimate import Physics
from dynid.estimation.physical.references import references, require_same_links
from dynid.estimation.physical.semidefinite import LinkPrior, PriorKind
from dynid.estimation.settings import PhysicalSettings
from dynid.model.dynamic_model import DynamicModel
from dynid.robot.robot import Robot


def physics_of(table: PhysicalSettings, model: DynamicModel, reference: Robot | None = None) -> Physics:
    """Prior and constraints of settings.

    Args:
        table: The settings.
        model: The model.
        reference: The robot that links are expected to be like; the model's own when None.

    Raises:
        UnknownNameError: If a link is not one of the robot's, or the prior's robot lacks one.
        InvalidRequestError: If a constraint contradicts itself or the file says too little for it.
    """
    if reference is not None:
        require_same_links(model, reference)
    stated = [constraints.find_link(model.robot, link) for link, masses in table.masses.items() if _as_range(masses)[1]]
    weight = 1.0 if isinstance(table.weight, str) else table.weight
    return Physics(
        references=references(reference or model.robot, heavy=stated),
        prior=LinkPrior(PriorKind(table.prior), weight),
        constraints=tuple(_stated(table, model)),
    )


def _stated(table: PhysicalSettings, model: DynamicModel) -> Iterator[Constraint]:
    if table.total_mass is not None:
        yield from constraints.total_mass(model, _as_range(table.total_mass))
    for link, masses in table.masses.items():
        yield from constraints.mass(model, link, _as_range(masses))
    for link, (lower, upper) in table.centres_of_mass.items():
        yield from constraints.centre_of_mass(model, link, lower, upper)
    for link in _with_shapes(table, model):
        yield from constraints.centre_of_mass_in_geometry(model, link)


def _as_range(masses: float | tuple[float, float]) -> Range:
    return masses if isinstance(masses, tuple) else (masses, masses)


def _with_shapes(table: PhysicalSettings, model: DynamicModel) -> tuple[str, ...]:
    """Links whose centres of mass must lie in their shapes: those that are named, or all that have shapes."""
    if not isinstance(table.in_geometry, bool):
        return table.in_geometry
    if not table.in_geometry:
        return ()
    robot = model.robot
    with_outline = [robot.links[i].name for i in robot.solid_links if constraints.has_outline(robot.links[i])]
    if not with_outline:
        raise InvalidRequestError(
            f"physical.in_geometry: the file of '{robot.name}' has no shape of known size; state boxes in "
            "physical.centres_of_mass instead"
        )
    return tuple(with_outline)
