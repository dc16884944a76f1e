"""Rollouts under a control law, compiled: one mass matrix a step, and the law, damping and springs implicit in it.

Over a step of length h from q0, v0 the acceleration a is constant, so that positions and velocities have the means
q0 + h/2 v0 + h^2/4 a and v0 + h/2 a. All that is linear in them (the law, viscous friction, springs) enters with these
means; mass matrix and bias forces enter at q0 + h/2 v0 and v0 + h/2 a', with a' the acceleration of the step before.
The method is of second order, and stable whatever the gains.

Dry elements and limits of torque have modes, which start as they were in the step before: an element slips one way, and
does not turn within the step; or it sticks, is at rest after the step, and needs no more than its breakaway torque. A
motor follows its law, or gives its limit where the law's mean torque is beyond it. The first mode that is wrong is
mended until all are right.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dynid.arrays import Array, Indices
from dynid.simulation.acceleration import AT_REST, MOST_MENDS, along, fading, gear_levels, level, smooth_torque
from dynid.simulation.compilation import compiled, inner
from dynid.simulation.engine import mass_and_bias
from dynid.simulation.joint_forces import JointForces

TO_THE_END, TOO_FAST, NOT_POSITIVE = 0, 1, 2
"""How a rollout ends: at the last sample; a joint is too fast, or not finite; the mass matrix is not positive
definite."""


class Drive(NamedTuple):
    """A control law over the steps of a rollout: `u = push - kp q - kd v`, within limits.

    Attributes:
        step: Length of each step [s], shape (steps,).
        tick: The row of `push`, `kp` and `kd` of each step, shape (steps,).
        push: What does not depend on the state [N m or N], shape (ticks, nv).
        kp: Gain on positions, shape (ticks, nv).
        kd: Gain on velocities, shape (ticks, nv).
        limit: Largest torque [N m or N], shape (nv,); infinite for none.
        back_emf: Torque that motors lose with speed [N m s/rad], which is among viscous friction, shape (nv,).
        is_sampled: Whether torques are those at the beginning of a tick, and held.
        ends: How many steps there are up to each sample, shape (samples,).
        first: The first coordinate of each one's branch, shape (nv,).
        fastest: Speed at which a rollout ends [rad/s or m/s].
    """

    step: Array
    tick: Indices
    push: Array
    kp: Array
    kd: Array
    limit: Array
    back_emf: Array
    is_sampled: bool
    ends: Indices
    first: Indices
    fastest: float


class Motion(NamedTuple):
    """A rollout's state, with room to work in; everything is changed in place.

    Attributes:
        q: Positions, shape (nv,).
        v: Velocities, shape (nv,).
        a: Accelerations of the last step, shape (nv,).
        u: The motors' torques: mean of the step, shape (nv,).
        mode: Of each dry element: 1 slips forwards, -1 backwards, 0 sticks; shape (elements,).
        saturated: Of each motor: 1 or -1 at its limit, 0 follows its law; shape (nv,).
        q_middle: Positions at which the mass matrix is taken, shape (nv,).
        v_middle: Velocities at which bias forces are taken, shape (nv,).
        B: The matrix of the step without the law, shape (nv, nv).
        L: Cholesky factor of the matrix with the law, shape (nv, nv).
        c: Bias forces, shape (nv,).
        rest: Torques that accelerate but for the law and dry elements, shape (nv,).
        law: Mean torques of the law but for what they owe to a, shape (nv,).
        grip: By how much the law's mean torques fall with a [kg m^2 or kg], shape (nv,); zero where they are held.
        friction: Torque of each dry element, shape (elements,).
        gear: What gears add to the levels of dry elements, at speed and besides at rest, shape (elements, 2).
        X: Accelerations by a unit torque of each sticking element, shape (elements, nv).
        S: How sticking elements act on each other, shape (elements, elements).
        held: Sticking elements, shape (elements,).
        f: Their torques, shape (elements,).
    """

    q: Array
    v: Array
    a: Array
    u: Array
    mode: Array
    saturated: Array
    q_middle: Array
    v_middle: Array
    B: Array
    L: Array
    c: Array
    rest: Array
    law: Array
    grip: Array
    friction: Array
    gear: Array
    X: Array
    S: Array
    held: Indices
    f: Array

    @staticmethod
    def at(q: Array, v: Array, forces: JointForces) -> Motion:
        """A robot at a position and velocity; elements that do not move stick at first."""
        n, k = len(q), len(forces.direction)
        w = forces.direction @ v
        mode = np.sign(np.where(np.abs(w) > AT_REST, w, 0.0))
        q_middle, v_middle, c, rest, law, grip = np.zeros((6, n))
        B, L = np.zeros((2, n, n))
        return Motion(
            np.array(q), np.array(v), np.zeros(n), np.zeros(n), mode, np.zeros(n), q_middle, v_middle, B, L, c, rest,
            law, grip, np.zeros(k), np.zeros((k, 2)), np.zeros((k, n)), np.zeros((k, k)), np.zeros(k, dtype=np.int64),
            np.zeros(k),
        )  # fmt: skip


class Steps(NamedTuple):
    """Steps of a rollout as they were taken; without rows where they are not kept.

    Attributes:
        q_middle: Positions q0 + h/2 v0, shape (steps, nv).
        v: Velocities v0 at the beginning, shape (steps, nv).
        a: Accelerations, shape (steps, nv).
        mode: Modes of dry elements, shape (steps, elements).
        saturated: Modes of motors, shape (steps, nv).
    """

    q_middle: Array
    v: Array
    a: Array
    mode: Array
    saturated: Array

    @staticmethod
    def of(steps: int, joints: int, elements: int) -> Steps:
        """Room for so many steps."""
        q, v, a, saturated = np.zeros((4, steps, joints))
        return Steps(q, v, a, np.zeros((steps, elements)), saturated)


@compiled
def roll(engine, forces, drive, motion, q, v, torque, steps):
    """Roll out from a state to the end.

    Args:
        engine: The robot.
        forces: Its friction and actuator terms.
        drive: Its control law.
        motion: Where it is; changed in place.
        q: Where positions at the samples are written, shape (samples, nv).
        v: The same of velocities.
        torque: The same of the motors' torques, each the mean of the step before; at the first sample the one after.
        steps: Where the steps are kept.

    Returns:
        How it ended, the step, and the joint.
    """
    sample = 1
    _copy(motion.q, q[0])
    _copy(motion.v, v[0])
    for k in range(len(drive.step)):
        h, tick = drive.step[k], drive.tick[k]
        _prepare(engine, forces, motion, h)
        if not drive.is_sampled:
            _prepare_law(drive, tick, motion, h)
        elif k == 0 or drive.tick[k - 1] != tick:
            _sample_law(drive, tick, motion)
        _load_gears(forces, drive, tick, motion)
        joint = _settle(forces, drive, motion, h)
        if joint >= 0:
            return NOT_POSITIVE, k, joint
        if len(steps.q_middle):
            _copy(motion.q_middle, steps.q_middle[k])
            _copy(motion.v, steps.v[k])
            _copy(motion.a, steps.a[k])
            _copy(motion.mode, steps.mode[k])
            _copy(motion.saturated, steps.saturated[k])
        joint = _advance(motion.q, motion.v, motion.a, h, drive.fastest)
        if joint >= 0:
            return TOO_FAST, k, joint
        if k == 0:
            _copy(motion.u, torque[0])
        if drive.ends[sample] == k + 1:
            _copy(motion.q, q[sample])
            _copy(motion.v, v[sample])
            _copy(motion.u, torque[sample])
            sample += 1
    return TO_THE_END, len(drive.step), 0


@inner
def _copy(source, target):
    for i in range(len(source)):
        target[i] = source[i]


@inner
def _advance(q, v, a, h, fastest):
    """Move on by a step; the first coordinate that is too fast or not finite, or -1."""
    lost = -1
    for i in range(len(q) - 1, -1, -1):
        q[i] += h * (v[i] + 0.5 * h * a[i])
        v[i] += h * a[i]
        if not abs(v[i]) < fastest:
            lost = i
    return lost


@inner
def _prepare_law(drive, tick, motion, h):
    """Find the law of a step: mean torques `law - grip a`."""
    for i in range(len(motion.q)):
        kp, kd = drive.kp[tick, i], drive.kd[tick, i]
        motion.law[i] = drive.push[tick, i] - kp * motion.q_middle[i] - kd * motion.v[i]
        motion.grip[i] = 0.5 * h * (kd + 0.5 * h * kp)


@inner
def _sample_law(drive, tick, motion):
    """Evaluate the law at the beginning of a tick."""
    for i in range(len(motion.q)):
        u = drive.push[tick, i] - drive.kp[tick, i] * motion.q[i] - drive.kd[tick, i] * motion.v[i]
        motion.saturated[i] = math.copysign(1.0, u) if abs(u) > drive.limit[i] else 0.0
        motion.law[i] = u


@inner
def _load_gears(forces, drive, tick, motion):
    """Find what gears add to friction in a step, at the motors' torques and bias forces of its middle state."""
    for k in range(len(motion.mode)):
        i = forces.axis[k]
        u = motion.law[i]
        if not drive.is_sampled:
            u = drive.push[tick, i] - drive.kp[tick, i] * motion.q_middle[i] - drive.kd[tick, i] * motion.v_middle[i]
        u = min(max(u, -drive.limit[i]), drive.limit[i]) - drive.back_emf[i] * motion.v_middle[i]
        motion.gear[k, 0], motion.gear[k, 1] = gear_levels(forces.gear[k], u, motion.c[i])


@inner
def _prepare(engine, forces, motion, h):
    """Find the matrix of a step without the law, and the torques that accelerate but for the law and dry elements."""
    q, v, B, rest = motion.q, motion.v, motion.B, motion.rest
    n = len(q)
    for i in range(n):
        motion.q_middle[i] = q[i] + 0.5 * h * v[i]
        motion.v_middle[i] = v[i] + 0.5 * h * motion.a[i]
    mass_and_bias(engine, motion.q_middle, motion.v_middle, B, motion.c)
    for i in range(n):
        f, slope = smooth_torque(forces, i, motion.q_middle[i], v[i])
        total = -motion.c[i] - forces.offset[i] - f
        for j in range(n):
            D, K = forces.viscous[i, j], forces.stiffness[i, j]
            B[i, j] += forces.inertia[i, j] + 0.5 * h * (D + 0.5 * h * K)
            total -= D * v[j] + K * motion.q_middle[j]
        B[i, i] += 0.5 * h * slope
        rest[i] = total
    for k in range(len(motion.mode)):
        d = forces.direction[k]
        if forces.smoothing[k] > 0.0:
            w = along(d, v)
            t, most = math.tanh(w / forces.smoothing[k]), level(forces, k, w, w)
            slope = most * (1.0 - t * t) / forces.smoothing[k]
            for i in range(n):
                if d[i] != 0.0:
                    rest[i] -= d[i] * most * t
                    for j in range(n):
                        B[i, j] += 0.5 * h * slope * d[i] * d[j]


@inner
def _settle(forces, drive, motion, h):
    """Find modes, accelerations and torques of a step; the coordinate where the matrix is not positive definite, or -1.

    One mode is mended at a time, the first that is wrong (Murty's rule, which comes to an end).
    """
    factorised = False
    for _ in range(MOST_MENDS * (len(motion.mode) + len(motion.q) + 1)):
        if not factorised:
            joint = _factorise_step(motion.B, motion.grip, motion.saturated, drive.first, motion.L)
            if joint >= 0:
                return joint
            factorised = True
        _accelerate(forces, drive, motion, h)
        if not drive.is_sampled and _mend_law(drive.limit, motion.law, motion.grip, motion.a, motion.saturated):
            factorised = False
        elif not _mend_dry(forces, motion, h):
            break
    for i in range(len(motion.u)):
        motion.u[i] = motion.law[i] - motion.grip[i] * motion.a[i]
        if motion.saturated[i] != 0.0:
            motion.u[i] = motion.saturated[i] * drive.limit[i]
        motion.u[i] -= drive.back_emf[i] * (motion.v[i] + 0.5 * h * motion.a[i])
    return -1


@inner
def _factorise_step(B, grip, saturated, first, L):
    """Factorise the matrix of a step with the law of motors that follow it."""
    for i in range(len(L)):
        for j in range(first[i], i + 1):
            L[i, j] = B[i, j]
        if saturated[i] == 0.0:
            L[i, i] += grip[i]
    return factorise(L, first)


@inner
def _accelerate(forces, drive, motion, h):
    """Find the accelerations of a step, and torques of dry elements, with the modes as they are."""
    for i in range(len(motion.a)):
        u = motion.law[i] if motion.saturated[i] == 0.0 else motion.saturated[i] * drive.limit[i]
        motion.a[i] = motion.rest[i] + u
    sticking = _slip(forces, motion)
    substitute(motion.L, drive.first, motion.a)
    if sticking:
        _stick(forces.direction, drive.first, motion, sticking, h)


@inner
def _slip(forces, motion):
    """Take the torques of slipping elements off those that accelerate; the number of elements that stick."""
    sticking = 0
    for k in range(len(motion.mode)):
        if forces.smoothing[k] > 0.0:
            continue
        if motion.mode[k] == 0.0:
            motion.held[sticking] = k
            sticking += 1
            continue
        d = forces.direction[k]
        w = along(d, motion.v_middle)
        more = motion.gear[k, 0] + fading(forces, k, w) * motion.gear[k, 1]
        f = motion.mode[k] * (level(forces, k, w, motion.mode[k]) + more)
        motion.friction[k] = f
        for i in range(len(d)):
            motion.a[i] -= d[i] * f
    return sticking


@inner
def _stick(direction, first, motion, count, h):
    """Bring the elements that stick to rest: torques f with D (v + h a) = 0."""
    f, S, X, n = motion.f, motion.S, motion.X, len(motion.a)
    largest = 0.0
    for i in range(count):
        d = direction[motion.held[i]]
        for k in range(n):
            X[i, k] = d[k]
        substitute(motion.L, first, X[i])
        f[i] = along(d, motion.a) + along(d, motion.v) / h
        for j in range(i + 1):
            S[i, j] = along(direction[motion.held[j]], X[i])
        largest = max(largest, S[i, i])
    solve_small(S, f, count, 1e-13 * largest)  # a coupling may stick with both of its joints: they share the load
    for i in range(count):
        motion.friction[motion.held[i]] = f[i]
        for k in range(n):
            motion.a[k] -= X[i, k] * f[i]
    for i in range(count):  # what rounding leaves would let a resting joint creep
        d = direction[motion.held[i]]
        rest = (along(d, motion.a) + along(d, motion.v) / h) / along(d, d)
        for k in range(n):
            motion.a[k] -= d[k] * rest


@inner
def _mend_law(limit, law, grip, a, saturated):
    """Correct the mode of the first motor whose mode is wrong; False if all are right."""
    for i in range(len(a)):
        u = law[i] - grip[i] * a[i]
        if saturated[i] == 0.0 and abs(u) > (1.0 + 1e-9) * limit[i]:
            saturated[i] = math.copysign(1.0, u)
            return True
        if saturated[i] != 0.0 and saturated[i] * u < limit[i]:
            saturated[i] = 0.0
            return True
    return False


@inner
def _mend_dry(forces, motion, h):
    """Correct the mode of the first element whose mode is wrong; False if all are right."""
    for k in range(len(motion.mode)):
        if forces.smoothing[k] > 0.0:
            continue
        wanted = motion.mode[k]
        if wanted == 0.0:
            most = forces.breakaway[k, 0 if motion.friction[k] > 0.0 else 1] + motion.gear[k, 0] + motion.gear[k, 1]
            if abs(motion.friction[k]) > (1.0 + 1e-9) * most + 1e-12:
                wanted = math.copysign(1.0, motion.friction[k])
        else:
            d = forces.direction[k]
            if wanted * (along(d, motion.v) + h * along(d, motion.a)) < -0.1 * AT_REST:
                wanted = 0.0
        if wanted != motion.mode[k]:
            motion.mode[k] = wanted
            return True
    return False


@inner
def factorise(L, first):
    """Overwrite the lower triangle of a matrix, whose rows start at `first`, with its Cholesky factor.

    Returns:
        The first row where it has none, or -1.
    """
    for i in range(len(L)):
        for j in range(first[i], i):
            value = L[i, j]
            for k in range(max(first[i], first[j]), j):
                value -= L[i, k] * L[j, k]
            L[i, j] = value / L[j, j]
        pivot = L[i, i]
        for k in range(first[i], i):
            pivot -= L[i, k] * L[i, k]
        if not pivot > 1e-15 * abs(L[i, i]):
            return i
        L[i, i] = math.sqrt(pivot)
    return -1


@inner
def substitute(L, first, x):
    """Overwrite x with the solution of L L' x = x."""
    n = len(x)
    for i in range(n):
        value = x[i]
        for k in range(first[i], i):
            value -= L[i, k] * x[k]
        x[i] = value / L[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(first[i], i):
            x[k] -= L[i, k] * x[i]


@inner
def solve_small(S, f, count, shift):
    """Overwrite f with the solution of (S + shift) f = f, and the lower triangle of S with its factor."""
    for i in range(count):
        S[i, i] += shift
        for j in range(i + 1):
            value = S[i, j]
            for k in range(j):
                value -= S[i, k] * S[j, k]
            S[i, j] = math.sqrt(value) if i == j else value / S[j, j]
    for i in range(count):
        for k in range(i):
            f[i] -= S[i, k] * f[k]
        f[i] /= S[i, i]
    for i in range(count - 1, -1, -1):
        for k in range(i + 1, count):
            f[i] -= S[k, i] * f[k]
        f[i] /= S[i, i]
