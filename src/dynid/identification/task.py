"""What is to be identified, from which logs, and how: one typed object for the recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dynid.errors import InvalidRequestError, as_written
from dynid.estimation import EstimationSettings, PhysicalSettings
from dynid.estimation.settings import FORMS
from dynid.experiment import Experiment, parse_experiment, read_experiment
from dynid.files import FileKind, is_file, use_of
from dynid.identification.drive_units import is_in_amperes
from dynid.logs import Control, Drive, Log, LogSource, Processing, is_url, transmission_of, with_control, with_files
from dynid.model import (
    AUTO,
    TORQUES,
    WRENCH,
    DynamicModel,
    MotorTerm,
    Observed,
    Term,
    default_terms,
    known_model,
    known_of,
    specification,
    split_known,
)
from dynid.robot import Robot, as_robot, load_robot, with_matrix
from dynid.settings import checked

_DRIVE, _PROCESSING, _ESTIMATION, _PHYSICAL = Drive(), Processing(), EstimationSettings(), PhysicalSettings()
_CONTROL = Control()

JOINT_TERMS = ("armature", "viscous", "coulomb", "offset")
"""Terms of joints that are identified from commands where none are stated."""


ROBOT_OF_RESULT = "(that of the result)"
"""The robot of an experiment of logs alone, which go with a result."""


@dataclass(frozen=True, eq=False)
class Task:
    """An identification that is to be made.

    Attributes:
        model: The model, at the nonlinear parameters that are known.
        logs: What was measured: logs in memory, or where to read them.
        earlier: Logs of a result that these are added to; they count, and are not read again.
        known: Parameters that are known beforehand, by name or pattern.
        torque: Whether torques were logged with signs.
        discard_sign: Whether logged signs are discarded, to practise their recovery.
        drive: From motors to joints.
        processing: From signals to states.
        estimation: How parameters are estimated.
        physical: How physically consistent links are fitted.
        control: The control law behind commands that stand in for torques.
        reference: The robot that links are expected to be like; the model's own when None.
        chooses_terms: Whether terms are chosen by what the logs show (`terms = "auto"`); then the model is provisional.
        is_commanded: Whether commands stand in for torques.
    """

    model: DynamicModel
    logs: tuple[Log | LogSource, ...] = ()
    earlier: tuple[Log | LogSource, ...] = ()
    known: Mapping[str, float] = field(default_factory=dict)
    torque: Literal["signed", "magnitude"] = "signed"
    discard_sign: bool = False
    drive: Drive = _DRIVE
    processing: Processing = _PROCESSING
    estimation: EstimationSettings = _ESTIMATION
    physical: PhysicalSettings = _PHYSICAL
    control: Control = _CONTROL
    reference: Robot | None = None
    chooses_terms: bool = False
    is_commanded: bool = False

    @staticmethod
    def of(
        robot: Robot | str | Path,
        logs: Log | Sequence[Log],
        terms: str | Sequence[str | Term] = (),
        known: Mapping[str, float] | None = None,
        **settings: Any,
    ) -> Task:
        """The task for objects in memory; settings are objects, or mappings as in the experiment file."""
        robot = as_robot(robot)
        logs = (logs,) if isinstance(logs, Log) else tuple(logs)
        if not logs:
            raise InvalidRequestError("there are no logs; give one dynid.Log or more")
        if any(not isinstance(log, Log) for log in logs):
            raise InvalidRequestError("logs must be dynid.Log objects; read files with dynid.read_log")
        if len(set(map(id, logs))) < len(logs):
            raise InvalidRequestError("two logs are the same, and would count twice; leave one out")
        commanded = commands_stand_in(logs)
        terms = JOINT_TERMS if commanded and terms in ((), [], AUTO, (AUTO,), [AUTO]) else terms
        auto = terms in (AUTO, (AUTO,), [AUTO])
        warm = auto and settings.get("torque") != "magnitude" and all(log.temperature is not None for log in logs)
        given = {key: value for key, value in settings.items() if value is not None}
        robot = with_motors_of(checked(Drive, given["drive"], "drive"), robot) if "drive" in given else robot
        if auto:
            require_single_axes(robot, "terms = 'auto' is")
            model = provisional_model(robot, known or {}, warm=warm)
        else:
            model = known_model(robot, terms, known or {}, observed_by(logs, robot))
        task = Task(model, logs, known=dict(known or {}), chooses_terms=auto, is_commanded=commanded)
        if not given:
            return task
        of_motors = any(isinstance(term, MotorTerm) for term in model.terms)
        values = {"robot": robot.name or "robot", "terms": ("motor_inertia",) if of_motors else ()}
        stated = checked(Experiment, values, **given)  # as strict as the file
        reference = stated.physical.reference
        return replace(
            task,
            reference=None if reference is None else _reference(reference, robot),
            **{key: getattr(stated, key) for key in given},
        )

    @property
    def is_least_squares(self) -> bool:
        """Whether the estimate is least squares on rows of some form."""
        return self.estimation.estimator in FORMS

    @property
    def known_values(self) -> dict[str, float]:
        """Parameters that are known beforehand; with commands, also those of the robot file's links."""
        if not self.is_commanded or self.control.links != "known":
            return dict(self.known)
        of_links = zip(self.model.names, self.model.robot.parameters.tolist(), strict=False)  # links come first
        return {**dict(of_links), **self.known}

    @property
    def fits_links(self) -> bool:
        """Whether physically consistent links are fitted: not to currents, which are in no units of mass."""
        return self.physical.fit and not is_in_amperes(self.drive)

    def require_loads_out(self) -> None:
        """Refuse logs without torques, and those whose loads cannot be taken out of their torques.

        Raises:
            InvalidRequestError: If torques have no signs, there are none, or friction depends on the load.
        """
        for log in self.logs:
            if log.wrench is not None and (not log.torque.any() if isinstance(log, Log) else log.torque is None):
                raise InvalidRequestError(
                    "a log has a wrench and no torques, from which only the load beyond its sensor can be identified; "
                    "use dynid payload (dynid.identify_payload)"
                )
        if all((log.load if isinstance(log, Log) else log.carried) is None for log in self.logs):
            return
        if self.torque == "magnitude":
            raise InvalidRequestError(
                "a log carries a load, and it cannot be taken out where torques have no signs; add the load to the "
                "robot file instead (dynid load ROBOT --mass ... --out FILE), and leave it out of the log"
            )
        loaded = next((term for term in self.model.terms if term.needs_links), None)
        if loaded is not None and not self.is_commanded:
            name = specification(loaded, type(loaded).__name__)
            raise InvalidRequestError(
                f"a log carries a load, and the term '{name}' is friction that grows with it, which cannot be taken "
                "out of measured torques; identify from commands, or each load by itself with a robot file that has it "
                "(dynid load ROBOT --mass ... --out FILE)"
            )

    def require_rows(self) -> None:
        """Refuse what does not go with a floating base or spherical joints.

        Raises:
            InvalidRequestError: If torques have no signs or are those of a law, postures stand for logs, or the
                estimator is another than least squares on torques.
        """
        robot, name = self.model.robot, self.estimation.estimator
        for is_asked, what in (
            (self.torque == "magnitude", "torque = 'magnitude' is"),
            (self.is_commanded, "commands instead of torques are"),
            (self.drive.signs == "auto", "drive.signs = 'auto' is"),
            (any(log.static for log in self.logs), "static logs are"),
            (name != "torque", f"estimator = '{name}' is"),
        ):
            if is_asked:
                require_single_axes(robot, what)

    def with_terms(self, terms: Sequence[str]) -> Task:
        """The task with terms that were chosen."""
        model = known_model(self.model.robot, terms, self.known, self.model.observed)
        return replace(self, model=model, chooses_terms=False)

    def with_observed(self, observed: Observed) -> Task:
        """The task of a model with other measured rows."""
        if observed == self.model.observed:
            return self
        return replace(self, model=DynamicModel(self.model.robot, self.model.terms, observed))

    def with_model_of(self, other: Task) -> Task:
        """The task with the terms of another, where its own are yet to be chosen."""
        return replace(self, model=other.model, chooses_terms=False) if self.chooses_terms else self

    @property
    def all_logs(self) -> tuple[Log | LogSource, ...]:
        """All logs that count."""
        return (*self.earlier, *self.logs)

    def with_logs_of(self, experiment: Experiment) -> Task:
        """The task with the logs of an experiment, read as it says; as this task, where it is of logs alone."""
        keys: tuple[str, ...] = ("torque", "discard_sign", "drive", "processing", "control")
        if experiment.robot == ROBOT_OF_RESULT:
            keys = tuple(key for key in keys if key in experiment.model_fields_set)
        stated: dict[str, Any] = {key: getattr(experiment, key) for key in keys}
        if experiment.drive.signs == "auto":
            stated["drive"] = self.drive
        control = stated.get("control", self.control)
        return replace(self, logs=with_control(experiment.logs, control, self.model.robot), **stated)

    def difference(self, other: Task) -> str:
        """The first respect in which two tasks are about different models, or nothing."""
        mine, theirs = self.model, other.model
        same = {
            "terms": (mine.names, [n.name for n in mine.nonlinear])
            == (theirs.names, [n.name for n in theirs.nonlinear]),
            "known": dict(self.known) == dict(other.known),
        }
        differing = (key for key, is_same in same.items() if not is_same)
        return robot_difference(mine.robot, theirs.robot) or next(differing, "")


def commands_stand_in(logs: Sequence[Log | LogSource]) -> bool:
    """Whether logs have commands instead of torques.

    Raises:
        InvalidRequestError: If some have, and others not.
    """
    found = {
        log.is_commanded if isinstance(log, Log) else log.torque is None and log.position_command is not None
        for log in logs
    }
    if len(found) > 1:
        raise InvalidRequestError("some logs have torques, others commands; identify them apart")
    return found == {True}


def observed_by(logs: Sequence[Log | LogSource], robot: Robot) -> Observed:
    """What logs measure of a robot: of a floating base its wrench, joint torques, or both, and whether a body stands.

    A robot stands on bodies where all logs say that they rest.
    """
    stated = [log.contacts if isinstance(log, Log) else log.contact for log in logs]
    if all(contacts is None for contacts in stated) or not robot.has_floating_base:
        return Observed.TORQUES
    words = []
    if any(_measures_the_wrench(log) for log in logs):
        words.append(WRENCH)
    if any(log.has_torques if isinstance(log, Log) else log.torque is not None for log in logs):
        words.append(TORQUES)
    resting = {tuple(stance.body for stance in log.standing) for log in logs}
    bodies = resting.pop() if len(resting) == 1 and WRENCH in words else ()
    return Observed(tuple(words) or (WRENCH,), stands_on=bodies)


def _measures_the_wrench(log: Log | LogSource) -> bool:
    """Whether the wrenches of all contacts of a log are known."""
    contacts = log.contacts if isinstance(log, Log) else log.contact
    return contacts is not None and all(contact.wrench is not None for contact in contacts)


def require_single_axes(robot: Robot, what: str) -> None:
    """Refuse what is made for robots with a fixed base and joints of one axis.

    Args:
        robot: The robot.
        what: What is refused, as the beginning of a sentence.

    Raises:
        InvalidRequestError: If its base is free, or it has spherical joints.
    """
    if robot.has_quaternions:
        raise InvalidRequestError(
            f"{what} for robots with a fixed base and joints of one axis, and '{robot.name}' has a floating base or "
            "spherical joints; use dynid identify with stated terms, or lock them where they were held"
        )


def robot_difference(one: Robot, other: Robot) -> str:
    """The first respect in which two robots differ for their dynamics, or nothing: where their files are is none."""
    same = {
        "robot": one.moves_as(other.kinematics()),
        "gravity": np.allclose(one.gravity, other.gravity, rtol=0.0, atol=1e-9),
        "lock": dict(one.locked) == dict(other.locked),
    }
    return next((key for key, is_same in same.items() if not is_same), "")


def provisional_model(robot: Robot, known: Mapping[str, float], *, warm: bool = False) -> DynamicModel:
    """The model that logs are prepared with before terms are chosen: the usual terms, at values that are known.

    Args:
        robot: The robot.
        known: Parameters that are known beforehand, also of terms that this model does not have.
        warm: Whether logs have temperatures: friction can depend on them, so that samples keep them, but does not yet.
    """
    model = DynamicModel(robot, default_terms(robot, warm=warm))
    return model.at_nonlinear(split_known(model, known_of(model, known))[0])


NONE = ("resample", "lowpass", "torque_lowpass")
"""Keys of `[processing]` that state "none" where otherwise a number would be chosen."""


@dataclass(frozen=True, eq=False)
class ExperimentFile:
    """An experiment file.

    Attributes:
        path: The file; relative paths in it are relative to its folder.
        text: Its content.
        experiment: What it states.
        task: The same, ready to be identified.
    """

    path: Path
    text: bytes
    experiment: Experiment
    task: Task


def experiment_file(
    path: Robot | str | Path,
    terms: str | Sequence[str | Term] = (),
    known: Mapping[str, float] | None = None,
    added_to: Task | None = None,
    **stated: Any,
) -> ExperimentFile:
    """Read an experiment file; nothing that it can state may be stated beside it.

    Args:
        path: The file.
        terms: Terms that were stated beside it.
        known: Parameters that were stated beside it.
        added_to: The task that its logs are added to; then it may be of logs alone.
        stated: Settings that were stated beside it.

    Raises:
        InvalidRequestError: If something is stated beside it, or it is a robot instead, which needs logs.
    """
    if isinstance(path, Robot) or Path(path).suffix.lower() != ".toml":
        if not isinstance(path, Robot) and (other := use_of(path, "an experiment file (.toml)", FileKind.EXPERIMENT)):
            raise InvalidRequestError(f"{path} {other}")
        what = path.name if isinstance(path, Robot) else path
        raise InvalidRequestError(f"'{what}' is no experiment file (.toml); give one, or a robot with logs")
    beside = [key for key, value in {"terms": terms or None, "known": known, **stated}.items() if value is not None]
    if beside:
        raise InvalidRequestError(f"'{path}' states its {beside[0]} itself; change it there, or give a robot and logs")
    path = Path(str(path))
    if added_to is None:
        experiment = read_experiment(path)
        return ExperimentFile(path, path.read_bytes(), experiment, task_of(experiment))
    experiment = read_experiment(path, path.parent.resolve(), robot=ROBOT_OF_RESULT)
    if experiment.robot != ROBOT_OF_RESULT:
        return ExperimentFile(path, path.read_bytes(), experiment, task_of(experiment))
    task = added_to.with_logs_of(experiment)
    text = experiment_text(task)
    return ExperimentFile(path, text.encode(), parse_experiment(text, path), task)


def robot_of(experiment: Experiment) -> Robot:
    """The robot of an experiment, with the joints that it locks, its gravity, and the motors of its drive."""
    exact = experiment.exact_frames
    robot = load_robot(
        experiment.robot,
        floating_base=experiment.floating_base,
        lock=experiment.lock,
        gravity=experiment.gravity,
        exact_frames=exact,
    )
    return with_motors_of(experiment.drive, robot)


def with_motors_of(drive: Drive, robot: Robot) -> Robot:
    """The robot with the motors that a drive states; with those of its file where it states none."""
    of_file = not drive.states_motors or drive.matrix == "robot"
    return robot if of_file else with_matrix(robot, transmission_of(drive, robot).matrix)


def _reference(source: str, robot: Robot) -> Robot:
    """The robot that links are expected to be like, read as the robot itself."""
    floating = robot.description.is_freed
    return load_robot(source, floating_base=floating, lock=robot.locked, exact_frames=robot.description.exact_frames)


def task_of(experiment: Experiment) -> Task:
    """What an experiment asks to identify."""
    robot = robot_of(experiment)
    reference = experiment.physical.reference
    return Task(
        model=_stated_model(robot, experiment),
        logs=with_control(experiment.logs, experiment.control, robot),
        control=experiment.control,
        known=experiment.known,
        torque=experiment.torque,
        discard_sign=experiment.discard_sign,
        drive=experiment.drive,
        processing=experiment.processing,
        estimation=experiment.estimation,
        physical=experiment.physical,
        reference=None if reference is None else _reference(reference, robot),
        chooses_terms=experiment.terms == (AUTO,) and not commands_stand_in(experiment.log),
        is_commanded=commands_stand_in(experiment.log),
    )


def _stated_model(robot: Robot, experiment: Experiment) -> DynamicModel:
    if commands_stand_in(experiment.log) and experiment.terms in ((), (AUTO,)):
        return known_model(robot, JOINT_TERMS, experiment.known)
    if experiment.terms != (AUTO,):
        return known_model(robot, experiment.terms, experiment.known, observed_by(experiment.log, robot))
    require_single_axes(robot, "terms = 'auto' is")
    warm = experiment.log and experiment.torque == "signed" and experiment.processing.period is None
    has_temperature = all(log.temperature is not None for log in experiment.log)
    return provisional_model(robot, experiment.known, warm=bool(warm) and has_temperature)


def experiment_text(task: Task) -> str:
    """The experiment file of a task; logs in memory are not in it.

    Raises:
        InvalidRequestError: If a term has no name that a file can state.
    """
    import tomli_w

    robot = task.model.robot
    values: dict[str, Any] = {"robot": _source(robot)}
    if not np.array_equal(robot.gravity, robot.description.gravity):
        values["gravity"] = robot.gravity.tolist()
    values |= {"exact_frames": True} if robot.description.exact_frames else {}
    values |= {"floating_base": True} if robot.description.is_freed else {}
    values |= {"lock": dict(robot.locked), "terms": [specification(term) for term in task.model.terms]}
    values |= {"known": dict(task.known), "torque": task.torque, "discard_sign": task.discard_sign}
    tables = {key: getattr(task, key) for key in ("drive", "control", "processing", "estimation", "physical")}
    if task.reference is not None:
        tables["physical"] = task.physical.model_copy(update={"reference": _source(task.reference)})
    values |= {
        key: table.model_dump(mode="json", exclude_unset=True, exclude_none=True) for key, table in tables.items()
    }
    stated_none = [key for key in NONE if key in task.processing.model_fields_set]
    values["processing"] = dict.fromkeys(stated_none, "none") | values["processing"]
    values["log"] = source_tables(task.logs)
    return tomli_w.dumps({key: value for key, value in values.items() if value not in ({}, [], False)})


def source_tables(logs: Sequence[Log | LogSource]) -> list[dict[str, Any]]:
    """Where logs are, with paths that hold in any folder; those in memory are nowhere.

    Paths that were written with environment variables have these again, not their values.
    """
    found = []
    for log in logs:
        if isinstance(log, LogSource):
            parts = log.model_dump(mode="json", exclude_unset=True, exclude_none=True)
            found.append(with_files(parts, lambda name, _: as_written(_anywhere(name))))
    return found


def _anywhere(name: str) -> str:
    """The name of a file that holds in any folder."""
    return name if is_url(name) else str(Path(name).absolute())


def _source(robot: Robot) -> str:
    """Where a robot was read from, as it was written; the path is absolute, so that it holds in any folder."""
    source = robot.description.source
    return as_written(str(Path(source).resolve())) if is_file(Path(source)) else source
