"""The experiment file: everything particular to one robot and one set of logs, typed and frozen."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from dynid.errors import FileProblemError, UnknownNameError
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
    torque_constants: tuple[Number, ...] | None = None
    signs: tuple[Literal[-1, 1], ...] | None = None
    offsets: tuple[Number, ...] | None = None
    delay: Number = 0.0
    positions: Literal["motor", "joint"] = "joint"
    torques: Literal["motor", "joint"] = "joint"

    @model_validator(mode="after")
    def _uses_its_ratios(self) -> DriveTable:
        if (self.ratios or self.couplings) and self.positions == self.torques == "joint":
            raise ValueError("ratios and couplings have no effect while positions and torques are both 'joint'")
        if 0.0 in (self.torque_constants or ()):
            raise ValueError("a torque constant cannot be zero")
        return self


class QuantityTable(_Table):
    """Where a quantity of a log is: a file, its columns, and their unit."""

    file: Name
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
    rate: Positive | None = None
    rows: tuple[int, int] | None = None
    seconds: tuple[Number, Number] | None = None
    weight: Positive = 1.0

    @model_validator(mode="after")
    def _has_time(self) -> LogTable:
        if (self.time is None) == (self.rate is None):
            raise ValueError("a log needs either 'time' or 'rate', and not both")
        if self.rows is not None and self.seconds is not None:
            raise ValueError("a log is cut by 'rows' or by 'seconds', not by both")
        return self


class ProcessingTable(_Table):
    """`[processing]`: what is done to the signals."""

    resample: Positive | None = None
    median: Count | None = None
    lowpass: Positive | None = None
    torque_lowpass: Positive | None = None
    order: Annotated[int, Field(strict=True, ge=1, le=20)] = 4
    derivative: Literal["central", "savitzky_golay", "spline"] = "central"
    window: Count = 11
    degree: Count = 3
    trim: Annotated[int, Field(strict=True, ge=0)] = 0
    decimate: tuple[Count, ...] = ()
    rate: Positive | None = None
    velocity_threshold: tuple[NotNegative, ...] | NotNegative | None = None

    @model_validator(mode="after")
    def _thins_out_once(self) -> ProcessingTable:
        if self.decimate and self.rate is not None:
            raise ValueError("samples are thinned out by 'decimate' or by 'rate', not by both")
        return self


class EstimationTable(_Table):
    """`[estimation]`: how parameters are estimated; `prior` is a relative deviation around the robot file's values."""

    method: Literal["ols", "wls"] = "wls"
    essential_ratio: Annotated[float, Field(strict=True, gt=1.0, le=1e30, allow_inf_nan=False)] = 25.0
    confidence: Annotated[float, Field(strict=True, gt=0.0, lt=1.0)] = 0.95
    prior: Annotated[float, Field(strict=True, ge=1e-6, le=1e6)] | None = None

    @model_validator(mode="after")
    def _weighs_the_prior(self) -> EstimationTable:
        if self.prior is not None and self.method == "ols":
            raise ValueError("a prior needs method = 'wls', which knows how sure the data are")
        return self


Vector = tuple[Number, Number, Number]
MassRange = NotNegative | tuple[NotNegative, NotNegative]


class PhysicalTable(_Table):
    """`[physical]`: links that can exist; masses [kg], centres of mass [m] in joint frames."""

    fit: bool = True
    prior: Literal["logdet", "euclidean", "none"] = "logdet"
    weight: Annotated[float, Field(strict=True, ge=0.01, le=1e6)] | Literal["cross-validation"] = 1.0
    reference: Name | None = None
    total_mass: MassRange | None = None
    masses: dict[str, MassRange] = {}
    centres_of_mass: dict[str, tuple[Vector, Vector]] = {}
    in_geometry: bool | tuple[Name, ...] = False

    @model_validator(mode="after")
    def _weighs_something(self) -> PhysicalTable:
        if self.prior == "none" and (self.weight != 1.0 or self.reference is not None):
            raise ValueError("prior = 'none' has neither a weight nor a reference; leave them out")
        if not self.fit and self.model_fields_set != {"fit"}:
            raise ValueError("fit = false leaves physical links out, so the other keys have no effect")
        return self


class Experiment(_Table):
    """An experiment: the robot, what its joints add, its drives, logs, processing and estimation."""

    robot: Name
    gravity: tuple[Number, Number, Number] | None = None
    lock: dict[str, Number] = {}
    terms: tuple[Name, ...] = ()
    known: dict[str, Number] = {}
    torque: Literal["signed", "magnitude"] = "signed"
    discard_sign: bool = False
    drive: DriveTable = DriveTable()
    log: tuple[LogTable, ...] = Field(min_length=1)
    processing: ProcessingTable = ProcessingTable()
    estimation: EstimationTable = EstimationTable()
    physical: PhysicalTable = PhysicalTable()

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
        needs_logs: Whether environment variables in the paths of logs must be set.

    Raises:
        ExperimentError: If the file cannot be read, or a key is unknown, missing or wrong; names the line.
    """
    text = read_toml_text(path, ExperimentError)
    values = parse_toml(text, path, ExperimentError)
    try:
        return Experiment.model_validate(_with_paths(values, path, text, relative_to or path.parent, needs_logs))
    except ValidationError as error:
        problem = error.errors()[0]
        raise ExperimentError(path, _in_words(problem), line_of(text, problem["loc"])) from error


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


_TABLES: dict[str, type[_Table]] = {
    "drive": DriveTable,
    "couplings": Coupling,
    "log": LogTable,
    "position": QuantityTable,
    "torque": QuantityTable,
    "velocity": QuantityTable,
    "time": QuantityTable,
    "processing": ProcessingTable,
    "estimation": EstimationTable,
    "physical": PhysicalTable,
}


def _in_words(problem: Any) -> str:
    """A problem that validation found, in one sentence that names the key and the nearest valid one."""
    path = list(problem["loc"])
    tags = ("str", "int", "float", "tuple", "constrained-str")  # of alternatives, not of the file
    names = [part for part in path if isinstance(part, str) and not part.startswith((*tags, "function-"))]
    key = ".".join(names)
    if problem["type"] == "extra_forbidden":
        table = next((_TABLES[name] for name in reversed(names[:-1]) if name in _TABLES), Experiment)
        where = f" in [{'.'.join(names[:-1])}]" if len(names) > 1 else ""
        return str(UnknownNameError("key", names[-1], table.model_fields, where))
    if problem["type"] == "missing":
        needed = f"'{key}' needs {path[-1] + 1} numbers or more" if isinstance(path[-1], int) else ""
        return needed or f"the key '{key}' is missing"
    message = problem["msg"].removeprefix("Value error, ").replace("valid tuple", "list")
    if problem["type"] == "value_error":
        return f"[{key}]: {message}" if key else message
    found = repr(problem["input"])
    return f"the key '{key}' is {found if len(found) <= 60 else found[:57] + '...'}: {message}"
