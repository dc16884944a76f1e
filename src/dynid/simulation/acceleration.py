"""Accelerations of a simulated robot: MuJoCo's mass matrix and bias forces, the terms, and dry friction.

A dry element that slips has a torque; one that sticks has the torque that keeps its acceleration at zero.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dynid.arrays import Array
from dynid.simulation.compilation import inner
from dynid.simulation.engine import mass_and_bias
from dynid.simulation.joint_forces import JointForces

AT_REST = 1e-11
"""Speed [rad/s or m/s] below which a dry element rests."""

MOST_MENDS = 50
"""Corrections for each dry element after which `settle` takes the modes as they are."""


class State(NamedTuple):
    """Where a simulated robot is, with room to work in; everything is changed in place.

    Attributes:
        q: Positions, shape (nv,).
        v: Velocities, shape (nv,).
        a: Accelerations that were found last, shape (nv,).
        mode: Of each dry element: 1 slips forwards, -1 backwards, 0 sticks; shape (elements,).
        friction: Torque of each dry element, shape (elements,).
        gear: What gears add to the levels of dry elements, at speed and besides at rest, shape (elements, 2).
        work: Work of the motors, and work into friction and actuator terms [J], shape (2,).
        M: Cholesky factor of the mass matrix, shape (nv, nv).
        c: Bias forces, shape (nv,).
        added: Torques of friction and actuator terms without inertia, shape (nv,).
        X: Accelerations by a unit torque of each sticking element, shape (elements, nv).
        rates: Rates of q, v and work in the stages of a step, shape (4, 2 nv + 2).
        start: q, v and work where a step begins, shape (2 nv + 2,).
    """

    q: Array
    v: Array
    a: Array
    mode: Array
    friction: Array
    gear: Array
    work: Array
    M: Array
    c: Array
    added: Array
    X: Array
    rates: Array
    start: Array

    @staticmethod
    def at(q: Array, v: Array, forces: JointForces) -> State:
        """A robot at a position and velocity; elements that do not move stick at first."""
        n, k = len(q), len(forces.direction)
        w = forces.direction @ v
        return State(
            np.array(q), np.array(v), np.zeros(n), np.sign(np.where(np.abs(w) > AT_REST, w, 0.0)), np.zeros(k),
            np.zeros((k, 2)), np.zeros(2), np.zeros((n, n)), np.zeros(n), np.zeros(n), np.zeros((k, n)),
            np.zeros((4, 2 * n + 2)), np.zeros(2 * n + 2),
        )  # fmt: skip


@inner
def settle(engine, forces, state, u):
    """Decide which resting elements stick and which break away, and find accelerations and friction.

    An element that sticks may not need more than its breakaway torque; one that breaks away must move the way it does.
    One element at a time is mended, the first that is wrong (Murty's rule, which comes to an end). False if the mass
    matrix is not positive definite.
    """
    for _ in range(MOST_MENDS * (len(state.mode) + 1)):
        if not accelerate(engine, forces, state, u, 0.0, state.a, 0.0):
            return False
        if not _mend(forces, state):
            return True
    return True


@inner
def _mend(forces, state):
    """Correct the mode of the first element whose mode is wrong; False if all are right."""
    largest = 0.0
    for i in range(len(state.a)):
        largest = max(largest, abs(state.a[i]))
    for k in range(len(state.mode)):
        if forces.smoothing[k] > 0.0:
            continue
        wanted = state.mode[k]
        w = along(forces.direction[k], state.v)
        if abs(w) > AT_REST:
            wanted = math.copysign(1.0, w)
        elif wanted == 0.0:
            limit = forces.breakaway[k, 0 if state.friction[k] > 0.0 else 1] + state.gear[k, 0] + state.gear[k, 1]
            if abs(state.friction[k]) > (1.0 + 1e-9) * limit + 1e-12:
                wanted = math.copysign(1.0, state.friction[k])
        elif wanted * along(forces.direction[k], state.a) < -1e-9 * largest:
            wanted = 0.0
        if wanted != state.mode[k]:
            state.mode[k] = wanted
            return True
    return False


@inner
def accelerate(engine, forces, state, u, damp, earlier, factor):
    """Find accelerations, friction and added torques of the state under the motors' torques u.

    They solve `(M + damp D) a = u - bias - added - factor M earlier`: implicit methods need a time `damp` [s], with D
    how steeply added torques grow with velocity. Both are zero for the accelerations themselves. False if the matrix is
    not positive definite.
    """
    M, r = state.M, state.c
    n = len(r)
    mass_and_bias(engine, state.q, state.v, M, r)
    for k in range(len(state.mode)):
        i = forces.axis[k]
        state.gear[k, 0], state.gear[k, 1] = gear_levels(forces.gear[k], u[i], r[i])
    for i in range(n):
        r[i] = u[i] - r[i]
        for j in range(n):
            M[i, j] += forces.inertia[i, j]
            r[i] -= factor * M[i, j] * earlier[j]
    sticking = _add(forces, state, damp)
    if not _cholesky(M):
        return False
    for i in range(n):
        state.a[i] = r[i] - state.added[i]
    _solve(M, state.a)
    if sticking:
        _stick(forces, state, sticking)
    return True


@inner
def _add(forces, state, damp):
    """Find added torques but those of sticking elements, whose number is returned; add `damp` D to the matrix."""
    q, v, added, M = state.q, state.v, state.added, state.M
    n = len(q)
    for i in range(n):
        f, slope = smooth_torque(forces, i, q[i], v[i])
        added[i] = forces.offset[i] + f
        M[i, i] += damp * slope
        for j in range(n):
            added[i] += forces.viscous[i, j] * v[j] + forces.stiffness[i, j] * q[j]
            M[i, j] += damp * forces.viscous[i, j]
    sticking = 0
    for k in range(len(state.mode)):
        d = forces.direction[k]
        w = along(d, v)
        f = slope = 0.0
        if forces.smoothing[k] > 0.0:
            t, most = math.tanh(w / forces.smoothing[k]), level(forces, k, w, w)
            f, slope = most * t, most * (1.0 - t * t) / forces.smoothing[k]
        elif state.mode[k] != 0.0:
            more = state.gear[k, 0] + fading(forces, k, w) * state.gear[k, 1]
            f = state.mode[k] * (level(forces, k, w, state.mode[k]) + more)
        else:
            sticking += 1
        state.friction[k] = f
        for i in range(n):
            if d[i] != 0.0:
                added[i] += d[i] * f
                for j in range(n):
                    M[i, j] += damp * slope * d[i] * d[j]
    return sticking


@inner
def smooth_torque(forces, i, q, v):
    """Sigmoid friction and curves of a joint at the position q and the velocity v, and how steeply both grow with v."""
    f, slope = smooth_friction(forces, i, v)
    of_curves, steep = _on_curves(forces.curves, forces.reach, i, q, v)
    return f + of_curves, slope + steep


@inner
def smooth_friction(forces, i, v):
    """Sigmoid friction of a joint at the velocity v, and how steeply it grows."""
    rise, steepness, shift = forces.sigmoid[i, 0], forces.sigmoid[i, 1], forces.sigmoid[i, 2]
    if rise == 0.0:
        return 0.0, 0.0
    moving, resting = math.tanh(0.5 * steepness * (v + shift)), math.tanh(0.5 * steepness * shift)
    return 0.5 * rise * (moving - resting), 0.25 * rise * steepness * (1.0 - moving * moving)


@inner
def _on_curves(curves, reach, i, q, v):
    """Torque of a joint's curves, and how steeply it grows with v; nothing is compiled where there are none."""
    if curves is None:
        return 0.0, 0.0
    of_velocity, slope = _on_curve(curves[0, i], reach[0, i], v)
    of_position, _ = _on_curve(curves[1, i], reach[1, i], q)
    return of_velocity + of_position, slope


@inner
def _on_curve(curve, reach, x):
    """Value and slope of a curve at x: a cubic polynomial between two points, a straight line beyond the ends."""
    last = len(curve) - 1
    step = 2.0 * reach / last
    place = (x + reach) / step
    if not place > 0.0:
        return curve[0, 0] + curve[0, 1] * (x + reach), curve[0, 1]
    if not place < last:
        return curve[last, 0] + curve[last, 1] * (x - reach), curve[last, 1]
    k = int(place)
    t = place - k
    low, high = curve[k, 1] * step, curve[k + 1, 1] * step
    rise = curve[k + 1, 0] - curve[k, 0]
    bend, turn = 3.0 * rise - 2.0 * low - high, low + high - 2.0 * rise
    return curve[k, 0] + t * (low + t * (bend + t * turn)), (low + t * (2.0 * bend + 3.0 * t * turn)) / step


@inner
def along(direction, v):
    """The speed of an element."""
    w = 0.0
    for i in range(len(v)):
        w += direction[i] * v[i]
    return w


@inner
def gear_levels(gear, motor, bias):
    """What a gear adds to a dry element's level, at speed and besides at rest: the motor's torque, what links need."""
    level = abs(gear[0] * motor + gear[1] * bias)
    rest = abs(gear[2] * motor + gear[3] * bias)
    if motor * bias > 0.0:
        rest += gear[5] * bias * bias if abs(motor) > abs(bias) else gear[4] * motor * motor
    return level, rest


@inner
def fading(forces, k, w):
    """How much of what an element has at rest it has at the speed w."""
    return math.exp(-((w / forces.stribeck[k]) ** 2))


@inner
def level(forces, k, w, sign):
    """Torque of a dry element that slips at the speed w."""
    side = 0 if sign > 0.0 else 1
    kinetic, breakaway = forces.kinetic[k, side], forces.breakaway[k, side]
    return kinetic + (breakaway - kinetic) * math.exp(-((w / forces.stribeck[k]) ** 2))


@inner
def _stick(forces, state, count):
    """Hold the elements that stick: torques f with D (a - M^-1 D' f) = 0."""
    held = _held(forces, state, count)
    f, A = np.zeros(count), np.zeros((count, count))
    largest = 0.0
    for i in range(count):
        X = state.X[i]
        for k in range(len(X)):
            X[k] = forces.direction[held[i], k]
        _solve(state.M, X)
        f[i] = along(forces.direction[held[i]], state.a)
        for j in range(count):
            A[j, i] = along(forces.direction[held[j]], X)
        largest = max(largest, A[i, i])
    for i in range(count):
        A[i, i] += 1e-13 * largest  # a coupling may stick together with both of its joints: they share the load
    _cholesky(A)
    _solve(A, f)
    for i in range(count):
        state.friction[held[i]] = f[i]
        for k in range(len(state.a)):
            state.a[k] -= state.X[i, k] * f[i]
            state.added[k] += forces.direction[held[i], k] * f[i]
    for i in range(count):  # what rounding leaves would let a resting joint creep
        d = forces.direction[held[i]]
        rest = along(d, state.a) / along(d, d)
        for k in range(len(d)):
            state.a[k] -= d[k] * rest


@inner
def _held(forces, state, count):
    """Indices of the elements that stick."""
    held = np.empty(count, np.int64)
    i = 0
    for k in range(len(state.mode)):
        if state.mode[k] == 0.0 and forces.smoothing[k] == 0.0:
            held[i] = k
            i += 1
    return held


@inner
def _cholesky(M):
    """Overwrite the lower triangle of M with its Cholesky factor; False if it has none."""
    for j in range(len(M)):
        pivot = M[j, j]
        for k in range(j):
            pivot -= M[j, k] * M[j, k]
        if not pivot > 1e-15 * abs(M[j, j]):
            return False
        root = math.sqrt(pivot)
        M[j, j] = root
        for i in range(j + 1, len(M)):
            value = M[i, j]
            for k in range(j):
                value -= M[i, k] * M[j, k]
            M[i, j] = value / root
    return True


@inner
def _solve(L, x):
    """Overwrite x with the solution of L L' x = x."""
    n = len(x)
    for i in range(n):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= L[k, i] * x[k]
        x[i] /= L[i, i]
