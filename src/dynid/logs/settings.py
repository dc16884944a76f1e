"""`[drive]` and `[[log]]`: what was measured, and how it is related to joints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from dynid.logs.processing.automatic import KEYS
from dynid.logs.readers.bags import is_bag
from dynid.settings import Count, Name, NotNegative, Number, Positive, Table


class Coupling(Table):
    """A motor that turns with another joint, too."""

    motor: Name
    joint: Name
    ratio: Number


class DriveTable(Table):
    """`[drive]`: from what motors do to what joints do; one number a joint."""

    ratios: tuple[Number, ...] | None = None
    couplings: tuple[Coupling, ...] = ()
    matrix: tuple[tuple[Number, ...], ...] | None = None
    torque_constants: tuple[Number, ...] | None = None
    signs: tuple[Literal[-1, 1], ...] | Literal["auto"] | None = None
    unmeasured: tuple[Name, ...] | None = None
    offsets: tuple[Number, ...] | None = None
    delay: Number = 0.0
    positions: Literal["motor", "joint"] = "joint"
    torques: Literal["motor", "joint"] = "joint"

    @model_validator(mode="after")
    def _uses_its_ratios(self) -> DriveTable:
        if (self.ratios or self.couplings or self.matrix) and self.positions == self.torques == "joint":
            raise ValueError("ratios, couplings and matrix have no effect while positions and torques are both 'joint'")
        if self.matrix is not None and (self.ratios or self.couplings):
            raise ValueError("a matrix holds all ratios and couplings; leave 'ratios' and 'couplings' out")
        if self.matrix is not None and any(len(row) != len(self.matrix) for row in self.matrix):
            raise ValueError("the transmission matrix must be square: one row a motor, one column a joint")
        if 0.0 in (self.torque_constants or ()):
            raise ValueError("a torque constant cannot be zero")
        return self


class QuantityTable(Table):
    """Where a quantity of a log is: a file, its columns, and their unit; in bags a topic and a field, too."""

    file: Name
    topic: Name | None = None
    field: Name | None = None
    columns: str | int | Annotated[tuple[str | int, ...], Field(min_length=1)] | None = None
    unit: str | None = None
    flat: bool = False


class LogTable(Table):
    """`[[log]]`: one recording."""

    name: Name | None = None
    position: QuantityTable
    torque: QuantityTable
    velocity: QuantityTable | None = None
    time: QuantityTable | None = None
    temperature: QuantityTable | None = None
    rate: Positive | None = None
    rows: tuple[int, int] | None = None
    seconds: tuple[Number, Number] | None = None
    weight: Positive = 1.0

    @model_validator(mode="after")
    def _has_time(self) -> LogTable:
        if self.time is not None and self.rate is not None:
            raise ValueError("a log needs either 'time' or 'rate', and not both")
        if self.time is None and self.rate is None and not is_bag(Path(self.position.file)):
            raise ValueError("a log needs either 'time' or 'rate'; only bags have stamps of their own")
        if self.rows is not None and self.seconds is not None:
            raise ValueError("a log is cut by 'rows' or by 'seconds', not by both")
        return self


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
