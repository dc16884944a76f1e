"""Controllers that let a simulated robot follow a trajectory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.robot.robot import Robot


class ControlLaw(StrEnum):
    """How torques come from errors e = q_reference - q."""

    PD = "pd"
    """Kp e + Kd e'."""
    PD_GRAVITY = "pd_gravity"
    """The same and gravity torques, as the controller knows them."""
    COMPUTED_TORQUE = "computed_torque"
    """M (a_reference + Kp e + Kd e') + c + g and what joints add, as the controller knows them."""


@dataclass(frozen=True)
class Controller:
    """A controller with a zero-order hold: torques change at its ticks, and are constant between them.

    Attributes:
        law: How torques come from errors.
        bandwidth: Natural frequency of each joint's errors [Hz]; one for all, or one each. Gains are
            Kp = (2 pi bandwidth)^2 and Kd = 2 damping (2 pi bandwidth), for PD times the joint's inertia at the start
            as the controller knows it.
        damping: Damping ratio; 1 is critical.
        rate: Ticks a second [Hz].
        saturates: Whether torques stay within the joints' effort limits.
    """

    law: ControlLaw = ControlLaw.COMPUTED_TORQUE
    bandwidth: float | tuple[float, ...] = 10.0
    damping: float = 1.0
    rate: float = 1000.0
    saturates: bool = True

    def __post_init__(self) -> None:
        for what, value in (("bandwidth", self.bandwidth), ("damping", self.damping), ("rate", self.rate)):
            if not all(0.0 < number < math.inf for number in np.atleast_1d(value)):
                raise InvalidRequestError(f"the controller's {what} must be positive, not {value}")

    def gains(self, inertia: Array) -> tuple[Array, Array]:
        """Stiffness and damping of each joint, of shape (nv,), for its inertia at the start [kg m^2], shape (nv,)."""
        each: Sequence[float] = self.bandwidth if isinstance(self.bandwidth, tuple) else (self.bandwidth,)
        if len(each) not in (1, len(inertia)):
            raise InvalidRequestError(
                f"{len(each)} bandwidths are given for {len(inertia)} joints; give one, or one each"
            )
        w = 2.0 * math.pi * np.broadcast_to(np.array(each, dtype=float), inertia.shape)
        scale = np.ones(len(inertia)) if self.law is ControlLaw.COMPUTED_TORQUE else inertia
        return w**2 * scale, 2.0 * self.damping * w * scale

    def limits(self, robot: Robot) -> Array:
        """Largest torque of each joint [N m or N], shape (nv,); limits of zero count as not stated."""
        efforts = [joint.limits.effort for joint in robot.independent_joints]
        return np.array([effort if self.saturates and effort > 0.0 else math.inf for effort in efforts])
