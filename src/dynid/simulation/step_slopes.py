"""Slopes of the balance that a rollout solves in each step, over its state and over parameters of the model.

A step finds a with r = M a + c + terms - u = 0; `rollout_steps` says where each part is taken. Slopes over positions,
velocities and accelerations of the links come from the adjoint of the regressor, for all steps at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dynid.arrays import Array, Indices
from dynid.errors import InvalidRequestError
from dynid.model import RowLayout, layout_slopes, terms
from dynid.robot import SIZE
from dynid.simulation.gear_slopes import add_gears, fading_slopes, gear_columns, gears_of
from dynid.simulation.joint_forces import JointForces
from dynid.simulation.simulated_robot import SimulatedRobot
from dynid.simulation.taken_steps import TakenSteps

IN_MEANS = (terms.Armature, terms.Viscous, terms.ViscousTemperature, terms.Spring, terms.Offset)
"""Terms that a step takes at mean positions and velocities."""


def state_slopes(robot: SimulatedRobot, steps: TakenSteps, branches: Sequence[Indices]) -> list[tuple[Array, ...]]:
    """For each branch the slopes over a, q_middle, v_middle and v0, each of shape (steps, joints, joints)."""
    forces, h = robot.forces, steps.h
    if any(isinstance(term, terms.LinkSpring) for term in robot.model.terms):
        raise InvalidRequestError("slopes of rollouts do not know springs between links; identify from torques instead")
    found = []
    over_v0, over_q = _smooth_slopes(forces, steps)
    of_joint, of_middle, of_start = _dry_slopes(forces, steps)
    gears, loads = gears_of(forces, steps), list[tuple[Array, ...]]()
    if gears is not None:
        of_middle = of_middle + gears.rest * fading_slopes(forces, steps)
        loads = _link_slopes(robot, replace(steps, a=np.zeros_like(steps.a)), branches)
    is_sloped = np.any([of_joint, of_middle, of_start], axis=(0, 1))
    for at, (branch, (Q, V, A)) in enumerate(zip(branches, _link_slopes(robot, steps, branches), strict=True)):
        square = np.ix_(branch, branch)
        D, K, inertia = forces.viscous[square], forces.stiffness[square], forces.inertia[square]
        own = np.arange(len(branch))
        A += inertia + (0.5 * h * D.ravel() + 0.25 * h**2 * K.ravel()).reshape(A.shape)
        A[:, own, own] += (0.5 * h * (steps.kd + over_v0[0] + 0.5 * h * steps.kp))[:, branch]
        Q += K
        Q[:, own, own] += (steps.kp + over_q)[:, branch]
        V0 = np.broadcast_to(D, A.shape).copy()
        V0[:, own, own] += (steps.kd + over_v0[0] + over_v0[1])[:, branch]
        for k, direction in enumerate(forces.direction[:, branch]):
            square_of = np.outer(direction, direction)
            if square_of.any() and is_sloped[k]:
                A += 0.5 * h[:, :, None] * of_joint[:, k, None, None] * square_of
                V += of_middle[:, k, None, None] * square_of
                V0 += of_start[:, k, None, None] * square_of
        if gears is not None:
            add_gears(forces, steps, gears, branch, loads[at], Q, V)
        found.append((A, Q, V, V0))
    return found


def _link_slopes(robot: SimulatedRobot, steps: TakenSteps, branches: Sequence[Indices]) -> list[tuple[Array, ...]]:
    """Slopes of the links' inverse dynamics over q, v and a, branch by branch.

    Rows of different branches have nothing in common, so one pass of the adjoint takes one row of each branch.
    """
    model, count = robot.model, len(steps.a)
    links = SIZE * len(model.robot.solid_links)
    states = np.ascontiguousarray(steps.q_middle), steps.v_middle, np.ascontiguousarray(steps.a)
    found = [tuple(np.zeros((3, count, len(branch), len(branch)))) for branch in branches]
    for k in range(max(map(len, branches))):
        columns: list[Indices] = [np.zeros(0, dtype=np.intp)] * model.robot.nv
        for branch in branches:
            if k < len(branch):
                columns[branch[k]] = model.acting[branch[k]][model.acting[branch[k]] < links]
        layout = RowLayout.of(model.robot, (), columns)
        cotangents = [np.broadcast_to(robot.parameters[some], (count, len(some))) for some in columns]
        slopes = layout_slopes(layout, *states, cotangents)
        for branch, of_branch in zip(branches, found, strict=True):
            if k < len(branch):
                for matrix, slope in zip(of_branch, slopes, strict=True):
                    matrix[:, k, :] = slope[:, branch]
    return found


def _smooth_slopes(forces: JointForces, steps: TakenSteps) -> tuple[tuple[Array, Array], Array]:
    """Slope of sigmoids and curves over v0, and what its own change adds to it; and slope over q_middle."""
    rise, steepness, shift = forces.sigmoid.T
    t = np.tanh(0.5 * steepness * (steps.v + shift))
    slope = 0.25 * rise * steepness * (1.0 - t * t)
    bend = -steepness * t * slope
    over_q = np.zeros_like(steps.v)
    if forces.curves is not None and forces.reach is not None:
        for i in range(steps.v.shape[1]):
            first, second = _curve_slopes(forces.curves[0, i], forces.reach[0, i], steps.v[:, i])
            slope[:, i] += first
            bend[:, i] += second
            over_q[:, i] = _curve_slopes(forces.curves[1, i], forces.reach[1, i], steps.q_middle[:, i])[0]
    return (slope, bend * 0.5 * steps.h * steps.a), over_q


def _curve_slopes(curve: Array, reach: float, x: Array) -> tuple[Array, Array]:
    """First and second slope of a curve at x, as `acceleration` interpolates it."""
    last = len(curve) - 1
    step = 2.0 * reach / last
    place = (x + reach) / step
    k = np.clip(place.astype(np.int64), 0, last - 1)
    t = place - k
    low, high, rise = curve[k, 1] * step, curve[k + 1, 1] * step, curve[k + 1, 0] - curve[k, 0]
    bend, turn = 3.0 * rise - 2.0 * low - high, low + high - 2.0 * rise
    beyond = (place <= 0.0) | (place >= last)
    first = np.where(beyond, curve[np.where(place <= 0.0, 0, last), 1], (low + t * (2 * bend + 3 * t * turn)) / step)
    return first, np.where(beyond, 0.0, (2.0 * bend + 6.0 * t * turn) / step**2)


def _dry_slopes(forces: JointForces, steps: TakenSteps) -> tuple[Array, Array, Array]:
    """Slopes of dry elements along their directions, over mean velocity, v_middle and v0; each (steps, elements)."""
    smoothing = np.where(forces.smoothing > 0.0, forces.smoothing, np.inf)
    is_smooth = forces.smoothing > 0.0
    w0, w_middle = steps.v @ forces.direction.T, steps.v_middle @ forces.direction.T
    level, fall = _levels(forces, w0, w0)
    t = np.tanh(w0 / smoothing)
    steep = (1.0 - t * t) / smoothing
    mean = np.where(is_smooth, level * steep, 0.0)
    turning = 0.5 * steps.h * (steps.a @ forces.direction.T)
    start = level * steep + fall * t + (fall * steep - 2.0 * level * t * steep / smoothing) * turning
    start = np.where(is_smooth, start, 0.0)
    middle = np.where(is_smooth, 0.0, steps.mode * _levels(forces, w_middle, steps.mode)[1])
    return mean, middle, start


def _levels(forces: JointForces, w: Array, sign: Array) -> tuple[Array, Array]:
    """Torques of dry elements that slip at speeds w, and their slopes, shape (steps, elements)."""
    kinetic, breakaway = (np.where(sign > 0.0, both[:, 0], both[:, 1]) for both in (forces.kinetic, forces.breakaway))
    more = (breakaway - kinetic) * np.exp(-((w / forces.stribeck) ** 2))
    return kinetic + more, -2.0 * more * w / forces.stribeck**2


def link_columns(robot: SimulatedRobot, steps: TakenSteps, columns: Sequence[Indices]) -> list[Array]:
    """For each row of the dynamics the slopes over some of the links' parameters, shape (steps, columns of the row)."""
    layout = RowLayout.of(robot.robot, (), columns)
    states = np.ascontiguousarray(steps.q_middle), steps.v_middle, np.ascontiguousarray(steps.a)
    return layout.evaluate(*states)


def term_columns(robot: SimulatedRobot, steps: TakenSteps) -> Iterator[tuple[int, int, Array]]:
    """Slopes over the terms' parameters where they are not zero: row, index into `model.names`, values (steps,)."""
    first = SIZE * len(robot.robot.solid_links)
    for term in robot.model.terms:
        count = len(term.parameters(robot.robot))
        if isinstance(term, terms.GearFriction):
            found = gear_columns(robot, term, robot.parameters[first : first + count], steps)
        else:
            found = _columns_of(robot, term, steps)
        for row, column, values in found:
            yield row, first + column, values
        first += count


def _columns_of(robot: SimulatedRobot, term: terms.Term, steps: TakenSteps) -> Iterator[tuple[int, int, Array]]:
    machine = robot.robot
    if isinstance(term, IN_MEANS):
        yield from term.entries(machine, steps.q_mean, steps.v_mean, steps.a)
    elif isinstance(term, terms.Combined):
        yield from _combined_columns(robot, term, steps)
    elif isinstance(term, terms.Coupling):
        i, j = machine.joint(term.first).v.start, machine.joint(term.second).v.start
        for row, column, values in term.entries(machine, steps.q_mean, steps.v_mean, steps.a):
            if column < 2:
                yield row, column, values
        direction = np.zeros(machine.nv)
        direction[i], direction[j] = term.ratio, 1.0
        sign, share, _ = _dry_column(robot.forces, direction, steps)
        yield i, 2, term.ratio * sign * share
        yield j, 2, sign * share
    elif isinstance(term, terms.Coulomb | terms.AsymmetricCoulomb | terms.Stribeck):
        yield from _dry_columns(robot, term, steps)
    else:  # interpolated at v0, with its slope there
        yield from term.entries(machine, steps.q_middle, steps.v, steps.a)
        for row, column, over, coordinate, values in term.slopes(machine, steps.q_middle, steps.v, steps.a):
            if over == "v":
                yield row, column, values * 0.5 * steps.h[:, 0] * steps.a[:, coordinate]


def _combined_columns(
    robot: SimulatedRobot, term: terms.Combined, steps: TakenSteps
) -> Iterator[tuple[int, int, Array]]:
    """The columns along combinations of joints: at means, but those of dry friction."""
    machine = robot.robot
    if not isinstance(term.kind, terms.Coulomb | terms.AsymmetricCoulomb):
        yield from term.entries(machine, steps.q_mean, steps.v_mean, steps.a)
        return
    for k, along in enumerate(term.along(machine)):
        sign, share, _ = _dry_column(robot.forces, along.direction, steps)
        torque = sign * share
        ways = [torque] if isinstance(term.kind, terms.Coulomb) else [np.maximum(torque, 0.0), np.minimum(torque, 0.0)]
        for s, values in enumerate(ways):
            for row in (joint.v.start for joint in along.joints):
                yield row, len(ways) * k + s, along.direction[row] * values


def _dry_columns(
    robot: SimulatedRobot, term: terms.Coulomb | terms.AsymmetricCoulomb | terms.Stribeck, steps: TakenSteps
) -> Iterator[tuple[int, int, Array]]:
    for k, joint in enumerate(term.joints_of(robot.robot)):
        row = joint.v.start
        sign, share, fading = _dry_column(robot.forces, np.eye(robot.robot.nv)[row], steps)
        if isinstance(term, terms.Coulomb):
            yield row, k, sign * share
        elif isinstance(term, terms.AsymmetricCoulomb):
            yield row, 2 * k, np.maximum(sign * share, 0.0)
            yield row, 2 * k + 1, np.minimum(sign * share, 0.0)
        else:
            yield row, 2 * k, sign
            yield row, 2 * k + 1, sign * fading


def _dry_column(forces: JointForces, direction: Array, steps: TakenSteps) -> tuple[Array, Array, Array]:
    """Of a dry element: its sign, its torque per kinetic level, and how much of breakaway there is; each (steps,)."""
    alike = np.flatnonzero((forces.direction == direction).all(axis=1))
    if not len(alike):  # there is no friction: it would oppose the motion
        return np.sign(steps.v_mean @ direction), np.ones(len(steps.v)), np.ones(len(steps.v))
    k = alike[0]
    w, smoothing = steps.v @ direction, forces.smoothing[k]
    if smoothing > 0.0:
        t, side = np.tanh(w / smoothing), w
        sign = t + (1.0 - t * t) / smoothing * 0.5 * steps.h[:, 0] * (steps.a @ direction)
    else:
        w, side, sign = steps.v_middle @ direction, steps.mode[:, k], steps.mode[:, k]
    fading = np.exp(-((w / forces.stribeck[k]) ** 2))
    kinetic, breakaway = (np.where(side > 0.0, *both[k]) for both in (forces.kinetic, forces.breakaway))
    more = np.divide(breakaway, kinetic, out=np.ones_like(kinetic), where=kinetic != 0.0) - 1.0
    return sign, 1.0 + more * fading, fading
