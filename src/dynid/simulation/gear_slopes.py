"""Slopes of friction in loaded gears, along the steps that a rollout took.

A dry element that slips with the sign s has the torque s L(tau, b, w): tau is its motor's torque and b the bias force
of its joint, both at the middle state of a step, and w the speed there. `JointForces.gear` has the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Indices
from dynid.errors import InvalidRequestError
from dynid.model.terms import GearFriction, Stribeck, TermOfJoints
from dynid.simulation.joint_forces import JointForces
from dynid.simulation.simulated_robot import SimulatedRobot
from dynid.simulation.taken_steps import TakenSteps


@dataclass(frozen=True, eq=False)
class GearSlopes:
    """Slopes of dry elements' torques, signs included; each of shape (steps, elements), zero for those that stick.

    Attributes:
        motor: Over the motor's torque.
        bias: Over the bias force.
        rest: What gears add to the level near rest [N m], with the element's sign.
    """

    motor: Array
    bias: Array
    rest: Array


def gear_slopes(forces: JointForces, mode: Array, motor: Array, bias: Array, v_middle: Array) -> GearSlopes:
    """Slopes of what gears add to dry elements.

    Args:
        forces: Friction and actuator terms.
        mode: Modes of dry elements, shape (steps, elements).
        motor: The motors' torques [N m], shape (steps, nv).
        bias: Bias forces [N m], shape (steps, nv).
        v_middle: Velocities at which levels were taken, shape (steps, nv).
    """
    tau, b = motor[:, forces.axis], bias[:, forces.axis]
    km, ke, kms, kes, qm, qe = forces.gear.T
    near_rest = np.exp(-((v_middle @ forces.direction.T / forces.stribeck) ** 2))
    at_speed, at_rest = np.sign(km * tau + ke * b), np.sign(kms * tau + kes * b)
    carries, drives = tau * b > 0.0, np.abs(tau) > np.abs(b)
    by_motor, by_outer = carries & ~drives, carries & drives
    rest = np.abs(kms * tau + kes * b) + np.where(by_motor, qm * tau**2, 0.0) + np.where(by_outer, qe * b**2, 0.0)
    over_motor = at_speed * km + near_rest * (at_rest * kms + np.where(by_motor, 2.0 * qm * tau, 0.0))
    over_bias = at_speed * ke + near_rest * (at_rest * kes + np.where(by_outer, 2.0 * qe * b, 0.0))
    sign = np.where(forces.smoothing > 0.0, 0.0, mode)
    return GearSlopes(sign * over_motor, sign * over_bias, sign * rest)


def gears_of(forces: JointForces, steps: TakenSteps) -> GearSlopes | None:
    """Slopes of loaded gears; None where there are none."""
    if not forces.gear.any():
        return None
    return gear_slopes(forces, steps.mode, steps.motor, steps.bias, steps.v_middle)


def add_gears(
    forces: JointForces,
    steps: TakenSteps,
    gears: GearSlopes,
    branch: Indices,
    loads: tuple[Array, ...],
    Q: Array,
    V: Array,
) -> None:
    """Add the slopes of loaded gears to those of a branch, over q_middle and v_middle."""
    for k in np.flatnonzero(forces.gear.any(axis=1)):
        for i in np.flatnonzero(branch == forces.axis[k]):
            row = branch[i]
            for S, load, motor in zip((Q, V), loads[:2], (steps.motor_q, steps.motor_v), strict=True):
                S[:, i, :] += gears.bias[:, k, None] * load[:, i, :]
                S[:, i, i] += gears.motor[:, k] * motor[:, row]


def fading_slopes(forces: JointForces, steps: TakenSteps) -> Array:
    """How much less of what elements have at rest they have as speed grows, shape (steps, elements)."""
    w = steps.v_middle @ forces.direction.T
    return -2.0 * w / forces.stribeck**2 * np.exp(-((w / forces.stribeck) ** 2))


def gear_columns(
    robot: SimulatedRobot, term: GearFriction, p: Array, steps: TakenSteps
) -> Iterator[tuple[int, int, Array]]:
    """The columns of loaded gears, at the torques and speeds of middle states."""
    symbols = term.symbols
    speeds = {one.name: one.value for one in term.nonlinear(robot.robot)}
    for at, joint in enumerate(term.joints_of(robot.robot)):
        row = joint.v.start
        k = element_of(robot.forces, row)
        speed = np.maximum(np.abs(steps.v_middle[:, row]), np.finfo(float).tiny) * steps.mode[:, k]
        values = dict(zip(symbols, p[at * len(symbols) : (at + 1) * len(symbols)].tolist(), strict=True))
        nonlinear = np.array([speeds[f"{symbol}{joint.number}"] for symbol in term.nonlinear_symbols])
        features = term.features_at(speed, steps.motor[:, row], steps.bias[:, row], values, nonlinear)
        for column, feature in enumerate(features):
            yield row, at * len(symbols) + column, feature


def nonlinear_columns(robot: SimulatedRobot, steps: TakenSteps) -> Iterator[tuple[int, int, Array]]:
    """Slopes over Stribeck velocities: row, index into `model.nonlinear`, values (steps,).

    Raises:
        InvalidRequestError: If there are other nonlinear parameters.
    """
    forces, index = robot.forces, 0
    gears = gears_of(forces, steps)
    sharper = fading_slopes(forces, steps) * -(steps.v_middle @ forces.direction.T) / forces.stribeck
    for term in robot.model.terms:
        for joint, parameter in (
            zip(term.joints_of(robot.robot), term.nonlinear(robot.robot), strict=False)
            if isinstance(term, TermOfJoints)
            else ()
        ):
            if not (isinstance(term, Stribeck | GearFriction) and term.nonlinear_symbols == ("vs",)):
                raise InvalidRequestError(
                    f"rollouts have no slopes over '{parameter.name}' of {type(term).__name__}; state it in known, or "
                    "identify from torques"
                )
            k = element_of(forces, joint.v.start)
            side = np.where(steps.mode[:, k] > 0.0, *(forces.breakaway[k] - forces.kinetic[k]))
            more = side * steps.mode[:, k] + (0.0 if gears is None else gears.rest[:, k])
            yield joint.v.start, index, more * sharper[:, k]
            index += 1


def element_of(forces: JointForces, row: int) -> int:
    """The dry element of a joint alone.

    Raises:
        InvalidRequestError: If it has none, because all its friction is zero.
    """
    alone = np.flatnonzero((forces.direction != 0.0).sum(axis=1) == 1)
    own = [int(k) for k in alone if forces.direction[k, row] != 0.0]
    if not own:
        raise InvalidRequestError("friction of a joint is zero, so that its Stribeck velocity has no meaning")
    return own[0]
