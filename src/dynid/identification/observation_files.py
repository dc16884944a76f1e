"""Observations and thresholds as files: plain JSON and a table, written whole or not at all."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationError

from dynid.errors import FileProblemError, ForeignOutputError, OutputExistsError
from dynid.estimation import ContactLimits, SpeedLevel
from dynid.files import is_file, read_bytes, replace_folder, write_text
from dynid.identification.records import Entry, Finite

if TYPE_CHECKING:
    from dynid.identification.observation import Observation

SCHEMA = "dynid-thresholds-1"
"""What a file of thresholds says of itself."""

OBSERVATION_SCHEMA = "dynid-observation-1"
"""What `observation.json` says of itself."""

THRESHOLDS_FILE, OBSERVATION_FILE, TORQUES_FILE = "thresholds.json", "observation.json", "external_torque.csv"


class ThresholdsFileError(FileProblemError):
    """A file holds no contact thresholds."""


class _Scale(Entry):
    level: Finite = Field(gt=0.0)
    near_rest: Finite = Field(ge=0.0)
    width: Finite = Field(gt=0.0)
    per_speed: Finite = Field(ge=0.0)


_Positive = Field(gt=0.0, allow_inf_nan=False)


class _Thresholds(Entry):
    schema_: Literal["dynid-thresholds-1"] = Field(alias="schema")
    joints: tuple[str, ...] = Field(min_length=1)
    scales: tuple[_Scale, ...]
    gain: float = _Positive
    false_alarms_per_minute: float = _Positive
    interval: tuple[Finite, Finite]
    seconds: float = _Positive
    peaks: tuple[int, ...]
    extrapolation: float = _Positive
    stds: tuple[Finite, ...]
    lasting: tuple[Finite, ...]
    resting: Finite
    cutoff: float | None = Field(gt=0.0, allow_inf_nan=False)
    physical: bool


def thresholds_text(thresholds: ContactLimits) -> str:
    """Thresholds as JSON."""
    return json.dumps({"schema": SCHEMA, **thresholds.to_dict()}, indent=2, allow_nan=False) + "\n"


def save_thresholds(thresholds: ContactLimits, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write thresholds to a file, for `load_thresholds` and `dynid export --thresholds`.

    Raises:
        OutputExistsError: If the file exists and may not be replaced.
    """
    write_text(Path(path), thresholds_text(thresholds), overwrite=overwrite)
    return Path(path)


def load_thresholds(path: str | Path) -> ContactLimits:
    """Thresholds of a file, or of the folder of an observation.

    Raises:
        ThresholdsFileError: If it holds none; says why.
    """
    path = Path(path)
    path = path / THRESHOLDS_FILE if path.is_dir() else path
    if not is_file(path):
        raise ThresholdsFileError(path, "is no file; name one that dynid observe --out wrote, or its folder")
    try:
        data = json.loads(read_bytes(path))
        read = _Thresholds.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise ThresholdsFileError(path, f"holds no contact thresholds: {where}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise ThresholdsFileError(path, "is no JSON; name a thresholds.json that dynid observe --out wrote") from error
    count = len(read.joints)
    sizes = {name: len(getattr(read, name)) for name in ("scales", "peaks", "stds", "lasting")}
    wrong = next((name for name, size in sizes.items() if size != count), None)
    if wrong is not None:
        raise ThresholdsFileError(path, f"has {count} joints and {sizes[wrong]} numbers of '{wrong}'; find them again")
    values: dict[str, Any] = {field.name: getattr(read, field.name) for field in fields(ContactLimits)}
    values["scales"] = tuple(SpeedLevel(**vars(scale)) for scale in read.scales)
    return ContactLimits(**values)


def save_observation(found: Observation, folder: Path, *, overwrite: bool = False) -> Path:
    """Save an observation as a folder.

    Raises:
        OutputExistsError: If the folder exists and may not be replaced.
        ForeignOutputError: If it holds something else.
    """
    if folder.exists() and not overwrite:
        raise OutputExistsError(folder)
    if folder.exists() and not _is_ours(folder):
        raise ForeignOutputError(folder)

    def fill(made: Path) -> None:
        import polars as pl

        record = {"schema": OBSERVATION_SCHEMA, **found.to_dict()}
        (made / OBSERVATION_FILE).write_text(json.dumps(record, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        (made / THRESHOLDS_FILE).write_text(thresholds_text(found.thresholds), encoding="utf-8")
        limits = found.limits
        columns = {"time": found.time, "settled": found.settled}
        for k, joint in enumerate(found.joints):
            columns |= {f"{joint}": found.external_torque[:, k], f"{joint}_threshold": limits[:, k]}
        pl.DataFrame(columns).write_csv(made / TORQUES_FILE)

    replace_folder(folder, fill)
    return folder


def _is_ours(folder: Path) -> bool:
    """Whether a folder holds an observation."""
    path = folder / OBSERVATION_FILE
    try:
        return is_file(path) and json.loads(path.read_bytes()).get("schema") == OBSERVATION_SCHEMA
    except (OSError, ValueError, AttributeError, RecursionError):
        return False
