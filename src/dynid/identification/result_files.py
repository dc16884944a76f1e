"""Results as folders: what was found as JSON, the factors it came from, and the experiment."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from dynid.estimation import Factors
from dynid.experiment import Experiment, names_many, read_experiment
from dynid.files import FileKind, expanded_path, read_arrays, read_bytes, replace_folder, use_of
from dynid.findings import Finding
from dynid.identification.law_logs import with_law
from dynid.identification.records import SCHEMA, Record
from dynid.identification.result import Result, ResultError
from dynid.identification.task import ExperimentFile, Task, experiment_text, source_tables, task_of
from dynid.logs import LogSource, is_url, with_files
from dynid.model import BaseParameters, known_base


def save_result(result: Result, folder: Path, *, overwrite: bool = False) -> None:
    """Save a result as a folder, whole or not at all.

    Args:
        result: The result.
        folder: The folder; it must not exist, or hold a result that may be replaced.
        overwrite: Whether a result in it may be replaced.

    Raises:
        ResultError: If the folder holds something else, or a result that may not be replaced.
        OutputError: If it cannot be written.
    """
    check_free(folder, overwrite=overwrite)
    file = result.file
    text = experiment_text(result.task).encode() if file is None else file.text
    origin = folder / "experiment.toml" if file is None else file.path

    def fill(made: Path) -> None:
        content = json.dumps(result.to_dict(), indent=2, allow_nan=False)
        (made / "result.json").write_text(content + "\n", encoding="utf-8")
        (made / "experiment.toml").write_bytes(text)
        place = {"experiment": str(origin.resolve()), "earlier": source_tables(result.task.earlier)}
        is_other = file is not None and len(result.task.logs) != len(file.experiment.log)  # some could not be used
        if is_other or (file is not None and names_many(text.decode(errors="replace"), origin.resolve())):
            place["logs"] = source_tables(result.task.logs)
        (made / "origin.json").write_text(json.dumps(place), encoding="utf-8")
        if result.sign_curves is not None:
            curves: dict[str, Any] = dict(result.sign_curves)
            np.savez_compressed(made / "signs.npz", **curves)
        for k, factors in enumerate(result.torques):
            factors.save(made / f"log_{k + 1}.factors")
        for k, factors in enumerate(result.rows if result.record.form is not None else ()):
            factors.save(made / f"log_{k + 1}.{factors.form}.factors")
        for k, factors in enumerate(result.rows if result.record.loop is not None else ()):
            factors.save(made / f"estimate_{k + 1}.factors")

    replace_folder(folder, fill)


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
        problem = "holds a result already; name another folder, or add --force (in Python: overwrite=True)"
        raise ResultError(folder, problem)


def load_result(folder: str | Path) -> Result:
    """Load a result that was saved.

    Args:
        folder: The folder that `Result.save` or `dynid identify --out` wrote.

    Raises:
        ResultError: If the folder holds no result, or one that does not go with its experiment and robot any more.
    """
    folder = Path(folder)
    try:
        data = json.loads(read_bytes(folder / "result.json"))
        place = json.loads(read_bytes(folder / "origin.json"))
        origin = Path(place["experiment"])
        earlier = tuple(map(_source, place.get("earlier", ())))
        logs = tuple(map(_source, place.get("logs", ())))
        schema = data["schema"]
        text = read_bytes(folder / "experiment.toml")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        other = use_of(folder, "the folder of a result", FileKind.RESULT)
        raise ResultError(folder, other or "holds no result; name a folder that dynid identify wrote") from error
    if schema != SCHEMA:
        raise ResultError(folder, f"holds a result of another kind ({schema}); identify again")
    try:
        record = Record.model_validate(data)
        findings = tuple(Finding.from_dict(finding) for finding in record.findings)
    except (ValidationError, KeyError, TypeError, ValueError) as error:
        raise ResultError(folder, f"its result.json is damaged ({_where(error)}); identify again") from error
    experiment = read_experiment(folder / "experiment.toml", relative_to=origin.parent, needs_logs=False)
    experiment = experiment.model_copy(update={"log": logs}) if logs else experiment
    task = replace(_task_of(experiment, record), earlier=earlier).with_observed(record.observed)
    if record.commands is not None:
        task = replace(task, logs=with_law(task.logs, record.commands), is_commanded=True)
    if record.terms is not None:
        task = task.with_terms(record.terms)
    base = _base_of(folder, record, known_base(task.model, task.known_values))
    estimator = experiment.estimation.estimator
    torques = tuple(Factors.load(folder / f"log_{k + 1}.factors") for k in range(record.logs))
    rows = torques
    if record.loop is not None:
        count = len(list(folder.glob("estimate_*.factors")))
        rows = tuple(Factors.load(folder / f"estimate_{k + 1}.factors") for k in range(count))
    elif experiment.estimation.form != "torque":
        rows = tuple(Factors.load(folder / f"log_{k + 1}.{estimator}.factors") for k in range(record.logs))
    file = ExperimentFile(origin, text, experiment, task)
    return Result(base, record, findings, task, torques, rows, _sign_curves(folder), file, folder)


def _source(stated: dict[str, Any]) -> LogSource:
    """A log from its table, with the values of environment variables in its paths where these are set."""

    def expanded(name: Any, _: object) -> Any:
        if isinstance(name, str) and not is_url(name):
            with suppress(ValueError):
                return expanded_path(name, Path())
        return name

    return LogSource.model_validate(with_files(stated, expanded))


def _task_of(experiment: Experiment, record: Record) -> Task:
    """The task of a saved result; results of earlier versions kept right angles that the robot's file rounds."""
    task = task_of(experiment)
    if experiment.exact_frames or task.model.robot.moves_as(_kinematics(record)):
        return task
    exact = task_of(experiment.model_copy(update={"exact_frames": True}))
    return exact if exact.model.robot.moves_as(_kinematics(record)) else task


def _kinematics(record: Record) -> list[dict[str, Any]]:
    """The kinematics that a result holds for."""
    return [dict(joint) for joint in record.kinematics]


def _where(error: Exception) -> str:
    """Which key of a record is wrong."""
    if isinstance(error, ValidationError):
        return ".".join(str(part) for part in error.errors()[0]["loc"])
    return "findings"


def _base_of(folder: Path, record: Record, base: BaseParameters) -> BaseParameters:
    """The base parameters with the model at the nonlinear parameters, and on the links, that a result found.

    Raises:
        ResultError: If the record is not of these base parameters, this robot and these terms.
    """
    values = {row.name: row.value for row in record.parameters}
    if set(values) != set(base.names):
        raise ResultError(folder, "its parameters are not those of its experiment; identify again")
    robot = base.model.robot
    if not robot.moves_as(_kinematics(record)):
        source = robot.description.source
        raise ResultError(folder, f"the joints of '{source}' are placed or point elsewhere now than when identified")
    nonlinear = {row.name: row.used for row in record.nonlinear}
    if set(nonlinear) != {parameter.name for parameter in base.model.nonlinear}:
        raise ResultError(folder, "its nonlinear parameters are not those of its experiment; identify again")
    if record.physical is not None and list(record.physical.values) != list(base.model.names):
        raise ResultError(folder, "its physical links are not those of its robot; identify again")
    p = base.to_standard(np.array([values[name] for name in base.names]))
    links = p[: len(robot.parameters)]
    model = base.model.at_nonlinear(nonlinear).with_values(dict(zip(base.model.names, p.tolist(), strict=True)))
    return replace(base, model=model.with_links(links))


def _sign_curves(folder: Path) -> dict[str, np.ndarray] | None:
    path = folder / "signs.npz"
    if not path.exists():
        return None
    try:
        return read_arrays(path)
    except (OSError, ValueError) as error:
        raise ResultError(folder, "its signs.npz is damaged; identify again") from error
