"""Rollouts: a robot simulated under a known control law, from the first sample of a log to its end, without resets."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError
from dynid.simulation.branches import envelope, independent_branches
from dynid.simulation.held_commands import ControlInput, Means, Schedule, delayed_means, schedule
from dynid.simulation.simulated_robot import SimulatedRobot

if TYPE_CHECKING:
    from dynid.simulation.rollout_steps import Drive, Steps

logger = logging.getLogger(__name__)

FLOWN_OFF_SPEED = 1000.0
"""Speed [rad/s or m/s] at which a rollout has flown off."""


class Ended(NamedTuple):
    """Where a rollout ended before its time.

    Attributes:
        time: When [s], on the log's own clock.
        joint: Which coordinate was too fast, not finite, or without inertia; counted from zero.
    """

    time: float
    joint: int


@dataclass(frozen=True, eq=False)
class Rollout:
    """A simulated motion at the time stamps of the commands.

    Attributes:
        robot: What moved; back-EMF of its motors is among its viscous friction.
        control: What it was commanded.
        delay: How much later commands acted than they are stamped [s].
        bias: What encoders measure beyond the true positions [rad or m], shape (nv,).
        q: Positions as encoders measure them, bias included, shape (samples, nv); NaN from where it ended.
        v: Velocities, shape (samples, nv).
        torque: The motors' torques [N m or N], shape (samples, nv): each the mean of the step before the sample; the
            first one of the step after.
        ended: Where it ended before its time; None where it did not.
        schedule: Its steps.
        means: Means of the law's parts over the steps.
        steps: The steps as they were taken; None where they were not kept.
    """

    robot: SimulatedRobot
    control: ControlInput
    delay: float
    bias: Array
    q: Array
    v: Array
    torque: Array
    ended: Ended | None
    schedule: Schedule
    means: Means
    steps: Steps | None

    @property
    def time(self) -> Array:
        """Time stamps [s], shape (samples,)."""
        return self.control.time


def roll_out(
    robot: SimulatedRobot,
    control: ControlInput,
    q0: Array,
    v0: Array | None = None,
    *,
    delay: float = 0.0,
    bias: Array | None = None,
    step: float = 2.5e-3,
    fastest: float = FLOWN_OFF_SPEED,
    steps_kept: bool = False,
) -> Rollout:
    """Simulate a robot under a control law, from a first sample to the last time stamp.

    A rollout that flies off ends there and says so in `Rollout.ended`: whoever asked for it decides.

    Args:
        robot: The robot.
        control: What it is commanded.
        q0: Measured positions at the first stamp [rad or m], shape (nv,); the true ones are less the bias.
        v0: Velocities there [rad/s or m/s], shape (nv,); zero when None.
        delay: How much later commands act than they are stamped [s].
        bias: What encoders measure beyond the true positions [rad or m], shape (nv,); zero when None. The law sees it.
        step: Longest step of the integrator [s].
        fastest: Speed at which it has flown off [rad/s or m/s].
        steps_kept: Whether to keep the steps, for `sensitivities`.
    """
    from dynid.simulation import rollout_steps
    from dynid.simulation.compilation import is_cached
    from dynid.simulation.engine import start

    robot, n = robot.under_voltage(control.back_emf), robot.robot.nv
    if np.shape(control.position)[1] != n:
        raise ShapeError("position", f"(samples, {n})", np.shape(control.position))
    b, v = (np.zeros(n) if values is None else np.asarray(values, dtype=float) for values in (bias, v0))
    for name, values in (("q0", q0), ("v0", v), ("bias", b)):
        if np.shape(values) != (n,):
            raise ShapeError(name, f"({n},)", np.shape(values))
    if not (np.isfinite(delay) and all(np.isfinite(values).all() for values in (q0, v, b))):
        raise InvalidRequestError("a rollout needs a finite delay, bias and first sample; start at a later sample")
    if not is_cached(rollout_steps.roll):
        logger.warning("compiling rollouts: this happens once and takes about ten seconds")
    plan = schedule(control, step)
    means = delayed_means(control, plan.edges, delay)
    motion = rollout_steps.Motion.at(np.asarray(q0, dtype=float) - b, v, robot.forces)
    steps = rollout_steps.Steps.of(len(plan.step) if steps_kept else 0, n, len(motion.mode))
    q, v, torque = np.full((3, len(plan.ends), n), np.nan)
    instance, drive = start(robot.plant), _drive(robot, control, plan, means, b, fastest)
    end, at, joint = rollout_steps.roll(instance.engine, robot.forces, drive, motion, q, v, torque, steps)
    ended = None
    if end != rollout_steps.TO_THE_END:
        ended = Ended(float(control.time[0] + plan.step[: at + 1].sum()), int(joint))
    kept = steps if steps_kept else None
    motions = frozen(q + b), frozen(v), frozen(torque)
    return Rollout(robot, control, float(delay), frozen(b), *motions, ended, plan, means, kept)


def _drive(
    robot: SimulatedRobot, control: ControlInput, plan: Schedule, means: Means, bias: Array, fastest: float
) -> Drive:
    """The control law over the steps."""
    from dynid.simulation.rollout_steps import Drive

    return Drive(
        step=plan.step,
        tick=plan.tick,
        push=means.position + means.velocity + means.torque - means.kp * bias,
        kp=means.kp,
        kd=means.kd,
        limit=np.full(len(bias), np.inf) if control.limit is None else np.array(control.limit, dtype=float),
        back_emf=np.zeros(len(bias)) if control.back_emf is None else np.array(control.back_emf, dtype=float),
        is_sampled=control.rate is not None,
        ends=plan.ends,
        first=envelope(independent_branches(robot.robot, robot.forces)),
        fastest=float(fastest),
    )
