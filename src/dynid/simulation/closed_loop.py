"""Simulated experiments: a robot in MuJoCo follows a trajectory under a controller."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError, ShapeError
from dynid.excitation import Moves
from dynid.robot import JointKind, Robot
from dynid.simulation.desired_motion import Reference, reference_of
from dynid.simulation.lost import LostError, impossible, lost, without_inertia
from dynid.simulation.settings import ControlLaw, Controller
from dynid.simulation.simulated_robot import SimulatedRobot

if TYPE_CHECKING:
    from dynid.simulation.engine import Instance
    from dynid.simulation.loop import Law, Track

__all__ = ["LostError", "Run", "SimulatedRobot", "follow"]

logger = logging.getLogger(__name__)

MOST_STEPS = 5
"""Most steps that friction makes the explicit integrator take between two ticks; beyond, it counts as steep."""


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
        torque: The motors' torques [N m or N] at the joints, shape (samples, nv); without a disturbance.
        rests: Which joints dry friction holds, or is just letting go, shape (samples, nv).
        reference: Positions to follow, shape (samples, nv).
        work: Work of the motors, and of a disturbance, since the start [J], shape (samples,).
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


def follow(
    robot: SimulatedRobot,
    trajectory: Moves,
    controller: Controller = Controller(),
    *,
    nominal: SimulatedRobot | None = None,
    feedback: SimulatedRobot | None = None,
    log_rate: float | None = None,
    start: Array | None = None,
    lead_in: float = 0.0,
    settling: float = 0.0,
    finest_step: float | None = None,
    disturbance: Callable[[Array], Array] | None = None,
) -> Run:
    """Let a simulated robot follow a trajectory under a controller.

    The robot starts at rest at `start`, and comes to the trajectory within `lead_in` seconds, which are not logged;
    nor are `settling` seconds of a periodic trajectory after which the robot, too, moves periodically.

    Args:
        robot: The robot.
        trajectory: What to follow.
        controller: The controller.
        nominal: The robot as the controller knows it; the robot file's values when None.
        feedback: Of computed torque, the robot whose mass matrix turns corrections of accelerations into torques, so
            that controllers with different models have the same feedback; the nominal one when None.
        log_rate: Sampling rate of the log [Hz], the controller's rate over a whole number; that rate when None.
        start: Where it starts [rad or m], shape (nv,); where the trajectory, or the lead-in, does when None.
        lead_in: Seconds before the trajectory begins.
        settling: Seconds of the trajectory before it is logged: whole periods of a periodic one.
        finest_step: Longest step of the integrator [s]; as the forces need when None.
        disturbance: Torques at the joints [N m or N] beside the motors' that the controller does not know, shape
            (samples, nv), at times [s] since the trajectory began, shape (samples,); these are negative in the lead-in.
            They are held from tick to tick, as the motors' are. None for none.

    Raises:
        InvalidRequestError: If the trajectory starts elsewhere or in motion and there is no lead-in.
        LostError: If a joint no longer follows; says when, and which.
    """
    from dynid.simulation import loop
    from dynid.simulation.acceleration import State
    from dynid.simulation.compilation import is_cached
    from dynid.simulation.engine import start as start_engine

    if not is_cached(loop.run):
        logger.warning("compiling the simulation: this happens once and takes about half a minute")
    nominal = nominal or SimulatedRobot.of(robot.model)
    shape = feedback or nominal
    engine, known = start_engine(robot.plant), start_engine(nominal.plant)
    shaping = known if feedback is None else start_engine(feedback.plant)
    every = _every(controller.rate, log_rate)
    reference = reference_of(robot.robot, trajectory, controller.rate, start, lead_in, settling)
    wanted, first = reference.states, reference.first
    postures = wanted[0, :: max(1, wanted.shape[1] // 20)]
    (M, _), (_, rates) = _inertia(shape, shaping, postures[:1]), _inertia(robot, engine, postures)
    law = _law(controller, robot.robot, wanted, M)
    if feedback is not None and law.kind == loop.COMPUTED_TORQUE:
        law = law._replace(kind=loop.SHAPED)
    substeps, stiff = _substeps(rates, controller.rate, finest_step)
    n, elements = robot.robot.nv, len(robot.forces.direction)
    track, saturated = loop.Track.of(-(-(wanted.shape[1] - first) // every), n, elements), np.zeros(n)
    state = State.at(wanted[0, 0], np.zeros(n), robot.forces)
    end, tick, joint = loop.run(
        engine.engine, robot.forces, state, known.engine, nominal.forces, shaping.engine, shape.forces.inertia,
        law,
        np.ascontiguousarray(wanted.transpose(1, 0, 2)), _held(disturbance, reference),
        1.0 / controller.rate, substeps, stiff, first, every, track, saturated,
    )  # fmt: skip
    if end != loop.DONE:
        raise lost(robot, engine, controller, reference, state.q, (end, tick, joint), saturated)
    return _as_run(track, robot, wanted[0, first::every], every / controller.rate)


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


def _held(disturbance: Callable[[Array], Array] | None, reference: Reference) -> Array:
    """A disturbance in the middle of each tick, shape (ticks, nv); (0, nv) for none."""
    ticks, n = reference.states.shape[1:]
    if disturbance is None:
        return np.zeros((0, n))
    times = (np.arange(ticks) - reference.first + 0.5) / reference.rate
    torques = np.ascontiguousarray(disturbance(times), dtype=float)
    if torques.shape != (ticks, n):
        raise ShapeError("the disturbance", f"({ticks}, {n}), a torque for each tick and joint", torques.shape)
    return torques


def _every(rate: float, log_rate: float | None) -> int:
    every = 1.0 if log_rate is None else rate / log_rate
    if not (every >= 0.999 and abs(every - round(every)) < 1e-6 * every):
        raise InvalidRequestError(
            f"a log at {log_rate:g} Hz is no whole part of the controller's {rate:g} Hz; choose rate / 1, / 2, / 3, ..."
        )
    return round(every)


def _inertia(robot: SimulatedRobot, instance: Instance, postures: Array) -> tuple[Array, Array]:
    """Each joint's inertia at the first posture, shape (nv,), and the fastest rates of joint forces at all [1/s]."""
    from dynid.simulation.engine import mass_and_gravity

    first, fastest = np.zeros(robot.robot.nv), np.zeros(2)
    for k, q in enumerate(postures):
        M, _ = mass_and_gravity(instance, q)
        total = M + robot.forces.inertia
        weightless = without_inertia(total)
        if weightless is not None:
            name = robot.robot.independent_joints[weightless].name
            raise impossible(0.0, "some posture of the trajectory", name)
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
        kinds[controller.controller],
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
