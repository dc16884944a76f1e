"""What rollouts are differentiated over."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dynid.model import DynamicModel


@dataclass(frozen=True)
class RolloutParameters:
    """What rollouts are differentiated over; columns stand in this order.

    Attributes:
        model: Linear parameters, as indices into `model.names`.
        delay: Whether the delay of the commands [s] is one.
        nonlinear: Nonlinear parameters, as indices into `model.nonlinear`: Stribeck velocities.
        bias: Coordinates whose encoder bias [rad or m] is one. The start is measured, so its true position follows.
        kp: Coordinates whose gain on positions has a scale (one now) that is one.
        kd: The same of gains on velocities.
        limit: The same of largest torques.
        start_position: Coordinates whose first position [rad or m] is one.
        start_velocity: The same of velocities [rad/s or m/s].
    """

    model: tuple[int, ...] = ()
    delay: bool = False
    nonlinear: tuple[int, ...] = ()
    bias: tuple[int, ...] = ()
    kp: tuple[int, ...] = ()
    kd: tuple[int, ...] = ()
    limit: tuple[int, ...] = ()
    start_position: tuple[int, ...] = ()
    start_velocity: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def scaled(self) -> int:
        """How many columns are scales of the law, which stand before those of the start."""
        return len(self.kp) + len(self.kd) + len(self.limit)

    @cached_property
    def columns(self) -> tuple[tuple[str, int], ...]:
        """What each column is of, and its index or coordinate."""
        kinds = ("bias", "kp", "kd", "limit", "start_position", "start_velocity")
        of_joints = ((kind, at) for kind in kinds for at in getattr(self, kind))
        of_terms = (*(("model", at) for at in self.model), *((("delay", 0),) * self.delay))
        return (*of_terms, *(("nonlinear", at) for at in self.nonlinear), *of_joints)

    def names(self, model: DynamicModel) -> tuple[str, ...]:
        """Names of the columns: those of the model's parameters, `delay`, and `bias3` and so on by joints' numbers."""
        numbers = {joint.v.start: joint.number for joint in model.robot.independent_joints}
        plain = {"model": model.names, "delay": ("delay",)}
        plain["nonlinear"] = tuple(parameter.name for parameter in model.nonlinear)
        return tuple(plain[kind][at] if kind in plain else f"{kind}{numbers[at]}" for kind, at in self.columns)
