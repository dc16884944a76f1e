"""The experiment file: everything particular to one robot and one set of logs, typed and frozen."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints, ValidationError, model_validator

from dynid.data.automatic import KEYS
from dynid.data.readers.bags import is_bag
from dynid.errors import FileProblemError, InvalidRequestError, UnknownNameError
from dynid.files import is_file
from dynid.toml_files import line_of, parse_toml, read_toml_text

Number = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e30, le=1e30)]
Positive = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0, le=1e30)]
NotNegative = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0, le=1e30)]
Count = Annotated[int, Field(strict=True, ge=1)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class ExperimentError(FileProblemError):
    """An experiment file is not what it should be."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Coupling(_Table):
    """A motor that turns with another joint, too."""

    motor: Name
    joint: Name
    ratio: Number


class DriveTable(_Table):
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


class QuantityTable(_Table):
    """Where a quantity of a log is: a file, its columns, and their unit; in bags a topic and a field, too."""

    file: Name
    topic: Name | None = None
    field: Name | None = None
    columns: str | int | Annotated[tuple[str | int, ...], Field(min_length=1)] | None = None
    unit: str | None = None
    flat: bool = False


class LogTable(_Table):
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


class ProcessingTable(_Table):
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


PerJoint = tuple[Positive, ...] | Positive
LimitOfJoints = PerJoint | dict[str, Positive]
"""One for all, one for each, or some by name: the others are the robot file's."""


class SpeedTable(_Table):
    """`[[excitation.speed]]`: how fast a body's origin may move [m/s]."""

    frame: Name
    limit: Positive


class BoxTable(_Table):
    """`[[excitation.box]]`: the box [m], along the axes of the base, that a body's origin may not leave."""

    frame: Name
    lower: tuple[float, float, float]
    upper: tuple[float, float, float]

    @model_validator(mode="after")
    def _has_room(self) -> BoxTable:
        if not all(low < high for low, high in zip(self.lower, self.upper, strict=True)):
            raise ValueError(f"the box from {list(self.lower)} to {list(self.upper)} has no room; widen it")
        return self


class ExcitationTable(_Table):
    """`[excitation]`: how to move, within which limits; limits that are not stated are the robot file's."""

    harmonics: Count = 5
    period: Positive | None = None
    frequency: Positive | None = None
    periods: Count = 1
    samples: Annotated[int, Field(strict=True, ge=10)] | None = None
    rate: Positive = 125.0
    criterion: Name = "condition"
    scale: Literal["none", "magnitudes"] = "none"
    deviations: dict[str, Positive] = {}
    noise: PerJoint = 1.0
    start: tuple[Number, ...] | dict[str, Number] = {}
    home: tuple[Number, ...] | None = None
    moving: tuple[Name, ...] | None = None
    bound: Literal["samples", "amplitudes"] = "samples"
    position: tuple[tuple[Number, Number], ...] | tuple[Number, Number] | dict[str, tuple[Number, Number]] | None = None
    velocity: LimitOfJoints | None = None
    acceleration: LimitOfJoints | None = None
    jerk: LimitOfJoints | None = None
    effort: LimitOfJoints | None = None
    rms_effort: PerJoint | None = None
    margin: Annotated[float, Field(strict=True, ge=0.0, lt=1.0)] = 0.0
    speed: tuple[SpeedTable, ...] = ()
    box: tuple[BoxTable, ...] = ()

    @model_validator(mode="after")
    def _says_things_once(self) -> ExcitationTable:
        if self.period is not None and self.frequency is not None:
            raise ValueError("the motion repeats after 'period' (s) or with 'frequency' (rad/s); state one")
        if self.deviations and self.scale != "none":
            raise ValueError("columns are scaled by 'scale' or by 'deviations', not by both")
        return self


class EstimationTable(_Table):
    """`[estimation]`: how parameters are estimated; `prior` is a relative deviation around the robot file's values."""

    method: Literal["ols", "wls"] = "wls"
    essential_ratio: Annotated[float, Field(strict=True, gt=1.0, le=1e30, allow_inf_nan=False)] = 25.0
    confidence: Annotated[float, Field(strict=True, gt=0.0, lt=1.0)] = 0.95
    prior: Annotated[float, Field(strict=True, ge=1e-6, le=1e6)] | None = None
    robust: Literal["huber", "bisquare"] | None = None
    bootstrap: bool = True

    @model_validator(mode="after")
    def _weighs_the_prior(self) -> EstimationTable:
        if self.robust is not None and self.method == "ols":
            raise ValueError("robust estimates weigh joints by their errors: they need method = 'wls'")
        if self.prior is not None and self.method == "ols":
            raise ValueError("a prior needs method = 'wls', which knows how sure the data are")
        return self


Vector = tuple[Number, Number, Number]
MassRange = NotNegative | tuple[NotNegative, NotNegative]


class PhysicalTable(_Table):
    """`[physical]`: links that can exist; masses [kg], centres of mass [m] in joint frames."""

    fit: StrictBool = True
    prior: Literal["logdet", "euclidean", "none"] = "logdet"
    weight: Annotated[float, Field(strict=True, ge=0.01, le=1e6)] | Literal["cross-validation"] = 1.0
    reference: Name | None = None
    total_mass: MassRange | None = None
    masses: dict[str, MassRange] = {}
    centres_of_mass: dict[str, tuple[Vector, Vector]] = {}
    in_geometry: StrictBool | tuple[Name, ...] = False

    @model_validator(mode="after")
    def _weighs_something(self) -> PhysicalTable:
        if self.prior == "none" and (self.weight != 1.0 or self.reference is not None):
            raise ValueError("prior = 'none' has neither a weight nor a reference; leave them out")
        if not self.fit and self.model_fields_set != {"fit"}:
            raise ValueError("fit = false leaves physical links out, so the other keys have no effect")
        return self


class PayloadTable(_Table):
    """`[simulation.payload]`: a body welded to the link that a joint moves, in the frame of that joint."""

    mass: Positive
    com: tuple[Number, Number, Number] = (0.0, 0.0, 0.0)
    inertia: tuple[Number, Number, Number, Number, Number, Number] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    joint: Name | None = None


class SensorTable(_Table):
    """`[simulation.sensors]`: how a simulated run is measured."""

    encoder: NotNegative = 0.0
    noise: tuple[NotNegative, ...] | NotNegative = 0.0
    signal_to_noise: Number | None = None
    torque_constant_error: NotNegative = 0.0
    delay: NotNegative = 0.0
    jitter: NotNegative = 0.0
    dropped: NotNegative = 0.0
    saturation: Positive | None = None


class SimulationTable(_Table):
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


class Experiment(_Table):
    """An experiment: the robot, what its joints add, its drives, logs, processing and estimation."""

    robot: Name
    gravity: tuple[Number, Number, Number] | None = None
    lock: dict[str, Number] = {}
    terms: tuple[Name, ...] = ()
    known: dict[str, Number] = {}
    excitation: ExcitationTable = ExcitationTable()
    torque: Literal["signed", "magnitude"] = "signed"
    discard_sign: bool = False
    drive: DriveTable = DriveTable()
    log: tuple[LogTable, ...] = ()
    processing: ProcessingTable = ProcessingTable()
    estimation: EstimationTable = EstimationTable()
    physical: PhysicalTable = PhysicalTable()
    simulation: SimulationTable = SimulationTable()

    @model_validator(mode="after")
    def _counts_logs_once(self) -> Experiment:
        if any(log in self.log[:k] for k, log in enumerate(self.log)):
            raise ValueError("two logs are the same, and would count twice; leave one out")
        return self

    @model_validator(mode="after")
    def _discards_for_a_reason(self) -> Experiment:
        if self.discard_sign and self.torque == "signed":
            raise ValueError("discard_sign = true is for practice with torque = 'magnitude'; set that, too")
        return self

    def difference(self, other: Experiment) -> str:
        """The first key in which two experiments are about different models, or nothing."""
        keys = ("robot", "gravity", "lock", "terms", "known")
        return next((key for key in keys if getattr(self, key) != getattr(other, key)), "")


def read_experiment(path: Path, relative_to: Path | None = None, *, needs_logs: bool = True) -> Experiment:
    """Read an experiment file.

    Paths in it may use environment variables such as `${DYNID_DATASETS}`.

    Args:
        path: The file.
        relative_to: Folder that paths in it are relative to; its own when None.
        needs_logs: Whether there must be logs, and environment variables in their paths must be set.

    Raises:
        ExperimentError: If the file cannot be read, or a key is unknown, missing or wrong; names the line.
    """
    return parse_experiment(read_toml_text(path, ExperimentError), path, relative_to, needs_logs=needs_logs)


def parse_experiment(text: str, path: Path, relative_to: Path | None = None, *, needs_logs: bool = True) -> Experiment:
    """The experiment of a text that is, or will be, in a file; arguments and errors are those of `read_experiment`."""
    values = parse_toml(text, path, ExperimentError)
    if needs_logs and not values.get("log", True):
        raise ExperimentError(path, "the key 'log' holds no log")
    if needs_logs and "log" not in values:
        raise ExperimentError(path, "the key 'log' is missing")
    try:
        return Experiment.model_validate(_with_paths(values, path, text, relative_to or path.parent, needs_logs))
    except ValidationError as error:
        problem = error.errors()[0]
        raise ExperimentError(path, _in_words(error.errors()), line_of(text, _key(problem))) from error


def checked_simulation(values: Mapping[str, Any]) -> SimulationTable:
    """A `[simulation]` table of values that do not come from a file.

    Raises:
        InvalidRequestError: If one is none that its key can have.
    """
    try:
        return SimulationTable.model_validate(values)
    except ValidationError as error:
        raise InvalidRequestError(f"simulation: {_in_words(error.errors())}") from error


def is_experiment(path: Path) -> bool:
    """Whether a file is an experiment; tables of robots are TOML files, too, but have no key 'robot'."""
    if path.suffix.lower() != ".toml" or not is_file(path):
        return False
    return "robot" in parse_toml(read_toml_text(path, ExperimentError), path, ExperimentError)


def _with_paths(values: dict[str, Any], path: Path, text: str, folder: Path, needs_logs: bool) -> dict[str, Any]:
    """The same values, with the paths of the robot and of all logs made whole."""

    def whole(name: object, where: tuple[str | int, ...], keep: str = "") -> object:
        if not isinstance(name, str) or (keep and name.startswith(keep)):
            return name
        expanded = os.path.expandvars(name)
        if "$" in expanded and (needs_logs or where[0] != "log"):
            problem = f"'{name}' uses an environment variable that is not set; set it, or write the path"
            raise ExperimentError(path, problem, line_of(text, where))
        return str(folder / Path(expanded))

    values = dict(values)
    if "robot" in values:
        values["robot"] = whole(values["robot"], ("robot",), keep="builtin:")
    physical = values.get("physical")
    if isinstance(physical, dict) and "reference" in physical:
        where = ("physical", "reference")
        values["physical"] = {**physical, "reference": whole(physical["reference"], where, keep="builtin:")}
    simulation = values.get("simulation")
    if isinstance(simulation, dict) and "trajectory" in simulation:
        trajectory = whole(simulation["trajectory"], ("simulation", "trajectory"))
        values["simulation"] = {**simulation, "trajectory": trajectory}
    logs = values.get("log")
    if isinstance(logs, list):
        values["log"] = [
            {
                key: {**part, "file": whole(part["file"], ("log", k, key, "file"))}
                if isinstance(part, dict) and "file" in part
                else part
                for key, part in log.items()
            }
            if isinstance(log, dict)
            else log
            for k, log in enumerate(logs)
        ]
    return values


def checked_excitation(values: Mapping[str, Any]) -> ExcitationTable:
    """An `[excitation]` table of values that do not come from a file.

    Raises:
        InvalidRequestError: If one is none that its key can have.
    """
    try:
        return ExcitationTable.model_validate(values)
    except ValidationError as error:
        raise InvalidRequestError(f"excitation: {_in_words(error.errors())}") from error


_TABLES: dict[str, type[_Table]] = {
    "drive": DriveTable,
    "excitation": ExcitationTable,
    "speed": SpeedTable,
    "box": BoxTable,
    "couplings": Coupling,
    "log": LogTable,
    "position": QuantityTable,
    "torque": QuantityTable,
    "velocity": QuantityTable,
    "time": QuantityTable,
    "temperature": QuantityTable,
    "processing": ProcessingTable,
    "estimation": EstimationTable,
    "physical": PhysicalTable,
    "simulation": SimulationTable,
    "sensors": SensorTable,
    "payload": PayloadTable,
}


_ALTERNATIVES = ("str", "int", "float", "bool", "tuple", "literal[", "constrained-", "function-")
"""How pydantic names alternatives of a type; they are no keys of the file."""


def _key(problem: Any) -> tuple[str | int, ...]:
    """Where in the file a problem is, from the outermost table to the key or element."""
    return tuple(part for part in problem["loc"] if not (isinstance(part, str) and part.startswith(_ALTERNATIVES)))


def _in_words(problems: Sequence[Any]) -> str:
    """The first problem that validation found, in one sentence that names the key and the nearest valid one."""
    problem = problems[0]
    path = _key(problem)
    names = [part for part in path if isinstance(part, str)]
    key = ".".join(names)
    if problem["type"] == "extra_forbidden":
        table = next((_TABLES[name] for name in reversed(names[:-1]) if name in _TABLES), Experiment)
        where = f" in [{'.'.join(names[:-1])}]" if len(names) > 1 else ""
        return str(UnknownNameError("key", names[-1], table.model_fields, where))
    if problem["type"] == "missing":
        needed = f"'{key}' needs {path[-1] + 1} numbers or more" if isinstance(path[-1], int) else ""
        return needed or f"the key '{key}' is missing"
    if problem["type"] == "value_error":
        message = problem["msg"].removeprefix("Value error, ")
        return f"[{key}]: {message}" if key else message
    found = repr(problem["input"])
    # A key of several types has a message for each.
    messages = dict.fromkeys(other["msg"] for other in problems if _key(other)[: len(path)] == path)
    message = ", or ".join(messages).replace("valid tuple", "list").replace("Input should", "it should", 1)
    message = message.replace("Input should be", "be")
    return f"the key '{key}' is {found if len(found) <= 60 else found[:57] + '...'}: {message}"
