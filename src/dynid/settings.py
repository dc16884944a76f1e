"""What every table of an experiment file is made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Number = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e30, le=1e30)]
Positive = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0, le=1e30)]
NotNegative = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1e30)]
Count = Annotated[int, Field(strict=True, ge=1)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
PerJoint = tuple[Positive, ...] | Positive
"""One for all joints, or one for each."""


class Table(BaseModel):
    """A table of the experiment file: it has no other keys, and never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)
