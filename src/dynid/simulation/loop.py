"""The closed loop, compiled: a controller at its rate, and between its ticks the robot's motion."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dynid.arrays import Array
from dynid.simulation.engine import compiled, mass_and_bias
from dynid.simulation.integrator import advance, settle

PD, PD_GRAVITY, COMPUTED_TORQUE = 0, 1, 2
"""Kinds of controllers."""

DONE, LOST, NOT_POSITIVE = 0, 1, 2
"""How a run ends: as planned; a joint follows no longer; the mass matrix is not positive definite."""

FLIPS = 20
"""Saturated torques of alternating sign, one right after the other, that make a controller unstable."""


class Law(NamedTuple):
    """A control law as compiled code takes it.

    Attributes:
        kind: `PD`, `PD_GRAVITY` or `COMPUTED_TORQUE`.
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
    """What a run leaves behind, a row a tick that is kept.

    Attributes:
        q: Positions, shape (samples, nv).
        v: Velocities, shape (samples, nv).
        a: Accelerations, shape (samples, nv).
        torque: The motors' torques, shape (samples, nv).
        mode: Which dry elements slip, shape (samples, elements).
        work: The motors' work, and the work into what joints add [J], shape (samples, 2).
    """

    q: Array
    v: Array
    a: Array
    torque: Array
    mode: Array
    work: Array


@compiled
def run(engine, forces, state, nominal, nominal_forces, law, reference, period, substeps, first, every, track):
    """Run the closed loop.

    Args:
        engine: The robot.
        forces: What its joints add.
        state: Where it is; changed in place.
        nominal: The robot as the controller knows it.
        nominal_forces: What its joints add, as the controller knows it.
        law: The control law.
        reference: Positions, velocities and accelerations to follow, shape (3, ticks, nv).
        period: Time between two ticks [s].
        substeps: Steps of the integrator between two ticks.
        first: The first tick that is kept.
        every: Every how many ticks one is kept.
        track: Where they are kept.

    Returns:
        How it ended, the tick, and the joint.
    """
    n = len(state.q)
    u, M, c = np.zeros(n), np.zeros((n, n)), np.zeros(n)
    flips, last = np.zeros(n), np.zeros(n)
    for tick in range(reference.shape[1]):
        _command(nominal, nominal_forces, law, reference[:, tick], state, M, c, u)
        for j in range(n):
            _saturate(law, j, u, flips, last)
            error = abs(reference[0, tick, j] - state.q[j])
            lost = not (abs(state.v[j]) <= law.fastest[j] and error <= law.farthest[j])
            if lost or flips[j] >= FLIPS:
                return LOST, tick, j
        for step in range(substeps):
            if not settle(engine, forces, state, u):
                return NOT_POSITIVE, tick, 0
            if step == 0 and tick >= first and (tick - first) % every == 0:
                _keep(track, (tick - first) // every, state, u)
            if not advance(engine, forces, state, u, period / substeps):
                return NOT_POSITIVE, tick, 0
    return DONE, 0, 0


@compiled
def _command(nominal, forces, law, wanted, state, M, c, u):
    """The controller's torques."""
    n = len(u)
    q, v = state.q, state.v
    for j in range(n):
        u[j] = law.stiffness[j] * (wanted[0, j] - q[j]) + law.damping[j] * (wanted[1, j] - v[j])
    if law.kind == PD_GRAVITY:
        c[:] = 0.0
        mass_and_bias(nominal, q, c, M, c)
        u += c
    elif law.kind == COMPUTED_TORQUE:
        mass_and_bias(nominal, q, v, M, c)
        wish = u + wanted[2]
        for i in range(n):
            u[i] = c[i] + forces.offset[i]
            for j in range(n):
                u[i] += (M[i, j] + forces.inertia[i, j]) * wish[j]
                u[i] += forces.viscous[i, j] * wanted[1, j] + forces.stiffness[i, j] * wanted[0, j]
        for k in range(len(forces.kinetic)):
            w = 0.0
            for i in range(n):
                w += forces.direction[k, i] * wanted[1, i]
            if w != 0.0:
                f = forces.kinetic[k, 0] if w > 0.0 else -forces.kinetic[k, 1]
                for i in range(n):
                    u[i] += forces.direction[k, i] * f


@compiled
def _saturate(law, j, u, flips, last):
    """Limit a torque, and count how often it jumps from one limit to the other within few ticks."""
    if abs(u[j]) <= law.limit[j]:
        flips[j] = max(0.0, flips[j] - 0.2)
        last[j] *= 0.8
        return
    u[j] = math.copysign(law.limit[j], u[j])
    if u[j] * last[j] < 0.0 and abs(last[j]) > 0.3:
        flips[j] += 1.0
    last[j] = math.copysign(1.0, u[j])


@compiled
def _keep(track, row, state, u):
    track.q[row], track.v[row], track.a[row], track.torque[row] = state.q, state.v, state.a, u
    track.mode[row], track.work[row] = state.mode, state.work
