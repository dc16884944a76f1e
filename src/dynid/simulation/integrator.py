"""Motion of a simulated robot over a step, with dry friction that really sticks.

Between events the method is the classical Runge-Kutta method of order four. Within a step every dry element slips in one
direction, or sticks; so forces are smooth there, and the order is kept. Where a slipping element comes to rest, the step
ends at that instant; then it sticks if friction can hold it, and else slips the other way. An element that sticks is
held exactly: its acceleration is zero and its friction is what that takes. Whether it breaks away is asked at the beginning
of every step.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dynid.arrays import Array
from dynid.simulation.engine import compiled, mass_and_bias
from dynid.simulation.joint_forces import JointForces

MOST_EVENTS = 50
"""Events in one step after which it is finished as it is."""


class Forces(NamedTuple):
    """`JointForces` as compiled code takes them."""

    inertia: Array
    viscous: Array
    stiffness: Array
    offset: Array
    direction: Array
    kinetic: Array
    breakaway: Array
    stribeck: Array
    smoothing: Array

    @staticmethod
    def of(forces: JointForces) -> Forces:
        """The same forces, as contiguous arrays."""
        return Forces(*(np.ascontiguousarray(getattr(forces, name)) for name in Forces._fields))


class State(NamedTuple):
    """Where a simulated robot is, with room to work in; everything is changed in place.

    Attributes:
        q: Positions, shape (nv,).
        v: Velocities, shape (nv,).
        a: Accelerations at the beginning of the last step, shape (nv,).
        mode: Of each dry element: 1 slips forwards, -1 backwards, 0 sticks; shape (elements,).
        friction: Torque of each dry element, shape (elements,).
        work: Work of the motors, and work that went into what joints add [J], shape (2,).
        M: Mass matrix and its Cholesky factor, shape (nv, nv).
        c: Bias forces, shape (nv,).
        added: Torques of what joints add, but for inertia, shape (nv,).
        X: Accelerations by a unit torque of each element, shape (elements, nv).
        A: Matrix of sticking elements, shape (elements, elements).
        rates: Rates of q, v and work in the four stages, shape (4, 2 nv + 2).
        start: q, v and work where a step begins, shape (2 nv + 2,).
    """

    q: Array
    v: Array
    a: Array
    mode: Array
    friction: Array
    work: Array
    M: Array
    c: Array
    added: Array
    X: Array
    A: Array
    rates: Array
    start: Array

    @staticmethod
    def at(q: Array, v: Array, forces: JointForces) -> State:
        """A robot at a position and velocity; elements that do not move stick at first."""
        n, k = len(q), len(forces.direction)
        mode = np.sign(np.round(forces.direction @ v, 12))
        return State(
            np.array(q), np.array(v), np.zeros(n), mode, np.zeros(k), np.zeros(2), np.zeros((n, n)), np.zeros(n),
            np.zeros(n), np.zeros((k, n)), np.zeros((k, k)), np.zeros((4, 2 * n + 2)), np.zeros(2 * n + 2),
        )  # fmt: skip


@compiled
def advance(engine, forces, state, u, duration):
    """Move a robot on by a duration [s] under the motors' torques u; False if its mass matrix is not positive definite.

    `settle` must have been called for the state and the torques.
    """
    left = duration
    for event in range(MOST_EVENTS + 1):
        if event and not settle(engine, forces, state, u):
            return False
        _remember(state)
        if not _runge_kutta(engine, forces, state, u, left):
            return False
        if event == MOST_EVENTS or _slack(forces, state) >= 0.0:
            return True
        step = _step_to_rest(engine, forces, state, u, left)
        if step < 0.0:
            return False
        _bring_to_rest(forces, state)
        left -= step
        if left <= 1e-12 * duration:
            return True
    return True


@compiled
def settle(engine, forces, state, u):
    """Decide which resting elements stick and which break away, and find accelerations and friction.

    Elements break away one at a time, the most overloaded first.
    """
    for _ in range(len(state.mode) + 1):
        if not accelerate(engine, forces, state, u):
            return False
        worst, excess = -1, 1.0 + 1e-9
        for k in range(len(state.mode)):
            if state.mode[k] == 0.0 and forces.smoothing[k] == 0.0:
                limit = forces.breakaway[k, 0 if state.friction[k] > 0.0 else 1]
                load = abs(state.friction[k])
                if load > excess * limit + 1e-12:
                    worst, excess = k, load / max(limit, 1e-300)
        if worst < 0:
            return True
        state.mode[worst] = 1.0 if state.friction[worst] > 0.0 else -1.0
    return True


@compiled
def accelerate(engine, forces, state, u):
    """Find accelerations, friction and added torques of the state; False if its mass matrix is not positive definite."""
    q, v, a, M, added, mode = state.q, state.v, state.a, state.M, state.added, state.mode
    n = len(q)
    mass_and_bias(engine, q, v, M, state.c)
    for i in range(n):
        added[i] = forces.offset[i]
        for j in range(n):
            M[i, j] += forces.inertia[i, j]
            added[i] += forces.viscous[i, j] * v[j] + forces.stiffness[i, j] * q[j]
    sticking = 0
    for k in range(len(mode)):
        w = 0.0
        for i in range(n):
            w += forces.direction[k, i] * v[i]
        if forces.smoothing[k] == 0.0 and mode[k] == 0.0:
            sticking += 1
            state.friction[k] = 0.0
            continue
        if forces.smoothing[k] > 0.0:
            state.friction[k] = _level(forces, k, w, w) * math.tanh(w / forces.smoothing[k])
        else:
            state.friction[k] = mode[k] * _level(forces, k, w, mode[k])
        for i in range(n):
            added[i] += forces.direction[k, i] * state.friction[k]
    if not _cholesky(M):
        return False
    for i in range(n):
        a[i] = u[i] - state.c[i] - added[i]
    _solve(M, a)
    if sticking:
        _stick(forces, state, sticking)
    return True


@compiled
def _level(forces, k, w, sign):
    """Torque of a dry element that slips at the speed w."""
    side = 0 if sign > 0.0 else 1
    kinetic, breakaway = forces.kinetic[k, side], forces.breakaway[k, side]
    return kinetic + (breakaway - kinetic) * math.exp(-((w / forces.stribeck[k]) ** 2))


@compiled
def _stick(forces, state, count):
    """Hold the elements that stick: torques f with D (a - M^-1 D' f) = 0."""
    n = len(state.q)
    held = np.empty(count, np.int64)
    i = 0
    for k in range(len(state.mode)):
        if state.mode[k] == 0.0 and forces.smoothing[k] == 0.0:
            held[i] = k
            i += 1
    f = np.zeros(count)
    A = state.A[:count, :count]
    largest = 0.0
    for i in range(count):
        X = state.X[i]
        X[:] = forces.direction[held[i]]
        _solve(state.M, X)
        for k in range(n):
            f[i] += forces.direction[held[i], k] * state.a[k]
        for j in range(count):
            A[j, i] = 0.0
            for k in range(n):
                A[j, i] += forces.direction[held[j], k] * X[k]
        largest = max(largest, A[i, i])
    for i in range(count):
        A[i, i] += 1e-13 * largest  # a coupling may stick together with both of its joints: share the load
    _cholesky(A)
    _solve(A, f)
    for i in range(count):
        state.friction[held[i]] = f[i]
        for k in range(n):
            state.a[k] -= state.X[i, k] * f[i]
            state.added[k] += forces.direction[held[i], k] * f[i]


@compiled
def _runge_kutta(engine, forces, state, u, h):
    """One step from `state.start`; the first stage has been found by `settle`, and its acceleration stays in `state.a`."""
    q, v, rates, start = state.q, state.v, state.rates, state.start
    n = len(q)
    for stage in range(4):
        if stage:
            part = h if stage == 3 else 0.5 * h
            for i in range(n):
                q[i] = start[i] + part * rates[stage - 1, i]
                v[i] = start[n + i] + part * rates[stage - 1, n + i]
            if not accelerate(engine, forces, state, u):
                return False
        rate = rates[stage]
        rate[2 * n] = rate[2 * n + 1] = 0.0
        for i in range(n):
            rate[i], rate[n + i] = v[i], state.a[i]
            rate[2 * n] += u[i] * v[i]
            rate[2 * n + 1] += state.added[i] * v[i]
    for i in range(2 * n + 2):
        end = start[i] + h / 6.0 * (rates[0, i] + 2.0 * rates[1, i] + 2.0 * rates[2, i] + rates[3, i])
        if i < n:
            q[i] = end
        elif i < 2 * n:
            v[i - n] = end
        else:
            state.work[i - 2 * n] = end
    state.a[:] = rates[0, n : 2 * n]
    return True


@compiled
def _remember(state):
    n = len(state.q)
    state.start[:n], state.start[n : 2 * n], state.start[2 * n :] = state.q, state.v, state.work


@compiled
def _return(state):
    n = len(state.q)
    state.q[:], state.v[:], state.work[:] = state.start[:n], state.start[n : 2 * n], state.start[2 * n :]


@compiled
def _slack(forces, state):
    """The smallest speed of slipping elements in the direction that they slip in; negative when one has turned."""
    least = math.inf
    for k in range(len(state.mode)):
        if state.mode[k] != 0.0 and forces.smoothing[k] == 0.0:
            w = 0.0
            for i in range(len(state.v)):
                w += forces.direction[k, i] * state.v[i]
            least = min(least, state.mode[k] * w)
    return least


@compiled
def _step_to_rest(engine, forces, state, u, longest):
    """Step [s] after which the first slipping element rests, and the state there; negative where that fails.

    A bracket is closed by false position (Illinois) from a step at whose end all still slip.
    """
    high, at_high = longest, _slack(forces, state)
    low, at_low = 0.0, 0.0
    for _ in range(30):  # those that have just broken away rest at the beginning: look for a time when all move
        low = 0.5 * (low + high) if at_low > 0.0 else 0.5 * high
        if not _step_again(engine, forces, state, u, low):
            return -1.0
        at_low = _slack(forces, state)
        if at_low >= 0.0:
            break
        high, at_high = low, at_low
    if at_low < 0.0:
        return low
    side = 0
    for _ in range(40):
        if at_low == 0.0 or high - low < 1e-15 * longest:
            break
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        if not low < middle < high:
            middle = 0.5 * (low + high)
        if not _step_again(engine, forces, state, u, middle):
            return -1.0
        at_middle = _slack(forces, state)
        if abs(at_middle) < 1e-14:
            return middle
        if at_middle > 0.0:
            low, at_low = middle, at_middle
            at_high *= 0.5 if side == 1 else 1.0
            side = 1
        else:
            high, at_high = middle, at_middle
            at_low *= 0.5 if side == -1 else 1.0
            side = -1
    if not _step_again(engine, forces, state, u, high):
        return -1.0
    return high


@compiled
def _step_again(engine, forces, state, u, h):
    """Another step from where the last one began."""
    _return(state)
    return accelerate(engine, forces, state, u) and _runge_kutta(engine, forces, state, u, h)


@compiled
def _bring_to_rest(forces, state):
    """Let elements stick that have come to rest or turned, without what is left of their speed."""
    n = len(state.v)
    for k in range(len(state.mode)):
        if state.mode[k] == 0.0 or forces.smoothing[k] > 0.0:
            continue
        w = square = 0.0
        for i in range(n):
            w += forces.direction[k, i] * state.v[i]
            square += forces.direction[k, i] ** 2
        if state.mode[k] * w < 1e-10:
            state.mode[k] = 0.0
            for i in range(n):
                state.v[i] -= forces.direction[k, i] * w / square


@compiled
def _cholesky(M):
    """Overwrite the lower triangle of M with its Cholesky factor; False if it has none."""
    for j in range(len(M)):
        pivot = M[j, j]
        for k in range(j):
            pivot -= M[j, k] * M[j, k]
        if not pivot > 1e-14 * abs(M[j, j]) or not pivot > 0.0:
            return False
        root = math.sqrt(pivot)
        M[j, j] = root
        for i in range(j + 1, len(M)):
            value = M[i, j]
            for k in range(j):
                value -= M[i, k] * M[j, k]
            M[i, j] = value / root
    return True


@compiled
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
