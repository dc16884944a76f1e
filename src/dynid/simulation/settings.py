"""`[simulation]`: the simulated robot, its controller and its sensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.robot import Robot
from dynid.settings import Count, Name, NotNegative, Number, Positive, Table

MOST_DROPPED = 0.9
"""Largest share of samples that may be dropped."""

MOST_JITTER = 0.2
"""Largest jitter, in parts of the sampling period: beyond, stamps would no longer ascend."""

LARGEST_ERROR = 0.5
"""Relative standard deviation that torque constants must stay below."""


class ControlLaw(StrEnum):
    """How torques come from errors e = q_reference - q."""

    PD = "pd"
    """Kp e + Kd e'."""
    PD_GRAVITY = "pd_gravity"
    """The same and gravity torques, as the controller knows them."""
    COMPUTED_TORQUE = "computed_torque"
    """M (a_reference + Kp e + Kd e') + c + g and the friction and actuator terms, as the controller knows them."""


class Controller(Table):
    """A controller with a zero-order hold: torques change at its ticks, and are constant between them.

    Attributes:
        controller: How torques come from errors.
        bandwidth: Natural frequency of each joint's errors [Hz]; one for all, or one each. Gains are
            Kp = (2 pi bandwidth)^2 and Kd = 2 damping (2 pi bandwidth), for PD times the joint's inertia at the start
            as the controller knows it.
        damping: Damping ratio; 1 is critical.
        rate: Ticks per second [Hz].
        saturates: Whether torques stay within the joints' effort limits.
    """

    controller: ControlLaw = ControlLaw.COMPUTED_TORQUE
    bandwidth: tuple[Positive, ...] | Positive = 10.0
    damping: Positive = 1.0
    rate: Positive = 1000.0
    saturates: bool = True

    def gains(self, inertia: Array) -> tuple[Array, Array]:
        """Stiffness and damping of each joint, of shape (nv,), for its inertia at the start [kg m^2], shape (nv,)."""
        each: Sequence[float] = self.bandwidth if isinstance(self.bandwidth, tuple) else (self.bandwidth,)
        if len(each) not in (1, len(inertia)):
            raise InvalidRequestError(
                f"{len(each)} bandwidths are given for {len(inertia)} joints; give one, or one each"
            )
        w = 2.0 * math.pi * np.broadcast_to(np.array(each, dtype=float), inertia.shape)
        scale = np.ones(len(inertia)) if self.controller is ControlLaw.COMPUTED_TORQUE else inertia
        return w**2 * scale, 2.0 * self.damping * w * scale

    def limits(self, robot: Robot) -> Array:
        """Largest torque of each joint [N m or N], shape (nv,); limits of zero count as not stated."""
        efforts = [joint.limits.effort for joint in robot.independent_joints]
        return np.array([effort if self.saturates and effort > 0.0 else math.inf for effort in efforts])


class Payload(Table):
    """`[simulation.payload]`: a body welded to the link that a joint moves, in the frame of that joint."""

    mass: Positive
    com: tuple[Number, Number, Number] = (0.0, 0.0, 0.0)
    inertia: tuple[Number, Number, Number, Number, Number, Number] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    joint: Name | None = None


class Sensors(Table):
    """`[simulation.sensors]`: how a run is measured, in the units of the log, on the side that it is logged on.

    The defaults are perfect sensors.

    Attributes:
        encoder: Resolution of the encoders [rad or m]; zero for none.
        noise: Standard deviation of white noise on torques or currents [N m or A]; one for all, or one per joint.
        signal_to_noise: The same as a ratio of powers [dB] for each joint, such as 50.
        torque_constant_error: Relative standard deviation of each motor's torque constant around the stated one.
        delay: Time [s] by which torques are logged later than positions.
        jitter: Standard deviation of sampling times, in parts of the period; they are stamped correctly.
        dropped: Share of samples that are missing.
        saturation: Largest torque or current that is shown [N m or A].
    """

    encoder: NotNegative = 0.0
    noise: tuple[NotNegative, ...] | NotNegative = 0.0
    signal_to_noise: Number | None = None
    torque_constant_error: NotNegative = 0.0
    delay: NotNegative = 0.0
    jitter: NotNegative = 0.0
    dropped: NotNegative = 0.0
    saturation: Positive | None = None

    @model_validator(mode="after")
    def _leave_a_log(self) -> Sensors:
        if self.jitter > MOST_JITTER or self.dropped > MOST_DROPPED:
            raise ValueError(
                f"a jitter of {self.jitter:g} periods or {self.dropped:.0%} dropped samples leave no log; at most "
                f"{MOST_JITTER:g} and {MOST_DROPPED:.0%}"
            )
        if self.torque_constant_error >= LARGEST_ERROR:
            raise ValueError(
                f"a torque_constant_error of {self.torque_constant_error:g} would flip the sign of some motors; it "
                f"must be below {LARGEST_ERROR:g}, such as 0.01"
            )
        if self.signal_to_noise is not None and np.any(self.noise):
            raise ValueError("give the noise or the signal-to-noise ratio of the sensors, not both")
        return self


class SimulationSettings(Controller):
    """`[simulation]`: the simulated robot, the trajectory it follows, its controller and its sensors."""

    trajectory: Name | None = None
    periods: Count = 1
    settling: Annotated[int, Field(strict=True, ge=0)] | None = None
    log_rate: Positive | None = None
    start: tuple[Number, ...] | None = None
    lead_in: NotNegative = 0.0
    parameters: dict[str, Number] = {}
    smoothing: NotNegative = 0.0
    stribeck: tuple[Number, Positive] | None = None
    payload: Payload | None = None
    sensors: Sensors = Sensors()
    seed: Annotated[int, Field(strict=True, ge=0)] = 0
    specimen: Annotated[int, Field(strict=True, ge=0)] = 0
