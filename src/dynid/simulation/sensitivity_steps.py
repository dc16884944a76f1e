"""The derivative of a rollout, compiled: the linear recursion that its steps make with their modes held.

Where an element turns, it slips the other way in the next step, or sticks for one step before. When it turns moves with
parameters: a velocity that is larger by w before it is larger by w a+ / a- after it, with the accelerations before and
after (the saltation of hybrid systems).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dynid.arrays import Array
from dynid.simulation.compilation import compiled, inner
from dynid.simulation.rollout_steps import factorise, substitute


class StepSlopes(NamedTuple):
    """Slopes of what the steps of one branch balance, r(q_middle, v_middle, v0, a; parameters) = 0.

    Attributes:
        step: Length of each step [s], shape (steps,).
        A: Over a, shape (steps, joints, joints), symmetric; changed in place.
        Q: Over q_middle, shape (steps, joints, joints).
        V: Over v_middle, shape (steps, joints, joints).
        V0: Over v0, shape (steps, joints, joints).
        R: Over parameters, shape (steps, joints, parameters).
        kp: Over positions at the beginning of the tick, where torques are held; shape (steps, joints).
        kd: The same over velocities.
        starts: Whether a tick begins with the step, shape (steps,); never where the law is continuous.
        share: Share of held torques that friction in loaded gears leaves, shape (steps, joints).
        direction: Directions of dry elements, shape (elements, joints).
        sticks: Which of them stick, shape (steps, elements).
        turns: Where they turn, a+ / a-; zero elsewhere, shape (steps, elements).
    """

    step: Array
    A: Array
    Q: Array
    V: Array
    V0: Array
    R: Array
    kp: Array
    kd: Array
    starts: np.ndarray
    share: Array
    direction: Array
    sticks: np.ndarray
    turns: Array


class Derivative(NamedTuple):
    """Derivatives of a branch's state over parameters, each of shape (joints, parameters); changed in place.

    Attributes:
        q: Of positions.
        v: Of velocities.
        a: Of accelerations in the last step.
        held: Of held torques, less.
        g: Room to work in.
    """

    q: Array
    v: Array
    a: Array
    held: Array
    g: Array

    @staticmethod
    def of(joints: int, parameters: int) -> Derivative:
        """Zero."""
        return Derivative(*np.zeros((5, joints, parameters)))


@compiled
def differentiate(slopes, state, ends, first, sample, q, v):
    """Carry derivatives on over some steps.

    Args:
        slopes: Slopes of the steps.
        state: Derivatives at the first of them; changed in place.
        ends: How many steps there are up to each sample of the rollout, shape (samples,).
        first: How many steps were before these.
        sample: The next sample.
        q: Where derivatives of positions at samples are written, shape (samples, joints, parameters).
        v: The same of velocities.

    Returns:
        The next sample.
    """
    joints = state.q.shape[0]
    envelope = np.zeros(joints, np.int64)
    for k in range(len(slopes.step)):
        h = slopes.step[k]
        if slopes.starts[k]:
            _hold(slopes, state, k)
        _balance(slopes, state, k, h)
        factorise(slopes.A[k], envelope)
        _substitute_all(slopes.A[k], state.g)
        _bring_to_rest(slopes, state, k, h, envelope)
        for i in range(joints):
            for p in range(state.q.shape[1]):
                state.a[i, p] = -state.g[i, p]
                state.q[i, p] += h * (state.v[i, p] + 0.5 * h * state.a[i, p])
                state.v[i, p] += h * state.a[i, p]
        if sample < len(ends) and ends[sample] == first + k + 1:
            _write(state.q, q[sample])
            _write(state.v, v[sample])
            sample += 1
    return sample


@inner
def _write(source, target):
    for i in range(source.shape[0]):
        for p in range(source.shape[1]):
            target[i, p] = source[i, p]


@inner
def _hold(slopes, state, k):
    """Derivatives of torques that are held from here on, less."""
    for i in range(state.q.shape[0]):
        for p in range(state.q.shape[1]):
            state.held[i, p] = slopes.kp[k, i] * state.q[i, p] + slopes.kd[k, i] * state.v[i, p]


@inner
def _balance(slopes, state, k, h):
    """What the derivative of a must balance."""
    g, width = state.g, state.q.shape[1]
    for i in range(state.q.shape[0]):
        for p in range(width):
            g[i, p] = slopes.R[k, i, p] + slopes.share[k, i] * state.held[i, p]
        for j in range(state.q.shape[0]):
            on_q, on_a = slopes.Q[k, i, j], 0.5 * h * slopes.V[k, i, j]
            on_v = 0.5 * h * on_q + slopes.V[k, i, j] + slopes.V0[k, i, j]
            for p in range(width):
                g[i, p] += on_q * state.q[j, p] + on_v * state.v[j, p] + on_a * state.a[j, p]


@inner
def _substitute_all(L, g):
    """Overwrite g with the solution of L L' g = g."""
    n, width = g.shape
    for i in range(n):
        for j in range(i):
            for p in range(width):
                g[i, p] -= L[i, j] * g[j, p]
        for p in range(width):
            g[i, p] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for p in range(width):
            g[i, p] /= L[i, i]
        for j in range(i):
            for p in range(width):
                g[j, p] -= L[i, j] * g[i, p]


@inner
def _bring_to_rest(slopes, state, k, h, envelope):
    """Let elements that stick be at rest after the step, whatever the parameters, D (dv + h da) = 0; or turn."""
    count = 0
    for e in range(slopes.sticks.shape[1]):
        count += slopes.sticks[k, e] or slopes.turns[k, e] != 0.0
    if count == 0:
        return
    n, width = state.g.shape
    D, X, S = np.zeros((count, n)), np.zeros((count, n)), np.zeros((count, count))
    ends, rests = np.zeros(count), np.zeros(count)
    _held(slopes.direction, slopes.sticks[k], slopes.turns[k], D, X, ends, rests)
    _compliance(slopes.A[k], envelope, D, X, S)
    f = np.zeros((count, width))
    for row in range(count):
        for i in range(n):
            for p in range(width):
                f[row, p] += D[row, i] * (ends[row] * state.v[i, p] / h - rests[row] * state.g[i, p])
    _substitute_all(S, f)
    for row in range(count):
        for i in range(n):
            for p in range(width):
                state.g[i, p] += X[row, i] * f[row, p]


@inner
def _held(direction, sticks, turns, D, X, ends, rests):
    """Write the directions of elements that stick or turn, what share of velocities' derivatives ends, who rests."""
    row = 0
    for e in range(len(sticks)):
        if sticks[e] or turns[e] != 0.0:
            ends[row] = 1.0 - turns[e]
            rests[row] = 1.0 if sticks[e] else 0.0
            for i in range(direction.shape[1]):
                D[row, i] = X[row, i] = direction[e, i]
            row += 1


@inner
def _compliance(L, envelope, D, X, S):
    """Overwrite X with accelerations by unit torques along the rows of D, and S with the factor of D X'."""
    largest = 0.0
    for row in range(len(D)):
        substitute(L, envelope, X[row])
        for other in range(row + 1):
            for i in range(D.shape[1]):
                S[row, other] += D[other, i] * X[row, i]
        largest = max(largest, S[row, row])
    for row in range(len(D)):
        S[row, row] += 1e-13 * largest
    factorise(S, np.zeros(len(D), np.int64))
