"""A robot under a control law, and what was logged: rollouts of logs at any values of its parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.estimation import CommandFit
from dynid.logs import Control, LawForm, Log
from dynid.model import DynamicModel, Role, Sign
from dynid.robot import Robot, with_carried
from dynid.simulation import ControlInput, Rollout, SimulatedRobot, roll_out

STEP = 2.5e-3
"""Longest step of the integrator [s] while parameters are searched."""


@dataclass(frozen=True, eq=False)
class LawPoint:
    """Everything that a rollout depends on.

    Attributes:
        p: Standard parameters of the model, shape (parameters,).
        delay: Delay of commands [s].
        form: How the law acts.
        scales: True gains over stated ones, shape (joints,).
        bias: Encoder biases [rad or m], shape (joints,).
        speeds: Stribeck velocities and whatever else is nonlinear, in the order of `model.nonlinear`; those of the
            model when None.
    """

    p: Array
    delay: float
    form: LawForm
    scales: Array
    bias: Array
    speeds: Array | None = None


@dataclass(frozen=True, eq=False)
class CommandedRobot:
    """A robot under a control law, and what was logged.

    Attributes:
        model: The robot with its terms.
        links: Inertial parameters of its links, shape (10 * solid links,).
        known: Values of terms' parameters that are known, by index into `model.names`.
        logs: What was logged.
        control: What is stated about the law.
        known_speeds: Names of nonlinear parameters that are known.
    """

    model: DynamicModel
    links: Array
    known: dict[int, float]
    logs: tuple[Log, ...]
    control: Control
    known_speeds: frozenset[str] = frozenset()
    _inputs: dict[tuple[int, LawForm], ControlInput] = field(default_factory=dict, repr=False)

    @property
    def first(self) -> int:
        """Index of the first parameter that is not a link's."""
        return len(self.model.robot.parameters)

    @property
    def is_servo(self) -> bool:
        """Whether motors are under a voltage, so that gains and limits have one scale."""
        return any(log.back_emf is not None for log in self.logs)

    @property
    def estimated(self) -> tuple[int, ...]:
        """Parameters that are estimated, as indices into `model.names`."""
        return tuple(k for k in range(self.first, len(self.model.names)) if k not in self.known)

    def roll_out(self, k: int, point: LawPoint, *, steps_kept: bool = False, step: float | None = None) -> Rollout:
        """The rollout of a log, from its first sample to its last."""
        control = self._input(k, point)
        return rolled_out(self.model, self.logs[k], point, control, steps_kept=steps_kept, step=step or STEP)

    def _input(self, k: int, point: LawPoint) -> ControlInput:
        if (k, point.form) not in self._inputs:
            self._inputs[k, point.form] = control_input(self.logs[k], point.form, self.control.rate)
        plain = self._inputs[k, point.form]
        if np.all(point.scales == 1.0):
            return plain
        limit = plain.limit
        if limit is not None and self.is_servo:
            limit = limit * point.scales
        return replace(plain, kp=plain.kp * point.scales, kd=plain.kd * point.scales, limit=limit)

    def errors(self, point: LawPoint, logs: Sequence[int] | None = None) -> Array | None:
        """Mean squares of the errors of rollouts [rad^2 or m^2], shape (logs, joints); None where one flies off."""
        found = []
        for k in range(len(self.logs)) if logs is None else logs:
            rollout = self.roll_out(k, point)
            if rollout.ended is not None:
                return None
            found.append(np.mean((self.logs[k].position - rollout.q) ** 2, axis=0))
        return np.array(found)

    def rmse(self, point: LawPoint, logs: Sequence[int] | None = None) -> float:
        """Root mean square of the errors of rollouts [rad or m]; infinite where one flies off."""
        errors = self.errors(point, logs)
        return math.inf if errors is None else float(np.sqrt(errors.mean()))

    def point(self, fit: CommandFit, form: LawForm) -> LawPoint:
        """Where a rollout is with the values of a regression, as far as they are possible."""
        p = np.concatenate([self.links, np.zeros(len(self.model.names) - self.first)])
        p[self.first : self.first + len(fit.values)] = fit.values
        p[self.first :] = np.maximum(p[self.first :], [lowest(self.model, k) for k in range(self.first, len(p))])
        p[[*self.known]] = [*self.known.values()]
        speeds = np.array([one.value for one in self.model.nonlinear])
        return LawPoint(p, fit.delay, form, fit.scales, np.zeros(self.model.robot.nv), speeds)

    @property
    def estimated_speeds(self) -> tuple[int, ...]:
        """Nonlinear parameters that are estimated, as indices into `model.nonlinear`."""
        return tuple(k for k, one in enumerate(self.model.nonlinear) if one.name not in self.known_speeds)

    def of_file(self, like: LawPoint) -> LawPoint:
        """Where a rollout is with the robot file's own values, without delay."""
        p = np.nan_to_num(self.model.reference)
        return replace(like, p=p, delay=0.0, bias=np.zeros_like(like.bias), scales=np.ones_like(like.scales))


def control_input(log: Log, form: LawForm, rate: float | None = None) -> ControlInput:
    """What a log's rollouts are commanded; a law that is sampled has the log's rate [Hz], unless it is stated."""
    commands = log.commands
    own = 1.0 / float(np.median(np.diff(log.time)))
    rate = None if form == "continuous" else own if rate is None else rate
    kp, kd = (gain[0] if np.all(gain == gain[0]) else gain for gain in (commands.kp, commands.kd))
    return replace(ControlInput.of(log.time, commands, rate), kp=np.array(kp), kd=np.array(kd))


def rolled_out(
    model: DynamicModel,
    log: Log,
    point: LawPoint,
    control: ControlInput,
    *,
    steps_kept: bool = False,
    step: float = STEP,
) -> Rollout:
    """The rollout of a log under its commands.

    Args:
        model: The robot with its terms.
        log: The log.
        point: Everything that the rollout depends on.
        control: The commands, with gains as they are.
        steps_kept: Whether to keep the steps for sensitivities.
        step: Longest step of the integrator [s].
    """
    robot = SimulatedRobot.of(at_speeds(model, point), loaded(point.p, log, model.robot))
    v0 = first_velocity(log)
    options = {"delay": point.delay, "bias": point.bias, "step": step}
    return roll_out(robot, control, log.position[0], v0, **options, steps_kept=steps_kept)


def loaded(parameters: Array, log: Log, robot: Robot) -> Array:
    """Standard parameters, links first, with the load that a log carries.

    Raises:
        InvalidRequestError: If the load is not known.
    """
    if isinstance(log.load, str):
        raise InvalidRequestError(
            f"a log with commands carries the load '{log.load}', which is not known: state its mass and "
            "center_of_mass, or leave the log out"
        )
    return with_carried(parameters, log.load, robot)


def at_speeds(model: DynamicModel, point: LawPoint) -> DynamicModel:
    """The model at the nonlinear parameters of a point."""
    if point.speeds is None or not len(point.speeds):
        return model
    names = [one.name for one in model.nonlinear]
    return model.at_nonlinear(dict(zip(names, point.speeds.tolist(), strict=True)))


def first_velocity(log: Log) -> Array:
    """Velocity at the first sample [rad/s or m/s], shape (joints,): of a parabola through the first samples."""
    count = min(len(log), 7)
    t = log.time[:count] - log.time[0]
    return np.polyfit(t, log.position[:count], min(2, count - 1))[-2] if count > 1 else np.zeros(log.position.shape[1])


def lowest(model: DynamicModel, k: int) -> float:
    """Lowest value that a parameter can have."""
    parameter = model.parameters[k]
    role, is_bounded = parameter.role, parameter.role is Role.OTHER and parameter.sign is Sign.NONNEGATIVE
    return 0.0 if role in (Role.ARMATURE, Role.VISCOUS) or role.is_dry or is_bounded else -math.inf
