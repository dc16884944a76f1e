"""`[excitation]`: how exciting trajectories are designed, within which limits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasChoices, Field, model_validator

from dynid.excitation.balance.balance_settings import BalanceSettings
from dynid.excitation.replay_settings import ReplaySettings
from dynid.settings import Count, Name, Number, PerJoint, Positive, Table

Vector = tuple[Number, Number, Number]
"""x, y and z in the base frame."""

JointLimit = PerJoint | dict[str, Positive]
"""One for all joints, one for each, or some by name: the others are the robot file's."""


Part = Annotated[float, Field(strict=True, gt=0.0, le=1.0)]
"""A part of a limit."""


class FrameSpeed(Table):
    """`[[excitation.speed]]`: the largest speed [m/s] of the origin of a body's frame."""

    frame: Name
    limit: Positive


class FrameBox(Table):
    """`[[excitation.box]]`: the box [m], along the base's axes, that the origin of a body's frame may not leave."""

    frame: Name
    lower: tuple[float, float, float]
    upper: tuple[float, float, float]

    @model_validator(mode="after")
    def _has_room(self) -> FrameBox:
        if not all(low < high for low, high in zip(self.lower, self.upper, strict=True)):
            raise ValueError(f"the box from {list(self.lower)} to {list(self.upper)} has no room; widen it")
        return self


class WallSettings(Table):
    """`[[excitation.wall]]`: a plane through a point [m] that the robot stays in front of; its normal points there."""

    point: Vector
    normal: Vector
    name: Name | None = None

    @model_validator(mode="after")
    def _has_direction(self) -> WallSettings:
        if not any(self.normal):
            raise ValueError("the normal of a wall is zero; state the direction towards the robot, such as [1, 0, 0]")
        return self


class ObstacleSettings(Table):
    """`[[excitation.obstacle]]`: a box that stands still: its centre [m], edges [m], and roll, pitch, yaw [rad]."""

    centre: Vector
    size: tuple[Positive, Positive, Positive]
    rpy: Vector = (0.0, 0.0, 0.0)
    name: Name | None = None


FamilyName = Literal["fourier", "spline", "b-spline", "polynomial", "trapezoid", "double-s", "multisine", "chirp"]
"""Families of trajectories, as users call them."""

_FAMILIES_OF: dict[str, tuple[FamilyName, ...]] = {
    "harmonics": ("fourier", "multisine"),
    "frequency": ("fourier", "multisine"),
    "waypoints": ("spline", "b-spline", "trapezoid", "double-s"),
    "degree": ("spline", "b-spline", "polynomial"),
    "pieces": ("polynomial",),
    "lines": ("multisine",),
    "band": ("multisine", "chirp"),
    "bound": ("fourier",),
}
"""Keys that only some families have."""


class ExcitationSettings(Table):
    """`[excitation]`: the trajectory, the criterion and the limits; limits not stated are the robot file's."""

    family: FamilyName = "fourier"
    waypoints: Count | None = None
    degree: Count | None = None
    pieces: Count | None = None
    lines: tuple[Count, ...] | None = None
    band: tuple[Positive, Positive] | None = None
    harmonics: Count = 5
    period: Positive | None = None
    frequency: Positive | None = None
    periods: Count = 1
    samples: Annotated[int, Field(strict=True, ge=10)] | None = None
    rate: Positive = 125.0
    criterion: Name = "condition"
    scale: Literal["none", "magnitudes"] = "none"
    prior_std: dict[str, Positive] = Field(default={}, validation_alias=AliasChoices("prior_std", "deviations"))
    noise: JointLimit | None = None
    start: tuple[Number, ...] | dict[str, Number] = {}
    home: tuple[Number, ...] | None = None
    moving: tuple[Name, ...] | None = None
    bound: Literal["samples", "amplitudes"] = "samples"
    position: tuple[tuple[Number, Number], ...] | tuple[Number, Number] | dict[str, tuple[Number, Number]] | None = None
    velocity: JointLimit | None = None
    acceleration: JointLimit | None = None
    jerk: JointLimit | None = None
    effort: JointLimit | None = None
    rms_effort: PerJoint | None = None
    margin: Annotated[float, Field(strict=True, ge=0.0, lt=1.0)] = 0.0
    speed: tuple[FrameSpeed, ...] = ()
    box: tuple[FrameBox, ...] = ()
    collisions: bool = True
    clearance: Positive = 0.02
    floor: bool | Number | None = None
    wall: tuple[WallSettings, ...] = ()
    obstacle: tuple[ObstacleSettings, ...] = ()
    srdf: Name | None = None
    ignore_pairs: tuple[tuple[Name, Name], ...] = ()
    postures: Annotated[int, Field(strict=True, ge=2, le=1000)] | None = None
    hold: Positive = 1.0
    both_sides: bool = False
    friction_runs: bool = False
    payload: Name | None = None
    payload_mass: Positive | None = None
    speeds: Annotated[int, Field(strict=True, ge=1, le=100)] | tuple[Part, ...] = 6
    commands: bool = False
    duration: Annotated[float, Field(strict=True, ge=1.0, le=600.0)] | None = None
    command_rate: Positive | None = None
    position_noise: JointLimit | None = None
    amplitude: JointLimit | None = None
    balance: BalanceSettings | None = None
    replay: ReplaySettings = ReplaySettings()

    @property
    def posture_criterion(self) -> str:
        """The criterion of postures; where none is stated, the sum of variances (trace)."""
        return self.criterion if "criterion" in self.model_fields_set else "trace"

    @model_validator(mode="after")
    def _keys_belong_to_the_family(self) -> ExcitationSettings:
        for key in sorted(self.model_fields_set & set(_FAMILIES_OF)):
            families = _FAMILIES_OF[key]
            if self.commands and key == "band":
                continue
            if self.family not in families and getattr(self, key) is not None:
                raise ValueError(
                    f"'{key}' belongs to the family {' or '.join(families)}, and the family is {self.family}; leave it "
                    "out, or state another family"
                )
        return self

    @model_validator(mode="after")
    def _states_things_once(self) -> ExcitationSettings:
        if self.period is not None and self.frequency is not None:
            raise ValueError("the motion repeats after 'period' (s) or with 'frequency' (rad/s); state one")
        if self.lines is not None and (self.band is not None or "harmonics" in self.model_fields_set):
            raise ValueError("a multisine has 'lines', or so many 'harmonics' within a 'band' (Hz); state one")
        if self.postures is not None and self.friction_runs:
            raise ValueError("'postures' and 'friction_runs' are motions of their own; ask for one of them")
        if self.payload_mass is not None and self.payload is None:
            raise ValueError("'payload_mass' is of a motion for a load; name the body that carries it in 'payload'")
        if self.payload is not None and (self.postures is not None or self.friction_runs or self.commands):
            raise ValueError("a motion for a 'payload' is none of 'postures', 'friction_runs' and 'commands'")
        if self.commands and (self.postures is not None or self.friction_runs):
            raise ValueError("'commands' are no 'postures' or 'friction_runs'; ask for one of them")
        of_commands = ("duration", "command_rate", "position_noise", "amplitude")
        if not self.commands and (key := next((one for one in of_commands if getattr(self, one) is not None), None)):
            raise ValueError(f"'{key}' belongs to designed commands; add commands = true (--commands), or leave it out")
        others = (self.postures is not None, self.friction_runs, self.commands, self.payload is not None)
        if self.balance is not None and any(others):
            raise ValueError(
                "a robot that stands in [excitation.balance] has postures of its own (excitation.balance.postures), "
                "and no friction runs, commands or motions for a payload; leave these out"
            )
        if self.prior_std and self.scale != "none":
            raise ValueError("columns are scaled by 'scale' or by 'prior_std', not by both")
        return self
