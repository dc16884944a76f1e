"""What `excite` and `simulate` need of an experiment's drives and of earlier results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from dynid.errors import InvalidRequestError
from dynid.estimation.factors.factors import Factors
from dynid.experiment.experiment import Experiment
from dynid.experiment.requests import robot_of
from dynid.identification.result_files import load_result
from dynid.identification.task import task_of
from dynid.logs.drive import transmission_of
from dynid.simulation.simulated_log import SimulatedLog, simulate_run


def simulate_experiment(experiment: Experiment, progress: Callable[[str], None] = lambda _: None) -> SimulatedLog:
    """Run the simulation that an experiment describes.

    Args:
        experiment: The experiment; it needs no logs, but a trajectory.
        progress: Callback; receives a short description of each step.
    """
    settings, drive = experiment.simulation, experiment.drive
    robot = robot_of(experiment)
    return simulate_run(
        robot,
        required_trajectory(experiment),
        terms=experiment.terms,
        settings=settings,
        drive=transmission_of(experiment.drive, robot),
        delay=drive.delay if "delay" in drive.model_fields_set else None,
        known_values=experiment.known,
        progress=progress,
    )


def required_trajectory(experiment: Experiment) -> Path:
    """The file of the trajectory that an experiment follows.

    Raises:
        InvalidRequestError: If it states none.
    """
    if experiment.simulation.trajectory is None:
        raise InvalidRequestError("there is no trajectory to follow; give --trajectory FILE or simulation.trajectory")
    return Path(experiment.simulation.trajectory)


def known_factors(path: Path, experiment: Experiment) -> Iterator[Factors]:
    """Factors of logs that exist: of a folder that `dynid identify` saved, or of one file of factors.

    Raises:
        ResultError: If the folder holds no result, or one of another model; says in which respect.
    """
    if not path.is_dir():
        yield Factors.load(path)
        return
    result = load_result(path)
    result.require_same_model(task_of(experiment), path)
    yield from result.torques
