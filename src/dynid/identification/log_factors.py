"""One log reduced to what estimation needs of it: the unit of work of a run over many logs.

A unit is read, mended, prepared and reduced where its files are; what comes back is small and can be kept in a file.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dynid import __version__
from dynid.arrays import Array, frozen
from dynid.errors import FileProblemError
from dynid.estimation import Blocks, Factor, Factors, ReducedLog, RowForm, probed, reduce_log
from dynid.findings import Finding
from dynid.identification.log_reading import read_any_length
from dynid.logs import (
    Drive,
    Log,
    LogSource,
    Motion,
    PreparedLog,
    Processing,
    Speeds,
    finding_on_outliers,
    is_long,
    local_file,
    prepare,
    whole_file,
    with_files,
)
from dynid.machine import in_one_thread
from dynid.model import DynamicModel, random_states, specification
from dynid.robot import Load

SCHEMA = "dynid-log-factors-1"
"""What a file of a reduced log says of itself; another number where its content changes."""


class LogFactorsError(FileProblemError):
    """A file holds no reduced log that can be read."""


@dataclass(frozen=True, eq=False)
class LogWithoutSamples(PreparedLog):
    """A log that was prepared somewhere else: all that estimation asks of it, but for its samples.

    Attributes:
        known_motion: How it moves.
        known_samples: Number of its samples.
    """

    known_motion: Motion | None = None
    known_samples: int = 0

    @property
    def motion(self) -> Motion:  # type: ignore[override]
        """How it moves."""
        assert self.known_motion is not None
        return self.known_motion

    @property
    def samples(self) -> int:
        """Number of samples."""
        return self.known_samples


@dataclass(frozen=True, eq=False)
class LogFactors:
    """A reduced log.

    Attributes:
        log: The log, without samples.
        reduced: Its factors.
    """

    log: LogWithoutSamples
    reduced: ReducedLog

    @staticmethod
    def joined(parts: Sequence[LogFactors]) -> LogFactors:
        """A log from its parts in time."""
        if len(parts) == 1:
            return parts[0]
        first, logs = parts[0], [part.log for part in parts]
        motion = Motion.joined([log.motion for log in logs])
        noticed = [finding for finding in first.log.findings if finding.code != "processing-outliers"]
        noticed += _outliers([finding for log in logs for finding in log.findings])
        samples = sum(log.samples for log in logs)
        whole = replace(first.log, known_motion=motion, known_samples=samples, findings=tuple(noticed))
        return LogFactors(whole, ReducedLog.joined([part.reduced for part in parts]))

    def to_bytes(self) -> bytes:
        """The content of a file (NPZ, no pickle)."""
        arrays = _Arrays()
        head = {"schema": SCHEMA, "log": _log_head(self.log, arrays)}
        head["torques"] = _factors_head(self.reduced.torques, arrays)
        head["rows"] = None if self.reduced.rows is None else _factors_head(self.reduced.rows, arrays)
        head["blocks"] = [
            [{"triangle": arrays.put(R), "squares": squares.hex(), "rows": rows} for R, squares, rows in joint]
            for joint in self.reduced.blocks.joints
        ]
        stream = io.BytesIO()
        text = np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)
        np.savez(stream, head=text, numbers=arrays.joined())
        return stream.getvalue()

    @staticmethod
    def from_bytes(content: bytes, reduction: Reduction, path: Path | str = "a reduced log") -> LogFactors:
        """The reduced log of a file.

        Args:
            content: The file's content.
            reduction: How it was reduced.
            path: The file, for messages.

        Raises:
            LogFactorsError: If it holds something else.
        """
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                head, numbers = json.loads(file["head"].tobytes()), np.asarray(file["numbers"], dtype=float)
            if head["schema"] != SCHEMA:
                raise LogFactorsError(path, f"it says '{head['schema']}' instead of '{SCHEMA}'")
            rows = None if head["rows"] is None else _factors_of(head["rows"], numbers)
            joints = tuple(tuple(_block(each, numbers) for each in of_row) for of_row in head["blocks"])
            blocks = Blocks(reduction.block_equations, joints)
            reduced = ReducedLog(_factors_of(head["torques"], numbers), rows, blocks)
            return LogFactors(_log_of(head["log"], numbers), reduced)
        except LogFactorsError:
            raise
        except Exception as error:  # zipfile, zlib, ast and tokenize have each their own
            raise LogFactorsError(path, "holds no reduced log; it is computed again") from error


def _outliers(findings: Sequence[Finding]) -> list[Finding]:
    """The outliers of all parts of a log as one finding."""
    found = [finding.values for finding in findings if finding.code == "processing-outliers"]
    if not found:
        return []
    counts = [sum(values[what] for values in found) for what in ("positions", "torques")]
    return [finding_on_outliers(counts, min(values["first"] for values in found))]


@dataclass(frozen=True, eq=False)
class Reduction:
    """How the logs of a task are reduced: the same for all of them.

    Attributes:
        model: The model, at its nonlinear parameters, with the derivatives over those that were found.
        preparing: The model that logs are prepared with.
        drive: From motors to joints; its signs are known.
        processing: From signals to states.
        form: The rows that are estimated from.
        block_rows: Rows of a block of time.
    """

    model: DynamicModel
    preparing: DynamicModel
    drive: Drive
    processing: Processing
    form: RowForm
    block_rows: int
    _cached: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def probed_model(self) -> DynamicModel:
        """The model with friction on all joints."""
        if "probed" not in self._cached:
            self._cached["probed"] = probed(self.model)
        return self._cached["probed"]

    @property
    def block_equations(self) -> Any:
        """What blocks are rows of."""
        if "rows" not in self._cached:
            model = self.probed_model if self.form.name == "torque" else self.model
            self._cached["rows"] = self.form.equations(model)
        return self._cached["rows"]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_cached": {"facts": self.facts}}

    def of(self, log: PreparedLog) -> LogFactors:
        """A log that is ready for the model, reduced."""
        reduced = reduce_log(log, self.model, self.probed_model, self.form, self.block_rows)
        own = {each.name: getattr(log, each.name) for each in fields(PreparedLog)}
        own |= {"segments": (), "times": (), "temperature": None}
        return LogFactors(LogWithoutSamples(**own, known_motion=log.motion, known_samples=log.samples), reduced)

    @property
    def facts(self) -> dict[str, Any]:
        """Everything that its results depend on beside the log, as plain data."""
        if "facts" not in self._cached:
            robot = self.model.robot
            joints = [[joint.name, repr(joint.limits), repr(joint.dynamics), str(joint.kind)] for joint in robot.joints]
            models = [_model_facts(model) for model in (self.model, self.preparing)]
            self._cached["facts"] = {
                "schema": SCHEMA,
                "version": __version__,
                "robot": [robot.kinematics(), robot.gravity.tolist(), dict(robot.locked), robot.parameters.tolist()],
                "joints": joints,
                "models": models,
                "drive": self.drive.model_dump(mode="json", exclude_unset=True),
                "processing": self.processing.model_dump(mode="json", exclude_unset=True),
                "form": [self.form.name, self.form.window, self.block_rows],
            }
        return self._cached["facts"]


def reduced_log(
    source: Log | LogSource, reduction: Reduction, share: tuple[int, int] = (0, 1), *, alone: bool = True
) -> LogFactors | None:
    """Read, mend, prepare and reduce one log, or a part of it.

    Args:
        source: The log.
        reduction: How it is reduced.
        share: Which of how many parts in time; None is given of parts without rows, and of all but the first of a log
            that is not long.
        alone: Whether to work in one thread, as one of several processes.

    Raises:
        DynidError: If the log cannot be used; says why.
    """
    with in_one_thread() if alone else nullcontext():
        robot = reduction.model.robot
        log = read_any_length(source, robot, drive=reduction.drive, processing=reduction.processing)
        if share[0] and not is_long(log, reduction.processing):
            return None
        ready = prepare(log, reduction.preparing, reduction.drive, reduction.processing, share=share)
        return reduction.of(ready) if ready.segments or share[1] == 1 else None


def key_of(source: Log | LogSource, reduction: Reduction) -> str:
    """What a reduced log is kept under: a hash of the log's content, of how it is reduced, and of dynid's version.

    Raises:
        RecordingError: If a file cannot be fetched.
        OSError: If a file cannot be read.
    """
    sums = hashlib.sha256(json.dumps(reduction.facts, sort_keys=True, default=str).encode())
    if isinstance(source, Log):
        for each in fields(Log):
            value = getattr(source, each.name)
            if each.name in ("contacts", "stance"):
                value = _of_contacts(value)
            if isinstance(value, Load):
                sums.update(value.parameters.tobytes())
                value = value.body
            sums.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
        return sums.hexdigest()
    parts = source.model_dump(mode="json", exclude_unset=True)
    parts = with_files(parts, lambda name, _: Path(name).name)  # its content counts, not its folder
    sums.update(json.dumps(parts, sort_keys=True).encode())
    for name in dict.fromkeys(part.file for part in source.quantities):
        for path in _files(whole_file(local_file(name))):
            status = path.stat()
            sums.update(_digest(path, status.st_mtime_ns, status.st_size))
    return sums.hexdigest()


@lru_cache(maxsize=64)
def _digest(path: Path, _changed: int, _size: int) -> bytes:
    """The hash of a file; kept, since episodes of a data set share files."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


def _of_contacts(value: Any) -> Any:
    """Contacts, or a stance, as plain data."""
    if value is None:
        return None
    parts = value if isinstance(value, tuple) else (value,)
    return [[x.tolist() if isinstance(x, np.ndarray) else x for x in vars(one).values()] for one in parts]


def _files(path: Path) -> Iterator[Path]:
    """A file, or those of a bag's folder."""
    if path.is_dir():
        yield from sorted(each for each in path.rglob("*") if each.is_file())
    else:
        yield path


FACTS_STATES = 8
"""Random states whose equations tell models apart."""


def _model_facts(model: DynamicModel) -> list[Any]:
    nonlinear = {parameter.name: repr(parameter) for parameter in model.nonlinear}
    terms = [specification(term, type(term).__name__) for term in model.terms]
    # What terms of users compute, mimic joints and loads that terms depend on show in the equations themselves.
    W = model.regressor(*random_states(model, FACTS_STATES, np.random.default_rng(0)))
    content = hashlib.sha256("".join(f"{x:.9e}" for x in W.ravel().tolist()).encode()).hexdigest()
    return [list(model.names), terms, nonlinear, str(model.observed), content]


class _Arrays:
    """Arrays that are stored one after the other."""

    def __init__(self) -> None:
        self._parts: list[Array] = []
        self._count = 0

    def put(self, x: Array) -> list[Any]:
        """Where an array stands: its first number, and its shape."""
        self._parts.append(np.ascontiguousarray(x, dtype=float).ravel())
        first, self._count = self._count, self._count + x.size
        return [first, list(x.shape)]

    def joined(self) -> Array:
        return np.concatenate([np.zeros(0), *self._parts])


def _block(head: Mapping[str, Any], numbers: Array) -> tuple[Array, float, int]:
    return _taken(numbers, head["triangle"]), float.fromhex(head["squares"]), int(head["rows"])


def _taken(numbers: Array, place: Sequence[Any]) -> Array:
    first, shape = place
    return frozen(numbers[first : first + int(np.prod(shape))].reshape(shape))


def _factors_head(factors: Factors, arrays: _Arrays) -> dict[str, Any]:
    joints = [
        {
            "joint": joint,
            "names": factor.names,
            "R": arrays.put(factor.R),
            "z": arrays.put(factor.z),
            "squares": factor.squares.hex(),
            "rows": factor.rows,
        }
        for joint, factor in factors.joints.items()
    ]
    return {"names": factors.names, "form": factors.form, "joints": joints}


def _factors_of(head: Mapping[str, Any], numbers: Array) -> Factors:
    joints = {
        each["joint"]: Factor(
            tuple(each["names"]),
            _taken(numbers, each["R"]),
            _taken(numbers, each["z"]),
            float.fromhex(each["squares"]),
            int(each["rows"]),
        )
        for each in head["joints"]
    }
    return Factors(tuple(head["names"]), joints, str(head["form"]))


SPEEDS = ("kept", "counted", "everywhere")


def _log_head(log: LogWithoutSamples, arrays: _Arrays) -> dict[str, Any]:
    motion = log.motion
    speeds = {
        name: [arrays.put(np.asarray(getattr(getattr(motion, name), each.name))) for each in fields(Speeds)]
        for name in SPEEDS
    }
    return {
        "processing": dict(log.processing),
        "stated": sorted(log.processing.model_fields_set),
        "numbers": [x.hex() for x in (float(log.sampling), float(log.delay), float(log.weight), float(log.error_band))],
        "findings": [finding.to_dict() for finding in log.findings],
        "samples": log.samples,
        "speeds": speeds,
        "temperatures": None if motion.temperatures is None else arrays.put(motion.temperatures),
    }


def _log_of(head: Mapping[str, Any], numbers: Array) -> LogWithoutSamples:
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in head["processing"].items()}
    speeds = {}
    for name in SPEEDS:
        rows, *others = (_taken(numbers, place) for place in head["speeds"][name])
        speeds[name] = Speeds(rows.astype(np.int64), *others)
    warmth = None if head["temperatures"] is None else _taken(numbers, head["temperatures"])
    sampling, delay, weight, band = map(float.fromhex, head["numbers"])
    return LogWithoutSamples(
        segments=(),
        times=(),
        processing=Processing.model_construct(set(head["stated"]), **plain),
        sampling=sampling,
        delay=delay,
        findings=tuple(Finding.from_dict(finding) for finding in head["findings"]),
        weight=weight,
        error_band=band,
        known_motion=Motion(**speeds, temperatures=warmth),
        known_samples=int(head["samples"]),
    )
