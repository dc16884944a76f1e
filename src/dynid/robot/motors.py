"""Motors behind a transmission: how fast each turns with the joints that it drives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.robot.joints import JointDynamics

if TYPE_CHECKING:
    from dynid.robot.robot import Robot


@dataclass(frozen=True)
class Motor:
    """A motor, one row of the transmission matrix N: its velocity is the sum of ratio * joint velocity.

    Attributes:
        beside: The joint in whose place it is counted and logged, by name or number.
        ratios: The joints that it drives, by name or number, each with its ratio (motor over joint velocity, signed).
        name: Its own name in the robot's file; empty for none.
        offsets: Of these joints, their position where the motor is at zero [rad or m]; zero where left out.
        dynamics: What the file says of its inertia and friction, on its own side of the transmission.
    """

    beside: str | int
    ratios: tuple[tuple[str | int, float], ...]
    name: str = ""
    offsets: tuple[float, ...] = ()
    dynamics: JointDynamics = JointDynamics()

    def number(self, robot: Robot) -> int:
        """The number of the joint in whose place it is counted."""
        return robot.joint(self.beside).number

    def row(self, robot: Robot) -> Array:
        """Its row of N, shape (nv,); a joint that follows another counts as that one."""
        N = np.zeros(robot.nv)
        for key, ratio in self.ratios:
            joint = robot.joint(key)
            N[joint.v] += ratio * joint.ratio
        return N


def moving_motors(robot: Robot) -> tuple[Motor, ...]:
    """The motors that are stated for a robot, without joints that do not move; none where nothing is stated.

    Joints that no stated motor drives have one of their own, with a ratio of one.
    """
    moving = {joint.name: joint for joint in robot.joints}
    found: list[Motor] = []
    for motor in robot.description.motors:
        kept = [k for k, (key, ratio) in enumerate(motor.ratios) if key in moving and ratio != 0.0]
        if kept:
            ratios = tuple(motor.ratios[k] for k in kept)
            offsets = tuple(motor.offsets[k] for k in kept) if motor.offsets else ()
            beside = motor.beside if motor.beside in moving else ratios[0][0]
            found.append(replace(motor, beside=beside, ratios=ratios, offsets=offsets))
    if not found:
        return ()
    driven = np.any([motor.row(robot) != 0.0 for motor in found], axis=0)
    own = [joint for joint in robot.independent_joints if joint.kind.nv == 1 and not driven[joint.v.start]]
    return (*found, *(Motor(joint.name, ((joint.name, 1.0),)) for joint in own))


def with_matrix(robot: Robot, matrix: Array) -> Robot:
    """The robot with the motors of a transmission matrix N, shape (axes, axes): a row for each motor, as the joints."""
    owners = {k: joint.name for k, joint in enumerate(robot.axes)}
    motors = []
    for row, name in owners.items():
        driven = [(other, float(matrix[row, at])) for at, other in owners.items() if matrix[row, at] != 0.0]
        motors.append(Motor(name, tuple(driven)))
    return with_motors(robot, motors)


def with_motors(robot: Robot, motors: Sequence[Motor]) -> Robot:
    """The robot with these motors instead of those of its file; joints by name."""
    return replace(robot, description=replace(robot.description, motors=tuple(motors)))


def matrix_of(robot: Robot) -> tuple[Array, Array]:
    """The transmission matrix N of the motors that a robot's file states, shape (axes, axes), and joints' offsets.

    Returns:
        N, with the motors in the places of the joints beside them; and the positions of joints [rad or m] where the
        motors are at zero, shape (axes,).

    Raises:
        InvalidRequestError: If nothing states motors, or there is not one for each joint.
    """
    N, offsets = np.zeros((robot.nv, robot.nv)), np.zeros(robot.nv)
    motors = robot.motors
    taken: set[int] = set()
    for motor in motors:
        row = robot.joint(motor.beside).v.start
        if row in taken:
            raise InvalidRequestError(
                f"two motors of '{robot.name}' stand beside joint '{motor.beside}'; state drive.matrix in numbers"
            )
        taken.add(row)
        N[row] = motor.row(robot)
        for (key, _), offset in zip(motor.ratios, motor.offsets, strict=False):
            offsets[robot.joint(key).v] = offset
    axes = [joint.v.start for joint in robot.axes]
    if len(taken) < len(axes):
        why = "states no transmissions" if not motors else f"states {len(taken)} motors for {len(axes)} joints"
        raise InvalidRequestError(f"the file of '{robot.name}' {why}; state drive.matrix in numbers")
    return N[np.ix_(axes, axes)], offsets[axes]
