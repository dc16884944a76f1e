"""The closed loop that a log was recorded in: what was to be followed, and the law that followed it.

Where the log has commands and gains, that is its loop. Where it has not, a loop is assumed that tracks the commands, or
the measured positions where there are none: gains of some bandwidth, and the torques of the model along them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dynid.arrays import Array
from dynid.errors import DynidError, InvalidRequestError
from dynid.logs import Control, Drive, Log, PreparedLog, StoredLog, prepare, transmission_of
from dynid.model import Chunk, DynamicModel, loaded
from dynid.simulation import ControlInput, Rollout, SimulatedRobot, roll_out
from dynid.simulation.plant import require_simple_joints

BANDWIDTH = 15.0
"""Natural frequency [Hz] of a loop that is assumed."""

FINEST_STEP = 2e-4
"""Interval [s] that commands which change between stamps are divided into: in longer ones, means of the commands would
act as a force of the velocity."""

LONGEST_STEP = 2e-3
"""Longest step of the simulation [s]."""


class DivergedError(DynidError):
    """The simulated robot does not follow in the loop of a log.

    Attributes:
        joint: The joint that flew off.
        time: When [s], on the log's own clock.
    """

    def __init__(self, joint: str, time: float, law: str) -> None:
        self.joint, self.time = joint, time
        advice = "check kp, kd and their units" if law == "stated" else "start from better parameters (the robot file)"
        super().__init__(f"the simulated robot does not follow: {joint} flies off at {time:.4g} s; {advice}")


@dataclass(frozen=True, eq=False)
class Stretch:
    """A stretch of a log without gaps, in its loop.

    Attributes:
        times: Stamps of the samples that are ready for the model [s], shape (samples,).
        start: Positions and velocities of the joints at the first of them, each of shape (nv,).
        reference: What was to be followed, at these stamps; a loop is assumed around it. None where it is stated.
        control: Commands and gains at the log's own stamps, where they are stated; else None.
        every: Every how many stamps of `control` the log has a sample; commands change between them.
        position: Joint positions as they were measured there [rad or m], shape (samples, nv); NaN where they were not,
            None where no law is stated.
        torque: Joint torques as they were measured there [N m or N], of the same shape.
    """

    times: Array
    start: tuple[Array, Array]
    reference: Chunk | None
    control: ControlInput | None
    every: int = 1
    position: Array | None = None
    torque: Array | None = None


@dataclass(frozen=True, eq=False)
class Loop:
    """The closed loop of a log.

    Attributes:
        log: The log, ready for the model.
        stretches: Its stretches.
        law: Whether the law is the log's, or assumed.
        followed: What is followed: commands of the log, or its measured positions.
        delay: How much later commands act than they are stamped [s].
        is_held: Whether each command is held until the next one; otherwise they are means until then.
    """

    log: PreparedLog
    stretches: tuple[Stretch, ...]
    law: Literal["stated", "assumed"]
    followed: Literal["commands", "measured"]
    delay: float = 0.0
    is_held: bool = False

    def rollouts(self, robot: SimulatedRobot, *, steps_kept: bool = False, divided: int = 1) -> list[Rollout]:
        """The robot in the loop, a rollout for each stretch.

        Args:
            robot: The robot.
            steps_kept: Whether to keep the steps, for sensitivities.
            divided: By what steps of the simulation are divided.

        Raises:
            DivergedError: If it does not follow.
        """
        found = []
        for stretch in self.stretches:
            control = stretch.control or _assumed(robot, stretch)
            q0, v0 = stretch.start
            step = min(LONGEST_STEP, float(np.median(np.diff(stretch.times)))) / divided
            run = roll_out(robot, control, q0, v0, delay=self.delay, step=step, steps_kept=steps_kept)
            if run.ended is not None:
                joint = robot.model.row_names[run.ended.joint]
                raise DivergedError(joint, run.ended.time, self.law)
            found.append(run)
        return found

    def simulated(self, robot: SimulatedRobot) -> PreparedLog:
        """The log with the motion of the simulated robot in place of the measured one; torques stay as measured.

        Raises:
            DivergedError: If it does not follow.
        """
        segments = []
        runs = self.rollouts(robot, steps_kept=True)
        for segment, stretch, run in zip(self.log.segments, self.stretches, runs, strict=True):
            q, v, a = states_at(run, stretch.times)
            segments.append(replace(loaded(segment), q=q, v=v, a=a))
        return replace(self.log, segments=tuple(segments))


def states_at(run: Rollout, times: Array) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations of a rollout at some times [s], each of shape (times, nv).

    Velocities are linear within a step. Accelerations are changes of velocity over one interval of the commands around
    each time: where a law is evaluated more often than its commands change, they have the mean of a whole interval.
    """
    steps = run.steps
    assert steps is not None
    ends = run.time[0] + np.concatenate([[0.0], np.cumsum(run.schedule.step)])
    h = run.schedule.step[:, None]
    q0, v0, a = steps.q_middle - 0.5 * h * steps.v, steps.v, steps.a
    at = np.clip(np.searchsorted(ends, times, side="right") - 1, 0, len(h) - 1)
    past = (np.clip(times, ends[0], ends[-1]) - ends[at])[:, None]
    q = q0[at] + past * v0[at] + 0.5 * past**2 * a[at] + run.bias
    velocities = np.concatenate([v0, v0[-1:] + h[-1:] * a[-1:]])
    half = 0.5 * float(np.median(np.diff(run.time)))
    before, after = np.maximum(times - half, ends[0]), np.minimum(times + half, ends[-1])
    v, low, high = (
        np.stack([np.interp(when, ends, column) for column in velocities.T], axis=1) for when in (times, before, after)
    )
    return q, v, (high - low) / (after - before)[:, None]


def _assumed(robot: SimulatedRobot, stretch: Stretch) -> ControlInput:
    """A law that tracks: gains by the robot's own inertia, and its torques along the reference.

    The reference is taken in the middle of steps that are short, whatever the samples of the log.
    """
    from scipy.interpolate import CubicHermiteSpline

    model, reference, times = robot.model, stretch.reference, stretch.times
    assert reference is not None
    some = reference.q[:: max(1, len(reference) // 20)]
    inertia = np.abs(np.diagonal(model.mass_matrices(some, robot.parameters), axis1=1, axis2=2)).mean(axis=0)
    w = 2.0 * np.pi * BANDWIDTH
    finer = max(1, math.ceil(float(np.median(np.diff(times))) / LONGEST_STEP - 1e-6))
    stamps = np.interp(np.arange(finer * (len(times) - 1) + 1) / finer, np.arange(len(times)), times)
    middles = np.append(0.5 * (stamps[:-1] + stamps[1:]), stamps[-1])
    spline = CubicHermiteSpline(times, reference.q, reference.v)
    q, v = np.asarray(spline(middles)), np.asarray(spline(middles, 1))
    a = np.stack([np.interp(middles, times, column) for column in reference.a.T], axis=1)
    ahead = model.inverse_dynamics(q, v, a, robot.parameters)
    return ControlInput(stamps, q, w**2 * inertia, 2.0 * w * inertia, v, ahead)


def loop_of(
    log: Log | StoredLog, ready: PreparedLog, model: DynamicModel, drive: Drive, control: Control | None = None
) -> Loop:
    """The closed loop of a log.

    Args:
        log: The log, as it was read.
        ready: The same, ready for the model.
        model: The model.
        drive: The drives between what was logged and the joints.
        control: How the law acts: its delay, and whether it is held between ticks.

    Raises:
        InvalidRequestError: If the robot cannot be simulated, or the log is too long to be held in memory.
    """
    require_simple_joints(model.robot)
    if isinstance(log, StoredLog):
        raise InvalidRequestError(
            "the log is too long for estimators that simulate it; cut it by rows or seconds, or use estimator = "
            "'torque'"
        )
    if log.position_command is not None and drive.offsets is not None and np.any(drive.offsets):
        raise InvalidRequestError(
            "commands beside drive.offsets are not clear: nobody says whether they have the offsets, too; take these "
            "off the positions of the log, and leave drive.offsets out"
        )
    log = _with_gains(log, control)
    chunks = [loaded(segment) for segment in ready.segments]
    times = [np.asarray(stamps[:], dtype=float) for stamps in ready.times]
    starts = [(np.array(chunk.q[0]), np.array(chunk.v[0])) for chunk in chunks]
    if log.has_commands:
        stated = [_stated(log, *each, drive, model, control) for each in zip(times, starts, strict=True)]
        stretches = [_with_measured(stretch, log, ready, model, drive) for stretch in stated]
        delay = log.command_delay if _delay(control) is None else _delay(control)
        is_held = holds_commands(log, control) or any(one.control and one.control.rate for one in stretches)
        return Loop(ready, tuple(stretches), "stated", "commands", delay or 0.0, is_held)
    if log.position_command is not None:
        along = prepare(replace(log, position=log.position_command, velocity=None), model, drive, ready.processing)
        if [len(segment) for segment in along.segments] == [len(chunk) for chunk in chunks]:
            references = [replace(loaded(segment)) for segment in along.segments]
            parts = [Stretch(*each, None) for each in zip(times, starts, references, strict=True)]
            return Loop(ready, tuple(parts), "assumed", "commands")
    parts = [Stretch(*each, None) for each in zip(times, starts, chunks, strict=True)]
    return Loop(ready, tuple(parts), "assumed", "measured")


def _with_gains(log: Log, control: Control | None) -> Log:
    """A log that has commands and no gains of its own, with those that `[control]` states as numbers."""
    if control is None or log.position_command is None or log.kp is not None:
        return log
    kp, kd = (None if value is None or isinstance(value, str) else value for value in (control.kp, control.kd))
    if kp is None:
        return log
    each = [np.broadcast_to(np.asarray(value or 0.0, dtype=float), log.position.shape[1:]).copy() for value in (kp, kd)]
    return replace(log, kp=each[0], kd=each[1])


def _stated(
    log: Log,
    times: Array,
    start: tuple[Array, Array],
    drive: Drive,
    model: DynamicModel,
    control: Control | None,
) -> Stretch:
    """A stretch under the commands and gains of the log, which act at the joints."""
    transmission = transmission_of(drive, model.robot)
    at_motors = transmission.positions_at_motor or transmission.torques_at_motor
    if at_motors and not np.allclose(transmission.matrix, np.eye(model.robot.nv)):
        raise InvalidRequestError(
            "commands and gains are those of the joints, and the log is on the motors' side; convert it, or leave kp "
            "out so that a loop is assumed"
        )
    first = int(np.clip(np.searchsorted(log.time, times[0], side="right") - 1, 0, None))
    last = int(np.searchsorted(log.time, times[-1], side="left")) + 1
    commands, rows = log.commands, slice(first, last)

    def cut(values: Array | None) -> Array | None:
        whole = values is not None and np.ndim(values) == 2
        return np.ascontiguousarray(values[rows]) if whole and values is not None else values

    stamps = np.array(log.time[rows], dtype=float)
    stamps[0] = times[0]
    held = control is not None and control.law != "continuous"
    rate = control.rate if control is not None and held else None
    if control is not None and control.law == "sampled" and rate is None:
        rate = 1.0 / float(np.median(np.diff(log.time)))
    position, kp, kd = cut(commands.position), cut(commands.kp), cut(commands.kd)
    assert position is not None
    assert kp is not None
    assert kd is not None
    velocity, torque = cut(commands.velocity), cut(commands.torque)
    finer = 1 if holds_commands(log, control) else _parts(float(np.median(np.diff(stamps))), rate)
    if finer > 1:
        at = 0.5 if rate is None else 0.0  # means until the next one, or values at a tick
        position, velocity, torque = (_between(values, finer, at) for values in (position, velocity, torque))
        kp, kd = (np.repeat(gain, finer, axis=0)[: 1 - finer] if gain.ndim == 2 else gain for gain in (kp, kd))
        stamps = np.interp(np.arange(finer * (len(stamps) - 1) + 1) / finer, np.arange(len(stamps)), stamps)
    assert position is not None
    control_input = ControlInput(stamps, position, kp, kd, velocity, torque, commands.limit, rate)
    return Stretch(times, start, None, control_input, finer)


def holds_commands(log: Log, control: Control | None) -> bool:
    """Whether each command is held until the next: where the delay of commands, or a rate of the law, is stated."""
    return log.command_delay is not None or _delay(control) is not None


def _delay(control: Control | None) -> float | None:
    """The delay of commands that is stated [s]; None where none is."""
    return None if control is None or isinstance(control.delay, str) else float(control.delay)


def _parts(interval: float, rate: float | None) -> int:
    """How many parts an interval between stamps [s] has, in which commands change: ticks of a law with a rate [Hz]."""
    return max(1, math.ceil(interval / FINEST_STEP - 1e-6) if rate is None else round(interval * rate))


def _between(values: Array | None, finer: int, past: float) -> Array | None:
    """Commands between stamps, so many for each interval; shape (finer * (samples - 1) + 1, nv).

    They change between stamps where no delay says that they are held: along Akima's curve, which has no overshoot where
    commands step. On straight lines, a law would feel a force of the acceleration.

    Args:
        values: Commands at the stamps, shape (samples, nv); None where there are none.
        finer: Number of parts of an interval.
        past: Where in a part commands are taken: 0 is its beginning.
    """
    if values is None:
        return None
    from scipy.interpolate import Akima1DInterpolator

    at = np.append((np.arange(finer * (len(values) - 1)) + past) / finer, len(values) - 1.0)
    return np.asarray(Akima1DInterpolator(np.arange(len(values)), values)(at))


def _with_measured(stretch: Stretch, log: Log, ready: PreparedLog, model: DynamicModel, drive: Drive) -> Stretch:
    """A stretch with positions and torques as they were measured, at the samples of the log."""
    transmission, control = transmission_of(drive, model.robot), stretch.control
    assert control is not None
    last = int(np.searchsorted(log.time, control.time[-1], side="left")) + 1
    first = int(np.clip(np.searchsorted(log.time, stretch.times[0], side="right") - 1, 0, None))
    rows = slice(first, last)
    position = transmission.joint_positions(log.position[rows])
    torque = np.array(transmission.joint_torques(log.torque), dtype=float)
    if log.missing is not None:
        torque[np.abs(log.missing.astype(float) @ transmission.joint_torques(np.eye(len(torque.T)))) > 0.0] = np.nan
    if drive.delay:  # that which is stated: one that was estimated may be that of held commands
        late = [np.interp(log.time + drive.delay, log.time, x, left=np.nan, right=np.nan) for x in torque.T]
        torque = np.stack(late, axis=1)
    torque = torque[rows]
    torque[:, [name in ready.processing.unmeasured for name in model.row_names]] = np.nan
    if log.time[rows.start] != control.time[0]:  # the stretch begins between two samples
        position, torque = (np.where(np.arange(len(x))[:, None] == 0, np.nan, x) for x in (position, torque))
    return replace(stretch, position=position, torque=torque)


def positive_inertia(model: DynamicModel, parameters: Array, logs: Sequence[PreparedLog]) -> bool:
    """Whether mass matrices of standard parameters, shape (parameters,), are positive definite along logs."""
    for log in logs:
        for segment in log.segments:
            q = loaded(segment).q
            matrices = model.mass_matrices(q[:: max(1, len(q) // 50)], parameters)
            sizes = np.linalg.eigvalsh(0.5 * (matrices + matrices.swapaxes(1, 2)))
            if sizes.min() <= 1e-6 * sizes.max():
                return False
    return True
