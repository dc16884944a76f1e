"""What servos have to give for a motion: the torque before back-EMF, what gears take, and the command behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, frozen
from dynid.errors import InvalidRequestError
from dynid.excitation.limits.torques import PriorTorques
from dynid.logs import Servo, ServoLaw
from dynid.model import DynamicModel, Role, Slopes, matches, matching
from dynid.model.terms import GearFriction
from dynid.robot import Robot

ROUNDED_SPEED = 0.01
"""Speed [rad/s] below which the size of a velocity is rounded upwards, so that it has slopes everywhere."""

ROUNDED_TORQUE = 1e-3
"""The same of torques [N m]."""

REVERSAL_SPEED = 0.05
"""Speed [rad/s] within which commands take the friction of the other direction."""

MOST_GAIN = 0.9
"""Load-dependent friction per torque of the motor above which a gear cannot be moved."""

_GAINS = ("kl", "kls", "km", "kms", "ke", "kes", "qm", "qe")


@dataclass(frozen=True, eq=False)
class GearLoss:
    """The most that gears take: fixed + of_motor |r| + of_links |b| + of_square b^2, each of shape (nv,).

    r is what the motor gives beside friction, b what the links need without acceleration. With friction of loaded
    gears the motor's torque is at most |r| plus the loss, so that its own part grows: all is divided by 1 - km - kms.

    Attributes:
        fixed: Dry friction without load, near rest [N m or N].
        of_motor: Per torque of the motor.
        of_links: Per torque of the links.
        of_square: Per square of the links' torque [1/(N m)].
    """

    fixed: Array
    of_motor: Array
    of_links: Array
    of_square: Array

    @staticmethod
    def of(robot: Robot, friction: Array, values: Mapping[str, float]) -> GearLoss:
        """The loss of known parameters of friction.

        Args:
            robot: The robot.
            friction: Dry friction without load [N m or N], shape (nv,).
            values: Values by name, such as "kl1"; those of other parameters do not count.

        Raises:
            InvalidRequestError: If friction grows nearly as the motor's torque does.
        """
        one = {key: np.zeros(robot.nv) for key in _GAINS}
        for joint in robot.independent_joints:
            for key in _GAINS:
                one[key][joint.v.start] = values.get(f"{key}{joint.number}", 0.0)
        both = one["kl"] + one["kls"]
        motor, links = both + one["km"] + one["kms"], both + one["ke"] + one["kes"]
        for joint in robot.independent_joints:
            if motor[joint.v.start] >= MOST_GAIN:
                raise InvalidRequestError(
                    f"the friction of joint '{joint.name}' takes {motor[joint.v.start]:.0%} of its motor's torque "
                    "(kl + kls, or km + kms, in [known]), so that it could not move; correct these values"
                )
        left = 1.0 - motor
        return GearLoss(friction / left, motor / left, links / left, np.maximum(one["qm"], one["qe"]) / left)

    @property
    def depends_on_links(self) -> bool:
        """Whether any joint's loss depends on what its links need."""
        return bool(self.of_links.any() or self.of_square.any())


@dataclass(frozen=True, eq=False)
class ServoDrive:
    """Servos that move a robot along a motion.

    Attributes:
        torques: What the motion needs.
        loss: What the gears take.
        law: The servos as a control law within limits.
        max_duty: Largest duty cycles, shape (nv,).
        frame: Time for which a command is held [s].
    """

    torques: PriorTorques
    loss: GearLoss
    law: ServoLaw
    max_duty: Array
    frame: float

    @staticmethod
    def of(model: DynamicModel, servo: Servo, known: Mapping[str, float], rate: float) -> ServoDrive:
        """Servos of a robot, with friction and armature of the robot's file, or as they are known.

        Args:
            model: The robot and its terms.
            servo: The servos.
            known: Values of parameters that are known, by name or pattern.
            rate: How often commands change [Hz].

        Raises:
            InvalidRequestError: If there is not one number for each joint, or gears take all torque.
        """
        robot = model.robot
        values = {
            name: value
            for pattern, value in known.items()
            if matches(pattern, model.names)
            for name in matching([pattern], model.names)
        }
        torques = PriorTorques(robot, _stated(model, values))
        gears = {name: value for name, value in values.items() if _is_of_gear(model, name)}
        law = servo.law(robot.nv)
        duty = np.broadcast_to(np.asarray(servo.max_duty, dtype=float), (robot.nv,))
        return ServoDrive(torques, GearLoss.of(robot, torques.friction, gears), law, frozen(duty), 1.0 / rate)

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self.torques.robot

    @cached_property
    def _still(self) -> PriorTorques:
        """Torques without damping and armature: those of the links alone."""
        none = np.zeros(self.robot.nv)
        return PriorTorques(self.robot, {Role.VISCOUS: none, Role.ARMATURE: none, Role.COULOMB: none})

    def needed(self, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
        """Torques r beside dry friction, the loss of the gears, and torques of the links b, each (samples, nv)."""
        r = self.torques.smooth(q, v, a)
        b = self._still.smooth(q, v, np.zeros_like(v)) if self.loss.depends_on_links else np.zeros_like(r)
        loss = self.loss.fixed + self.loss.of_motor * _size(r, ROUNDED_TORQUE)
        return r, loss + self.loss.of_links * _size(b, ROUNDED_TORQUE) + self.loss.of_square * b**2, b

    def ripple(self, v: Array) -> Array:
        """Torque by which a held command swings about its mean while the joint moves on [N m or N], (samples, nv)."""
        return 0.5 * self.frame * self.law["kp"] * _size(v, ROUNDED_SPEED)

    def slopes(self, row: int, states: tuple[Array, Array, Array], over: tuple[Array, Array]) -> Slopes:
        """Slopes over q, v and a of some multiples of r + back-EMF and of the loss of one joint.

        Args:
            row: The joint's row.
            states: Positions, velocities and accelerations, each of shape (samples, nv).
            over: The multiples of both, each of shape (samples,).

        Returns:
            Three arrays of shape (samples, nv).
        """
        q, v, a = states
        of_drive, of_loss = over
        r, _, b = self.needed(q, v, a)
        of_torque = of_drive + of_loss * self.loss.of_motor[row] * _sign(r[:, row], ROUNDED_TORQUE)
        over_q, over_v, over_a = self.torques.slopes(row, q, v, a, of_torque)
        over_v = over_v.copy()
        over_v[:, row] += of_drive * self.law["back_emf"][row]
        if self.loss.depends_on_links:
            of_links = self.loss.of_links[row] * _sign(b[:, row], ROUNDED_TORQUE)
            of_links = of_loss * (of_links + 2.0 * self.loss.of_square[row] * b[:, row])
            more_q, more_v, _ = self._still.slopes(row, q, v, np.zeros_like(v), of_links)
            over_q, over_v = over_q + more_q, over_v + more_v
        return over_q, over_v, over_a

    def ripple_slope(self, v: Array) -> Array:
        """Slope of the ripple over the own velocity, the shape of v."""
        return 0.5 * self.frame * self.law["kp"] * _sign(v, ROUNDED_SPEED)

    def commands(self, q: Array, v: Array, a: Array) -> Array:
        """Commanded positions under which servos follow a motion [rad or m], shape (samples, nv).

        A position loop needs an error to give a torque: (r + friction + back-EMF + kd v) / kp, in parts of the stall
        torque.
        """
        r, loss, _ = self.needed(q, v, a)
        friction = loss * np.tanh(v / REVERSAL_SPEED)
        return q + (r + friction + (self.law["back_emf"] + self.law["kd"]) * v) / self.law["kp"]


def _size(x: Array, rounded: float) -> Array:
    """The size of a number, or a little more, so that it has slopes."""
    return np.sqrt(x**2 + rounded**2)


def _sign(x: Array, rounded: float) -> Array:
    """The slope of `_size`."""
    return x / np.sqrt(x**2 + rounded**2)


def _is_of_gear(model: DynamicModel, name: str) -> bool:
    """Whether a parameter belongs to friction of loaded gears."""
    terms = [term for term in model.terms if isinstance(term, GearFriction)]
    return any(name == parameter.name for term in terms for parameter in term.parameters(model.robot))


def _stated(model: DynamicModel, values: Mapping[str, float]) -> dict[Role, Array]:
    """Armature, viscous and dry friction that are known, by role, shape (nv,); NaN where they are not."""
    rows = {joint.name: joint.v.start for joint in model.robot.independent_joints}
    found = {role: np.full(model.robot.nv, np.nan) for role in (Role.ARMATURE, Role.VISCOUS, Role.COULOMB)}
    for parameter in model.parameters:
        if parameter.name not in values or parameter.owner not in rows:
            continue
        role = Role.COULOMB if parameter.role.is_dry else parameter.role
        if role in found:
            row = rows[parameter.owner]
            found[role][row] = np.nan_to_num(found[role][row]) + values[parameter.name]
    return found
