"""`[excitation.replay]`: how the numbers of a LeRobot arm stand for positions, for files that it replays."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from dynid.settings import Name, Number, Table

ReplayUnit = Literal["degrees", "radians", "normalised"]
"""Units of positions: LeRobot arms take degrees (`use_degrees`), or -100 to 100 over each joint's calibrated range."""


class ReplaySettings(Table):
    """`[excitation.replay]`: units, names, zeros and directions of a LeRobot arm's joints.

    `unit` is "degrees", "radians" or "normalised": -100 to 100 over `range`, which is the robot file's where none is
    stated; joints in `percent`, such as a gripper, go from 0 to 100 over it, whatever the unit. `zero` is where the
    arm reads zero, as a position of the robot's file; `reversed` names joints that count the other way. A joint's
    number is called "JOINT.pos", or as `names` says.
    """

    unit: ReplayUnit = "degrees"
    names: dict[Name, Name] = Field(default={})
    zero: dict[Name, Number] = Field(default={})
    range: dict[Name, tuple[Number, Number]] = Field(default={})
    reversed: tuple[Name, ...] = ()
    percent: tuple[Name, ...] = ()

    @model_validator(mode="after")
    def _has_ranges(self) -> ReplaySettings:
        for joint, (low, high) in self.range.items():
            if not low < high:
                raise ValueError(
                    f"the range of joint '{joint}' is from {low:g} to {high:g}; state its calibrated ends [rad], the "
                    "lower one first (reversed names joints that count the other way)"
                )
        if self.unit == "normalised" and self.zero:
            raise ValueError("normalised positions have their zero in the middle of the range; leave 'zero' out")
        both = sorted(set(self.zero) & set(self.percent))
        if both:
            raise ValueError(f"joint '{both[0]}' is in 'percent', whose zero is the end of its range; leave zero out")
        return self
