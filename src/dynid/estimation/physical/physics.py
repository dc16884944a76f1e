"""From what an experiment states about links to prior and constraints."""

from __future__ import annotations

from collections.abc import Iterator

from dynid.errors import InvalidRequestError
from dynid.estimation.physical import constraints
from dynid.estimation.physical.constraints import Constraint, Range
from dynid.estimation.physical.link_problem import LinkPrior, PriorKind
from dynid.estimation.physical.physical_estimate import Physics
from dynid.estimation.physical.references import references, require_same_links
from dynid.estimation.settings import PhysicalSettings
from dynid.experiment.experiment import Experiment
from dynid.model.dynamic_model import DynamicModel
from dynid.robot.loading import load_robot


def physics_of(experiment: Experiment, model: DynamicModel) -> Physics:
    """Prior and constraints of an experiment's `[physical]` table.

    Raises:
        UnknownNameError: If a link is not one of the robot's, or the prior's robot lacks one.
        InvalidRequestError: If a constraint contradicts itself or the file says too little for it.
    """
    table = experiment.physical
    expected = model.robot
    if table.reference is not None:
        expected = load_robot(table.reference, lock=experiment.lock)
        require_same_links(model, expected)
    stated = [constraints.find_link(model.robot, link) for link, masses in table.masses.items() if _as_range(masses)[1]]
    weight = 1.0 if isinstance(table.weight, str) else table.weight
    return Physics(
        references=references(expected, heavy=stated),
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
    at_nonlinear = [robot.links[i].name for i in robot.solid_links if constraints.has_outline(robot.links[i])]
    if not at_nonlinear:
        raise InvalidRequestError(
            f"physical.in_geometry: the file of '{robot.name}' has no shape of known size; state boxes in "
            "physical.centres_of_mass instead"
        )
    return tuple(at_nonlinear)
