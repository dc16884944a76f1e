"""From what a user asks for on the command line, a robot or an experiment file with options, to an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dynid.errors import InvalidRequestError
from dynid.excitation.exciting_motion import Excitation
from dynid.excitation.problem import ExcitationProblem
from dynid.excitation.recipe import excite
from dynid.excitation.settings import ExcitationSettings
from dynid.excitation.stated_problem import problem_of
from dynid.experiment.experiment import Experiment
from dynid.experiment.reading import checked_table, is_experiment, read_experiment
from dynid.findings import Finding
from dynid.model.dynamic_model import known_model
from dynid.robot.loading import load_robot
from dynid.robot.robot import Robot
from dynid.simulation.settings import SimulationSettings
from dynid.simulation.simulated_robot import stated_terms


def experiment_of(source: str, terms: Sequence[str] = ()) -> Experiment:
    """The experiment that is meant, of a robot or of an experiment file; it needs no logs.

    Args:
        source: A robot, or the path of an experiment.
        terms: Friction and actuator terms of a robot.

    Raises:
        InvalidRequestError: If terms are given for an experiment.
    """
    if not is_experiment(Path(source)):
        return Experiment(robot=source, terms=tuple(terms))
    if terms:
        raise InvalidRequestError(f"'{source}' states its terms itself; change them there")
    return read_experiment(Path(source), needs_logs=False)


def robot_of(experiment: Experiment) -> Robot:
    """The robot of an experiment, with the joints that it locks and its gravity."""
    return load_robot(experiment.robot, lock=experiment.lock, gravity=experiment.gravity)


def experiment_to_excite(source: str, terms: Sequence[str] = (), **changes: Any) -> Experiment:
    """The experiment to design for; keys of `[excitation]` that are not None replace the experiment's.

    Raises:
        InvalidRequestError: If a value is none that its key can have, or terms are given for an experiment.
    """
    experiment = experiment_of(source, terms)
    given = {key: value for key, value in changes.items() if value is not None}
    stated = experiment.excitation.model_dump(exclude_defaults=True)
    if "period" in given:
        stated.pop("frequency", None)
    return experiment.model_copy(update={"excitation": checked_table(ExcitationSettings, {**stated, **given})})


def problem_of_experiment(experiment: Experiment) -> tuple[ExcitationProblem, list[Finding]]:
    """The design problem that an experiment states, and what was noticed."""
    model = known_model(robot_of(experiment), experiment.terms, experiment.known)
    return problem_of(model, experiment.excitation, known_values=experiment.known)


def excite_experiment(experiment: Experiment, **options: Any) -> Excitation:
    """Design for an experiment; options are those of `excite`."""
    return excite(
        robot_of(experiment),
        experiment.terms,
        settings=experiment.excitation,
        known_values=experiment.known,
        **options,
    )


def experiment_to_simulate(source: str, terms: Sequence[str], settings: Mapping[str, Any]) -> Experiment:
    """The experiment to simulate, from a robot or from an experiment file.

    Args:
        source: A robot, or the path of an experiment.
        terms: Friction and actuator terms of a robot; those that its file gives values for when empty.
        settings: Keys of `[simulation]` that replace the experiment's; those that are None do not.

    Raises:
        InvalidRequestError: If a value is none that its key can have, or terms are given for an experiment.
    """
    experiment = experiment_of(source, terms)
    if not experiment.terms and not is_experiment(Path(source)):
        experiment = experiment.model_copy(update={"terms": stated_terms(load_robot(source))})
    stated = experiment.simulation.model_dump(exclude_defaults=True)
    given = {key: value for key, value in settings.items() if value is not None}
    sensors = {key: value for key, value in settings["sensors"].items() if value is not None}
    merged = {**stated, **given, "sensors": {**stated.get("sensors", {}), **sensors}}
    merged["parameters"] = {**stated.get("parameters", {}), **settings["parameters"]}
    return experiment.model_copy(update={"simulation": checked_table(SimulationSettings, merged)})
