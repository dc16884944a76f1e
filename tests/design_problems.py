"""Design problems that experiments state."""

from __future__ import annotations

from dynid.excitation.problem import ExcitationProblem
from dynid.excitation.stated_problem import problem_of
from dynid.experiment.experiment import Experiment
from dynid.findings import Finding
from dynid.identification.task import task_of


def problem_of_experiment(experiment: Experiment) -> tuple[ExcitationProblem, list[Finding]]:
    """The design problem of an experiment without collisions, and what was noticed."""
    settings = experiment.excitation.model_copy(update={"collisions": False})
    return problem_of(task_of(experiment).model, settings, known_values=experiment.known)
