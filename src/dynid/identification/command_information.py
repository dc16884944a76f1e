"""What commands will show: the information of a rollout on joint parameters, delay and biases, before it is run.

With white errors of positions of the standard deviations s, the estimates of output error have the covariance
`inv(J^T diag(1 / s^2) J)`, where J are the sensitivities of the rollout's positions over what is estimated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array
from dynid.estimation import Unknowns, confounded_pairs
from dynid.identification.command_fit import unknown_columns, unknowns_of
from dynid.identification.commanded_robot import CommandedRobot, LawPoint
from dynid.logs import Control, LawForm, Log, Servo
from dynid.model import DynamicModel, Role, matching, split_known
from dynid.robot import JointKind
from dynid.simulation import Rollout, RolloutParameters, nominal_robot, sensitivities


@dataclass(frozen=True)
class CommandDesignThresholds:
    """What a design of commands assumes where nothing is stated, and what it remarks. By judgement."""

    duration: float = 20.0
    """How long commands last [s]."""

    command_rate: float = 50.0
    """How often commands change [Hz]."""

    rate: float = 200.0
    """Sampling rate of the log [Hz]."""

    margin: float = 0.1
    """Part of the limits that stays free: rollouts are predictions."""

    armature: float = 0.3
    """Motor inertia over the inertia of the links that a joint moves. Those identified for the Go2 are 0.1 to 1."""

    damping: float = 0.1
    """Viscous friction over the critical damping of a joint under its gain."""

    friction: float = 0.02
    """Coulomb friction over the effort limit, or over the torque of the gain at 1 rad (m), whichever is less."""

    delay: float = 0.005
    """Delay of the commands [s]."""

    encoder: float = 1.1e-4
    """Standard deviation of measured positions [rad]: that of an encoder of 14 bits, 2 pi / 16384 / sqrt(12)."""

    servo_encoder: float = 4.4e-4
    """The same of hobby servos, whose encoders have 12 bits."""

    servo_rate: float = 30.0
    """Rate of commands and logs of hobby servos [Hz]: that of LeRobot."""

    servo_band: float = 0.1
    """Largest frequency of a servo's commands over the rate of its log: ten samples a period."""

    slide_encoder: float = 1e-5
    """The same of a prismatic joint [m]."""

    smallest: float = 0.3
    """Armatures and frictions count relative to their values, or to this part of what would be assumed, where that is
    more: a value of nearly zero is no measure."""

    delay_size: float = 1e-3
    """Standard deviation of the delay [s] that counts as 100 %."""

    bias_size: float = 1e-2
    """Standard deviation of an encoder bias [rad or m] that counts as 100 %."""


THRESHOLDS = CommandDesignThresholds()


@dataclass(frozen=True, eq=False)
class ControlledRobot:
    """A robot under a control law whose commands are to be designed.

    Attributes:
        model: The robot with its terms.
        point: The parameters, delay and form of the law that rollouts are made with.
        known: Values of terms' parameters that are known, by index into `model.names`.
        control: What is stated about the law.
        kp: Gains on positions [N m/rad or N/m], shape (joints,).
        kd: Gains on velocities [N m s/rad or N s/m], shape (joints,).
        effort: Largest torques [N m or N], shape (joints,); infinite where there is no limit.
        assumed: Parameters whose values are assumed.
        servo: Servos, whose torque falls with speed; None for drives that control torques. The largest torques are
            then those before back-EMF.
    """

    model: DynamicModel
    point: LawPoint
    known: Mapping[int, float]
    control: Control
    kp: Array
    kd: Array
    effort: Array
    assumed: tuple[str, ...] = ()
    servo: Servo | None = None

    @cached_property
    def back_emf(self) -> Array | None:
        """Torque that servos lose with speed [N m s/rad], shape (joints,); None for drives that control torques."""
        return None if self.servo is None else self.servo.law(len(self.kp))["back_emf"]

    def before_back_emf(self, torque: Array, v: Array) -> Array:
        """What servos would give at rest under the same voltage, (samples, joints); for other drives the torque."""
        return torque if self.back_emf is None else torque + self.back_emf * v

    def with_log(self, log: Log) -> CommandedRobot:
        """The robot as output error sees it, with a log."""
        links = self.point.p[: len(self.model.robot.parameters)]
        return CommandedRobot(self.model, links, dict(self.known), (log,), self.control)

    def unknowns(self, log: Log, *, bias: bool) -> tuple[RolloutParameters, Unknowns]:
        """What output error on a log estimates: columns of sensitivities, and what they stand for."""
        robot = self.with_log(log)
        columns = unknown_columns(robot, bias=bias)
        return columns, unknowns_of(robot, self.point, columns)


def nominal_point(
    model: DynamicModel,
    kp: Array,
    effort: Array,
    posture: Array,
    known: Mapping[str, float],
    *,
    delay: float | None,
    form: LawForm,
) -> tuple[LawPoint, dict[int, float], tuple[str, ...]]:
    """The robot file's parameters, with plain values where it has none.

    Args:
        model: The robot with its terms.
        kp: Gains on positions, shape (joints,).
        effort: Effort limits [N m or N], shape (joints,); infinite where there is none.
        posture: Where inertia is looked at [rad or m], shape (joints,).
        known: Values of parameters that are known, by name or pattern.
        delay: Delay of the commands [s]; assumed when None.
        form: How the law acts.

    Returns:
        Where rollouts are made; values of terms' parameters that are known, by index; names of assumed ones.
    """
    robot, _ = nominal_robot(model)
    p, first = np.array(robot.parameters), len(model.robot.parameters)
    stated: dict[int, float] = {}
    for pattern, value in split_known(model, known)[1].items():
        stated |= {model.names.index(name): value for name in matching([pattern], model.names)}
    p[[*stated]] = [*stated.values()]
    fallback = fallback_sizes(model, p, kp, effort, posture)
    assumed = [k for k in fallback if not p[k] > 0.0 and k not in stated]
    p[assumed] = [fallback[k] for k in assumed]
    n = model.robot.nv
    law_delay = THRESHOLDS.delay if delay is None else delay
    point = LawPoint(p, law_delay, form, np.ones(n), np.zeros(n))
    names = [model.names[k] for k in assumed] + ["delay"] * (delay is None)
    return point, {k: value for k, value in stated.items() if k >= first}, tuple(names)


def fallback_sizes(model: DynamicModel, p: Array, kp: Array, effort: Array, posture: Array) -> dict[int, float]:
    """Plain values of armatures and frictions, by index into `model.names`."""
    links = np.array(p)
    links[len(model.robot.parameters) :] = 0.0
    inertia = np.abs(np.diag(model.mass_matrices(posture[None], links)[0])) + 1e-6
    damping = THRESHOLDS.damping * 2.0 * np.sqrt(np.maximum(kp, 1e-6) * (1.0 + THRESHOLDS.armature) * inertia)
    friction = THRESHOLDS.friction * np.minimum(effort, np.maximum(kp, 1e-6))
    owners = {joint.name: joint.v.start for joint in model.robot.independent_joints}
    found: dict[int, float] = {}
    for k, parameter in enumerate(model.parameters):
        row = owners.get(parameter.owner)
        if row is None:
            continue
        if parameter.role is Role.ARMATURE:
            found[k] = float(THRESHOLDS.armature * inertia[row])
        elif parameter.role is Role.VISCOUS:
            found[k] = float(damping[row])
        elif parameter.role.is_dry:
            found[k] = float(friction[row])
    return found


def position_noise(model: DynamicModel, *, of_servos: bool = False) -> Array:
    """Standard deviations of measured positions that are assumed [rad or m], shape (joints,)."""
    encoder = THRESHOLDS.servo_encoder if of_servos else THRESHOLDS.encoder
    slides = [joint.kind is JointKind.PRISMATIC for joint in model.robot.independent_joints]
    return np.where(slides, THRESHOLDS.slide_encoder, encoder)


def information(rollout: Rollout, columns: RolloutParameters, noise: Array) -> Array:
    """Information of a rollout's positions, shape (unknowns, unknowns): gains have one scale for each joint.

    Args:
        rollout: The rollout, with its steps.
        columns: What is estimated.
        noise: Standard deviation of each joint's positions [rad or m], shape (joints,).
    """
    H = np.zeros((len(columns), len(columns)))
    for branch in sensitivities(rollout, columns).branches:
        flat = (branch.position / noise[branch.joints][None, :, None]).reshape(-1, len(branch.columns))
        H[np.ix_(branch.columns, branch.columns)] += flat.T @ flat
    scales = len(columns.kp)
    if not scales:
        return H
    join = np.eye(len(columns))[:, : len(columns) - columns.scaled + scales]
    join[-columns.scaled :, -scales:] = np.tile(np.eye(scales), (columns.scaled // scales, 1))
    return join.T @ H @ join


def covariance(H: Array, unknowns: Unknowns) -> Array:
    """Covariance of estimates with some information; what is not determined is as uncertain as its size."""
    sizes = unknowns.sizes
    scaled = H * np.outer(sizes, sizes) + np.eye(len(sizes))
    return np.linalg.inv(scaled) * np.outer(sizes, sizes)


def relative_sizes(robot: ControlledRobot, unknowns: Unknowns, posture: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Standard deviations that count as 100 %, and which of the unknowns a design looks at; both (unknowns,).

    Armatures and frictions count relative to their values, unless these are nearly zero, the delay to a millisecond;
    offsets, biases and scales of gains are estimated as well, but do not decide.
    """
    model, p = robot.model, robot.point.p
    fallback = fallback_sizes(model, p, robot.kp, robot.effort, posture)
    sizes, judged = np.ones(len(unknowns.names)), np.zeros(len(unknowns.names), dtype=bool)
    for i, name in enumerate(unknowns.names):
        if name == "delay":
            sizes[i], judged[i] = THRESHOLDS.delay_size, True
        elif name in model.names:
            k = model.names.index(name)
            judged[i] = k in fallback
            sizes[i] = max(p[k], THRESHOLDS.smallest * fallback[k]) if k in fallback else unknowns.sizes[i]
        elif name.startswith("bias"):
            sizes[i] = THRESHOLDS.bias_size
    return sizes, judged


@dataclass(frozen=True, eq=False)
class Promise:
    """What some information promises of the estimates.

    Attributes:
        unknowns: What is estimated.
        covariance: Its covariance, shape (unknowns, unknowns).
        sizes: Standard deviations that count as 100 %, shape (unknowns,).
    """

    unknowns: Unknowns
    covariance: Array
    sizes: Array

    @property
    def stds(self) -> Array:
        """Standard deviations, shape (unknowns,)."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def is_determined(self) -> NDArray[np.bool_]:
        """Which unknowns are clearly more certain than before, shape (unknowns,)."""
        return self.stds < 0.5 * self.unknowns.sizes

    @property
    def correlation(self) -> Array:
        """Correlations of the estimates, shape (unknowns, unknowns)."""
        stds = np.where(self.stds > 0.0, self.stds, np.inf)
        return self.covariance / np.outer(stds, stds)

    def confounded(self) -> list[tuple[str, str, float]]:
        """Pairs that stay confounded, with their correlations, the largest first."""
        names = self.unknowns.names
        return [(names[i], names[j], rho) for i, j, rho in confounded_pairs(self.correlation)]

    def with_delay(self, role: Role, model: DynamicModel) -> float:
        """Largest correlation of the delay with a parameter of some role; zero where the delay is not estimated."""
        names = self.unknowns.names
        if "delay" not in names:
            return 0.0
        rho, d = self.correlation, names.index("delay")
        rows = [i for i, name in enumerate(names) if name in model.names]
        return max(
            (abs(float(rho[i, d])) for i in rows if model.parameters[model.names.index(names[i])].role is role),
            default=0.0,
        )


def information_of_logs(robot: ControlledRobot, logs: Sequence[Log], columns: RolloutParameters, noise: Array) -> Array:
    """Information of logs that exist, shape (unknowns, unknowns); without unknowns where all rollouts fly off."""
    rollouts = (robot.with_log(log).roll_out(0, robot.point, steps_kept=True) for log in logs)
    found = [information(rollout, columns, noise) for rollout in rollouts if rollout.ended is None]
    return np.sum(found, axis=0) if found else np.zeros((0, 0))
