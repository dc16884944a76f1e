"""From factors to links and joints that can exist."""

from __future__ import annotations

from dynid.config import Experiment
from dynid.data.factors import Factors
from dynid.estimation import PhysicalEstimate, Physics, cross_validated, physical_estimate
from dynid.feasibility.cone_program import SolverError
from dynid.findings import Finding, Severity
from dynid.form_findings import links_with_torque_fits
from dynid.identification.solution import Solution
from dynid.model.base_parameters import BaseParameters
from dynid.physical_findings import findings_on_physical, findings_on_references, findings_on_weight


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
        return None, (*notes, Finding(Severity.ERROR, "physical links", str(error)))
    if solution.form is not None:
        physical = links_with_torque_fits(physical, solution.torques)
    return physical, (*notes, *findings_on_physical(physical, solution.estimate))
