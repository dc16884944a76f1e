"""Physically consistent links and joints from factors, and what users should know about them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation.factors.reduced_logs import Fold
from dynid.estimation.form_fits import links_with_torque_fits
from dynid.estimation.least_squares import Estimate
from dynid.estimation.physical import constraints
from dynid.estimation.physical.cone_program import SolverError
from dynid.estimation.physical.constraints import Constraint, Range
from dynid.estimation.physical.containment import Box, Containment, Ellipsoid, mass_inside
from dynid.estimation.physical.link_prior import LinkPrior, PriorKind
from dynid.estimation.physical.parameter_retrieval import fitted_by_penalties
from dynid.estimation.physical.physical_estimate import (
    SOURCE_THRESHOLDS,
    PhysicalEstimate,
    Physics,
    Source,
    physical_estimate,
)
from dynid.estimation.physical.prior_weight import WeightChoice, choose_weight
from dynid.estimation.physical.references import Origin, references, require_same_links
from dynid.estimation.settings import PhysicalSettings
from dynid.estimation.solution import Solution
from dynid.findings import Finding
from dynid.logs import findings_on_mass
from dynid.machine import single_threaded_blas
from dynid.model import BaseParameters, DynamicModel, random_states
from dynid.robot import SIZE, Robot, rotation_from_rpy


@dataclass(frozen=True)
class PhysicalThresholds:
    """What is said of physically consistent links."""

    costly_ratio: float = 1.05
    """Error of physically consistent links over that of base parameters above which model and data do not agree.
    Calibrated on the logs of Panda and TX40, whose ratios are 1.033 and 1.015 (`docs/physical.md`,
    `tests/estimation/test_physical_links.py`)."""

    small_weight: float = 1.0
    """Weight of the prior up to which the data are said to contradict the robot file: the smallest that is tried. Shown
    by `benchmarks/prior_weight.py`: it is chosen where a term is missing."""


THRESHOLDS = PhysicalThresholds()

POSTURES = 200
"""Random postures in which mass matrices are looked at."""


def findings_on_references(physics: Physics, model: DynamicModel) -> tuple[Finding, ...]:
    """What users should know of the bodies that links are compared with."""
    codes = {
        Origin.MENDED: "link-impossible-in-file",
        Origin.MASSLESS: "link-without-inertia",
        Origin.PLAIN: "links-without-reference",
    }
    found = []
    for origin, code in codes.items():
        links = [model.robot.links[r.link].name for r in physics.references if r.origin is origin]
        if links:
            found.append(Finding.of(code, "physical links", links=links))
    return tuple(found)


def findings_on_weight(choice: WeightChoice) -> tuple[Finding, ...]:
    """Which weight of the prior cross-validation chose, and whether it would have gone further."""
    if not choice.errors:
        return ()
    weight, errors = choice.weight, {f"{w:g}": error for w, error in choice.errors.items()}
    values = {"weight": weight, "errors": errors, "best": choice.best, "dispersion": choice.dispersion}
    if weight <= THRESHOLDS.small_weight:
        return (Finding.of("prior-weight-small", "prior", **values),)
    return (Finding.of("prior-weight-largest" if weight == max(choice.errors) else "prior-weight", "prior", **values),)


def findings_on_physical(physical: PhysicalEstimate, estimate: Estimate) -> tuple[Finding, ...]:
    """Findings on physical links: what they cost, and whether the unconstrained estimate could do without them."""
    found: list[Finding] = []
    ratio = physical.relative_error / estimate.relative_error if estimate.relative_error else 1.0
    if ratio > THRESHOLDS.costly_ratio:
        before = {joint: fit.rmse for joint, fit in estimate.joints.items() if fit.rmse > 0.0}  # 0: no torque measured
        rise = {joint: physical.joints[joint].rmse / rmse for joint, rmse in before.items()}
        worst = {joint: rise[joint] for joint in sorted(rise, key=lambda joint: -rise[joint])[:3]}
        found.append(Finding.of("physical-fit-worse", "physical links", ratio=ratio, joints=worst))
    held = [name for name in physical.base.model.names if physical.source(name) is Source.PHYSICS]
    if held:
        values = {"count": len(held), "limit": SOURCE_THRESHOLDS.moved_stds, "parameters": held}
        found.append(Finding.of("parameters-held-by-physics", "physical links", **values))
    share = definite_share(physical.base, physical.base.to_standard(estimate.values))
    if share < 1.0:
        found.append(Finding.of("mass-matrix-indefinite", "base parameters", share=share, postures=POSTURES))
    masses = physical.parameters[: SIZE * len(physical.references) : SIZE]
    return (*found, *findings_on_mass(physical.base.model.robot, float(masses.sum())))


def definite_share(
    base: BaseParameters, parameters: Array, postures: int = POSTURES, rng: np.random.Generator | None = None
) -> float:
    """Share of random postures in which a model's mass matrix is positive definite.

    Args:
        base: The base parameters, with their model.
        parameters: Standard parameters, shape (parameters,).
        postures: How many.
        rng: The random generator; a fixed one when None.
    """
    model = DynamicModel(base.model.robot, base.model.terms)  # all rows, whichever are measured
    q, _, _ = random_states(model, postures, rng or np.random.default_rng(0))
    definite = 0
    for first in range(0, postures, POSTURES):
        M = model.mass_matrices(q[first : first + POSTURES], parameters)
        definite += int(np.sum(np.linalg.eigvalsh(0.5 * (M + M.swapaxes(1, 2)))[:, 0] > 0.0))
    return definite / postures


def fit_physical(
    solution: Solution,
    base: BaseParameters,
    settings: PhysicalSettings,
    reference: Robot | None,
    folds: Sequence[Fold],
    method: Literal["ols", "wls"],
) -> tuple[PhysicalEstimate | None, tuple[Finding, ...]]:
    """Physically consistent links and joints, or a finding on why there are none.

    Args:
        solution: The estimate of the base parameters.
        base: The base parameters.
        settings: Prior and constraints.
        reference: The robot that links are expected to be like; the model's own when None.
        folds: Parts of the logs: how far they differ says how sure the data are.
        method: "ols" or "wls".
    """
    physics = physics_of(settings, base.model, reference)
    notes = findings_on_references(physics, base.model)
    try:
        with single_threaded_blas():
            choice = choose_weight(folds, base, physics, settings.weight, method)
            notes += findings_on_weight(choice)
            physics = replace(physics, prior=replace(physics.prior, weight=choice.weight))
            penalties = None if settings.penalty is None else fitted_by_penalties(base, physics, settings.penalty)
            by_data, spread = solution.by_data, choice.dispersion
            physical = physical_estimate(solution.rows, base, physics, by_data, method, spread, penalties)
            physical = replace(physical, left_out=choice.left_out)
    except SolverError as error:
        return None, (*notes, Finding.of("physical-fit-failed", "physical links", problem=str(error)))
    if solution.plain is not solution.rows:
        physical = links_with_torque_fits(physical, solution.plain)
    return physical, (*notes, *findings_on_physical(physical, solution.estimate))


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
        prior=LinkPrior(PriorKind(table.prior if table.penalty is None else "none"), weight),
        constraints=tuple(_stated(table, model)),
    )


def _stated(table: PhysicalSettings, model: DynamicModel) -> Iterator[Constraint | Containment]:
    if table.total_mass is not None:
        yield from constraints.total_mass(model, _as_range(table.total_mass))
    for link, masses in table.masses.items():
        yield from constraints.mass(model, link, _as_range(masses))
    for link, (lower, upper) in table.centres_of_mass.items():
        yield from constraints.centre_of_mass(model, link, lower, upper)
    for link in _with_shapes(table, model):
        yield from constraints.centre_of_mass_in_geometry(model, link)
    yield from _with_all_mass(table, model)


def _with_all_mass(table: PhysicalSettings, model: DynamicModel) -> Iterator[Constraint | Containment]:
    """Ellipsoids and boxes that hold all mass of links."""
    label = ""
    try:
        for link, ellipsoid in table.ellipsoids.items():
            label = f"physical.ellipsoids.{link}"
            bound = Ellipsoid(ellipsoid.centre, ellipsoid.semi_axes, rotation_from_rpy(*ellipsoid.rpy))
            yield mass_inside(model, link, bound, label)
        for link, (lower, upper) in table.boxes.items():
            label = f"physical.boxes.{link}"
            yield mass_inside(model, link, Box(lower, upper), label)
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{label}: {error}") from error


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
