"""Experiment files: reading them, with what is wrong in words and lines."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from dynid.errors import FileProblemError
from dynid.experiment.experiment import Experiment
from dynid.files import expanded_path, is_file, line_of, parse_toml, read_toml_text
from dynid.logs import (
    RecordingError,
    is_url,
    quantities_in,
    single_logs,
    stands_for_many,
    with_capture_table,
    with_files,
)
from dynid.settings import Table, checked, key_of, problem_in_words

T = TypeVar("T", bound=Table)


class ExperimentError(FileProblemError):
    """An experiment file is not what it should be."""


def read_experiment(
    path: str | os.PathLike[str],
    relative_to: str | os.PathLike[str] | None = None,
    *,
    needs_logs: bool = True,
    robot: str = "",
) -> Experiment:
    """Read an experiment file.

    Paths in it may use environment variables such as `${DYNID_DATASETS}`; nothing else may. Messages and results show
    such paths as they are written, without the values.

    Args:
        path: The file.
        relative_to: Folder that paths in it are relative to; its own when None.
        needs_logs: Whether there must be logs, and environment variables in their paths must be set.
        robot: The robot of a file that states none, such as one of logs alone.

    Raises:
        ExperimentError: If the file cannot be read, or a key is unknown, missing or wrong; names the line.
    """
    path, folder = Path(path), None if relative_to is None else Path(relative_to)
    text = read_toml_text(path, ExperimentError)
    experiment = parse_experiment(text, path, folder, needs_logs=needs_logs, robot=robot)
    if needs_logs:
        _require_filled(experiment, text, path)
    return experiment


def parse_experiment(
    text: str, path: Path, relative_to: Path | None = None, *, needs_logs: bool = True, robot: str = ""
) -> Experiment:
    """The experiment of a text that is, or will be, in a file; arguments and errors are those of `read_experiment`."""
    values = parse_toml(text, path, ExperimentError)
    if needs_logs and not values.get("log", True):
        raise ExperimentError(path, "the key 'log' holds no log")
    if needs_logs and "log" not in values:
        raise ExperimentError(path, "the key 'log' is missing")
    whole = _with_paths(values, path, text, relative_to or path.parent, needs_logs)
    whole, tables = _with_single_logs(whole, path, text, needs_logs)
    try:
        return Experiment.model_validate(({"robot": robot} if robot else {}) | whole)
    except ValidationError as error:
        problem = error.errors()[0]
        key = _in_file(key_of(problem), tables)
        at, words = line_of(text, key), problem_in_words(error, Experiment)
        left_open = _left_open(text, at, key)
        if left_open is not None:
            at, words = left_open
        raise ExperimentError(path, words, at) from error


def _with_single_logs(
    values: dict[str, Any], path: Path, text: str, needs_logs: bool
) -> tuple[dict[str, Any], list[int]]:
    """The same values with one log for each file that patterns and folders stand for, and the table that each is of.

    Where no logs are needed, such tables are left out: what they stand for is not known then.
    """
    logs = values.get("log")
    if not isinstance(logs, list):
        return values, []
    found: list[tuple[int, Any]] = []
    for k, log in enumerate(logs):
        if not isinstance(log, dict):
            found.append((k, log))
        elif needs_logs or not _is_of_many(log):
            try:
                found += [(k, one) for one in single_logs(log)]
            except RecordingError as error:
                problem = f"'{error.path}': {error.problem}"
                raise ExperimentError(path, problem, line_of(text, ("log", k))) from error
    return {**values, "log": [log for _, log in found]}, [k for k, _ in found]


def _is_of_many(log: Mapping[str, Any]) -> bool:
    """Whether a table `[[log]]` names a pattern or a folder."""
    names = (part["file"] for _, part in quantities_in(log))
    return any(isinstance(name, str) and stands_for_many(name) for name in names)


def _in_file(key: tuple[str | int, ...], tables: Sequence[int]) -> tuple[str | int, ...]:
    """A key of the experiment as its file has it, where one table stands for several logs."""
    if len(key) > 1 and key[0] == "log" and isinstance(key[1], int) and key[1] < len(tables):
        return ("log", tables[key[1]], *key[2:])
    return key


def names_many(text: str, path: Path) -> bool:
    """Whether an experiment names patterns or folders of logs, whose files may be others another day."""
    logs = parse_toml(text, path, ExperimentError).get("log")
    tables = [log for log in logs if isinstance(log, dict)] if isinstance(logs, list) else []
    whole = _with_paths({"log": tables}, path, text, path.parent, needs_logs=False)
    return any(map(_is_of_many, whole["log"]))


CHOICE = re.compile(r"^#\s*CHOOSE:\s*(?P<question>.*)$")
"""A comment above a key that `init` left commented out."""


def _left_open(text: str, table: int | None, key: tuple[str | int, ...]) -> tuple[int, str] | None:
    """Line and question of a key that is missing because `init` left it open, as a comment in its table."""
    lines = text.splitlines()
    question, wanted = "", (key[-1], "capture") if key[:1] == ("log",) and len(key) > 2 else ("rate", "time", "torque")
    for number, line in enumerate(lines[table:] if table is not None else [], start=(table or 0) + 1):
        if line.startswith("["):
            return None
        match, own = CHOICE.match(line), re.match(r"^#\s*(\w+)\s*=", line)
        question = match["question"] if match is not None else question
        if own is not None and own[1] in wanted and question:
            return number, f"'{own[1]}' is open: {question}"
    return None


def _require_filled(experiment: Experiment, text: str, path: Path) -> None:
    """Refuse values that `init` left open because no file says them."""
    for key, what in NEEDED.items():
        if getattr(experiment.drive, key) == ():
            problem = f"drive.{key} has 0 numbers, and is NEEDED; write {what}"
            raise ExperimentError(path, problem, line_of(text, ("drive", key)))


NEEDED = {
    "ratios": "the gear ratios (motor revolutions per joint revolution) with sign, one for each joint",
    "torque_constants": "the torque constants [N m/A], one for each joint, or torque_constants = 'unknown' for results "
    "in units of current",
    "matrix": "the transmission matrix, one row for each motor",
}
"""What the keys of `[drive]` hold that `init` leaves empty."""


def is_experiment(path: str | os.PathLike[str]) -> bool:
    """Whether a file is an experiment; tables of robots are TOML files, too, but have no key 'robot'."""
    path = Path(path)
    if path.suffix.lower() != ".toml" or not is_file(path):
        return False
    return "robot" in parse_toml(read_toml_text(path, ExperimentError), path, ExperimentError)


def _with_paths(values: dict[str, Any], path: Path, text: str, folder: Path, needs_logs: bool) -> dict[str, Any]:
    """The same values, with the paths of the robot, of all logs and of other files made whole."""

    def whole(name: object, where: tuple[str | int, ...], keep: str = "") -> object:
        if not isinstance(name, str) or (keep and name.startswith(keep)):
            return name
        if (is_url(name) or name.startswith("file://")) and "$" not in name:
            return name
        try:
            return expanded_path(name, folder)
        except ValueError as error:
            if needs_logs or where[0] != "log":
                raise ExperimentError(path, f"'{name}' {error}", line_of(text, where)) from error
            return str(folder / name)

    values = dict(values)
    if "robot" in values:
        values["robot"] = whole(values["robot"], ("robot",), keep="builtin:")
    for table, key in (("physical", "reference"), ("simulation", "trajectory"), ("excitation", "srdf")):
        own = values.get(table)
        if isinstance(own, dict) and key in own:
            keep = "builtin:" if key == "reference" else ""
            values[table] = {**own, key: whole(own[key], (table, key), keep)}
    logs = values.get("log")
    if isinstance(logs, list):
        logs = [with_capture_table(log) for log in logs]
        values["log"] = with_files(logs, lambda name, place: whole(name, (*place, "file")), ("log",))
    return values


def checked_table(table: type[T], values: Mapping[str, Any]) -> T:
    """A table of the experiment file from values that do not come from a file; errors as `checked`."""
    name = next((key for key, field in Experiment.model_fields.items() if field.annotation is table), "")
    return checked(table, values, name)
