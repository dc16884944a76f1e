"""The closed loop, compiled: a controller at its rate, and between its ticks the robot's motion."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dynid.arrays import Array
from dynid.simulation.acceleration import along, settle, smooth_torque
from dynid.simulation.compilation import compiled, inner
from dynid.simulation.engine import mass_and_bias
from dynid.simulation.integrator import advance

PD, PD_GRAVITY, COMPUTED_TORQUE, SHAPED = 0, 1, 2, 3
"""Kinds of controllers; the last is computed torque whose feedback has the mass matrix of another robot."""

DONE, FAR, FAST, ALTERNATES, NOT_POSITIVE = 0, 1, 2, 3, 4
"""How a run ends: as planned; a joint is too far away, too fast, or its torque jumps from limit to limit; the mass
matrix is not positive definite."""

RECENT = 0.02
"""Part that the last tick has in the mean of how often a torque was limited."""

FLIPS = 20
"""Saturated torques of alternating sign, one right after the other, that make a controller unstable."""


class Law(NamedTuple):
    """A control law as compiled code takes it.

    Attributes:
        kind: `PD`, `PD_GRAVITY`, `COMPUTED_TORQUE` or `SHAPED`.
        stiffness: Torque (for computed torque acceleration) per error of position, shape (nv,).
        damping: The same per error of velocity, shape (nv,).
        limit: Largest torque [N m], shape (nv,).
        fastest: Speed above which a joint follows no longer [rad/s], shape (nv,).
        farthest: The same for the error of position [rad], shape (nv,).
    """

    kind: int
    stiffness: Array
    damping: Array
    limit: Array
    fastest: Array
    farthest: Array


class Track(NamedTuple):
    """What a run leaves behind: one row per tick that is kept.

    Attributes:
        q: Positions, shape (samples, nv).
        v: Velocities, shape (samples, nv).
        a: Accelerations, shape (samples, nv).
        torque: The motors' torques, shape (samples, nv).
        mode: Which dry elements slip, shape (samples, elements).
        work: The motors' work, and the work into friction and actuator terms [J], shape (samples, 2).
    """

    q: Array
    v: Array
    a: Array
    torque: Array
    mode: Array
    work: Array

    @staticmethod
    def of(samples: int, joints: int, elements: int) -> Track:
        """Room for so many samples."""
        q, v, a, torque = np.zeros((4, samples, joints))
        return Track(q, v, a, torque, np.zeros((samples, elements)), np.zeros((samples, 2)))


@compiled
def run(
    engine,
    forces,
    state,
    nominal,
    nominal_forces,
    shape,
    shape_inertia,
    law,
    reference,
    disturbance,
    period,
    substeps,
    stiff,
    first,
    every,
    track,
    saturated,
):
    """Run the closed loop.

    Args:
        engine: The robot.
        forces: Its friction and actuator terms.
        state: Where it is; changed in place.
        nominal: The robot as the controller knows it.
        nominal_forces: The same as the controller knows them.
        shape: The robot whose mass matrix turns corrections of accelerations into torques, if the law is `SHAPED`.
        shape_inertia: Its motor inertia and couplings, shape (nv, nv).
        law: The control law.
        reference: Positions, velocities and accelerations to follow, shape (ticks, 3, nv).
        disturbance: Torques beside the motors' that the controller does not know, shape (ticks, nv); (0, nv) for none.
        period: Time between two ticks [s].
        substeps: Steps of the integrator between two ticks.
        stiff: Whether it is the one for steep forces.
        first: The first tick that is kept.
        every: Every how many ticks one is kept.
        track: Where they are kept.
        saturated: Where the share of the last ticks is kept at which each torque was limited, shape (nv,).

    Returns:
        How it ended, the tick, and the joint.
    """
    n = len(state.q)
    u, total, M, c = np.zeros(n), np.zeros(n), np.zeros((n, n)), np.zeros(n)
    flips, last = np.zeros(n), np.zeros(n)
    for tick in range(len(reference)):
        _command(nominal, nominal_forces, law, reference, tick, state, M, c, u)
        if law.kind == SHAPED:
            _shape(shape, shape_inertia, law, reference[tick], state, M, c, u)
        for j in range(n):
            _saturate(law, j, u, flips, last, saturated)
            total[j] = u[j] + (disturbance[tick, j] if tick < len(disturbance) else 0.0)
        end, j = _lost(law, reference[tick, 0], state, flips)
        if end != DONE:
            return end, tick, j
        for step in range(substeps):
            if not settle(engine, forces, state, total):
                return _failed(law, state, tick)
            if step == 0 and tick >= first and (tick - first) % every == 0:
                _keep(track, (tick - first) // every, state, u)
            if not advance(engine, forces, state, total, period / substeps, stiff):
                return _failed(law, state, tick)
    return DONE, 0, 0


@inner
def _lost(law, wanted, state, flips):
    """Whether all joints follow, and the first that does not."""
    for j in range(len(state.q)):
        if not abs(state.v[j]) <= law.fastest[j]:
            return FAST, j
        if not abs(wanted[j] - state.q[j]) <= law.farthest[j]:
            return FAR, j
        if flips[j] >= FLIPS:
            return ALTERNATES, j
    return DONE, 0


@inner
def _failed(law, state, tick):
    """Why a step failed: a robot that flies off has no mass matrix in the end, and that is not its fault."""
    for j in range(len(state.q)):
        if not (abs(state.v[j]) <= law.fastest[j] and abs(state.q[j]) < math.inf):
            return FAST, tick, j
    return NOT_POSITIVE, tick, 0


@inner
def _command(nominal, forces, law, reference, tick, state, M, c, u):
    """The controller's torques."""
    n = len(u)
    q, v, wanted = state.q, state.v, reference[tick]
    for j in range(n):
        c[j] = 0.0
        u[j] = law.stiffness[j] * (wanted[0, j] - q[j]) + law.damping[j] * (wanted[1, j] - v[j])
    if law.kind == PD_GRAVITY:
        mass_and_bias(nominal, q, c, M, c)  # at rest: c is read as velocities before it is written
        for j in range(n):
            u[j] += c[j]
    elif law.kind != PD:
        if law.kind == SHAPED:
            u[:] = 0.0  # corrections follow in `_shape`
        mass_and_bias(nominal, q, v, M, c)
        _linearise(forces, wanted, M, c, u)


@inner
def _shape(shape, inertia, law, wanted, state, M, c, u):
    """Add corrections of accelerations to torques u, with the mass matrix of a robot of its own."""
    n = len(u)
    mass_and_bias(shape, state.q, state.v, M, c)
    for j in range(n):
        a = law.stiffness[j] * (wanted[0, j] - state.q[j]) + law.damping[j] * (wanted[1, j] - state.v[j])
        for i in range(n):
            u[i] += (M[i, j] + inertia[i, j]) * a


@inner
def _linearise(forces, wanted, M, c, u):
    """From corrections of accelerations u to the torques that they take, as the controller knows the robot."""
    n = len(u)
    for i in range(n):
        f, _ = smooth_torque(forces, i, wanted[0, i], wanted[1, i])
        c[i] += forces.offset[i] + f
        for j in range(n):
            c[i] += (M[i, j] + forces.inertia[i, j]) * (u[j] + wanted[2, j])
            c[i] += forces.viscous[i, j] * wanted[1, j] + forces.stiffness[i, j] * wanted[0, j]
    for i in range(n):
        u[i] = c[i]
    for k in range(len(forces.kinetic)):
        w = along(forces.direction[k], wanted[1])
        if w != 0.0:
            f = forces.kinetic[k, 0] if w > 0.0 else -forces.kinetic[k, 1]
            for i in range(n):
                u[i] += forces.direction[k, i] * f


@inner
def _saturate(law, j, u, flips, last, saturated):
    """Limit a torque, and count how often it jumps from one limit to the other within few ticks."""
    saturated[j] += RECENT * ((1.0 if abs(u[j]) > law.limit[j] else 0.0) - saturated[j])
    if abs(u[j]) <= law.limit[j]:
        flips[j] = max(0.0, flips[j] - 0.2)
        last[j] *= 0.8
        return
    u[j] = math.copysign(law.limit[j], u[j])
    if u[j] * last[j] < 0.0 and abs(last[j]) > 0.3:
        flips[j] += 1.0
    last[j] = math.copysign(1.0, u[j])


@inner
def _keep(track, row, state, u):
    for i in range(len(u)):
        track.q[row, i], track.v[row, i] = state.q[i], state.v[i]
        track.a[row, i], track.torque[row, i] = state.a[i], u[i]
    for k in range(len(state.mode)):
        track.mode[row, k] = state.mode[k]
    track.work[row, 0], track.work[row, 1] = state.work[0], state.work[1]
