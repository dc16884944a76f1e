"""What users should know about physical links: what they rest on, what they cost, and what they are good for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dynid.arrays import Array
from dynid.estimation.estimate import Estimate
from dynid.estimation.factors.factors import Factors
from dynid.estimation.physical.cone_program import SolverError
from dynid.estimation.physical.physical_estimate import (
    MOVED,
    PhysicalEstimate,
    Physics,
    Source,
    cross_validated,
    physical_estimate,
)
from dynid.estimation.physical.references import Origin
from dynid.experiment.experiment import Experiment
from dynid.findings import Finding, Severity, prose
from dynid.identification.forms import links_with_torque_fits
from dynid.identification.solution import Solution
from dynid.model.base_parameters import BaseParameters
from dynid.model.dynamic_model import DynamicModel
from dynid.model.sampling import random_states

COSTLY = 1.05
"""Error of physical links, in parts of the unconstrained one's, above which model and data do not go together."""

POSTURES = 200
"""Random postures in which mass matrices are looked at."""


def findings_on_references(physics: Physics, model: DynamicModel) -> tuple[Finding, ...]:
    """What users should know of the bodies that links are compared with."""
    words = {
        Origin.MENDED: (
            Severity.WARNING,
            "impossible in the robot's file; the prior is the nearest possible body (see dynid repair)",
        ),
        Origin.MASSLESS: (
            Severity.NOTE,
            "without inertia in the robot's file, while others have it: taken as massless in the physical links; give "
            "them an inertia to have theirs estimated",
        ),
        Origin.PLAIN: (
            Severity.NOTE,
            "the robot's file says nothing of their inertia: what the data do not tell comes from plain rods along the "
            "links; state masses in [physical] or inertias in the file to do better",
        ),
    }
    found = []
    for origin, (severity, text) in words.items():
        links = [model.robot.links[r.link].name for r in physics.references if r.origin is origin]
        if links:
            shown = ", ".join(f"'{name}'" for name in links[:6]) + (", ..." if len(links) > 6 else "")
            found.append(prose(severity, f"links {shown}", text))
    return tuple(found)


def findings_on_weight(weight: float, errors: Mapping[float, float]) -> tuple[Finding, ...]:
    """Which weight of the prior cross-validation chose, and whether it would have gone further."""
    tried = ", ".join(f"{error:.4g} at {w:g}" for w, error in errors.items())
    text = f"cross-validation chose the weight {weight:g}; relative errors of predictions: {tried}"
    if weight in (min(errors), max(errors)):
        which = "trust the prior less: prior = 'none'" if weight == min(errors) else "the data add little to the prior"
        text += f". That is the end of what was tried: {which}"
    return (prose(Severity.NOTE, "prior", text),)


def findings_on_physical(physical: PhysicalEstimate, estimate: Estimate) -> tuple[Finding, ...]:
    """Findings on physical links: what they cost, and whether the unconstrained estimate could do without them."""
    found: list[Finding] = []
    ratio = physical.relative_error / estimate.relative_error if estimate.relative_error else 1.0
    if ratio > COSTLY:
        before = {joint: fit.rmse for joint, fit in estimate.joints.items() if fit.rmse > 0.0}  # 0: no torque measured
        rise = {joint: physical.joints[joint].rmse / rmse for joint, rmse in before.items()}
        worst = sorted(rise, key=lambda joint: -rise[joint])[:3]
        listed = ", ".join(f"'{joint}' ({rise[joint]:.3g} times)" for joint in worst)
        text = (
            f"no possible links predict the torques as well as the base parameters do: their error is {ratio:.3g} "
            f"times as large, most on {listed}; look for missing terms, wrong gear ratios, signs or kinematics, wrong "
            "values in [physical] or known, or a prior of too much weight"
        )
        found.append(prose(Severity.WARNING, "physical links", text))
    held = [name for name in physical.base.model.names if physical.source(name) is Source.PHYSICS]
    if held:
        shown = ", ".join(held[:8]) + (", ..." if len(held) > 8 else "")
        text = (
            f"{len(held)} parameters are held by physics, more than {MOVED:g} deviations from what the data alone say "
            f"({shown}): there the data contradict every possible robot of this model, so do not rely on their values"
        )
        found.append(prose(Severity.NOTE, "physical links", text))
    share = definite_share(physical.base, physical.base.to_standard(estimate.values))
    if share < 1.0:
        text = (
            f"their mass matrix is positive definite in only {share:.0%} of {POSTURES} random postures: simulate and "
            "control with the physical links instead"
        )
        found.append(prose(Severity.NOTE, "base parameters", text))
    return tuple(found)


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
    q, _, _ = random_states(base.model, postures, rng or np.random.default_rng(0))
    definite = 0
    for first in range(0, postures, POSTURES):
        M = base.model.mass_matrices(q[first : first + POSTURES], parameters)
        definite += int(np.sum(np.linalg.eigvalsh(0.5 * (M + M.swapaxes(1, 2)))[:, 0] > 0.0))
    return definite / postures


def possible_links(
    experiment: Experiment, physics: Physics, base: BaseParameters, solution: Solution, folds: tuple[Factors, ...]
) -> tuple[PhysicalEstimate | None, tuple[Finding, ...]]:
    """Links that can exist, or a finding on why there are none.

    Args:
        experiment: The experiment.
        physics: What is known of the links.
        base: The base parameters.
        solution: Their estimate.
        folds: The factors of parts of the logs, for cross-validation.
    """
    method = experiment.estimation.method
    notes = findings_on_references(physics, base.model)
    try:
        if experiment.physical.weight == "cross-validation":
            physics, errors = cross_validated(folds, base, physics, method)
            notes += findings_on_weight(physics.prior.weight, errors)
        physical = physical_estimate(solution.rows, base, physics, solution.by_data, method)
    except SolverError as error:
        return None, (*notes, prose(Severity.ERROR, "physical links", str(error)))
    if solution.form is not None:
        physical = links_with_torque_fits(physical, solution.torques)
    return physical, (*notes, *findings_on_physical(physical, solution.estimate))
