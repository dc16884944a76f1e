"""Commands that separate delay, armature and damping: what `excite` designs for robots without torque sensors."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dynid import __version__
from dynid.arrays import Array
from dynid.errors import DynidError, InvalidRequestError
from dynid.excitation import Check, ClearanceLimit, ExcitationSettings, Trajectory, collisions_of, torque_unit
from dynid.excitation.exciting_motion import BrokenLimitError
from dynid.excitation.lerobot_files import replay_files
from dynid.excitation.limits.assumed import assumptions
from dynid.excitation.limits.stated import joint_limits, per_joint, posture_of, require_posture, stated_limits
from dynid.excitation.replay_frames import ReplayFrames, ReplayNumbers
from dynid.excitation.replay_settings import ReplaySettings
from dynid.excitation.trajectories.command_waves import WaveKind
from dynid.excitation.trajectory_formats import FORMATS, require_formats, require_free
from dynid.files import replace_folder
from dynid.findings import Finding
from dynid.identification.command_fit import forms_of
from dynid.identification.command_information import (
    THRESHOLDS,
    ControlledRobot,
    Promise,
    covariance,
    information_of_logs,
    nominal_point,
    position_noise,
)
from dynid.identification.command_search import CommandProblem, Room, Searched, Trial, search
from dynid.identification.command_validation import law_point
from dynid.identification.log_reading import read
from dynid.identification.result import Result
from dynid.identification.task import JOINT_TERMS, robot_difference
from dynid.logs import Control, Log, Processing, stated_gains
from dynid.model import DynamicModel, Role, Term, known_model
from dynid.robot import JointKind, Limits, Robot

SCHEMA = "dynid-commands-1"
"""What a summary says of itself."""

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class CommandExcitation:
    """Commanded positions, and what their log will show of joint parameters, delay and biases.

    Attributes:
        problem: What was searched for.
        trial: The commands, their predicted motion, and what they promise together with the logs that exist.
        limits: Limits of each coordinate.
        present: What logs that exist show; None where none were given.
        design_findings: What was noticed on the way.
        tried: How many commands were tried.
        seconds: How long it took [s].
        replay: What the numbers of a replay stand for.
    """

    problem: CommandProblem
    trial: Trial
    limits: tuple[Limits, ...]
    present: Promise | None
    design_findings: tuple[Finding, ...]
    tried: int
    seconds: float
    replay: ReplaySettings

    def __repr__(self) -> str:
        name, value = self.worst
        broken = f", VIOLATES {len(self.broken)} LIMITS" if self.broken else ", within all limits"
        return (
            f"CommandExcitation({self.robot.name}: {self.problem.duration:g} s at {self.problem.command_rate:g} Hz, "
            f"largest relative standard deviation {value:.2g} % ({name}){broken})"
        )

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.problem.robot.model.robot

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints, in the order of columns."""
        return tuple(joint.name for joint in self.robot.independent_joints)

    @property
    def t(self) -> Array:
        """When commands change [s], shape (commands,)."""
        return self.problem.command_times

    @property
    def q(self) -> Array:
        """Commanded positions [rad or m] from these times on, shape (commands, joints)."""
        return self.trial.commanded.commands

    @cached_property
    def log(self) -> Log:
        """The predicted log: positions, velocities, commands and gains, without noise."""
        control, effort = self.trial.rollout.control, self.problem.robot.effort
        return Log(
            time=control.time,
            position=self.trial.rollout.q,
            velocity=self.trial.rollout.v,
            position_command=control.position,
            kp=self.problem.robot.kp,
            kd=self.problem.robot.kd,
            effort_limit=effort if np.isfinite(effort).all() else None,
            back_emf=self.problem.robot.back_emf,
        )

    @property
    def promise(self) -> Promise:
        """What the commands promise, together with logs that exist."""
        return self.trial.promise

    @cached_property
    def alone(self) -> Promise:
        """What the commands promise without other logs."""
        return replace(self.promise, covariance=covariance(self.trial.information, self.problem.unknowns))

    @property
    def worst(self) -> tuple[str, float]:
        """The parameter with the largest relative standard deviation, and that [%]; of the delay in % of 1 ms."""
        relative = np.where(self.problem.sizes[1], 100.0 * self.promise.stds / self.promise.sizes, 0.0)
        k = int(np.argmax(relative))
        return self.promise.unknowns.names[k], float(relative[k])

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """What the commands and the predicted motion reach, against the limits."""
        return tuple(self._checks())

    def _checks(self) -> Iterator[Check]:
        rollout, q = self.trial.rollout, self.q
        robot = self.problem.robot
        steady = robot.before_back_emf(rollout.torque, rollout.v)
        torques = np.concatenate([self.problem.peak_torques(q, rollout), steady])
        for k, (joint, limit) in enumerate(zip(self.robot.independent_joints, self.limits, strict=True)):
            unit = "m" if joint.kind is JointKind.PRISMATIC else "rad"
            for what, x in (("command", q), ("position", rollout.q)):
                reached = float(x[:, k].min()), float(x[:, k].max())
                yield Check(f"{what} of {joint.name}", (limit.lower, limit.upper), reached, unit, symmetric=False)
            yield Check.of_size(f"velocity of {joint.name}", limit.velocity, rollout.v[:, k], f"{unit}/s")
            effort = float(robot.effort[k])
            if robot.servo is not None:
                most = float(np.broadcast_to(robot.servo.max_duty, len(self.joints))[k])
                stall = float(robot.servo.law(len(self.joints))["effort_limit"][k]) / most
                yield Check.of_size(f"duty cycle of {joint.name}", effort / stall, torques[:, k] / stall, "1")
            elif math.isfinite(effort):
                yield Check.of_size(f"torque of {joint.name}", effort, torques[:, k], torque_unit(joint.kind))
        clear = self.problem.room.clear
        if clear is not None:
            yield from clear.checks(Trajectory(rollout.time, rollout.q, rollout.v), rollout.time)

    @property
    def broken(self) -> tuple[Check, ...]:
        """Limits that are violated."""
        return tuple(check for check in self.checks if not check.is_kept)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What users should know."""
        names = [check.name for check in self.broken]
        violated = [Finding.of("limits-violated", "excitation", limits=names)] if names else []
        return (*violated, *self.design_findings, *self._on_promise())

    def _on_promise(self) -> Iterator[Finding]:
        pairs = self.promise.confounded()
        if pairs:
            shown = [f"{one} and {other} ({rho:.2f})" for one, other, rho in pairs]
            yield Finding.of("commands-confound", "excitation", pairs=shown)
        vague = [
            name
            for name, is_so in zip(self.promise.unknowns.names, self.promise.is_determined, strict=True)
            if not is_so
        ]
        if vague:
            yield Finding.of("commands-do-not-determine", "excitation", parameters=vague)

    def parameters(self) -> list[dict[str, Any]]:
        """Of each unknown its value, and the standard deviations to expect, as plain data."""
        promise, model, p = self.promise, self.problem.robot.model, self.problem.robot.point
        owners = {parameter.name: (parameter.owner, parameter.unit) for parameter in model.parameters}
        numbers = {str(joint.number): joint.name for joint in model.robot.independent_joints}
        rows = []
        for k, name in enumerate(promise.unknowns.names):
            number = name.lstrip("abcdefghijklmnopqrstuvwxyz")
            owner, unit = owners.get(name, (numbers.get(number, ""), "s" if name == "delay" else "rad or m"))
            row: dict[str, Any] = {"name": name, "owner": owner, "unit": "" if name.startswith("scale") else unit}
            row["value"] = float(p.p[model.names.index(name)]) if name in owners else float(promise.unknowns.values[k])
            row["std"] = float(promise.stds[k])
            row["relative_std_percent"] = float(100.0 * promise.stds[k] / promise.sizes[k])
            row["determined"] = bool(promise.is_determined[k])
            if self.present is not None:
                row["alone_std"], row["present_std"] = float(self.alone.stds[k]), float(self.present.stds[k])
            rows.append(row)
        return rows

    def delay_correlations(self) -> dict[str, dict[str, float]]:
        """Largest correlations of the delay with armatures and viscous frictions: of these commands, and of others."""
        found = {"commands": self.alone}
        if self.present is not None:
            found |= {"present": self.present, "together": self.promise}
        model = self.problem.robot.model
        return {
            key: {"armature": one.with_delay(Role.ARMATURE, model), "viscous": one.with_delay(Role.VISCOUS, model)}
            for key, one in found.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Give what was designed as plain data for JSON."""
        problem, commanded = self.problem, self.trial.commanded
        name, value = self.worst
        waves = [
            {
                "joint": joint,
                "kind": wave.kind,
                "band": [wave.low, wave.high],
                "tilt": wave.tilt,
                "amplitude": float(size),
            }
            for joint, wave, size in zip(self.joints, commanded.waves, commanded.amplitude, strict=True)
        ]
        pairs = [{"one": a, "other": b, "correlation": rho} for a, b, rho in self.promise.confounded()]
        return {
            "schema": SCHEMA,
            "version": __version__,
            **({"warning": self.warning} if self.broken else {}),
            "robot": self.robot.name,
            "criterion": problem.criterion,
            "largest": {"name": name, "relative_std_percent": value},
            "seconds": self.seconds,
            "tried": self.tried,
            "duration": problem.duration,
            "rate": problem.rate,
            "command_rate": problem.command_rate,
            "control": {
                "law": problem.robot.point.form,
                "delay": problem.robot.point.delay,
                "kp": problem.robot.kp.tolist(),
                "kd": problem.robot.kd.tolist(),
            },
            "position_noise": problem.noise.tolist(),
            "in_turn": commanded.in_turn,
            "waves": waves,
            "parameters": self.parameters(),
            "confounded": pairs,
            "delay_correlations": self.delay_correlations(),
            "limits": [check.to_dict() for check in self.checks],
            "commands": None,
            "motion": None,
            "files": [],
            "findings": [finding.to_dict() for finding in self.findings],
        }

    @property
    def warning(self) -> str:
        """What every file says of limits that are violated, in one line; empty where all are kept."""
        if not self.broken:
            return ""
        worst = max(self.broken, key=lambda check: check.used)
        text = f"THESE COMMANDS VIOLATE LIMITS: {worst.in_words()}. Do not run them on a real robot."
        return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())

    def texts(self) -> dict[str, str]:
        """Tables of the commands and of the predicted motion, by the names of their files."""
        rollout = self.trial.rollout
        head = [f"{kind}_{joint}" for kind in ("q", "v", "tau") for joint in self.joints]
        motion = np.column_stack([rollout.time, rollout.q, rollout.v, rollout.torque])
        named = [f"q_command_{joint}" for joint in self.joints]
        return {
            "commands.csv": _table(["t", *named], np.column_stack([self.t, self.q]), self.warning),
            "predicted_motion.csv": _table(["t", *head], motion, self.warning),
        }

    def replays(self, formats: Sequence[str]) -> dict[str, str | bytes]:
        """Files of the commands for replays, by name: of the formats lerobot, lerobot2 and actions."""
        chosen = require_formats(formats, self.robot, rate=self.problem.command_rate, replay=self.replay)
        other = next((name for name in chosen if not FORMATS[name].is_replay), None)
        if other is not None:
            names = ", ".join(name for name, form in FORMATS.items() if form.is_replay)
            raise InvalidRequestError(f"commands are written as commands.csv and as {names}, not as {other}")
        expected = Trajectory(self.trial.rollout.time, self.trial.rollout.q).states(self.t)[0]
        numbers = ReplayNumbers.of(self.robot, self.replay)
        frames = ReplayFrames.of_commands(self.problem.command_rate, numbers, self.q, expected)
        found: dict[str, str | bytes] = {}
        for kind in chosen:
            files = replay_files(kind, frames, self.robot.name, self.warning)
            found |= {f"commands_{end}": content for end, content in files.items()}
        return found

    def save(
        self,
        folder: str | os.PathLike[str],
        formats: Sequence[str] = (),
        *,
        overwrite: bool = False,
        allow_broken_limits: bool = False,
    ) -> dict[str, Any]:
        """Save the commands as a folder, whole or not at all: `commands.csv`, the predicted motion and a summary.

        Args:
            folder: The folder; it must not exist, be empty, or hold a trajectory or commands that may be replaced.
            formats: Formats of replays to write beside: lerobot, lerobot2, actions.
            overwrite: Whether these may be replaced.
            allow_broken_limits: Whether commands that violate limits may be written. Every file then says so.

        Returns:
            Plain data for JSON, as `to_dict`, with the files that were written.

        Raises:
            BrokenLimitError: If a limit is violated.
            ExcitationFolderError: If the folder holds something else.
            OutputError: If it cannot be written.
        """
        out = Path(folder)
        if self.broken and not allow_broken_limits:
            raise BrokenLimitError(
                f"{self.broken[0].in_words()}; state another start or a larger margin; to write the commands "
                "nevertheless, marked as such in every file, add --allow-broken-limits (allow_broken_limits=True)"
            )
        require_free(out, overwrite=overwrite)
        texts: dict[str, str | bytes] = {**self.texts(), **self.replays(formats)}
        files = {"commands": str(out / "commands.csv"), "motion": str(out / "predicted_motion.csv")}
        data = self.to_dict() | files | {"files": [str(out / name) for name in (*texts, "excitation.json")]}
        texts["excitation.json"] = json.dumps(data, indent=2, allow_nan=False) + "\n"

        def fill(made: Path) -> None:
            for name, text in texts.items():
                (made / name).parent.mkdir(parents=True, exist_ok=True)
                (made / name).write_bytes(text if isinstance(text, bytes) else text.encode())

        replace_folder(out, fill)
        return data


def _table(head: Sequence[str], rows: Array, warning: str) -> str:
    stream = io.StringIO()
    if warning:
        stream.write(f"# WARNING: {warning}\n")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([f"{x:.9g}" for x in row] for row in rows.tolist())
    return stream.getvalue()


def design_commands(
    robot: Robot,
    terms: str | Sequence[str | Term] = (),
    *,
    control: Control,
    settings: ExcitationSettings,
    known: Result | None = None,
    known_values: Mapping[str, float] | None = None,
    logged: Log | None = None,
    time_limit: float = 20.0,
    starts: int | None = None,
    seed: int = 0,
    progress: Progress = lambda _: None,
) -> CommandExcitation:
    """Design commanded positions; see `dynid.excite_commands`.

    Args:
        robot: The robot.
        terms: Terms of joints; armature, viscous, Coulomb and offset where none are stated.
        control: The control law.
        settings: Limits, duration, rates and noise.
        known: A result that was identified from commands: its parameters are the robot's, and its logs count.
        known_values: Values of parameters that are known, by name or pattern.
        logged: A log with commands, whose gains count where `control` states none.
        time_limit: When to stop [s], with the best so far.
        starts: How many commands are tried at most.
        seed: Seed of everything random.
        progress: Callback; receives a short description of each step.

    Raises:
        InvalidRequestError: If gains are missing, or settings contradict the robot or each other.
    """
    begin = time.monotonic()
    _require_single_axes(robot)
    _require_alike(robot, known)
    if known is not None:  # what is not stated of the law is as it was for the result
        control = control.model_copy(update=_unstated(known.task.control, control))
    model = known.task.model if known is not None else known_model(robot, _terms(terms), known_values or {})
    limits, findings = _limits(settings, robot)
    start = _start(settings, robot, limits)
    room, clear_findings = _room(settings, robot, limits, start)
    controlled = _controlled(model, control, known, known_values or {}, logged, start, room.effort)
    room = replace(room, effort=(1.0 - _margin(settings)) * controlled.effort)
    is_servo = control.servo is not None
    duration, rates = settings.duration or THRESHOLDS.duration, _rates(settings, of_servos=is_servo)
    noise, assumed = _noise(settings, model, of_servos=is_servo)
    bias = control.bias is True or (
        known is not None and known.record.commands is not None and bool(known.record.commands.bias)
    )
    problem = CommandProblem(
        controlled, room, noise, duration, rates[1], rates[0], bias, criterion=_criterion(settings)
    )
    progress("The robot at rest")
    present = None
    if known is not None:
        progress("What the logs of the result show")
        problem, present = with_known(problem, known, stated=settings.position_noise is not None, progress=progress)
        assumed = []
    found, tried = search(
        problem,
        _searched(settings, duration, rates, of_servos=is_servo),
        time_limit=max(time_limit - (time.monotonic() - begin), 0.5 * time_limit),
        trials=starts,
        seed=seed,
        progress=progress,
    )
    noticed = (*findings, *clear_findings, *_on_values(controlled), *assumed)
    seconds = time.monotonic() - begin
    return CommandExcitation(problem, found, tuple(limits), present, noticed, tried, seconds, settings.replay)


def _unstated(other: Control, control: Control) -> dict[str, Any]:
    """What a control law states that another one does not."""
    return {key: getattr(other, key) for key in other.model_fields_set - control.model_fields_set}


def _terms(terms: str | Sequence[str | Term]) -> str | Sequence[str | Term]:
    return JOINT_TERMS if terms in ((), [], "auto", ("auto",), ["auto"]) else terms


def _require_single_axes(robot: Robot) -> None:
    wide = next((joint for joint in robot.independent_joints if joint.v.stop - joint.v.start != 1), None)
    if wide is not None:
        raise InvalidRequestError(
            f"joint '{wide.name}' has {wide.v.stop - wide.v.start} degrees of freedom, and commands are for joints of "
            "one; hold it still with --lock base (lock = ['base'])"
        )


def _require_alike(robot: Robot, known: Result | None) -> None:
    if known is None:
        return
    if known.record.commands is None:
        raise InvalidRequestError("the result was identified from torques, not from commands; leave --known out")
    key = robot_difference(known.robot, robot)
    if key:
        raise InvalidRequestError(f"the result is of another robot: '{key}' differs; make both alike")


def _limits(settings: ExcitationSettings, robot: Robot) -> tuple[list[Limits], list[Finding]]:
    """The limits of each coordinate, and findings on those that are assumed; accelerations are not limited."""
    limits = joint_limits(settings, robot)
    pairs = zip(stated_limits(settings, robot), limits, strict=True)
    stated = [replace(one, acceleration=other.acceleration) for one, other in pairs]
    return limits, list(assumptions(stated, limits, robot))


def _start(settings: ExcitationSettings, robot: Robot, limits: Sequence[Limits]) -> Array:
    """Commanded positions before and after the waves: as stated, else in the middle of the limits."""
    posture = posture_of(settings, robot)
    require_posture(posture, limits, robot, 1.0 - _margin(settings))
    ends = [limit.interval(2.0 * math.pi) for limit in limits]
    return np.array([0.5 * (low + high) if at is None else at for at, (low, high) in zip(posture, ends, strict=True)])


def _margin(settings: ExcitationSettings) -> float:
    return settings.margin if "margin" in settings.model_fields_set else THRESHOLDS.margin


def _rates(settings: ExcitationSettings, *, of_servos: bool) -> tuple[float, float]:
    """Rates of commands and of the log [Hz]."""
    usual = THRESHOLDS.servo_rate if of_servos else THRESHOLDS.rate
    rate = settings.rate if "rate" in settings.model_fields_set else usual
    commands = settings.command_rate or min(THRESHOLDS.command_rate, rate)
    if commands > rate:
        raise InvalidRequestError(
            f"commands at {commands:g} Hz change more often than the log has samples ({rate:g} Hz); lower "
            "--command-rate, or raise --rate"
        )
    return commands, rate


def _criterion(settings: ExcitationSettings) -> str:
    stated = settings.criterion if "criterion" in settings.model_fields_set else "largest"
    if stated not in ("largest", "determinant"):
        raise InvalidRequestError(
            f"commands are designed for the criterion 'largest' (relative standard deviation) or 'determinant', not "
            f"'{stated}'"
        )
    return stated


def _searched(
    settings: ExcitationSettings, duration: float, rates: tuple[float, float], *, of_servos: bool
) -> Searched:
    command_rate, rate = rates
    fastest = min(0.2 * command_rate, THRESHOLDS.servo_band * rate) if of_servos else 0.2 * command_rate
    kinds: dict[str, tuple[WaveKind, ...]] = {"multisine": ("multisine",), "chirp": ("chirp", "log-chirp")}
    stated = "family" in settings.model_fields_set
    if stated and settings.family not in kinds:
        raise InvalidRequestError(
            f"commands are of the family multisine or chirp, not {settings.family}; leave --family out to try both"
        )
    low, high = settings.band or (max(0.1, 2.0 / duration), fastest)
    if not low < high <= 0.5 * command_rate:
        raise InvalidRequestError(
            f"commands at {command_rate:g} Hz have frequencies up to {0.5 * command_rate:g} Hz, and the band is from "
            f"{low:g} to {high:g} Hz; state another [excitation] band or command_rate"
        )
    chosen = kinds[settings.family] if stated else ("multisine", "log-chirp", "chirp")
    return Searched(chosen, low, high, settings.band is not None)


def _by_joint(key: str, stated: Any, robot: Robot, others: Array) -> Array:
    """One number for each joint, of one for all, one each, or some by name."""
    if stated is None:
        return others
    if not isinstance(stated, dict):
        return np.array(per_joint(key, stated, robot))
    values = np.array(others)
    for name, value in stated.items():
        values[robot.joint(name).v.start] = value
    return values


def _room(
    settings: ExcitationSettings, robot: Robot, limits: Sequence[Limits], start: Array
) -> tuple[Room, tuple[Finding, ...]]:
    """Limits that a search may use, and findings on collisions."""
    part = 1.0 - _margin(settings)
    lower, upper = np.array([limit.interval(2.0 * math.pi) for limit in limits]).T
    middle, half = 0.5 * (lower + upper), 0.5 * part * (upper - lower)
    low, high = middle - half, middle + half
    most = np.minimum(_by_joint("amplitude", settings.amplitude, robot, np.full(robot.nv, np.inf)), high - start)
    velocity, effort = (np.array([getattr(limit, key) for limit in limits]) for key in ("velocity", "effort"))
    clear, findings = None, ()
    if settings.collisions:
        found = collisions_of(settings, robot, limits)
        findings = found.findings
        if found.model.pairs:
            clear = ClearanceLimit(found.model, found.moving, settings.clearance, 0)
            clear.require_clear(start, "start")
    return Room(start, low, high, part * velocity, effort, np.minimum(most, start - low), clear), findings


def _controlled(
    model: DynamicModel,
    control: Control,
    known: Result | None,
    values: Mapping[str, float],
    logged: Log | None,
    start: Array,
    effort: Array,
) -> ControlledRobot:
    """The robot under its law."""
    kp, kd = gains_of(control, model.robot, known, logged)
    stated = control.effort_limit
    if stated is not None and not isinstance(stated, str):
        if np.size(stated) not in (1, len(effort)):
            raise InvalidRequestError(
                f"control.effort_limit has {np.size(stated)} numbers, and '{model.robot.name}' has {len(effort)} joints"
            )
        effort = np.minimum(effort, stated)
    if control.servo is not None:
        effort = np.minimum(effort, control.servo.law(model.robot.nv)["effort_limit"])
    effort = np.where(effort < 1e29, effort, np.inf)
    if known is not None:
        _, at, _ = nominal_point(model, kp, effort, start, known.task.known, delay=0.0, form="continuous")
        point = law_point(known)
        dry = [parameter.role.is_dry for parameter in model.parameters]
        p = np.where(dry, np.maximum(point.p, 0.0), point.p)
        return ControlledRobot(model, replace(point, p=p), at, control, kp, kd, effort, servo=control.servo)
    delay = None if control.delay == "auto" else float(control.delay)
    form = forms_of(control)[0]
    point, at, assumed = nominal_point(model, kp, effort, start, values, delay=delay, form=form)
    return ControlledRobot(model, point, at, control, kp, kd, effort, assumed, control.servo)


def gains_of(control: Control, robot: Robot, known: Result | None, logged: Log | None) -> tuple[Array, Array]:
    """Gains kp and kd, each of shape (joints,): as stated, of a result, of a log, or of the robot file's actuators.

    Raises:
        InvalidRequestError: If they are nowhere.
    """
    kp, kd = stated_gains(control, robot)
    if kp is None and kd is None:
        if known is not None and known.record.commands is not None:
            kp, kd = known.record.commands.kp, known.record.commands.kd
        elif logged is not None and logged.has_commands:
            kp, kd = (tuple(gain[0].tolist()) for gain in (logged.commands.kp, logged.commands.kd))
        elif all(joint.gains is not None for joint in robot.description.joints if joint.name in _moving(robot)):
            kp, kd = stated_gains(control.model_copy(update={"kp": "robot", "kd": "robot"}), robot)
    if kp is None or kd is None:
        raise InvalidRequestError(
            "the gains of the control law are not known, and commands cannot be simulated without: state kp and kd "
            "(--kp 20 --kd 1; in [control] kp = 20, kd = 1; in Python kp=20, kd=1)"
        )
    return np.array(kp, dtype=float), np.array(kd, dtype=float)


def _moving(robot: Robot) -> set[str]:
    return {joint.name for joint in robot.independent_joints}


def _noise(settings: ExcitationSettings, model: DynamicModel, *, of_servos: bool) -> tuple[Array, list[Finding]]:
    """Standard deviation of each joint's measured positions [rad or m], and a finding where it is assumed."""
    assumed = position_noise(model, of_servos=of_servos)
    stated = settings.position_noise
    noise = _by_joint("position_noise", stated, model.robot, assumed)
    if stated is not None:
        return noise, []
    bits = 12 if of_servos else 14
    return noise, [Finding.of("position-noise-assumed", "positions", noise=1e3 * float(noise.max()), bits=bits)]


def _on_values(robot: ControlledRobot) -> Iterator[Finding]:
    if robot.assumed:
        yield Finding.of("joint-parameters-assumed", "robot", parameters=list(robot.assumed))


def with_known(
    problem: CommandProblem, known: Result, *, stated: bool, progress: Progress
) -> tuple[CommandProblem, Promise]:
    """The problem with the information of a result's logs, and what these show.

    Where no noise is stated, it is that with which the logs would have the result's own standard deviations: errors of
    rollouts last for many samples, and so count for more than noise of their size.

    Args:
        problem: The problem, with the noise that is stated or assumed.
        known: The result.
        stated: Whether the noise is stated.
        progress: Callback; receives a short description of each step.
    """
    record, unknowns = known.record.commands, problem.unknowns
    assert record is not None  # it was identified from commands
    rmse = np.maximum([joint.rmse for joint in record.rollout.joints], 1e-9)
    noise = problem.noise if stated else rmse
    own = {row.name: row.std for row in record.parameters if row.state == "determined" and row.std > 0.0}
    at = [k for k, name in enumerate(unknowns.names) if name in own]
    stds = np.array([own[unknowns.names[k]] for k in at])
    H = _information_of_result(problem, known, noise, progress)
    if H is None:  # the logs are gone: as the result has it
        H = np.zeros((len(unknowns.names), len(unknowns.names)))
        rows = [next(i for i, row in enumerate(record.parameters) if row.name == unknowns.names[k]) for k in at]
        rho = np.array(record.correlations)[np.ix_(rows, rows)] if record.correlations else np.eye(len(at))
        H[np.ix_(at, at)] = np.linalg.pinv(rho * np.outer(stds, stds), hermitian=True)
    elif not stated and len(at):
        white = np.sqrt(np.diag(covariance(H, unknowns)))[at]
        longer = max(1.0, float(np.median(stds / white)))
        noise, H = longer * noise, H / longer**2
    new = replace(problem, noise=noise, known=H)
    return new, Promise(unknowns, covariance(H, unknowns), problem.sizes[0])


def _information_of_result(problem: CommandProblem, known: Result, noise: Array, progress: Progress) -> Array | None:
    """Information of a result's logs with some noise; None where they cannot be read any more."""
    logs = list[Log]()
    try:
        for source in known.task.logs:
            logs.append(read(source, known.robot, progress, known.task.drive, Processing(automatic=False)))
    except (DynidError, OSError):
        return None
    H = information_of_logs(problem.robot, logs, problem.columns, noise)
    return H if H.size else None
