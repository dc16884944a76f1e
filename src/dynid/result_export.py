"""The identified robot as files: the user's own with identified numbers, and beside it what the format cannot hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from dynid.errors import InvalidRequestError, OutputExistsError
from dynid.files import write_text
from dynid.model.terms import Armature, Coulomb, Viscous
from dynid.result import Result
from dynid.robot.joints import JointDynamics
from dynid.robot.robot import Joint

Format = Literal["urdf", "mjcf", "json"]

FORMATS: tuple[str, ...] = get_args(Format)
_SUFFIXES = {"urdf": ".urdf", "mjcf": ".xml", "json": ".json"}

SCHEMA = "dynid-robot-1"
"""What an exported JSON file says of itself."""


@dataclass(frozen=True)
class Exported:
    """Files that were written.

    Attributes:
        path: The robot.
        beside: What of the model the robot's file does not hold; None where it holds everything.
        left_out: What else neither holds, in words.
        impossible: Bodies of the user's file that were impossible before and still are (see `dynid repair`).
        edited: Whether the robot's file is the user's own with other numbers.
    """

    path: Path
    beside: Path | None
    left_out: tuple[str, ...]
    impossible: tuple[str, ...]
    edited: bool


def export_result(result: Result, format: Format, path: Path, *, overwrite: bool = False) -> Exported:  # noqa: A002
    """Write the identified robot.

    Args:
        result: The result; it must have physical links.
        format: `urdf` or `mjcf`: the user's own file where it is of that format, else a new one. `json`: all numbers.
        path: The file to write. What it cannot hold goes to a file of the same name that ends in `.yaml`.
        overwrite: Whether existing files may be replaced.

    Raises:
        InvalidRequestError: If the result has no physical links.
        OutputExistsError: If a file exists and may not be replaced.
    """
    values = result.physical_values
    if values is None:
        raise InvalidRequestError(
            "the result has no physical links (physical.fit = false), and base parameters alone are no robot; "
            "identify again with them"
        )
    if format == "json":
        write_text(path, json.dumps(_everything(result), indent=2, allow_nan=False) + "\n", overwrite=overwrite)
        return Exported(path, None, (), (), edited=False)
    from dynid.robot.export import write_back

    robot = result.base.model.robot
    rest = _not_held(result, format)
    beside = path.with_suffix(".yaml") if rest else None
    if beside is not None and beside.exists() and not overwrite:
        raise OutputExistsError(beside)
    links = np.array([values[name] for name in result.base.model.names[: len(robot.parameters)]])
    dynamics = {joint.name: _dynamics(values, joint) for joint in robot.independent_joints}
    written = write_back(robot, links, dynamics, path, format=format, overwrite=overwrite)
    if beside is not None:
        write_text(beside, _as_yaml(result, path, rest), overwrite=overwrite)
    return Exported(path, beside, written.left_out, written.impossible, written.edited)


def default_path(result: Result, folder: Path, format: Format) -> Path:  # noqa: A002
    """Where a robot is written when no name is given: in the result's folder, under the robot file's own name."""
    source = result.experiment.robot
    name = source.removeprefix("builtin:") if source.startswith("builtin:") else Path(source).stem
    return folder / f"{name}_identified{_SUFFIXES[format]}"


def _dynamics(values: Mapping[str, float], joint: Joint) -> JointDynamics:
    """What files can say of a joint, as far as the model has it."""
    both = [values[name] for name in (f"fsp{joint.number}", f"fsn{joint.number}") if name in values]
    return JointDynamics(
        damping=values.get(f"fv{joint.number}"),
        friction=values.get(f"fs{joint.number}", sum(both) / 2 if both else None),
        armature=values.get(f"Ia{joint.number}"),
    )


def _not_held(result: Result, format: Format) -> list[dict[str, Any]]:  # noqa: A002
    """The terms' parameters that a format has no place for."""
    held = [Viscous, Coulomb, *([Armature] if format == "mjcf" else [])]
    symbols = {symbol for term in held for symbol in term.symbols}
    held_names = {f"{symbol}{joint.number}" for symbol in symbols for joint in result.base.model.robot.joints}
    return [row for row in result.data["physical"]["terms"] if row["name"] not in held_names]


def _as_yaml(result: Result, path: Path, rest: list[dict[str, Any]]) -> str:
    import yaml

    content = {
        "robot": result.data["robot"],
        "file": path.name,
        "about": "Parts of the identified model that the robot's file has no place for; see dynid's terms.",
        "terms": list(result.experiment.terms),
        "parameters": rest,
    }
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def _everything(result: Result) -> dict[str, Any]:
    physical = result.data["physical"]
    return {
        "schema": SCHEMA,
        "robot": result.data["robot"],
        "source": result.experiment.robot if result.experiment.robot.startswith("builtin:") else None,
        "gravity": result.base.model.robot.gravity.tolist(),
        **{key: physical[key] for key in ("relative_error", "prior", "weight", "total_mass", "links", "terms")},
    }
