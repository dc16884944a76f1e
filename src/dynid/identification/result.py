"""The result of an identification: parameters with uncertainties, and everything that is done with them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dynid.arrays import Array
from dynid.errors import FileProblemError, InvalidRequestError
from dynid.estimation import EarlierLogs, Factors, Replay, joint_fits, replayed
from dynid.findings import Finding
from dynid.identification.answers import Verdict
from dynid.identification.command_tables import joint_html, rollout_html, rollout_text
from dynid.identification.drive_units import is_in_amperes
from dynid.identification.log_reading import read_any_length, share_samples
from dynid.identification.other_stances import problem_of_stance
from dynid.identification.records import NonlinearEstimate, Parameters, PhysicalModel, Record
from dynid.identification.task import ExperimentFile, Task
from dynid.identification.verdict import judge
from dynid.logs import Drive, Log, Processing, prepare
from dynid.model import BaseParameters, DynamicModel, specification
from dynid.robot import ActuatorForm, Load, Robot

if TYPE_CHECKING:
    from dynid.estimation.contacts.contact_limits import ContactLimits
    from dynid.identification.controller_tracking import Tracking
    from dynid.identification.observation import Observation
    from dynid.identification.robot_output import Exported
    from dynid.identification.validation import Validation
    from dynid.model.code.compiled_model import CompiledModel
    from dynid.report.html import ReportFile


_UNSTATED = Processing()


class ResultError(FileProblemError):
    """A folder holds no result, cannot take one, or does not go with another experiment."""


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What was identified.

    Attributes:
        base: The base parameters: names, expressions, and the map from standard parameters.
        record: Everything that was found, as typed plain data: the contents of `result.json`.
        findings: What users should know about the logs and the estimate.
        task: What was identified, from which logs, and how.
        torques: The factors of each log's torques.
        rows: The factors of each log that were estimated from: the same, or those of another form of rows.
        sign_curves: Arrays for figures of recovered signs, where torques were logged without.
        file: The experiment file, where there is one.
        folder: The folder that it was loaded from, if it was.
    """

    base: BaseParameters
    record: Record
    findings: tuple[Finding, ...]
    task: Task
    torques: Sequence[Factors]
    rows: Sequence[Factors]
    sign_curves: Mapping[str, np.ndarray] | None = None
    file: ExperimentFile | None = None
    folder: Path | None = None

    @property
    def model(self) -> DynamicModel:
        """The model, at the nonlinear parameters that were found."""
        return self.base.model

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.base.model.robot

    @property
    def parameters(self) -> Parameters:
        """Base parameters with their uncertainties."""
        return Parameters(self.record.parameters)

    @property
    def essential(self) -> Parameters:
        """The essential parameters, estimated without the others."""
        return Parameters(self.record.essential)

    @property
    def nonlinear(self) -> tuple[NonlinearEstimate, ...]:
        """Nonlinear parameters, such as Stribeck velocities, with their uncertainties."""
        return self.record.nonlinear

    @property
    def physical(self) -> PhysicalModel | None:
        """Physically consistent links and joints; None where they were not fitted."""
        return self.record.physical

    @property
    def relative_error(self) -> float:
        """Norm of the residual over the norm of the measured torques."""
        return self.record.relative_error

    @property
    def verdict(self) -> Verdict:
        """Whether it can be trusted, and for what; results of earlier versions are judged by what they hold."""
        return self.record.verdict or judge(self.record, self.findings)

    @property
    def has_known_links(self) -> bool:
        """Whether links are those of the robot's file, as they are where joints alone are identified from commands."""
        return self.record.commands is not None and self.task.control.links == "known"

    @property
    def is_in_amperes(self) -> bool:
        """Whether parameters are in units of current, because torque constants are not known."""
        return is_in_amperes(self.task.drive)

    @property
    def condition_number(self) -> float:
        """Of the unweighted observation matrix of the base parameters."""
        return self.record.condition_number

    @property
    def values(self) -> dict[str, float]:
        """Values of the base parameters by name."""
        return {row.name: row.value for row in self.record.parameters}

    @property
    def physical_values(self) -> dict[str, float] | None:
        """Values of all standard parameters of the physically consistent model by name; None where there is none."""
        return None if self.record.physical is None else self.record.physical.values

    @property
    def term_names(self) -> list[str]:
        """The friction and actuator terms, as the experiment states them, or as they were chosen."""
        if self.file is not None and self.record.terms is None:
            return list(self.file.experiment.terms)
        return [specification(term, type(term).__name__) for term in self.model.terms]

    def standard_parameters(self, *, physical: bool = False) -> Array:
        """Standard parameters p, shape (parameters,), in the order of `model.names`.

        Args:
            physical: Those of the physically consistent links; else any that have the estimated base parameters.
        """
        if not physical:
            return self.base.to_standard(np.array([self.values[name] for name in self.base.names]))
        values = self.physical_values
        if values is None:
            raise InvalidRequestError("the result has no physically consistent links; identify with physical.fit")
        return np.array([values[name] for name in self.model.names])

    def predict(self, q: Any, v: Any, a: Any, *, physical: bool = False) -> Array:
        """Predict joint torques [N m or N].

        Args:
            q: Positions [rad or m], shape (samples, joints) or (joints,).
            v: Velocities [rad/s or m/s], of the same shape.
            a: Accelerations [rad/s^2 or m/s^2], of the same shape.
            physical: With the physically consistent links instead of the base parameters.

        Returns:
            Torques, of the same shape.
        """
        states = [np.asarray(x, dtype=float) for x in (q, v, a)]
        p = self.standard_parameters(physical=physical)
        positions, velocities, accelerations = (np.atleast_2d(x) for x in states)
        torques = self.model.inverse_dynamics(positions, velocities, accelerations, p)
        return torques[0] if states[0].ndim == 1 else torques

    def log_errors(self) -> list[float]:
        """Norm of the residual over the norm of the measured torques, of each log that is not an earlier result's."""
        own = self.torques[len(self.torques) - len(self.task.logs) :]
        return [joint_fits(factors, self.values)[1] for factors in own]

    def replays(
        self, progress: Callable[[str], None] = lambda _: None, numbers: Collection[int] | None = None
    ) -> Iterator[Replay]:
        """The logs once more, each read once, with the torques that the result predicts.

        Args:
            progress: Callback; receives a short description of each step.
            numbers: Which of the logs, counted from 0; all when None.

        Raises:
            DynidError: If a log cannot be read any more.
        """
        p, task, signed = self.standard_parameters(), self.task, self.task.torque == "signed"
        for k, source in enumerate(task.logs, start=1):
            if numbers is not None and k - 1 not in numbers:
                continue
            progress(f"Reading log {k} of {len(task.logs)} again")
            log = read_any_length(source, self.robot, progress, self.drive, task.processing)
            prepared = prepare(log, self.model, self.drive, task.processing, choose=signed, progress=progress)
            yield replayed(log, prepared, self.model, p)

    def validate(self, *logs: Log | str | Path) -> Validation:
        """Predict the torques of logs that were not used, and compare.

        Args:
            logs: Logs in memory, experiment files (which stand for their logs), or log files laid out as the result's.
        """
        from dynid.identification.validation import validate

        return validate(self, *logs)

    def track(
        self, *logs: Log | str | Path, bandwidth: float = 5.0, damping: float = 1.0, rate: float = 1000.0
    ) -> Tracking:
        """Simulate what the model gains a controller: tracking errors on a log's motion. A shortcut of `dynid.track`.

        Args:
            logs: Logs that were not used, as in `validate`; the result's own, in parts, when none.
            bandwidth: Natural frequency of tracking errors under feedback [Hz].
            damping: Damping ratio of the feedback.
            rate: Rate of the controller [Hz].
        """
        from dynid.identification.tracking import track

        return track(self, *logs, bandwidth=bandwidth, damping=damping, rate=rate)

    def with_load(self, load: Load, *, remove: bool = False) -> Result:
        """The result of the robot with a known load fastened to it, or with one taken off.

        Args:
            load: The load, such as `Payload.load`.
            remove: Whether it is taken off instead.

        Raises:
            InvalidRequestError: If the load cannot be added, or its link could not exist without it.
        """
        from dynid.identification.load_change import changed_result

        return changed_result(self, load, remove=remove)

    def export(
        self,
        path: str | Path,
        format: str | None = None,  # noqa: A002
        *,
        overwrite: bool = False,
        anyway: bool = False,
        step: float | None = None,
        actuators: ActuatorForm | None = None,
    ) -> Exported:
        """Write the identified robot: the user's own URDF or MJCF file with new numbers, or another format.

        Args:
            path: The file to write.
            format: "urdf", "mjcf", "isaaclab", "mjlab", "json" or "yaml"; by the ending of the path when None.
            overwrite: Whether existing files may be replaced.
            anyway: Whether a result is written, too, whose verdict is "no"; the file then says why.
            step: Physics step of the simulator [s], for Isaac Lab and mjlab, which have delays in steps; 5 ms when
                None.
            actuators: For MJCF: "position" makes `<position>` actuators of motors, and adds missing ones, with the
                gains of the control law; "general" makes `<general>` ones of all, which hold offsets, too; else only
                position actuators that there are get its gains.
        """
        from dynid.identification.robot_output import export_result, format_of

        path = Path(path)
        return export_result(
            self,
            format_of(path, format),
            path,
            overwrite=overwrite,
            anyway=anyway,
            step=step,
            actuators=actuators,
        )

    def compile(
        self,
        *,
        backend: Literal["c", "numba"] | None = None,
        parameters: Literal["physical", "base"] | None = None,
        functions: Sequence[str] | None = None,
    ) -> CompiledModel:
        """The model as fast functions: inverse dynamics, gravity, matrices and more, of one state or of many.

        Args:
            backend: "c" builds generated C with the compiler of this machine; "numba" takes none; "c" where a
                compiler is there, else "numba", when None. `.backend` says which it was.
            parameters: "physical" for the physically consistent links, "base" for the base parameters; physical where
                there are such links when None.
            functions: Names of those that are wanted, such as "inverse_dynamics"; all that can be when None.
        """
        from dynid.identification.generated_code import compile_model

        return compile_model(self, backend=backend, parameters=parameters, functions=functions)

    def observe(
        self,
        log: Log | str | Path,
        *,
        thresholds: ContactLimits | str | Path | None = None,
        thresholds_from: Sequence[Log | str | Path] = (),
        false_alarms_per_minute: float | None = None,
        gain: float | None = None,
        body: str | None = None,
    ) -> Observation:
        """Run the momentum observer over a log: external torques, contacts, and a load. A shortcut of `dynid.observe`.

        Args:
            log: The log: in memory, a file laid out as the result's own, or an experiment file with one log.
            thresholds: Thresholds that were found before, or their file.
            thresholds_from: Logs without contact to find thresholds from; the result's own, in parts, when none.
            false_alarms_per_minute: Rate of false alarms that thresholds are found for; 1 when None.
            gain: Gain of the observer [1/s]; 50, or a quarter of the sampling rate where that is less, when None.
            body: Body that a load is looked for on; the last link when None.
        """
        from dynid.identification.observation import observe

        return observe(
            self,
            log,
            thresholds=thresholds,
            thresholds_from=thresholds_from,
            false_alarms_per_minute=false_alarms_per_minute,
            gain=gain,
            body=body,
        )

    def contact_thresholds(
        self,
        logs: Sequence[Log | str | Path] = (),
        *,
        false_alarms_per_minute: float = 1.0,
        gain: float | None = None,
        parameters: Literal["physical", "base"] | None = None,
    ) -> ContactLimits:
        """Contact thresholds of every joint for a rate of false alarms. A shortcut of `dynid.contact_thresholds`.

        Args:
            logs: Logs without contact that were not used to identify; the result's own, in parts, when none.
            false_alarms_per_minute: The rate, of all joints together.
            gain: Gain of the observer [1/s]; as `observe` when None.
            parameters: "physical" or "base"; as code is generated by default when None.
        """
        from dynid.identification.contact_recipe import contact_thresholds

        return contact_thresholds(
            self, logs, false_alarms_per_minute=false_alarms_per_minute, gain=gain, parameters=parameters
        )

    def report(
        self,
        path: str | Path,
        *,
        validate: Sequence[Log | str | Path] = (),
        control: Tracking | bool = False,
        overwrite: bool = False,
    ) -> ReportFile:
        """Write a report: one HTML file that opens without a network. A shortcut of `dynid.write_report`.

        Args:
            path: The file to write.
            validate: Logs that were not used, as in `validate`.
            control: Whether controllers are simulated, as in `track`; or what that gave.
            overwrite: Whether an existing file may be replaced.
        """
        import dynid

        return dynid.write_report(self, path, validate=validate, control=control, overwrite=overwrite)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Save as a folder, whole or not at all; `dynid.load_result` loads it.

        Args:
            folder: The folder; it must not exist, or hold a result that may be replaced.
            overwrite: Whether a result in it may be replaced.
        """
        from dynid.identification.result_files import save_result

        save_result(self, Path(folder), overwrite=overwrite)

    def to_dict(self) -> dict[str, Any]:
        """Everything that was found, as plain data for JSON."""
        return self.record.to_dict()

    @property
    def drive(self) -> Drive:
        """The drive, with signs that were found."""
        drive, found = self.task.drive, self.record.drive_signs
        return drive.model_copy(update={"signs": found}) if found and drive.signs == "auto" else drive

    @property
    def training(self) -> Processing | None:
        """What was done to the first log; None where only earlier logs were used."""
        if not self.record.processing:
            return None
        used = self.record.processing[0]
        return _UNSTATED.but(
            **{
                key: tuple(value) if isinstance(value, list) else value
                for key, value in used.items()
                if key != "sampling_rate"
            }
        )

    def earlier_logs(self, task: Task, where: str | Path) -> EarlierLogs:
        """The logs of this result, for a task that adds others.

        Raises:
            ResultError: If the task is about another model, estimates from other rows, or has a log that this
                has, or one of another stance.
        """
        key = self.task.difference(task)
        if key:
            raise ResultError(
                where,
                f"has another model than the result that it adds to: '{key}' differs; make both alike, or state only "
                "the logs, which then take the result's",
            )
        theirs, mine = self.task.estimation.estimator, task.estimation.estimator
        if mine != theirs:
            raise ResultError(
                where,
                f"has estimator = '{mine}', and the result that it adds to comes from '{theirs}': rows of different "
                f"forms cannot be mixed; use '{theirs}', or identify all logs anew",
            )
        if any(share_samples(own, log) for own in self.task.all_logs for log in task.logs):
            raise ResultError(where, "has a log that the result has already, and it would count twice; leave it out")
        if problem := problem_of_stance(self.model.observed, self.robot, task.logs):
            raise ResultError(where, problem)
        return EarlierLogs(self.model, self.torques, self.rows)

    def __repr__(self) -> str:
        found = self.record.commands
        if found is not None:
            return (
                f"Result('{self.robot.name}': {found.determined} of {len(found.parameters)} parameters determined, "
                f"{rollout_text(found.rollout)}, {len(self.findings)} findings, {self.verdict.answer.value})"
            )
        links = "" if self.physical is None else f", physical links {self.physical.relative_error:.2%}"
        return (
            f"Result('{self.robot.name}': {len(self.record.parameters)} base parameters, relative error "
            f"{self.relative_error:.2%}{links}, {len(self.findings)} findings, {self.verdict.answer.value})"
        )

    def _repr_html_(self) -> str:
        from html import escape

        notes = "".join(f"<li>{escape(str(finding))}</li>" for finding in self.findings)
        verdict = f"<p>Verdict: {escape(str(self.verdict))}</p>"
        found = self.record.commands
        tables = self.parameters._repr_html_() if found is None else joint_html(found) + rollout_html(found.rollout)
        return f"<p>{escape(repr(self))}</p>{verdict}{tables}<ul>{notes}</ul>"
