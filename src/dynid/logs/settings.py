"""Settings of logs: `[[log]]`, `[drive]`, `[control]` and `[processing]` of the experiment file, used as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, StrictBool, WithJsonSchema, model_validator
from pydantic.json_schema import SkipJsonSchema

from dynid.arrays import Array
from dynid.logs.commands import LawForm
from dynid.logs.contacts import CONTACT, Contact, Stance
from dynid.logs.readers.bags import is_bag
from dynid.logs.servo import Servo
from dynid.robot import CHANNELS, SIZE, Load, pose, rotation_from_rpy
from dynid.settings import Count, Name, NotNegative, Number, Positive, Table

KEYS = frozenset(
    (
        "resample",
        "outliers",
        "lowpass",
        "velocity",
        "derivative",
        "trim",
        "idle",
        "velocity_threshold",
        "delay",
        "decimate",
        "row_trim",
        "unmeasured",
    )
)
"""What can be chosen automatically."""


def _number_or_none(value: Any) -> Any:
    return None if isinstance(value, str) and value == "none" else value


OrNone = Annotated[
    Positive | None,
    BeforeValidator(_number_or_none),
    WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"const": "none"}, {"type": "null"}]}),
]
"""A positive number; "none" states that there is none, where otherwise one would be chosen."""


class Coupling(Table):
    """A motor that also turns with another joint."""

    motor: Name
    joint: Name
    ratio: Number


class Drive(Table):
    """`[drive]`: from motors to joints; one number per joint.

    `torque_constant_std` is the standard deviation of torque constants relative to them (one for all joints, or one
    each), which enters the uncertainty of loads.
    """

    ratios: tuple[Number, ...] | None = None
    couplings: tuple[Coupling, ...] = ()
    matrix: tuple[tuple[Number, ...], ...] | Literal["robot"] | None = None
    torque_constants: tuple[Number, ...] | Literal["unknown"] | None = None
    torque_constant_std: tuple[NotNegative, ...] | NotNegative | None = None
    signs: tuple[Literal[-1, 1], ...] | Literal["auto"] | None = None
    unmeasured: tuple[Name, ...] | None = None
    offsets: tuple[Number, ...] | None = None
    delay: Number = 0.0
    positions: Literal["motor", "joint"] = "joint"
    torques: Literal["motor", "joint"] = "joint"

    @model_validator(mode="before")
    @classmethod
    def _constants_of_one_are_unknown(cls, values: Any) -> Any:
        """No robot has torque constants of exactly 1 N m/A: they stand where nobody knows them."""
        constants = values.get("torque_constants") if isinstance(values, dict) else None
        if not isinstance(constants, list | tuple) or not constants or any(k not in (1, -1) for k in constants):
            return values
        stated = values.get("signs") or (1,) * len(constants)
        if stated != "auto" and len(stated) == len(constants):
            stated = tuple(int(sign * constant) for sign, constant in zip(stated, constants, strict=True))
        return {**values, "torque_constants": "unknown", "signs": stated}

    @property
    def states_motors(self) -> bool:
        """Whether it says what the motors drive."""
        return bool(self.ratios or self.couplings or self.matrix)

    @model_validator(mode="after")
    def _uses_its_ratios(self) -> Drive:
        if self.matrix is not None and (self.ratios or self.couplings):
            raise ValueError("a matrix holds all ratios and couplings; leave 'ratios' and 'couplings' out")
        if isinstance(self.matrix, tuple) and any(len(row) != len(self.matrix) for row in self.matrix):
            raise ValueError("the transmission matrix must be square: one row per motor, one column per joint")
        if isinstance(self.torque_constants, tuple) and 0.0 in self.torque_constants:
            raise ValueError("a torque constant cannot be zero")
        return self


class Quantity(Table):
    """Where a quantity of a log is: a file, its columns, and their unit; in bags also a topic and a field.

    `time` is the column of time stamps of the quantity's own file, where that is not sampled with the log's `time`: the
    quantity is then interpolated to these, and commands are held.
    """

    file: Name
    topic: Name | None = None
    field: Name | None = None
    columns: str | int | Annotated[tuple[str | int, ...], Field(min_length=1)] | None = None
    unit: str | tuple[str, ...] | None = None
    flat: bool = False
    time: str | int | None = None

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.file)


class Wrench(Quantity):
    """What a force-torque sensor at the wrist measured: six columns, forces [N], then torques [N m].

    They are along the axes of `body` (the last link when None), about its origin: the frame of the sensor.
    """

    body: Name | None = None


class ContactTable(Table):
    """`[[log.contact]]`: a body that the surroundings act on, with the wrench that they exert on the robot.

    `wrench` has six columns, forces [N], then torques [N m], along the axes of `body` and about its origin, or three
    for forces alone; without it, the wrench was not measured, and rows that it acts on do not count. `pose` (x, y, z,
    roll, pitch, yaw in the world [m, rad]) is that of a force plate, whose axes and origin then stand for those of the
    body. `sign` is -1 for sensors that report what the robot exerts. `channels` names the columns of `wrench` where
    it has not all six, such as `["Fz", "Tx", "Ty"]` of a balance board: rows that the others act on do not count.
    """

    body: Name
    wrench: Quantity | None = None
    pose: tuple[Number, Number, Number, Number, Number, Number] | None = None
    sign: Literal[-1, 1] = 1
    channels: tuple[Literal["Fx", "Fy", "Fz", "Tx", "Ty", "Tz"], ...] | None = None


def _file_of_capture(value: Any) -> Any:
    return {"file": value} if isinstance(value, str) else value


class CaptureFile(Quantity):
    """`capture`: markers and force plates, which stand in for positions, the pose of the base and contacts.

    `unit` is that of lengths and `up` the axis that points upward, where the file states none or the wrong one;
    `subject` whose markers are wanted in a file of several persons; gaps of markers up to `longest_gap` [s] are filled.
    `plates` is the table of what force plates measured, where that is a file of its own.
    """

    plates: Annotated[Quantity, BeforeValidator(_file_of_capture)] | None = None
    up: Name | None = None
    subject: Name | None = None
    longest_gap: NotNegative | None = None

    @model_validator(mode="after")
    def _has_no_columns(self) -> CaptureFile:
        parts = (self,) if self.plates is None else (self, self.plates)
        stated = [
            key for part in parts for key in ("topic", "field", "columns", "time") if getattr(part, key) is not None
        ]
        if stated:
            raise ValueError(f"columns of a capture are found by their names; leave '{stated[0]}' out")
        return self


Captured = Annotated[
    CaptureFile,
    BeforeValidator(_file_of_capture),
]
"""The file of a capture, by its name alone or as a table."""


class StanceTable(Table):
    """`stance`: the body that rests on the ground, with its pose (x, y, z, roll, pitch, yaw) in the world [m, rad]."""

    body: Name
    pose: tuple[Number, Number, Number, Number, Number, Number] | None = None


Gains = Quantity | tuple[NotNegative, ...] | NotNegative
"""Gains of a control law: columns of a file, one number for each joint, or one for all."""

OF_CAPTURES = ("position", "torque", "velocity", "time", "rate", "wrench", "base_pose", "stance", "contact")
"""Keys of a log that a capture stands for."""

COMMANDS = ("position_command", "velocity_command", "torque_command", "kp", "kd")
"""Roles of what a robot was commanded."""


class LoadTable(Table):
    """`[[load]]`: a body that the robot carries in some of the logs, such as a tool, fastened to a body of its file.

    With a mass and a centre of mass it is known: `identify` takes its torques out of the logs that carry it. Without,
    `dynid payload` identifies it. `inertia` is Ixx Ixy Iyy Ixz Iyz Izz about the centre of mass, along the axes of
    `body` (the last link when None); without it, a known load is a point mass.
    """

    name: Name | None = None
    body: Name | None = None
    mass: Positive | None = None
    center_of_mass: tuple[Number, Number, Number] | None = None
    inertia: tuple[Number, Number, Number, Number, Number, Number] | None = None
    parameters: SkipJsonSchema[tuple[Number, ...] | None] = None  # of results that a load was added to, or taken off

    @model_validator(mode="after")
    def _is_a_body(self) -> LoadTable:
        if self.mass is None and (self.center_of_mass is not None or self.inertia is not None):
            raise ValueError("a load with a centre of mass or an inertia needs its mass; state it, or leave them out")
        if self.inertia is not None and self.center_of_mass is None:
            raise ValueError("inertia is about the centre of mass of a load, which is missing; state center_of_mass")
        if self.parameters is not None and len(self.parameters) != SIZE:
            raise ValueError(f"a load has ten parameters, not {len(self.parameters)}")
        if self.inertia is not None and (problem := self.known().problem):
            raise ValueError(problem)
        return self

    @staticmethod
    def of(load: Load) -> LoadTable:
        """What a load states; one without inertia states none."""
        center = tuple(float(x) for x in load.center_of_mass)
        six = tuple(float(x) for x in load.six) if np.any(load.six) else None
        stated = {"body": load.body, "mass": float(load.mass), "center_of_mass": center, "inertia": six}
        return LoadTable.model_construct(name=None, **stated)

    @property
    def title(self) -> str:
        """Its name, or what distinguishes it from other loads."""
        if self.name or self.mass is None:
            return self.name or "load"
        at = "" if self.center_of_mass is None else " at ({:.4g}, {:.4g}, {:.4g}) m".format(*self.center_of_mass)
        return f"load of {self.mass:.6g} kg{at}" + (f" of '{self.body}'" if self.body else "")

    @property
    def is_known(self) -> bool:
        """Whether mass and centre of mass are stated."""
        return self.parameters is not None or (self.mass is not None and self.center_of_mass is not None)

    def known(self) -> Load:
        """The load, where it is known."""
        if self.parameters is not None:
            return Load.of_parameters(np.array(self.parameters), self.body)
        assert self.mass is not None
        assert self.center_of_mass is not None
        return Load.of_numbers(self.mass, self.center_of_mass, self.inertia, self.body)

    def of_log(self) -> Load | str:
        """What a log says of it: the load where it is known, otherwise its name."""
        return self.known() if self.is_known else self.name or "load"


class LogSource(Table):
    """`[[log]]`: the files of one log; commands of a known controller may stand in for torques.

    `load` is what the robot carried meanwhile: the name of a `[[load]]`, or such a table itself.
    """

    name: Name | None = None
    capture: Captured | None = None
    position: Quantity
    torque: Quantity | None = None
    velocity: Quantity | None = None
    position_command: Quantity | None = None
    velocity_command: Quantity | None = None
    torque_command: Quantity | None = None
    kp: Gains | None = None
    kd: Gains | None = None
    effort_limit: tuple[Positive, ...] | Positive | None = None
    back_emf: SkipJsonSchema[tuple[NotNegative, ...] | None] = None  # of servos; a file states them in [control.servo]
    command_delay: SkipJsonSchema[Number | None] = None  # of a log that was identified; a file states it in [control]
    law: SkipJsonSchema[LawForm] = "continuous"
    gain_scales: SkipJsonSchema[tuple[Number, ...] | None] = None
    time: Quantity | None = None
    temperature: Quantity | None = None
    wrench: Wrench | None = None
    base_pose: Quantity | None = None
    stance: StanceTable | Name | tuple[StanceTable | Name, ...] | None = None
    contact: tuple[ContactTable, ...] | None = None
    rate: Positive | None = None
    rows: tuple[int | None, int | None] | None = None
    seconds: tuple[Number | None, Number | None] | None = None
    weight: Positive = 1.0
    load: LoadTable | Name | None = None
    static: StrictBool | Literal["rows"] = False

    @model_validator(mode="before")
    @classmethod
    def _captures_have_positions(cls, stated: Any) -> Any:
        """The file of a capture stands for that of positions."""
        if not isinstance(stated, Mapping) or stated.get("capture") is None:
            return stated
        capture = _file_of_capture(stated["capture"])
        file = capture.get("file") if isinstance(capture, Mapping) else getattr(capture, "file", None)
        position = stated.get("position")
        own = position.get("file") if isinstance(position, Mapping) else getattr(position, "file", position)
        others = [key for key in OF_CAPTURES if key != "position" and stated.get(key) is not None]
        others += ["position"] if position is not None and own != file else []
        if others:
            raise ValueError(f"a capture has the motion, its time and the contacts; leave '{others[0]}' out")
        return {**stated, "position": {"file": file}}

    @model_validator(mode="before")
    @classmethod
    def _postures_need_no_time(cls, stated: Any) -> Any:
        if isinstance(stated, Mapping) and stated.get("static") == "rows":
            has_time = stated.get("time") is not None or stated.get("rate") is not None
            return stated if has_time else {**stated, "rate": 1.0}
        return stated

    @model_validator(mode="after")
    def _has_time(self) -> LogSource:
        if self.capture is not None:
            if self.rows is not None and self.seconds is not None:
                raise ValueError("a log is cut by 'rows' or by 'seconds', not by both")
            return self
        if self.time is not None and self.rate is not None:
            raise ValueError("a log needs either 'time' or 'rate', and not both")
        if self.time is None and self.rate is None and not is_bag(self.position.path):
            raise ValueError("a log needs either 'time' or 'rate'; only bags have time stamps of their own")
        if self.rows is not None and self.seconds is not None:
            raise ValueError("a log is cut by 'rows' or by 'seconds', not by both")
        return self

    @property
    def quantities(self) -> list[Quantity]:
        """All that is read from files."""
        own = [part for _, part in self if isinstance(part, Quantity)]
        own += [] if self.capture is None or self.capture.plates is None else [self.capture.plates]
        return [*own, *(contact.wrench for contact in self.contact or () if contact.wrench is not None)]

    def with_files(self, change: Callable[[str], str]) -> LogSource:
        """The same with other names of files."""

        def moved(part: Quantity) -> Quantity:
            plates = part.plates if isinstance(part, CaptureFile) else None
            nested = {} if plates is None else {"plates": moved(plates)}
            return part.model_copy(update={"file": change(part.file), **nested})

        found: dict[str, Any] = {role: moved(part) for role, part in self if isinstance(part, Quantity)}
        if self.contact is not None:
            found["contact"] = tuple(
                one.model_copy(update={"wrench": None if one.wrench is None else moved(one.wrench)})
                for one in self.contact
            )
        return self.model_copy(update=found)

    @property
    def standing(self) -> tuple[Stance, ...]:
        """The bodies that rest on the ground; the pose of the base follows from the first."""
        stated = () if self.stance is None else self.stance if isinstance(self.stance, tuple) else (self.stance,)
        tables = (StanceTable(body=one) if isinstance(one, str) else one for one in stated)
        return tuple(Stance(one.body, _pose(one.pose)) for one in tables)

    def contacts_with(self, wrenches: Mapping[str, Array]) -> tuple[Contact, ...] | None:
        """Its contacts, with the wrenches that were read for them, by role; None where none are stated."""
        if self.contact is None:
            return None
        found = []
        for k, one in enumerate(self.contact, start=1):
            wrench = wrenches.get(f"{CONTACT}{k}")
            wrench = None if wrench is None else one.sign * wrench
            found.append(Contact(one.body, wrench, _pose(one.pose), one.channels or CHANNELS))
        return tuple(found)

    @property
    def carried(self) -> Load | str | None:
        """What the robot carried: a load that is known, the name of one that is not, or nothing."""
        return self.load.of_log() if isinstance(self.load, LoadTable) else self.load

    @property
    def torques(self) -> Quantity:
        """Where measured torques are.

        Raises:
            ValueError: If there are commands instead.
        """
        if self.torque is None:
            raise ValueError("the log has commands, and no measured torques")
        return self.torque

    @model_validator(mode="after")
    def _has_torques(self) -> LogSource:
        if self.base_pose is not None and self.stance is not None:
            raise ValueError("base_pose and stance both say where the base is; leave one out")
        if self.contact is not None or self.capture is not None:
            return self
        if self.torque is None and self.position_command is None and self.wrench is None:
            raise ValueError(
                "a log needs 'torque', or 'position_command' and the gains of its controller (or, for the load beyond "
                "a force-torque sensor, 'wrench'; for a floating base, the wrenches of its [[log.contact]])"
            )
        return self

    @model_validator(mode="after")
    def _joins_on_time(self) -> LogSource:
        own = [key for key, part in self if isinstance(part, Quantity) and key != "time" and part.time is not None]
        if own and self.time is None:
            raise ValueError(
                f"{own[0]}.time is the clock of a file that is joined to the log's 'time', which is missing"
            )
        return self


def _pose(stated: tuple[float, ...] | None) -> Array | None:
    """A pose, shape (4, 4), of a place [m] and roll, pitch, yaw [rad]."""
    return None if stated is None else pose(rotation_from_rpy(*stated[3:]), np.array(stated[:3]))


class Control(Table):
    """`[control]`: the law behind commands: torque = kp (command - position) + kd (command - velocity) + torque.

    `kp`, `kd` and `effort_limit` are for logs that do not state their own; "robot" takes those of the robot file's
    actuators. `law` is how it acts: "continuous" with commands that arrive late; "sampled" at its own `rate` [Hz] (that
    of the log, when None), its torque held between ticks; "auto" compares both. With `servo`, gains are those of hobby
    servos whose motors are under a voltage.
    """

    kp: tuple[NotNegative, ...] | NotNegative | Literal["robot", "unknown"] | None = None
    kd: tuple[NotNegative, ...] | NotNegative | Literal["robot"] | None = None
    effort_limit: tuple[Positive, ...] | Positive | Literal["robot", "none"] | None = None
    delay: Number | Literal["auto"] = "auto"
    law: LawForm | Literal["auto"] = "auto"
    rate: Positive | None = None
    links: Literal["known", "prior"] = "known"
    gains: Literal["known", "scale"] = "known"
    bias: bool | Literal["auto"] = "auto"
    output_error: bool = True
    servo: Servo | None = None

    @model_validator(mode="after")
    def _states_gains_once(self) -> Control:
        stated = [key for key in ("kp", "kd", "effort_limit") if getattr(self, key) is not None]
        if self.servo is not None and stated:
            raise ValueError(
                f"{stated[0]} is in N m, and [control.servo] states gains as duty cycle: leave {' and '.join(stated)} "
                "out of [control], and state kp and max_duty of the servos"
            )
        return self

    @model_validator(mode="after")
    def _has_a_rate_for_ticks(self) -> Control:
        if self.rate is not None and self.law == "continuous":
            raise ValueError("rate is that of a law whose torque is held between ticks; law = 'continuous' has none")
        if self.kp == "unknown" and self.gains != "scale":
            raise ValueError("kp = 'unknown' is estimated as a scale of each joint: add gains = 'scale'")
        if self.kp == "unknown" and self.kd is not None:
            raise ValueError("with kp = 'unknown', leave kd out: viscous friction then has it")
        return self


class Processing(Table):
    """`[processing]`: what is done to the signals of a log; without it, that is chosen by what the log shows.

    The same object says what was done to a log: then all that was chosen is filled in.
    """

    automatic: bool | None = None
    resample: OrNone = None
    median: Count | None = None
    outliers: Literal["repair", "keep"] | None = None
    idle: Literal["cut", "keep"] | None = None
    lowpass: OrNone = None
    torque_lowpass: OrNone = None
    order: Annotated[int, Field(strict=True, ge=1, le=20)] = 4
    velocity: Literal["logged", "derived"] | None = None
    derivative: Literal["central", "eighth_order", "savitzky_golay", "spline"] = "central"
    window: Count = 11
    degree: Count = 3
    trim: Annotated[int, Field(strict=True, ge=0)] = 0
    period: Positive | None = None
    decimate: tuple[Count, ...] = ()
    row_trim: Annotated[int, Field(strict=True, ge=0)] = 0
    rate: Positive | None = None
    velocity_threshold: tuple[NotNegative, ...] | NotNegative | None = None
    unmeasured: SkipJsonSchema[tuple[Name, ...]] = ()  # of a log that was processed; a file states it in [drive]

    @model_validator(mode="after")
    def _decimates_once(self) -> Processing:
        if self.decimate and self.rate is not None:
            raise ValueError("samples are decimated by 'decimate' or by 'rate', not by both")
        return self

    @model_validator(mode="after")
    def _averages_as_stated(self) -> Processing:
        if self.period is not None and (self.outliers == "repair" or self.idle == "cut"):
            raise ValueError("where periods are averaged, 'outliers' are not repaired and rest is not cut ('idle')")
        return self

    def free(self) -> frozenset[str]:
        """Keys that are chosen by what the log shows."""
        stated = {key for key in self.model_fields_set if key not in _OPTIONAL or getattr(self, key) is not None}
        wished = {key for key, value in (("outliers", "repair"), ("idle", "cut")) if getattr(self, key) == value}
        is_automatic = not stated if self.automatic is None else self.automatic
        if not is_automatic:
            return frozenset(wished)
        decimated = {"decimate", "row_trim"} if "rate" in stated else set()
        return frozenset(KEYS - stated - decimated | wished)

    def but(self, **changes: Any) -> Processing:
        """The same with other values, which are not checked."""
        return self.model_copy(update=changes)

    @property
    def thresholds(self) -> tuple[float, ...] | None:
        """Velocity thresholds, one for each joint where a log was prepared; a single one is for all joints."""
        stated = self.velocity_threshold
        return stated if stated is None or isinstance(stated, tuple) else (stated,)

    def applied(self) -> dict[str, Any]:
        """What was done to a log, as plain data."""
        return {key: value for key, value in self if key not in _CHOOSING}


_OPTIONAL = frozenset(("automatic", "median", "outliers", "idle", "velocity", "period", "rate", "velocity_threshold"))
"""Keys of `Processing` for which None states nothing."""

_CHOOSING = frozenset(("automatic", "outliers", "idle", "period"))
"""Keys of `Processing` that say what to choose or to do before, not what was done to the samples."""
