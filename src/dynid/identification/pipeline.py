"""Identification as a recipe: from an experiment to parameters."""

from __future__ import annotations

import time
from collections.abc import Callable

from dynid.estimation.physical.physics import physics_of
from dynid.experiment.experiment import Experiment
from dynid.findings import Finding
from dynid.identification.estimators import diagnosed, form_of
from dynid.identification.factorisation import reduced_logs
from dynid.identification.forms import without_consequences
from dynid.identification.friction_findings import findings_on_breakaway, findings_on_directions, findings_on_nonlinear
from dynid.identification.log_reading import read_logs
from dynid.identification.nonlinear_terms import find_nonlinear
from dynid.identification.outcome import EarlierLogs, Identification
from dynid.identification.physical_links import possible_links
from dynid.identification.residuals import findings_on_residuals
from dynid.identification.solution import solved
from dynid.model.base_parameters import find_base_parameters
from dynid.model.dynamic_model import DynamicModel
from dynid.model.known_values import split_known
from dynid.model.terms import parse_terms
from dynid.robot.loading import load_robot
from dynid.threads import single_threaded_blas


def identify(
    experiment: Experiment, progress: Callable[[str], None] = lambda _: None, earlier: EarlierLogs | None = None
) -> Identification:
    """Identify a robot's base parameters, and physical parameters of its links and joints.

    Args:
        experiment: The experiment.
        progress: Is told each step in a few words.
        earlier: Logs of the same model that were read before, and count, too.
    """
    start = time.perf_counter()
    progress("Looking for what can be known")
    model = model_of(experiment) if earlier is None else earlier.model
    base = find_base_parameters(model, known=split_known(model, experiment.known)[1])
    form = form_of(experiment)
    form.equations(model)  # a term that does not go with the form is refused before a log is read
    physics = physics_of(experiment, model) if experiment.physical.fit else None
    read = read_logs(experiment, base, progress)
    findings: list[Finding] = [*base.findings(), *read.findings, *findings_on_directions(model, read.logs, form)]
    with single_threaded_blas():
        nonlinear = find_nonlinear(read.experiment, base, read.logs, progress, hold=earlier is not None)
    base = nonlinear.base
    findings += findings_on_nonlinear(nonlinear, read.logs, form)
    reduced = reduced_logs(read, nonlinear, earlier, progress)
    progress("Estimating")
    with single_threaded_blas():
        solution = solved(read, reduced, nonlinear, findings, progress)
    progress("Looking at what is left")
    diagnostics = diagnosed(read.logs, base, solution.estimate)
    findings += (*solution.findings, *findings_on_breakaway(solution.estimate, model.robot))
    of_residuals = findings_on_residuals(diagnostics, any(finding.subject == "friction" for finding in findings))
    findings += without_consequences(of_residuals, solution.lost)
    physical = None
    if physics is not None:
        progress("Making links physical")
        with single_threaded_blas():
            physical, notes = possible_links(read.experiment, physics, base, solution, reduced.folds)
        findings += notes
    signs = read.experiment.drive.signs
    return Identification(
        base=base,
        logs=solution.torques,
        form_logs=solution.rows,
        estimate=solution.estimate,
        essential=solution.essential,
        physical=physical,
        bootstrap=solution.bootstrap,
        diagnostics=diagnostics,
        processing=tuple(log.processing for log in read.logs),
        sampling=tuple(log.sampling for log in read.logs),
        drive_signs=signs if signs != "auto" else None,
        findings=tuple(findings),
        samples=read.samples,
        seconds=time.perf_counter() - start,
        signs=read.signs,
        form=solution.form,
        nonlinear=solution.nonlinear,
        passes=0 if nonlinear.fit is None else nonlinear.fit.passes,
    )


def model_of(experiment: Experiment) -> DynamicModel:
    """The model that an experiment is about."""
    robot = load_robot(experiment.robot, lock=experiment.lock, gravity=experiment.gravity)
    model = DynamicModel(robot, parse_terms(experiment.terms, robot))
    return model.at_nonlinear(split_known(model, experiment.known)[0])
