"""Simulated experiments: a robot in MuJoCo follows a trajectory under a controller."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array, frozen
from dynid.errors import DynidError, InvalidRequestError, ShapeError
from dynid.model.dynamic_model import DynamicModel, Observed
from dynid.robot.joints import JointKind
from dynid.robot.robot import Robot
from dynid.simulation.controller import ControlLaw, Controller
from dynid.simulation.joint_forces import JointForces
from dynid.simulation.plant import Plant
from dynid.simulation.references import Trajectory

if TYPE_CHECKING:
    from dynid.simulation.engine import Instance
    from dynid.simulation.loop import Law, Track

logger = logging.getLogger(__name__)

SAME_PLACE = 1e-3
"""Largest distance [rad or m], and speed, by which a robot may start off its trajectory."""

MOST_STEPS = 5
"""Most steps that friction makes the explicit integrator take between two ticks; beyond, it counts as steep."""


class LostError(DynidError):
    """A simulated robot does not follow its trajectory.

    Attributes:
        time: When it was stopped [s].
        joint: The joint that follows no longer; None where the robot itself is impossible.
    """

    def __init__(self, time: float, joint: str | None) -> None:
        self.time = time
        self.joint = joint
        if joint is None:
            text = (
                f"the mass matrix is not positive definite at {time:.3f} s: link parameters or motor inertias are "
                "impossible; see dynid inspect, or take physical ones"
            )
        else:
            text = (
                f"the controller is unstable: stopped at {time:.3f} s, when joint '{joint}' no longer followed; lower "
                "the bandwidth, or raise the rate or the effort limits"
            )
        super().__init__(text)


@dataclass(frozen=True, eq=False)
class SimulatedRobot:
    """A robot to experiment on.

    Attributes:
        model: The robot and what its joints add.
        parameters: Its standard parameters p, shape (parameters,).
        forces: What its joints add: the model's terms, with the form of friction that was chosen.
    """

    model: DynamicModel
    parameters: Array
    forces: JointForces

    @staticmethod
    def of(
        model: DynamicModel,
        parameters: Array | None = None,
        *,
        smoothing: float = 0.0,
        stribeck: tuple[float, float] | None = None,
    ) -> SimulatedRobot:
        """A robot with a model's terms.

        Args:
            model: The model.
            parameters: Standard parameters p, shape (parameters,); the robot file's when None, zero where it says
                nothing.
            smoothing: Velocity [rad/s] of the smooth form of Coulomb friction; zero for the discontinuous form.
            stribeck: How many times the kinetic friction breakaway is, and the velocity [rad/s] that takes it away.
        """
        if model.observed is not Observed.TORQUES:
            raise InvalidRequestError("only models of joint torques in motion can be simulated")
        p = np.nan_to_num(model.reference) if parameters is None else np.asarray(parameters, dtype=float)
        forces = JointForces.of(model, p)
        if not (0.0 <= smoothing < math.inf):
            raise InvalidRequestError(f"the velocity of smooth friction must be zero or positive, not {smoothing}")
        if stribeck is not None:
            if not (stribeck[0] >= 1.0 and 0.0 < stribeck[1] < math.inf):
                raise InvalidRequestError(
                    f"Stribeck friction needs a ratio over 1 and a positive velocity, not {stribeck}"
                )
            forces = forces.with_stribeck(*stribeck)
        return SimulatedRobot(model, frozen(p), forces.smoothed(smoothing))

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.model.robot

    @property
    def plant(self) -> Plant:
        """Its rigid bodies."""
        return Plant(self.robot, self.parameters[: len(self.robot.parameters)])


@dataclass(frozen=True, eq=False)
class Run:
    """What a simulated robot really did: the truth, before any sensor.

    All columns of one row are of the same instant, just after the controller's tick. So the torques are those of the
    model at the row's q, v, a, but for joints that rest: there dry friction is whatever holds them.

    Attributes:
        time: Times [s], shape (samples,).
        q: Positions, shape (samples, nv).
        v: Velocities, shape (samples, nv).
        a: Accelerations, shape (samples, nv).
        torque: The motors' torques [N m or N] at the joints, shape (samples, nv).
        rests: Which joints dry friction holds, or is just letting go, shape (samples, nv).
        reference: Positions to follow, shape (samples, nv).
        work: Work of the motors since the start [J], shape (samples,).
        loss: Work into friction, springs and offsets since the start [J], shape (samples,).
    """

    time: Array
    q: Array
    v: Array
    a: Array
    torque: Array
    rests: NDArray[np.bool_]
    reference: Array
    work: Array
    loss: Array

    @property
    def tracking_error(self) -> Array:
        """Root mean square of each joint's distance from the reference [rad or m], shape (nv,)."""
        return np.sqrt(np.mean((self.q - self.reference) ** 2, axis=0))


def simulate(
    robot: SimulatedRobot,
    trajectory: Trajectory,
    controller: Controller = Controller(),
    *,
    nominal: SimulatedRobot | None = None,
    log_rate: float | None = None,
    start: Array | None = None,
    lead_in: float = 0.0,
    finest_step: float | None = None,
) -> Run:
    """Let a simulated robot follow a trajectory.

    The robot starts at rest at `start`, and comes to the trajectory within `lead_in` seconds, which are not logged.

    Args:
        robot: The robot.
        trajectory: What to follow.
        controller: Who drives it.
        nominal: The robot as the controller knows it; the robot file's values when None.
        log_rate: Samples a second of the log [Hz], a whole part of the controller's rate; that rate when None.
        start: Where it starts [rad or m], shape (nv,); where the trajectory, or the lead-in, does when None.
        lead_in: Seconds before the trajectory begins.
        finest_step: Longest step of the integrator [s]; as the forces need when None.

    Raises:
        InvalidRequestError: If the trajectory starts elsewhere or in motion and there is no lead-in.
        LostError: If a joint no longer follows; says when, and which.
    """
    from dynid.simulation import loop
    from dynid.simulation.acceleration import Forces, State
    from dynid.simulation.compilation import is_cached
    from dynid.simulation.engine import start as start_engine

    if not is_cached(loop.run):
        logger.warning("compiling the simulation: this happens once and takes about half a minute")
    nominal = nominal or SimulatedRobot.of(robot.model)
    engine, known = start_engine(robot.plant), start_engine(nominal.plant)
    every = _every(controller.rate, log_rate)
    lead = round(lead_in * controller.rate)
    reference = _reference(robot.robot, trajectory, controller.rate, lead, start)
    postures = reference[0, :: max(1, len(reference[0]) // 20)]
    (M, _), (_, rates) = _inertia(nominal, known, postures[:1]), _inertia(robot, engine, postures)
    law = _law(controller, robot.robot, reference, M)
    substeps, stiff = _substeps(rates, controller.rate, finest_step)
    ticks = reference.shape[1]
    rows = -(-(ticks - lead) // every)
    n, elements = robot.robot.nv, len(robot.forces.direction)
    track = loop.Track.of(rows, n, elements)
    state = State.at(reference[0, 0], np.zeros(n), robot.forces)
    end, tick, joint = loop.run(
        engine.engine, Forces.of(robot.forces), state, known.engine, Forces.of(nominal.forces), law,
        np.ascontiguousarray(reference.transpose(1, 0, 2)),
        1.0 / controller.rate, substeps, stiff, lead, every, track,
    )  # fmt: skip
    if end != loop.DONE:
        names = {j.v.start: j.name for j in robot.robot.independent_joints}
        raise LostError((tick - lead) / controller.rate, names[joint] if end == loop.LOST else None)
    return _as_run(track, robot, reference[0, lead::every], every / controller.rate)


def _as_run(track: Track, robot: SimulatedRobot, reference: Array, period: float) -> Run:
    D = robot.forces.direction
    rests = ((track.mode == 0.0) | (np.abs(track.v @ D.T) < 1e-10)) & (robot.forces.smoothing == 0.0)
    return Run(
        time=frozen(np.arange(len(track.q)) * period),
        q=frozen(track.q),
        v=frozen(track.v),
        a=frozen(track.a),
        torque=frozen(track.torque),
        rests=(rests.astype(float) @ np.abs(D)) > 0.0,
        reference=frozen(reference),
        work=frozen(track.work[:, 0]),
        loss=frozen(track.work[:, 1]),
    )


def _every(rate: float, log_rate: float | None) -> int:
    every = 1.0 if log_rate is None else rate / log_rate
    if not (every >= 0.999 and abs(every - round(every)) < 1e-6 * every):
        raise InvalidRequestError(
            f"a log at {log_rate:g} Hz is no whole part of the controller's {rate:g} Hz; choose rate / 1, / 2, / 3, ..."
        )
    return round(every)


def _reference(robot: Robot, trajectory: Trajectory, rate: float, lead: int, start: Array | None) -> Array:
    """States to follow at every tick, shape (3, ticks, nv), the lead-in first."""
    count = round(trajectory.duration * rate)
    if count < 1:
        raise InvalidRequestError(f"a trajectory of {trajectory.duration:g} s has no tick at {rate:g} Hz")
    followed = np.stack(trajectory.states(np.arange(count) / rate))
    if followed.shape[2] != robot.nv:
        raise ShapeError("positions of the trajectory", f"(samples, {robot.nv})", followed[0].shape)
    robot.states(*followed)
    q, v, a = followed[:, 0]
    if lead:
        seconds = lead / rate
        begin = q - 0.5 * seconds * v if start is None else np.asarray(start, dtype=float)
        return np.concatenate([_quintic(begin, q, v, a, seconds, lead), followed], axis=1)
    begin = q if start is None else np.asarray(start, dtype=float)
    for joint in robot.independent_joints:
        k = joint.v.start
        if abs(begin[k] - q[k]) > SAME_PLACE:
            raise InvalidRequestError(
                f"the trajectory starts elsewhere than the robot: joint '{joint.name}' at {q[k]:.4g} instead of "
                f"{begin[k]:.4g}; begin where the robot is, or give a lead-in of some seconds"
            )
        if abs(v[k]) > SAME_PLACE:
            raise InvalidRequestError(
                f"the trajectory starts in motion: joint '{joint.name}' at {v[k]:.4g} rad/s (or m/s), and robots start "
                "at rest; give a lead-in of some seconds"
            )
    followed[0, 0] = begin
    return followed


def _quintic(begin: Array, q: Array, v: Array, a: Array, seconds: float, ticks: int) -> Array:
    """States of the polynomial of degree five from rest at `begin` to the state q, v, a; shape (3, ticks, nv)."""
    from scipy.interpolate import BPoly

    zero = np.zeros_like(q)
    spline = BPoly.from_derivatives([0.0, seconds], np.array([[begin, zero, zero], [q, v, a]]))
    t = np.arange(ticks) * (seconds / ticks)
    return np.stack([spline(t), spline(t, nu=1), spline(t, nu=2)])


def _inertia(robot: SimulatedRobot, instance: Instance, postures: Array) -> tuple[Array, Array]:
    """Each joint's inertia at the first posture, shape (nv,), and the fastest rates of joint forces at all [1/s]."""
    from dynid.simulation.engine import mass_and_bias

    n = robot.robot.nv
    first, fastest = np.zeros(n), np.zeros(2)
    for k, q in enumerate(postures):
        M, c = np.zeros((n, n)), np.zeros(n)
        mass_and_bias(instance.engine, np.array(q), np.zeros(n), M, c)
        total = M + robot.forces.inertia
        if not np.linalg.eigvalsh(0.5 * (total + total.T))[0] > 0.0:
            raise LostError(0.0, None)
        first = np.diag(total) if k == 0 else first
        fastest = np.maximum(fastest, robot.forces.rates(M))
    return first, fastest


def _law(controller: Controller, robot: Robot, reference: Array, inertia: Array) -> Law:
    from dynid.simulation import loop

    kinds = {
        ControlLaw.PD: loop.PD,
        ControlLaw.PD_GRAVITY: loop.PD_GRAVITY,
        ControlLaw.COMPUTED_TORQUE: loop.COMPUTED_TORQUE,
    }
    slides = np.array([joint.kind is JointKind.PRISMATIC for joint in robot.independent_joints])
    return loop.Law(
        kinds[controller.law],
        *controller.gains(inertia),
        controller.limits(robot),
        20.0 + 10.0 * np.abs(reference[1]).max(axis=0),
        np.where(slides, 1.0, math.pi),
    )


def _substeps(rates: Array, ticks: float, finest_step: float | None) -> tuple[int, bool]:
    """Steps between two ticks, and whether they are of the method for steep forces.

    The explicit method needs rates [1/s] times the step to stay below one half.
    """
    friction, springs = (max(1, math.ceil(2.0 * rate / ticks - 1e-9)) for rate in rates)
    stiff = friction > MOST_STEPS
    wanted = 1 if finest_step is None else math.ceil(1.0 / (ticks * finest_step) - 1e-9)
    return max(wanted, springs, MOST_STEPS if stiff else friction), stiff
