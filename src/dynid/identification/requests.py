"""`excite` and `simulate` for a robot or an experiment file, with options that replace its settings."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import Any, Literal, overload

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation import Factors
from dynid.excitation import BalancedExcitation, Excitation, ExcitationSettings, Followable, robot_of_motion
from dynid.excitation.recipe import excite as excite_robot
from dynid.excitation.recipe import with_grippers_held
from dynid.experiment import Experiment, checked_table, is_experiment, read_experiment
from dynid.identification.command_excitation import CommandExcitation, design_commands
from dynid.identification.log_reading import read
from dynid.identification.result import Result, ResultError
from dynid.identification.result_files import load_result
from dynid.identification.standing_requests import asks_for_balance, excite_standing
from dynid.identification.task import robot_of, task_of
from dynid.logs import Control, Log, Processing, Servo, transmission_of
from dynid.model import Term, is_auto
from dynid.robot import Robot, as_robot, load_robot
from dynid.settings import checked
from dynid.simulation import SimulatedLog, SimulationSettings, simulate_run, stated_terms
from dynid.simulation.simulated_log import simulate as simulate_robot


@overload
def excite(  # pyright: ignore[reportOverlappingOverload]  # the other one has no commands
    source: Robot | str | PathLike[str],
    terms: str | Sequence[str | Term] = (),
    *,
    commands: Literal[True],
    **options: Any,
) -> CommandExcitation: ...
@overload
def excite(  # pyright: ignore[reportOverlappingOverload]  # the last one does not say what it stands on
    source: Robot | str | PathLike[str],
    terms: str | Sequence[str | Term] = (),
    *,
    stands_on: Sequence[str] | str,
    **options: Any,
) -> BalancedExcitation: ...
@overload
def excite(
    source: Robot | str | PathLike[str], terms: str | Sequence[str | Term] = (), **options: Any
) -> Excitation: ...
@wraps(excite_robot)
def excite(
    source: Robot | str | PathLike[str], terms: str | Sequence[str | Term] = (), **options: Any
) -> Excitation | CommandExcitation | BalancedExcitation:
    """`dynid.excitation.recipe.excite`, also for the path of an experiment file, whose `[excitation]` says the rest.

    With `stands_on` it designs postures and motions in balance instead, as `excite_standing` describes.
    """
    if asks_for_balance(source, options):
        return excite_standing(source, terms, **options)
    if _asks_for_commands(source, options):
        return excite_commands(source, terms, **options)
    if isinstance(source, Robot) or not is_experiment(source):
        return excite_robot(source, terms, **options)
    of_experiment = (*ExcitationSettings.model_fields, "lock", "servo")
    keys = {key: options.pop(key) for key in tuple(options) if key in of_experiment}
    return excite_experiment(experiment_to_excite(str(source), terms, **keys), options.pop("known", ()), **options)


def _asks_for_commands(source: Robot | str | PathLike[str], options: dict[str, Any]) -> bool:
    """Whether commanded positions are to be designed instead of a trajectory."""
    stated = options.get("commands")
    settings = options.get("settings")
    if stated is None and settings is not None:
        stated = settings.commands if isinstance(settings, ExcitationSettings) else settings.get("commands")
    if stated is None and not isinstance(source, Robot) and is_experiment(source):
        stated = read_experiment(source, needs_logs=False).excitation.commands
    return bool(stated)


def excite_commands(
    source: Robot | str | PathLike[str],
    terms: str | Sequence[str | Term] = (),
    *,
    kp: float | Sequence[float] | Array | str | None = None,
    kd: float | Sequence[float] | Array | str | None = None,
    control: Control | Mapping[str, Any] | None = None,
    servo: Servo | Mapping[str, Any] | None = None,
    settings: ExcitationSettings | Mapping[str, Any] | None = None,
    known: Result | str | PathLike[str] | Sequence[Result | str | PathLike[str]] | None = None,
    known_values: Mapping[str, float] | None = None,
    lock: Mapping[str, float] | Iterable[str] = (),
    time_limit: float = 20.0,
    starts: int | None = None,
    seed: int = 0,
    exact_frames: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    **changes: Any,
) -> CommandExcitation:
    """Design commanded positions for a robot without torque sensors, which follows them by a known control law.

    Chirps and multisines, with amplitudes up to the limits, are simulated under the law; of those that are tried, the
    commands are taken whose log will determine armature, friction and delay best (`criterion="largest"`: the largest
    standard deviation relative to the parameter, or to 1 ms of delay; or `"determinant"`).

    Args:
        source: The robot: a path, `builtin:NAME`, or a loaded one; or the path of an experiment file, whose `[control]`
            and `[excitation]` say the rest.
        terms: Terms of joints; armature, viscous, coulomb and offset when empty.
        kp: Torque per error of position [N m/rad or N/m]: one for all joints, one for each, or "robot" for those of the
            robot file's actuators.
        kd: Torque per error of velocity [N m s/rad or N s/m]; as `kp`.
        control: Other keys of `[control]`, such as `delay`, `rate`, `effort_limit` and `bias`.
        servo: The servos that move the robot, as `[control.servo]` states them, in the place of kp and kd.
        settings: Keys of `[excitation]`: limits, `duration`, `rate`, `command_rate`, `position_noise`, `amplitude`,
            `band`, `family`, `start`, `margin`.
        known: A result that was identified from commands, or its folder: the robot is simulated with its parameters,
            and the commands are designed for what its logs leave uncertain.
        known_values: Values of parameters that are known beforehand, by name or pattern.
        lock: Joints, by name or number, that are held still, with their positions [rad or m].
        time_limit: When to stop [s], with the best so far.
        starts: How many commands are tried at most; as many as there is time for when None. The same seed and number
            give the same commands.
        seed: Seed of everything random.
        exact_frames: Keep right angles that the robot's file rounds; see `load_robot`.
        progress: Callback; receives a short description of each step.
        changes: Keys of `[excitation]` that replace the settings'.

    Raises:
        InvalidRequestError: If gains are missing, settings contradict the robot or each other, or limits leave no room.
    """
    stated: dict[str, Any] = {"kp": _numbers(kp), "kd": _numbers(kd)}
    if servo is not None:
        stated["servo"] = checked(Servo, servo, "servo")
    changes = {**changes, "commands": True}
    options = {"time_limit": time_limit, "starts": starts, "seed": seed, "progress": progress}
    result = _only_result(known)
    if isinstance(source, Robot) or not is_experiment(source):
        loaded = source if isinstance(source, Robot) else load_robot(source, exact_frames=exact_frames)
        robot = as_robot(loaded, lock=lock)
        law = checked(Control, control, "control", **stated)
        excitation = checked(ExcitationSettings, settings, "excitation", **changes)
        values = known_values or {}
        logged = None
    else:
        experiment = experiment_to_excite(str(source), terms, lock=lock, exact_frames=exact_frames, **changes)
        robot, terms, excitation = robot_of(experiment), experiment.terms, experiment.excitation
        excitation = checked(ExcitationSettings, excitation, **_stated_settings(settings))
        law = checked(
            Control,
            {**experiment.control.model_dump(exclude_unset=True), **_stated_settings(control)},
            "control",
            **stated,
        )
        values = {**experiment.known, **(known_values or {})}
        is_stated = not (law.kp is None and law.kd is None and law.servo is None)
        logged = None if is_stated or result is not None else _first_log(source, robot, progress)
    return design_commands(
        robot,
        terms,
        control=law,
        settings=excitation,
        known=result,
        known_values=values,
        logged=logged,
        **options,
    )


def _numbers(values: float | Sequence[float] | Array | str | None) -> float | tuple[float, ...] | str | None:
    """One number, or one for each joint, as settings have them."""
    return values if values is None or isinstance(values, str | float | int) else tuple(float(x) for x in values)


def _stated_settings(settings: Any) -> dict[str, Any]:
    if settings is None:
        return {}
    return dict(settings) if isinstance(settings, Mapping) else settings.model_dump(exclude_unset=True)


def _only_result(known: Any) -> Result | None:
    """The one result that is known, loaded."""
    found = [known] if isinstance(known, Result | str | PathLike) else [*(known or ())]
    if not found:
        return None
    if len(found) > 1:
        raise InvalidRequestError("commands are designed beside one result; identify all logs together, and name that")
    return found[0] if isinstance(found[0], Result) else load_result(Path(found[0]))


def _first_log(source: str | PathLike[str], robot: Robot, progress: Callable[[str], None]) -> Log | None:
    """The first log of an experiment that has commands, for its gains; None where it has none."""
    experiment = read_experiment(source, needs_logs=False)
    if not experiment.log and "log" not in experiment.model_fields_set:
        return None
    progress("Gains of the first log")
    task = task_of(read_experiment(source))
    first = next((log for log in task.logs if not isinstance(log, Log) and log.position_command is not None), None)
    return None if first is None else read(first, robot, progress, task.drive, Processing(automatic=False))


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
    servo: Servo | Mapping[str, Any] | None = None,
    exact_frames: bool = False,
    **changes: Any,
) -> Experiment:
    """The experiment to design for, which needs no logs.

    Args:
        source: A robot, or the path of an experiment file.
        terms: Friction and actuator terms of a robot.
        lock: Joints to hold still, with their positions [rad or m] (at zero, or the limit nearest to it, where None),
            besides those that the experiment locks.
        servo: The servos that move the robot; those of the experiment when None.
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
    if "replay" in given:
        given["replay"] = {**stated.get("replay", {}), **_stated_settings(given["replay"])}
    excitation = checked_table(ExcitationSettings, {**stated, **given})
    update: dict[str, Any] = {"excitation": excitation, "lock": {**experiment.lock, **held}}
    if servo is not None:
        update["control"] = experiment.control.model_copy(update={"servo": checked(Servo, servo, "servo")})
    return experiment.model_copy(update=update)


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
    options.setdefault("servo", experiment.control.servo)
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
