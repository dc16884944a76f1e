"""`[simulation]`: the robot that is not there."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dynid.settings import Count, Name, NotNegative, Number, Positive, Table


class PayloadTable(Table):
    """`[simulation.payload]`: a body welded to the link that a joint moves, in the frame of that joint."""

    mass: Positive
    com: tuple[Number, Number, Number] = (0.0, 0.0, 0.0)
    inertia: tuple[Number, Number, Number, Number, Number, Number] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    joint: Name | None = None


class SensorTable(Table):
    """`[simulation.sensors]`: how a simulated run is measured."""

    encoder: NotNegative = 0.0
    noise: tuple[NotNegative, ...] | NotNegative = 0.0
    signal_to_noise: Number | None = None
    torque_constant_error: NotNegative = 0.0
    delay: NotNegative = 0.0
    jitter: NotNegative = 0.0
    dropped: NotNegative = 0.0
    saturation: Positive | None = None


class SimulationTable(Table):
    """`[simulation]`: the simulated robot, what it follows, its controller and its sensors."""

    trajectory: Name | None = None
    periods: Count = 1
    settling: Annotated[int, Field(strict=True, ge=0)] | None = None
    controller: Literal["pd", "pd_gravity", "computed_torque"] = "computed_torque"
    bandwidth: tuple[Positive, ...] | Positive = 10.0
    damping: Positive = 1.0
    rate: Positive = 1000.0
    log_rate: Positive | None = None
    saturates: bool = True
    start: tuple[Number, ...] | None = None
    lead_in: NotNegative = 0.0
    parameters: dict[str, Number] = {}
    smoothing: NotNegative = 0.0
    stribeck: tuple[Number, Positive] | None = None
    payload: PayloadTable | None = None
    sensors: SensorTable = SensorTable()
    seed: Annotated[int, Field(strict=True, ge=0)] = 0
    specimen: Annotated[int, Field(strict=True, ge=0)] = 0
