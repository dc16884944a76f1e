"""`[processing]`: from signals to rows."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from dynid.config.fields import Count, NotNegative, Positive, Table
from dynid.data.automatic import KEYS


class ProcessingTable(Table):
    """`[processing]`: what is done to the signals; without it, that is chosen by what the log shows."""

    automatic: bool | None = None
    resample: Positive | Literal["none"] | None = None
    median: Count | None = None
    outliers: Literal["repair", "keep"] | None = None
    idle: Literal["cut", "keep"] | None = None
    lowpass: Positive | Literal["none"] | None = None
    torque_lowpass: Positive | Literal["none"] | None = None
    order: Annotated[int, Field(strict=True, ge=1, le=20)] = 4
    derivative: Literal["central", "savitzky_golay", "spline"] = "central"
    window: Count = 11
    degree: Count = 3
    trim: Annotated[int, Field(strict=True, ge=0)] = 0
    period: Positive | None = None
    decimate: tuple[Count, ...] = ()
    rate: Positive | None = None
    velocity_threshold: tuple[NotNegative, ...] | NotNegative | None = None

    @model_validator(mode="after")
    def _thins_out_once(self) -> ProcessingTable:
        if self.decimate and self.rate is not None:
            raise ValueError("samples are thinned out by 'decimate' or by 'rate', not by both")
        return self

    @model_validator(mode="after")
    def _averages_as_stated(self) -> ProcessingTable:
        if self.period is not None and (self.outliers == "repair" or self.idle == "cut"):
            raise ValueError("where periods are averaged, 'outliers' are not repaired and rest is not cut ('idle')")
        return self

    def free(self) -> frozenset[str]:
        """Keys that are chosen by what the log shows."""
        stated = {key for key in self.model_fields_set if getattr(self, key) is not None}
        wished = {key for key, value in (("outliers", "repair"), ("idle", "cut")) if getattr(self, key) == value}
        is_automatic = not stated if self.automatic is None else self.automatic
        if not is_automatic:
            return frozenset(wished)
        thinned = {"decimate"} if "rate" in stated else set()
        return frozenset(KEYS - stated - thinned | wished)
