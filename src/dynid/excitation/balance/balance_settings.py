"""`[excitation.balance]`: what a robot stands on, and how it keeps its balance."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from dynid.settings import Name, Number, Positive, Table

Point = tuple[Number, Number]
"""x and y [m] on the ground."""

Placement = tuple[Number, Number, Number]
"""x and y [m] on the ground, and the angle about the vertical [rad]."""


class BalanceSettings(Table):
    """`[excitation.balance]`: postures, then motions between them, of a robot that stands on the ground."""

    stands_on: tuple[Name, ...] = Field(min_length=1)
    """Bodies that stand still on the ground: one foot, two, four, or the base."""
    identify: tuple[Name, ...] | None = None
    """Joints that move for identification; all but those of `balance` when left out."""
    balance: tuple[Name, ...] | None = None
    """Joints that may move to keep the balance; without `identify` and `balance` all joints do both."""
    posture: dict[Name, Number] = Field(default={})
    """The posture [rad or m] in which the feet stand; else a standing posture of the SRDF file, else zero."""
    place: dict[Name, Placement] = Field(default={})
    """Where feet stand, in the world in which the base is above the origin; else as in that posture."""
    margin: Annotated[float, Field(strict=True, ge=0.0)] = 0.015
    """Smallest distance [m] of the zero-moment point from the edges of the support polygon."""
    half_size: tuple[Positive, Positive] | None = None
    """Half the length and width [m] of each sole about its body's origin, where the geometry is not to be taken."""
    polygon: tuple[Point, ...] | None = None
    """Corners of the support polygon in the world, where the feet's own contact points are not to be taken."""
    bolted: bool = False
    """Whether the feet are bolted to the ground, which then pulls, too: the zero-moment point has no limit."""
    friction: Positive = 0.5
    """Coefficient of friction of the feet on the ground; forces along the ground stay within it."""
    force_noise: Positive = 1.0
    """Standard deviation [N] of each measured force of each foot."""
    moment_noise: Positive = 0.3
    """Standard deviation [N m] of each measured moment of each foot."""
    uncertainty: Positive = 0.15
    """Standard deviation of the file's parameters, relative to the mass and size of their links."""
    postures: Annotated[int, Field(strict=True, ge=2, le=200)] = 30
    """Number of static postures."""
    hold: Positive = 1.0
    """How long the robot stands still at each of them [s]."""
    duration: Positive | None = None
    """How long all may take [s]: motions between postures are added up to it; once through all when left out."""
    candidates: Annotated[int, Field(strict=True, ge=50, le=20_000)] = 1500
    """Random postures in balance that the postures are chosen from."""

    @model_validator(mode="after")
    def _names_bodies_once(self) -> BalanceSettings:
        if len(set(self.stands_on)) < len(self.stands_on):
            raise ValueError(f"stands_on names a body twice: {', '.join(self.stands_on)}")
        unknown = next((name for name in self.place if name not in self.stands_on), None)
        if unknown is not None:
            raise ValueError(f"'place' has '{unknown}', which is not among stands_on; add it, or leave it out")
        both = set(self.identify or ()) & set(self.balance or ())
        if both:
            raise ValueError(f"'{min(both)}' is in both identify and balance; name it in one of them")
        if self.polygon is not None and (self.half_size is not None or len(self.polygon) < 3):
            raise ValueError(
                "the support polygon has 3 corners or more in 'polygon', or soles of 'half_size'; not both"
            )
        return self
