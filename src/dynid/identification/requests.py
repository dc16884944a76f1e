"""`excite` and `simulate` for a robot or an experiment file, with options that replace its settings."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import Any

from dynid.errors import InvalidRequestError
from dynid.estimation import Factors
from dynid.excitation import Excitation, ExcitationSettings, Followable, robot_of_motion
from dynid.excitation.recipe import excite as excite_robot
from dynid.excitation.recipe import with_grippers_held
from dynid.experiment import Experiment, checked_table, is_experiment, read_experiment
from dynid.identification.result import ResultError
from dynid.identification.result_files import load_result
from dynid.identification.task import robot_of, task_of
from dynid.logs import Log, transmission_of
from dynid.model import Term, is_auto
from dynid.robot import Robot
from dynid.simulation import SimulatedLog, SimulationSettings, simulate_run, stated_terms
from dynid.simulation.simulated_log import simulate as simulate_robot


@wraps(excite_robot)
def excite(source: Robot | str | PathLike[str], terms: str | Sequence[str | Term] = (), **options: Any) -> Excitation:
    """`dynid.excitation.recipe.excite`, also for the path of an experiment file, whose `[excitation]` says the rest."""
    if isinstance(source, Robot) or not is_experiment(source):
        return excite_robot(source, terms, **options)
    keys = {key: options.pop(key) for key in tuple(options) if key in (*ExcitationSettings.model_fields, "lock")}
    return excite_experiment(experiment_to_excite(str(source), terms, **keys), options.pop("known", ()), **options)


def simulate(source: Robot | str | PathLike[str], motion: Followable | None = None, **options: Any) -> Log:
    """Let a simulated robot follow a trajectory, and log it.

    Args:
        source: The robot; or the path of an experiment file, whose `[drive]` and `[simulation]` say the rest.
        motion: What to follow: an `Excitation`, a `Log`, arrays (t, q), or the path of a trajectory file; that of the
            experiment when None.
        options: Of a robot those of `dynid.simulation.simulated_log.simulate_run`, such as `terms`, `noise` and `seed`;
            of an experiment keys of `[simulation]`.
    """
    if isinstance(source, Robot) or not is_experiment(source):
        if motion is None:
            raise InvalidRequestError("there is no trajectory to follow; give one, such as that of dynid.excite")
        return simulate_robot(source, motion, **options)
    experiment = experiment_to_simulate(str(source), (), options)
    return simulate_experiment(experiment, motion=motion).log


def experiment_to_excite(
    source: str,
    terms: str | Sequence[str | Term] = (),
    *,
    lock: Mapping[str, float | None] | Iterable[str] = (),
    exact_frames: bool = False,
    **changes: Any,
) -> Experiment:
    """The experiment to design for, which needs no logs.

    Args:
        source: A robot, or the path of an experiment file.
        terms: Friction and actuator terms of a robot.
        lock: Joints to hold still, with their positions [rad or m] (at zero, or the limit nearest to it, where None),
            besides those that the experiment locks.
        exact_frames: Keep right angles that the robot's file rounds; see `load_robot`.
        changes: Keys of `[excitation]` that replace the experiment's, where they are not None.

    Raises:
        InvalidRequestError: If a value is none that its key can have, or terms are given for an experiment.
    """
    experiment = _experiment(source, terms, exact_frames)
    given = _given(changes)
    stated = experiment.excitation.model_dump(exclude_defaults=True)
    if "period" in given:
        stated.pop("frequency", None)
    wanted: dict[str, float | None] = dict(lock) if isinstance(lock, Mapping) else dict.fromkeys(lock)
    robot = robot_of(experiment) if None in wanted.values() else None
    held = {name: robot.joint(name).limits.rest if robot and at is None else at for name, at in wanted.items()}
    excitation = checked_table(ExcitationSettings, {**stated, **given})
    return experiment.model_copy(update={"excitation": excitation, "lock": {**experiment.lock, **held}})


def robot_to_excite(experiment: Experiment, move: Iterable[str] = ()) -> Robot:
    """The robot of an experiment as `excite` moves it: with grippers locked, but for joints that are asked to move."""
    return with_grippers_held(robot_of(experiment), experiment.excitation, move)[0]


def excite_experiment(experiment: Experiment, known: Sequence[Factors | Path] = (), **options: Any) -> Excitation:
    """Design exciting trajectories for an experiment.

    Args:
        experiment: The experiment; it needs no logs.
        known: Results of logs that exist: factors, their files, or folders that `dynid identify` saved.
        options: As those of `excite`.

    Raises:
        ResultError: If a folder holds no result, or one of another model; says in which respect.
    """
    return excite_robot(
        robot_of(experiment),
        experiment.terms,
        settings=experiment.excitation,
        known_values=experiment.known,
        known=[factors for one in known for factors in _factors(one, experiment)],
        **options,
    )


def experiment_to_simulate(
    source: str, terms: Sequence[str], settings: Mapping[str, Any], *, exact_frames: bool = False
) -> Experiment:
    """The experiment to simulate, which needs no logs.

    Args:
        source: A robot, or the path of an experiment file.
        terms: Friction and actuator terms of a robot; those that its file gives values for when empty.
        settings: Keys of `[simulation]` that replace the experiment's, where they are not None.
        exact_frames: Keep right angles that the robot's file rounds; see `load_robot`.

    Raises:
        InvalidRequestError: If a value is none that its key can have, or terms are given for an experiment.
    """
    experiment = _experiment(source, terms, exact_frames)
    if is_auto(experiment.terms) or not (experiment.terms or is_experiment(source)):
        experiment = experiment.model_copy(update={"terms": stated_terms(robot_of(experiment))})
    stated = experiment.simulation.model_dump(exclude_defaults=True)
    merged = {**stated, **_given(settings)}
    for key in ("sensors", "parameters"):
        merged[key] = {**stated.get(key, {}), **_given(settings.get(key, {}))}
    simulation, robot = checked_table(SimulationSettings, merged), robot_of(experiment)
    held = robot if simulation.trajectory is None else robot_of_motion(robot, simulation.trajectory)
    return experiment.model_copy(update={"simulation": simulation, "lock": dict(held.locked)})


def simulate_experiment(
    experiment: Experiment, progress: Callable[[str], None] = lambda _: None, motion: Followable | None = None
) -> SimulatedLog:
    """Run the simulation that an experiment describes; it needs no logs, but a trajectory, stated or given as `motion`.

    Raises:
        InvalidRequestError: If it states no trajectory.
    """
    settings, drive = experiment.simulation, experiment.drive
    motion = settings.trajectory if motion is None else motion
    if motion is None:
        raise InvalidRequestError("there is no trajectory to follow; give --trajectory FILE or simulation.trajectory")
    robot = robot_of(experiment)
    return simulate_run(
        robot,
        motion,
        terms=experiment.terms,
        settings=settings,
        drive=transmission_of(drive, robot),
        delay=drive.delay if "delay" in drive.model_fields_set else None,
        known_values=experiment.known,
        progress=progress,
    )


def _experiment(source: str, terms: str | Sequence[str | Term], exact_frames: bool) -> Experiment:
    """The experiment of a robot, or that of a file."""
    if not is_experiment(source):
        return Experiment(robot=source, terms=tuple(str(term) for term in terms), exact_frames=exact_frames)
    if terms:
        raise InvalidRequestError(f"'{source}' states its terms itself; change them there")
    experiment = read_experiment(source, needs_logs=False)
    return experiment.model_copy(update={"exact_frames": True}) if exact_frames else experiment


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _factors(known: Factors | Path, experiment: Experiment) -> Iterator[Factors]:
    """The factors themselves, those of a file, or those of a saved result."""
    if isinstance(known, Factors):
        yield known
    elif known.is_dir():
        result = load_result(known)
        key = result.task.difference(task_of(experiment).with_model_of(result.task))
        if key:
            problem = f"is the result of another model than that of the trajectory: '{key}' differs; make both alike"
            raise ResultError(known, problem)
        yield from result.torques
    else:
        yield Factors.load(known)
