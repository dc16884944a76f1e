"""Results as folders: what was found as JSON, the factors it came from, and the experiment."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dynid.errors import FileProblemError
from dynid.estimation.factors.factors import Factors
from dynid.estimation.signs.unsigned_logs import SignedLogs
from dynid.experiment.experiment import Experiment
from dynid.experiment.reading import read_experiment
from dynid.files import replace_folder
from dynid.identification.outcome import Identification
from dynid.identification.pipeline import model_of
from dynid.identification.result_data import SCHEMA, identification_data, kinematics
from dynid.model.base_parameters import BaseParameters, find_base_parameters
from dynid.model.known_values import split_known


class ResultError(FileProblemError):
    """A folder holds no result, or cannot take one."""


@dataclass(frozen=True, eq=False)
class Result:
    """A result that was saved.

    Attributes:
        experiment: The experiment that it came from.
        data: What was found, as plain data: see `results.data.identification_data`.
        logs: The factors of each log's torques.
        form_logs: The factors of each log that were estimated from: the same, or those of another form of rows.
        base: The base parameters, with their model and robot.
    """

    experiment: Experiment
    data: Mapping[str, Any]
    logs: tuple[Factors, ...]
    form_logs: tuple[Factors, ...]
    base: BaseParameters

    @property
    def physical_values(self) -> dict[str, float] | None:
        """Values of all standard parameters of possible links and joints by name; None where none were fitted."""
        physical = self.data["physical"]
        if physical is None:
            return None
        of_links = [row for link in physical["links"] for row in link["parameters"]]
        return {row["name"]: row["value"] for row in (*of_links, *physical["terms"])}

    @property
    def values(self) -> dict[str, float]:
        """Values of the base parameters by name."""
        return {parameter["name"]: parameter["value"] for parameter in self.data["parameters"]}


def save_result(
    found: Identification, experiment: Path, folder: Path, *, confidence: float = 0.95, overwrite: bool = False
) -> None:
    """Save a result as a folder, whole or not at all.

    Args:
        found: What was found.
        experiment: The experiment's file, of which a copy is kept.
        folder: The folder; it must not exist, or hold a result that may be replaced.
        confidence: Of the intervals.
        overwrite: Whether a result in it may be replaced.

    Raises:
        ResultError: If the folder holds something else, or a result that may not be replaced.
        OutputError: If it cannot be written.
    """
    check_free(folder, overwrite=overwrite)

    def fill(made: Path) -> None:
        text = json.dumps(identification_data(found, confidence), indent=2, allow_nan=False)
        (made / "result.json").write_text(text + "\n", encoding="utf-8")
        (made / "experiment.toml").write_bytes(experiment.read_bytes())
        (made / "origin.json").write_text(json.dumps({"experiment": str(experiment.resolve())}), encoding="utf-8")
        if found.signs is not None:
            np.savez_compressed(made / "signs.npz", **_curves(found.signs))
        for k, factors in enumerate(found.logs):
            factors.save(made / f"log_{k + 1}.factors")
        for k, factors in enumerate(found.form_logs if found.form is not None else ()):
            factors.save(made / f"log_{k + 1}.{factors.form}.factors")

    replace_folder(folder, fill)


def _curves(signs: SignedLogs) -> dict[str, Any]:
    """Arrays for pictures of signs: `time_K magnitude_K torque_K predicted_K log_K` of pieces K = 1, 2, ..."""
    arrays: dict[str, Any] = {}
    for k, curves in enumerate(signs.recovered.curves, start=1):
        arrays |= {f"time_{k}": curves.time, f"magnitude_{k}": curves.magnitudes, f"torque_{k}": curves.torques}
        arrays |= {f"predicted_{k}": curves.predicted, f"log_{k}": np.array(curves.log + 1)}
    return arrays


def check_free(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that a result cannot be saved as."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ResultError(folder, "is a file; name a folder for the result")
    if not any(folder.iterdir()):
        return
    if not (folder / "result.json").exists():
        raise ResultError(folder, "holds something else than a result and is left as it is; name another folder")
    if not overwrite:
        raise ResultError(folder, "holds a result already; name another folder or add --force")


def load_result(folder: Path) -> Result:
    """Load a result that was saved.

    Raises:
        ResultError: If the folder holds no result.
    """
    try:
        data = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        origin = Path(json.loads((folder / "origin.json").read_text(encoding="utf-8"))["experiment"])
        schema, count = data["schema"], int(data["logs"])
        stood = data["kinematics"]
        values = {parameter["name"]: float(parameter["value"]) for parameter in data["parameters"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultError(folder, "holds no result; name a folder that dynid identify wrote") from error
    if schema != SCHEMA:
        raise ResultError(folder, f"holds a result of another kind ({schema}); identify again")
    experiment = read_experiment(folder / "experiment.toml", relative_to=origin.parent, needs_logs=False)
    model = model_of(experiment)
    base = find_base_parameters(model, known=split_known(model, experiment.known)[1])
    if set(values) != set(base.names) or not all(map(math.isfinite, values.values())):
        raise ResultError(folder, "its parameters are not those of its experiment; identify again")
    if not _same_kinematics(stood, kinematics(base.model.robot)):
        raise ResultError(
            folder, f"the joints of '{experiment.robot}' stand or point elsewhere now than when it was identified"
        )
    logs = tuple(Factors.load(folder / f"log_{k + 1}.factors") for k in range(count))
    estimator = experiment.estimation.estimator
    rows = logs
    if estimator != "torque":
        rows = tuple(Factors.load(folder / f"log_{k + 1}.{estimator}.factors") for k in range(count))
    result = Result(experiment, data, logs, rows, _at_nonlinear(folder, base, data, values))
    _check_links(folder, result)
    return result


def _at_nonlinear(
    folder: Path, base: BaseParameters, data: Mapping[str, Any], values: Mapping[str, float]
) -> BaseParameters:
    """The base parameters with the model at the shapes, and on the links, that a result found."""
    try:
        nonlinear = {row["name"]: float(row["used"]) for row in data.get("shapes", ())}
    except (KeyError, TypeError, ValueError) as error:
        raise ResultError(folder, "its shapes are no numbers; identify again") from error
    if set(nonlinear) != {shape.name for shape in base.model.nonlinear} or not all(
        map(math.isfinite, nonlinear.values())
    ):
        raise ResultError(folder, "its shapes are not those of its experiment; identify again")
    p = base.to_standard(np.array([values[name] for name in base.names]))
    links = p[: len(base.model.robot.parameters)]
    return replace(base, model=base.model.at_nonlinear(nonlinear).with_links(links))


def _same_kinematics(before: Any, now: list[dict[str, Any]]) -> bool:
    try:
        return [joint["joint"] for joint in before] == [joint["joint"] for joint in now] and all(
            then["parent"] == joint["parent"]
            and np.allclose(then["placement"], joint["placement"], rtol=0.0, atol=1e-9)
            and np.allclose(then["axis"], joint["axis"], rtol=0.0, atol=1e-9)
            for then, joint in zip(before, now, strict=True)
        )
    except (KeyError, TypeError, ValueError):
        return False


def _check_links(folder: Path, result: Result) -> None:
    try:
        values = result.physical_values
        sound = values is None or (
            list(values) == list(result.base.model.names) and all(map(_is_number, values.values()))
        )
    except (KeyError, TypeError, AttributeError):
        sound = False
    if not sound:
        raise ResultError(folder, "its physical links are not those of its robot; identify again")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
