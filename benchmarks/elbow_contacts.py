"""Simulated contacts on the elbow of a robot whose torques have the errors of its own real log.

The errors of a real log are what its observer sees: external torques that would give an exact model the residuals that
the real one gives, each stretch with a model that was fitted to the others. They hold the noise of torques and
velocities, friction as it is not modelled, and delays. Every simulated motion gets its own draw: stretches of 2 s, all
joints together, with random signs. So what is shown is for errors like these 20 s; whether stretches of a real log are
like its others is what `alarm_rates` shows.

The robot is simulated in closed loop with dry friction that sticks. A contact is a force at the origin of the forearm's
joint, through Pinocchio's Jacobian. The simulated robot feels it from one sample to the next, and gives way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pinocchio as pin

import dynid
from dynid import ContactLimits, DynamicModel, Log, Observation, Result
from dynid.arrays import Array
from dynid.identification.contact_recipe import quiet_log
from dynid.identification.observed_logs import held_out_stretches
from dynid.robot.pinocchio import to_pinocchio
from dynid.simulation import ControlInput, SimulatedRobot, roll_out

RATE = 1000.0
"""Sampling rate of simulated logs [Hz]."""

BANDWIDTH = 10.0
"""Natural frequency of the control loop [Hz], critically damped."""

STRETCH, FADE = 2.0, 0.05
"""Length of the stretches of real errors, and how long one fades into the next [s]."""

TRAINING, QUIET, FREE = 30.0, 600.0, 600.0
"""Lengths of motion [s]: to identify, to find thresholds, and to count false alarms."""

PER_MINUTE = 1.0 / 60.0
"""The stated rate of false alarms: one an hour."""

DIRECTIONS = 8
"""Directions of the force around the upper arm, from one side."""

ROUNDS = 5
"""Contacts in each direction, in one log."""

CONTACT, PAUSE = 0.3, 1.2
"""Length of a contact, and of the time between two [s]."""

SWING = 0.2
"""Amplitude of the motion about a posture [rad], with 0.15 to 0.35 Hz."""


@dataclass(frozen=True, eq=False)
class ElbowCase:
    """A robot, its real log, and where it is touched.

    Attributes:
        name: Its name.
        experiment: The experiment of its real log.
        shoulder: Joint at which the upper arm begins, counted from one.
        elbow: Joint at which it ends.
        postures: Postures [rad] by name.
        position_noise: Standard deviation of positions, white [rad]: from second differences of the real log.
        force: The contact [N].
    """

    name: str
    experiment: Path
    shoulder: int
    elbow: int
    postures: dict[str, tuple[float, ...]]
    position_noise: float
    force: float = 15.0

    @cached_property
    def real(self) -> Result:
        """What the real log gives."""
        return dynid.identify(self.experiment)

    @cached_property
    def model(self) -> DynamicModel:
        """The simulated robot: its links and friction are those that were identified."""
        return self.real.model

    @cached_property
    def parameters(self) -> Array:
        """Its standard parameters, shape (parameters,)."""
        return self.real.standard_parameters(physical=True)

    @cached_property
    def limits(self) -> ContactLimits:
        """Thresholds of the real log: for its gain, velocities and level of residuals."""
        return self.real.contact_thresholds(false_alarms_per_minute=10.0)

    @cached_property
    def errors(self) -> Array:
        """Errors of the real log as torques [N m], at `RATE`, shape (samples, joints)."""
        (log,) = held_out_stretches(self.real, physical=True)
        gain, own = self.limits.gain, quiet_log(self.real, log, self.limits.gain, self.limits.cutoff)
        t, r, steps = own.signals.time, own.residuals, np.diff(own.signals.time)[:, None]
        torques = (r[1:] * (1.0 + 0.5 * gain * steps) - r[:-1] * (1.0 - 0.5 * gain * steps)) / (gain * steps)
        keep = own.counts[1:] & own.counts[:-1] & ~own.signals.begins[1:]
        for stretch in log.stretches:  # residuals of different models do not follow from each other
            keep[np.searchsorted(t[1:], stretch.first) :][:1] = False
        total = np.concatenate([np.zeros((1, r.shape[1])), np.cumsum(np.where(keep[:, None], torques, 0.0) * steps, 0)])
        grid = np.arange(t[0], t[-1], 1.0 / RATE)
        even = np.stack([np.interp(grid, t, column) for column in total.T], axis=1)
        return np.diff(even, axis=0) * RATE

    @cached_property
    def gains(self) -> tuple[Array, Array]:
        """Gains on positions [N m/rad] and velocities [N m s/rad], shape (joints,)."""
        M = self.model.mass_matrices(self.motion(60.0, 0)[1][::600], self.parameters)
        felt, w = (1.0 / np.diagonal(np.linalg.inv(M), axis1=1, axis2=2)).mean(axis=0), 2.0 * np.pi * BANDWIDTH
        return w**2 * felt, 2.0 * w * felt

    def motion(self, seconds: float, seed: int) -> tuple[Array, Array, Array]:
        """Time, positions and velocities of random sums of sines within limits; it rests for 1 s in every 8 s."""
        rng, joints = np.random.default_rng((seed, 11)), self.model.robot.independent_joints
        low, high = np.array([joint.limits.interval(2.0) for joint in joints]).T
        t = np.arange(round(seconds * RATE)) / RATE
        fall, rise = (0.5 - 0.5 * np.cos(np.pi * np.clip((t % 8.0 - at) / 0.5, 0.0, 1.0)) for at in (6.0, 7.5))
        pace = 1.0 - fall + rise
        w, phase = 2.0 * np.pi * rng.uniform(0.03, 0.25, (len(joints), 6)), rng.uniform(0.0, 6.3, (len(joints), 6))
        angle = (np.cumsum(pace) / RATE)[:, None, None] * w + phase
        x, rate = np.sin(angle).sum(2), (w * np.cos(angle)).sum(2)
        speed = np.array([0.6 * joint.limits.velocity for joint in joints])
        size = np.minimum(0.45 * (high - low) / np.abs(x).max(axis=0), speed / np.abs(rate).max(axis=0))
        return t, 0.5 * (low + high) + size * x, size * rate * pace[:, None]

    def about(self, posture: Sequence[float], swing: float, seed: int) -> tuple[Array, Array, Array]:
        """The same of a motion about a posture; it rests there without a swing."""
        rng, n = np.random.default_rng((seed, 8)), len(posture)
        t = np.arange(round((3.0 + DIRECTIONS * ROUNDS * (CONTACT + PAUSE)) * RATE)) / RATE
        w, phase = 2.0 * np.pi * rng.uniform(0.15, 0.35, n), rng.uniform(0.0, 6.3, n)
        angle = t[:, None] * w + phase
        return t, np.array(posture) + swing * np.sin(angle), swing * w * np.cos(angle)

    def drawn_errors(self, samples: int, rng: np.random.Generator) -> Array:
        """Errors drawn from those of the real log, shape (samples, joints)."""
        own = self.errors
        size, fade = round(STRETCH * RATE), round(FADE * RATE)
        ramp, found = np.sqrt((np.arange(fade) + 0.5) / fade), np.zeros((samples + size + fade, own.shape[1]))
        window = np.concatenate([ramp, np.ones(size - fade), ramp[::-1]])[:, None]
        for first in range(0, samples, size):
            at = rng.integers(0, len(own) - size - fade)
            found[first : first + size + fade] += rng.choice([-1.0, 1.0]) * window * own[at : at + size + fade]
        return found[:samples]

    def log(self, moves: tuple[Array, Array, Array], rng: np.random.Generator, external: Array | None = None) -> Log:
        """The log of a motion under the control loop: positions and torques."""
        t, q, v = moves
        touched = np.zeros_like(q) if external is None else external
        ahead = self.model.inverse_dynamics(q, v, np.gradient(v, 1.0 / RATE, axis=0), self.parameters)
        law = ControlInput(t, q, *self.gains, v, ahead + touched)  # as if a motor pushed, and was not measured
        run = roll_out(SimulatedRobot.of(self.model, self.parameters), law, q[0], v[0], step=1.0 / RATE)
        assert run.ended is None
        torque = run.torque - touched + self.drawn_errors(len(t), rng)
        return Log(time=t, position=run.q + self.position_noise * rng.normal(size=q.shape), torque=torque)

    def contact(self, q: Array, angle: float) -> Array:
        """Torques of the force at a posture, perpendicular to the line from shoulder to elbow, shape (joints,).

        Args:
            q: The posture.
            angle: From the direction that lies nearest to the shoulder's axis: sideways [rad].
        """
        model = to_pinocchio(self.model.robot)
        data = model.createData()
        pin.computeJointJacobians(model, data, q)
        line = data.oMi[self.elbow].translation - data.oMi[self.shoulder].translation
        line /= np.linalg.norm(line)
        axis = data.oMi[self.shoulder].rotation @ self.model.robot.joints[self.shoulder - 1].axis
        side = axis - line * (line @ axis)
        side /= np.linalg.norm(side)
        force = self.force * (np.cos(angle) * side + np.sin(angle) * np.cross(line, side))
        frame = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return np.asarray(pin.getJointJacobian(model, data, self.elbow, frame)[:3].T @ force)


@dataclass(frozen=True, eq=False)
class Draw:
    """A robot that was identified, its thresholds, and what they gave.

    Attributes:
        result: The result.
        limits: Its thresholds.
        free: The motion without contacts.
        delays: Delays of detection [ms] by posture and whether it moved, shape (rounds, directions); infinite where
            there was none during the contact.
    """

    result: Result
    limits: ContactLimits
    free: Observation
    delays: dict[tuple[str, bool], Array]


def drawn(case: ElbowCase, seed: int) -> Draw:
    """Identify, find thresholds, count alarms, and touch the elbow at all postures."""
    rng = np.random.default_rng((seed, 1))
    training = case.log(case.motion(TRAINING, 1000 + seed), rng)
    result = dynid.identify(case.model.robot, [training], case.model.terms)
    quiet = case.log(case.motion(QUIET, 2000 + seed), rng)
    limits = result.contact_thresholds([quiet], false_alarms_per_minute=PER_MINUTE)
    free = result.observe(case.log(case.motion(FREE, 3000 + seed), rng), thresholds=limits)
    delays = {}
    for name, posture in case.postures.items():
        for moves in (False, True):
            motion = case.about(posture, SWING if moves else 0.0, seed)
            delays[name, moves] = touched(case, result, limits, motion, rng)
    return Draw(result, limits, free, delays)


def touched(
    case: ElbowCase,
    result: Result,
    limits: ContactLimits,
    motion: tuple[Array, Array, Array],
    rng: np.random.Generator,
) -> Array:
    """Delays of detection [ms] of contacts during a motion, shape (rounds, directions)."""
    q = motion[1]
    starts = np.arange(DIRECTIONS * ROUNDS) * (CONTACT + PAUSE) + 3.0 + rng.uniform(0.0, 0.3, DIRECTIONS * ROUNDS)
    external = np.zeros_like(q)
    for k, start in enumerate(starts):
        i = round(start * RATE)
        external[i : i + round(CONTACT * RATE)] = case.contact(q[i], 2.0 * np.pi * (k % DIRECTIONS) / DIRECTIONS)
    seen = result.observe(case.log(motion, rng, external), thresholds=limits)
    beyond = (np.abs(seen.external_torque) > seen.limits).any(axis=1) & seen.settled
    found = []
    for start in starts:
        first = round(start * RATE) / RATE
        own = np.flatnonzero(beyond & (seen.time >= first - 1e-9) & (seen.time < first + CONTACT))
        found.append(1e3 * (seen.time[own[0]] - first) if len(own) else np.inf)
    return np.reshape(found, (ROUNDS, DIRECTIONS))
