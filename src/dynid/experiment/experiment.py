"""The experiment: everything particular to one robot and one set of logs, typed and frozen."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from dynid.estimation import EstimationSettings, PhysicalSettings
from dynid.excitation import ExcitationSettings
from dynid.logs import Control, Drive, LoadTable, LogSource, Processing
from dynid.model import AUTO
from dynid.settings import Name, Number, Table
from dynid.simulation import SimulationSettings


def _or_auto(value: Any) -> Any:
    return (AUTO,) if value == AUTO else value


Terms = Annotated[
    tuple[Name, ...],
    BeforeValidator(_or_auto),
    WithJsonSchema({"anyOf": [{"type": "array", "items": {"type": "string", "minLength": 1}}, {"const": AUTO}]}),
]
"""Names of terms; "auto" where they are chosen by what the logs show."""


def _at_zero(value: Any) -> Any:
    is_list = isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)
    return dict.fromkeys(value, 0.0) if is_list else value


Locked = Annotated[
    dict[str, Number],
    BeforeValidator(_at_zero),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "object", "additionalProperties": {"type": "number"}},
                {"type": "array", "items": {"type": "string", "minLength": 1}},
            ]
        }
    ),
]
"""Joints that are held still, with their positions [rad or m]; a list of names holds them at zero."""


class Experiment(Table):
    """An experiment: the robot, friction and actuator terms, drives, logs, processing and estimation."""

    robot: Name
    gravity: tuple[Number, Number, Number] | None = None
    exact_frames: bool = False
    floating_base: bool = False
    lock: Locked = {}
    terms: Terms = ()
    known: dict[str, Number] = {}
    excitation: ExcitationSettings = ExcitationSettings()
    torque: Literal["signed", "magnitude"] = "signed"
    discard_sign: bool = False
    drive: Drive = Drive()
    control: Control = Control()
    load: tuple[LoadTable, ...] = ()
    log: tuple[LogSource, ...] = ()
    processing: Processing = Processing()
    estimation: EstimationSettings = EstimationSettings()
    physical: PhysicalSettings = PhysicalSettings()
    simulation: SimulationSettings = SimulationSettings()

    @property
    def logs(self) -> tuple[LogSource, ...]:
        """Its logs, each with the load that it names."""
        of_name = {load.name: load for load in self.load}
        return tuple(
            log.model_copy(update={"load": of_name[log.load]}) if isinstance(log.load, str) else log for log in self.log
        )

    @model_validator(mode="after")
    def _names_loads(self) -> Experiment:
        names = [load.name for load in self.load]
        if None in names:
            raise ValueError("a load needs a name, by which logs say that they carry it")
        if len(set(names)) < len(names):
            raise ValueError("two loads have the same name; give each its own")
        unknown = next((log.load for log in self.log if isinstance(log.load, str) and log.load not in names), None)
        if unknown is not None:
            raise ValueError(f"a log carries '{unknown}', and there is no [[load]] of that name; add it")
        return self

    @model_validator(mode="after")
    def _counts_logs_once(self) -> Experiment:
        if len({log.model_dump_json() for log in self.log}) < len(self.log):
            raise ValueError("two logs are the same, and would count twice; leave one out")
        return self

    @model_validator(mode="after")
    def _uses_its_ratios(self) -> Experiment:
        at_joints = self.drive.positions == self.drive.torques == "joint"
        if self.drive.states_motors and at_joints and not any(term.startswith("motor_") for term in self.terms):
            raise ValueError(
                "[drive] ratios, couplings and matrix have no effect while positions and torques are both 'joint' and "
                "there are no terms of motors, such as motor_inertia"
            )
        return self

    @model_validator(mode="after")
    def _knows_signs_of_all_samples(self) -> Experiment:
        if self.torque == "magnitude" and self.estimation.estimator != "torque":
            raise ValueError(
                f"estimator = '{self.estimation.estimator}' needs every sample, and where the signs of "
                "torque = 'magnitude' stay undecided samples are left out; use estimator = 'torque'"
            )
        return self

    @model_validator(mode="after")
    def _discards_for_a_reason(self) -> Experiment:
        if self.discard_sign and self.torque == "signed":
            raise ValueError("discard_sign = true is for practice with torque = 'magnitude'; set that, too")
        return self

    @model_validator(mode="after")
    def _states_unmeasured_drives(self) -> Experiment:
        if self.processing.unmeasured:
            raise ValueError("'unmeasured' is a key of [drive], not of [processing]")
        return self
