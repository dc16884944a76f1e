"""Hobby servos: a position loop whose output is a voltage, behind which a DC motor has resistance and back-EMF.

The firmware turns the error of the position into a duty cycle, which switches the supply voltage:

    duty   = kp (command - q) + kd (velocity command - v), within -max_duty and max_duty
    torque = kt (duty V - kt v) / R

That is a proportional-derivative law within limits, less a damping that has none:

    torque = clip(kt V/R (kp (command - q) + kd (velocity command - v)), kt V/R max_duty) - kt^2/R v

All constants are those of the joint: behind a gear of ratio N, kt is N times the torque constant of the motor alone,
less what the gear loses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.settings import NotNegative, Positive, Table

Firmware = Literal["duty", "dynamixel_x", "feetech_sts"]
"""Units of a servo's gains: duty cycle per radian, or the numbers in the registers of these families."""

DUTY_OF_RAW: Mapping[str, float] = {
    "dynamixel_x": 4096 / (2.0 * math.pi) / 128.0 / 885.0,  # register / 128, in 1/885 of the duty per 1/4096 turn
    "feetech_sts": 0.166,  # measured on STS3215 servos by the BAM project
}
"""Duty cycle per radian of error, for a proportional gain of one in the register."""


@dataclass(frozen=True)
class ServoThresholds:
    """Which numbers a hobby servo cannot have. By judgement."""

    stiffest: float = 100.0
    """Duty cycle per radian from which a gain is refused: the full voltage at half a degree. Factory settings are 3 to
    7, and their registers hold 16 to 1100. By judgement."""

    stiff: float = 12.0
    """Duty cycle per radian from which a gain may be the number of a register, which a finding says. By judgement."""

    fastest: float = 60.0
    """No-load speed of a joint [rad/s] above which the constants are taken for those of a motor without its gear. Fast
    hobby servos reach 15. By judgement."""


SERVO_LIMITS = ServoThresholds()


def _one_or_each(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


PerJoint = Annotated[tuple[Positive, ...] | Positive, BeforeValidator(_one_or_each)]
"""One number for all joints, or one for each."""


class ServoLaw(TypedDict):
    """A servo as a control law within limits, each of shape (joints,); the keys are those of `Log`."""

    kp: Array
    kd: Array
    effort_limit: Array
    back_emf: Array


class Servo(Table):
    """`[control.servo]`: servos whose position loop outputs a voltage; one number for all joints, or one for each.

    `voltage` is that of the supply. The motor is stated by `torque_constant` [N m/A] and `resistance` [ohm], or by
    `stall_torque` [N m] and `no_load_speed` [rad/s] at this voltage, all at the joint, behind the gear. `kp` and `kd`
    are duty cycle per radian and per rad/s; with `firmware`, `kp` is the number in the register.

    >>> servo = Servo(voltage=12.0, torque_constant=1.2, resistance=2.4, kp=5.0)
    >>> law = servo.law(1)
    >>> [float(law[key][0]) for key in ("kp", "effort_limit", "back_emf")]  # N m/rad, N m, N m s/rad
    [30.0, 6.0, 0.6]
    """

    voltage: PerJoint | None = None
    torque_constant: PerJoint | None = None
    resistance: PerJoint | None = None
    stall_torque: PerJoint | None = None
    no_load_speed: PerJoint | None = None
    kp: PerJoint | None = None
    kd: Annotated[tuple[NotNegative, ...] | NotNegative, BeforeValidator(_one_or_each)] = 0.0
    max_duty: Annotated[
        tuple[Annotated[Positive, Field(le=1.0)], ...] | Annotated[Positive, Field(le=1.0)],
        BeforeValidator(_one_or_each),
    ] = 1.0
    firmware: Firmware = "duty"

    @model_validator(mode="before")
    @classmethod
    def _has_duty_of_one_at_most(cls, stated: Any) -> Any:
        duty = stated.get("max_duty", 1.0) if isinstance(stated, Mapping) else 1.0
        numbers = [x for x in np.ravel(duty).tolist() if isinstance(x, int | float)]
        if any(x > 1.0 for x in numbers):
            raise ValueError(
                f"max_duty is the largest share of the supply voltage, and {max(numbers):g} is more than all of it; "
                "state 1.0 or less (a limit of 100 % is 1.0, a PWM limit of 885 of 885 is 1.0)"
            )
        return stated

    @model_validator(mode="after")
    def _is_a_servo(self) -> Servo:
        if self.voltage is None:
            raise ValueError("a servo's torque is that of its supply: 'voltage' [V] is missing; state it, such as 12.0")
        if self.kp is None:
            raise ValueError(
                "the gain 'kp' of the servos is missing: duty cycle per radian, or the number in the register with "
                "firmware = 'dynamixel_x' or 'feetech_sts'"
            )
        by_circuit = (self.torque_constant, self.resistance)
        by_sheet = (self.stall_torque, self.no_load_speed)
        counts = sorted(sum(x is not None for x in pair) for pair in (by_circuit, by_sheet))
        if counts != [0, 2]:
            raise ValueError(
                "a servo's motor is stated by 'torque_constant' [N m/A] and 'resistance' [ohm], or by 'stall_torque' "
                "[N m] and 'no_load_speed' [rad/s] of its data sheet: both of one pair, and not the other"
            )
        if self.firmware != "duty" and np.any(np.asarray(self.kd) > 0.0):
            raise ValueError("'kd' has no known unit in registers: leave it out with 'firmware', or state both as duty")
        self._check_numbers()
        return self

    def _check_numbers(self) -> None:
        """Refuse what no servo has: register numbers for gains, and constants of a motor without its gear."""
        duty, speed = float(np.max(self.duty_gain)), float(np.max(self.constants[0] / self.constants[1]))
        if duty > SERVO_LIMITS.stiffest:
            raise ValueError(
                f"kp = {duty:.4g} duty cycle per radian is the full voltage at {1e3 / duty:.2g} mrad, which no servo "
                "has: is it the number in a register? State firmware = 'dynamixel_x' or 'feetech_sts' then"
            )
        if speed > SERVO_LIMITS.fastest:
            raise ValueError(
                f"these constants make a no-load speed of {speed:.4g} rad/s (voltage over torque constant), and joints "
                f"of servos stay below {SERVO_LIMITS.fastest:g}: state the torque constant at the joint, gear included"
            )

    @property
    def duty_gain(self) -> Array:
        """Duty cycle per radian of error, shape () or (joints,)."""
        return np.asarray(self.kp, dtype=float) * DUTY_OF_RAW.get(self.firmware, 1.0)

    @property
    def constants(self) -> tuple[Array, Array, Array]:
        """Supply voltage [V], torque constant [N m/A] and resistance [ohm], each of shape () or (joints,)."""
        V = np.asarray(self.voltage, dtype=float)
        if self.torque_constant is not None:
            return V, np.asarray(self.torque_constant, dtype=float), np.asarray(self.resistance, dtype=float)
        kt = V / np.asarray(self.no_load_speed, dtype=float)
        return V, kt, kt * V / np.asarray(self.stall_torque, dtype=float)

    def law(self, joints: int) -> ServoLaw:
        """The law of so many joints: gains [N m/rad, N m s/rad], largest torque [N m], back-EMF [N m s/rad].

        Raises:
            InvalidRequestError: If a key has not as many numbers as there are joints.
        """
        for key, value in self:
            if isinstance(value, tuple) and len(value) != joints:
                raise InvalidRequestError(
                    f"control.servo.{key} has {len(value)} numbers, and the robot has {joints} joints; state one for "
                    "all, or one for each"
                )
        V, kt, R = self.constants
        stall = kt * V / R
        kd, duty = np.asarray(self.kd, dtype=float), np.asarray(self.max_duty, dtype=float)
        parts = {"kp": stall * self.duty_gain, "kd": stall * kd, "effort_limit": stall * duty, "back_emf": kt**2 / R}
        return ServoLaw(**{key: np.broadcast_to(value, (joints,)).copy() for key, value in parts.items()})  # type: ignore[typeddict-item]
